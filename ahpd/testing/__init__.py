"""The public test kit: clients that judge a host, scripted agents, and contracts to check."""

from ahpd.testing.agent_contract import AgentContract, SignIn, check_agent, files_of
from ahpd.testing.engines import engine_ports
from ahpd.testing.plugin_host import RecordingPluginHost

__all__ = [
    "AgentContract",
    "RecordingPluginHost",
    "SignIn",
    "check_agent",
    "engine_ports",
    "files_of",
]
