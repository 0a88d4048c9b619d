"""What a connection still owes its reader: the queue in front of a Twisted transport.

A transport takes every byte it is given and holds them in memory, and says nothing
public of how many. `WriteQueue` holds the bytes itself and is the transport's producer.
There are two ways out of it.

Over plain TCP and UNIX sockets the queue writes to the socket. Frames are gathered for
the rest of the reactor turn (`Turn`) and leave in one `send`; only what the kernel does
not take is given to the transport, a piece at a time, to be called back when there is
room. Through `transport.write` each delivery of a fan-out costs two `epoll_ctl` and
Twisted's buffering beside the same `send`, more than all else that is done for it.

Reaching past the transport is sound because of four things. The socket is had by a
public interface (`ISystemHandle.getHandle`), and used only where Twisted itself sends on
it without blocking when it is ready. Nobody but the queue writes to this transport. While
the transport holds anything the queue sends nothing: it registers as a pull producer,
which a transport calls each time it is empty. And no error is handled here: bytes whose
`send` failed are given to the transport, which meets the error again and ends the
connection in its own way, having read first what the other side still said.

Under TLS and on pipes frames go through `transport.write` as they come. It says when it
is full; from then on they wait here.

A large frame leaves in pieces of at most `PIECE` bytes, so that the transport never
holds more than about two of them, control frames need not wait long and its progress
shows. A piece is copied on the way to a socket only where parts meet in it: a header is
not worth a send of its own.
"""

import errno
import socket
from collections import deque
from typing import Any, Final

from twisted.internet.interfaces import (
    IConsumer,
    IPushProducer,
    ISSLTransport,
    ISystemHandle,
    IWriteDescriptor,
)
from zope.interface import implementer

from ahpd.transports.turn import Turn

#: Bytes handed over at once. Twisted pauses a producer past 64 KiB.
PIECE: Final = 64 * 1024

#: Pieces sent in a row before others have their turn, to a reader that takes everything.
_RUN: Final = 16

#: A reader that took nothing for this many seconds is not progressing.
STALL_SECONDS: Final = 2.0

#: The kernel has no room now, and that is all.
_NO_ROOM: Final = frozenset({errno.EAGAIN, errno.EWOULDBLOCK, errno.ENOBUFS})


def plain_socket(transport: Any) -> socket.socket | None:
    """The socket that Twisted sends `transport`'s bytes on as they are, or None."""
    if ISSLTransport.providedBy(transport) or not (
        ISystemHandle.providedBy(transport) and IWriteDescriptor.providedBy(transport)
    ):
        return None
    handle = transport.getHandle()
    if isinstance(handle, socket.socket) and handle.gettimeout() == 0:
        return handle
    return None


