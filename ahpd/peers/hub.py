"""Every connection of the host: how one is made into a peer, and who is here."""

from collections.abc import Callable, Collection, Mapping

from twisted.application.service import Service
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.channels.store import ChannelStore
from ahpd.interfaces import Command, IConnection, IMessageHandler, IPeerFactory, ISubscriber
from ahpd.peers.clients import ClientRegistry
from ahpd.peers.peer import Peer

log = Logger()

#: WebSocket close code of a host on its way out.
GOING_AWAY = 1001


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
        self._last_id = 0
        self._peers: dict[Peer, None] = {}
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

    def accept(self, connection: IConnection) -> IMessageHandler:
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
        self._peers[peer] = None
        log.info("{name} connected", name=connection.name)
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

    def stopService(self) -> None:
        """Say goodbye to whoever a transport has not closed yet."""
        super().stopService()  # type: ignore[no-untyped-call]
        for peer in self.peers:
            peer.close(GOING_AWAY, "The host is stopping")
