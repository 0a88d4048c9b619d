"""One tunnel while the host runs: its record, what its kind says of it, what it shows."""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ahpd.interfaces import Owned, PluginError, Tunnel, TunnelKind, TunnelReport
from ahpd.protocol import State
from ahpd.protocol.characters import HALF_WORDS, is_whole_json
from ahpd.schemas import struck, unmarked
from ahpd.tunnels.records import head_of, is_on, own

RUNNING: Final = "running"
STOPPED: Final = "stopped"
ERROR: Final = "error"
#: The most of an address that is shown, in characters.
_LONGEST_URL: Final = 2048


@attrs.define(eq=False, repr=False)
class Started:
    """A tunnel that its kind forwards."""

    owned: Owned
    tunnel: Tunnel
    """As its kind was handed it last."""

    @property
    def kind(self) -> TunnelKind:
        """The kind that forwards it."""
        kind: TunnelKind = self.owned.value
        return kind


class Live:
    """A record and what became of it. A tunnel nobody started is `stopped`."""

    def __init__(self, record: State) -> None:
        self.record = record
        self.schema: Mapping[str, Any] | None = None
        """The last schema its kind had, which says what of its settings is not shown."""
        self.offered_by = ""
        """The plugin whose its kind is, or was; empty where nobody offered it yet."""
        self.started: Started | None = None
        self.listed = False
        """Whether clients were shown it; until then what moves is shown to nobody."""
        self.status = STOPPED
        self._said = False
        """Whether its kind said how it does since it was last begun."""
        self.url: str | None = None
        self.error: str | None = None
        self.secrets: set[str] = set()
        """Every text of a secret its kind was ever handed, for words it says."""
        self.unsaved: list[Mapping[str, Any]] = []
        """Settings its kind reported and nobody kept yet, in order."""

    @property
    def id(self) -> str:
        """The record's id."""
        identifier: str = self.record["id"]
        return identifier

    @property
    def kind(self) -> str:
        """The name of its kind."""
        kind: str = self.record["kind"]
        return kind

    @property
    def plugin(self) -> str:
        """The plugin that opened it, or whose kind it is of where a person wrote the record; empty
        where nobody knows."""
        return self.record.get("plugin") or self.offered_by

    @property
    def on(self) -> bool:
        """Whether it is to run."""
        return is_on(self.record)

    @property
    def settings(self) -> dict[str, Any]:
        """What the record keeps of its kind's: a secret is a reference there."""
        return own(self.record)

    def row(self) -> State:
        """The tunnel as clients read it, but for what the list adds."""
        row = {**head_of(self.record), **unmarked(self.schema, self.settings)}
        if self.plugin:
            row["plugin"] = self.plugin
        row["status"] = self.status
        if self.url:
            row["url"] = self.url
        if self.error:
            row["error"] = self.error
        return row

    # -- what became of it ---------------------------------------------------------------

    def begins(self) -> None:
        """It is about to be started anew: nothing said before is true of that."""
        self.status, self.url, self.error = STOPPED, None, None
        self._said = False

    def is_started(self, started: Started) -> None:
        """Its kind forwards it: it runs, unless that says otherwise."""
        self.started = started
        if not self._said:
            self.status = RUNNING

    def stopped(self) -> None:
        """Nobody forwards it."""
        self.begins()

    def failed(self, words: str) -> None:
        """It does not work, in words without a secret."""
        self.status, self.error = ERROR, words

    def reported(self, report: TunnelReport) -> None:
        """What its kind says, its settings aside. What it does not name stays, but that one that
        runs has no error, and one that stopped no address either; an empty text takes it out."""
        if report.status is not None:
            self.status, self._said = report.status, True
            if report.status != ERROR:
                self.error = None
            if report.status == STOPPED:
                self.url = None
        if report.url is not None:
            self.url = struck(report.url, self.secrets, _LONGEST_URL)
        if report.error is not None:
            self.error = struck(report.error, self.secrets)


def check_report(report: object) -> None:
    """Raises `PluginError` for what is no report."""
    if not isinstance(report, TunnelReport):
        raise PluginError(f"a tunnel's report is a TunnelReport, found {type(report).__name__}")
    if report.status not in (None, RUNNING, STOPPED, ERROR):
        raise PluginError("the status of a tunnel is running, stopped or error")
    for name in ("url", "error"):
        value = getattr(report, name)
        if value is not None and not isinstance(value, str):
            raise PluginError(f"the {name} a tunnel reports is a text")
    if report.settings is not None and not isinstance(report.settings, Mapping):
        raise PluginError("the settings a tunnel reports are an object")
    if not is_whole_json(report.settings):
        raise PluginError(f"what a tunnel reports of its settings {HALF_WORDS}")
