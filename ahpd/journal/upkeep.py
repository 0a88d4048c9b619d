"""The session store as a service: closed when everything is written, compacted meanwhile."""

from typing import Final

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ahpd.interfaces import ISessionStore, StoreFailure

log = Logger()

#: How often the store is asked whether it wants to be compacted, in seconds.
EVERY: Final = 15.0
#: How long after a compaction that failed it is tried again, in seconds.
AGAIN: Final = 600.0
#: How long a compaction has at the stop, in seconds.
_GRACE: Final = 5.0


class StoreUpkeep(Service):
    """Looks after `store`, which is open when this is made."""

    name = "session-store"

    def __init__(self, store: ISessionStore, clock: IReactorTime) -> None:
        self._store = store
        self._clock = clock
        self._due: IDelayedCall | None = None
        self._not_before = 0.0
        self._compacting: Deferred[None] | None = None

    def startService(self) -> None:
        """Compact from time to time."""
        super().startService()  # type: ignore[no-untyped-call]
        self._due = self._clock.callLater(EVERY, self._look)

    def _look(self) -> None:
        self._due = self._clock.callLater(EVERY, self._look)
        if self._clock.seconds() < self._not_before:
            return
        if self._compacting is None and self._store.wants_compaction():
            self._compacting = Deferred.fromCoroutine(self._compact())
            self._compacting.addBoth(self._compacted)

    async def _compact(self) -> None:
        try:
            await self._store.compact()
        except StoreFailure as failure:
            self._not_before = self._clock.seconds() + AGAIN
            log.error("sessions are not compacted: {words}", words=str(failure))
        except Exception:
            self._not_before = self._clock.seconds() + AGAIN
            log.failure("sessions are not compacted")

    def _compacted(self, result: object) -> None:
        self._compacting = None

    def stopService(self) -> "Deferred[None]":
        """Returns when the store is closed."""
        super().stopService()  # type: ignore[no-untyped-call]
        if self._due is not None and self._due.active():
            self._due.cancel()
        return Deferred.fromCoroutine(self._close())

    async def _close(self) -> None:
        if self._compacting is not None:
            waiting: Deferred[None] = Deferred()
            self._compacting.addBoth(lambda result: waiting.callback(None))
            waiting.addTimeout(_GRACE, self._clock, lambda result, seconds: None)
            await waiting
        try:
            self._store.close()
        except StoreFailure as failure:
            log.error("the session store is not closed well: {words}", words=str(failure))
