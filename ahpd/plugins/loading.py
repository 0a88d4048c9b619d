"""Loading one plugin: found, checked, imported, its options made ready, applied.

Each step that fails skips the plugin in one line; nothing of it stays. `apply` may be awaited and
is given a bound: one that never returns is skipped as one that fails is. Source: PLUGINS.txt, "The
contract", "What happens when a plugin fails".
"""

import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final
from weakref import WeakKeyDictionary

import attrs
from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ahpd.bounded import Overdue, bounded, words_of
from ahpd.calling import awaited
from ahpd.config.plugin_flags import PluginOption, with_options
from ahpd.config.plugins import PluginEntry
from ahpd.config.redaction import secrets_of
from ahpd.events.bus import Events
from ahpd.interfaces import PluginError, SecretFailure
from ahpd.plugins.belongings import Belongings
from ahpd.plugins.cleared import cleared
from ahpd.plugins.contribution import Contribution
from ahpd.plugins.finding import Finder
from ahpd.plugins.flagged import entry_of
from ahpd.plugins.found import Found
from ahpd.plugins.host import PluginHost, Surroundings, context_for, one_line
from ahpd.plugins.left_behind import Said, end_left_behind
from ahpd.plugins.manifest import held_to_contracts
from ahpd.plugins.modules import Imported, has_module, import_plugin, purge, purge_left
from ahpd.plugins.named import Named
from ahpd.plugins.option_references import references_in
from ahpd.plugins.options import ready_options, resolved_options
from ahpd.plugins.own_frames import inside_of, last_in, raised_in
from ahpd.plugins.registering import Checks, Registrar
from ahpd.plugins.running import RunningPlugin
from ahpd.plugins.shown import Shown
from ahpd.plugins.skipped import Skipped
from ahpd.plugins.stalls import StallWatch
from ahpd.plugins.texts import Texts, read_catalogs
from ahpd.plugins.whose import Whose
from ahpd.protocol.read_only import read_only
from ahpd.schemas import secrets_in
from ahpd.unspoken import Unspoken
from ahpd.whose_code import disown, own

log = Logger(namespace="ahpd.plugin")

#: Seconds an `apply` may take.
APPLY_BOUND: Final = 20.0


