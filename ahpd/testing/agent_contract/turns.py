"""What any backend holds: its turns answer, stop, bear slow clients, and end with the chat."""

from twisted.internet.defer import ensureDeferred

from ahpd.interfaces import AgentFailure, IAgent
from ahpd.testing.agent_contract.contract import (
    AgentContract,
    Watched,
    check_goes_on,
    ended,
    open_chat,
    request,
)
from ahpd.testing.agent_contract.said import check_said, expect
from ahpd.testing.agents import Gate, RecordedOutput


async def check_answers(agent: IAgent, contract: AgentContract) -> None:
    """Two turns of one chat and one of another, at once: each complete, each in its own words."""
    first, second = await open_chat(agent, contract, "one"), await open_chat(agent, contract, "two")
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
    for output, count in zip(outputs[:2], counts, strict=False):
        expect(len(output.actions) == count, "a turn said something after it had ended")
    for output in outputs:
        expect(bool(output.actions), f"{output.turn_id} completed and said nothing")
    check_said(outputs[0].history, outputs[0].turn_id, outputs[2].history, outputs[2].turn_id)
    check_said(outputs[1].history, outputs[1].turn_id)
    for chat in (first, second):
        await contract.within("close()", chat.close())


async def check_stop(agent: IAgent, contract: AgentContract) -> None:
    """A stop ends its turn and no other, and the chat goes on."""
    chat = await open_chat(agent, contract, "stop")
    await contract.within("stop() with no turn running", chat.stop("no-such-turn"))
    output = Watched("endless-1")
    run = ensureDeferred(chat.run(request(output.turn_id, contract.endless), output))
    await contract.within("the first word of an endless turn", output.begun)
    await contract.within("stop() of another turn", chat.stop("no-such-turn"))
    expect(not run.called, "the stop of another turn ended this one")
    await contract.within("stop()", chat.stop(output.turn_id))
    await contract.within("the end of a stopped turn", ended(run))
    await contract.within("stop() of an ended turn", chat.stop(output.turn_id))
    check_said(output.history, output.turn_id)
    await check_goes_on(chat, contract, "after-stop")
    await contract.within("close()", chat.close())


async def check_slow_clients(agent: IAgent, contract: AgentContract) -> None:
    """A stop ends a turn whose clients have no room."""
    chat = await open_chat(agent, contract, "slow")
    output = Watched("endless-2", Gate())
    run = ensureDeferred(chat.run(request(output.turn_id, contract.endless), output))
    await contract.within("the first word of an endless turn", output.begun)
    await contract.within("stop()", chat.stop(output.turn_id))
    await contract.within("the end of a stopped turn whose clients have no room", ended(run))
    await check_goes_on(chat, contract, "after-slow")
    await contract.within("close()", chat.close())


async def check_close(agent: IAgent, contract: AgentContract) -> None:
    """A close ends what runs, may be repeated, and leaves a chat that takes no turn."""
    chat = await open_chat(agent, contract, "close")
    output = Watched("endless-3")
    run = ensureDeferred(chat.run(request(output.turn_id, contract.endless), output))
    ending = ensureDeferred(ended(run))
    await contract.within("the first word of an endless turn", output.begun)
    await contract.within("close() with a turn running", chat.close())
    await contract.within("the end of a turn whose chat was closed", ending)
    await contract.within("a second close()", chat.close())
    late = RecordedOutput("after-close")
    try:
        await contract.within("a turn of a closed chat", chat.run(request("x", "y"), late))
    except AgentFailure as failure:
        expect(bool(failure.message), "a failure has no words")
    else:
        raise AssertionError("a closed chat took a turn")
