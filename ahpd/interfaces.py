"""The ports: what the parts of the host ask of each other, and what a plugin supplies.

Every return edge of the architecture is here, so that imports only ever point one
way (docs/architecture.md). A part never asks which class is behind a port.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
from zope.interface import Attribute, Interface

from ahpd.protocol import Action, State
from ahpd.protocol.errors import RpcError

if TYPE_CHECKING:
    from ahpd.channels.envelope import Envelope, Origin
    from ahpd.wire.codec import Frame


# -- the transport's side -------------------------------------------------------


class IConnection(Interface):
    """One connection as the peer sees it: whole messages out, and a way to end it."""

    name: str = Attribute("Where the other side is, for the log: `127.0.0.1:51344`, `stdio`.")

    def send(frame: "Frame") -> None:
        """Hand one encoded message to the transport, in order. Never blocks or raises."""

    def pending_bytes() -> int | None:
        """What was sent and the other side has not taken yet; None where a wire cannot say."""

    def progressing() -> bool:
        """Whether the other side took something lately (the last two seconds), or owes nothing."""

    def close(code: int, reason: str) -> None:
        """End the connection politely: what was sent goes out first. `code` is a WebSocket one."""

    def abort() -> None:
        """End the connection now; what the other side has not read is dropped."""


class IMessageHandler(Interface):
    """What a transport hands its input to: one per connection, made by an `IPeerFactory`."""

    def message_received(data: bytes) -> None:
        """One whole message, undecoded. Never raises: bad input is answered, not thrown."""

    def connection_lost(reason: str) -> None:
        """The connection is gone; called once."""


class IPeerFactory(Interface):
    """Makes the handler of a new connection."""

    def accept(connection: IConnection) -> IMessageHandler:
        """A connection was opened and admitted."""


# -- the channel store's side ---------------------------------------------------


class ISubscriber(Interface):
    """Somebody watching channels. A subscriber that raises is logged and costs nobody else."""

    def deliver(envelope: "Envelope") -> None:
        """One sequenced action on a watched channel, in order."""

    def notify(channel: str, method: str, frame: "Frame") -> None:
        """One stateless notification on a watched channel."""

    def lagging() -> bool:
        """Whether it has a lot still to read and is reading: its sources should wait."""


class IActionHandler(Interface):
    """Decides what a client's action on one kind of channel does.

    It is called with an action whose type a client may send and whose shape was
    checked. It accepts by dispatching the action to the store with its origin, and
    refuses by raising `Refusal`. An awaitable answer holds back that client's later
    actions until it is done.
    """

    def handle(channel: str, action: Action, origin: "Origin") -> Awaitable[None] | None:
        """Act on `action`; `channel` is spelled as the client spelled it."""


class IChannelSource(Interface):
    """Knows which channels of a kind exist, under which spelling, and how to wake one."""

    def resolve(channel: str) -> str | None:
        """The URI `channel` is held under, or None when nothing here answers to it.

        Cheap and synchronous: no waking, no I/O.
        """

    def ready(channel: str) -> Awaitable[None] | None:
        """Bring the channel's state into the store. `channel` is what `resolve` answered.

        Raises `RpcError` when that cannot be done. None where the state is held already.
        """


class Refusal(Exception):
    """An action this host will not act on; the words become its `rejectionReason`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


# -- agents ---------------------------------------------------------------------


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


@attrs.frozen(kw_only=True)
class ChatStart:
    """What a backend is told when a chat is opened on it."""

    session: str
    """The session's URI."""
    chat: str
    """The chat's URI."""
    working_directories: tuple[str, ...]
    """`file:` URIs, the primary first; empty where the session names none."""
    config: Mapping[str, Any]
    """The session's configuration values, resolved against the agent's schema."""
    history: Sequence[Mapping[str, Any]] = ()
    """Turns (schema: Turn) the chat already holds, oldest first."""


@attrs.frozen(kw_only=True)
class TurnRequest:
    """One turn a backend is asked to run."""

    turn_id: str
    message: Mapping[str, Any]
    """The message as the client sent it (schema: Message)."""
    model: Mapping[str, Any] | None = None
    """The model chosen for it (schema: ModelSelection), or None for the agent's own default."""

    @property
    def text(self) -> str:
        """The message's text."""
        text: str = self.message["text"]
        return text


