"""What any backend holds: its turns answer, stop, bear slow clients, and end with the chat."""

from twisted.internet.defer import Deferred, ensureDeferred

from ahpd.interfaces import IAgent, IAgentChat, IClosedAgent
from ahpd.testing.agent_contract.contract import AgentContract
from ahpd.testing.agent_contract.leaving import children
from ahpd.testing.agent_contract.said import expect
from ahpd.testing.agent_contract.talking import (
    Running,
    Watched,
    all_of,
    check_goes_on,
    ended,
    judge,
    name_of,
    open_chat,
    request,
)
from ahpd.testing.agents import Gate, RecordedHost, RecordedOutput


async def check_answers(agent: IAgent, contract: AgentContract) -> None:
    """Two turns of one chat and one of another, at once: each complete, each in its own words."""
    hosts = RecordedHost(), RecordedHost()
    first = await open_chat(agent, contract, "one", hosts[0])
    second = await open_chat(agent, contract, "two", hosts[1])
    outputs = [RecordedOutput(f"answer-{number}") for number in range(3)]
    runs = [
        ensureDeferred(chat.run(request(output.turn_id, contract.answered), output))
        for chat, output in ((first, outputs[0]), (second, outputs[1]))
    ]
    for run in runs:
        await contract.within("a turn", run)
    counts = [len(output.actions) for output in outputs]
    await contract.within(
        "a second turn", first.run(request(outputs[2].turn_id, contract.answered), outputs[2])
    )
    await contract.settled()
    for output, count in zip(outputs[:2], counts, strict=False):
        expect(len(output.actions) == count, "a turn said something after it had ended")
    for output in outputs:
        expect(bool(output.actions), f"{output.turn_id} completed and said nothing")
    judge(contract, outputs[0], outputs[2])
    judge(contract, outputs[1])
    shared = {name_of(hosts[0])} & {name_of(hosts[1])} - {None}
    expect(not shared, f"two chats are kept as one conversation: {shared}")
    for chat in (first, second):
        await contract.within("close()", chat.close())


async def check_apart(agent: IAgent, contract: AgentContract) -> None:
    """What is done in one chat does nothing in another: a turn, a stop, a close."""
    quiet = await open_chat(agent, contract, "quiet")
    busy = await open_chat(agent, contract, "busy")
    running = await Running(busy, contract, "busy-turn", contract.endless).begun()
    output = await check_goes_on(quiet, contract, "quiet-turn")
    count = len(output.actions)
    await contract.within("stop() of another chat's turn", quiet.stop("busy-turn"))
    await contract.within("close() of another chat", quiet.close())
    await contract.settled()
    expect(not running.run.called, "the end of one chat ended the turn of another")
    expect(len(output.actions) == count, "what one chat said was said in another's turn")
    await running.stopped("a turn beside which another chat was closed")
    judge(contract, running.output)
    await contract.within("close()", busy.close())


async def check_stop(agent: IAgent, contract: AgentContract) -> None:
    """A stop ends its turn and no other, and the chat goes on."""
    chat = await open_chat(agent, contract, "stop")
    await contract.within("stop() with no turn running", chat.stop("no-such-turn"))
    running = await Running(chat, contract, "endless-1", contract.endless).begun()
    await contract.within("stop() of another turn", chat.stop("no-such-turn"))
    expect(not running.run.called, "the stop of another turn ended this one")
    await running.stopped()
    await contract.within("stop() of an ended turn", chat.stop("endless-1"))
    judge(contract, running.output)
    await check_goes_on(chat, contract, "after-stop")
    for turn_id in ("unbegun", "twice"):
        running = Running(chat, contract, turn_id, contract.endless)
        if turn_id == "twice":
            await running.begun()
        both = [ensureDeferred(chat.stop(turn_id)) for _ in range(2)]
        await contract.within("two stops of a turn", all_of(both))
        await contract.within(f"the end of the turn {turn_id}", ended(running.run))
        await check_goes_on(chat, contract, f"after-{turn_id}")
    await _check_stop_at_the_first_word(chat, contract)
    await contract.within("close()", chat.close())


