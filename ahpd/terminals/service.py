"""The terminals of a host: opened, listed, typed into, and taken away (AHP.txt, `createTerminal`).

Each is a channel of its own. Which there are is listed on the root, said again at every
open, close, exit, title and claim.
"""

import os
import socket
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from ahpd.channels.store import ChannelStore
from ahpd.interfaces import (
    IEvents,
    IHostTerminals,
    ITerminals,
    TerminalFailure,
    TerminalProgram,
    TerminalStart,
)
from ahpd.protocol import State
from ahpd.protocol.errors import (
    NOT_FOUND,
    SESSION_ALREADY_EXISTS,
    RpcError,
    internal_error,
)
from ahpd.protocol.file_uris import file_uri
from ahpd.protocol.uris import ChannelKind
from ahpd.terminals.actions import TerminalActions
from ahpd.terminals.channels import TerminalChannels
from ahpd.terminals.claims import checked_claim, claims
from ahpd.terminals.creation import checked_terminal_uri, folder, usable_shell, wanted_start
from ahpd.terminals.pace import Typing
from ahpd.terminals.shells import default_shell as own_shell
from ahpd.terminals.shells import integration_folder, launch_of
from ahpd.terminals.terminal import Terminal
from ahpd.terminals.voice import Voice

#: How many terminals one host has open. All of them are listed each time one moves.
MOST_TERMINALS: Final = 1000

#: How the host names the terminals it opens itself.
_OWN_URI: Final = "ahp-terminal:/"


