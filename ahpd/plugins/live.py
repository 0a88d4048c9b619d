"""The plugins of a host while it runs: loaded, unloaded and reloaded, one change at a time.

At the start every plugin the configuration names is applied and the contributions are folded;
the host is built over that fold. From then on a change of the list is applied while the host
serves: what goes is taken down and its contribution dropped, what comes is applied and folded
in. What a host is built over, a port or a URI scheme, cannot be moved: such a change is put off
to the next start (`restart`). Source: PLUGINS.txt, "A change while the daemon runs", "What
happens when a plugin fails".
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs
from twisted.application.service import Service
from twisted.internet.defer import CancelledError, Deferred, DeferredLock
from twisted.logger import Logger
from twisted.python.failure import Failure

from ahpd.bounded import Overdue, bounded
from ahpd.config.plugins import PluginEntry
from ahpd.interfaces import PluginError
from ahpd.plugins.change import change_to
from ahpd.plugins.fold import Fold, Problem, TwoAgents, fold
from ahpd.plugins.named import Named
from ahpd.plugins.running import RunningPlugin, tell_listening
from ahpd.plugins.skipped import Skipped
from ahpd.plugins.takers import IRows, Listening, Outcome, Takers

if TYPE_CHECKING:
    from ahpd.plugins.at_need import LoaderAtNeed
    from ahpd.plugins.loading import Loader

log = Logger(namespace="ahpd.plugin")

#: Seconds the stop of a host gives all plugins together to hear of it and stop their services,
#: and again for their closers. A process has 25 for everything.
STOP_BOUND: Final = 6.0


class Plugins(Service):
    """The plugins of one host, in the order the configuration names them.

    `vault_taken` is told of a vault and the plugin that supplies it, before the next plugin is
    loaded: its options may name what that vault holds. `own` are the host's own names of agents (`fold`).
    """

    name = "plugins"

    def __init__(
        self,
        loader: "Loader | LoaderAtNeed",
        rows: IRows,
        vault_taken: Callable[[Any, str], None] = lambda vault, plugin: None,
        own: Mapping[str, str] | None = None,
    ) -> None:
        self._own = own or {}
        self._vault_taken = vault_taken
        self._loader = loader
        self._rows = rows
        self._running: dict[str, RunningPlugin] = {}
        self._lock = DeferredLock()
        self._takers: Takers | None = None
        self._listening: tuple[Mapping[str, Any] | None] | None = None
        self._held_back: dict[str, PluginEntry] = {}
        """Those found to hold what the host is built over when it ran already."""
        self._loading: Deferred[RunningPlugin] | None = None
        self._stopping = False
        self.folded = Fold()
        self.begun: Deferred[None] = Deferred()
        """Fires when the host listens and every plugin knows, or had its time to, after the start."""
        self._when_listening: Listening | None = None

    @property
    def running_plugins(self) -> Mapping[str, RunningPlugin]:
        """The plugins that are loaded, by id."""
        return self._running

    def ids(self, entries: Sequence[PluginEntry]) -> Collection[str]:
        """What `entries` are called now, on disk."""
        return self._loader.ids(entries)

    # -- the start -------------------------------------------------------------------

    async def load_first(self, entries: Sequence[PluginEntry]) -> Fold:
        """Apply every plugin of `entries`; what the host is to be built over.

        A plugin that fails is skipped and shown. Raises `TwoAgents`.
        """
        with self._rows.together():  # there is no host yet for anybody to see them on
            return await self._load_first(entries)

    async def _load_first(self, entries: Sequence[PluginEntry]) -> Fold:
        self._loader.look(entries)
        self._rows.listed(self._loader.named)
        coming: list[Named] = []
        for named in self._loader.named.values():
            if not named.entry.enabled or self._stopping:
                continue
            self._rows.importing(named.plugin)
            if self._loader.import_ahead(named):
                coming.append(named)
            else:
                await self._load(named, {})  # what it left running is ended now
        for named in coming:
            loaded = await self._load(named, {})
            vault = None if loaded is None else loaded.contribution.ports.get("vault")
            if vault is not None and vault.replace:
                self._vault_taken(vault.value, named.plugin)
        await self._loader.forget_ahead()
        try:
            self.folded = self._fold()
        except TwoAgents:  # nothing is started, so what they opened is closed
            for plugin in reversed(tuple(self._running.values())):
                await self._take_out(plugin)
            raise
        self._rows.left_out(self.folded.problems)
        return self.folded

    def host(self, takers: Takers, when_listening: Listening) -> None:
        """The host is built over the fold. At the start its parts take the rest of it;
        `when_listening` returns once it listens, with what the event says (None over stdio alone).
        """
        self._takers = takers
        self._when_listening = when_listening

    def startService(self) -> None:
        """Have the host take what there is, in this step as far as nothing has to be awaited."""
        super().startService()  # type: ignore[no-untyped-call]
        beginning = Deferred.fromCoroutine(self._begin())
        beginning.addErrback(self._not_begun)
        beginning.addCallback(self.begun.callback)

    def _not_begun(self, failure: Failure) -> None:
        if not self._stopping:
            log.failure("the plugins did not begin", failure)

    async def _begin(self) -> None:
        async def taken() -> Outcome:
            await self._take()
            return Outcome()

        await self._alone(taken)
        assert self._when_listening is not None, "the host is built before it starts"
        payload = await self._when_listening()

        async def told() -> Outcome:
            await self.listening(payload)
            return Outcome()

        await self._alone(told)

    async def listening(self, payload: Mapping[str, Any] | None) -> None:
        """The host listens; None over stdio alone. Every plugin is told, in order."""
        self._listening = (payload,)
        await tell_listening(tuple(self._running.values()), payload, self._loader.clock)

    # -- changes -----------------------------------------------------------------------

    async def apply(self, entries: Sequence[PluginEntry]) -> Outcome:
        """Have the plugins be those of `entries`: load, unload or apply again what differs.

        Raises `PluginError` on a host that stops.
        """
        return await self._alone(lambda: self._apply(entries))

    async def reload(self, plugin: str) -> Outcome:
        """Take a plugin down and run the code that is on disk now.

        Raises `KeyError` for one that is not configured, and `PluginError` on a host that stops.
        """
        return await self._alone(lambda: self._reload(plugin))

    async def _alone(self, work: Callable[[], Awaitable[Outcome]]) -> Outcome:
        await self._lock.acquire()
        try:
            if self._stopping:
                raise PluginError("this host is stopping: its plugins are left as they are")
            return await work()
        finally:
            self._lock.release()

    async def _apply(self, entries: Sequence[PluginEntry]) -> Outcome:
        self._loader.look(entries)
        wanted = self._loader.named
        change = change_to(wanted, self._running.values(), self._held_back)
        self._held_back = dict(change.held_back)
        self._rows.listed(wanted)
        for one in reversed(change.going):
            await self._unload(one)
        outcome = await self._load_late(change.coming, tuple(wanted))
        stay = {one.id: self._not_reloaded(why, one.id, one) for one, why in change.unread.items()}
        for one in change.fixed:
            log.warn(
                "plugin {plugin}: it holds {what}, so its change waits for the next start",
                plugin=one.id,
                what=", ".join(one.contribution.fixed),
            )
        return attrs.evolve(
            outcome,
            problems={**outcome.problems, **stay},
            waiting={one.id for one in change.fixed} | {*self._held_back},
        )

    async def _reload(self, plugin: str) -> Outcome:
        held = self._running.get(plugin)
        if held is not None and held.contribution.fixed:
            return Outcome(waiting={plugin})
        entries = [named.entry for named in self._loader.named.values()]
        if plugin not in self._loader.named:
            raise KeyError(plugin)
        self._loader.look(entries)
        named = self._loader.named.get(plugin)
        if named is None:  # what is there now has another id
            return await self._apply(entries)
        if isinstance(named.result, Skipped):  # what cannot be loaded again is not taken down
            return Outcome(problems={plugin: self._not_reloaded(named.result, plugin, held)})
        if held is not None:
            await self._unload(held)
        self._held_back.pop(plugin, None)
        self._rows.listed(self._loader.named)
        coming = [named] if named.entry.enabled else []
        return await self._load_late(coming, tuple(self._loader.named))

    def _not_reloaded(self, why: Skipped, plugin: str, held: RunningPlugin | None) -> str:
        if held is None:
            self._rows.listed(self._loader.named)
            self._rows.skipped(plugin, why.line)
            return why.line
        line = f"it runs on as it was: {why.why}"
        self._rows.problem(plugin, line)
        return f"plugin {plugin}: {line}"

    async def _load_late(self, coming: Sequence[Named], order: Sequence[str]) -> Outcome:
        """Load `coming` into the host that runs, and have it take the fold of them all."""
        problems: dict[str, str] = {}
        fresh: list[RunningPlugin] = []
        for named in coming:
            loaded = await self._load(named, problems)
            if loaded is None:
                continue
            fresh.append(loaded)
            if loaded.contribution.fixed:
                self._held_back[loaded.id] = named.entry
                await self._take_out(loaded)
                self._rows.unloaded(loaded.id)
        # Those that wait for the next start to go are in no order any more, and stay.
        self._running = {
            plugin: self._running[plugin]
            for plugin in dict.fromkeys((*order, *self._running))
            if plugin in self._running
        }
        left_out: dict[str, list[str]] = {}
        for problem in await self._refold(fresh, problems):
            left_out.setdefault(problem.plugin, []).append(problem.line)
        if self._listening is not None:
            there = [one for one in fresh if self._running.get(one.id) is one]
            await tell_listening(there, self._listening[0], self._loader.clock)
        theirs = {one.id: left_out[one.id] for one in fresh if one.id in left_out}
        return Outcome(waiting={*self._held_back}, problems=problems, left_out=theirs)

    async def _refold(
        self, fresh: Sequence[RunningPlugin], problems: dict[str, str]
    ) -> Sequence[Problem]:
        """Take the fold of what runs; what was left out. Who would make two agents of one is taken
        out again: one of `fresh`, wherever it stands in the order, because what ran goes on."""
        while True:
            try:
                self.folded = self._fold()
                break
            except TwoAgents as clash:
                at_odds = [one for one in fresh if one.id in clash.plugins]
                last = at_odds[-1]
                problems[last.id] = f"plugin {last.id} skipped: {clash}"
                await self._take_out(last)
                self._rows.skipped(last.id, problems[last.id])
        return await self._take()

    def _fold(self) -> Fold:
        return fold((one.contribution for one in self._running.values()), self._own)

    async def _take(self) -> Sequence[Problem]:
        taken = () if self._takers is None else await self._takers.take(self.folded)
        left_out = [*self.folded.problems, *taken]
        self._rows.left_out(left_out)
        return left_out

    # -- one plugin ---------------------------------------------------------------------

    async def _load(self, named: Named, problems: dict[str, str]) -> RunningPlugin | None:
        if not named.entry.enabled or self._stopping:
            return None
        self._rows.loading(named.plugin)
        self._loading = Deferred.fromCoroutine(self._loader.load(named))
        try:
            plugin = await self._loading
        except Skipped as why:
            if self._stopping:
                return None
            self._rows.skipped(named.plugin, why.line)
            problems[named.plugin] = why.line
            return None
        finally:
            self._loading = None
        self._running[plugin.id] = plugin
        plugin.attach()
        self._rows.applied(plugin)
        return plugin

    async def _unload(self, plugin: RunningPlugin) -> None:
        """Take a plugin down, and its contribution out of the host."""
        await plugin.quiet()
        if self._takers is not None:
            try:
                await self._takers.end_sessions(self._agents_of(plugin.id))
            except Exception:
                log.failure("the sessions on an agent of {plugin} did not end", plugin=plugin.id)
        await plugin.close()
        self._running.pop(plugin.id, None)
        self.folded = self._fold()
        await self._take()
        await self._let_go(plugin)
        self._rows.unloaded(plugin.id)

    def _agents_of(self, plugin: str) -> Sequence[str]:
        """The agents of a plugin that stand."""
        return tuple(name for name, held in self.folded.agents.items() if held.plugin == plugin)

    async def _take_out(self, plugin: RunningPlugin) -> None:
        """Take down a plugin whose contribution the host never took."""
        self._running.pop(plugin.id, None)
        await plugin.quiet()
        await plugin.close()
        await self._let_go(plugin)

    async def _let_go(self, plugin: RunningPlugin) -> None:
        plugin.detach()
        if self._takers is not None:
            await self._takers.gone(plugin.id)
        await self._forget(plugin)

    async def _forget(self, plugin: RunningPlugin) -> None:
        try:
            await self._loader.forget(plugin)
        except Exception:  # what is in the way may be anybody's, and the others' turn comes
            log.failure("plugin {plugin}: its code was not let go of", plugin=plugin.id)

    # -- the stop -------------------------------------------------------------------------

    def stop_loading(self) -> None:
        """Load nothing from here on; what is being applied is cancelled."""
        self._stopping = True
        if self._loading is not None:
            self._loading.cancel()

    async def abandon(self) -> None:
        """Take down what was applied for a host that is not built after all."""
        for plugin in reversed(tuple(self._running.values())):
            await self._take_out(plugin)

    def stopService(self) -> "Deferred[None]":
        """Tell every plugin, and stop their services; their closers come later (`Closers`)."""
        super().stopService()  # type: ignore[no-untyped-call]
        self.stop_loading()
        return Deferred.fromCoroutine(self.in_time("to stop", self._stop))

    async def _stop(self) -> None:
        await self._lock.run(lambda: Deferred.fromCoroutine(self._quiet()))

    async def _quiet(self) -> None:
        for plugin in reversed(tuple(self._running.values())):
            await plugin.quiet()

    async def close(self) -> None:
        """Run every plugin's closers."""
        for plugin in tuple(self._running.values()):
            await plugin.close()
            plugin.detach()
            await self._forget(plugin)

    async def in_time(self, what: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do some of the stop; a plugin that holds it up is left behind with all of it."""
        try:
            await bounded(work, STOP_BOUND, self._loader.clock)
        except Overdue:
            log.error(
                "the plugins took longer than {bound:g} s {what}", what=what, bound=STOP_BOUND
            )
        except CancelledError:
            pass
