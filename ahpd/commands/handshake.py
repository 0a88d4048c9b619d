"""`ping`, `initialize` and `reconnect` (AHP.txt, Commands and its opening)."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from twisted.internet.defer import Deferred, DeferredList
from twisted.logger import Logger

from ahpd.channels.directory import ChannelDirectory
from ahpd.channels.envelope import Envelope
from ahpd.channels.store import ChannelStore
from ahpd.commands.entering import Entering
from ahpd.commands.subscriptions import Result, Subscriptions, followed
from ahpd.interfaces import ClientRecord, Command, IAddresses, IPresence
from ahpd.peers.clients import ClientRegistry
from ahpd.peers.older_windows import OlderWindow, older_window
from ahpd.peers.peer import Peer
from ahpd.protocol import State
from ahpd.protocol.errors import (
    INVALID_REQUEST,
    NOT_FOUND,
    RpcError,
    internal_error,
    invalid_params,
)
from ahpd.protocol.locales import locale_of
from ahpd.protocol.uris import ChannelKind, canonical, kind_of
from ahpd.protocol.versions import negotiate
from ahpd.wire.codec import encoded_array

log = Logger()

#: A first subscription to one of these whose state is not held here is taken
#: without a snapshot, and its client is owed one at its reconnect.
_OWED_KINDS = frozenset({ChannelKind.SESSION, ChannelKind.CHAT, ChannelKind.TERMINAL})

#: A client's id is in every envelope of what it does, for everybody, and in the log.
_LONGEST_CLIENT_ID = 256


class Handshake:
    """How a connection becomes a client's. `describe()` is what the host says of itself.

    `describe` answers the InitializeResult's optional members: `serverInfo`,
    `defaultDirectory` and whatever this host was given. `presence` is told of each client
    that came back; `addresses` says what an older window can be shown.
    """

    def __init__(
        self,
        store: ChannelStore,
        directory: ChannelDirectory,
        subscriptions: Subscriptions,
        clients: ClientRegistry,
        describe: Callable[[], State],
        presence: IPresence | None = None,
        addresses: IAddresses | None = None,
    ) -> None:
        self._store = store
        self._directory = directory
        self._subscriptions = subscriptions
        self._clients = clients
        self._describe = describe
        self._presence = presence
        self._addresses = addresses

    def commands(self) -> Mapping[str, Command]:
        """The requests served here, by method."""
        return {"ping": self.ping, "initialize": self.initialize, "reconnect": self.reconnect}

    def ping(self, peer: Peer, params: dict[str, Any]) -> None:
        """A round trip, before the handshake too."""

    # -- initialize -----------------------------------------------------------

    def initialize(self, peer: Peer, params: dict[str, Any]) -> Result | Awaitable[Result]:
        """An InitializeResult, with the snapshots of the first subscriptions in it."""
        _only_once(peer)
        version = negotiate(params["protocolVersions"])
        client_id = _client_id(params)
        info, locale = params.get("clientInfo"), locale_of(params.get("locale"))
        record = self._clients.introduce(client_id, version, info, locale)
        peer.agree(record, version, locale, self._window(record, params))
        self._clients.connected(record, version, peer)
        log.info("{who} speaks {version}", who=peer.name, version=version)
        channels = [
            channel
            for channel in dict.fromkeys(params.get("initialSubscriptions") or ())
            if self._sees(peer, channel)
        ]
        entering = Entering(self._subscriptions.extensions, peer, channels)
        waking = self._wake(
            (channel for channel in channels if not self._is_owed(channel)), entering
        )
        if waking is None:
            return self._introduced(peer, channels, entering)
        return self._introduced_later(peer, channels, entering, waking)

    async def _introduced_later(
        self, peer: Peer, channels: list[str], entering: Entering, waking: Awaitable[Any]
    ) -> Result:
        await waking
        _still_here(peer, entering)
        return self._introduced(peer, channels, entering)

    def _introduced(self, peer: Peer, channels: list[str], entering: Entering) -> Result:
        snapshots: list[State] = []
        behind: list[Envelope] = []
        for channel in channels:
            name = self._directory.resolve(channel)
            taken = entering.taken.get(channel)
            if taken is not None:
                snapshot, missed = self._subscriptions.take(peer, channel, taken)
                snapshots.append(snapshot)
                behind += missed
            elif name is not None and self._store.is_open(name):
                snapshots.append(self._subscriptions.join(peer, name, channel))
            elif self._is_owed(channel):
                held_under = name or canonical(channel)
                self._subscriptions.watch(peer, held_under)
                peer.agreed().owe(held_under)
        result = {
            "protocolVersion": peer.version,
            "serverSeq": self._store.server_seq,
            "snapshots": snapshots,
            **self._describe(),
        }
        return followed(result, peer, behind)

    def _is_owed(self, channel: str) -> bool:
        name = self._directory.resolve(channel) or canonical(channel)
        return kind_of(name) in _OWED_KINDS and not self._store.is_open(name)

    # -- reconnect ------------------------------------------------------------

    def reconnect(self, peer: Peer, params: dict[str, Any]) -> Result | Awaitable[Result]:
        """A ReconnectResult: what was missed, or whole snapshots where that is not held."""
        _only_once(peer)
        client_id = _client_id(params)
        record = self._clients.find(client_id)
        if record is None:
            raise RpcError(NOT_FOUND, f"Reconnect client not found: {client_id}")
        locale = locale_of((params.get("_meta") or {}).get("ahpd.locale"))
        # What an extension shows may be in the language it was read in.
        relocated = locale is not None and locale != record.locale
        if locale is not None:
            record.locale = locale
        version = record.version
        peer.agree(record, version, record.locale, self._window(record, params))
        self._clients.connected(record, version, peer)
        log.info("{who} is back, {version}", who=peer.name, version=version)
        entering = Entering(self._subscriptions.extensions, peer, params["subscriptions"])
        waking = self._wake(params["subscriptions"], entering)
        if waking is None:
            return self._rejoined(peer, params, entering, relocated)
        return self._rejoined_later(peer, params, entering, relocated, waking)

    async def _rejoined_later(
        self,
        peer: Peer,
        params: dict[str, Any],
        entering: Entering,
        relocated: bool,
        waking: Awaitable[Any],
    ) -> Result:
        await waking
        _still_here(peer, entering)
        return self._rejoined(peer, params, entering, relocated)

    def _rejoined(
        self, peer: Peer, params: dict[str, Any], entering: Entering, relocated: bool
    ) -> Result:
        """Join every channel at once, so that nothing said meanwhile comes twice or not at all."""
        record = peer.agreed()
        joined: dict[str, str] = {}
        missing: list[str] = []
        for channel in dict.fromkeys(params["subscriptions"]):
            name = self._directory.resolve(channel)
            held = channel in entering.taken or (name is not None and self._store.is_open(name))
            if name is None or not peer.sees(name) or not held:
                missing.append(channel)
                record.settle(name or canonical(channel))
                continue
            joined[channel] = name
        names = set(joined.values())
        if self._presence is not None:
            # Before it watches anything: what follows is in the answer, and not told twice.
            self._presence.returned(record.client_id, names)
        last_seen = int(params["lastSeenServerSeq"])
        is_owed = record.is_owed(names) or (relocated and bool(entering.taken))
        snapshots: list[State] = []
        behind: list[Envelope] = []
        for channel, name in joined.items():
            taken = entering.taken.get(channel)
            if taken is None:
                self._subscriptions.watch(peer, name)
                continue
            snapshot, missed = self._subscriptions.take(peer, channel, taken)
            snapshots.append(snapshot)
            behind += missed
        record.settle(*names)
        if not is_owed and self._store.replay.covers(last_seen, self._store.server_seq):
            missed = self._store.replay.after(last_seen, names)
            actions = encoded_array(peer.replayed(missed))
            return {"type": "replay", "actions": actions, "missing": missing}
        record.owes_all = False
        snapshots += [
            self._subscriptions.snapshot(peer, name, channel)
            for channel, name in joined.items()
            if channel not in entering.taken
        ]
        return followed({"type": "snapshot", "snapshots": snapshots}, peer, behind)

    # -- both -----------------------------------------------------------------

    def _window(self, record: ClientRecord, params: dict[str, Any]) -> OlderWindow | None:
        if self._addresses is None:
            return None
        return older_window(record.info, params.get("_meta"), self._addresses)

    def _sees(self, peer: Peer, channel: str) -> bool:
        return peer.sees(self._directory.resolve(channel) or canonical(channel))

    def _wake(self, channels: Any, entering: Entering) -> Awaitable[Any] | None:
        """Wait for every channel that has to be woken or read; None where none has."""
        waiting = [Deferred.fromCoroutine(reading) for reading in entering.reading()]
        for channel in channels:
            waking = self._directory.reached(channel)
            if waking is not None:
                waiting.append(Deferred.fromCoroutine(_settled(channel, waking)))
        return DeferredList(waiting) if waiting else None


async def _settled(channel: str, waking: Awaitable[None]) -> None:
    try:
        await waking
    except RpcError as error:
        log.info("{channel} could not be opened: {words}", channel=channel, words=error.message)
    except Exception:
        log.failure("{channel} could not be opened", channel=channel)


def _only_once(peer: Peer) -> None:
    if peer.record is not None:
        raise RpcError(
            INVALID_REQUEST,
            f"This connection is client {peer.record.client_id}'s already; open another one",
        )


def _still_here(peer: Peer, entering: Entering) -> None:
    """Raise for a peer that went while something was waited for.

    Nobody reads the answer, so it settles no debt: the snapshots would be lost, and the
    client's next reconnect replayed onto nothing.
    """
    if not peer.connected:
        entering.drop()
        raise internal_error("The connection went before its handshake was answered")
    entering.drop_stale()


def _client_id(params: dict[str, Any]) -> str:
    client_id: str = params["clientId"]
    if not 0 < len(client_id) <= _LONGEST_CLIENT_ID:
        raise invalid_params(
            f"params.clientId: expected 1 to {_LONGEST_CLIENT_ID} characters, "
            f"found {len(client_id)}"
        )
    return client_id
