"""An agent without a model: each message names a tool of the host's, and it calls that."""

import json
from collections.abc import Mapping
from typing import Any

from zope.interface import implementer

from ahpd.agents.output import TurnWriter
from ahpd.interfaces import (
    AgentAbilities,
    ChatStart,
    IAgent,
    IAgentChat,
    ITurnOutput,
    TurnRequest,
)
from ahpd.protocol import State


@implementer(IAgentChat)
class CallingChat:
    """One conversation."""

    def __init__(self, start: ChatStart) -> None:
        self._start = start

    async def run(self, turn: TurnRequest, output: ITurnOutput) -> None:
        """Call the tool a message names, `{"tool", "arguments"}`, and say its result as JSON.

        Any other message is said back.
        """
        writer = TurnWriter(output)
        try:
            asked = json.loads(turn.text)
            name, arguments = asked["tool"], asked.get("arguments", {})
        except (ValueError, TypeError, KeyError):
            writer.markdown(turn.text)
            return
        assert self._start.host is not None, "a host that opens chats is one to ask"
        result = await self._start.host.run_tool(name, arguments, f"call-{turn.turn_id}")
        writer.markdown(json.dumps(result))

    async def stop(self, turn_id: str) -> None:
        """A tool is not stopped: it ends by itself."""

    async def close(self) -> None:
        """There is nothing to let go of."""


@implementer(IAgent)
class CallingAgent:
    """Offered under `provider`."""

    def __init__(self, provider: str = "caller") -> None:
        self.provider = provider
        self.abilities = AgentAbilities()

    def info(self) -> State:
        """What clients show (schema: AgentInfo)."""
        return {
            "provider": self.provider,
            "displayName": "Caller",
            "description": "Calls the tools it is told to.",
            "models": [{"id": "none", "provider": self.provider, "name": "None"}],
        }

    def config_schema(self, working_directory: str | None, values: Mapping[str, Any]) -> State:
        """Nothing can be set."""
        return {"type": "object", "properties": {}}

    async def open_chat(self, start: ChatStart) -> IAgentChat:
        """A new conversation."""
        return CallingChat(start)
