"""Watching what clients alone have: the client watches, and says what changed.

The client is asked for a watch and answers a channel of its own. This host subscribes to it
on that connection and takes what the client says there over the action envelope, as a
watch's changes go from receiver to caller. A client that drops and comes back is asked
again; what changed meanwhile nobody saw. A watch is let go of with `unsubscribe`, which is
the one handle the protocol has.

Source: AHP.txt, "Server-to-client commands" and `createResourceWatch`.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import attrs
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.interfaces import (
    Changed,
    ClientGone,
    Command,
    IClientConnection,
    IClients,
    IResourceWatcher,
    RpcError,
    WatchRequest,
)
from ahpd.peers.client_requests import GRACE, ClientRequests
from ahpd.protocol import State
from ahpd.protocol.check import ShapeError, check
from ahpd.protocol.client_uris import ClientUri, wrapped
from ahpd.protocol.errors import internal_error
from ahpd.protocol.shapes.envelopes import ActionEnvelope
from ahpd.protocol.shapes.resources import CreateResourceWatchResult, ResourceWatchChangedAction
from ahpd.protocol.uris import ROOT

log = Logger()

_CHANGED: Final = "resourceWatch/changed"
_KINDS: Final = frozenset({"added", "updated", "deleted"})


@attrs.frozen
class _Place:
    """A channel of one connection's. Watches of the same thing may be answered one channel."""

    connection: IClientConnection
    channel: str


class ClientWatches:
    """The watches over clients' resources, and the channels they are told on."""

    def __init__(self, clients: IClients, requests: ClientRequests) -> None:
        self._clients = clients
        self._requests = requests
        self._told: dict[_Place, dict[ClientWatch, None]] = {}
        self._watches: dict[ClientWatch, None] = {}

    def notifications(self) -> Mapping[str, Command]:
        """The notifications served here, by method."""
        return {"action": self.action}

    async def watch(
        self, target: ClientUri, request: WatchRequest, changed: Changed
    ) -> IResourceWatcher:
        """Have the client watch. Raises `RpcError` as `ClientRequests.ask` does."""
        params: State = {"channel": ROOT, **request.state(), "uri": target.uri}
        del params["root"]
        watch = ClientWatch(self, target, params, changed)
        try:
            await self.attach(watch, GRACE)
        except ClientGone:  # between the answer and the subscription: the watch went with it
            await self.attach(watch, GRACE)
        self._watches[watch] = None
        watch.follow(self._clients)
        return watch

    def action(self, connection: IClientConnection, params: dict[str, Any]) -> None:
        """A client says what happened on a channel of its own. Raises `ShapeError`."""
        check(params, ActionEnvelope, at="action")
        watches = self._told.get(_Place(connection, params["channel"]))
        if watches is None:
            log.debug(
                "client {client} said {type} on {channel}, which is not watched",
                client=connection.record.client_id,
                type=params["action"]["type"][:100],
                channel=params["channel"][:200],
            )
            return
        if params["action"]["type"] != _CHANGED:
            raise ShapeError("action.action.type", params["action"]["type"][:100], _CHANGED)
        check(params["action"], ResourceWatchChangedAction, at="action.action")
        items = params["action"]["changes"]["items"]
        changes = [_seen(connection.record.client_id, item, at) for at, item in enumerate(items)]
        if changes:
            for watch in tuple(watches):
                watch.tell(changes)

    async def attach(self, watch: "ClientWatch", grace: float) -> None:
        """Ask the client for the watch and subscribe to what it answers."""
        client_id = watch.target.client_id
        connection, answer = await self._requests.ask(
            client_id, "createResourceWatch", watch.params, grace=grace
        )
        try:
            check(answer, CreateResourceWatchResult, at="result")
        except ShapeError as error:
            words = f"The client's answer to createResourceWatch is none: {error}"
            raise internal_error(words) from None
        place = _Place(connection, answer["channel"])
        # Before it is subscribed: the first changes may come ahead of the answer.
        self._told.setdefault(place, {})[watch] = None
        watch.place = place
        try:
            await self._requests.ask_on(connection, "subscribe", {"channel": place.channel})
        except BaseException:
            self.leave(watch)
            raise
        if watch.released:  # meanwhile; only who is subscribed can let go of it
            self.leave(watch)

    def leave(self, watch: "ClientWatch") -> None:
        """Take the watch off its channel, and let go of a channel that was its last one's."""
        place, watch.place = watch.place, None
        if place is None:
            return
        watches = self._told[place]
        watches.pop(watch, None)
        if watches:
            return
        del self._told[place]
        if place.connection in self._clients.connections(watch.target.client_id):
            place.connection.send_notification("unsubscribe", {"channel": place.channel})

    def forget(self, watch: "ClientWatch") -> None:
        """The watch is over."""
        self._watches.pop(watch, None)
        self.leave(watch)

    def stop(self) -> None:
        """Let go of everything."""
        for watch in tuple(self._watches):
            watch.release()
            watch.cancel()


@implementer(IResourceWatcher)
class ClientWatch:
    """One watch of one client. It follows the client from connection to connection."""

    def __init__(
        self, watches: ClientWatches, target: ClientUri, params: State, changed: Changed
    ) -> None:
        self.target = target
        self.params = params
        self.place: _Place | None = None
        """Where the client says what changed; None while it is not here."""
        self.released = False
        self._watches = watches
        self._changed = changed
        self._attaching: Deferred[None] | None = None
        self._tried: IClientConnection | None = None
        self._stop_following: Callable[[], None] = lambda: None

    def tell(self, changes: list[State]) -> None:
        """The client saw `changes` (schema: ResourceChange, URIs under the client scheme)."""
        if not self.released:
            self._changed(changes)

    def follow(self, clients: IClients) -> None:
        """Ask again whenever the connection that watched is gone and another is there."""
        client_id = self.target.client_id

        def look() -> None:
            connections = clients.connections(client_id)
            if self.released or self._attaching is not None:
                return
            if self.place is not None and self.place.connection in connections:
                return
            self._watches.leave(self)
            if not connections or connections[-1] is self._tried:
                return
            self._tried = connections[-1]
            attaching = self._attaching = Deferred.fromCoroutine(self._again())

            def done(_: object) -> None:
                self._attaching = None
                look()

            attaching.addBoth(done)

        self._stop_following = clients.listen(client_id, look)
        look()

    async def _again(self) -> None:
        try:
            await self._watches.attach(self, 0.0)
        except (CancelledError, ClientGone):
            return  # the host stops, or the client's next connection is asked
        except RpcError as error:
            log.info(
                "client {client} is back and its watch of {uri} is not: {code} {words}",
                client=self.target.client_id,
                uri=self.target.uri[:200],
                code=error.code,
                words=error.message[:200],
            )
        except Exception:
            log.failure("{uri} could not be watched again", uri=self.target.uri[:200])

    def release(self) -> Awaitable[None]:
        """See `IResourceWatcher.release`. A watch that is being asked for goes once it came."""
        if not self.released:
            self.released = True
            self._stop_following()
            self._watches.forget(self)
        return succeed(None)

    def cancel(self) -> None:
        """Ask for nothing any more."""
        if self._attaching is not None:
            self._attaching.cancel()


def _seen(client_id: str, item: State, index: int) -> State:
    """A change as everybody else reads it. A kind nobody knows is an update."""
    try:
        uri = wrapped(client_id, item["uri"])
    except ValueError:
        at = f"action.action.changes.items[{index}].uri"
        raise ShapeError(at, "a string that is none", "a URI") from None
    return {"uri": uri, "type": item["type"] if item["type"] in _KINDS else "updated"}
