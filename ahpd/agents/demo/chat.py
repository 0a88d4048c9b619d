"""One chat on the demo agent: its process, and the turns it is given."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import attrs
from twisted.internet.defer import Deferred, DeferredList
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.agents.demo.background import DemoBackground
from ahpd.agents.demo.models import model_of
from ahpd.agents.demo.run import DemoRun
from ahpd.agents.demo.settings import pace_of
from ahpd.agents.process import AgentProcess, start_agent
from ahpd.interfaces import (
    AgentFailure,
    ChatStart,
    IAgentChat,
    IConfiguredChat,
    IDelegatingChat,
    IResumingChat,
    ISteeredChat,
    ITurnOutput,
    TurnRequest,
)
from ahpd.processes.supervisor import ProcessSupervisor

log = Logger()

#: Seconds the program has to abandon a turn before it is killed.
STOP_GRACE: Final = 2.0

#: The command that runs the program.
COMMAND: Final = (sys.executable, "-I", "-S", str(Path(__file__).with_name("program.py")))

_WHAT: Final = "The demo agent's process"


@attrs.frozen
class _Broken:
    """Where a turn that failed goes on, when it is resumed."""

    turn_id: str
    attempt: int
    step: int
    ids: int


@implementer(IAgentChat, ISteeredChat, IResumingChat, IConfiguredChat, IDelegatingChat)
class DemoChat:
    """A chat whose process is started at its first turn, and again after it is lost.

    It has no memory beyond what the host keeps. Its conversation is named after its chat.
    """

    def __init__(
        self,
        reactor: Any,
        supervisor: ProcessSupervisor,
        command: tuple[str, ...],
        start: ChatStart,
        pace_ms: float,
        stop_grace: float = STOP_GRACE,
    ) -> None:
        self._reactor = reactor
        self._supervisor = supervisor
        self._command = command
        self._start = start
        self._pace_ms = pace_ms
        self._pace = pace_of(start.config)
        self._stop_grace = stop_grace
        self._background = DemoBackground(reactor, start.host)
        self._steering: dict[str, str] = {}
        self._kept = start.resume is not None
        self._preamble = start.preamble
        self._broken: _Broken | None = None
        self._process: AgentProcess | None = None
        self._run: DemoRun | None = None
        self._discarded: dict[AgentProcess, Deferred[None]] = {}
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process id of its program, or None while it has none."""
        return None if self._process is None else self._process.pid

    # -- turns --------------------------------------------------------------------------

    async def run(self, turn: TurnRequest, output: ITurnOutput) -> None:
        """Run one turn in the program (`IAgentChat.run`)."""
        await self._run_turn(turn, output, _Broken(turn.turn_id, 1, 0, 1))

    async def resume(self, turn: TurnRequest, output: ITurnOutput) -> None:
        """Go on with the step that failed (`IResumingChat.resume`).

        A turn that failed before this chat was opened begins with its first step again.
        """
        broken = self._broken
        if broken is None or broken.turn_id != turn.turn_id:
            broken = _Broken(turn.turn_id, 1, 0, _next_id(self._start.history, turn.turn_id))
        await self._run_turn(turn, output, attrs.evolve(broken, attempt=broken.attempt + 1))

    async def _run_turn(self, turn: TurnRequest, output: ITurnOutput, begin: _Broken) -> None:
        if self._run is not None:
            raise RuntimeError("a turn of this chat is running already")
        if self._closed:
            raise AgentFailure("The chat is closed")
        request = self._request(turn, begin)
        run = self._run = DemoRun(output, self._background, self._read_steering, self._start.host)
        end: Mapping[str, Any] | None = None
        try:
            self._keep()
            process = self._process_to_use()
            process.send(request)
            end = await run.follow(process)
            output.ended_at(turn.turn_id)
        except AgentFailure:
            if not run.stopped:
                raise
        finally:
            self._run = None
            run.over()
            self._return_steering()
            if end is None and self._process is not None:
                self._discard(self._process)  # where in the turn it is, nobody knows
        if end is not None and end["type"] == "demo/failed" and not run.stopped:
            raise self._failure(end, begin)

    def _request(self, turn: TurnRequest, begin: _Broken) -> dict[str, Any]:
        model, level = model_of(turn.model)
        request: dict[str, Any] = {
            "type": "run",
            "turnId": turn.turn_id,
            "text": turn.text,
            "model": model,
            "thinkingLevel": level,
            "pace": self._pace * self._pace_ms,
            "tools": [
                {key: tool[key] for key in ("clientId", "name", "title") if key in tool}
                for tool in turn.client_tools
            ],
            "attempt": begin.attempt,
            "step": begin.step,
            "ids": begin.ids,
        }
        if self._preamble is not None:
            request["preamble"], self._preamble = self._preamble, None
        return request

    def _failure(self, end: Mapping[str, Any], begin: _Broken) -> AgentFailure:
        resumable = end.get("resumable") is True
        self._broken = None
        if resumable:
            self._broken = _Broken(begin.turn_id, begin.attempt, end["step"], end["ids"])
        return AgentFailure(str(end.get("message")), str(end.get("errorType")), resumable)

    def _keep(self) -> None:
        """Say once under what name the conversation is kept: its chat's, which no other has."""
        if not self._kept and self._start.host is not None:
            self._kept = True
            self._start.host.kept_as(self._start.chat)

    # -- messages into a running turn -----------------------------------------------------

    def steer(self, message_id: str, message: Mapping[str, Any]) -> bool:
        """Keep it until the program asks for it, between two steps (`ISteeredChat.steer`)."""
        run, process = self._run, self._process
        if run is None or process is None or run.stopped or self._start.host is None:
            return False
        with suppress(AgentFailure):  # the turn learns of that as well
            process.send({"type": "steered", "turnId": run.turn_id})
        self._steering[message_id] = message["text"]
        return True

    def withdraw(self, message_id: str) -> bool:
        """Give it back, unless it was asked for (`ISteeredChat.withdraw`)."""
        return self._steering.pop(message_id, None) is not None

    def _read_steering(self) -> list[str]:
        steering, self._steering = self._steering, {}
        if self._start.host is not None:
            for message_id in steering:
                self._start.host.steering_taken(message_id)
        return list(steering.values())

    def _return_steering(self) -> None:
        steering, self._steering = self._steering, {}
        if self._start.host is not None:
            for message_id in steering:
                self._start.host.steering_returned(message_id)

    # -- settings and workers -------------------------------------------------------------

    def configure(self, values: Mapping[str, Any]) -> None:
        """Take the pace, the running turn too (`IConfiguredChat.configure`)."""
        self._pace = pace_of(values)
        self._tell_run({"type": "pace", "ms": self._pace * self._pace_ms})

    async def stop_worker(self, tool_call_id: str) -> None:
        """Have the worker's turn abandoned (`IDelegatingChat.stop_worker`)."""
        self._tell_run({"type": "stopWorker", "call": tool_call_id})

    def _tell_run(self, command: dict[str, Any]) -> None:
        run, process = self._run, self._process
        if run is not None and process is not None and not run.stopped:
            with suppress(AgentFailure):  # its input piles up; the turn learns of that as well
                process.send({**command, "turnId": run.turn_id})

    # -- the process ----------------------------------------------------------------------

    def _process_to_use(self) -> AgentProcess:
        process = self._process
        if process is not None and not process.alive:
            self._discard(process)
            process = None
        if process is None:
            process = self._process = start_agent(
                self._reactor, self._supervisor, self._command, what=_WHAT, name="demo agent"
            )
        return process

    def _discard(self, process: AgentProcess) -> None:
        if process is self._process:
            self._process = None
        if process not in self._discarded:
            ending = Deferred.fromCoroutine(process.end(self._stop_grace))
            self._discarded[process] = ending
            ending.addErrback(lambda failure: log.failure("ending the demo agent failed", failure))
            ending.addCallback(lambda _: self._discarded.pop(process, None) and None)

    async def stop(self, turn_id: str) -> None:
        """Have the running turn abandoned; a program that does not is killed."""
        run, process = self._run, self._process
        if run is None or process is None or run.turn_id != turn_id or run.stopped:
            return
        run.stopped = True
        run.interrupted.fire()
        run.deadline = self._reactor.callLater(
            self._stop_grace, process.kill, "was killed because it did not stop"
        )
        with suppress(AgentFailure):  # its input piles up; the turn learns of that as well
            process.send({"type": "stop", "turnId": turn_id})

    async def close(self) -> None:
        """End the program and what runs in the background; a turn that is running fails."""
        self._closed = True
        self._background.close()
        if self._run is not None:
            self._run.interrupted.fire()
        if self._process is not None:
            self._discard(self._process)
        await DeferredList([_copy(ending) for ending in self._discarded.values()])


def _copy(deferred: "Deferred[None]") -> "Deferred[None]":
    """Fires when `deferred` does, which others may be waiting for too."""
    copy: Deferred[None] = Deferred()

    def fire(result: Any) -> Any:
        copy.callback(None)
        return result

    deferred.addBoth(fire)
    return copy


def _next_id(history: Sequence[Mapping[str, Any]], turn_id: str) -> int:
    """The number after the last that a part or call of that turn has; 1 where it has none."""
    numbers = [0]
    for turn in history:
        if turn["id"] == turn_id:
            for part in turn["responseParts"]:
                name = part["toolCall"]["toolCallId"] if "toolCall" in part else part.get("id", "")
                number = name.rpartition(":")[2]
                numbers.append(int(number) if number.isdigit() else 0)
    return max(numbers) + 1
