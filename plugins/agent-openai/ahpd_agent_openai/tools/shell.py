"""`shell_exec`: one command, in a terminal of the host's that clients watch.

The command runs on pipes with nothing to read: what it prints is text as it is, no pager and
no prompt waits, and no progress bar is drawn. Its terminal stays when it is over, so that
clients can look at what it printed, until this many newer ones are there or the chat is
closed. Where the host has no terminals it is a child on pipes of its own.
"""

from collections import deque
from collections.abc import Collection, Mapping
from typing import Any, Final, Protocol

import attrs
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ahpd.interfaces import (
    IHostTerminal,
    IHostTerminals,
    Permission,
    RpcError,
    TerminalExit,
    TerminalStart,
    ToolEffects,
)
from ahpd.protocol import State
from ahpd_agent_openai.tools.arguments import Argument
from ahpd_agent_openai.tools.base import Tool, clipped
from ahpd_agent_openai.tools.children import run_child
from ahpd_agent_openai.tools.paths import Workspace
from ahpd_agent_openai.tools.printed import HEAD, TAIL, Kept, bounded, joined, plain
from ahpd_agent_openai.tools.values import (
    CallContext,
    Described,
    ToolOutcome,
    ToolProblem,
    text_block,
)

log = Logger()

#: Seconds a command may take where the call does not say, and at most.
USUAL_SECONDS: Final = 120
MOST_SECONDS: Final = 3600
#: Seconds a command that was killed is waited for.
KILL_GRACE: Final = 5.0
#: Terminals of commands that are over which stay open.
KEPT_OPEN: Final = 8
#: Seconds between two looks at a terminal whose beginning is not known yet: it keeps the end.
LOOK: Final = 0.25
#: Characters of what it printed that clients are shown beside the terminal.
LONGEST_PREVIEW: Final = 4_000

TITLE: Final = "Terminal"
META: Final = {"toolKind": "terminal"}

#: No pager waits for a key, and nothing asks for a password where nobody can answer.
ENVIRONMENT: Final[Mapping[str, str | None]] = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
#: The command is an argument, so that nothing of it is read twice.
_WRAPPED: Final = 'exec "$0" -c "$1" </dev/null 2>&1'


@attrs.frozen
class Ran:
    """What became of a command."""

    printed: str
    """For the model."""
    code: int | None
    words: str
    """How it ended, to be read behind "the command": `exited with code 1`."""
    in_time: bool
    block: State | None = None
    """Its terminal (schema: ToolResultTerminalContent)."""


class Runner(Protocol):
    """Runs commands."""

    async def run(self, command: str, folder: str, seconds: float, call: CallContext) -> Ran:
        """Run one; what it started is gone when this returns, also when it is cancelled."""

    async def close(self) -> None:
        """Let go of everything."""


class ShellExec(Tool):
    """Runs a command."""

    name = "shell_exec"
    title = TITLE
    kind = "shell"
    meta = META
    effects = ToolEffects(reads=True, writes=True, network=True, destructive=True)
    description = (
        "Run one command line with bash, in the workspace's first folder, and wait for its end."
        " It has no input and no terminal to draw on, and what it leaves running is ended with"
        " it. You are told what it printed (of much, the beginning and the end) and its exit"
        " code."
    )
    arguments = (
        Argument(
            name="command",
            kind="string",
            description="the command line",
            required=True,
            longest=100_000,
        ),
        Argument(
            name="timeout_seconds",
            kind="integer",
            description=f"how long it may take; {USUAL_SECONDS} where it is left out",
            least=1,
            most=MOST_SECONDS,
        ),
    )

    def __init__(self, workspace: Workspace, runner: Runner) -> None:
        self._workspace = workspace
        self._runner = runner

    def checked(self, arguments: Any) -> dict[str, Any]:
        """See `ITool.checked`."""
        taken = super().checked(arguments)
        if "\0" in taken["command"]:
            raise ToolProblem("`command` holds a NUL, which no command has")
        return taken

    def described(self, arguments: Mapping[str, Any]) -> Described:
        """See `ITool.described`."""
        command: str = arguments["command"]
        return self._described(
            command,
            arguments,
            Permission(kind="shell", command=command, language="bash"),
            inside=False,
            tool_input=command,
        )

    async def run(self, arguments: Mapping[str, Any], call: CallContext) -> ToolOutcome:
        """See `ITool.run`."""
        command: str = arguments["command"]
        seconds = arguments.get("timeout_seconds", USUAL_SECONDS)
        ran = await self._runner.run(command, self._workspace.first, seconds, call)
        text = ran.printed or "[it printed nothing]"
        if not ran.in_time:
            notice = f"[ended after {seconds} s, with everything it had started]"
        else:
            notice = "" if ran.code == 0 else f"[the command {ran.words}]"
        content = [] if ran.block is None else [ran.block]
        if ran.printed:
            content.append(text_block(ran.printed))
        return ToolOutcome(
            text=f"{text}\n{notice}" if notice else text,
            past_tense=_past(command, ran),
            success=ran.in_time and ran.code == 0,
            content=content,
        )

    async def close(self) -> None:
        """Let go of the terminals."""
        await self._runner.close()


def _past(command: str, ran: Ran) -> str:
    line = clipped(command, 120)
    if not ran.in_time:
        return f"Ran {line}, which took too long"
    return f"Ran {line}" if ran.code == 0 else f"Ran {line}, which {ran.words}"


def environment(hidden: Collection[str]) -> Mapping[str, str | None]:
    """What is added to a command's environment; the variables in `hidden` are taken away."""
    return {**ENVIRONMENT, **dict.fromkeys(hidden)}


def _argv(shell: str, command: str) -> list[str]:
    return ["/bin/sh", "-c", _WRAPPED, shell, command]


