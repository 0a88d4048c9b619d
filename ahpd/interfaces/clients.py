"""The commands' side: who asked, and what the host remembers of each client."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import attrs
from zope.interface import Attribute, Interface

from ahpd.interfaces.channels import ISubscriber
from ahpd.protocol import State
from ahpd.protocol.errors import INTERNAL_ERROR, RpcError

#: The most channels a client is remembered to be owed; past it, it is owed every one.
MAX_DEBTS = 1000


@attrs.define(eq=False, repr=False)
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


#: How long a client may be gone before it counts as having left, in seconds.
DISCONNECT_WINDOW = 30.0
#: What VS Code's two windows call themselves in `clientInfo.name`.
EDITOR_WINDOW = "vscode-editor-window"
AGENTS_WINDOW = "vscode-agents-window"


class ClientGone(RpcError):
    """The connection went before the client answered: nobody knows what it did of it.

    -32603 to whoever waits for the answer.
    """

    def __init__(self, words: str) -> None:
        super().__init__(INTERNAL_ERROR, words)


class ICaller(Interface):
    """The connection a command came from."""

    connection_id: int = Attribute("Unique among the connections of this process.")
    record: ClientRecord = Attribute("The client, known once the handshake is through.")
    locale: str | None = Attribute("The language the client asked for.")
    derives_chats: bool = Attribute(
        "Whether it computes the URI of a session's first chat from the session's own."
    )

    shown_row: Callable[[State], State | None] | None = Attribute(
        "A session's row (schema: SessionSummary) as it is shown, None for a session it is not "
        "shown. None in itself for a client that is shown every row as it is."
    )

    def sees(channel: str) -> bool:
        """Whether this client can address `channel` (AHP.txt, "An older VS Code window")."""

    def request(method: str, params: State) -> "Awaitable[Any]":
        """Ask this client something.

        Raises `RpcError` as the client answered, `ClientGone` when it goes. A caller that
        is cancelled forgets the question; the answer is then passed over.
        """

    def send_notification(method: str, params: State) -> None:
        """Tell this client alone something."""


class IClientConnection(ICaller, ISubscriber):
    """One connection of a client: it asks, and it watches channels."""

    connected: bool = Attribute("Whether it is open still.")


class IClients(Interface):
    """Who is connected now."""

    def connections(client_id: str) -> Sequence[IClientConnection]:
        """The open connections of this client, the newest last; empty for one that is gone."""

    def gone_at(client_id: str) -> float | None:
        """When its last connection closed, in the reactor's seconds.

        None for a client that is here, and for one that was never here or is forgotten.
        """

    def listen(client_id: str, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after connections of this client opened or closed; what it answers
        stops that.

        It is called in a turn of the clock's own: the answer to the handshake of a
        connection that opened is out where it did not have to wait for anything.
        """


class IAddresses(Interface):
    """Which session a channel belongs to, for clients that cannot address every one."""

    def session_of(channel: str) -> tuple[str, str | None] | None:
        """The URIs of the session and of its default chat; None for a channel of no session here.

        Cheap and synchronous: no waking, no I/O.
        """


class IPresence(Interface):
    """Told when a client may have left a session (AHP.txt, `session/activeClientRemoved`).

    A client is in a session while one of its connections watches the session or any of
    its chats. What is told here is never more than once per connection or subscription.
    """

    def unwatched(client_id: str, channel: str) -> None:
        """A connection of the client stopped watching `channel`, because the client said so."""

    def gone(client_id: str) -> None:
        """A connection of the client is gone, with all it watched."""

    def returned(client_id: str, channels: Collection[str]) -> None:
        """The client came back (`reconnect`) and is about to watch `channels` again."""


#: A command: typed params in, the result (any JSON value, None for null) out.
Command = Callable[[Any, Any], "Awaitable[Any] | Any"]
