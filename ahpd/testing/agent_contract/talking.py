"""A host's part in talking to a backend: chats are opened, turns run, stopped and listened to."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from twisted.internet.defer import Deferred, DeferredList, ensureDeferred

from ahpd.interfaces import (
    AgentFailure,
    ChatStart,
    IAgent,
    IAgentChat,
    Permission,
    TurnOver,
    TurnRequest,
)
from ahpd.protocol import Action
from ahpd.testing.agent_contract.contract import AgentContract
from ahpd.testing.agent_contract.said import check_said, expect, provides
from ahpd.testing.agents import Gate, RecordedHost, RecordedOutput


def chat_start(
    contract: AgentContract, name: str, host: RecordedHost | None = None, **start: Any
) -> ChatStart:
    """What a chat called `name` is opened with, and the further fields in `start`."""
    fields: dict[str, Any] = {
        "session": f"ahp-session:/{name}",
        "chat": f"ahp-chat:/{name}",
        "working_directories": (),
        "config": dict(contract.config),
        "host": RecordedHost() if host is None else host,
        "client_tools": contract.client_tools,
    }
    return ChatStart(**{**fields, **start})


async def open_chat(
    agent: IAgent,
    contract: AgentContract,
    name: str,
    host: RecordedHost | None = None,
    **start: Any,
) -> IAgentChat:
    """A chat on the agent, opened with the further fields of ChatStart in `start`."""
    told = chat_start(contract, name, host, **start)
    chat: IAgentChat = await contract.within(
        f"open_chat() of the chat {name}", agent.open_chat(told)
    )
    provides(IAgentChat, chat, f"the chat {name}")
    return chat


def request(
    turn_id: str, text: str, contract: AgentContract | None = None, **fields: Any
) -> TurnRequest:
    """A turn with a person's message; `fields` are more of TurnRequest."""
    fields.setdefault("client_tools", () if contract is None else contract.client_tools)
    return TurnRequest(turn_id=turn_id, message=message(text), **fields)


def message(text: str) -> dict[str, Any]:
    """A person's message (schema: Message)."""
    return {"text": text, "origin": {"kind": "user"}}


async def all_of(works: "Sequence[Deferred[None]]") -> None:
    """Wait for each of them, and raise what the first of those that failed did."""
    done: list[tuple[bool, Any]] = await DeferredList(works, consumeErrors=True)
    for succeeded, result in done:
        if not succeeded:
            result.raiseException()


async def ended(run: "Deferred[None]") -> None:
    """An interrupted turn may return, fail, or learn that it is over; another exception is a bug."""
    try:
        await run
    except AgentFailure as failure:
        expect(bool(failure.message), "a failure has no words")
    except TurnOver:
        pass


def name_of(host: RecordedHost) -> str | None:
    """What the conversation is kept as, last said; None where nothing was."""
    for named in host.kept:
        expect(bool(named) and isinstance(named, str), f"{named!r} names no conversation or point")
    return host.kept[-1] if host.kept else None


def judge(contract: AgentContract, *outputs: RecordedOutput) -> None:
    """What turns of one chat said, in their order (`check_said`), with no secret in it."""
    said: list[Any] = [each for output in outputs for each in (output.history, output.turn_id)]
    check_said(*said)
    for output in outputs:
        contract.discreet(f"what {output.turn_id} said", output.actions)


async def check_goes_on(
    chat: IAgentChat, contract: AgentContract, turn_id: str, text: str | None = None
) -> RecordedOutput:
    """The chat runs one more turn: `answered`, or the message `text`. Its output."""
    output = RecordedOutput(turn_id)
    text = contract.answered if text is None else text
    await contract.within(f"the turn {turn_id}", chat.run(request(turn_id, text), output))
    expect(bool(output.actions), f"the turn {turn_id} said nothing")
    judge(contract, output)
    return output


class Running:
    """A turn that was begun, with what it says."""

    def __init__(
        self,
        chat: IAgentChat,
        contract: AgentContract,
        turn_id: str,
        text: str,
        output: "Watched | None" = None,
    ) -> None:
        self.chat = chat
        self.output = Watched(turn_id) if output is None else output
        self.run: Deferred[None] = ensureDeferred(
            chat.run(request(turn_id, text, contract), self.output)
        )
        self._contract = contract

    async def begun(self) -> "Running":
        """It has said its first word."""
        first = self.output.begun
        self.run.addErrback(self.output.failed_to_begin)
        await self._contract.within(f"the first word of {self.output.turn_id}", first)
        return self

    async def stopped(self, what: str = "a stopped turn") -> None:
        """Stop it: it ends, in whatever way."""
        await self._contract.within(f"stop() of {what}", self.chat.stop(self.output.turn_id))
        await self._contract.within(f"the end of {what}", ended(self.run))


class Watched(RecordedOutput):
    """Says when the turn has begun to speak, and when it has a worker.

    `heard` are called at each action, once it was kept. `ahead` is how many characters were
    said while `room` was closed; more than `most` is an `AssertionError` in whoever says it,
    and `overran`.
    """

    def __init__(self, turn_id: str, room: Gate | None = None, most: int | None = None) -> None:
        super().__init__(turn_id, room)
        self.begun: Deferred[None] = Deferred()
        self.delegated: Deferred[str] = Deferred()
        self.heard: list[Callable[[Action], None]] = []
        self.said = 0
        self.ahead = 0
        self.overran = False
        self._most = most

    def emit(self, action: Action, permission: Permission | None = None) -> None:
        """Keep it, and say that the turn has begun."""
        super().emit(action, permission)
        length = len(repr(action))
        self.said += length
        if self.room is not None and not self.room.is_open:
            self._hold(length)
        if not self.begun.called:
            self.begun.callback(None)
        for hear in list(self.heard):
            hear(action)

    def _hold(self, length: int) -> None:
        self.ahead += length
        if self._most is not None and self.ahead > self._most:
            self.overran = True
            raise AssertionError(f"{self.ahead} characters were said while clients had no room")

    def failed_to_begin(self, failure: Any) -> Any:
        """The turn failed: whoever waits for its first word learns why, or else of its end."""
        if self.begun.called:
            return failure
        self.begun.errback(failure)
        return None

    def worker(self, tool_call_id: str, message: Mapping[str, Any], title: str) -> Any:
        """A worker, kept, and say which call has one."""
        worker = super().worker(tool_call_id, message, title)
        if not self.delegated.called:
            self.delegated.callback(tool_call_id)
        return worker
