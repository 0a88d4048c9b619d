"""What a turn says, in the words of its parts rather than of its actions.

Every action written here fits its shape (AHP.txt, "Turns" and "Tool calls"): a part
is opened before anything is appended to it, and a tool call goes through its states
in order.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ahpd.interfaces import InputAnswer, ITurnOutput, IWorkerOutput, Permission, ToolAnswer
from ahpd.protocol import Action, State

_DELTA: Final = {"markdown": "chat/delta", "reasoning": "chat/reasoning"}


def text_content(text: str) -> State:
    """A text block of a tool's result (schema: ToolResultTextContent)."""
    return {"type": "text", "text": text}


class TextPart:
    """Markdown or reasoning that grows. Made by `TurnWriter`."""

    def __init__(self, emit: Callable[[Action], None], turn_id: str, kind: str, id: str) -> None:  # noqa: A002
        self.id = id
        self._emit = emit
        self._turn_id = turn_id
        self._delta = _DELTA[kind]

    def append(self, text: str) -> None:
        """Add `text` at the end; an empty one says nothing."""
        if text:
            self._emit(
                {
                    "type": self._delta,
                    "turnId": self._turn_id,
                    "partId": self.id,
                    "content": text,
                }
            )


class ToolCall:
    """A tool call from its first word to its result. Made by `TurnWriter.tool_call`.

    `input` any number of times, then `ready`, then one of `complete` and `fail`; a call
    that asks first is awaited with `confirmed` between them, and one that a client runs
    with `client_result` in place of its end. Another order is a `RuntimeError`, because
    clients could not follow it.
    """

    def __init__(self, output: ITurnOutput, id: str) -> None:  # noqa: A002
        self.id = id
        self._output = output
        self._stage = "streaming"

    def _say(self, kind: str, **fields: Any) -> None:
        self._output.emit(
            {"type": kind, "turnId": self._output.turn_id, "toolCallId": self.id, **fields}
        )

    def _move(self, *allowed: str, to: str) -> None:
        if self._stage not in allowed:
            raise RuntimeError(f"tool call {self.id} is {self._stage} and cannot become {to}")
        self._stage = to

    def input(self, piece: str) -> None:
        """The next piece of the call's input, usually of its JSON."""
        self._move("streaming", to="streaming")
        self._say("chat/toolCallDelta", content=piece)

    def ready(
        self,
        message: str,
        tool_input: str | None = None,
        *,
        ask: bool = False,
        confirmed: str = "not-needed",
        options: Sequence[State] = (),
        permission: Permission | None = None,
        **fields: Any,
    ) -> None:
        """The input is whole, and the tool runs; `message` says what it does.

        With `ask` it waits to be allowed (await `confirmed`); `options` are what a person
        may pick (schema: ConfirmationOption), and `permission` is what the host judges it by
        first. `fields` are more of `chat/toolCallReady`.
        """
        self._move("streaming", to="waiting to be allowed" if ask else "running")
        if not ask:
            fields["confirmed"] = confirmed
        if tool_input is not None:
            fields["toolInput"] = tool_input
        if options:
            fields["options"] = list(options)
        action = {
            "type": "chat/toolCallReady",
            "turnId": self._output.turn_id,
            "toolCallId": self.id,
            "invocationMessage": message,
            **fields,
        }
        self._output.emit(action, permission if ask else None)

    async def confirmed(self) -> ToolAnswer:
        """What was decided about a call that asked: it runs now, or it is over.

        One that the host's own rules refused was shown to nobody: it may still `fail`, in
        words of its backend's.
        """
        if self._stage != "waiting to be allowed":
            raise RuntimeError(f"tool call {self.id} is {self._stage} and waits for nobody")
        answer = await self._output.confirmed(self.id)
        if answer.approved:
            self._stage = "running"
        else:  # what a person refuses has a reason
            self._stage = "cancelled" if answer.reason is not None else "refused"
        return answer

    async def client_result(self) -> Mapping[str, Any]:
        """What its client made of it (schema: ToolCallResult); the call is over."""
        if self._stage != "running":
            raise RuntimeError(f"tool call {self.id} is {self._stage} and runs nowhere")
        result = await self._output.client_result(self.id)
        self._stage = "completed"
        return result

    def worker(self, message: Mapping[str, Any], title: str) -> IWorkerOutput:
        """The worker this call spawned, prompted with `message` (schema: Message)."""
        if self._stage != "running":
            raise RuntimeError(f"tool call {self.id} is {self._stage} and spawns no worker")
        return self._output.worker(self.id, message, title)

    def content(self, content: Sequence[State]) -> None:
        """All that the running tool has produced so far (schema: ToolResultContent)."""
        self._move("running", to="running")
        self._say("chat/toolCallContentChanged", content=list(content))

    def complete(
        self, message: str, content: Sequence[State] = (), *, review: bool = False
    ) -> None:
        """It did what it should; `message` says what, in the past tense.

        With `review` the result waits to be let through (await `result_confirmed`).
        """
        result = {"success": True, "pastTenseMessage": message, "content": list(content)}
        self._finish(result, review)

    async def result_confirmed(self) -> ToolAnswer:
        """What was decided about a result that waited."""
        if self._stage != "waiting for review":
            raise RuntimeError(f"tool call {self.id} is {self._stage} and waits for nobody")
        answer = await self._output.result_confirmed(self.id)
        self._stage = "completed" if answer.approved else "cancelled"
        return answer

    def fail(self, message: str, error: str, content: Sequence[State] = ()) -> None:
        """It did not; `error` says why."""
        if self._stage == "refused":
            self._stage = "running"
        self._finish(
            {
                "success": False,
                "pastTenseMessage": message,
                "content": list(content),
                "error": {"message": error},
            }
        )

    def _finish(self, result: State, review: bool = False) -> None:
        self._move("running", to="waiting for review" if review else "completed")
        fields = {"requiresResultConfirmation": True} if review else {}
        self._say("chat/toolCallComplete", result=result, **fields)


