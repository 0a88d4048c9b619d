"""An agent that does all there is and holds the contract, and ways to have it err."""

from twisted.internet.task import Clock

from ahpd.interfaces import AgentAbilities, AgentFailure
from ahpd.testing.agent_contract import AgentContract
from ahpd.testing.agents import ScriptedAgent, echo, never_ends

CLIENT_TOOL = {"clientId": "editor", "name": "look"}


async def confirms(turn):
    call = turn.ask("run", "Running", [{"id": "y", "label": "Yes", "kind": "approve"}])
    if (await turn.confirmed(call)).approved:
        turn.complete(call, "ran")


async def reviews(turn):
    call = turn.running("read")
    turn.complete(call, "secret", requiresResultConfirmation=True)
    await turn.result_confirmed(call)


async def questions(turn):
    turn.markdown((await turn.answered(turn.question("Sure?", "yes", "no"))).response)


async def has_a_client_look(turn):
    result = await turn.client_result(turn.client_tool("editor", "look"))
    turn.markdown(result["pastTenseMessage"])


async def reads_steering(turn):
    part = turn.markdown("waiting")
    while True:
        turn.delta(part, (await turn.steering()).text)


async def reads_one(turn):
    part = turn.markdown("waiting")
    turn.delta(part, (await turn.steering()).text)


async def fails_once(turn):
    if not turn.resumed:
        turn.markdown("so far")
        raise AgentFailure("not yet", resumable=True)
    turn.markdown("done")


async def delegates(turn):
    call = turn.running("task")
    worker = turn.worker(call, "look around")
    worker.markdown("seen")
    worker.done()
    turn.complete(call, "seen")


async def delegates_endlessly(turn):
    call = turn.running("task")
    await turn.worker(call, "look around").until_stopped()
    turn.fail(call, "stopped")


async def answers(turn):
    await echo(turn)
    turn.point(f"after {turn.request.turn_id}")


SCRIPTS = {
    "answered": answers,
    "endless": never_ends,
    "failing": fails_once,
    "steered": reads_one,
    "delegating": delegates,
    "delegating endlessly": delegates_endlessly,
    "confirm": confirms,
    "review": reviews,
    "question": questions,
    "client": has_a_client_look,
}
EVERYTHING = AgentAbilities(
    steering=True,
    resume=True,
    live_config=True,
    workers=True,
    customizations=True,
    mcp=True,
    reopens=True,
)


def able(abilities=EVERYTHING, **scripts):
    """An agent that does all it should, but for what `scripts` has it do instead."""
    known = SCRIPTS | {name.replace("_", " "): script for name, script in scripts.items()}

    async def by_text(turn):
        await known[turn.request.text](turn)

    agent = ScriptedAgent(always=by_text, abilities=abilities)
    agent.keeps_as = lambda start: f"kept {start.chat}"
    agent.known_ids = {"a server", "a skill"}
    return agent


def contract(**fields):
    """How it is checked; on a clock of its own, where nothing ever takes too long."""
    return AgentContract(
        **{
            "reactor": Clock(),
            "answered": "answered",
            "endless": "endless",
            "failing": "failing",
            "steered": "steered",
            "customization": "a skill",
            "mcp_server": "a server",
            "delegating": "delegating",
            "delegating_endlessly": "delegating endlessly",
            "asking": ["confirm", "review", "question", "client"],
            "client_tools": [CLIENT_TOOL],
            "config": {"pace": "slow"},
            **fields,
        }
    )


def changed(change, abilities=EVERYTHING, **scripts):
    """An agent whose chats `change` has altered, or replaced by what it returns."""
    agent = able(abilities, **scripts)
    open_chat = agent.open_chat

    async def wrapped(start):
        chat = await open_chat(start)
        return change(chat, start) or chat

    agent.open_chat = wrapped
    return agent


def with_fields(abilities=EVERYTHING, **fields):
    agent = able(abilities)
    for name, value in fields.items():
        setattr(agent, name, value)
    return agent


def with_methods(**methods):
    def change(chat, start):
        for name, make in methods.items():
            setattr(chat, name, make(chat))

    return changed(change)
