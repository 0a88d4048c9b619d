"""One connector while the host runs: its record, what became of it, what it shows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

import attrs

from ahpd.connectors.models import ModelList
from ahpd.connectors.records import is_on
from ahpd.extensions.alerts import Alerts
from ahpd.interfaces import Adapter, Alert, Check, Connector, Owned
from ahpd.protocol import State
from ahpd.schemas import all_hidden, hidden
from ahpd.views import Views

READY: Final = "ready"
UNAUTHORIZED: Final = "unauthorized"
FAILED: Final = "failed"
INVALID: Final = "invalid"
UNAVAILABLE: Final = "unavailable"
DISABLED: Final = "disabled"


@attrs.define(eq=False, repr=False)
class Opened:
    """A connector that its adapter answers for."""

    owned: Owned
    connector: Connector
    """As its adapter was handed it; what a sign-in refreshed is written to it."""
    views: Views
    stop: Callable[[], Any] | None = None
    models: ModelList | None = None
    secrets: list[str] = attrs.field(factory=list, repr=False)
    """Every text of a secret its adapter may know, for words it says."""

    @property
    def adapter(self) -> Adapter:
        """The adapter that opened it."""
        adapter: Adapter = self.owned.value
        return adapter


class Live:
    """A record and what became of it. `moved(live)` is called when its row is another one."""

    def __init__(
        self, record: State, now: Callable[[], datetime], moved: Callable[["Live"], None]
    ) -> None:
        self.record = record
        self.state = UNAVAILABLE
        self.opened: Opened | None = None
        self.schema: Mapping[str, Any] | None = None
        """The last schema its adapter had, which says what of its config is not shown."""
        self._moved = moved
        self._settling = 0
        self.alerts = Alerts(now, self.moved)

    @property
    def id(self) -> str:
        """The record's id."""
        identifier: str = self.record["id"]
        return identifier

    @property
    def owner(self) -> str:
        """Whose it is."""
        owner: str = self.record["owner"]
        return owner

    @property
    def on(self) -> bool:
        """Whether it is to be open."""
        return is_on(self.record)

    # -- its row ---------------------------------------------------------------------

    def moved(self) -> None:
        """The row is another one: said at once, or when what settles it is over."""
        if not self._settling:
            self._moved(self)

    @property
    def is_settling(self) -> bool:
        """Whether what moves now is said later, with the rest."""
        return self._settling > 0

    @contextmanager
    def settling(self) -> Iterator[None]:
        """What moves within is said as one, at the end."""
        self._settling += 1
        try:
            yield
        finally:
            self._settling -= 1
            self.moved()

    def row(self) -> State:
        """The connector as clients read it, but for what the list adds."""
        config = self.record["config"]
        # A person may have written a secret into it, and nobody says where one would stand.
        config = all_hidden(config) if self.schema is None else hidden(self.schema, config)
        row: State = {**self.record, "config": config, "state": self.state}
        alerts = self.alerts.shown
        if alerts:
            row["alerts"] = alerts
        views = None if self.opened is None else self.opened.views.shown
        if views:
            row["views"] = dict(views)
        return row

    def takes(self, record: State) -> None:
        """It has this record from now on. Nothing said of one of another adapter, or of somebody
        else's, is true of it."""
        before, self.record = self.record, record
        if before["adapter"] != record["adapter"]:
            self.schema = None
        if any(before[name] != record[name] for name in ("adapter", "owner")):
            self.alerts.clear_where("")

    # -- what became of it ---------------------------------------------------------------

    def failed_to_open(self, state: str, alerts: Sequence[Alert]) -> None:
        """It is not open: `alerts` in place of the last open's."""
        with self.settling():
            self.state = state
            self._clear_open()
            for alert in alerts:
                self.alerts.raise_(alert)

    def is_open(self, opened: Opened) -> None:
        """Its adapter answers for it from now on."""
        with self.settling():
            self.opened = opened
            self.state = READY
            self._clear_open()
            if opened.adapter.check is None:
                self.alerts.clear("check")

    def without(self, state: str) -> None:
        """Nobody opens it: `disabled`, or `unavailable`. It has no problem of its own then."""
        with self.settling():
            self.state = state
            self.alerts.clear_where("")

    def _clear_open(self) -> None:
        self.alerts.clear("open")
        self.alerts.clear_where("env:")
        self.alerts.clear_where("secret:")

    def checked(self, check: Check) -> None:
        """Its last check came to this, in words without a secret."""
        with self.settling():
            self.state = UNAUTHORIZED if check.result == "denied" else READY
            if check.result == "ok":
                self.alerts.clear("check")
            else:
                level: Any = "error" if check.result == "denied" else "warning"
                self.alerts.raise_(Alert(level=level, text=check.message, ref="check"))

    def called(self, failure: str | None) -> None:
        """A call of it worked, or failed in these words."""
        if failure is None:
            self.alerts.clear("call")
        else:
            self.alerts.raise_(Alert(level="warning", text=failure, ref="call"))