@implementer(IHostTerminals)
class TerminalsService(Service):
    """Every open terminal, and the channels of those that are gone and kept.

    `terminals` starts programs; `now` is the wall clock (aware), `ids` a source of new ids.
    `default_shell()` is the shell a client's terminal opens, None for the host's own;
    `listed` is told the whole list (schema: TerminalInfo) at every move; `kept` reads what
    is kept of a terminal that is gone. `environment` is the host's own, whose `SHELL` and
    `HOME` are what a terminal opens and where. `most` bounds how many are open at a time,
    those that have exited and were not disposed of among them.
    """

    name = "terminals"

    def __init__(
        self,
        store: ChannelStore,
        terminals: ITerminals,
        clock: IReactorTime,
        *,
        now: Callable[[], datetime],
        ids: Callable[[], str],
        default_shell: Callable[[], str | None] = lambda: None,
        listed: Callable[[list[State]], None] = lambda infos: None,
        kept: Callable[[str], bytes | None] = lambda uri: None,
        environment: Mapping[str, str] | None = None,
        most: int = MOST_TERMINALS,
    ) -> None:
        self._store = store
        self._terminals = terminals
        self._clock = clock
        self._now = now
        self._ids = ids
        self._default_shell = default_shell
        self._listed = listed
        self._environment = os.environ if environment is None else environment
        self._most = most
        self._hosts = (socket.gethostname(),)
        self._typing = Typing(clock)
        self._open: dict[str, Terminal] = {}
        #: The ends of programs that are waited for.
        self._going: set[Deferred[None]] = set()
        self._stopping = False
        #: Who is told of terminals that are opened; set by whoever composes the host.
        self.events: IEvents | None = None
        #: Decides on what clients send to a terminal.
        self.actions = TerminalActions(store, self.find)
        #: Knows the channels of terminals.
        self.channels = TerminalChannels(store, clock, kept)

    # -- clients' commands --------------------------------------------------------

    def create(self, params: State) -> None:
        """`createTerminal`, its params checked for shape. Raises `RpcError`."""
        uri = checked_terminal_uri(params["channel"])
        self.open(wanted_start(params, usable_shell(self._default_shell())), uri)

    def dispose_of(self, uri: str) -> "Deferred[None]":
        """`disposeTerminal`: gone from the list now, its processes when this fires.

        Raises `RpcError` -32008 for one that is not open.
        """
        terminal = self._open.get(uri)
        if terminal is None:
            raise RpcError(NOT_FOUND, f"No terminal at {uri}")
        return self.dispose(terminal)

    # -- the host's own (IHostTerminals) --------------------------------------------

    def open(self, start: TerminalStart, uri: str | None = None) -> Terminal:
        """See `IHostTerminals.open`. -32603 once the host is stopping or has too many."""
        checked_claim(start.claim, "claim")
        if uri is None:
            uri = _OWN_URI + self._ids()
        elif self._store.is_open(uri) or self.channels.is_kept(uri):
            raise RpcError(SESSION_ALREADY_EXISTS, f"Terminal already exists: {uri}")
        if self._stopping:
            raise internal_error("The host is stopping and opens no terminal")
        if len(self._open) >= self._most:
            raise internal_error(f"This host has {self._most} terminals open, the most it has")
        shell = start.shell or own_shell(self._environment)
        program = self._program(start, shell)
        terminal = self._made(uri)
        process = failure = None
        try:
            process = self._terminals.start(program, terminal)
        except TerminalFailure as error:
            failure = str(error)
        is_pty = start.pty if process is None else process.is_pty
        state = _first_state(start, program, is_pty, start.title or _program_name(start, shell))
        self._open[uri] = terminal
        self._store.open(uri, ChannelKind.TERMINAL, state, terminal.applied)
        if self.events is not None and self.events.listened("terminal_open"):
            self.events.emit("terminal_open", {"terminal": uri, "cwd": state["cwd"]})
        terminal.begin(process, is_pty)
        self._say_list()
        if failure is not None:
            terminal.fail(failure)
        return terminal

    def find(self, uri: str) -> Terminal | None:
        """See `IHostTerminals.find`."""
        return self._open.get(uri)

    def session_gone(self, session: str) -> "Deferred[None]":
        """See `IHostTerminals.session_gone`."""
        held = [each for each in self._open.values() if claims(each.info()["claim"], session)]
        return Deferred.fromCoroutine(_each([self.dispose(terminal) for terminal in held]))

    def dispose(self, terminal: Terminal) -> "Deferred[None]":
        """Take a terminal away: no list has it and no channel answers from now on.

        Fires when its processes are gone. Again is no error. Never fails.
        """
        if self._open.get(terminal.uri) is terminal:
            del self._open[terminal.uri]
            self._say_list()
            terminal.close()
        return self._end(terminal)

    def _end(self, terminal: Terminal) -> "Deferred[None]":
        gone = Deferred.fromCoroutine(terminal.end())
        self._going.add(gone)
        gone.addCallback(lambda _: self._going.discard(gone))
        return _apart(gone)

    # -- the service ------------------------------------------------------------------

    def stopService(self) -> "Deferred[None]":
        """End every program together; fires when all are gone. Their channels stay readable."""
        super().stopService()  # type: ignore[no-untyped-call]
        self._stopping = True
        self.channels.stop()
        self._typing.stop()
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        terminals = tuple(self._open.values())
        for terminal in terminals:
            self._end(terminal)
        try:
            await _each([_apart(going) for going in self._going])
        finally:  # one that does not go leaves nothing on the clock either
            for terminal in terminals:
                terminal.quiet()

    # -- parts ------------------------------------------------------------------------

    def infos(self) -> list[State]:
        """What the root lists (schema: TerminalInfo), the oldest first."""
        return [terminal.info() for terminal in self._open.values()]

    def _say_list(self) -> None:
        self._listed(self.infos())

    def _made(self, uri: str) -> Terminal:
        voice = Voice(self._store, self._clock, uri, self._now, self._ids, self._hosts)
        return Terminal(
            uri, self._store, self._clock, voice, self._typing, self._say_list, self.dispose
        )

    def _program(self, start: TerminalStart, shell: str) -> TerminalProgram:
        launch = launch_of(
            shell,
            start.command,
            {**self._environment, **start.env},
            pty=start.pty,
            scripts=integration_folder(),
        )
        return TerminalProgram(
            argv=launch.argv,
            cwd=folder(start, self._environment),
            env={**self._shell_named(), **start.env, **launch.env},
            cols=start.cols,
            rows=start.rows,
            pty=start.pty,
        )

    def _shell_named(self) -> Mapping[str, str]:
        """`SHELL`, where the host's own is none to run: a service's is `nologin`, and editors and
        multiplexers start what it says."""
        shell = own_shell(self._environment)
        return {} if self._environment.get("SHELL") == shell else {"SHELL": shell}


def _first_state(start: TerminalStart, program: TerminalProgram, is_pty: bool, title: str) -> State:
    """The state a terminal begins in (schema: TerminalState)."""
    return {
        "title": title,
        "cwd": file_uri(program.cwd),
        "cols": program.cols,
        "rows": program.rows,
        "content": [],
        "lifecycle": {"status": "running"},
        "claim": start.claim,
        "supportsCommandDetection": False,
        "isPty": is_pty,
    }


def _program_name(start: TerminalStart, shell: str) -> str:
    words = start.command
    program = shell if not words or isinstance(words, str) else words[0]
    return Path(program).name or program


def _apart(work: "Deferred[None]") -> "Deferred[None]":
    """Fires when `work` has. Whoever gives it up does not give up the work."""
    apart: Deferred[None] = Deferred()

    def done(result: object) -> object:
        apart.callback(None)
        return result

    work.addBoth(done)
    return apart


async def _each(works: "Iterable[Deferred[None]]") -> None:
    for work in works:
        await work
