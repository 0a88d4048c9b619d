"""One `!` command: a terminal of its own, and the tool call around it.

The call names the terminal as soon as there is one, so that clients watch what it prints,
and again with how the command ended. A command that fails is a call that failed: its turn
completes all the same. One that is stopped is a call that failed, too, with what it had
printed: a call that is called off by the end of its turn has no content. Sources: AHP.txt, `chat/toolCallContentChanged`; PLUGINS.txt, "A
!command in the composer".
"""

from typing import Final, Protocol

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from ahpd.chats.backend import Opening
from ahpd.chats.call_record import failed_result
from ahpd.chats.folders import folders_of
from ahpd.chats.happenings import dropped
from ahpd.chats.owner import Surroundings
from ahpd.chats.parts import held_call
from ahpd.chats.printed import plain_text, tail
from ahpd.chats.turn import Turn
from ahpd.interfaces import IHostTerminal, RpcError, TerminalExit, TerminalStart
from ahpd.protocol import State
from ahpd.protocol.errors import invalid_params
from ahpd.protocol.file_uris import path_of

log = Logger()

#: The call around a command, as people and logs are shown it.
TOOL: Final = "terminal"
TITLE: Final = "Terminal"
_META: Final = {"toolKind": "terminal"}

#: How long a command that was killed has before its terminal is taken away, in seconds.
KILL_GRACE: Final = 5.0

#: Characters of what it printed that its result shows as they were printed, and as text.
LONGEST_PREVIEW: Final = 4_000
LONGEST_TEXT: Final = 20_000

_NOT_RUN: Final = "Failed to run command"
_STOPPED: Final = "Command was stopped"


class Running(Opening, Protocol):
    """The chat a command runs in."""

    def complete(self, turn: Turn) -> None:
        """Say that a turn is complete, unless its end was said."""


