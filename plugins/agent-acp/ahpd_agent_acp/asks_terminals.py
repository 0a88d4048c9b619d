"""Terminals an agent opens: the host's own, which people watch and the agent reads.

An agent opens one, polls what it printed, waits for its exit, kills it and releases it. A
released one stays as long as a call shows it, so that people can still look at it, up to
`MOST_SHOWN`; one no call shows goes at once. Source: PLUGINS.txt, "What the server may ask
the host for"; agentclientprotocol.com, "Terminals".
"""

import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import attrs
from twisted.internet.defer import Deferred, DeferredList
from twisted.logger import Logger
from twisted.python.failure import Failure

from ahpd.interfaces import (
    IHostTerminal,
    IHostTerminals,
    RpcError,
    TerminalExit,
    TerminalFailure,
    TerminalStart,
)
from ahpd.protocol import State
from ahpd_agent_acp.connection import INTERNAL_ERROR, RESOURCE_NOT_FOUND, RequestError
from ahpd_agent_acp.content import objects_in, text_in
from ahpd_agent_acp.params import count_param, invalid, path_param, shown, text_param
from ahpd_agent_acp.printed import newest, readable

log = Logger()

#: Released terminals that are kept for the calls that show them, for one session.
MOST_SHOWN: Final = 20
#: Terminals one session's agent has open at a time.
MOST_OPEN: Final = 50

#: Characters of what was printed that a call shows once it is over.
_LONGEST_PREVIEW: Final = 4_000
#: Characters of a terminal's first output that tell whether its beginning is still there.
_HEAD: Final = 256

#: What is no program's name alone: with no arguments beside it, it is a line for a shell.
_A_LINE: Final = re.compile(r"[\s;&|<>$`'\"*?(){}#~]")


@attrs.define(eq=False)
class _Open:
    """A terminal the agent holds, or held."""

    terminal: IHostTerminal
    limit: int | None
    title: str
    exit: TerminalExit | None = None
    waiting: list["Deferred[TerminalExit]"] = attrs.field(factory=list)
    head: str | None = None
    """How its output began, once some was read."""
    cut: bool = False
    """Whether the beginning is known to be gone."""
    is_shown: bool = False
    """Whether a call shows it."""


class AgentTerminals:
    """The terminals of one session's agent.

    `ids` are new at each call, and what the agent names them by. A program starts in
    `directory` where the agent says nothing.
    """

    def __init__(
        self,
        terminals: IHostTerminals,
        ids: Callable[[], str],
        directory: str | None,
    ) -> None:
        self._terminals = terminals
        self._ids = ids
        self._directory = directory
        self._open: dict[str, _Open] = {}
        #: Released, and shown by a call; the oldest first.
        self._left: deque[tuple[str, _Open]] = deque()

    # -- what the agent asks ----------------------------------------------------------------

    async def create(self, params: Mapping[str, Any], claim: State) -> State:
        """`terminal/create`. A program that is not there is a terminal that says so.

        `claim` is whose it is (schema: TerminalClaim).
        """
        if len(self._open) >= MOST_OPEN:
            raise RequestError(INTERNAL_ERROR, f"{MOST_OPEN} terminals are open: release some")
        command = _command(params)
        title = command if isinstance(command, str) else " ".join(command)
        cwd = self._directory if not params.get("cwd") else path_param(params, "cwd")
        start = TerminalStart(
            claim=claim,
            title=title[:200],
            cwd=cwd,
            command=command,
            env=_environment(params),
        )
        limit = count_param(params, "outputByteLimit")
        try:
            terminal = self._terminals.open(start)
        except (RpcError, TerminalFailure) as refused:
            raise RequestError(INTERNAL_ERROR, str(refused)) from refused
        held = _Open(terminal, limit, title[:200])
        identifier = self._ids()
        self._open[identifier] = held
        Deferred.fromCoroutine(terminal.exited()).addBoth(_exited, held)
        return {"terminalId": identifier}

    async def output(self, params: Mapping[str, Any]) -> State:
        """`terminal/output`: what it printed by now, the newest of it where there is a limit."""
        held = self._held(params)
        text, cut = _read(held)
        answer: State = {"output": text, "truncated": cut}
        if held.exit is not None:
            answer["exitStatus"] = _status(held.exit)
        return answer

    async def wait_for_exit(self, params: Mapping[str, Any]) -> State:
        """`terminal/wait_for_exit`."""
        held = self._held(params)
        if held.exit is not None:
            return _status(held.exit)
        waiting: Deferred[TerminalExit] = Deferred(held.waiting.remove)
        held.waiting.append(waiting)
        return _status(await waiting)

    async def kill(self, params: Mapping[str, Any]) -> State:
        """`terminal/kill`: the program ends, the terminal stays. Over already is no error."""
        self._held(params).terminal.kill()
        return {}

    async def release(self, params: Mapping[str, Any]) -> State:
        """`terminal/release`: the program ends, and the id names nothing any more."""
        held = self._held(params)
        identifier = params["terminalId"]
        del self._open[identifier]
        self._let_go(identifier, held)
        return {}

    def _held(self, params: Mapping[str, Any]) -> _Open:
        identifier = text_param(params, "terminalId")
        held = self._open.get(identifier)
        if held is None:
            raise RequestError(RESOURCE_NOT_FOUND, f"No terminal is open as {shown(identifier)}")
        return held

    # -- what calls show ----------------------------------------------------------------------

    def shown(self, terminal_id: str, final: bool) -> State | None:
        """The content of a call that shows a terminal (schema: ToolResultTerminalContent).

        With `final` and once it exited, with what it came to. None for one the agent was
        never given.
        """
        held = self._open.get(terminal_id) or next(
            (each for identifier, each in self._left if identifier == terminal_id), None
        )
        if held is None:
            return None
        held.is_shown = True
        content: State = {
            "type": "terminal",
            "resource": held.terminal.uri,
            "title": held.title,
            "isPty": held.terminal.is_pty,
        }
        if final:
            text, cut = _read(held)
            preview = text[-_LONGEST_PREVIEW:]
            outcome: State = {"preview": preview, "truncated": cut or len(preview) < len(text)}
            if held.exit is not None and held.exit.code is not None:
                outcome["exitCode"] = held.exit.code
            content["result"] = outcome
        return content

    # -- the end of them ------------------------------------------------------------------------

    def _let_go(self, identifier: str, held: _Open) -> None:
        """The agent has no use for it: end it, and take it away unless a call shows it."""
        if not held.is_shown:
            _dispose(held)
            return
        if held.exit is None:
            held.terminal.kill()
        self._left.append((identifier, held))
        while len(self._left) > MOST_SHOWN:
            _dispose(self._left.popleft()[1])

    def close(self) -> Awaitable[None]:
        """The session is over: end them all and take them away. Returns when they are gone.

        What waits for an exit is refused.
        """
        held = [*self._open.values(), *(each for _, each in self._left)]
        self._open.clear()
        self._left.clear()
        for each in held:
            waiting, each.waiting = each.waiting, []
            for one in waiting:
                one.errback(RequestError(INTERNAL_ERROR, "The session is over"))
        gone: Deferred[None] = DeferredList([_dispose(each) for each in held]).addCallback(
            lambda _: None
        )
        return gone


