"""What one webhook shows of itself: its last call on a view, and what goes wrong as an alert."""

from datetime import UTC, datetime
from typing import Any, Final

from ahpd.interfaces import Alert, IPluginHost, IViewHandle
from ahpd.protocol import State

_COMPONENTS: Final[tuple[State, ...]] = (
    {"id": "page", "component": "Column", "children": ["calls", "last", "outcome"]},
    {"id": "calls", "component": "KeyValue", "label": "Calls", "value": {"path": "/calls"}},
    {"id": "last", "component": "KeyValue", "label": "Last call", "child": "at"},
    # A client shows it in its reader's own zone; a path the data does not hold draws nothing.
    {"id": "at", "component": "DateTime", "value": {"path": "/at"}},
    {"id": "outcome", "component": "Text", "text": {"path": "/outcome"}},
)


class Shown:
    """The view of one connector, and its alerts on the plugin's row."""

    def __init__(self, host: IPluginHost, view: IViewHandle, connector: str) -> None:
        self._host = host
        self._view = view
        self._failing = f"connector:{connector}"
        self._refusing = f"caller:{connector}"
        self._name = connector
        self._calls = 0
        self._alerts: set[str] = set()
        view.show_view(
            {
                "root": "page",
                "components": {one["id"]: one for one in _COMPONENTS},
                "dataModel": {"calls": 0, "outcome": "It was not called yet."},
            }
        )

    def done(self, outcome: str) -> None:
        """A call was done."""
        self._called(outcome)
        self._clear(self._failing)
        self._clear(self._refusing)

    def failed(self, why: str) -> None:
        """A call came with the secret and could not be done."""
        self._called(f"It failed: {why}")
        self._raise(self._failing, "error", f"The webhook {self._name} failed: {why}")

    def refused(self) -> None:
        """A call came without the secret. Anybody can make such calls, as many as they like: they
        are said once, until one comes that is let in."""
        if self._refusing not in self._alerts:
            words = f"The webhook {self._name} was called with a secret that is none of its own."
            self._raise(self._refusing, "warning", words)

    def close(self) -> None:
        """The connector is closed: the host takes its view, and its alerts are nobody's."""
        for ref in tuple(self._alerts):
            self._clear(ref)

    def _called(self, outcome: str) -> None:
        self._calls += 1
        at = datetime.fromtimestamp(self._host.reactor.seconds(), UTC)
        data: dict[str, Any] = {
            "calls": self._calls,
            "at": at.isoformat(timespec="milliseconds"),
            "outcome": outcome[:1000],
        }
        self._view.set_view_data("/", data)

    def _raise(self, ref: str, level: Any, text: str) -> None:
        self._alerts.add(ref)
        self._host.alert(Alert(level=level, text=text[:1000], ref=ref))

    def _clear(self, ref: str) -> None:
        if ref in self._alerts:
            self._alerts.discard(ref)
            self._host.clear_alert(ref)