@attrs.define(eq=False, repr=False)
class Loader:
    """Loads the plugins of one host.

    `finder` reads what is installed, anew for each change. `shown(id)` is where a plugin shows
    itself. `clock` bounds an `apply`.
    """

    around: Surroundings
    checks: Checks
    events: Events
    clock: IReactorTime
    environ: Mapping[str, str] = attrs.field(repr=False)
    finder: Callable[[], Finder]
    shown: Callable[[str], Shown]
    options: Sequence[PluginOption] = ()
    """What the command line says of options, over what the configuration says."""
    read: list[str] = attrs.field(factory=list, repr=False)
    """What options read from the vault and the environment, to be kept out of logs."""
    unspoken_host: Unspoken = attrs.field(factory=Unspoken, repr=False)
    """What the host's log leaves out: what the options of its plugins hold is added."""
    _named: dict[str, Named] = attrs.field(factory=dict)
    _standing: list[Imported] = attrs.field(factory=list)
    """The modules of the plugins that are imported."""
    _ahead: dict[Found, Imported | Exception] = attrs.field(factory=dict)
    """What came of the imports of those that are loaded later."""
    _left: dict[str, Belongings] = attrs.field(factory=dict)
    """What the modules were of those that went, by id: some may be left to others."""
    _said: Said = attrs.field(factory=WeakKeyDictionary)
    """The threads of plugins that went, of which that was said."""
    _stalls: StallWatch = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._stalls = StallWatch(self.around.reactor)

    # -- what there is ---------------------------------------------------------------

    def look(self, entries: Sequence[PluginEntry]) -> None:
        """Find what `entries` name now, for the next change."""
        # Files may have come within the time stamp of a folder that was looked into before.
        importlib.invalidate_caches()
        before = self._before()
        results = self.finder().find_all(entries, before)
        self._named = {}
        for result in results:
            entry = entry_of(result)
            named = self._named_as(entry, result, before.get(entry.source))
            self._named.setdefault(named.plugin, named)

    def _before(self) -> Mapping[str, str]:
        return {one.entry.source: one.plugin for one in self._named.values()}

    def _named_as(self, entry: PluginEntry, result: Found | Skipped, before: str | None) -> Named:
        plugin = result.id if isinstance(result, Found) else result.plugin
        if isinstance(result, Skipped) and before and plugin in ("", entry.source):
            plugin = before  # what cannot be read now is what it was
        if isinstance(result, Found):
            entry = with_options(entry, plugin, self.options)
            if entry is not result.entry:
                result = attrs.evolve(result, entry=entry)
        if not plugin or plugin in self._named:  # what is second is known by its source
            plugin = cleared(entry.source)
        return Named(plugin, entry, result)

    def ids(self, entries: Sequence[PluginEntry]) -> Collection[str]:
        """What `entries` are called now; the next change is not made of it."""
        importlib.invalidate_caches()
        results = self.finder().find_all(entries, self._before())
        return {one.id if isinstance(one, Found) else one.plugin for one in results}

    @property
    def named(self) -> Mapping[str, Named]:
        """What the configuration names, by id, in its order."""
        return self._named

    # -- one plugin --------------------------------------------------------------------

    def import_ahead(self, named: Named) -> bool:
        """Import what an entry names, for its `load`. False where that fails: what went wrong is
        the load's to say, and to end.

        Importing takes most of a load. A start imports all plugins before it applies one: by turns
        the two have the processor begin anew each time, which takes a tenth longer.
        """
        if isinstance(named.result, Skipped):
            return False
        found = named.result
        self._begin(found)
        try:
            self._ahead[found] = self._import(found)
        except Exception as error:
            self._ahead[found] = error.with_traceback(None)
            return False
        return True

    async def forget_ahead(self) -> None:
        """Let go of what was imported ahead and is not loaded."""
        ahead, self._ahead = self._ahead, {}
        for found, held in ahead.items():
            if isinstance(held, Imported):
                await self._end_left_behind(found.id, self._purged(held))
            self._ended(found)

    def _begin(self, found: Found) -> None:
        self.unspoken_host.add(*_credentials(found))
        self._stalls.begin(found)
        own(inside_of(found), found.id, found.folder)

    def _import(self, found: Found) -> Imported:
        if (left := self._left.pop(found.id, None)) is not None:
            purge_left(left, self._standing)
        imported = import_plugin(found)
        self._standing.append(imported)
        self._stalls.knows(found, imported.belongs)
        return imported

    def _imported(self, found: Found) -> Imported:
        held = self._ahead.pop(found, None)
        if isinstance(held, Exception):
            raise held
        return self._import(found) if held is None else held

    async def load(self, named: Named) -> RunningPlugin:
        """Load and apply what an entry names. Raises `Skipped`, whose words hold no credential."""
        found, entry = named.found(), named.entry
        imported: Imported | None = None
        modules: Collection[str] = ()
        if found not in self._ahead:
            self._begin(found)
        try:
            self._warn(found)
            imported = self._imported(found)
            options = await self._options(found, imported)
            return await self._applied(entry, found, imported, options)
        except Skipped as skipped:
            why, modules = skipped.why, skipped.modules
        except CancelledError:
            why = "its load was cancelled"
        except Exception as error:
            log.debug("plugin {plugin}: {trace}", plugin=found.id, trace=Failure().getTraceback())
            why = f"it cannot be loaded: {words_of(error)}{raised_in(error, found)}"
        # Out of its handlers, so that the error and the frames it holds are gone.
        if imported is not None:
            modules = self._purged(imported)
        await self._end_left_behind(found.id, modules)
        self._ended(found)
        raise Skipped(cleared(why, self.unspoken(named)), found.id, found=found)

    def unspoken(self, named: Named) -> list[str]:
        """What no text about a plugin may quote: what its options hold under a mark, and what was
        read for anybody's."""
        found = named.known
        schema = None if found is None else found.manifest.options_schema
        return [*secrets_in(schema, dict(named.entry.options)), *self.read]

    def _warn(self, found: Found) -> None:
        for line in found.warnings:
            self.shown(found.id).problem(line)
        if found.manifest.options_schema is not None:
            for gap in self.checks.gaps(dict(found.manifest.options_schema)):
                self.shown(found.id).problem(f"options {gap}")

    async def _options(self, found: Found, imported: Any) -> dict[str, Any]:
        """The options `apply` is handed: defaults under them, held to the schema, secrets read."""
        world = self.around.world
        try:
            read: list[str] = []
            given = await resolved_options(found, world.secrets, self.environ, read)
            self.read += [text for text in dict.fromkeys(read) if text not in self.read]
            self.unspoken_host.add(*read)
            options, lines = ready_options(found, imported.defaults, given)
        except SecretFailure as failure:
            raise Skipped(str(failure), found.id, found=found) from None
        for line in lines:
            log.warn("plugin {plugin}: {line}", plugin=found.id, line=line)
        return options

    async def _applied(
        self, entry: PluginEntry, found: Found, imported: Any, options: dict[str, Any]
    ) -> RunningPlugin:
        shown = self.shown(found.id)
        contribution = Contribution(plugin=found.id)
        self.around.world.registered[found.id] = contribution.methods
        manifest = found.manifest
        registrar = Registrar(
            contribution,
            self.checks,
            lambda kind, name: held_to_contracts(manifest, kind, name),
            shown.problem,
        )
        host = PluginHost(
            context_for(found.id, self.around),
            self.around,
            registrar,
            shown,
            texts=self._texts(found, shown),
            installed=found.folder / "installed",
            grants=entry.grants,
        )
        try:
            await awaited(bounded(lambda: imported.apply(host, options), APPLY_BOUND, self.clock))
        except Overdue as late:
            why = f"its apply did not return within {APPLY_BOUND:g} s"
            why += last_in(late.waits_at, found)
        except CancelledError:
            why = "its apply was cancelled"
        except PluginError as error:
            why = f"{one_line(error)}{raised_in(error, found)}"
        except Exception as error:
            log.debug("plugin {plugin}: {trace}", plugin=found.id, trace=Failure().getTraceback())
            why = f"its apply failed: {words_of(error)}{raised_in(error, found)}"
        else:
            why = _of_a_vault(contribution, found)
        registrar.close_registrations()
        applied = RunningPlugin(entry, found, imported, contribution, host, self.clock, self.events)
        if not why:
            return applied
        # What it opened before it failed, it closes.
        await applied.close()
        applied.detach()
        raise Skipped(why, found.id, found=found)

    @staticmethod
    def _texts(found: Found, shown: Shown) -> Texts:
        if found.manifest.texts is None:
            return Texts({})
        catalogs, lines = read_catalogs(found.folder, found.manifest.texts)
        for line in lines:
            shown.problem(line)
        return Texts(read_only(catalogs))

    async def forget(self, plugin: RunningPlugin) -> None:
        """Let go of a plugin's code, so that the next load runs what is on disk then.

        What it left running is ended, and said.
        """
        registered = self.around.world.registered
        if registered.get(plugin.id) is plugin.contribution.methods:
            del registered[plugin.id]
        modules = self._purged(plugin.imported)
        plugin.imported = None
        await self._end_left_behind(plugin.id, modules, plugin.host.handed())
        self._ended(plugin.found)

    def _ended(self, found: Found) -> None:
        self._stalls.end(found)
        disown(inside_of(found), found.id, found.folder)

    def _purged(self, imported: Imported) -> Collection[str]:
        self._standing = [one for one in self._standing if one is not imported]
        self._left[imported.found.id] = imported.belongs
        return purge(imported, self._standing)

    async def _end_left_behind(
        self, plugin: str, modules: Collection[str], handed: Collection[object] = ()
    ) -> None:
        if not modules:
            return
        stands = cache(partial(has_module, self._standing))
        of = Whose(modules, stands, handed, min(modules))
        for line in await end_left_behind(self.around.reactor, of, self._said):
            log.warn(
                "plugin {plugin}: {line}: what it opens it has to close", plugin=plugin, line=line
            )


def _credentials(found: Found) -> list[str]:
    """What of a plugin's options no log may hold, for as long as it runs.

    Of one without a schema everything may be a credential, and what is called as one is.
    """
    schema, options = found.manifest.options_schema, dict(found.entry.options)
    return list(secrets_of(options)) if schema is None else secrets_in(schema, options)


def _of_a_vault(contribution: Contribution, found: Found) -> str:
    """Why a plugin that supplies the vault cannot be loaded; empty for nothing.

    Nobody could check what it reads from itself before it is there.
    """
    if "vault" not in contribution.ports:
        return ""
    for reference in references_in(found.manifest.options_schema, found.entry.options):
        if "$secret" in reference.value:
            return f"its option {reference.words} names a secret, and it supplies the vault"
    return ""
