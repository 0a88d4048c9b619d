"""What this host does, said as events to the plugins that listen (`ahpd.events`)."""

from collections.abc import Callable
from typing import Any

from twisted.application.service import Service
from twisted.logger import LogEvent, globalLogPublisher

from ahpd.app.ground import Ground
from ahpd.chats.parts import held_call
from ahpd.credentials.service import Credentials
from ahpd.events.log_lines import LogLines
from ahpd.events.observed import Observed
from ahpd.events.opened import Opened
from ahpd.interfaces import IAccess, IEvents
from ahpd.resources.service import Resources
from ahpd.sessions.service import SessionsService
from ahpd.terminals.service import TerminalsService


def observe(
    events: IEvents,
    ground: Ground,
    sessions: SessionsService,
    terminals: TerminalsService | None,
    resources: Resources,
    credentials: Credentials,
    access: IAccess,
) -> None:
    """Have `events` be said what happens in these from now on."""

    registry = sessions.registry

    def session_of(channel: str) -> str | None:
        session = registry.awake(channel)
        if session is not None:
            return session.uri
        # A first subscription may name what is asleep, and does not wake it.
        stored = registry.stored_chat(channel)
        entry = registry.named(channel) if stored is None else stored[1]
        return None if entry is None else entry.uri

    opened = Opened(events, session_of)
    sessions.happenings.told = Observed(
        events, held_call, opened, lambda: access.owner(None) is not None
    )
    ground.store.watching.append(opened.watching)
    ground.clients.events = credentials.events = resources.events = events
    if terminals is not None:
        terminals.events = events


class HeardLog(Service):
    """Says each line of the log while it runs. `line_of` makes one of an event, or None for one
    the log leaves out (`ahpd.daemon.log.log_line`). It is started in the reactor's thread."""

    name = "heard log"

    def __init__(
        self, events: IEvents, reactor: Any, line_of: Callable[[LogEvent], str | None]
    ) -> None:
        self._events = events
        self._from_thread = getattr(reactor, "callFromThread", None)
        self._line_of = line_of
        self._lines: LogLines | None = None

    def startService(self) -> None:
        """Hear from now on."""
        super().startService()  # type: ignore[no-untyped-call]
        self._lines = LogLines(self._events, self._line_of, self._from_thread)
        globalLogPublisher.addObserver(self._lines)

    def stopService(self) -> None:
        """Hear nothing more."""
        super().stopService()  # type: ignore[no-untyped-call]
        if self._lines is not None:
            globalLogPublisher.removeObserver(self._lines)
            self._lines = None
