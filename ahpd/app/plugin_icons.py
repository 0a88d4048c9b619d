"""The icons of plugins, of their adapters and engines, and of the templates of their engines.

They are read when a plugin is loaded, in the background: what is shown before is shown without.
What is on this machine is known first, and what is fetched joins it when it came. Of a plugin that
is gone, or loaded anew, nothing stands. Source: PLUGINS.txt, "Icons".
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ahpd.config.settings import Settings
from ahpd.interfaces import Template
from ahpd.plugins.rows import PluginRows
from ahpd.protocol import State
from ahpd.records.members import icons_of, templates_of
from ahpd.schemas.documents import plain
from ahpd.wire.codec import encode

if TYPE_CHECKING:
    from ahpd.plugins.running import RunningPlugin

log = Logger(namespace="ahpd.plugin")

#: Whose an icon is: a plugin's own, or its adapter's, engine's or template's with their names.
_Whose = tuple[str, ...]

_OWN: Final = ("plugin",)


@attrs.define(eq=False, repr=False)
class _Load:
    """The icons of one plugin as it was loaded, or of one engine that is there without plugins."""

    called: str
    """What a line about one begins with."""
    folder: Path | None
    """What paths are relative to."""
    wanted: Mapping[_Whose, Sequence[Any]]
    """As they were written."""
    known: dict[_Whose, Sequence[State]] = attrs.field(factory=dict)
    is_asked: bool = False
    """Whether somebody was told what was known so far, and is told what moves."""
    is_over: bool = False
    """The plugin is loaded anew, or gone."""


class PluginIcons:
    """Resolves them, and has `rows` show a plugin's."""

    def __init__(
        self,
        settings: Settings,
        reactor: Any,
        run_blocking: Callable[..., Any],
        rows: PluginRows,
    ) -> None:
        self._limit = settings.icon_limit_bytes
        self._timeout = settings.icon_timeout_ms / 1000
        self._reactor = reactor
        self._run_blocking = run_blocking
        self._rows = rows
        self._loads: dict[str, _Load] = {}
        self._without_plugin: dict[str, _Load] = {}
        #: Called when icons are known that were not.
        self.moved: Callable[[], None] = lambda: None

    def applied(self, plugin: "RunningPlugin") -> None:
        """A plugin was loaded: look for what it shows."""
        self.forget(plugin.id)
        held = plugin.contribution
        wanted: dict[_Whose, Sequence[Any]] = {_OWN: plugin.found.manifest.icons}
        wanted |= {("adapter", name): one.icons for name, one in held.adapters.items()}
        for engine in held.engines.values():
            wanted |= _wanted_by(engine)
        load = self._loads[plugin.id] = _Load(f"plugin {plugin.id}: ", plugin.found.folder, wanted)
        self._begin(load, lambda icons: self._rows.icons(plugin.id, icons))

    def forget(self, plugin: str) -> None:
        """A plugin is loaded anew, or gone: what is still on its way is shown nowhere."""
        load = self._loads.pop(plugin, None)
        if load is not None:
            load.is_over = True

    # -- as far as they are known ----------------------------------------------------------

    def of_adapter(self, plugin: str, adapter: str) -> Sequence[State]:
        """The icons of an adapter that a plugin registered."""
        return self._of(self._loads.get(plugin), "adapter", adapter)

    def of_engine(self, plugin: str | None, engine: Any) -> Sequence[State]:
        """The icons of an engine; `plugin` is None for one that is there without plugins."""
        return self._of(self._load_of(plugin, engine), "engine", engine.name)

    def of_template(self, plugin: str | None, engine: Any, template: Template) -> Sequence[State]:
        """The icons of a template of an engine."""
        return self._of(self._load_of(plugin, engine), "template", engine.name, template.id)

    def _of(self, load: _Load | None, *whose: str) -> Sequence[State]:
        return () if load is None else load.known.get(whose, ())

    def _load_of(self, plugin: str | None, engine: Any) -> _Load | None:
        if plugin is not None:
            return self._loads.get(plugin)
        load = self._without_plugin.get(engine.name)
        if load is None:
            load = _Load("", _package_of(engine), _wanted_by(engine))
            self._without_plugin[engine.name] = load
            self._begin(load)
        return load

    # -- reading them ------------------------------------------------------------------------

    def _begin(
        self, load: _Load, own: Callable[[Sequence[State]], None] = lambda icons: None
    ) -> None:
        if any(load.wanted.values()):
            reading = Deferred.fromCoroutine(self._read(load, own))
            reading.addErrback(
                lambda failure: log.failure(
                    "{called}the icons could not be read", failure, called=load.called
                )
            )
        load.is_asked = True

    async def _read(self, load: _Load, own: Callable[[Sequence[State]], None]) -> None:
        """Read them, those that are fetched last; `own` takes the plugin's own."""
        # Of those who have icons.
        from ahpd.plugins.icon_fetch import icon_fetch  # noqa: PLC0415
        from ahpd.plugins.icons import is_fetched, resolve  # noqa: PLC0415

        resolved = partial(
            resolve,
            folder=load.folder,
            fetch=icon_fetch(self._reactor),
            run_blocking=self._run_blocking,
            limit=self._limit,
            timeout=self._timeout,
            fetched={},
        )
        shaped = {whose: _shaped(load, whose, icons) for whose, icons in load.wanted.items()}
        found: dict[_Whose, list[Sequence[State]]] = {
            whose: [()] * len(icons) for whose, icons in shaped.items()
        }
        for fetching in (False, True):
            for whose, icons in shaped.items():
                turn = [at for at, icon in enumerate(icons) if is_fetched(icon) is fetching]
                for at in turn:
                    made, lines = await resolved([icons[at]])
                    if load.is_over:
                        return
                    found[whose][at] = made
                    _say(load, whose, lines)
                if turn:
                    load.known[whose] = [icon for made in found[whose] for icon in made]
                    if whose == _OWN:
                        own(load.known[whose])
                    if fetching:
                        self._told(load)
            if not fetching:
                self._told(load)

    def _told(self, load: _Load) -> None:
        if load.is_asked:
            self.moved()


