"""Every connection of the host: how one is made into a peer, and who is here."""

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from twisted.application.service import Service
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.channels.store import ChannelStore
from ahpd.interfaces import (
    Command,
    IConnection,
    IMessageHandler,
    IPeerFactory,
    ISubscriber,
    Reader,
)
from ahpd.peers.clients import ClientRegistry
from ahpd.peers.peer import Peer

log = Logger()

#: WebSocket close code of a host on its way out.
GOING_AWAY = 1001


class Attendance(Protocol):
    """Told of every connection."""

    def came(self, peer: Peer) -> None:
        """One was opened."""

    def introduced(self, peer: Peer) -> None:
        """Its handshake is through."""

    def went(self, peer: Peer) -> None:
        """It is gone, and what it watched is remembered."""


@implementer(IPeerFactory)
class _SignedIn:
    """Makes peers of connections that somebody is signed in on."""

    def __init__(self, hub: "PeerHub", reader: Reader) -> None:
        self._hub = hub
        self._reader = reader

    def accept(self, connection: IConnection) -> IMessageHandler:
        """See `IPeerFactory.accept`."""
        return self._hub.accept(connection, self._reader)


@implementer(IPeerFactory)
class PeerHub(Service):
    """Makes peers of connections. `gone` is told of each one that closes."""

    name = "peers"

    def __init__(
        self,
        clock: IReactorTime,
        store: ChannelStore,
        clients: ClientRegistry,
        queue_limit: Callable[[], int],
        gone: Callable[[Peer], None] = lambda peer: None,
    ) -> None:
        self._clock = clock
        self._store = store
        self._clients = clients
        self._queue_limit = queue_limit
        self._gone = gone
        store.on_closed = self._channel_closed
        store.on_scheme_closed = clients.scheme_gone
        self._last_id = 0
        self._peers: dict[Peer, None] = {}
        self.attendance: Attendance | None = None
        """Who is told of connections; set before the first one."""
        self.commands: Mapping[str, Command] = {}
        self.notifications: Mapping[str, Command] = {}

    @property
    def peers(self) -> tuple[Peer, ...]:
        """The connections open now."""
        return tuple(self._peers)

    def serve(self, commands: Mapping[str, Command], notifications: Mapping[str, Command]) -> None:
        """What every later connection is served, by method."""
        self.commands = commands
        self.notifications = notifications

    def signed_in(self, reader: Reader) -> IPeerFactory:
        """Makes peers of connections on which `reader` is signed in from the start."""
        return _SignedIn(self, reader)

    def accept(self, connection: IConnection, reader: Reader | None = None) -> IMessageHandler:
        """A connection was admitted."""
        self._last_id += 1
        peer = Peer(
            connection,
            self._last_id,
            self._clock,
            self.commands,
            self.notifications,
            self._queue_limit,
            self._peer_closed,
        )
        peer.reader = reader
        self._peers[peer] = None
        log.info("{name} connected", name=connection.name)
        if self.attendance is not None:
            peer.on_agreed = self.attendance.introduced
            self.attendance.came(peer)
        return peer

    def _channel_closed(self, channel: str, watchers: Collection[ISubscriber]) -> None:
        """A channel is gone. Another may come under its URI, and what a client still holds
        of the first is no ground to replay the second one's actions onto."""
        watching = set(watchers)
        for peer in self._peers:
            if peer in watching and peer.record is not None:
                peer.set_window(channel, 0)
                peer.record.owe(channel)
        self._clients.channel_gone(channel)

    def _peer_closed(self, peer: Peer) -> None:
        self._peers.pop(peer, None)
        watched = self._store.leave(peer)
        if peer.record is not None:
            self._clients.disconnected(peer.record, peer.version, watched, peer)
        self._gone(peer)
        if self.attendance is not None:
            self.attendance.went(peer)

    def stopService(self) -> None:
        """Say goodbye to whoever a transport has not closed yet."""
        super().stopService()  # type: ignore[no-untyped-call]
        for peer in self.peers:
            peer.close(GOING_AWAY, "The host is stopping")
