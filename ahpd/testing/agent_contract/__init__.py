"""The contract of a backend, checked: what `IAgent` and `IAgentChat` ask of any of them.

`check_agent` runs real turns on a backend and raises `AssertionError` in words for the
first thing that a host could not live with. It knows nothing of the backend but the
messages of its `AgentContract`.
"""

from collections.abc import Callable

from ahpd.interfaces import IAgent
from ahpd.testing.agent_contract import turns
from ahpd.testing.agent_contract.abilities import check_abilities
from ahpd.testing.agent_contract.asking import check_asking
from ahpd.testing.agent_contract.contract import AgentContract, SignIn
from ahpd.testing.agent_contract.keeping import check_kept
from ahpd.testing.agent_contract.leaving import check_nothing_left, files_of, held
from ahpd.testing.agent_contract.offered import (
    Changes,
    check_changes,
    check_description,
    check_probe,
    check_settings,
    check_unusable,
    close_agent,
)
from ahpd.testing.agent_contract.said import check_said
from ahpd.testing.agent_contract.talking import check_goes_on, open_chat
from ahpd.testing.agent_contract.unusual import check_host_tool, check_requests

__all__ = [
    "AgentContract",
    "SignIn",
    "check_agent",
    "check_description",
    "check_said",
    "files_of",
]


async def check_agent(make_agent: Callable[[], IAgent], contract: AgentContract) -> None:
    """Raise `AssertionError` where the agents `make_agent` makes break the contract.

    Each agent it makes is new and works by itself. The first answers once, so that what is
    counted at the end (processes, timers, open files) is counted against a host in use.
    """
    await _check_first(make_agent(), contract)
    await contract.settled()  # the reactor runs by now, with what it needs for that
    before = held(contract)
    agent = make_agent()
    check_description(agent)
    changes = Changes(agent)
    await turns.check_answers(agent, contract)
    changes.check("at its first turns")
    await turns.check_stop(agent, contract)
    await turns.check_apart(agent, contract)
    await turns.check_slow_clients(agent, contract)
    await turns.check_close(agent, contract)
    for text in contract.asking:
        await check_asking(agent, contract, text)
    await check_requests(agent, contract)
    await check_host_tool(agent, contract)
    await check_settings(agent, contract)
    await check_abilities(agent, contract)
    await check_kept(agent, contract)
    await check_probe(agent, contract)
    changes.check("while it was used")
    await check_changes(agent, contract, changes)
    await check_unusable(contract)
    await close_agent(agent, contract)
    await check_nothing_left(contract, before)


async def _check_first(agent: IAgent, contract: AgentContract) -> None:
    check_description(agent)
    chat = await open_chat(agent, contract, "first")
    await check_goes_on(chat, contract, "first")
    await contract.within("close()", chat.close())
    await close_agent(agent, contract)