class CommandTurn:
    """A command that runs, from the start of its call to the end of its turn."""

    __slots__ = (
        "_call_id",
        "_chat",
        "_command",
        "_exit",
        "_grace",
        "_kept",
        "_reported",
        "_terminal",
        "_turn",
        "_world",
    )

    def __init__(self, world: Surroundings, chat: Running, turn: Turn, command: str) -> None:
        self._world = world
        self._chat = chat
        self._turn = turn
        self._command = command
        self._call_id = world.ids()
        self._terminal: IHostTerminal | None = None
        self._exit: Deferred[TerminalExit | None] | None = None
        self._grace: IDelayedCall | None = None
        self._kept = False
        """Whether what is left of its terminal is on disk."""
        self._reported = False
        """Whether what its call came to was said."""

    @property
    def is_over(self) -> bool:
        """Whether its turn is, though it may not be gone yet."""
        return self._turn.over

    @property
    def turn_id(self) -> str:
        """Its turn's id."""
        return self._turn.turn_id

    # -- running ------------------------------------------------------------------------

    async def run(self) -> None:
        """Run it. Returns when its turn's end was said and, of one stopped, its terminal is gone."""
        self._say("chat/toolCallStart", toolName=TOOL, displayName=TITLE, intention=self._command)
        self._say(
            "chat/toolCallReady",
            invocationMessage=self._command,
            toolInput=self._command,
            confirmed="not-needed",
        )
        how, named = None, False
        try:
            how = await self._ran()
            result = self._result(how)
            named = not self._turn.over and self._call() is not None
            if named:
                self._keep()
        except Exception as broken:
            named, result = False, self._broken(broken)
        stopped = self._turn.over
        if not stopped:
            self._reported = True
            self._say("chat/toolCallComplete", result=result)
            self._chat.complete(self._turn)
        self._turn.output.let_go()
        if stopped:
            await self._leave_stopped(how)
        else:
            await self._leave(named)

    def _say(self, kind: str, **fields: object) -> None:
        """Say something of the call; of a turn that another one replaced, to its own name."""
        action: State = {"type": kind, "toolCallId": self._call_id, **fields}
        if kind in ("chat/toolCallStart", "chat/toolCallReady"):
            action["_meta"] = dict(_META)
        self._turn.output.emit(action)

    async def _ran(self) -> TerminalExit | None:
        """How it ended. None for one that was stopped before it ran, or did not let go in time."""
        terminals = self._world.terminals
        if self._turn.over or terminals is None:
            return None
        terminal = self._terminal = terminals.open(self._start())
        over = self._exit = Deferred()
        self._say("chat/toolCallContentChanged", content=[self._named(terminal)])
        if self._turn.over:
            self.stop()
        Deferred.fromCoroutine(terminal.exited()).addBoth(self._exited)
        try:
            return await over
        finally:
            if self._grace is not None and self._grace.active():
                self._grace.cancel()

    def _start(self) -> TerminalStart:
        chat = self._chat
        folder = next(iter(folders_of(chat)), None)
        return TerminalStart(
            claim={
                "kind": "session",
                "session": chat.owner.uri,
                "chat": chat.uri,
                "turnId": self.turn_id,
                "toolCallId": self._call_id,
            },
            title=TITLE,
            cwd=None if folder is None else _path(folder),
            command=self._command,
        )

    def _exited(self, how: TerminalExit | Failure) -> None:
        over = self._exit
        if over is None or over.called:
            return
        if isinstance(how, Failure):
            over.errback(how)
        else:
            over.callback(how)

    def flush(self) -> None:
        """Have all it printed by now be said."""
        if self._terminal is not None:
            self._terminal.output()

    def say_stopped(self) -> None:
        """Say what its call comes to, its turn being about to be stopped.

        Nothing is said of one that has no terminal yet, and of one that has ended.
        """
        terminal = self._terminal
        if terminal is None or self._reported:
            return
        self._reported = True
        if self._call() is not None:
            self._keep()
        result = self._came_to(terminal, None, _STOPPED)
        self._turn.output.last(
            {"type": "chat/toolCallComplete", "toolCallId": self._call_id, "result": result}
        )

    def stop(self) -> None:
        """Kill it and all it started. Nothing more is said of its turn; again is no error."""
        self._turn.output.end()
        dropped(self._world, self._chat, self._turn)
        self._turn.over = True
        over = self._exit
        if self._terminal is None or over is None or over.called or self._grace is not None:
            return
        self._grace = self._world.clock.callLater(KILL_GRACE, self._overdue)
        self._terminal.kill()

    def _overdue(self) -> None:
        log.warn("a command of {chat} that was killed did not end", chat=self._chat.uri)
        if self._exit is not None and not self._exit.called:
            self._exit.callback(None)

    # -- what is left of it ---------------------------------------------------------------

    def _call(self) -> State | None:
        """Its call (schema: ToolCallState); None where the chat is gone, or holds none: that of a
        turn another one replaced is in no history."""
        state = self._world.store.find(self._chat.uri)
        return None if state is None else held_call(state, self.turn_id, self._call_id)

    def _keep(self) -> None:
        """Have what there is of its terminal on disk. What was kept of it before stays otherwise."""
        left, terminal = self._world.left, self._terminal
        if left is not None and terminal is not None:
            self._kept = left.keep(self._chat.uri, terminal) or self._kept

    async def _leave(self, named: bool) -> None:
        """Take the terminal away: now where no call names it, else once nobody watches it.

        One that is named and could not be kept stays: there is nothing else a subscribe
        could be answered with.
        """
        terminal, left = self._terminal, self._world.left
        if terminal is None:
            return
        if not named:
            await terminal.dispose()
        elif self._kept and left is not None:
            left.let_go(self._chat.uri, terminal)

    async def _leave_stopped(self, how: TerminalExit | None) -> None:
        """The same of one that was stopped. Returns when all it started is gone, or is watched."""
        terminal, left = self._terminal, self._world.left
        if terminal is None:
            return
        await self._all_said()
        call = self._call()
        if how is None or call is None or call["status"] != "completed":
            await terminal.dispose()
            return
        self._keep()  # with the last it printed
        if self._kept and left is not None:
            await left.let_go(self._chat.uri, terminal)

    async def _all_said(self) -> None:
        """Return when all that is to be said by now was."""
        said: Deferred[None] = Deferred()
        self._world.store.behind(lambda: said.callback(None))
        await said

    # -- what it came to --------------------------------------------------------------------

    def _named(self, terminal: IHostTerminal) -> State:
        """The terminal (schema: ToolResultTerminalContent)."""
        return {
            "type": "terminal",
            "resource": terminal.uri,
            "title": TITLE,
            "isPty": terminal.is_pty,
        }

    def _result(self, how: TerminalExit | None) -> State:
        """What the command came to (schema: ToolCallResult), what it printed in it."""
        if how is None or self._terminal is None:
            return failed_result(_NOT_RUN)
        return self._came_to(self._terminal, how, words_for(how))

    def _came_to(self, terminal: IHostTerminal, how: TerminalExit | None, words: str) -> State:
        """See `_result`; `how` is None of one that is being ended."""
        printed = terminal.output()
        preview = tail(printed, LONGEST_PREVIEW)
        outcome: State = {"preview": preview, "truncated": len(preview) < len(printed)}
        if how is not None and how.code is not None:
            outcome["exitCode"] = how.code
        content: list[State] = [{**self._named(terminal), "result": outcome}]
        text = tail(plain_text(printed), LONGEST_TEXT)
        if text:
            content.append({"type": "text", "text": text})
        return {
            "success": how is not None and how.code == 0,
            "pastTenseMessage": words,
            "content": content,
        }

    def _broken(self, broken: Exception) -> State:
        """The result of one that could not be run to its end (schema: ToolCallResult)."""
        log.error(
            "command {turn} of {chat} broke off: {kind}: {error}",
            turn=self.turn_id,
            chat=self._chat.uri,
            kind=type(broken).__name__,
            error=str(broken),
        )
        words = broken.message if isinstance(broken, RpcError) else "The host's log says why."
        return {**failed_result(_NOT_RUN), "error": {"message": words}}


def _path(folder: str) -> str:
    """The path of a chat's folder. Raises `RpcError` -32602 for one of another machine: a command
    that was meant for it is run nowhere else."""
    path = path_of(folder)
    if path is None:
        raise invalid_params(f"{folder} is no folder of this machine, where commands run")
    return path


def words_for(how: TerminalExit) -> str:
    """What became of a command, in the past tense."""
    if how.code == 0:
        return "Ran command"
    if how.code is not None:
        return f"Command exited with code {how.code}"
    return f"Command was ended by {how.signal or 'a signal'}"
