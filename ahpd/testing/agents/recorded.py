"""The host's side for a backend tested by itself: it keeps what is said, and answers.

What a turn awaits is answered by what the test gave (`confirm`, `confirm_result`,
`return_result`, `answer`), before or after the turn asks.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from twisted.internet.defer import Deferred
from zope.interface import implementer

from ahpd.interfaces import (
    BackgroundTask,
    HostTool,
    IChatHost,
    InputAnswer,
    IToolsServer,
    ITurnOutput,
    IWorkerOutput,
    Permission,
    RunClientTool,
    ToolAnswer,
    ToolCallContext,
    ToolFailure,
    TurnOver,
)
from ahpd.protocol import Action, State
from ahpd.testing.agents.gates import Gate

#: What a turn may wait for, by the method it waits with.
CONFIRMED: Final = "confirmed"
RESULT_CONFIRMED: Final = "result_confirmed"
CLIENT_RESULT: Final = "client_result"
ANSWERED: Final = "answered"


class Awaited:
    """The answers of one turn: those given and not asked for, and those asked for."""

    def __init__(self) -> None:
        self._given: list[tuple[str, str | None, Any]] = []
        self._waiting: list[tuple[str, str, Deferred[Any]]] = []
        self._watching: list[tuple[str, Deferred[str]]] = []
        self._notes: list[Callable[[], None]] = []
        self.is_over = False

    @property
    def waiting(self) -> list[tuple[str, str]]:
        """What is waited for now: the method, and the id it was given."""
        return [(what, name) for what, name, _ in self._waiting]

    def give(self, what: str, name: str | None, answer: Any) -> None:
        """Answer who waits, or who will; without `name`, the first that does."""
        for at, (waits_for, waits_as, deferred) in enumerate(self._waiting):
            if waits_for == what and name in (None, waits_as):
                del self._waiting[at]
                deferred.callback(answer)
                return
        self._given.append((what, name, answer))

    async def wait(self, what: str, name: str) -> Any:
        """The answer. Raises `TurnOver` once the turn is over."""
        if self.is_over:
            raise TurnOver
        for at, (given_for, given_to, answer) in enumerate(self._given):
            if given_for == what and given_to in (None, name):
                del self._given[at]
                return answer
        waiting: Deferred[Any] = Deferred(self._forget)
        self._waiting.append((what, name, waiting))
        for watched, deferred in [one for one in self._watching if one[0] == what]:
            self._watching.remove((watched, deferred))
            deferred.callback(name)
        notes, self._notes = self._notes, []
        for note in notes:
            note()
        return await waiting

    def on_wait(self, note: Callable[[], None]) -> None:
        """Call `note` once when anything is waited for; at once where something is."""
        if self._waiting:
            note()
        else:
            self._notes.append(note)

    async def asked(self, what: str) -> str:
        """The id of the first that waits with `what`, waited for."""
        for waits_for, name, _ in self._waiting:
            if waits_for == what:
                return name
        deferred: Deferred[str] = Deferred()
        self._watching.append((what, deferred))
        return await deferred

    def over(self) -> None:
        """The turn is over: whoever waits learns it."""
        self.is_over = True
        waiting, self._waiting = self._waiting, []
        for _, _, deferred in waiting:
            deferred.errback(TurnOver())

    def _forget(self, deferred: "Deferred[Any]") -> None:
        self._waiting = [one for one in self._waiting if one[2] is not deferred]


@implementer(ITurnOutput)
class RecordedOutput:
    """Keeps what a turn says. A `room` gate makes `drained` wait, as a slow client would.

    `actions` is what the turn said, `history` that and what its answers said, in order:
    what a client of the chat would have read. `points` are the names of `ended_at`,
    `workers` the workers by their call.
    """

    def __init__(self, turn_id: str, room: Gate | None = None) -> None:
        self.turn_id = turn_id
        self.actions: list[Action] = []
        self.history: list[Action] = []
        self.room = room
        self.points: list[str] = []
        self.workers: dict[str, RecordedWorker] = {}
        self.permissions: dict[str, Permission] = {}
        self.awaited = Awaited()

    def emit(self, action: Action, permission: Permission | None = None) -> None:
        """Keep it, and in `permissions` what the call asks, by its id."""
        if permission is not None:
            self.permissions[action["toolCallId"]] = permission
        self.actions.append(action)
        self.history.append(action)

    async def drained(self) -> None:
        """Wait for room where a gate says there is none."""
        if self.room is not None:
            await self.room.passed()

    # -- what it waits for ------------------------------------------------------------

    async def confirmed(self, tool_call_id: str) -> ToolAnswer:
        """Wait for `confirm`."""
        answer = cast("ToolAnswer", await self.awaited.wait(CONFIRMED, tool_call_id))
        if answer.decision_source == "host_policy" and answer.reason is None:
            self._ruled(tool_call_id)
            return answer
        fields: State
        if answer.approved:
            fields = {"approved": True, "confirmed": answer.decided_by}
            if answer.edited_input is not None:
                fields["editedToolInput"] = answer.edited_input
        else:
            fields = {"approved": False, "reason": answer.reason or "denied"}
            if answer.message is not None:
                fields["reasonMessage"] = answer.message
            if answer.suggestion is not None:
                fields["userSuggestion"] = answer.suggestion
        if answer.option is not None:
            fields["selectedOptionId"] = answer.option
        self._tell("chat/toolCallConfirmed", toolCallId=tool_call_id, **fields)
        return answer

    def _ruled(self, call: str) -> None:
        """The host's rules answered: no client reads that the call asked."""
        for place in reversed(range(len(self.history))):
            said = self.history[place]
            if said["type"] == "chat/toolCallReady" and said["toolCallId"] == call:
                self.history[place] = {**said, "confirmed": "not-needed"}
                return

    async def result_confirmed(self, tool_call_id: str) -> ToolAnswer:
        """Wait for `confirm_result`."""
        answer = cast("ToolAnswer", await self.awaited.wait(RESULT_CONFIRMED, tool_call_id))
        self._tell(
            "chat/toolCallResultConfirmed", toolCallId=tool_call_id, approved=answer.approved
        )
        return answer

    async def client_result(self, tool_call_id: str) -> Mapping[str, Any]:
        """Wait for `return_result`."""
        result = cast("Mapping[str, Any]", await self.awaited.wait(CLIENT_RESULT, tool_call_id))
        self._tell("chat/toolCallComplete", toolCallId=tool_call_id, result=result)
        return result

    async def answered(self, request_id: str) -> InputAnswer:
        """Wait for `answer`."""
        answer = cast("InputAnswer", await self.awaited.wait(ANSWERED, request_id))
        fields = {"answers": dict(answer.answers)} if answer.answers else {}
        self.history.append(
            {
                "type": "chat/inputCompleted",
                "requestId": request_id,
                "response": answer.response,
                **fields,
            }
        )
        return answer

    def _tell(self, kind: str, **fields: Any) -> None:
        self.history.append({"type": kind, "turnId": self.turn_id, **fields})

    # -- what a test gives --------------------------------------------------------------

    def confirm(self, answer: ToolAnswer, call: str | None = None) -> None:
        """Answer `confirmed`, of `call` or of whichever asks first."""
        self.awaited.give(CONFIRMED, call, answer)

    def confirm_result(self, answer: ToolAnswer, call: str | None = None) -> None:
        """Answer `result_confirmed`."""
        self.awaited.give(RESULT_CONFIRMED, call, answer)

    def return_result(self, result: Mapping[str, Any], call: str | None = None) -> None:
        """Answer `client_result` (schema: ToolCallResult)."""
        self.awaited.give(CLIENT_RESULT, call, result)

    def answer(self, answer: InputAnswer, request: str | None = None) -> None:
        """Answer `answered`."""
        self.awaited.give(ANSWERED, request, answer)

    async def asked(self, what: str) -> str:
        """Wait until the turn waits with the method `what`; the id it gave."""
        return await self.awaited.asked(what)

    def over(self) -> None:
        """Say that the turn is over: whatever it awaits raises `TurnOver` now and later."""
        self.awaited.over()
        for worker in self.workers.values():
            worker.over()

    # -- the rest -----------------------------------------------------------------------

    def ended_at(self, point: str) -> None:
        """Keep it."""
        self.points.append(point)

    def worker(self, tool_call_id: str, message: Mapping[str, Any], title: str) -> "RecordedWorker":
        """A worker, kept in `workers`; a new turn of the one there is where it is asked again."""
        before = self.workers.get(tool_call_id)
        number = 1 if before is None else before.number + 1
        worker = RecordedWorker(f"{tool_call_id}/worker-{number}", number, message, title)
        self.workers[tool_call_id] = worker
        return worker

    def text(self) -> str:
        """All the markdown said, parts one after the other."""
        pieces = []
        for action in self.actions:
            if action["type"] == "chat/delta":
                pieces.append(action["content"])
            elif action["type"] == "chat/responsePart" and action["part"]["kind"] == "markdown":
                pieces.append(action["part"]["content"])
        return "".join(pieces)


