"""How one backend is checked: the messages that make it do things, and the time it has."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

import attrs
from twisted.internet.defer import Deferred, TimeoutError, ensureDeferred  # noqa: A004
from zope.interface.verify import verifyObject

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
from ahpd.testing.agent_contract.said import check_said, expect
from ahpd.testing.agents import Gate, RecordedHost, RecordedOutput


@attrs.frozen(kw_only=True)
class AgentContract:
    """How to check one backend.

    `answered` is a message whose turn completes, `endless` one whose turn says
    something and runs on until it is stopped. `bound` is how many seconds of `reactor`
    anything may take. What it declares (`AgentAbilities`) is checked with the messages
    below; a declared ability whose message is missing is an `AssertionError` itself.
    """

    reactor: Any
    answered: str = "hello"
    endless: str
    bound: float = 10.0
    failing: str | None = None
    """For `resume`: its turn fails in a way that can be resumed, and the resume completes."""
    delegating: str | None = None
    """For `workers`: its turn spawns a worker, which completes."""
    delegating_endlessly: str | None = None
    """For `workers`: its turn spawns a worker that runs until it is stopped, and ends then."""
    asking: Sequence[str] = ()
    """Each one's turn awaits one answer of a person or client, and completes whatever it is."""
    client_tools: Sequence[Mapping[str, Any]] = ()
    """The tools of clients that `asking` needs (as `TurnRequest.client_tools`)."""
    config: Mapping[str, Any] = attrs.field(factory=dict)
    """For `live_config`: values it takes."""

    def needed(self, name: str) -> str:
        """The message `name` for an ability that was declared."""
        message: str | None = getattr(self, name)
        if message is None:
            raise AssertionError(f"what it declares is checked with AgentContract.{name}: name one")
        return message

    async def within(self, what: str, work: Awaitable[Any]) -> Any:
        """`work`'s result; an `AssertionError` naming `what` when it takes too long."""
        deferred: Deferred[Any] = ensureDeferred(_await(work))
        deferred.addTimeout(self.bound, self.reactor)
        try:
            return await deferred
        except TimeoutError:
            raise AssertionError(f"{what} took more than {self.bound} seconds") from None


async def _await(work: Awaitable[Any]) -> Any:
    return await work


async def open_chat(
    agent: IAgent,
    contract: AgentContract,
    name: str,
    host: RecordedHost | None = None,
    **start: Any,
) -> IAgentChat:
    """A chat on the agent, opened with the further fields of ChatStart in `start`."""
    told = ChatStart(
        session=f"ahp-session:/{name}",
        chat=f"ahp-chat:/{name}",
        working_directories=(),
        config=dict(contract.config),
        host=RecordedHost() if host is None else host,
        client_tools=contract.client_tools,
        **start,
    )
    try:
        chat: IAgentChat = await contract.within("open_chat()", agent.open_chat(told))
    except AgentFailure as failure:
        raise AssertionError(f"open_chat() of the chat {name} failed: {failure.message}") from None
    verifyObject(IAgentChat, chat)
    return chat


def request(turn_id: str, text: str, contract: AgentContract | None = None) -> TurnRequest:
    """A turn with a person's message."""
    return TurnRequest(
        turn_id=turn_id,
        message=message(text),
        client_tools=() if contract is None else contract.client_tools,
    )


def message(text: str) -> dict[str, Any]:
    """A person's message (schema: Message)."""
    return {"text": text, "origin": {"kind": "user"}}


async def ended(run: "Deferred[None]") -> None:
    """An interrupted turn may return, fail, or learn that it is over; another exception is a bug."""
    try:
        await run
    except AgentFailure as failure:
        expect(bool(failure.message), "a failure has no words")
    except TurnOver:
        pass


async def check_goes_on(chat: IAgentChat, contract: AgentContract, turn_id: str) -> None:
    """The chat runs one more turn."""
    output = RecordedOutput(turn_id)
    await contract.within(
        f"the turn {turn_id}", chat.run(request(turn_id, contract.answered), output)
    )
    expect(bool(output.actions), f"the turn {turn_id} said nothing")
    check_said(output.history, turn_id)


class Watched(RecordedOutput):
    """Says when the turn has begun to speak, and when it waits for an answer or has a worker."""

    def __init__(self, turn_id: str, room: Gate | None = None) -> None:
        super().__init__(turn_id, room)
        self.begun: Deferred[None] = Deferred()
        self.delegated: Deferred[str] = Deferred()

    def emit(self, action: Action, permission: Permission | None = None) -> None:
        """Keep it, and say that the turn has begun."""
        super().emit(action, permission)
        if not self.begun.called:
            self.begun.callback(None)

    def worker(self, tool_call_id: str, message: Mapping[str, Any], title: str) -> Any:
        """A worker, kept, and say which call has one."""
        worker = super().worker(tool_call_id, message, title)
        if not self.delegated.called:
            self.delegated.callback(tool_call_id)
        return worker
