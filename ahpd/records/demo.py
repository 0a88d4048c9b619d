"""The engine `demo`: agents that answer without a network, as many as somebody wants."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from zope.interface import implementer

from ahpd.agents.demo.agent import PACE_MS, DemoAgent
from ahpd.interfaces.agents import Finding, IAgent
from ahpd.interfaces.engines import AgentRecord, EnginePorts, IEngine, InvalidRecord, Template
from ahpd.protocol import State

_PACE: Final = "paceMs"


class RecordedDemo(DemoAgent):
    """The demo agent under the id, the name and the description of a record."""

    def __init__(self, record: AgentRecord, ports: EnginePorts) -> None:
        super().__init__(ports.reactor, ports.supervisor, pace_ms=record.config.get(_PACE, PACE_MS))
        self.provider = record.id
        self._record = record

    def info(self) -> State:
        """What clients are shown (`IAgent.info`), with the record's words."""
        info = super().info()
        info["provider"] = self.provider
        info["displayName"] = self._record.name
        if self._record.description:
            info["description"] = self._record.description
        info["models"] = [{**model, "provider": self.provider} for model in info["models"]]
        return info


@implementer(IEngine)
class DemoEngine:
    """Makes demo agents of records."""

    name = "demo"
    title = "Demo"
    description = "Answers without a network and always the same way."
    host_only: Sequence[str] = ()
    key_variables: Sequence[str] = ()

    def schema(self) -> State:
        """One field: the pause before each word of an answer."""
        return {
            "type": "object",
            "properties": {
                _PACE: {
                    "type": "number",
                    "minimum": 0,
                    "maximum": 10_000,
                    "title": "Pace",
                    "description": "Milliseconds before each word of an answer",
                }
            },
            "additionalProperties": False,
        }

    def templates(self) -> Sequence[Template]:
        """None: the demo agent is offered by `demo`, and another one is written by hand."""
        return ()

    def open(self, record: AgentRecord, ports: EnginePorts) -> IAgent:
        """See `IEngine.open`."""
        if record.model is not None:
            raise InvalidRecord("model: the demo agent takes none; its chats choose theirs")
        return RecordedDemo(record, ports)

    async def check(self, record: AgentRecord, ports: EnginePorts) -> Sequence[Finding]:
        """It needs nothing but this program."""
        return (Finding(about="program", ok=True, words="part of ahpd"),)


#: This program's own engines, by name.
BUILT_IN: Final[Mapping[str, Callable[[], Any]]] = {DemoEngine.name: DemoEngine}
