"""The contract of a backend, checked: what `IAgent` and `IAgentChat` ask of any of them.

`check_agent` runs real turns on a backend and raises `AssertionError` in words for the
first thing that a host could not live with. It knows nothing of the backend but the
messages of its `AgentContract`.
"""

from collections.abc import Callable

from zope.interface.verify import verifyObject

from ahpd.interfaces import AgentAbilities, IAgent
from ahpd.testing.agent_contract import turns
from ahpd.testing.agent_contract.abilities import check_abilities
from ahpd.testing.agent_contract.contract import AgentContract
from ahpd.testing.agent_contract.said import check_said, expect, fits

__all__ = ["AgentContract", "check_agent", "check_description", "check_said"]


async def check_agent(make_agent: Callable[[], IAgent], contract: AgentContract) -> None:
    """Raise `AssertionError` where the agents `make_agent` makes break the contract."""
    agent = make_agent()
    check_description(agent)
    await turns.check_answers(agent, contract)
    await turns.check_stop(agent, contract)
    await turns.check_slow_clients(agent, contract)
    await turns.check_close(agent, contract)
    await check_abilities(agent, contract)


def check_description(agent: IAgent) -> None:
    """What an agent says of itself fits the shapes clients are shown it in."""
    verifyObject(IAgent, agent)
    info = agent.info()
    fits(info, "root.AgentInfo", "info()")
    expect(isinstance(agent.abilities, AgentAbilities), "abilities is no AgentAbilities")
    expect(info["provider"] == agent.provider, "info() names another provider than the agent")
    names = [model["id"] for model in info["models"]]
    expect(len(set(names)) == len(names), f"two models have the same id: {names}")
    for model in info["models"]:
        expect(model["provider"] == agent.provider, f"model {model['id']} is of another provider")
    expect(agent.info() == info, "info() changes from one call to the next")
    fits(agent.config_schema(None, {}), "config.SessionConfigSchema", "config_schema()")
