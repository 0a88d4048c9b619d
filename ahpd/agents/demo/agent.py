"""The demo agent as the host offers it."""

from collections.abc import Mapping
from typing import Any, Final

from zope.interface import implementer

from ahpd.agents.demo.chat import COMMAND, STOP_GRACE, DemoChat
from ahpd.agents.demo.customizations import customizations
from ahpd.agents.demo.models import PROVIDER, model_infos
from ahpd.agents.demo.settings import config_schema
from ahpd.interfaces import AgentAbilities, ChatStart, IAgent, IAgentChat
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.protocol import State

#: Milliseconds between two words of an answer, so that a person sees it stream.
PACE_MS: Final = 15.0


@implementer(IAgent)
class DemoAgent:
    """Provider `demo`. What its messages can do is told in `acts/`.

    `pace_ms` is the pause before each word of an answer at its usual pace; `command` runs another program
    that speaks the same protocol, which is what tests of a misbehaving one do.
    """

    provider = PROVIDER
    abilities = AgentAbilities(
        steering=True, resume=True, live_config=True, workers=True, reopens=True
    )

    def __init__(
        self,
        reactor: Any,
        supervisor: ProcessSupervisor,
        *,
        pace_ms: float = PACE_MS,
        command: tuple[str, ...] | None = None,
        stop_grace: float = STOP_GRACE,
    ) -> None:
        self._reactor = reactor
        self._supervisor = supervisor
        self._command = command or COMMAND
        self._pace_ms = pace_ms
        self._stop_grace = stop_grace

    def info(self) -> State:
        """What clients are shown (`IAgent.info`)."""
        return {
            "provider": PROVIDER,
            "displayName": "Demo",
            "description": (
                "Answers without a network and always the same way. Say /help to see how."
            ),
            "models": model_infos(),
            "customizations": customizations(),
            "capabilities": {"multipleChats": {"fork": True, "sideChat": True}},
        }

    def config_schema(self, working_directory: str | None, values: Mapping[str, Any]) -> State:
        """Its pace, wherever it runs."""
        return config_schema()

    async def open_chat(self, start: ChatStart) -> IAgentChat:
        """A chat, whose process waits for its first turn. It has no memory of `history`."""
        return DemoChat(
            self._reactor,
            self._supervisor,
            self._command,
            start,
            self._pace_ms,
            self._stop_grace,
        )
