"""The transport's side: a connection, and what its messages are handed to."""

from typing import TYPE_CHECKING

from zope.interface import Attribute, Interface

if TYPE_CHECKING:
    from ahpd.wire.codec import Frame


class IConnection(Interface):
    """One connection as the peer sees it: whole messages out, and a way to end it."""

    name: str = Attribute("Where the other side is, for the log: `127.0.0.1:51344`, `stdio`.")
    address: str | None = Attribute("The remote address its socket reported; None without one.")
    forwarded_for: str | None = Attribute(
        "`X-Forwarded-For` of the request it began with, as it came; None without one."
    )

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
