"""What a script is given: its turn, in short words."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs
from twisted.internet.defer import Deferred

from ahpd.interfaces import (
    BackgroundTask,
    IChatHost,
    InputAnswer,
    ITurnOutput,
    IWorkerOutput,
    Permission,
    ToolAnswer,
    TurnRequest,
)
from ahpd.protocol import State

#: What a call asks that says no more of itself.
_CUSTOM: Final = Permission(kind="custom-tool")


@attrs.frozen
class Steered:
    """A message that was steered into a running turn."""

    id: str
    message: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The message's text."""
        text: str = self.message["text"]
        return text


class Steering:
    """The messages a chat took into its turn and has not read."""

    def __init__(self) -> None:
        self.messages: list[Steered] = []
        self._waiting: list[Deferred[None]] = []

    def put(self, steered: Steered) -> None:
        """One more, for whoever waits."""
        self.messages.append(steered)
        waiting, self._waiting = self._waiting, []
        for deferred in waiting:
            deferred.callback(None)

    def take(self, message_id: str) -> bool:
        """Take one out again; False where it is not here any more."""
        kept = [steered for steered in self.messages if steered.id != message_id]
        found = len(kept) < len(self.messages)
        self.messages = kept
        return found

    async def next(self) -> Steered:
        """The oldest, waited for."""
        while not self.messages:
            deferred: Deferred[None] = Deferred(self._forget)
            self._waiting.append(deferred)
            await deferred
        return self.messages.pop(0)

    def _forget(self, deferred: "Deferred[None]") -> None:
        if deferred in self._waiting:
            self._waiting.remove(deferred)