class ITurnOutput(Interface):
    """Where a backend says what its turn does. Calls after the turn's end are ignored."""

    turn_id: str = Attribute("The turn this output belongs to.")

    def emit(action: Action) -> None:
        """Say one chat action of this turn, `turnId` filled in.

        What opens a part, appends to one, or moves a tool call: `chat/responsePart`,
        `chat/delta`, `chat/reasoning`, `chat/toolCall*`, `chat/usage`,
        `chat/activityChanged`. The turn's start and its end are the host's to say; one
        of those here is a `ValueError`.
        """

    async def drained() -> None:
        """Wait until the clients watching this chat have room for more.

        A backend that produces faster than its clients read awaits this between
        pieces. Returns at once while nobody is behind.
        """


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


class IAgent(Interface):
    """A coding agent this host offers: what it is called, and how a chat on it starts."""

    provider: str = Attribute("The id a client names in `createSession`; unique on a host.")

    def info() -> State:
        """What clients are shown (schema: AgentInfo): names, models, capabilities."""

    def config_schema(working_directory: str | None, values: Mapping[str, Any]) -> State:
        """The configuration a session of this agent takes (schema: SessionConfigSchema)."""

    async def open_chat(start: ChatStart) -> IAgentChat:
        """Begin a conversation. Raises `AgentFailure` when it cannot.

        What is expensive (a process, a sign-in) may wait for the first turn.
        """


# -- commands -------------------------------------------------------------------


#: The most channels a client is remembered to be owed; past it, it is owed every one.
MAX_DEBTS = 1000


@attrs.define(eq=False)
class ClientRecord:
    """What the host remembers of a client between its connections."""

    client_id: str
    version: str
    """What its next reconnect speaks: what its newest open connection does, or the last did."""
    info: Mapping[str, Any] | None = None
    """`clientInfo` of its handshake (schema: Implementation)."""
    locale: str | None = None
    versions: list[str] = attrs.field(factory=list)
    """The version of each connection of this client that is open now, the newest last."""
    gone_at: float | None = None
    """When its last connection closed, in the reactor's seconds; None while one is open."""
    watched: set[str] = attrs.field(factory=set)
    """Channels that closed connections watched and no later one has taken up again."""
    owed: set[str] = attrs.field(factory=set)
    """Channels it holds with no snapshot from this process: its reconnect is owed one."""
    owes_all: bool = False
    """It was owed more than `MAX_DEBTS`: every channel it comes back for is owed a snapshot."""

    def owe(self, channel: str) -> None:
        """What the client holds of `channel` is no ground to replay onto."""
        if self.owes_all:
            return
        self.owed.add(channel)
        if len(self.owed) > MAX_DEBTS:
            self.owed.clear()
            self.owes_all = True

    def is_owed(self, channels: Iterable[str]) -> bool:
        """Whether one of `channels` has to come as a snapshot."""
        return self.owes_all or not self.owed.isdisjoint(channels)

    def settle(self, *channels: str) -> None:
        """The client has, or no longer wants, the state of these."""
        self.owed.difference_update(channels)
        self.watched.difference_update(channels)

    def settle_all(self) -> None:
        """The client begins anew, or was given every channel it came back for."""
        self.owed.clear()
        self.watched.clear()
        self.owes_all = False


class ICaller(Interface):
    """The connection a command came from."""

    connection_id: int = Attribute("Unique among the connections of this process.")
    record: ClientRecord = Attribute("The client, known once the handshake is through.")
    locale: str | None = Attribute("The language the client asked for.")

    def request(method: str, params: State) -> "Awaitable[Any]":
        """Ask this client something.

        Raises `RpcError` as the client answered, or -32603 when it goes.
        """

    def send_notification(method: str, params: State) -> None:
        """Tell this client alone something."""


#: A command: typed params in, the result (any JSON value, None for null) out.
Command = Callable[[Any, Any], "Awaitable[Any] | Any"]

__all__ = [
    "AgentFailure",
    "ChatStart",
    "ClientRecord",
    "Command",
    "IActionHandler",
    "IAgent",
    "IAgentChat",
    "ICaller",
    "IChannelSource",
    "IConnection",
    "IMessageHandler",
    "IPeerFactory",
    "ISubscriber",
    "ITurnOutput",
    "Refusal",
    "RpcError",
    "TurnRequest",
]
