"""What a connection still owes its reader: the queue in front of a Twisted transport.

A transport takes every byte it is given and holds them in memory, and says nothing
public of how many. `WriteQueue` is a push producer on it: while the transport takes
data, frames go straight through; once it says it is full they wait here, counted.

What goes through in one reactor turn leaves in one `send`, because Twisted gathers
the writes of a turn. What waited leaves in pieces of at most `PIECE` bytes, so the
transport never holds more than about two of them and a large frame's progress shows.
"""

from collections import deque
from typing import Any

from twisted.internet.interfaces import IConsumer, IPushProducer, IReactorTime
from zope.interface import implementer

#: Bytes handed to the transport at once. Twisted pauses a producer past 64 KiB.
PIECE = 64 * 1024

#: A reader that took nothing for this many seconds is not progressing.
STALL_SECONDS = 2.0


@implementer(IPushProducer)
class WriteQueue:
    """Frames on their way out, in order, over TCP, TLS, a UNIX socket or a pipe.

    `transport` provides `ITransport` and `IConsumer`; the queue registers itself with
    it. `clock` tells the time for `progressing`.
    """

    def __init__(self, transport: Any, clock: IReactorTime) -> None:
        self._transport = transport
        self._write = transport.write
        self._clock = clock
        self._frames: deque[bytes] = deque()
        self._urgent: dict[int, bytes] = {}
        self._begun = b""  # a frame too large for one piece, and how far it has gone
        self._offset = 0
        self._waiting = 0
        self._handed = 0  # since the transport was last known to be empty
        self._held = 0  # what the transport holds at most, while it is full
        self._took_at = clock.seconds()
        self._paused = False
        self._finishing = False
        self._done = False
        IConsumer(transport).registerProducer(self, True)

    # -- sending ---------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Send one whole frame after everything written before it."""
        if self._paused or len(data) > PIECE:
            self._enqueue(data)
            return
        self._handed += len(data)
        self._write(data)

    def write_urgent(self, kind: int, data: bytes) -> None:
        """Send a control frame ahead of waiting frames, at the next frame boundary.

        Of one `kind` only the newest waits: a peer that asks without end and reads
        nothing cannot make the queue grow.
        """
        if self._done:
            return
        if not self._paused and not self._begun:
            self.write(data)
            return
        self._waiting += len(data) - len(self._urgent.get(kind, b""))
        self._urgent[kind] = data

    def _enqueue(self, data: bytes) -> None:
        if self._done:
            return
        self._frames.append(data)
        self._waiting += len(data)
        if not self._paused:
            self._drain()

    def drop(self) -> None:
        """Forget the frames that wait, but for the rest of one that is partly out."""
        self._frames.clear()
        self._urgent.clear()
        self._waiting = len(self._begun) - self._offset

    def finish(self) -> None:
        """Close the transport once what waits here was handed to it. Idempotent.

        How long that may take is the caller's to bound, with `abortConnection`.
        """
        self._finishing = True
        if not self._paused:
            self._drain()
        if not self._waiting:
            self._let_go()

    def _let_go(self) -> None:
        if self._done:
            return
        self._stop()
        # A transport that still has a producer does not close.
        self._transport.unregisterProducer()
        self._transport.loseConnection()

    # -- accounting ------------------------------------------------------------

    def pending_bytes(self) -> int:
        """What was written and the reader has not taken, to within one transport buffer.

        Counts what waits here, and while the transport is full also what it holds at
        most (128 KiB). What the kernel holds counts as taken.
        """
        return self._waiting + self._held

    def progressing(self) -> bool:
        """Whether the reader took something in the last two seconds, or owes nothing.

        The transport says when its buffer is empty, so a step is 64 KiB or more: a
        reader slower than some 32 KiB/s counts as standing still.
        """
        return not self._paused or self._clock.seconds() - self._took_at <= STALL_SECONDS

    # -- IPushProducer: the transport's side -----------------------------------

    def pauseProducing(self) -> None:
        if self._done:
            return
        if not self._paused:
            self._took_at = self._clock.seconds()
        self._paused = True
        self._held = min(self._handed, 2 * PIECE)

    def resumeProducing(self) -> None:
        if self._done:
            return
        self._paused = False
        self._handed = 0
        self._held = 0
        self._took_at = self._clock.seconds()
        self._drain()

    def stopProducing(self) -> None:
        self._stop()

    def _stop(self) -> None:
        self._done = True
        self._paused = True
        self._begun = b""
        self._offset = 0
        self._held = 0
        self.drop()

    # -- handing over ----------------------------------------------------------

    def _drain(self) -> None:
        while not self._paused and self._waiting:
            piece = self._next_piece()
            self._waiting -= len(piece)
            self._handed += len(piece)
            self._write(piece)
        if self._finishing and not self._waiting:
            self._let_go()

    def _next_piece(self) -> bytes:
        if self._begun:
            return self._continue_frame()
        if self._urgent:
            piece = b"".join(self._urgent.values())
            self._urgent.clear()
            return piece
        first = self._frames.popleft()
        if len(first) > PIECE:
            self._begun = first
            self._offset = 0
            return self._continue_frame()
        gathered = [first]
        size = len(first)
        while self._frames and size + len(self._frames[0]) <= PIECE:
            gathered.append(self._frames.popleft())
            size += len(gathered[-1])
        return b"".join(gathered)

    def _continue_frame(self) -> bytes:
        piece = self._begun[self._offset : self._offset + PIECE]
        self._offset += len(piece)
        if self._offset == len(self._begun):
            self._begun = b""
            self._offset = 0
        return piece
