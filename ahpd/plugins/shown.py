"""What one plugin shows on its row: alerts, and the view of its own page."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any, Final

import attrs
from twisted.logger import Logger

from ahpd.extensions.alerts import Alerts
from ahpd.interfaces import Alert
from ahpd.protocol import State
from ahpd.protocol.characters import whole
from ahpd.views import Views

log = Logger(namespace="ahpd.plugin")

_LEVELS: Final = ("notice", "info", "warning", "error")


class Shown:
    """The alerts and views of the plugin `plugin`.

    `moved` is called when the row is another; `data(surface, path, value)` when one value of a
    view's data was set, for which the row is not sent again. `methods` are the commands of the
    plugin now, which a view's buttons may name.
    """

    def __init__(
        self,
        plugin: str,
        now: Callable[[], datetime],
        moved: Callable[[], None],
        data: Callable[[str, str, Any], None],
        methods: Callable[[], Collection[str]],
    ) -> None:
        self._plugin = plugin
        self._moved = moved
        self._data = data
        self._methods = methods
        self.alerts = Alerts(now, moved)
        self._views = self._fresh()
        self.problems: list[str] = []
        """The lines of items that were left out, since the plugin was last loaded."""

    def _fresh(self) -> Views:
        return Views(
            ("main",),
            self._methods,
            moved=self._moved,
            data=self._data,
            report=lambda line: log.warn("plugin {plugin}: {line}", plugin=self._plugin, line=line),
        )

    @property
    def views(self) -> Mapping[str, State] | None:
        """What the row's `views` holds; None for nothing."""
        return self._views.shown

    def problem(self, line: str) -> None:
        """See `IPluginHost.problem`."""
        log.warn("plugin {plugin}: {line}", plugin=self._plugin, line=line)
        self.problems.append(line)
        self.alerts.raise_(Alert(level="warning", text=line))

    def left_out(self, line: str) -> None:
        """Something it registered is not there, as `line` says."""
        log.warn("plugin {plugin}: {line}", plugin=self._plugin, line=line)
        self.problems.append(line)
        self.alerts.raise_(Alert(level="warning", text=line, ref=_about(line)))

    def solved(self, line: str) -> None:
        """What `line` said is so no more."""
        if line in self.problems:
            self.problems.remove(line)
        self.alerts.clear(_about(line))

    def failed(self, line: str) -> None:
        """The line that says why the plugin is not loaded."""
        log.error("{line}", line=line)
        self.problems.append(line)
        self.alerts.raise_(Alert(level="error", text=line))

    def alert(self, alert: Alert) -> None:
        """See `IPluginHost.alert`."""
        if not isinstance(alert, Alert) or alert.level not in _LEVELS:
            raise ValueError("an alert has a level: notice, info, warning or error")
        if not isinstance(alert.text, str):
            raise ValueError(f"an alert has a text, found {type(alert.text).__name__}")
        for name, value in (("ref", alert.ref), ("at", alert.at)):
            if value is not None and not isinstance(value, str):
                raise ValueError(f"an alert's {name} is a text, found {type(value).__name__}")
        self.alerts.raise_(attrs.evolve(alert, text=whole(alert.text)))

    def clear_alert(self, ref: str) -> None:
        """See `IPluginHost.clear_alert`."""
        self.alerts.clear(ref)

    def show_view(self, view: State, surface: str = "main") -> None:
        """See `IViewHandle.show_view`."""
        self._views.show_view(view, surface)

    def set_view_data(self, path: str, value: Any, surface: str = "main") -> None:
        """See `IViewHandle.set_view_data`."""
        self._views.set_view_data(path, value, surface)

    def clear_view(self, surface: str = "main") -> None:
        """See `IViewHandle.clear_view`."""
        self._views.clear_view(surface)

    def begin_anew(self) -> None:
        """The plugin is loaded, reloaded or gone: nothing it showed stands."""
        showed = bool(self.problems or self.views or self.alerts.shown)
        self.problems = []
        self._views.close()
        self._views = self._fresh()
        self.alerts.clear_where("")
        if showed:
            self._moved()


def _about(line: str) -> str:
    """The ref of what a line says of a registration: the thing that it begins with."""
    return f"registration:{line.partition(' is left ')[0]}"
