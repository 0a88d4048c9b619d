"""The agent of a session whose provider this host does not offer, or not any more.

Its sessions can be read, renamed, marked and disposed of; a turn of theirs fails in words.
"""

from collections.abc import Mapping
from typing import Any

from zope.interface import implementer

from ahpd.interfaces import AgentAbilities, AgentFailure, ChatStart, IAgent, IAgentChat
from ahpd.protocol import State


@implementer(IAgent)
class MissingAgent:
    """Stands where the agent of `provider` was. `words` say why it is not there."""

    abilities = AgentAbilities()

    def __init__(self, provider: str, words: str | None = None) -> None:
        self.provider = provider
        self.words = words or f"This host does not offer the agent {provider!r} any more."

    def info(self) -> State:
        """See `IAgent.info`. It is offered to nobody."""
        return {
            "provider": self.provider,
            "displayName": self.provider,
            "description": "Not offered by this host",
            "models": [],
        }

    def config_schema(self, working_directory: str | None, values: Mapping[str, Any]) -> State:
        """See `IAgent.config_schema`: it takes no configuration."""
        return {"type": "object", "properties": {}}

    async def open_chat(self, start: ChatStart) -> IAgentChat:
        """Raises `AgentFailure`, always."""
        raise AgentFailure(self.words, "agentNotFound")
