"""What this host does, said as events to the plugins that listen (`ahpd.events`)."""

from collections.abc import Callable
from typing import Any

from twisted.logger import ILogObserver, LogEvent

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


def heard_log(
    events: IEvents, reactor: Any, line_of: Callable[[LogEvent], str | None]
) -> ILogObserver:
    """An observer for the log's publisher: says each line that `line_of` makes of an event."""
    return LogLines(events, line_of, getattr(reactor, "callFromThread", None))