@implementer(IWorkerOutput)
class RecordedWorker(RecordedOutput):
    """A worker's turn. `ended` is None while it runs, then `"complete"` or how it failed."""

    def __init__(self, turn_id: str, number: int, message: Mapping[str, Any], title: str) -> None:
        super().__init__(turn_id)
        self.chat = f"ahp-chat:/{turn_id.rpartition('-')[0]}"
        self.number = number
        self.message = message
        self.title = title
        self.ended: str | None = None

    def complete(self) -> None:
        """Keep that it is done."""
        self._end("complete")

    def fail(self, message: str, error_type: str = "agentError") -> None:
        """Keep how it failed."""
        self._end(f"{error_type}: {message}")

    def _end(self, how: str) -> None:
        if self.ended is not None:
            raise RuntimeError(f"the worker {self.turn_id} had ended already ({self.ended})")
        self.ended = how
        self.over()


@implementer(IChatHost)
class RecordedHost:
    """Keeps what a backend says outside its turns."""

    def __init__(self) -> None:
        self.tools: dict[str, HostTool] = {}
        self.credentials: dict[str, str] = {}
        self.server: IToolsServer | None = None
        self.kept: list[str] = []
        self.taken: list[str] = []
        self.returned: list[str] = []
        self.tasks: list[tuple[BackgroundTask, ...]] = []
        self.words: list[str | None] = []
        self.loaded: list[list[Mapping[str, Any]]] = []
        self.servers: list[tuple[str, Mapping[str, Any]]] = []

    def kept_as(self, conversation: str) -> None:
        """Keep it in `kept`."""
        self.kept.append(conversation)

    def steering_taken(self, message_id: str) -> None:
        """Keep it in `taken`."""
        self.taken.append(message_id)

    def steering_returned(self, message_id: str) -> None:
        """Keep it in `returned`."""
        self.returned.append(message_id)

    def background(self, tasks: Sequence[BackgroundTask]) -> None:
        """Keep it in `tasks`, the newest last."""
        self.tasks.append(tuple(tasks))

    def activity(self, words: str | None) -> None:
        """Keep it in `words`."""
        self.words.append(words)

    def customizations(self, found: Sequence[Mapping[str, Any]]) -> None:
        """Keep it in `loaded`, the newest last."""
        self.loaded.append(list(found))

    def mcp_server_state(self, server_id: str, state: Mapping[str, Any]) -> None:
        """Keep it in `servers`."""
        self.servers.append((server_id, state))

    async def run_tool(
        self, name: str, arguments: Mapping[str, Any], tool_call_id: str
    ) -> Mapping[str, Any]:
        """Run one of `tools`."""
        tool = self.tools.get(name)
        if tool is None:
            return _failed(f"This host has no tool named {name}.")
        context = ToolCallContext(
            session="ahp-session:/test", chat="ahp-chat:/test", tool_call_id=tool_call_id
        )
        try:
            answer = await tool.run(arguments, context)
        except ToolFailure as failed:
            return _failed(str(failed))
        if not isinstance(answer, str):
            return answer
        content = [{"type": "text", "text": answer}]
        return {"success": True, "pastTenseMessage": f"Ran {name}", "content": content}

    def tools_server(
        self, run_client_tool: RunClientTool | None = None, notify: bool = True
    ) -> IToolsServer | None:
        """The `server` a test set."""
        return self.server

    def credential(self, resource: str, server: str | None = None) -> str | None:
        """The one of `credentials`."""
        return self.credentials.get(resource)


def _failed(words: str) -> Mapping[str, Any]:
    return {"success": False, "pastTenseMessage": words, "error": {"message": words}}