@implementer(IPushProducer)
class WriteQueue:
    """Frames on their way out, in order, over TCP, TLS, a UNIX socket or a pipe.

    `transport` provides `ITransport` and `IConsumer`; the queue registers itself with
    it, and nobody else writes to it from then on. `turn` says when what was gathered
    is sent.
    """

    def __init__(self, transport: Any, turn: Turn) -> None:
        self._transport = transport
        self._turn = turn
        self._clock = turn.clock
        plain = plain_socket(transport)
        self._send = None if plain is None else plain.send
        #: A frame of several parts is larger than a piece.
        self._frames: deque[bytes | tuple[bytes, ...]] = deque()
        self._urgent: dict[int, bytes] = {}
        self._begun: deque[memoryview] = deque()  # what is left of a frame that is partly out
        self._waiting = 0
        self._handed = 0  # since the transport was last known to be empty
        self._held = 0  # what the transport holds at most, while it is full
        self._took_at = self._clock.seconds()
        self._marked = False  # for the end of this turn
        self._paused = False  # the transport is full, or the end has come
        self._finishing = False
        self._done = False
        #: What the last `send` failed of, for whoever tells why the connection ended.
        self.error: OSError | None = None
        IConsumer(transport).registerProducer(self, self._send is None)

    # -- sending ---------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Send one whole frame after everything written before it."""
        size = len(data)
        if size > PIECE:
            self.write_parts((data,))
            return
        if self._done:
            return
        self._frames.append(data)
        self._waiting += size
        if self._paused or (self._marked and self._waiting <= PIECE):
            return
        self._written()

    def write_parts(self, parts: tuple[bytes, ...]) -> None:
        """Send one whole frame that is in several parts, or large, as `write` does."""
        size = sum(map(len, parts))
        if size <= PIECE:
            self.write(b"".join(parts))
            return
        if self._done:
            return
        self._frames.append(parts)
        self._waiting += size
        if not self._paused:
            self._drain()

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

    def _written(self) -> None:
        if self._send is None or self._waiting > PIECE:
            self._drain()
        elif not self._marked:
            self._marked = True
            self._turn.mark(self)

    def flush(self) -> None:
        """The turn is over: send what it wrote."""
        self._marked = False
        if not self._paused:
            self._drain()

    def drop(self) -> None:
        """Forget the frames that wait, but for the rest of one that is partly out.

        What was only gathered for the end of the turn does not wait for its reader: it
        goes out first.
        """
        if not self._paused:
            self._drain()
        self._frames.clear()
        self._urgent.clear()
        self._waiting = sum(map(len, self._begun))

    def finish(self) -> None:
        """Close the transport once what waits here was handed to it. Idempotent.

        How long that may take is the caller's to bound, with `abort`.
        """
        self._finishing = True
        if not self._paused:
            self._drain()
        if not self._waiting:
            self._let_go()

    def abort(self) -> None:
        """Cut the transport off; what waits is not sent."""
        self._stop()
        self._transport.abortConnection()

    def _let_go(self) -> None:
        if self._done:
            return
        self._stop()
        # A transport that still has a producer does not close.
        self._transport.unregisterProducer()
        self._transport.loseConnection()

    # -- accounting ------------------------------------------------------------

    def pending_bytes(self) -> int:
        """What was written and the reader has not taken, to within one piece.

        0 until the transport is full; then what waits here, and what the transport holds
        at most. What the kernel holds counts as taken.
        """
        return self._waiting + self._held if self._paused else 0

    def progressing(self) -> bool:
        """Whether the reader took something in the last two seconds, or owes nothing.

        The transport says when its buffer is empty, so a step is 64 KiB or more: a
        reader slower than some 32 KiB/s counts as standing still.
        """
        return not self._paused or self._clock.seconds() - self._took_at <= STALL_SECONDS

    # -- IPushProducer: the transport's side -----------------------------------

    def pauseProducing(self) -> None:
        self._full(min(self._handed, 2 * PIECE))

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

    def _full(self, held: int) -> None:
        if self._done:
            return
        if not self._paused:
            self._took_at = self._clock.seconds()
        self._paused = True
        self._held = held

    def _stop(self) -> None:
        self._done = True
        self._paused = True
        self._begun.clear()
        self._held = 0
        self.drop()

    # -- handing over ----------------------------------------------------------

    def _drain(self) -> None:
        run = 0
        while self._waiting and not self._paused:
            piece = self._next_piece()
            self._waiting -= len(piece)
            run += 1
            if self._send is None:
                self._handed += len(piece)
                self._transport.write(bytes(piece))
            elif run > _RUN:
                self._leave(piece)
            else:
                self._send_on_socket(self._send, piece)
        if self._finishing and not self._waiting:
            self._let_go()

    def _send_on_socket(self, send: Any, piece: bytes | memoryview) -> None:
        try:
            sent = send(piece)
        except OSError as error:
            sent = 0
            if error.errno not in _NO_ROOM:
                self.error = error
        if sent < len(piece):
            self._leave(piece[sent:])

    def _leave(self, rest: bytes | memoryview) -> None:
        """Have the transport send `rest`, and call back when it has."""
        self._full(len(rest))
        self._transport.write(bytes(rest))

    def _next_piece(self) -> bytes | memoryview:
        if self._begun:
            return self._continue_frame()
        if self._urgent:
            piece = b"".join(self._urgent.values())
            self._urgent.clear()
            return piece
        frames = self._frames
        if self._waiting <= PIECE:
            piece = b"".join(frames)  # type: ignore[arg-type] # none is in parts: that is more
            frames.clear()
            return piece
        first = frames.popleft()
        if isinstance(first, tuple):
            self._begun.extend(memoryview(part) for part in first if part)
            return self._continue_frame()
        gathered, size = [first], len(first)
        while frames:
            following = frames[0]
            size += len(following)
            if isinstance(following, tuple) or size > PIECE:
                break
            gathered.append(following)
            frames.popleft()
        return b"".join(gathered)

    def _continue_frame(self) -> memoryview:
        begun = self._begun
        gathered: list[memoryview] = []
        room = PIECE
        while begun and room:
            part = begun.popleft()
            if len(part) > room:
                begun.appendleft(part[room:])
                part = part[:room]
            gathered.append(part)
            room -= len(part)
        return gathered[0] if len(gathered) == 1 else memoryview(b"".join(gathered))
