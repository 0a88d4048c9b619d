"""The host's ends of a child's pipes or terminal, and the news of its exit, for the reactor."""

import errno
import os
from collections.abc import Callable
from subprocess import Popen
from typing import Any, Final

from twisted.internet.interfaces import IReadDescriptor, IWriteDescriptor
from twisted.python.failure import Failure
from zope.interface import implementer

#: Bytes taken from a pipe at once: what one busy child may put before everybody else.
READ_SIZE: Final = 32 * 1024

#: How much is read after an exit at most: no pipe holds more, unless somebody still writes.
_LEFT_BEHIND: Final = 1024 * 1024

#: Seconds between two looks at a child where the kernel tells nobody of its exit.
_POLL: Final = 0.05


class _Descriptor:
    """A file descriptor the reactor knows, until it is closed."""

    def __init__(self, reactor: Any, fd: int, name: str) -> None:
        self._reactor = reactor
        self._fd = fd
        self._name = name

    def fileno(self) -> int:
        """The descriptor; -1 once closed, which the reactor takes as gone."""
        return self._fd

    def logPrefix(self) -> str:
        """What the reactor calls this in its log."""
        return self._name

    @property
    def closed(self) -> bool:
        """Whether the host's end is closed."""
        return self._fd == -1

    def _close(self) -> None:
        os.close(self._fd)
        self._fd = -1


@implementer(IReadDescriptor)
class ReadPipe(_Descriptor):
    """Reads a child's output and hands it on; pausing leaves it in the pipe, and the child waiting.

    `received` gets each piece; `ended` is called once, after the last one. A piece is what
    one reading gives, and with `at_once` as many of them as make so many bytes.
    """

    def __init__(
        self,
        reactor: Any,
        fd: int,
        name: str,
        received: Callable[[bytes], None],
        ended: Callable[[], None],
        at_once: Callable[[], int] | None = None,
    ) -> None:
        super().__init__(reactor, fd, name)
        self._at_once = at_once
        self._received = received
        self._ended = ended
        self._paused = False
        self._left: int | None = None
        reactor.addReader(self)

    def pause(self) -> None:
        """Read no more for now."""
        if not self._paused:
            self._paused = True
            if not self.closed:
                self._reactor.removeReader(self)

    def resume(self) -> None:
        """Go on reading."""
        if self._paused:
            self._paused = False
            if self.closed:
                return
            if self._left is None:
                self._reactor.addReader(self)
            else:
                self._read_rest()

    def finish(self) -> None:
        """The child is gone: read what it left and end, even if another process holds the pipe."""
        if self._left is None and not self.closed:
            self._left = _LEFT_BEHIND
            if not self._paused:
                self._reactor.removeReader(self)
                self._read_rest()

    def _read_rest(self) -> None:
        # A pause that `received` asks for stops this loop, and `resume` enters it again.
        while not self._paused and not self.closed:
            piece = self._take()
            if not piece or self._left is None or self._left <= 0:
                self.connectionLost(None)
            else:
                self._left -= len(piece)
                self._received(piece)

    def _take(self) -> bytes | None:
        """The next piece, b"" at the end, None where there is nothing now."""
        first = self._read()
        if not first or self._at_once is None or len(first) >= (most := self._at_once()):
            return first
        pieces, size = [first], len(first)
        # An end that is met here is met again by the next call.
        while size < most and (piece := self._read()):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    def _read(self) -> bytes | None:
        try:
            return os.read(self._fd, READ_SIZE)
        except OSError as error:
            # EIO is a pseudo-terminal's end: nobody has its other side open any more.
            return None if error.errno in (errno.EAGAIN, errno.EINTR) else b""

    def doRead(self) -> None:
        """The reactor says that there is something to read."""
        piece = self._take()
        if piece:
            self._received(piece)
        elif piece is not None:
            self.connectionLost(None)

    def connectionLost(self, reason: Failure | None) -> None:
        """The other side closed, or the reactor gave up on it. Again is no error."""
        if not self.closed:
            self._reactor.removeReader(self)
            self._close()
            self._ended()


@implementer(IWriteDescriptor)
class WritePipe(_Descriptor):
    """Writes to a child's input: at once where the pipe takes it, else as it makes room.

    `lost` is called once where something could not be written, for its reader is gone.
    """

    def __init__(self, reactor: Any, fd: int, name: str, lost: Callable[[], None]) -> None:
        super().__init__(reactor, fd, name)
        self._lost = lost
        self._waiting = bytearray()
        self._closing = False

    @property
    def pending(self) -> int:
        """Bytes the child has not taken."""
        return len(self._waiting)

    def write(self, data: bytes) -> None:
        """Send `data` in order. Dropped where the input is closed: its reader is gone."""
        if self.closed or self._closing:
            return
        if self._waiting:
            self._waiting += data
            return
        taken = self._write(data)
        if taken < len(data) and not self.closed:
            self._waiting += data[taken:]
            self._reactor.addWriter(self)

    def _write(self, data: bytes | bytearray) -> int:
        try:
            return os.write(self._fd, data)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EINTR):
                self.connectionLost(None)
                self._lost()
            return 0

    def doWrite(self) -> None:
        """The reactor says that there is room."""
        del self._waiting[: self._write(self._waiting)]
        if not self._waiting and not self.closed:
            self._reactor.removeWriter(self)
            if self._closing:
                self.connectionLost(None)

    def close(self) -> None:
        """Close once everything is written."""
        self._closing = True
        if not self._waiting:
            self.connectionLost(None)

    def connectionLost(self, reason: Failure | None) -> None:
        """Close now. Again is no error."""
        if not self.closed:
            self._reactor.removeWriter(self)
            self._waiting.clear()
            self._close()


@implementer(IReadDescriptor)
class ExitWatch(_Descriptor):
    """Calls `exited` once when a process has exited and waits to be reaped.

    The kernel says so through a pidfd; where there is none the process is looked at
    every 50 ms. No SIGCHLD handler is needed, so this works under any reactor.
    """

    def __init__(self, reactor: Any, process: Popen[bytes], exited: Callable[[], None]) -> None:
        self._exited = exited
        self._process = process
        try:
            super().__init__(reactor, os.pidfd_open(process.pid), f"exit of {process.pid}")
        except (AttributeError, OSError):
            super().__init__(reactor, -1, f"exit of {process.pid}")
            reactor.callLater(0, self._poll)
        else:
            reactor.addReader(self)

    def _poll(self) -> None:
        if self._process.poll() is None:
            self._reactor.callLater(_POLL, self._poll)
        else:
            self._exited()

    def doRead(self) -> None:
        """The process has exited."""
        self.connectionLost(None)

    def connectionLost(self, reason: Failure | None) -> None:
        """Stop watching; a pidfd is never lost but by an exit."""
        if not self.closed:
            self._reactor.removeReader(self)
            self._close()
            self._exited()
