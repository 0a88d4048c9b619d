"""What a server sends, unpacked as it comes and never more of it than is wanted.

A packed body is unpacked in steps that cannot make more than there is room for, so one that
was made to burst is cut off like any other that is too long.
"""

import zlib
from collections.abc import Callable
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol
from twisted.python.failure import Failure

from ahpd_agent_openai.tools.values import ToolProblem

#: What a request says it can unpack.
ACCEPTED: Final = "gzip"


class Unpacker:
    """Unpacks a body of one `Content-Encoding`, at most `most` bytes of it, into `data`."""

    def __init__(self, encoding: str, most: int) -> None:
        """Raises `ToolProblem` for an encoding nobody asked for."""
        self.data = bytearray()
        self.full = False
        self._most = most
        self._between = False
        self._padded = False
        self._make: Callable[[], Any] | None
        match encoding.strip().lower():
            case "" | "identity":
                self._make = None
            case "gzip" | "x-gzip":
                self._make = lambda: zlib.decompressobj(16 + zlib.MAX_WBITS)
            case "deflate":
                self._make = zlib.decompressobj
            case other:
                raise ToolProblem(
                    f"its content is packed as {other[:40]!r}, which was not asked for"
                )
        self._unpacking: Any = None if self._make is None else self._make()

    def feed(self, packed: bytes) -> None:
        """The next piece. Raises `ToolProblem` for what is not packed as it says."""
        if self._padded:
            return
        if self._make is None:
            self._take(packed)
            return
        try:
            while packed and not self.full:
                packed = self._unpack(packed)
        except zlib.error:
            if not self._between:
                raise ToolProblem("its content is not packed as it says") from None
            self._padded = True  # behind the end of what was packed

    def _unpack(self, packed: bytes) -> bytes:
        """What is left of a piece after one step."""
        assert self._make is not None
        if self._unpacking.eof:  # packed pieces may follow each other
            self._unpacking = self._make()
            self._between = True
        self._take(self._unpacking.decompress(packed, self._most - len(self.data) + 1))
        self._between = False
        left: bytes = self._unpacking.unused_data or self._unpacking.unconsumed_tail
        return left

    def _take(self, data: bytes) -> None:
        room = self._most - len(self.data)
        self.data += data[:room]
        self.full = self.full or len(data) > room


class Body(Protocol):
    """Receives a response's body. `over` fires when it is whole, full, or was broken off."""

    def __init__(self, unpacker: Unpacker) -> None:
        self._unpacker = unpacker
        self.over: Deferred[None] = Deferred()
        self.whole = False

    def dataReceived(self, data: bytes) -> None:
        """See `IProtocol.dataReceived`."""
        if self.over.called:
            return
        try:
            self._unpacker.feed(data)
        except ToolProblem as problem:
            self.over.errback(problem)
            return
        if self._unpacker.full:
            self.over.callback(None)

    def connectionLost(self, reason: Any = None) -> None:
        """It ended: as it said it would, or not."""
        from twisted.web.client import ResponseDone  # noqa: PLC0415 - loaded with the request
        from twisted.web.http import PotentialDataLoss  # noqa: PLC0415

        if self.over.called:
            return
        failure: Failure = reason
        # A body without a length ends with its connection.
        self.whole = failure.check(ResponseDone, PotentialDataLoss) is not None
        self.over.callback(None)
