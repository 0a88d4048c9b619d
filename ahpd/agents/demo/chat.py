"""One chat on the demo agent: its process, and the turns it is given."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from twisted.internet.defer import Deferred, DeferredList, FirstError, ensureDeferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.agents.demo.models import model_of
from ahpd.agents.process import AgentProcess, start_agent
from ahpd.interfaces import AgentFailure, IAgentChat, ITurnOutput, TurnRequest
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.processes.waiting import Moment
from ahpd.protocol.actions import TURN_ACTIONS

log = Logger()

#: Seconds the program has to abandon a turn before it is killed.
STOP_GRACE: Final = 2.0

#: The command that runs the program; the pace in milliseconds follows.
COMMAND: Final = (sys.executable, "-I", "-S", str(Path(__file__).with_name("program.py")))

_WHAT: Final = "The demo agent's process"


class _Run:
    """The turn that is running."""

    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self.stopped = False
        self.interrupted = Moment()
        self.deadline: IDelayedCall | None = None

    def over(self) -> None:
        """The turn has ended: nothing is left to kill for it."""
        if self.deadline is not None and self.deadline.active():
            self.deadline.cancel()

    async def room(self, output: ITurnOutput) -> None:
        """Wait until the clients have room for more, or the turn is interrupted."""
        if self.interrupted.happened:
            return
        drained = ensureDeferred(output.drained())
        if drained.called and not drained.paused:
            await drained
            return
        interrupted = self.interrupted.wait()
        try:
            await DeferredList(
                [drained, interrupted],
                fireOnOneCallback=True,
                fireOnOneErrback=True,
                consumeErrors=True,
            )
        except FirstError as error:
            error.subFailure.raiseException()
        finally:
            drained.cancel()
            interrupted.cancel()


@implementer(IAgentChat)
class DemoChat:
    """A chat whose process is started at its first turn, and again after it is lost."""

    def __init__(
        self,
        reactor: Any,
        supervisor: ProcessSupervisor,
        command: tuple[str, ...],
        stop_grace: float = STOP_GRACE,
    ) -> None:
        self._reactor = reactor
        self._supervisor = supervisor
        self._command = command
        self._stop_grace = stop_grace
        self._process: AgentProcess | None = None
        self._run: _Run | None = None
        self._discarded: dict[AgentProcess, Deferred[None]] = {}
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process id of its program, or None while it has none."""
        return None if self._process is None else self._process.pid

    async def run(self, turn: TurnRequest, output: ITurnOutput) -> None:
        """Run one turn in the program (`IAgentChat.run`)."""
        if self._run is not None:
            raise RuntimeError("a turn of this chat is running already")
        if self._closed:
            raise AgentFailure("The chat is closed")
        model, level = model_of(turn.model)
        request = {
            "type": "run",
            "turnId": turn.turn_id,
            "text": turn.text,
            "model": model,
            "thinkingLevel": level,
        }
        run = self._run = _Run(turn.turn_id)
        end: Mapping[str, Any] | None = None
        try:
            process = self._process_to_use()
            process.send(request)
            end = await self._follow(process, run, output)
        except AgentFailure:
            if not run.stopped:
                raise
        finally:
            self._run = None
            run.over()
            if end is None and self._process is not None:
                self._discard(self._process)  # where in the turn it is, nobody knows
        if end is not None and end["type"] == "demo/failed" and not run.stopped:
            raise AgentFailure(str(end.get("message")), str(end.get("errorType")))

    async def _follow(
        self, process: AgentProcess, run: _Run, output: ITurnOutput
    ) -> Mapping[str, Any]:
        """Hand on what the program says of this turn; returns its end."""
        turn_id = run.turn_id
        emit = output.emit
        decode = process.decode
        while True:
            for line in await process.lines():
                said = decode(line)
                if type(said) is not dict or type(said.get("type")) is not str:
                    raise process.broke_protocol("wrote a line that is no object with a type")
                if said.get("turnId") != turn_id:
                    continue  # late, and of a turn that is over
                kind = said["type"]
                if kind in TURN_ACTIONS:
                    if not run.stopped:
                        emit(said)
                elif kind in ("demo/end", "demo/failed"):
                    return said
                else:
                    raise process.broke_protocol(f"said {kind[:80]}, which no turn may say")
            await run.room(output)

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
        """End the program; a turn that is running fails."""
        self._closed = True
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
