"""An ACP agent as the host offers it: what it is, its chats, and the conversations it keeps."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
from zope.interface import implementer

from ahpd.interfaces import (
    AgentAbilities,
    AgentRecord,
    ChatStart,
    EnginePorts,
    Finding,
    IAgentChat,
    IChangingAgent,
    IClosedAgent,
    IConversations,
    IEditedAgent,
    IProbedAgent,
    ListedConversation,
    ReadConversation,
)
from ahpd.protocol import State
from ahpd_agent_acp.chat import AcpChat
from ahpd_agent_acp.conversations import Conversations
from ahpd_agent_acp.handshake import Capabilities
from ahpd_agent_acp.modes import Heard, config_schema, model_infos, preset, same_choices
from ahpd_agent_acp.points import NewestPoints
from ahpd_agent_acp.probe import BOUND, probe
from ahpd_agent_acp.record import Options
from ahpd_agent_acp.session import Ground
from ahpd_agent_acp.starts import Starts


@implementer(IChangingAgent, IClosedAgent, IEditedAgent, IProbedAgent, IConversations)
class AcpAgent:
    """One record's agent. `read` makes options of a record (raises `RecordFailure`).

    Its `abilities` say what every ACP agent can, until one was greeted that cannot open a
    conversation again.
    """

    def __init__(
        self, record: AgentRecord, ports: EnginePorts, read: Callable[[AgentRecord], Options]
    ) -> None:
        self.provider = record.id
        self.options = read(record)
        self.ports = ports
        self.points = NewestPoints(ports.data_directory, ports.run_blocking)
        self._record = record
        self._read = read
        self._capabilities: Capabilities | None = None
        self._known: Capabilities | None = None
        self._starts = Starts()
        self._heard = preset(self.options.preset_modes)
        self._told: list[Callable[[], None]] = []
        self._conversations = Conversations(self)

    @property
    def ground(self) -> Ground:
        """See `AgentSide.ground`."""
        return Ground(
            ports=self.ports,
            provider=self.provider,
            name=self._record.name,
            what=self._record.name,
            starts=self._starts,
            greeted=self._greeted,
            heard=self._hear,
        )

    @property
    def model(self) -> str | None:
        """The record's model."""
        return self._record.model

    @property
    def known(self) -> Capabilities | None:
        """See `Keeper.known`: of the program of the record as it is now."""
        return self._known

    def edited(self, record: AgentRecord) -> None:
        """The record is another one from now on: each chat runs on it from its next turn.

        A chat's program is started again on its conversation where it would be another one.
        Raises `RecordFailure`, and goes on with the record it had.
        """
        options = self._read(record)
        if options.program != self.options.program:
            self._known, self._starts = None, Starts()
        self.options = options
        before = self.info(), self.config_schema(None, {})
        self._record = record
        self._changed(before)

    # -- what it is ---------------------------------------------------------------------

    @property
    def abilities(self) -> AgentAbilities:
        """See the class."""
        known = self._capabilities
        return AgentAbilities(live_config=True, reopens=known is None or known.reopens)

    def info(self) -> State:
        """What clients are shown (`IAgent.info`)."""
        can = self._capabilities or Capabilities()
        several: State = {"sideChat": True}
        if can.fork:
            several["fork"] = True
        capabilities: State = {"multipleChats": several}
        if can.more_directories:
            capabilities["multipleWorkingDirectories"] = {}
        return {
            "provider": self.provider,
            "displayName": self._record.name,
            "description": self._record.description,
            "models": model_infos(self._heard, self.provider, self._record.model),
            "capabilities": capabilities,
        }

    def config_schema(self, working_directory: str | None, values: Mapping[str, Any]) -> State:
        """What its last conversation could be set to (`IAgent.config_schema`)."""
        return config_schema(self._heard)

    def on_changed(self, told: Callable[[], None]) -> None:
        """See `IChangingAgent.on_changed`."""
        self._told.append(told)

    def _greeted(self, capabilities: Capabilities) -> None:
        before = self.info(), self.config_schema(None, {})
        self._capabilities = self._known = capabilities
        self._changed(before)

    def _hear(self, heard: Heard, opened: bool) -> None:
        """What a conversation can be set to; its values are its own, unless it was just opened."""
        before = self.info(), self.config_schema(None, {})
        if self.options.modes == "preset":
            heard = attrs.evolve(heard, mode=preset(self.options.preset_modes).mode)
        if opened or not same_choices(heard, self._heard):
            self._heard = heard
        self._changed(before)

    def _changed(self, before: Any) -> None:
        if before != (self.info(), self.config_schema(None, {})):
            for told in self._told:
                told()

    # -- what it does -------------------------------------------------------------------

    async def open_chat(self, start: ChatStart) -> IAgentChat:
        """A chat, whose program waits for its first turn (`IAgent.open_chat`)."""
        return AcpChat(self, start)

    async def probe(self, bound: float = BOUND) -> Sequence[Finding]:
        """See `IProbedAgent.probe`; `bound` is how many seconds the program has to answer."""
        return await probe(self.options, self.ports, self._record.name, self.provider, bound)

    async def list_conversations(self) -> Sequence[ListedConversation]:
        """See `IConversations.list_conversations`."""
        return await self._conversations.list()

    async def read_conversation(self, conversation: str) -> ReadConversation:
        """See `IConversations.read_conversation`."""
        return await self._conversations.read(conversation)

    async def delete_conversation(self, conversation: str) -> None:
        """See `IConversations.delete_conversation`."""
        await self._conversations.delete(conversation)

    async def close(self) -> None:
        """See `IClosedAgent.close`."""
        await self._conversations.close()