def _wanted_by(engine: Any) -> dict[_Whose, Sequence[Any]]:
    """The icons an engine and its templates name."""
    return {("engine", engine.name): icons_of(engine)} | {
        ("template", engine.name, template.id): [{"src": template.icon}]
        for template in templates_of(engine)
        if isinstance(template, Template) and template.icon
    }


def _package_of(engine: Any) -> Path | None:
    """The folder of the package an engine is in; None for one that is in none."""
    package = sys.modules.get(type(engine).__module__.partition(".")[0])
    file = getattr(package, "__file__", None)
    if file is None or not hasattr(package, "__path__"):
        return None
    return Path(file).parent


def _shaped(load: _Load, whose: _Whose, icons: Sequence[Any]) -> Sequence[State]:
    """Those of `icons` that have the protocol's shape; a line for each that has not."""
    from ahpd.protocol.check import check_strict  # noqa: PLC0415
    from ahpd.protocol.shapes.common import Icon  # noqa: PLC0415

    shaped: list[State] = []
    for at, icon in enumerate(icons):
        try:
            made = plain(icon)
            check_strict(made, Icon, f"icons[{at}]")
            encode(made)  # not every text can be sent
        except ValueError as wrong:
            _say(load, whose, [f"an icon is left out: {wrong}"])
        else:
            shaped.append(made)
    return shaped


def _say(load: _Load, whose: _Whose, lines: Sequence[str]) -> None:
    kind, *names = whose
    of = "" if whose == _OWN else f"{kind} {' '.join(names)}: "
    for line in lines:
        log.warn("{line}", line=f"{load.called}{of}{line}")