def _exited(how: TerminalExit | Failure, held: _Open) -> None:
    if isinstance(how, Failure):
        log.error("a terminal of an agent's broke off: {error}", error=how.getErrorMessage())
        how = TerminalExit(None)
    held.exit = how
    waiting, held.waiting = held.waiting, []
    for each in waiting:
        each.callback(how)


def _dispose(held: _Open) -> "Deferred[None]":
    gone: Deferred[None] = Deferred.fromCoroutine(held.terminal.dispose())
    return gone.addErrback(
        lambda why: log.error("a terminal did not go: {error}", error=why.getErrorMessage())
    )


def _read(held: _Open) -> tuple[str, bool]:
    """What there is of the output, within the limit, and whether something is missing."""
    printed = held.terminal.output()
    if held.head is None or len(held.head) < _HEAD:
        if held.head is None or printed.startswith(held.head):
            held.head = printed[:_HEAD] or None
        else:
            held.cut = True
    elif not printed.startswith(held.head):
        held.cut = True
    text = readable(printed)
    if held.limit is None:
        return text, held.cut
    kept = newest(text, held.limit)
    return kept, held.cut or len(kept) < len(text)


def _status(how: TerminalExit) -> State:
    return {"exitCode": how.code, "signal": how.signal}


def _command(params: Mapping[str, Any]) -> str | Sequence[str]:
    """The words of the program; a line for the shell where it came as one.

    ACP has a program and its arguments. Several agents send a whole line as the program.
    """
    command = text_param(params, "command")
    args = params.get("args") or []
    if not isinstance(args, list) or not all(isinstance(word, str) for word in args):
        raise invalid(f"params.args: found {shown(args)}, expected a list of texts")
    if any("\0" in word for word in (command, *args)):
        raise invalid("params.command: holds a NUL, which no program's words have")
    if not args and _A_LINE.search(command):
        return command
    return [command, *args]


def _environment(params: Mapping[str, Any]) -> dict[str, str | None]:
    """The variables, a name's last value counting; what is no variable is left out."""
    found: dict[str, str | None] = {}
    for each in objects_in(params, "env"):
        name, value = text_in(each, "name"), each.get("value")
        if name is not None and isinstance(value, str) and not set("=\0") & set(name + value):
            found[name] = value
    return found
