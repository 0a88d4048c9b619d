"""Agents: what a backend supplies, and what it declares that it can do.

A turn is one coroutine of a backend (`IAgentChat.run`); what it is handed and may say is
in `ahpd.interfaces.turns`. What a backend can do beyond running a turn it declares in
`AgentAbilities`, and provides the interface named there.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
from zope.interface import Attribute, Interface

from ahpd.interfaces.turns import ChatStart, ITurnOutput, TurnRequest
from ahpd.protocol import State

if TYPE_CHECKING:
    from ahpd.interfaces.engines import AgentRecord


class AgentFailure(Exception):
    """A turn that failed: raised by a backend, said to clients as `chat/error`.

    `error_type` is a short machine-readable word, `message` words for a person.
    `resumable` says the backend can run the same turn again (`chat/turnResume`).
    """

    def __init__(
        self, message: str, error_type: str = "agentError", resumable: bool = False
    ) -> None:
        super().__init__(message)
        self.message = message
        self.error_type = error_type
        self.resumable = resumable


class ConversationKept(AgentFailure):
    """A conversation that its backend cannot delete: it stays there, and is not listed again."""


@attrs.frozen(kw_only=True)
class AgentAbilities:
    """What an agent's chats can do beyond running and stopping a turn; all off by default."""

    steering: bool = False
    """Its chats provide `ISteeredChat`."""
    resume: bool = False
    """Its chats provide `IResumingChat`."""
    live_config: bool = False
    """Its chats provide `IConfiguredChat`; without it a change begins the chat again."""
    workers: bool = False
    """Its chats provide `IDelegatingChat`."""
    customizations: bool = False
    """Its chats provide `ICustomizedChat`."""
    mcp: bool = False
    """Its chats provide `IMcpChat`."""
    reopens: bool = False
    """A chat can be opened again on the conversation it had: after a restart, and in
    another session. Without it a chat is not movable."""


class IAgentChat(Interface):
    """One conversation on a backend."""

    async def run(turn: TurnRequest, output: ITurnOutput) -> None:
        """Run one turn: returns when it is complete, raises `AgentFailure` when it failed.

        Any other exception ends the turn in an error too, in words that show no trace.
        The host runs one turn of a chat at a time. After `stop` it returns or raises
        soon; what it emits from then on is ignored.
        """

    async def stop(turn_id: str) -> None:
        """Interrupt the running turn. A turn that is not running is no error."""

    async def close() -> None:
        """Let go of the conversation's process and timers; returns when they are down."""


class ISteeredChat(IAgentChat):
    """A chat that takes messages into its running turn."""

    def steer(message_id: str, message: Mapping[str, Any]) -> bool:
        """Take a message into the running turn; False where it cannot be taken yet.

        The host asks again at each of the turn's actions until it is taken.
        """

    def withdraw(message_id: str) -> bool:
        """Give back a message the model has not read; False where that cannot be done."""


class IResumingChat(IAgentChat):
    """A chat that can run again a turn that failed."""

    async def resume(turn: TurnRequest, output: ITurnOutput) -> None:
        """As `run`, for a turn whose parts are kept. Raises as `run` does."""


class IConfiguredChat(IAgentChat):
    """A chat that takes configuration while it is open."""

    def configure(values: Mapping[str, Any]) -> None:
        """All values in force from now on. Raises `AgentFailure` for one it cannot take."""


class IDelegatingChat(IAgentChat):
    """A chat whose turns spawn workers."""

    async def stop_worker(tool_call_id: str) -> None:
        """Stop the worker that call spawned; what it says from then on is ignored."""


class ISignedInChat(IAgentChat):
    """A chat that waits for sign-ins: its own, or those of its MCP servers."""

    def signed_in(resource: str, server: str | None) -> None:
        """A client lent a token this chat may spend (`IChatHost.credential`).

        `server` is the MCP server of the session's that it is for; None where it is for the
        resource (its `resource`), whoever needs it. What waits for it goes on, and a call that
        waited is said `chat/toolCallAuthResolved`.
        """


class ICustomizedChat(IAgentChat):
    """A chat whose customizations can be switched while it is open."""

    async def toggle(customization_id: str, enabled: bool) -> None:
        """Raises `AgentFailure` where it has no such switch."""