class ScriptedTurn:
    """What a script is given: the request, the output, and short ways to say the usual.

    `resumed` says that the turn is run again; `numbers` makes its ids, counted on where
    it is.
    """

    def __init__(
        self,
        request: TurnRequest,
        output: ITurnOutput,
        *,
        host: IChatHost | None = None,
        steering: Steering | None = None,
        workers: "dict[str, ScriptedWorker] | None" = None,
        numbers: Iterator[int] | None = None,
        resumed: bool = False,
    ) -> None:
        self.request = request
        self.output = output
        self.resumed = resumed
        self._host = host
        self._steering = Steering() if steering is None else steering
        self._workers = {} if workers is None else workers
        self._numbers = itertools.count(1) if numbers is None else numbers

    @property
    def host(self) -> IChatHost:
        """Where is said what is no part of the turn."""
        assert self._host is not None, "the chat was opened without a host"
        return self._host

    def new_id(self) -> str:
        """An id for a part, a tool call or a question, unique within the chat."""
        return f"{self.request.turn_id}:{next(self._numbers)}"

    def say(self, kind: str, **fields: Any) -> None:
        """Emit one action of this turn: `say("chat/delta", partId=..., content=...)`."""
        self.output.emit({"type": kind, "turnId": self.request.turn_id, **fields})

    # -- text ---------------------------------------------------------------------

    def markdown(self, text: str = "") -> str:
        """Open a markdown part and return its id."""
        return self._open("markdown", text)

    def reasoning(self, text: str = "") -> str:
        """Open a reasoning part and return its id."""
        return self._open("reasoning", text)

    def _open(self, kind: str, text: str) -> str:
        part = self.new_id()
        self.say("chat/responsePart", part={"kind": kind, "id": part, "content": text})
        return part

    def delta(self, part: str, text: str) -> None:
        """Append to a markdown part."""
        self.say("chat/delta", partId=part, content=text)

    def think(self, part: str, text: str) -> None:
        """Append to a reasoning part."""
        self.say("chat/reasoning", partId=part, content=text)

    # -- tool calls ---------------------------------------------------------------

    def begin(self, name: str, **fields: Any) -> str:
        """A tool call whose input is still to come; `fields` are of `chat/toolCallStart`."""
        call = self.new_id()
        self.say("chat/toolCallStart", toolCallId=call, toolName=name, displayName=name, **fields)
        return call

    def ready(
        self,
        call: str,
        text: str,
        tool_input: str = "{}",
        permission: Permission | None = _CUSTOM,
        **fields: Any,
    ) -> str:
        """Its input is whole. Without `confirmed` among `fields` it waits to be allowed, and
        `permission` is what it asks."""
        self.say("chat/toolCallDelta", toolCallId=call, content=tool_input)
        action = {
            "type": "chat/toolCallReady",
            "turnId": self.request.turn_id,
            "toolCallId": call,
            "invocationMessage": text,
            "toolInput": tool_input,
            **fields,
        }
        if "confirmed" in fields or permission is None:
            self.output.emit(action)
        else:
            self.output.emit(action, permission)
        return call

    def complete(self, call: str, text: str, **fields: Any) -> None:
        """It answered `text`; `fields` are of `chat/toolCallComplete`."""
        content = [{"type": "text", "text": text}]
        result = {"success": True, "pastTenseMessage": "Ran it", "content": content}
        self.say("chat/toolCallComplete", toolCallId=call, result=result, **fields)

    def fail(self, call: str, words: str) -> None:
        """It failed with `words`."""
        result = {"success": False, "pastTenseMessage": "Tried it", "error": {"message": words}}
        self.say("chat/toolCallComplete", toolCallId=call, result=result)

    def running(self, name: str) -> str:
        """A tool call that runs and was not asked about; returns its id."""
        return self.ready(self.begin(name), f"Running {name}", confirmed="not-needed")

    def tool(self, name: str, text: str) -> str:
        """A whole tool call that needs no asking and answers `text`; returns its id."""
        call = self.running(name)
        self.complete(call, text)
        return call

    def ask(
        self, name: str, text: str, options: Sequence[State] | None = None, **fields: Any
    ) -> str:
        """A tool call that waits to be allowed; returns its id, `confirmed` gives the answer.

        `options` are ConfirmationOptions, `fields` more of `chat/toolCallReady`, and
        `permission` among them what it asks for.
        """
        if options is not None:
            fields["options"] = list(options)
        return self.ready(self.begin(name), text, **fields)

    def client_tool(self, client_id: str, name: str, tool_input: str = "{}", **fields: Any) -> str:
        """A tool call the client `client_id` runs; `client_result` gives what came of it.

        It needs no asking, unless `fields` says `confirmed=None`.
        """
        call = self.begin(name, contributor={"kind": "client", "clientId": client_id})
        confirmed = fields.pop("confirmed", "not-needed")
        if confirmed is not None:
            fields["confirmed"] = confirmed
        return self.ready(call, f"Running {name}", tool_input, **fields)

    async def confirmed(self, call: str) -> ToolAnswer:
        """The answer to a call that waits to be allowed."""
        return await self.output.confirmed(call)

    async def result_confirmed(self, call: str) -> ToolAnswer:
        """The answer to a result that waits to be let through."""
        return await self.output.result_confirmed(call)

    async def client_result(self, call: str) -> Mapping[str, Any]:
        """What came of a call a client runs."""
        return await self.output.client_result(call)

    # -- questions ----------------------------------------------------------------

    def question(self, text: str, *options: str, required: bool = False, **fields: Any) -> str:
        """Ask the person; returns the request's id, `answered` gives the answer.

        One question with id `q`: a choice of `options`, or a text where there are none.
        `fields` are of the request; `questions` among them take its place.
        """
        request = self.new_id()
        question: State = {"id": "q", "message": text, "kind": "text"}
        if options:
            choices = [{"id": option, "label": option} for option in options]
            question |= {"kind": "single-select", "options": choices}
        if required:
            question["required"] = True
        asked = {"id": request, "message": text, "questions": [question], **fields}
        self.output.emit({"type": "chat/inputRequested", "request": asked})
        return request

    async def answered(self, request: str) -> InputAnswer:
        """The answer to a question."""
        return await self.output.answered(request)

    # -- what goes beyond the turn --------------------------------------------------

    def worker(self, call: str, prompt: str, title: str = "Worker") -> "ScriptedWorker":
        """The worker that call spawned, and its turn."""
        message = {"text": prompt, "origin": {"kind": "agent"}}
        output = self.output.worker(call, message, title)
        worker = ScriptedWorker(
            TurnRequest(turn_id=output.turn_id, message=message), output, host=self._host
        )
        self._workers[call] = worker
        return worker

    def background(self, *tasks: BackgroundTask) -> None:
        """What runs in the background from now on."""
        self.host.background(tasks)

    def point(self, name: str) -> None:
        """Where this turn ends, in the backend's own name."""
        self.output.ended_at(name)

    async def steering(self, *, read: bool = True) -> Steered:
        """The next message steered into this turn, waited for; said to be read unless `read`."""
        steered = await self._steering.next()
        if read:
            self.host.steering_taken(steered.id)
        return steered

    async def forever(self) -> None:
        """Wait until the turn is stopped."""
        await Deferred()


class ScriptedWorker(ScriptedTurn):
    """A worker's turn; the script that spawned it says what it does and when it ends."""

    output: IWorkerOutput

    def __init__(
        self, request: TurnRequest, output: IWorkerOutput, *, host: IChatHost | None = None
    ) -> None:
        super().__init__(request, output, host=host)
        self.stopped = False
        self._stops: list[Deferred[None]] = []

    @property
    def chat(self) -> str:
        """The worker chat's URI."""
        chat: str = self.output.chat
        return chat

    def done(self) -> None:
        """The worker is done."""
        self.output.complete()

    def failed(self, message: str, error_type: str = "agentError") -> None:
        """The worker failed."""
        self.output.fail(message, error_type)

    def stop(self) -> None:
        """Somebody stopped it."""
        self.stopped = True
        stops, self._stops = self._stops, []
        for deferred in stops:
            deferred.callback(None)

    async def until_stopped(self) -> None:
        """Wait until somebody stops it."""
        if not self.stopped:
            deferred: Deferred[None] = Deferred(self._stops.remove)
            self._stops.append(deferred)
            await deferred
