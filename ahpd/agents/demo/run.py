"""A turn that runs in the demo agent's program: what it says is handed on, what it asks answered."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from twisted.internet.defer import (
    CancelledError,
    Deferred,
    DeferredList,
    FirstError,
    ensureDeferred,
)
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from ahpd.agents.demo.background import DemoBackground
from ahpd.agents.process import AgentProcess
from ahpd.interfaces import (
    AgentFailure,
    IChatHost,
    ITurnOutput,
    IWorkerOutput,
    Permission,
    TurnOver,
)
from ahpd.processes.waiting import Moment
from ahpd.protocol.actions import TURN_ACTIONS

log = Logger()

#: Actions about the chat, which name no turn to clients.
_OF_THE_CHAT: Final = frozenset(
    {"chat/activityChanged", "chat/inputRequested", "chat/inputCompleted"}
)
_OF_A_TURN: Final = TURN_ACTIONS - _OF_THE_CHAT

#: What a call of the demo's that asks would do: nothing that rules know of.
_PERMISSION: Final = Permission(kind="custom-tool")


def _asked(said: Mapping[str, Any]) -> Permission | None:
    """What an action asks to be allowed; None where it asks nothing."""
    asks = said["type"] == "chat/toolCallReady" and said.get("confirmed") is None
    return _PERMISSION if asks else None


class DemoRun:
    """One turn, from the moment the program is asked for it.

    `read_steering` takes what waits; `host` runs the host's tools, None in a bare test alone.
    """

    def __init__(
        self,
        output: ITurnOutput,
        background: DemoBackground,
        read_steering: Callable[[], list[str]],
        host: IChatHost | None = None,
    ) -> None:
        self.turn_id = output.turn_id
        self.stopped = False
        self.interrupted = Moment()
        self.deadline: IDelayedCall | None = None
        self._output = output
        self._background = background
        self._read_steering = read_steering
        self._host = host
        self._workers: dict[str, IWorkerOutput] = {}
        self._waiting: set[Deferred[None]] = set()

    def over(self) -> None:
        """The turn has ended: nothing is left to kill for it, to wait for, or to run on."""
        if self.deadline is not None and self.deadline.active():
            self.deadline.cancel()
        for waiting in list(self._waiting):
            waiting.cancel()
        for worker in self._workers.values():
            worker.fail("The turn that spawned it ended first", "turnEnded")
        self._workers.clear()

    async def follow(self, process: AgentProcess) -> Mapping[str, Any]:
        """Hand on what the program says of this turn; returns its end."""
        turn_id = self.turn_id
        emit = self._output.emit
        decode = process.decode
        while True:
            for line in await process.lines():
                said = decode(line)
                if type(said) is not dict or type(said.get("type")) is not str:
                    raise process.broke_protocol("wrote a line that is no object with a type")
                if said.get("turnId") != turn_id:
                    continue  # late, and of a turn that is over
                kind = said["type"]
                if kind in ("demo/end", "demo/failed"):
                    return said
                if self.stopped:
                    continue
                if kind in _OF_A_TURN and "worker" not in said:
                    emit(said, _asked(said))
                elif not self._heed(process, kind, said):
                    raise process.broke_protocol(f"said {kind[:80]}, which no turn may say")
            await self._room()

    def _heed(self, process: AgentProcess, kind: str, said: dict[str, Any]) -> bool:
        """Do what a line asks for that is no action of the turn itself; False for a strange one."""
        output = self._output_of(said.pop("worker", None))
        if kind in _OF_THE_CHAT:
            if output is not None:
                del said["turnId"]
                output.emit(said)
        elif kind in _OF_A_TURN:
            if output is not None:
                output.emit({**said, "turnId": output.turn_id}, _asked(said))
        elif kind == "demo/wait":
            self._begin_wait(process, output, said)
        elif kind == "demo/background":
            self._background.begin(said["id"], said["label"], said["seconds"])
        elif kind == "demo/workerEnd":
            self._end_worker(output, said)
        else:
            return False
        return True

    def _output_of(self, call: str | None) -> ITurnOutput | None:
        """None for a worker that has ended."""
        return self._output if call is None else self._workers.get(call)

    def _end_worker(self, output: ITurnOutput | None, said: Mapping[str, Any]) -> None:
        for call, worker in list(self._workers.items()):
            if worker is output:
                del self._workers[call]
                if "message" in said:
                    worker.fail(said["message"], said["errorType"])
                else:
                    worker.complete()

    # -- what it asks for ---------------------------------------------------------------

    def _begin_wait(
        self, process: AgentProcess, output: ITurnOutput | None, said: Mapping[str, Any]
    ) -> None:
        if output is None:
            return  # of a worker that is over, which the program learns of as well
        waiting = Deferred.fromCoroutine(self._answer(process, output, said))
        self._waiting.add(waiting)

        def done(result: Any) -> Any:
            self._waiting.discard(waiting)
            return result

        waiting.addBoth(done)
        waiting.addErrback(self._not_answered, process)

    async def _answer(
        self, process: AgentProcess, output: ITurnOutput, said: Mapping[str, Any]
    ) -> None:
        value = await self._found(output, said)
        process.send({"type": "answer", "turnId": self.turn_id, "id": said["id"], "value": value})

    async def _found(self, output: ITurnOutput, said: Mapping[str, Any]) -> Any:
        what, of = said["what"], said["of"]
        if what == "steering":
            return self._read_steering()
        if what == "worker":
            prompt = {"text": said["prompt"], "origin": {"kind": "agent"}}
            worker = self._workers[of] = output.worker(of, prompt, said["title"])
            return worker.chat
        if what == "client_result":
            return dict(await output.client_result(of))
        if what == "host_result":
            return await self._host_result(said["name"], said["arguments"], of)
        if what == "answered":
            answered = await output.answered(of)
            return {"response": answered.response, "answers": dict(answered.answers)}
        decided = await output.confirmed(of)
        return {
            "approved": decided.approved,
            "reason": decided.reason,
            "message": decided.message,
            "suggestion": (decided.suggestion or {}).get("text"),
            "editedInput": decided.edited_input,
        }

    async def _host_result(self, name: str, arguments: Mapping[str, Any], call: str) -> Any:
        if self._host is None:
            words = f"This host cannot run {name}."
            return {"success": False, "pastTenseMessage": words, "error": {"message": words}}
        return dict(await self._host.run_tool(name, arguments, call))

    def _not_answered(self, failure: Failure, process: AgentProcess) -> None:
        """The turn or its worker is over, and so is the waiting; anything else ends the turn."""
        if failure.check(TurnOver, CancelledError, AgentFailure) is None:
            log.failure("answering the demo agent failed", failure)
            process.kill("was ended, because the host could not answer it")

    # -- clients that have no room -------------------------------------------------------

    async def _room(self) -> None:
        """Wait until the clients have room for more, or the turn is interrupted."""
        if self.interrupted.happened:
            return
        drained = ensureDeferred(self._output.drained())
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
