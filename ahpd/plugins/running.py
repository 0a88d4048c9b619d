"""One plugin that was applied: its beginning and its end.

It begins in two steps. Its listeners hear what happens from when it was applied; once the host
listens it is told `listening`, and its services start. It ends in the order in which it would
take things down itself: it is told `stopping`, its services stop, its closers run. Nothing here
raises: what a plugin does wrong at its end is logged, and the end goes on. Source: PLUGINS.txt,
"A change while the daemon runs", "A plugin is told when the host closes", "Events".
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ahpd.bounded import Overdue, awhile, bounded, words_of
from ahpd.calling import awaited
from ahpd.config.plugins import PluginEntry
from ahpd.events.bus import Events, Listener
from ahpd.whose_code import place_words

if TYPE_CHECKING:
    from ahpd.plugins.contribution import Contribution
    from ahpd.plugins.host import PluginHost

log = Logger(namespace="ahpd.plugin")

#: Seconds a service or a closer may take to be down before the end goes on without it.
CLOSE_BOUND: Final = 10.0
#: Seconds for which plugins that are told `listening` hold up, together, what comes behind it: the
#: announcement with what they say of it, and whoever asked for a load.
GRACE: Final = 2.0


@attrs.define(eq=False, repr=False)
class RunningPlugin:
    """A plugin between its `apply` and its last closer."""

    entry: PluginEntry
    found: Any
    """What it was found as (`ahpd.plugins.found.Found`)."""
    imported: Any
    """Its module (`ahpd.plugins.modules.Imported`)."""
    contribution: "Contribution"
    host: "PluginHost"
    _clock: IReactorTime
    _events: Events
    _attached: bool = False
    _heard_listening: bool = False
    _ending: bool = False
    _started: list[Any] = attrs.field(factory=list)

    @property
    def id(self) -> str:
        """The plugin's id."""
        return self.contribution.plugin

    # -- its beginning -------------------------------------------------------------

    def attach(self) -> None:
        """Have its listeners hear what happens from now on."""
        log.info("plugin {plugin} is loaded: {file}", plugin=self.id, file=self.found.file)
        self._attached = True
        context = self.host.context
        for event, handlers in self.contribution.listeners.items():
            for handler in handlers:
                self._events.listen(event, Listener(self.id, _bound(handler, context)))

    async def listening(self, payload: Mapping[str, Any] | None) -> None:
        """The host listens: tell it (None over stdio alone, where nobody is told), start its
        services."""
        if payload is not None and not self._heard_listening and not self._ending:
            self._heard_listening = True
            await self._events.tell("listening", payload, self.id)
        if self._ending:  # nobody would stop its services any more
            return
        for service in self.contribution.services:
            try:
                service.privilegedStartService()
                service.startService()
            except BaseException as error:
                log.failure("plugin {plugin}: a service failed to start", plugin=self.id)
                self.host.problem(f"a service failed to start: {words_of(error)}")
            else:
                self._started.append(service)

    # -- its end -------------------------------------------------------------------

    async def quiet(self) -> None:
        """Tell it that it stops, and stop its services, the last one first."""
        self._ending = True
        if self._heard_listening:
            self._heard_listening = False
            await self._events.tell("stopping", {}, self.id)
        started, self._started = self._started, []
        for service in reversed(started):
            await self._bounded("a service", service.stopService)

    async def close(self) -> None:
        """Run its closers, in the order in which they were registered, each once."""
        closers, self.contribution.closers = self.contribution.closers, []
        for close in closers:
            await self._bounded("a closer", close)

    def detach(self) -> None:
        """It hears nothing more, and what it holds of the host does nothing."""
        self._events.forget(self.id)
        self.host.let_go()
        if self._attached:
            self._attached = False
            log.info("plugin {plugin} is unloaded", plugin=self.id)

    async def _bounded(self, what: str, call: Callable[[], Any]) -> None:
        try:
            await awaited(bounded(call, CLOSE_BOUND, self._clock))
        except Overdue as late:
            log.error(
                "plugin {plugin}: {what} was not down after {bound:g} s and is left behind{place}",
                plugin=self.id,
                what=what,
                bound=CLOSE_BOUND,
                place=place_words(late.waits_at),
            )
        except Exception:
            log.failure("plugin {plugin}: {what} failed to close", plugin=self.id, what=what)


async def tell_listening(
    plugins: Sequence[RunningPlugin], payload: Mapping[str, Any] | None, clock: IReactorTime
) -> None:
    """Tell plugins, in order, that the host listens. Where that takes longer than `GRACE`, the
    rest of it is done behind this."""

    async def tell() -> None:
        for plugin in plugins:
            await plugin.listening(payload)

    telling = Deferred.fromCoroutine(tell())
    telling.addErrback(lambda failure: log.failure("plugins were not told", failure))
    await awhile(telling, GRACE, clock)


def _bound(handler: Callable[..., Any], context: Any) -> Callable[[Mapping[str, Any]], Any]:
    return lambda payload: handler(payload, context)
