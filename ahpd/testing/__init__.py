"""The public test kit: clients that judge a host, scripted agents, and contracts to check."""

from ahpd.testing.agent_contract import AgentContract, check_agent
from ahpd.testing.engines import engine_ports

__all__ = ["AgentContract", "check_agent", "engine_ports"]
