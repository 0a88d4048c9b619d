"""What an agent is beside its chats: what it says of itself, its settings, whether it works."""

import inspect
from typing import Any, Final, cast

from zope.interface.interface import InterfaceClass

from ahpd.interfaces import (
    AgentAbilities,
    Finding,
    IAgent,
    IChangingAgent,
    IClosedAgent,
    IConfigCompletions,
    IConversations,
    IPausedAgent,
    IProbedAgent,
    IUndeclaredConfig,
)
from ahpd.protocol.uris import ROOT
from ahpd.testing.agent_contract.contract import AgentContract
from ahpd.testing.agent_contract.leaving import children
from ahpd.testing.agent_contract.said import expect, fits, provides
from ahpd.testing.agent_contract.talking import chat_start, check_goes_on, open_chat, request
from ahpd.testing.agents import RecordedOutput

_OPTIONAL: Final[tuple[InterfaceClass, ...]] = (
    IChangingAgent,
    IClosedAgent,
    IPausedAgent,
    IProbedAgent,
    IConversations,
    IUndeclaredConfig,
    IConfigCompletions,
)
_UNKNOWN: Final = "no such key"


def check_description(agent: IAgent) -> None:
    """What an agent says of itself fits the shapes clients are shown it in."""
    provides(IAgent, agent, "the agent")
    for interface in _OPTIONAL:
        if interface.providedBy(agent):
            provides(interface, agent, "the agent")
    _check_info(agent)
    expect(isinstance(agent.abilities, AgentAbilities), "abilities is no AgentAbilities")
    fits(agent.config_schema(None, {}), "config.SessionConfigSchema", "config_schema()")
    if IPausedAgent.providedBy(agent):
        refusal = agent.refusal
        expect(bool(refusal) and isinstance(refusal, str), "a paused agent refuses without words")


def _check_info(agent: IAgent) -> None:
    info = agent.info()
    fits(info, "root.AgentInfo", "info()")
    expect(info["provider"] == agent.provider, "info() names another provider than the agent")
    names = [model["id"] for model in info["models"]]
    expect(len(set(names)) == len(names), f"two models have the same id: {names}")
    for model in info["models"]:
        expect(model["provider"] == agent.provider, f"model {model['id']} is of another provider")
    expect(agent.info() == info, "info() changes from one call to the next")


# -- settings --------------------------------------------------------------------------


async def check_settings(agent: IAgent, contract: AgentContract) -> None:
    """Whatever a client sends as a setting is taken, or refused in words."""
    strange = {_UNKNOWN: {"of": ["no", "type"]}}
    for folder in ("file:///no/such/folder", "nonsense:/"):

        async def asked(folder: str = folder) -> None:
            schema = agent.config_schema(folder, strange)
            fits(schema, "config.SessionConfigSchema", f"config_schema() of {folder}")

        await contract.within(f"config_schema() of {folder}", asked())
    contract.discreet("what is shown of it", agent.info(), agent.config_schema(None, {}))
    properties = agent.config_schema(None, {})["properties"]
    odd: list[dict[str, Any]] = [strange]
    odd += [{**contract.config, key: {"of": "no type"}} for key in properties]
    for number, values in enumerate(odd):
        await _check_odd_values(agent, contract, number, values)
    if IUndeclaredConfig.providedBy(agent):
        await _check_undeclared(cast("IUndeclaredConfig", agent), contract)
    if IConfigCompletions.providedBy(agent):
        await _check_completions(
            cast("IConfigCompletions", agent), contract, [*properties, _UNKNOWN]
        )


async def _check_odd_values(
    agent: IAgent, contract: AgentContract, number: int, values: dict[str, Any]
) -> None:
    async def opened() -> None:
        name = f"odd-{number}"
        chat = await agent.open_chat(chat_start(contract, name, config=values))
        output = RecordedOutput(name)
        try:
            await chat.run(request(name, contract.answered), output)
        finally:
            await chat.close()

    await contract.tried(f"a chat opened with the settings {values}", opened())


async def _check_undeclared(agent: IUndeclaredConfig, contract: AgentContract) -> None:
    async def asked() -> None:
        agent.check_config(_UNKNOWN, {"of": "no type"})

    try:
        await contract.within(f"check_config() of {_UNKNOWN!r}", asked())
    except AssertionError as error:  # words may be left to the host here
        expect(" failed: " in str(error), str(error))
    else:
        raise AssertionError(f"check_config() took the key {_UNKNOWN!r}")


async def _check_completions(
    agent: IConfigCompletions, contract: AgentContract, keys: list[str]
) -> None:
    for key in keys:
        context = {"channel": ROOT, "property": key, "query": "a"}

        async def asked(key: str = key, context: dict[str, Any] = context) -> None:
            for item in await agent.complete_config(key, "a", context):
                fits(item, "config.SessionConfigValueItem", f"a value of {key}")

        await contract.tried(f"complete_config() of {key!r}", asked())


