"""Sessions that were made and never sent a message: kept for a day for who made them.

Nothing announces one and no listing holds it (AHP.txt, `session/ready`), so one whose client
left is seen by nobody and would stay for good. Each goes once nothing happened in it for a day
and nobody watches it or is in it.
"""

from typing import Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ahpd.interfaces import DropSession, StoreFailure
from ahpd.protocol.errors import RpcError
from ahpd.sessions.entry import Entry
from ahpd.sessions.registry import SessionRegistry
from ahpd.sessions.session import Session
from ahpd.sessions.waking import KEPT_FOR, is_overdue

log = Logger()

#: How often they are looked at, in seconds.
_EVERY: Final = 3600.0
#: Why they are gone.
_ABANDONED: Final = "abandoned"


class Provisional:
    """Lets go of the sessions of `registry` nobody came back to."""

    def __init__(self, registry: SessionRegistry, clock: IReactorTime) -> None:
        self._registry = registry
        self._clock = clock
        self._due: IDelayedCall = clock.callLater(_EVERY, self._look)

    def stop(self) -> None:
        """Look no more."""
        if self._due.active():
            self._due.cancel()

    def _look(self) -> None:
        self._due = self._clock.callLater(_EVERY, self._look)
        now = self._registry.world.now()
        for entry in self._registry.catalogue.entries():
            if not entry.announced and is_overdue(entry.modified_at, now):
                self._drop(entry)

    def _drop(self, entry: Entry[Session]) -> None:
        session = entry.session
        try:
            if session is None:
                self._registry.journals.apply(DropSession(id=entry.identifier))
                self._registry.catalogue.remove(entry)
                self._registry.tell_over(entry.uri, _ABANDONED)
            elif self._is_left_alone(entry, session):
                self._registry.drop(session, _ABANDONED)
        except (RpcError, StoreFailure) as failure:
            log.error("{uri} is kept: {words}", uri=entry.uri, words=str(failure))

    def _is_left_alone(self, entry: Entry[Session], session: Session) -> bool:
        world, store = self._registry.world, self._registry.world.store
        channels = (session.uri, session.annotations, *session.chats)
        return (
            world.clock.seconds() - entry.touched >= KEPT_FOR.total_seconds()
            and not session.state["activeClients"]
            and session.at_rest
            and not any(store.watchers(channel) for channel in channels)
        )
