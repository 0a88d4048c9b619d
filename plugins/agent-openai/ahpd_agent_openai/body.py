"""The body of a response, read at the pace of whoever reads it.

While nobody reads, the transport is paused after `_AHEAD` bytes, so an endpoint that outruns
the clients is held back by TCP, and a turn costs this host what is unread and no more.
"""

from collections.abc import Callable
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol
from twisted.python.failure import Failure

from ahpd_agent_openai.failures import SILENT, EndpointFailure

#: Bytes that are taken while nobody reads.
_AHEAD: Final = 64 * 1024
#: Seconds a body that said all it has may take to end.
_TO_END: Final = 1.0


class Body(Protocol):
    """One response's body. `read` until it answers None, or `drop`; one coroutine reads.

    `gone` is told once its connection is no longer its own.
    """

    def __init__(
        self, reactor: Any, idle: float, where: str, gone: "Callable[[Body], None]"
    ) -> None:
        self._gone = gone
        self._reactor = reactor
        self._idle = idle
        self._where = where
        self._chunks: list[bytes] = []
        self._held = 0
        self._paused = False
        self._dropped = False
        self._ended: Failure | None = None
        self._waiting: Deferred[None] | None = None
        self._leaving: Any = None
        self._telling: Any = None

    async def read(self) -> bytes | None:
        """What has arrived, waited for; None at the end.

        Raises `EndpointFailure` where nothing comes for `idle` seconds, and what Twisted
        says of a connection that broke.
        """
        if not self._chunks and self._ended is None:
            if self._paused:
                self._resume()
            await self._arrival()
        if self._chunks:
            data, self._chunks, self._held = b"".join(self._chunks), [], 0
            return data
        assert self._ended is not None
        if not _is_whole(self._ended):
            self._ended.raiseException()
        return None

    def drop(self) -> None:
        """Nobody reads on: the connection goes, unless the body had ended."""
        self._dropped = True
        self._chunks, self._held = [], 0
        if self._ended is None and self.transport is not None:
            self.transport.stopProducing()  # type: ignore[attr-defined]
            self._resume()  # a transport that reads nothing would not learn of its peer's end

    def leave(self) -> None:
        """All was read that matters: the connection may be used again if the body ends soon."""
        self._dropped = True
        self._chunks, self._held = [], 0
        if self._ended is None:
            if self._paused:
                self._resume()
            self._leaving = self._reactor.callLater(_TO_END, self.drop)

    async def _arrival(self) -> None:
        waiting = self._waiting = Deferred(self._forget)
        timer = self._reactor.callLater(self._idle, self._silent)
        try:
            await waiting
        finally:
            if timer.active():
                timer.cancel()

    def _forget(self, deferred: "Deferred[None]") -> None:
        self._waiting = None

    def _silent(self) -> None:
        waiting, self._waiting = self._waiting, None
        self.drop()
        if waiting is not None:
            waiting.errback(
                EndpointFailure(
                    f"{self._where} said nothing for {self._idle:g} seconds in the middle of "
                    "its answer",
                    SILENT,
                )
            )

    def _resume(self) -> None:
        self._paused = False
        if self.transport is not None:
            self.transport.resumeProducing()  # type: ignore[attr-defined]

    def _tell(self) -> None:
        telling, self._telling = self._telling, None
        if telling is not None and telling.active():
            telling.cancel()
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)

    # -- IProtocol ------------------------------------------------------------------------

    def dataReceived(self, data: bytes) -> None:
        """Keep it for the reader."""
        if self._dropped:
            return
        self._chunks.append(data)
        self._held += len(data)
        if self._waiting is not None and self._telling is None:
            # Servers send a chunk for each token: what is here already is read in one piece.
            self._telling = self._reactor.callLater(0, self._tell)
        if self._held > _AHEAD and not self._paused and self.transport is not None:
            self._paused = True
            self.transport.pauseProducing()  # type: ignore[attr-defined]

    def connectionLost(self, reason: Any = None) -> None:
        """The body is over, or broke off."""
        self._ended = reason
        if self._leaving is not None and self._leaving.active():
            self._leaving.cancel()
        self._gone(self)
        self._tell()


def _is_whole(ended: Failure) -> bool:
    """Whether a body ended as it said it would, or, where it said nothing, with its connection."""
    # What HTTP needs takes a while to import, and a host that asks nobody never does.
    from twisted.web.client import ResponseDone  # noqa: PLC0415
    from twisted.web.http import PotentialDataLoss  # noqa: PLC0415

    return ended.check(ResponseDone, PotentialDataLoss) is not None
