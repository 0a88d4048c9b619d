"""`x-ahpd-plugins`: one row for each plugin the configuration names, described without running it.

A row is what its manifest says, what the running daemon did with it, and what it shows of itself.
Source: PLUGINS.txt, `x-ahpd-plugins`, "Text in the client's language".
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs

from ahpd.extensions.rows import Rows
from ahpd.interfaces import Caller
from ahpd.plugins.cleared import cleared
from ahpd.plugins.fold import Problem
from ahpd.plugins.named import Named
from ahpd.plugins.running import RunningPlugin
from ahpd.plugins.shown import Shown
from ahpd.plugins.states import row_of
from ahpd.plugins.texts import (
    NO_CATALOGS,
    Catalogs,
    CatalogsAtNeed,
    translated,
    translated_meta,
    translated_options,
)
from ahpd.protocol import State
from ahpd.schemas import secrets_in
from ahpd.views import translated as translated_view

if TYPE_CHECKING:
    from ahpd.plugins.manifest import Manifest

SCHEME = "x-ahpd-plugins"


@attrs.define(eq=False, repr=False)
class _Row:
    """What is known of one plugin."""

    shown: Shown
    named: Named | None = None
    loaded: bool = False
    problem: str | None = None
    left_out: tuple[str, ...] = ()
    """The lines that say what of its contribution was left out, as it is shown now."""
    icons: Sequence[State] = ()
    texts: Catalogs = NO_CATALOGS
    """What it was loaded with, or what lies beside its manifest where it is not loaded."""
    secrets: tuple[str, ...] = attrs.field(default=(), repr=False)

    def begin_anew(self) -> None:
        """It is loaded, reloaded or gone: nothing of what was shown stands."""
        self.left_out, self.icons = (), ()
        self.shown.begin_anew()

    def not_loaded(self) -> None:
        """It is not loaded: its texts are those beside what the configuration names now."""
        self.loaded = False
        found = None if self.named is None else self.named.known
        folder = None if found is None else found.manifest.texts
        if found is None or folder is None:
            self.texts = NO_CATALOGS
        else:
            self.texts = CatalogsAtNeed(found.folder, folder)


class PluginRows:
    """The rows, by plugin; what they show of themselves comes through `shown(id)`.

    `now` is the wall clock (aware). `unspoken()` are texts no row may hold. `methods(id)` are the
    commands a plugin has.
    """

    def __init__(
        self,
        now: Callable[[], datetime],
        methods: Callable[[str], Collection[str]],
        unspoken: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._now = now
        self._methods = methods
        self._unspoken = unspoken
        self._held: dict[str, _Row] = {}
        self._put_off: dict[str, None] | None = None
        """The plugins whose rows moved `together`, which are put behind it."""
        #: Told of each plugin that is loaded.
        self.on_applied: Callable[[RunningPlugin], None] = lambda plugin: None
        #: Told of each plugin that is about to be loaded, or is not loaded any more, by its id.
        self.on_anew: Callable[[str], None] = lambda plugin: None
        #: Told in words what the start is about to do with which plugin, and None once all are
        #: loaded.
        self.on_step: Callable[[str | None], object] = lambda words: None
        self.rows = Rows(
            SCHEME,
            title="Plugins",
            description="The plugins the configuration names, and what became of each.",
            grant="plugin:list",
            own="none",
            shown=self._in_language,
        )

    def shown(self, plugin: str) -> Shown:
        """Where a plugin shows itself."""
        return self._row(plugin).shown

    def _row(self, plugin: str) -> _Row:
        held = self._held.get(plugin)
        if held is None:

            def moved() -> None:
                self._put(plugin)

            def data(surface: str, path: str, value: Any) -> None:
                said = {"surface": surface, "path": path, "value": value}
                row = self._held.get(plugin)
                if row is not None and row.named is not None:
                    # What it holds is what late readers are shown; it is not sent again.
                    self.rows.say("viewData", said, plugin, self._state(plugin, row, row.named))

            shown = Shown(plugin, self._now, moved, data, lambda: self._methods(plugin))
            held = self._held[plugin] = _Row(shown)
        return held

    # -- what became of each (`ahpd.plugins.live.IRows`) ------------------------------------

    @contextmanager
    def together(self) -> Iterator[None]:
        """Put each row that moves within the block once, behind it: nobody watches meanwhile."""
        moved = self._put_off = {}
        try:
            yield
        finally:
            self._put_off = None
            for plugin in moved:
                self._put(plugin)

    def listed(self, named: Mapping[str, Named]) -> None:
        """The configuration names these from now on."""
        for plugin in tuple(self._held):
            if plugin not in named:
                del self._held[plugin]
                self.rows.remove(plugin)
        for plugin, one in named.items():
            row = self._row(plugin)
            row.named, row.secrets = one, _secrets(one)
            if not row.loaded:
                row.not_loaded()
            if not one.entry.enabled:
                row.problem = None
            self._put(plugin)

    def importing(self, plugin: str) -> None:
        """The start is about to import it, ahead of its load."""
        self.on_step(f"importing the plugin {plugin}")

    def loading(self, plugin: str) -> None:
        """It is about to be loaded: nothing it showed before stands."""
        row = self._row(plugin)
        row.problem = None
        self._begin_anew(plugin)
        self.on_step(f"loading the plugin {plugin}")

    def all_loaded(self) -> None:
        """The start loaded what it was to."""
        self.on_step(None)
        self.on_step = lambda words: None

    def applied(self, plugin: RunningPlugin) -> None:
        """It is loaded."""
        row = self._row(plugin.id)
        row.loaded, row.problem, row.texts = True, None, plugin.host.texts
        self._put(plugin.id)
        self.on_applied(plugin)

    def skipped(self, plugin: str, line: str) -> None:
        """It is not loaded, and why."""
        row = self._row(plugin)
        row.not_loaded()
        row.problem = line
        self._begin_anew(plugin)
        row.shown.failed(line)
        self._put(plugin)

    def unloaded(self, plugin: str) -> None:
        """It is not loaded any more."""
        row = self._held.get(plugin)
        if row is not None:
            row.not_loaded()
        self._begin_anew(plugin)
        self._put(plugin)

    def _begin_anew(self, plugin: str) -> None:
        self.on_anew(plugin)
        row = self._held.get(plugin)
        if row is not None:
            row.begin_anew()

    def left_out(self, problems: Sequence[Problem]) -> None:
        """What of what is loaded was left out, all of it: what stands by now is shown no more."""
        by_plugin: dict[str, list[str]] = {}
        for problem in problems:
            by_plugin.setdefault(problem.plugin, []).append(problem.line)
        for plugin in {*self._held, *by_plugin}:
            row, now = self._row(plugin), tuple(dict.fromkeys(by_plugin.get(plugin, ())))
            before, row.left_out = row.left_out, now
            for line in before:
                if line not in now:
                    row.shown.solved(line)
            for line in now:
                if line not in before:
                    row.shown.left_out(line)

    def problem(self, plugin: str, line: str) -> None:
        """Something of it was left out; said once while that stays so."""
        shown = self._row(plugin).shown
        if line not in shown.problems:
            shown.problem(line)

    def icons(self, plugin: str, icons: Sequence[State]) -> None:
        """The icons clients draw beside it."""
        row = self._held.get(plugin)
        if row is not None:
            row.icons = tuple(icons)
            self._put(plugin)

    def icons_of(self, plugin: str) -> Sequence[State]:
        """What clients draw beside a plugin, as far as it is known by now."""
        row = self._held.get(plugin)
        return () if row is None else row.icons

    def texts_of(self, plugin: str) -> Catalogs:
        """The catalogs of a plugin."""
        row = self._held.get(plugin)
        return NO_CATALOGS if row is None else row.texts

    def problems(self) -> Sequence[str]:
        """Every line that says what was left out or skipped, in the plugins' order."""
        return [
            cleared(line, (*row.secrets, *self._unspoken()))
            for row in self._held.values()
            for line in row.shown.problems
        ]

    # -- a row as it is sent -----------------------------------------------------------------

    def _put(self, plugin: str) -> None:
        if self._put_off is not None:
            self._put_off[plugin] = None
            return
        row = self._held.get(plugin)
        if row is not None and row.named is not None:
            self.rows.put(self._state(plugin, row, row.named))

    def _state(self, plugin: str, row: _Row, named: Named) -> State:
        listing = row_of(named.result)
        found = listing.found
        secrets = (*row.secrets, *self._unspoken())
        # A default that the module alone knows is no option that is missing once it is loaded.
        working = row.loaded and listing.state == "unconfigured"
        problem = row.problem or (None if working else listing.problem)
        state: State = {
            "id": plugin,
            "spec": cleared(named.entry.source),
            "name": named.entry.name or plugin,
            "state": "ready" if working else listing.state,
            "loaded": row.loaded,
            "alerts": [
                {**alert, "text": cleared(alert["text"], secrets)}
                for alert in row.shown.alerts.shown
            ],
        }
        if problem is not None:
            state["problem"] = cleared(problem, secrets)
        if found is not None:
            state |= {"title": found.title, "module": found.module, "path": str(found.folder)}
            state |= {} if found.version is None else {"version": found.version}
            state |= _described(found.manifest)
        if row.icons:
            state["icons"] = list(row.icons)
        if row.shown.views:
            state["views"] = dict(row.shown.views)
        return state

    def _in_language(self, row: State, caller: Caller) -> State:
        held = self._held.get(row["id"])
        if held is None or caller.locale is None:
            return row
        return _translated(row, caller.locale, held.texts)