class PipeRunner:
    """Runs commands as children on pipes. `env` is added to what each child has."""

    def __init__(
        self, reactor: Any, supervisor: Any, shell: str, env: Mapping[str, str | None]
    ) -> None:
        self._reactor = reactor
        self._supervisor = supervisor
        self._shell = shell
        self._env = env

    async def run(self, command: str, folder: str, seconds: float, call: CallContext) -> Ran:
        """See `Runner.run`."""
        kept = Kept()
        ended = await run_child(
            self._reactor,
            self._supervisor,
            _argv(self._shell, command),
            given=b"",
            received=kept.received,
            seconds=seconds,
            env=self._env,
            cwd=folder,
            name="shell_exec",
        )
        return Ran(kept.text(), ended.code, ended.words, ended.in_time)

    async def close(self) -> None:
        """See `Runner.close`."""


class TerminalRunner:
    """Runs commands in the host's terminals. `env` is added to what each program has."""

    def __init__(
        self,
        reactor: Any,
        terminals: IHostTerminals,
        shell: str,
        env: Mapping[str, str | None],
    ) -> None:
        self._reactor = reactor
        self._terminals = terminals
        self._shell = shell
        self._env = env
        self._over: deque[IHostTerminal] = deque()
        self._going: set[Deferred[None]] = set()

    async def run(self, command: str, folder: str, seconds: float, call: CallContext) -> Ran:
        """See `Runner.run`."""
        try:
            terminal = self._terminals.open(self._start(command, folder, call))
        except RpcError as error:
            raise ToolProblem(f"the command was not run: {error.message}") from None
        command_ = _Command(self._reactor, terminal, seconds)
        try:
            call.show([_block(terminal)])
            await command_.over()
        except Exception:
            # The call is called off, and with it what names the terminal.
            command_.let_go()
            await terminal.dispose()
            raise
        ran = command_.ran()
        self._keep(terminal)
        return ran

    def _start(self, command: str, folder: str, call: CallContext) -> TerminalStart:
        return TerminalStart(
            claim={
                "kind": "session",
                "session": call.session,
                "chat": call.chat,
                "turnId": call.turn_id,
                "toolCallId": call.tool_call_id,
            },
            title=TITLE,
            cwd=folder,
            command=_argv(self._shell, command),
            env=self._env,
            pty=False,
        )

    def _keep(self, terminal: IHostTerminal) -> None:
        self._over.append(terminal)
        while len(self._over) > KEPT_OPEN:
            self._dispose(self._over.popleft())

    def _dispose(self, terminal: IHostTerminal) -> None:
        going = Deferred.fromCoroutine(terminal.dispose())
        self._going.add(going)

        def gone(result: object) -> object:
            self._going.discard(going)
            return result

        going.addBoth(gone).addErrback(
            lambda failure: log.failure("a terminal was not taken away", failure)
        )

    async def close(self) -> None:
        """See `Runner.close`."""
        while self._over:
            await self._over.popleft().dispose()
        for going in tuple(self._going):
            await going


class _Command:
    """A command that runs in a terminal, until it is over or its time is."""

    def __init__(self, reactor: Any, terminal: IHostTerminal, seconds: float) -> None:
        self._reactor = reactor
        self._terminal = terminal
        self._exit: TerminalExit | None = None
        self._in_time = True
        self._head = ""
        self._over: Deferred[None] = Deferred()
        self._late = reactor.callLater(seconds, self._cut)
        self._look = reactor.callLater(LOOK, self._looked)
        Deferred.fromCoroutine(terminal.exited()).addCallbacks(self._exited, self._broken)

    async def over(self) -> None:
        """Returns when it is over, or was killed and given `KILL_GRACE` to go."""
        await self._over
        self.let_go()

    def let_go(self) -> None:
        """Leave nothing on the clock."""
        for timer in (self._late, self._look):
            if timer.active():
                timer.cancel()

    def _exited(self, how: TerminalExit) -> None:
        self._exit = how
        self._finish()

    def _broken(self, failure: Any) -> None:
        if not self._over.called:
            self._over.errback(failure)

    def _finish(self) -> None:
        if not self._over.called:
            self._over.callback(None)

    def _cut(self) -> None:
        self._in_time = False
        self._late = self._reactor.callLater(KILL_GRACE, self._finish)
        self._terminal.kill()

    def _looked(self) -> None:
        # A terminal keeps the end of what was printed, and a model wants the beginning too.
        self._head = self._terminal.output()[: 2 * HEAD]
        if len(self._head) < 2 * HEAD:
            self._look = self._reactor.callLater(LOOK, self._looked)

    def ran(self) -> Ran:
        """What became of it."""
        printed = self._terminal.output()
        how = self._exit
        code = None if how is None else how.code
        preview = printed[-LONGEST_PREVIEW:]
        outcome: State = {"preview": preview, "truncated": len(preview) < len(printed)}
        if code is not None:
            outcome["exitCode"] = code
        words = f"exited with code {code}"
        if code is None:
            words = f"was ended by {(how.signal if how else None) or 'a signal'}"
        return Ran(
            self._told(printed),
            code,
            words,
            self._in_time,
            {**_block(self._terminal), "result": outcome},
        )

    def _told(self, printed: str) -> str:
        if printed.startswith(self._head):
            return bounded(plain(printed))
        return joined(plain(self._head)[:HEAD], plain(printed)[-TAIL:], None)


def _block(terminal: IHostTerminal) -> State:
    """Schema: ToolResultTerminalContent."""
    return {
        "type": "terminal",
        "resource": terminal.uri,
        "title": TITLE,
        "isPty": terminal.is_pty,
    }
