"""The terminals' side: who starts a shell, and who opens one for a client, a chat or a backend.

`ITerminals` is the port: it starts programs on a pseudo-terminal or on pipes, and knows
nothing of channels. `IHostTerminals` is what the host makes of it: every terminal is a
channel clients can watch (schema: TerminalState), listed on the root.
"""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Final

import attrs
from zope.interface import Attribute, Interface

from ahpd.protocol import State

#: The size of a terminal nobody gave another one.
DEFAULT_COLS: Final = 80
DEFAULT_ROWS: Final = 24


class TerminalFailure(Exception):
    """A program that could not be started; the words name it and the reason."""


@attrs.frozen
class TerminalExit:
    """How a terminal's program ended: `code` of its own, or the `signal` that ended it (its name)."""

    code: int | None
    signal: str | None = None


@attrs.frozen(kw_only=True)
class TerminalProgram:
    """What to start in a terminal."""

    argv: Sequence[str]
    cwd: str
    """A path of a folder."""
    env: Mapping[str, str | None] = attrs.field(factory=dict)
    """Added to what every child of the host has; None takes a variable away. The terminal's
    own `TERM`, `COLUMNS` and `LINES` win over it."""
    cols: int = DEFAULT_COLS
    rows: int = DEFAULT_ROWS
    pty: bool = True
    """Whether a pseudo-terminal is wanted; where there is none, or False, it runs on pipes."""


class ITerminalEvents(Interface):
    """What the owner of a started program is told. Nothing here may block."""

    def output_received(data: bytes) -> None:
        """A piece of what it printed, in order, cut anywhere."""

    def ended(how: TerminalExit) -> None:
        """It exited and all it had printed by then was received. Said once, the last event."""


class ITerminalProcess(Interface):
    """A program that runs in a terminal."""

    pid: int = Attribute("The process's id; it leads a session and group of its own.")
    is_pty: bool = Attribute("Whether it has a pseudo-terminal.")

    def write(data: bytes) -> None:
        """Send what was typed. Dropped once it exited."""

    def interrupt() -> None:
        """SIGINT to its whole group: what a ^C is where there is no pseudo-terminal."""

    def resize(cols: int, rows: int) -> None:
        """Give a pseudo-terminal another size, which tells the program (SIGWINCH)."""

    def pause_output() -> None:
        """Read no more for now: a program that prints on waits."""

    def resume_output() -> None:
        """Read on."""

    def end() -> Awaitable[None]:
        """Hang up: it and everything it started is gone when this returns. Again is no error.

        `ended` is told all the same, if it was not.
        """


class ITerminals(Interface):
    """Starts programs in terminals. The default starts them on this machine."""

    def start(program: TerminalProgram, events: ITerminalEvents) -> ITerminalProcess:
        """Start it. Raises `TerminalFailure`. Nothing is told before this has returned."""


@attrs.frozen(kw_only=True)
class TerminalStart:
    """What to open a terminal of the host's with."""

    claim: State
    """Schema: TerminalClaim."""
    title: str | None = None
    """None takes the program's own name."""
    cwd: str | None = None
    """A path; the home folder where it is None. A command that names no folder here cannot be
    started; a shell to sit in is at home then."""
    command: str | Sequence[str] | None = None
    """A line for the shell, the words of a program, or None for a shell to sit in."""
    env: Mapping[str, str | None] = attrs.field(factory=dict)
    """See `TerminalProgram.env`."""
    cols: int = DEFAULT_COLS
    rows: int = DEFAULT_ROWS
    pty: bool = True
    shell: str | None = None
    """The shell's path; None for the host's own (`$SHELL`, else `/bin/sh`)."""


class IHostTerminal(Interface):
    """A terminal of this host, as whoever opened it holds it."""

    uri: str = Attribute("The channel's URI.")
    is_pty: bool = Attribute("Whether it has a pseudo-terminal.")

    def state() -> State:
        """Its state now, plain JSON, its own to keep (schema: TerminalState)."""

    def output() -> str:
        """What is kept of what it printed, as it was said."""

    def write(text: str) -> None:
        """Send `text` as if it was typed."""

    def resize(cols: int, rows: int) -> None:
        """Give it another size."""

    async def exited() -> TerminalExit:
        """Returns when the program is over and `terminal/exited` was said."""

    def kill() -> None:
        """End the program and all it started. The terminal stays, exited."""

    async def dispose() -> None:
        """End the program and take the terminal away: no list has it, no channel answers."""


class IHostTerminals(Interface):
    """The terminals of a host: each a channel, listed on the root."""

    def open(start: TerminalStart, uri: str | None = None) -> IHostTerminal:
        """Open one under `uri`, or a new URI of the host's.

        A program that cannot be started is a terminal that says so and has exited with
        127. Raises `RpcError` -32003 for a URI in use, -32602 for a claim of no known kind,
        -32603 where the host stops or has as many open as it may.
        """

    def find(uri: str) -> IHostTerminal | None:
        """The open terminal of this URI."""

    def session_gone(session: str) -> Awaitable[None]:
        """Dispose of every terminal that session claims, said one at a time; `session` is its
        URI. Gone from the list when this is called; returns when all their processes are."""
