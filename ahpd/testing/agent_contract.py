"""The contract of a backend, checked: what `IAgent` and `IAgentChat` ask of any of them.

`check_agent` runs real turns on a backend and raises `AssertionError` in words for the
first thing that a host could not live with. It knows nothing of the backend but two
messages it is given: one that is answered, and one whose turn runs until it is stopped.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import attrs
from twisted.internet.defer import Deferred, TimeoutError, ensureDeferred  # noqa: A004
from zope.interface.verify import verifyObject

from ahpd.interfaces import AgentFailure, ChatStart, IAgent, IAgentChat, TurnRequest
from ahpd.protocol import Action
from ahpd.protocol.actions import ACTIONS, TURN_ACTIONS
from ahpd.protocol.check import ShapeError, check_strict
from ahpd.protocol.shapes import shape
from ahpd.testing.agents import Gate, RecordedOutput


@attrs.frozen(kw_only=True)
class AgentContract:
    """How to check one backend.

    `answered` is a message whose turn completes, `endless` one whose turn says
    something and runs on until it is stopped. `bound` is how many seconds of `reactor`
    anything may take.
    """

    reactor: Any
    answered: str = "hello"
    endless: str
    bound: float = 10.0

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


async def check_agent(make_agent: Callable[[], IAgent], contract: AgentContract) -> None:
    """Raise `AssertionError` where the agents `make_agent` makes break the contract."""
    agent = make_agent()
    check_description(agent)
    await _check_answers(agent, contract)
    await _check_stop(agent, contract)
    await _check_slow_clients(agent, contract)
    await _check_close(agent, contract)


def check_description(agent: IAgent) -> None:
    """What an agent says of itself fits the shapes clients are shown it in."""
    verifyObject(IAgent, agent)
    info = agent.info()
    _fits(info, "root.AgentInfo", "info()")
    _expect(info["provider"] == agent.provider, "info() names another provider than the agent")
    names = [model["id"] for model in info["models"]]
    _expect(len(set(names)) == len(names), f"two models have the same id: {names}")
    for model in info["models"]:
        _expect(model["provider"] == agent.provider, f"model {model['id']} is of another provider")
    _expect(agent.info() == info, "info() changes from one call to the next")
    _fits(agent.config_schema(None, {}), "config.SessionConfigSchema", "config_schema()")


async def _open(agent: IAgent, contract: AgentContract, name: str) -> IAgentChat:
    start = ChatStart(
        session=f"ahp-session:/{name}",
        chat=f"ahp-chat:/{name}",
        working_directories=(),
        config={},
    )
    chat: IAgentChat = await contract.within("open_chat()", agent.open_chat(start))
    verifyObject(IAgentChat, chat)
    return chat


def _request(turn_id: str, text: str) -> TurnRequest:
    return TurnRequest(turn_id=turn_id, message={"text": text, "origin": {"kind": "user"}})


async def _check_answers(agent: IAgent, contract: AgentContract) -> None:
    """Two turns of one chat and one of another, at once: each complete, each in its own words."""
    first, second = await _open(agent, contract, "one"), await _open(agent, contract, "two")
    outputs = [RecordedOutput(f"answer-{number}") for number in range(3)]
    runs = [
        ensureDeferred(chat.run(_request(output.turn_id, contract.answered), output))
        for chat, output in ((first, outputs[0]), (second, outputs[1]))
    ]
    for run in runs:
        await contract.within("a turn", run)
    counts = [len(output.actions) for output in outputs]
    await contract.within(
        "a second turn", first.run(_request(outputs[2].turn_id, contract.answered), outputs[2])
    )
    for output, count in zip(outputs[:2], counts, strict=False):
        _expect(len(output.actions) == count, "a turn said something after it had ended")
    for output in outputs:
        _expect(bool(output.actions), f"{output.turn_id} completed and said nothing")
    check_said(outputs[0].actions, outputs[0].turn_id, outputs[2].actions, outputs[2].turn_id)
    check_said(outputs[1].actions, outputs[1].turn_id)
    for chat in (first, second):
        await contract.within("close()", chat.close())


async def _check_stop(agent: IAgent, contract: AgentContract) -> None:
    """A stop ends its turn and no other, and the chat goes on."""
    chat = await _open(agent, contract, "stop")
    await contract.within("stop() with no turn running", chat.stop("no-such-turn"))
    output = _Watched("endless-1")
    run = ensureDeferred(chat.run(_request(output.turn_id, contract.endless), output))
    await contract.within("the first word of an endless turn", output.begun)
    await contract.within("stop() of another turn", chat.stop("no-such-turn"))
    _expect(not run.called, "the stop of another turn ended this one")
    await contract.within("stop()", chat.stop(output.turn_id))
    await contract.within("the end of a stopped turn", _ended(run))
    await contract.within("stop() of an ended turn", chat.stop(output.turn_id))
    check_said(output.actions, output.turn_id)
    await _check_goes_on(chat, contract, "after-stop")
    await contract.within("close()", chat.close())


async def _check_slow_clients(agent: IAgent, contract: AgentContract) -> None:
    """A stop ends a turn whose clients have no room."""
    chat = await _open(agent, contract, "slow")
    output = _Watched("endless-2", Gate())
    run = ensureDeferred(chat.run(_request(output.turn_id, contract.endless), output))
    await contract.within("the first word of an endless turn", output.begun)
    await contract.within("stop()", chat.stop(output.turn_id))
    await contract.within("the end of a stopped turn whose clients have no room", _ended(run))
    await _check_goes_on(chat, contract, "after-slow")
    await contract.within("close()", chat.close())


async def _check_close(agent: IAgent, contract: AgentContract) -> None:
    """A close ends what runs, may be repeated, and leaves a chat that takes no turn."""
    chat = await _open(agent, contract, "close")
    output = _Watched("endless-3")
    run = ensureDeferred(chat.run(_request(output.turn_id, contract.endless), output))
    ended = ensureDeferred(_ended(run))
    await contract.within("the first word of an endless turn", output.begun)
    await contract.within("close() with a turn running", chat.close())
    await contract.within("the end of a turn whose chat was closed", ended)
    await contract.within("a second close()", chat.close())
    late = RecordedOutput("after-close")
    try:
        await contract.within("a turn of a closed chat", chat.run(_request("x", "y"), late))
    except AgentFailure as failure:
        _expect(bool(failure.message), "a failure has no words")
    else:
        raise AssertionError("a closed chat took a turn")


async def _check_goes_on(chat: IAgentChat, contract: AgentContract, turn_id: str) -> None:
    output = RecordedOutput(turn_id)
    await contract.within(
        f"the turn {turn_id}", chat.run(_request(turn_id, contract.answered), output)
    )
    _expect(bool(output.actions), f"the turn {turn_id} said nothing")
    check_said(output.actions, turn_id)


async def _ended(run: "Deferred[None]") -> None:
    """An interrupted turn may return or fail; any other exception is a bug."""
    try:
        await run
    except AgentFailure as failure:
        _expect(bool(failure.message), "a failure has no words")


class _Watched(RecordedOutput):
    """Says when the turn has begun to speak."""

    def __init__(self, turn_id: str, room: Gate | None = None) -> None:
        super().__init__(turn_id, room)
        self.begun: Deferred[None] = Deferred()

    def emit(self, action: Action) -> None:
        super().emit(action)
        if not self.begun.called:
            self.begun.callback(None)


def check_said(actions: list[Action], turn_id: str, *more: Any) -> None:
    """What one turn said, or several of one chat: actions and turn id, by turns.

    Each action is one a turn may say, fits its shape to the letter and names its turn;
    parts are opened once and before they grow; a tool call goes through its states.
    """
    parts: dict[str, str] = {}
    calls: dict[str, str] = {}
    turns = [(actions, turn_id), *zip(more[::2], more[1::2], strict=True)]
    for said, turn in turns:
        for action in said:
            _check_action(action, turn)
            _follow_parts(action, parts)
            _follow_calls(action, calls)


def _check_action(action: Action, turn_id: str) -> None:
    kind = action["type"]
    _expect(kind in TURN_ACTIONS, f"{kind} is not a turn's to say")
    if kind != "chat/activityChanged":
        named = action.get("turnId", turn_id)
        _expect(named == turn_id, f"{kind} of {turn_id} names the turn {named}")
        action = {**action, "turnId": turn_id}
    try:
        check_strict(dict(action), ACTIONS[kind].shape, kind)
    except ShapeError as error:
        raise AssertionError(str(error)) from None


def _follow_parts(action: Action, parts: dict[str, str]) -> None:
    kind = action["type"]
    if kind == "chat/responsePart" and "id" in action["part"]:
        part = action["part"]
        _expect(part["id"] not in parts, f"the part {part['id']} was opened twice")
        parts[part["id"]] = part["kind"]
    grows = {"chat/delta": "markdown", "chat/reasoning": "reasoning"}.get(kind)
    if grows is not None:
        found = parts.get(action["partId"])
        _expect(
            found == grows, f"{kind} appends to {action['partId']}, which is {found or 'not open'}"
        )


#: The states a tool call may be in before each action, and the one it is in after.
_CALL_STATES = {
    "chat/toolCallStart": ((None,), "streaming"),
    "chat/toolCallDelta": (("streaming",), "streaming"),
    "chat/toolCallReady": (("streaming", "running"), "running"),
    "chat/toolCallContentChanged": (("running",), "running"),
    "chat/toolCallComplete": (("running",), "completed"),
}


def _follow_calls(action: Action, calls: dict[str, str]) -> None:
    kind = action["type"]
    if kind in _CALL_STATES:
        before, after = _CALL_STATES[kind]
        call = action["toolCallId"]
        found = calls.get(call)
        _expect(found in before, f"{kind} of {call}, which is {found or 'not begun'}")
        calls[call] = after


def _fits(value: Any, declared_at: str, what: str) -> None:
    try:
        check_strict(value, shape(declared_at), what)
    except ShapeError as error:
        raise AssertionError(str(error)) from None


def _expect(holds: bool, words: str) -> None:
    if not holds:
        raise AssertionError(words)
