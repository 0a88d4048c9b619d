"""An agent whose record says `mode: paused`: listed, and nothing new is begun on it.

Source: PLUGINS.txt, `x-ahpd-agents` (`mode`).
"""

from typing import Any

from zope.interface import alsoProvides, directlyProvides, implementer, providedBy

from ahpd.interfaces import AgentFailure, ChatStart, IAgent, IAgentChat, IPausedAgent


@implementer(IAgent)
class PausedAgent:
    """`agent` in all it is and provides, but for taking messages."""

    def __init__(self, agent: Any) -> None:
        self.inner = agent
        self.refusal = (
            f"The agent {agent.provider!r} is paused on this host and takes no new session or "
            "message."
        )
        directlyProvides(self, providedBy(agent))
        alsoProvides(self, IPausedAgent)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def open_chat(self, start: ChatStart) -> IAgentChat:
        """Raises `AgentFailure`, always."""
        raise AgentFailure(self.refusal, "agentPaused")


def unpaused(agent: Any) -> Any:
    """The agent itself, where `agent` is one that is paused here."""
    return agent.inner if isinstance(agent, PausedAgent) else agent