def _translated(row: State, locale: str, texts: Catalogs) -> State:
    """A row in the language of whoever reads it: what the plugin itself put into words."""
    meta: dict[str, str] = {key: row[key] for key in ("title", "description") if key in row}
    told = {**row, **translated_meta(meta, locale, texts)}
    if "optionsSchema" in row:
        told["optionsSchema"] = translated_options(row["optionsSchema"], locale, texts)
    if "views" in row:

        def lookup(text: str) -> str:
            return translated(("messages", text), text, locale, texts)

        told["views"] = {
            surface: translated_view(view, lookup) for surface, view in row["views"].items()
        }
    return told


def _described(manifest: "Manifest") -> State:
    """What a manifest says, as a row carries it."""
    said: State = {"description": manifest.description} if manifest.description else {}
    if manifest.categories:
        said["categories"] = list(manifest.categories)
    if manifest.links:
        said["links"] = [{"title": one.title, "url": one.url} for one in manifest.links]
    if manifest.contracts is None:
        said["undeclared"] = True
    else:
        said["contracts"] = {kind: list(names) for kind, names in manifest.contracts.items()}
    if manifest.options_schema is not None:
        said["optionsSchema"] = dict(manifest.options_schema)
    return said


def _secrets(named: Named) -> tuple[str, ...]:
    """What no text about this plugin may quote: the marked values of its options."""
    found = named.known
    schema = None if found is None else found.manifest.options_schema
    return tuple(secrets_in(schema, dict(named.entry.options)))
