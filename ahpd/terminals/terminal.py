"""One open terminal: its program, its channel, and what each tells the other."""

from collections.abc import Callable
from typing import Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.channels.envelope import Envelope
from ahpd.channels.store import ChannelStore
from ahpd.interfaces import IHostTerminal, ITerminalEvents, ITerminalProcess, TerminalExit
from ahpd.protocol import State
from ahpd.protocol.text import plain
from ahpd.terminals.pace import Pace, Typing
from ahpd.terminals.voice import GROWS, Voice

log = Logger()

#: What a program that could not be found exits with, as a shell says it.
NOT_STARTED: Final = 127
#: What a ^C is on the way to a program.
_INTERRUPT: Final = "\x03"
#: What moves a terminal's row in the root's list (AHP.txt, `root/terminalsChanged`).
_LISTED: Final = frozenset({"terminal/titleChanged", "terminal/claimed", "terminal/exited"})


@implementer(IHostTerminal, ITerminalEvents)
class Terminal:
    """The terminal under `uri`, from `begin` on.

    `voice` says what it prints. `moved` is called behind whatever moves its row in the
    list; `typing` is what all terminals of the host share; `dispose` is
    `TerminalsService.dispose`.
    """

    def __init__(
        self,
        uri: str,
        store: ChannelStore,
        clock: IReactorTime,
        voice: Voice,
        typing: Typing,
        moved: Callable[[], None],
        dispose: Callable[["Terminal"], "Deferred[None]"],
    ) -> None:
        self.uri = uri
        self.is_pty = False
        self._store = store
        self._clock = clock
        self._voice = voice
        self._typing = typing
        self._moved = moved
        self._dispose = dispose
        self._process: ITerminalProcess | None = None
        self._pace: Pace | None = None
        self._exit: TerminalExit | None = None
        self._exit_told = False
        self._waiting: list[Deferred[TerminalExit]] = []
        #: What it held when its channel was closed.
        self._left: State | None = None

    # -- its life ---------------------------------------------------------------

    def begin(self, process: ITerminalProcess | None, is_pty: bool) -> None:
        """Its channel is open. None is for a program that could not be started (`fail`)."""
        self.is_pty = self._voice.marked = is_pty
        self._process = process
        if process is not None:
            self._pace = Pace(self._clock, process, lambda: self._store.lagging((self.uri,)))
            self._typing.join(self._pace)

    def fail(self, words: str) -> None:
        """Its program could not be started: say why."""
        self._voice.say(words + ("\r\n" if self.is_pty else "\n"))
        self.ended(TerminalExit(NOT_STARTED))

    async def end(self) -> None:
        """End the program; it and all it started are gone when this returns. Never raises."""
        if self._process is None:
            return
        self._hold_back_no_more()
        try:
            await self._process.end()
        except Exception:
            log.failure("the program of {terminal} could not be ended", terminal=self.uri)

    def quiet(self) -> None:
        """Leave nothing on the clock, whatever its program does."""
        self._voice.stop()
        self._hold_back_no_more()

    def _hold_back_no_more(self) -> None:
        if self._pace is not None:
            self._typing.leave(self._pace)
            self._pace.release()

    def close(self) -> None:
        """Nothing more is said of it: its channel goes, and what it held stays to be read."""
        self._voice.stop()
        self._left = self._store.find(self.uri)
        self._store.close(self.uri)

    # -- what its program tells (ITerminalEvents) ---------------------------------

    def output_received(self, data: bytes) -> None:
        """See `ITerminalEvents.output_received`."""
        if self._left is None:
            self._voice.heard(data)
            if self._pace is not None:
                self._typing.printed(self._pace)

    def ended(self, how: TerminalExit) -> None:
        """See `ITerminalEvents.ended`."""
        if self._exit is not None:
            return
        self._exit = how
        self._hold_back_no_more()
        lifecycle = {} if how.code is None else {"exitCode": how.code}
        if self._left is not None:
            self._left["lifecycle"] = {"status": "exited", **lifecycle}
        else:
            self._voice.finish()
            self._store.dispatch(self.uri, {"type": "terminal/exited", **lifecycle})
        self._store.behind(lambda: self._tell_exit(how))

    def _tell_exit(self, how: TerminalExit) -> None:
        self._exit_told = True
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.callback(how)

    # -- what its channel tells ----------------------------------------------------

    def applied(self, envelope: Envelope) -> None:
        """An action was applied on its channel, whoever sent it: do to the program what it says."""
        kind, action = envelope.type, envelope.action
        if kind in GROWS:
            self._voice.bound()
            if self._pace is not None:
                self._pace.said()
        elif kind == "terminal/input":
            if self._pace is not None:
                self._typing.typed(self._pace)
            self.write(action["data"])
        elif kind == "terminal/resized" and self._process is not None:
            self._process.resize(int(action["cols"]), int(action["rows"]))
        elif kind in _LISTED:
            self._moved()

    def flush(self) -> None:
        """Say now what was printed and is held back to be gathered."""
        if self._left is None:
            self._voice.flush()

    # -- whoever opened it (IHostTerminal) --------------------------------------------

    def info(self) -> State:
        """Its row in the root's list (schema: TerminalInfo)."""
        state = self._held()
        return {
            "resource": self.uri,
            "title": state["title"],
            "claim": state["claim"],
            "lifecycle": state["lifecycle"],
        }

    def state(self) -> State:
        """See `IHostTerminal.state`."""
        self.flush()
        state: State = plain(self._held())
        return state

    def output(self) -> str:
        """See `IHostTerminal.output`."""
        self.flush()
        parts = self._held()["content"]
        return "".join(
            str(part["output"] if part["type"] == "command" else part["value"]) for part in parts
        )

    def write(self, text: str) -> None:
        """See `IHostTerminal.write`. On pipes a ^C in it interrupts, and a return ends a line."""
        process = self._process
        if process is None or self._exit is not None:
            return
        if process.is_pty:
            process.write(_encoded(text))
            return
        # There is no line discipline: what it would do is done here.
        before, *interrupted = text.replace("\r\n", "\n").replace("\r", "\n").split(_INTERRUPT)
        if before:
            process.write(_encoded(before))
        for after in interrupted:
            process.interrupt()
            if after:
                process.write(_encoded(after))

    def resize(self, cols: int, rows: int) -> None:
        """See `IHostTerminal.resize`."""
        if self._left is None:
            self._store.dispatch(self.uri, {"type": "terminal/resized", "cols": cols, "rows": rows})

    async def exited(self) -> TerminalExit:
        """See `IHostTerminal.exited`."""
        if self._exit is not None and self._exit_told:
            return self._exit
        waiting: Deferred[TerminalExit] = Deferred()
        self._waiting.append(waiting)
        return await waiting

    def kill(self) -> None:
        """See `IHostTerminal.kill`."""
        Deferred.fromCoroutine(self.end())

    async def dispose(self) -> None:
        """See `IHostTerminal.dispose`."""
        await self._dispose(self)

    def _held(self) -> State:
        return self._store.state(self.uri) if self._left is None else self._left


def _encoded(text: str) -> bytes:
    # Half of a surrogate pair is no text; the wire lets none through, a backend may.
    return text.encode(errors="replace")