class Question:
    """What a person was asked. Made by `TurnWriter.question`."""

    def __init__(self, output: ITurnOutput, id: str) -> None:  # noqa: A002
        self.id = id
        self._output = output

    async def answered(self) -> InputAnswer:
        """What was answered."""
        return await self._output.answered(self.id)


class TurnWriter:
    """Says the parts of one turn. Ids are `<turn>:<n>`, so they are unique within the chat.

    `first` is the number of the first part: a turn that is run again (`chat/turnResume`)
    keeps its old parts and must count on.
    """

    def __init__(self, output: ITurnOutput, first: int = 1) -> None:
        self._output = output
        self._next = first

    def _id(self) -> str:
        number, self._next = self._next, self._next + 1
        return f"{self._output.turn_id}:{number}"

    def _part(self, kind: str, text: str) -> TextPart:
        part = TextPart(self._output.emit, self._output.turn_id, kind, self._id())
        self._output.emit(
            {
                "type": "chat/responsePart",
                "turnId": self._output.turn_id,
                "part": {"kind": kind, "id": part.id, "content": text},
            }
        )
        return part

    def markdown(self, text: str = "") -> TextPart:
        """Open a part of the answer."""
        return self._part("markdown", text)

    def reasoning(self, text: str = "") -> TextPart:
        """Open a part of thinking."""
        return self._part("reasoning", text)

    def tool_call(
        self,
        name: str,
        display_name: str,
        intention: str | None = None,
        *,
        client: str | None = None,
        id: str | None = None,  # noqa: A002
    ) -> ToolCall:
        """Begin a tool call whose input is still to come; `client` runs it where one is named.

        `id` is the backend's own for it, unique within its turn.
        """
        call = ToolCall(self._output, self._id() if id is None else id)
        action: State = {
            "type": "chat/toolCallStart",
            "turnId": self._output.turn_id,
            "toolCallId": call.id,
            "toolName": name,
            "displayName": display_name,
        }
        if intention is not None:
            action["intention"] = intention
        if client is not None:
            action["contributor"] = {"kind": "client", "clientId": client}
        self._output.emit(action)
        return call

    def question(self, message: str, *questions: State, url: str | None = None) -> Question:
        """Ask the person (schema: ChatInputQuestion); `message` stands above the questions."""
        question = Question(self._output, self._id())
        request: State = {"id": question.id, "message": message}
        if questions:
            request["questions"] = list(questions)
        if url is not None:
            request["url"] = url
        self._output.emit({"type": "chat/inputRequested", "request": request})
        return question

    def ends_at(self, point: str) -> None:
        """Where the turn ends, in the backend's own name (`ITurnOutput.ended_at`)."""
        self._output.ended_at(point)

    def usage(self, input_tokens: int, output_tokens: int, model: str | None = None) -> None:
        """Report what the turn has used so far."""
        usage: dict[str, Any] = {"inputTokens": input_tokens, "outputTokens": output_tokens}
        if model is not None:
            usage["model"] = model
        self._output.emit({"type": "chat/usage", "turnId": self._output.turn_id, "usage": usage})

    def activity(self, words: str | None) -> None:
        """Say what the chat is doing right now; None clears it."""
        action = {"type": "chat/activityChanged"}
        if words is not None:
            action["activity"] = words
        self._output.emit(action)

    async def drained(self) -> None:
        """Wait until the clients watching have room for more."""
        await self._output.drained()