async def _check_stop_at_the_first_word(chat: IAgentChat, contract: AgentContract) -> None:
    """A client may stop a turn for the very word that is just being said."""
    output = Watched("first-word")
    stops: list[Deferred[None]] = []
    output.heard.append(
        lambda action: None if stops else stops.append(ensureDeferred(chat.stop(output.turn_id)))
    )
    running = await Running(chat, contract, output.turn_id, contract.endless, output).begun()
    await contract.within("stop() at a turn's first word", all_of(stops))
    await contract.within("the end of a turn stopped at its first word", ended(running.run))
    await check_goes_on(chat, contract, "after-first-word")


async def check_slow_clients(agent: IAgent, contract: AgentContract) -> None:
    """While clients have no room little is said, and a stop ends the turn all the same."""
    chat = await open_chat(agent, contract, "slow")
    output = Watched("endless-2", Gate(), contract.most_ahead)
    running = await Running(chat, contract, output.turn_id, contract.endless, output).begun()
    await contract.settled()
    _check_held(running, contract)
    await running.stopped("a stopped turn whose clients have no room")
    await check_goes_on(chat, contract, "after-slow")
    if contract.flooding is not None:
        await _check_flood(chat, contract, contract.flooding)
    await contract.within("close()", chat.close())


def _check_held(running: Running, contract: AgentContract) -> None:
    output = running.output
    if output.overran:
        running.run.addErrback(lambda failure: None)  # of what it was told when it did
    expect(
        not output.overran,
        f"{output.turn_id} said more than {contract.most_ahead} characters while clients had no "
        "room: await drained() between pieces",
    )


async def _check_flood(chat: IAgentChat, contract: AgentContract, text: str) -> None:
    room = Gate()
    output = Watched("flood", room, contract.most_ahead)
    running = await Running(chat, contract, "flood", text, output).begun()
    for _ in range(3):
        await contract.settled(0.1)
        _check_held(running, contract)
        if contract.flooded is not None:
            made, most = contract.flooded(), 2 * contract.most_ahead
            expect(
                made <= most,
                f"the source of a turn whose clients have no room made {made} characters, "
                f"expected at most {most}",
            )
    expect(not running.run.called, "a turn that says much ended while clients had no room")
    room.open()
    await contract.within("the end of a turn that says much", running.run)
    judge(contract, output)
    expect(
        output.said > contract.most_ahead,
        "AgentContract.flooding names a message that says no more than most_ahead: "
        "it says nothing of how output is held back",
    )


async def check_close(agent: IAgent, contract: AgentContract) -> None:
    """A close ends what runs, in every state, may be repeated, and leaves a chat without turns."""
    for state in ("unused", "unbegun", "running", "held up", "stopping", "used"):
        await _check_close_when(agent, contract, state)


async def _check_close_when(agent: IAgent, contract: AgentContract, state: str) -> None:
    before = children(contract)
    chat = await open_chat(agent, contract, f"close-{state.replace(' ', '-')}")
    running = None
    if state == "used":
        await check_goes_on(chat, contract, "before-close")
    elif state != "unused":
        output = Watched("endless-3", Gate() if state == "held up" else None)
        running = Running(chat, contract, output.turn_id, contract.endless, output)
    if running is not None and state != "unbegun":
        await running.begun()
    ending = None if running is None else ensureDeferred(ended(running.run))
    closing = [ensureDeferred(chat.close()) for _ in range(2)]
    if state == "stopping":
        closing.append(ensureDeferred(chat.stop("endless-3")))
    await contract.within(f"close() of a chat that is {state}", all_of(closing))
    if not IClosedAgent.providedBy(agent):
        left = children(contract) - before
        expect(not left, f"close() of a chat that is {state} left the processes {sorted(left)}")
    if ending is not None:
        await contract.within(f"the end of a turn whose chat was closed {state}", ending)
    await contract.within("a second close()", chat.close())
    await contract.within("stop() of a closed chat", chat.stop("endless-3"))
    late = RecordedOutput("after-close")
    refused = await contract.tried("a turn of a closed chat", chat.run(request("x", "y"), late))
    expect(refused is not None, "a closed chat took a turn")
    expect(not late.actions, "a closed chat said something")