# -- whether it works ----------------------------------------------------------------------


async def check_probe(agent: IAgent, contract: AgentContract) -> None:
    """A probe says what it found, and everything is as it was."""
    if not IProbedAgent.providedBy(agent):
        return
    before, processes = await _around(agent, contract), children(contract)
    await _findings(agent, contract)
    left = children(contract) - processes
    expect(not left, f"probe() left the processes {sorted(left)}")
    after = await _around(agent, contract)
    for name, value in before.items():
        expect(after[name] == value, f"probe() changed {name}")


async def _around(agent: IAgent, contract: AgentContract) -> dict[str, Any]:
    """What a probe leaves alone."""
    held: dict[str, Any] = {}
    if contract.unchanged is not None:
        held["what AgentContract.unchanged looks at"] = contract.unchanged()
    if IConversations.providedBy(agent) and contract.keeps:
        listed = await contract.within(
            "list_conversations()", cast("IConversations", agent).list_conversations()
        )
        held["the conversations"] = sorted(one.id for one in listed)
    return held


async def _findings(agent: IAgent, contract: AgentContract) -> list[Finding]:
    try:
        found = list(await contract.within("probe()", cast("IProbedAgent", agent).probe()))
    except AssertionError as error:
        raise AssertionError(f"probe() never raises: {error}") from None
    expect(bool(found), "probe() found nothing at all")
    for finding in found:
        expect(isinstance(finding, Finding), f"probe() found {finding!r}, expected a Finding")
        for field in ("about", "words"):
            words = getattr(finding, field)
            one_line = isinstance(words, str) and bool(words.strip()) and "\n" not in words
            expect(one_line, f"probe() says {words!r} as {field}, expected one line of words")
        expect("Traceback" not in finding.words, "probe() shows a trace")
    contract.discreet("what probe() found", found)
    return found


async def check_unusable(contract: AgentContract) -> None:
    """An agent that cannot work says so: when it is asked, and in each turn."""
    if contract.unusable is None:
        return
    agent = contract.unusable()
    check_description(agent)
    if IProbedAgent.providedBy(agent):
        found = await _findings(agent, contract)
        expect(
            not all(finding.ok for finding in found),
            "probe() found nothing wrong with an agent that cannot work",
        )
    try:
        chat = await open_chat(agent, contract, "unusable")
    except AssertionError as error:
        expect("failed:" in str(error), str(error))
    else:
        for number in range(2):
            output = RecordedOutput(f"unusable-{number}")
            turn = request(output.turn_id, contract.answered)
            failure = await contract.tried(
                "a turn of an agent that cannot work", chat.run(turn, output)
            )
            expect(failure is not None, "an agent that cannot work completed a turn")
        await contract.within("close() of a chat that never worked", chat.close())
    await close_agent(agent, contract)


# -- while it is there ---------------------------------------------------------------------


class Changes:
    """Whether an agent told each time that what it says of itself had moved."""

    def __init__(self, agent: IAgent) -> None:
        self._agent = agent
        self._abilities = agent.abilities
        self._info = agent.info()
        self._told = 0
        if IChangingAgent.providedBy(agent):
            agent.on_changed(self._hear)
            self._info = agent.info()

    def _hear(self) -> None:
        self._told += 1

    def check(self, when: str) -> None:
        """It is as it was when this was last asked, or it told."""
        told, self._told = self._told, 0
        before, self._info = self._info, self._agent.info()
        if before != self._info:
            _check_info(self._agent)
            expect(
                bool(IChangingAgent.providedBy(self._agent)),
                f"info() moved {when}, and the agent is no IChangingAgent",
            )
            expect(told > 0, f"info() moved {when} and nobody was told")
        expect(
            self._agent.abilities == self._abilities,
            f"its abilities moved {when}: they are the same for the agent's life",
        )


async def check_changes(agent: IAgent, contract: AgentContract, changes: Changes) -> None:
    """What moves `info()` is told of."""
    if contract.change is None:
        return
    before = agent.info()
    moving = contract.change(agent)
    if inspect.isawaitable(moving):
        await contract.within("AgentContract.change", moving)
    expect(agent.info() != before, "AgentContract.change changed nothing that info() says")
    changes.check("at AgentContract.change")
    chat = await open_chat(agent, contract, "changed")
    await check_goes_on(chat, contract, "after-change")
    await contract.within("close()", chat.close())


async def close_agent(agent: IAgent, contract: AgentContract) -> None:
    """Let go of it, where it has anything of its own; again is no error."""
    if IClosedAgent.providedBy(agent):
        await contract.within("the close() of the agent", agent.close())
        await contract.within("a second close() of the agent", agent.close())
