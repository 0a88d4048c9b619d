"""Who is in a session: the entries of `activeClients`, and when a client has left.

An entry is held under the `clientId` it carries. It is set and taken out by clients as
they say, and taken out by the host once its client has left: when it watches neither the
session nor any of its chats on any connection any more, because it unsubscribed, because
it came back without them, or because it has been gone for 30 seconds. An entry that names
no client stays, and so does that of a client that has not watched anything so far and is
still connected.

Source: AHP.txt, `session/activeClientSet`, `session/activeClientRemoved` and "Sessions and
the catalogue" (who else is here).
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from zope.interface import implementer

from ahpd.channels.envelope import Envelope
from ahpd.channels.store import ChannelStore
from ahpd.interfaces import DISCONNECT_WINDOW, IClients, IPresence
from ahpd.protocol import Action, State


class Peopled(Protocol):
    """A session, as its clients are counted."""

    uri: str

    @property
    def chats(self) -> Mapping[str, Any]:
        """Its chats by their URIs."""

    @property
    def state(self) -> State:
        """The session's state (schema: SessionState)."""

    def say(self, action: Action) -> None:
        """Say an action of the host's own on the session's channel."""


@implementer(IPresence)
class Presence:
    """Keeps the entries of all sessions in step with who is here.

    `find` knows the session a channel, a session's or a chat's, belongs to. Without
    `clients` nobody is known to be connected, which is right for a test alone.
    """

    def __init__(
        self,
        store: ChannelStore,
        clock: IReactorTime,
        clients: IClients | None,
        find: Callable[[str], Peopled | None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._clients = clients
        self._find = find
        self._sessions: dict[str, dict[str, Peopled]] = {}
        """By client id, then by session URI: where the client has an entry."""
        self._clocks: dict[str, IDelayedCall] = {}
        self._stopped = False

    # -- what a session tells -----------------------------------------------------------

    def entered(self, session: Peopled) -> None:
        """A session is held from now on, with the entries its state has.

        Those of clients that are not here, kept from an earlier life of the host, have the
        time to come back that any client has.
        """
        for entry in session.state["activeClients"]:
            client_id = entry.get("clientId")
            if client_id is not None:
                self._note(client_id, session)
                gone = self._clients is not None and not self._clients.connections(client_id)
                if gone and client_id not in self._clocks:
                    self._start_clock(client_id)

    def left(self, session: Peopled) -> None:
        """A session is not held any more."""
        for client_id in [name for name, held in self._sessions.items() if session.uri in held]:
            self._forget(client_id, session.uri)

    def observe(self, session: Peopled, envelope: Envelope) -> None:
        """Something was applied on the session's channel."""
        match envelope.type:
            case "session/activeClientSet":
                client_id = envelope.action["activeClient"].get("clientId")
                if client_id is not None:
                    self._note(client_id, session)
            case "session/activeClientRemoved":
                self._forget(envelope.action["clientId"], session.uri)
            case "session/chatRemoved":
                self._chat_removed(session, envelope.action["chat"])

    def _note(self, client_id: str, session: Peopled) -> None:
        self._sessions.setdefault(client_id, {})[session.uri] = session

    def _forget(self, client_id: str, uri: str) -> None:
        held = self._sessions.get(client_id)
        if held is not None:
            held.pop(uri, None)
            if not held:
                del self._sessions[client_id]
                self._stop_clock(client_id)

    def _chat_removed(self, session: Peopled, chat: str) -> None:
        """A chat left the session: whoever watched that alone is not in the session any more."""
        for entry in session.state["activeClients"]:
            client_id = entry.get("clientId")
            if client_id is not None and self._watches(client_id, (chat,)):
                self._take_out_unless_watching(client_id, session)

    # -- what the connections tell (IPresence) ----------------------------------------------

    def unwatched(self, client_id: str, channel: str) -> None:
        """See `IPresence.unwatched`."""
        if client_id in self._sessions:
            session = self._find(channel)
            if session is not None and session.uri in self._sessions[client_id]:
                self._take_out_unless_watching(client_id, session)

    def gone(self, client_id: str) -> None:
        """See `IPresence.gone`."""
        if client_id in self._sessions:
            self._start_clock(client_id)

    def returned(self, client_id: str, channels: Collection[str]) -> None:
        """See `IPresence.returned`."""
        self._stop_clock(client_id)
        self._sweep(client_id, channels)

    def stop(self) -> None:
        """The host is going: nobody's time runs any more."""
        self._stopped = True
        for client_id in list(self._clocks):
            self._stop_clock(client_id)

    # -- one clock a client -------------------------------------------------------------------

    def _start_clock(self, client_id: str) -> None:
        """The client has its time from now on, in every session it is in."""
        self._stop_clock(client_id)
        if not self._stopped:
            self._clocks[client_id] = self._clock.callLater(
                DISCONNECT_WINDOW, self._overdue, client_id
            )

    def _stop_clock(self, client_id: str) -> None:
        clock = self._clocks.pop(client_id, None)
        if clock is not None:
            clock.cancel()

    def _overdue(self, client_id: str) -> None:
        del self._clocks[client_id]
        self._sweep(client_id)

    # -- taking out ---------------------------------------------------------------------------

    def _sweep(self, client_id: str, about_to_watch: Collection[str] = ()) -> None:
        for session in tuple(self._sessions.get(client_id, {}).values()):
            if not any(channel in about_to_watch for channel in (session.uri, *session.chats)):
                self._take_out_unless_watching(client_id, session)

    def _take_out_unless_watching(self, client_id: str, session: Peopled) -> None:
        if not self._watches(client_id, (session.uri, *session.chats)):
            session.say({"type": "session/activeClientRemoved", "clientId": client_id})

    def _watches(self, client_id: str, channels: Collection[str]) -> bool:
        if self._clients is None:
            return False
        return any(
            self._store.is_watching(channel, connection)
            for connection in self._clients.connections(client_id)
            for channel in channels
        )