class IMcpChat(IAgentChat):
    """A chat whose MCP servers can be started and stopped."""

    async def start_server(server_id: str) -> None:
        """Raises `AgentFailure` where the start failed."""

    async def stop_server(server_id: str) -> None:
        """Raises `AgentFailure` where it did not stop."""

    def leave_server_starting(server_id: str) -> None:
        """The turn goes on while the server keeps starting."""


class IAgent(Interface):
    """A coding agent this host offers: what it is called, and how a chat on it starts."""

    provider: str = Attribute("The id a client names in `createSession`; unique on a host.")
    abilities: AgentAbilities = Attribute(
        "What its chats can do. It may come to less once a program has shown what it lacks."
    )

    def info() -> State:
        """What clients are shown (schema: AgentInfo): names, models, capabilities."""

    def config_schema(working_directory: str | None, values: Mapping[str, Any]) -> State:
        """The configuration a session of this agent takes (schema: SessionConfigSchema)."""

    async def open_chat(start: ChatStart) -> IAgentChat:
        """Begin a conversation. Raises `AgentFailure` when it cannot.

        What is expensive (a process, a sign-in) may wait for the first turn.
        """


class IChangingAgent(IAgent):
    """An agent whose `info()` moves while it runs: models it learned of, a sign-in it needs."""

    def on_changed(told: Callable[[], None]) -> None:
        """Call `told` whenever `info()` answers something else from now on."""


class IClosedAgent(IAgent):
    """An agent that holds something of its own, beside its chats."""

    async def close() -> None:
        """Let go of processes, timers and connections; returns when they are down."""


class IEditedAgent(IAgent):
    """An agent that takes another record while chats run on it.

    One that does not provide it is replaced by a new one, which opens its chats' conversations
    from their next turns on.
    """

    def edited(record: "AgentRecord") -> None:
        """The record is another one from now on: each chat runs on it from its next turn.

        Raises `RecordFailure`, and goes on with the record it had.
        """


class IPausedAgent(IAgent):
    """An agent that is listed, and on which nothing new is begun."""

    refusal: str = Attribute("What is said to who tries, in words.")


@attrs.frozen(kw_only=True)
class Finding:
    """One thing that was looked at about an agent: its program, its sign-in, its endpoint."""

    about: str
    """`program`, `sign-in`, `endpoint`, `model` or another word for a person."""
    ok: bool
    words: str
    """What was found, in one line with no secret in it."""
    mend: str | None = None
    """The command, or the line of configuration, that mends it."""


class IProbedAgent(IAgent):
    """An agent that can be asked whether it works before anybody talks to it."""

    async def probe() -> Sequence[Finding]:
        """Look at all it needs. Never raises; changes nothing and spends no tokens."""


@attrs.frozen(kw_only=True)
class ListedConversation:
    """A conversation a backend keeps, as it lists it."""

    id: str
    """The backend's own id; the session's, where this host keeps no record of it."""
    title: str
    created_at: str
    """ISO 8601."""
    modified_at: str
    """ISO 8601."""
    working_directories: tuple[str, ...] = ()
    """`file:` URIs."""


@attrs.frozen(kw_only=True)
class ReadConversation:
    """A conversation as a backend reads it back."""

    turns: Sequence[State]
    """Schema: Turn, oldest first."""
    points: Mapping[str, str] = attrs.field(factory=dict)
    """Where turns ended, by turn id, in the backend's names."""


class IConversations(Interface):
    """Provided by an agent that keeps conversations of its own on this machine."""

    async def list_conversations() -> Sequence[ListedConversation]:
        """Every one it keeps, in any order. Raises `AgentFailure`."""

    async def read_conversation(conversation: str) -> ReadConversation:
        """Its turns. Raises `AgentFailure` for one it does not have."""

    async def delete_conversation(conversation: str) -> None:
        """Delete its copy; one it does not have is no error.

        Raises `ConversationKept` where it deletes none at all, and `AgentFailure` where this
        one was not deleted.
        """


class IUndeclaredConfig(Interface):
    """Provided by an agent that takes configuration its schema does not declare."""

    def check_config(key: str, value: Any) -> None:
        """Raises `AgentFailure` for a key or value it does not take; its words are shown.

        With no words the host finds some.
        """


class IConfigCompletions(Interface):
    """Provided by an agent whose configuration has keys with more values than a picker holds."""

    async def complete_config(key: str, query: str, context: Mapping[str, Any]) -> Sequence[State]:
        """Values that match (schema: SessionConfigValueItem). Raises `AgentFailure`.

        `context` is the params of the request (schema: SessionConfigCompletionsParams).
        """
