"""Which token a session may spend: what was lent by the connections of whoever asked for it.

A token stays with its connection and goes with it. A session spends those of the client that
asked for it last: that made it, or sent a message to it. An MCP server of a session spends those
of the clients that watch the session too.

Source: AHP.txt, `authenticate`, `auth/required` and "Authentication".
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ahpd.credentials.askers import Askers
from ahpd.credentials.lent import Lent, LentTokens, Target
from ahpd.interfaces import IClientConnection, IEvents
from ahpd.protocol import State
from ahpd.protocol.errors import auth_required, invalid_params
from ahpd.protocol.uris import ROOT

_MCP_SERVER: Final = "mcpServer"

#: The longest token, in characters.
LONGEST_TOKEN: Final = 64 * 1024
#: How many scopes one token may name, and how long each may be.
MOST_SCOPES: Final = 256
LONGEST_SCOPE: Final = 1024
#: A token that says it is good for longer than this many seconds is good for ever.
FOR_EVER: Final = 100 * 365 * 24 * 3600


class Advertised(Protocol):
    """What this host says may be signed in to."""

    def of_agents(self) -> Iterable[Mapping[str, Any]]:
        """The resources of its agents (schema: ProtectedResourceMetadata)."""

    def of_sessions(
        self, watched: Collection[str] | None
    ) -> Iterable[tuple[str, Mapping[str, Any]]]:
        """A session's URI and a resource that something in it waits for now, each such pair.

        Of the sessions among `watched` alone, where that is given.
        """

    def server(self, session: str, server: str) -> str | None:
        """The URI a session is held under that has an MCP server of this id; None where none."""


class Credentials:
    """The tokens lent by every connection of this host.

    `connections` answers those of a client that are open, the newest last; `watchers` the
    clients that watch a session and `watched` the sessions a connection watches. `signed_in` is
    told of a resource (and the MCP server of a session it is for, where it is for one) that a
    token came for. `starting` answers the id a message of a chat waited under whose turn begins
    just now and is not said yet.
    """

    def __init__(
        self,
        clock: IReactorTime,
        advertised: Advertised,
        connections: Callable[[str], Sequence[IClientConnection]],
        watchers: Callable[[str], Iterable[str]],
        watched: Callable[[IClientConnection], Collection[str]],
        signed_in: Callable[[str, Target | None], None] = lambda resource, target: None,
        starting: Callable[[str], str | None] = lambda chat: None,
    ) -> None:
        self._clock = clock
        self._advertised = advertised
        self._connections = connections
        self._watchers = watchers
        self._watched = watched
        self._signed_in = signed_in
        self._lent: dict[int, LentTokens] = {}
        self._timers: dict[int, dict[Lent, IDelayedCall]] = {}
        self._starting = starting
        self.askers = Askers()
        #: Who is told of tokens that are lent; set by whoever composes the host.
        self.events: IEvents | None = None

    # -- what connections say -----------------------------------------------------------

    def authenticate(self, caller: IClientConnection, params: Mapping[str, Any]) -> None:
        """Keep or take back a token.

        Raises `RpcError` -32602 for what nobody advertised and for what is no token.
        """
        resource, token = params["resource"], params["token"]
        scopes, lasts = params.get("scopes"), params.get("expiresIn")
        target = self._target(params.get("target"))
        if target is None and not self._is_advertised(resource):
            raise invalid_params(
                f"resource: this host advertises no protected resource {resource!r}"
            )
        _check_token(token)
        _check_scopes(scopes or ())
        connection = caller.connection_id
        tokens = self._lent.setdefault(connection, LentTokens())
        if not token:
            self._forget_timers(connection, tokens.take_back(resource, target))
            return
        if lasts is not None and lasts > FOR_EVER:
            lasts = None
        lent = Lent(
            resource=resource,
            token=token,
            scopes=None if scopes is None else frozenset(scopes),
            target=target,
            expires_at=None if lasts is None else self._clock.seconds() + lasts,
        )
        self._forget_timers(connection, tokens.put(lent))
        if lasts is not None:
            timers = self._timers.setdefault(connection, {})
            timers[lent] = self._clock.callLater(lasts, self._expired, caller, lent)
        if self.events is not None and self.events.listened("authenticated"):
            told = {"client": caller.record.client_id, "resource": resource}
            self.events.emit("authenticated", told)
        self._signed_in(resource, target)

    def gone(self, connection_id: int) -> None:
        """A connection closed: its tokens go with it."""
        self._lent.pop(connection_id, None)
        self._forget_timers(connection_id, tuple(self._timers.get(connection_id, ())))
        self._timers.pop(connection_id, None)

    def stop(self) -> None:
        """Forget everything."""
        for connection_id in tuple(self._lent):
            self.gone(connection_id)
        self.askers.clear()

    def _forget_timers(self, connection_id: int, gone: Iterable[Lent]) -> None:
        timers = self._timers.get(connection_id, {})
        for lent in gone:
            timer = timers.pop(lent, None)
            if timer is not None and timer.active():  # a host that stops took it off its clock
                timer.cancel()

    def _target(self, target: Mapping[str, Any] | None) -> Target | None:
        if target is None:
            return None
        if target.get("kind") != _MCP_SERVER:
            raise invalid_params("Unsupported authentication target kind")
        session = target.get("session", target.get("channel"))
        server = target.get("id", target.get("serverId"))
        held = None
        if isinstance(session, str) and isinstance(server, str):
            held = self._advertised.server(session, server)
        if held is None:
            raise invalid_params(
                "Authentication target must identify an MCP server in an existing session"
            )
        assert isinstance(server, str)
        return Target(session=held, server=server)

    def _is_advertised(self, resource: str) -> bool:
        # Of the agents first, with no look at every session there is.
        return self._is_an_agent_s(resource) or self._record(resource, None) is not None

    def _is_an_agent_s(self, resource: str) -> bool:
        return any(record["resource"] == resource for record in self._advertised.of_agents())

    def _record(
        self, resource: str, watched: Collection[str] | None
    ) -> tuple[str, Mapping[str, Any]] | None:
        """The channel a resource is waited for on, and what is known of it."""
        for session, record in self._advertised.of_sessions(watched):
            if record["resource"] == resource:
                return session, record
        for record in self._advertised.of_agents():
            if record["resource"] == resource:
                return ROOT, record
        return None

    def _expired(self, caller: IClientConnection, lent: Lent) -> None:
        self._timers.get(caller.connection_id, {}).pop(lent, None)
        tokens = self._lent.get(caller.connection_id)
        if tokens is None or not tokens.drop(lent):
            return
        found = self._record(lent.resource, self._watched(caller))
        channel, record = (ROOT, {"resource": lent.resource}) if found is None else found
        params: State = {"channel": channel, "resource": dict(record), "reason": "expired"}
        caller.send_notification("auth/required", params)

    # -- what sessions spend ------------------------------------------------------------

    def spent(
        self, session: str, chat: str, resource: str, server: str | None = None
    ) -> str | None:
        """The token a chat of a session spends for a resource; None where nobody lent one.

        With `server` it is that MCP server of the session's that spends it.
        """
        clients = self.askers.of(session, chat, self._starting(chat))
        target = None
        if server is not None:
            target = Target(session=session, server=server)
            clients += self._watchers(session)
        for client in dict.fromkeys(clients):
            found = self._of(client, resource, target)
            if found is not None:
                return found
        return None

    def lends(self, caller_id: int, resource: str) -> bool:
        """Whether a connection lent a token for a resource that is good now."""
        tokens = self._lent.get(caller_id)
        return tokens is not None and self._pick(tokens, resource, None) is not None

    def _of(self, client: str, resource: str, target: Target | None) -> str | None:
        for connection in reversed(self._connections(client)):
            tokens = self._lent.get(connection.connection_id)
            found = None if tokens is None else self._pick(tokens, resource, target)
            if found is not None:
                return found
        return None

    def _pick(self, tokens: LentTokens, resource: str, target: Target | None) -> str | None:
        found = self._record(resource, None)
        wanted = () if found is None else found[1].get("scopes_supported") or ()
        # A server says itself what it is: one that calls itself by an agent's resource is not
        # given what was lent to the agent.
        shared = target is None or not self._is_an_agent_s(resource)
        return tokens.spent_for(resource, wanted, self._clock.seconds(), target, shared)


def _check_token(token: str) -> None:
    """A token is spent in a header of somebody's request: what would be another one is none."""
    if len(token) > LONGEST_TOKEN:
        raise invalid_params(
            f"token: found {len(token)} characters, at most {LONGEST_TOKEN} are taken"
        )
    if not (token.isascii() and token.isprintable()):
        raise invalid_params("token: expected printable ASCII characters alone")


def _check_scopes(scopes: Sequence[str]) -> None:
    if len(scopes) > MOST_SCOPES:
        raise invalid_params(f"scopes: found {len(scopes)}, at most {MOST_SCOPES} are taken")
    if any(len(scope) > LONGEST_SCOPE for scope in scopes):
        raise invalid_params(f"scopes: one is longer than {LONGEST_SCOPE} characters")


def required_resources(
    info: Mapping[str, Any], lends: Callable[[str], bool]
) -> list[Mapping[str, Any]]:
    """The resources an agent (schema: AgentInfo) cannot be used without, and nobody lent for."""
    return [
        record
        for record in info.get("protectedResources") or ()
        if record.get("required", True) is not False and not lends(record["resource"])
    ]


def refuse_without(info: Mapping[str, Any], credentials: Credentials, connection_id: int) -> None:
    """Raise `RpcError` -32007 where a connection may not use an agent before it signs in."""
    missing = required_resources(info, partial(credentials.lends, connection_id))
    if missing:
        named = ", ".join(record.get("resource_name") or record["resource"] for record in missing)
        raise auth_required(f"Agent {info['provider']} needs a sign-in first: {named}", missing)
