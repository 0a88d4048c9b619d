"""A pseudo-terminal: the pair of ends a program and the host speak through.

The host has the *master*, the program the *slave* as its input, output and errors, and
as the controlling terminal of its session: that is what makes job control, `/dev/tty`
and ^C work, and what tells a session that its terminal hung up.
"""

import fcntl
import os
import struct
import termios
from typing import Final

import attrs

#: The sizes the kernel's `winsize` can say.
_LEAST: Final = 1
_MOST: Final = 65535

#: "Input is UTF-8": an erase in the line that is typed takes a character, not a byte. Linux
#: and macOS have the same number for it, and `termios` has no name.
_IUTF8: Final = 0o40000

#: Linux's request to signal the terminal's foreground group.
_TIOCSIG: Final = 0x40045436


class NoPty(Exception):
    """This machine has no pseudo-terminal to give; the words say why."""


@attrs.frozen
class Pty:
    """Both ends, open in the host: neither is inherited, nor is one its controlling terminal."""

    master: int
    slave: int


def open_pty(cols: int, rows: int) -> Pty:
    """A new pseudo-terminal of this size, which echoes and edits lines of UTF-8.

    Raises `NoPty`.
    """
    try:
        pty = Pty(*os.openpty())
    except OSError as error:
        raise NoPty(error.strerror or "there is none") from None
    try:
        modes = termios.tcgetattr(pty.slave)
        modes[0] |= _IUTF8
        termios.tcsetattr(pty.slave, termios.TCSANOW, modes)
        set_size(pty.master, cols, rows)
    except (OSError, termios.error) as error:
        os.close(pty.master)
        os.close(pty.slave)
        raise NoPty(str(error)) from None
    return pty


def clamped(size: int) -> int:
    """The nearest number of columns or rows a terminal can have."""
    return min(max(size, _LEAST), _MOST)


def set_size(master: int, cols: int, rows: int) -> None:
    """Set the size, clamped; a change is told to the foreground group (SIGWINCH)."""
    size = struct.pack("HHHH", clamped(rows), clamped(cols), 0, 0)
    fcntl.ioctl(master, termios.TIOCSWINSZ, size)


def own_terminal() -> None:
    """Make standard input the controlling terminal; run in a child that leads its session."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def signal_foreground(master: int, number: int) -> None:
    """Signal the group in the foreground. The kernel knows it beyond doubt; a number read
    from here might be another's by the time it is used. Raises `OSError`."""
    fcntl.ioctl(master, _TIOCSIG, number)
