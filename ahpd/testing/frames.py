"""Holds a host to the shapes of AHP 1.0.0, frame by frame.

A `FrameChecker` watches one connection from both sides. It knows what the client
asked, so it knows what an answer has to look like, and it raises for the first thing
the host says that the protocol does not declare: an undeclared key, a missing one, a
value of another type, an answer nobody asked for.
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ahpd.protocol import errors
from ahpd.protocol.actions import ACTIONS, belongs_on
from ahpd.protocol.check import ShapeError, check, check_strict
from ahpd.protocol.client_uris import CLIENT_SCHEME
from ahpd.protocol.methods import COMMANDS, NOTIFICATIONS, is_extension
from ahpd.protocol.shapes import shape
from ahpd.protocol.uris import ChannelKind, canonical, kind_of, scheme

_ENVELOPE: Final = "envelopes.ActionEnvelope"
_SNAPSHOT: Final = "envelopes.Snapshot"
_RESPONSE: Final = "rpc.JsonRpcSuccessResponse"
_ERROR_RESPONSE: Final = "rpc.JsonRpcErrorResponse"
_REQUEST: Final = "rpc.JsonRpcRequest"
_NOTIFICATION: Final = "rpc.JsonRpcNotification"

#: What begins a connection.
_HANDSHAKES: Final = frozenset({"initialize", "reconnect"})

_ERROR_CODES: Final = frozenset(
    value for name, value in vars(errors).items() if name.isupper() and isinstance(value, int)
)
#: What answers a frame that could not be read well enough to be a request.
_UNREADABLE: Final = frozenset({errors.PARSE_ERROR, errors.INVALID_REQUEST})

#: The host's own actions that hold a client's words, which are shown as they were sent: a
#: queued message, messages of turns that are older, and the claims of terminals.
_SHOWS_CLIENTS_WORDS: Final = frozenset(
    {"chat/turnStarted", "chat/turnsLoaded", "root/terminalsChanged"}
)

_WATCH: Final = ChannelKind.RESOURCE_WATCH
#: What stands for a state that is no state of AHP where one is expected.
_ANY_STATE: Final[Mapping[str, Any]] = {"agents": []}

_Id = tuple[bool, Any]


@attrs.frozen
class _Asked:
    """A request of the client's."""

    method: str
    relayed: bool
    """Whether it is about another client's resource: the answer is that client's, verbatim."""


class FrameChecker:
    """Checks everything a host sends on one connection.

    Hand it each decoded message as it passes: `client_sent` and `host_sent`. Messages
    of extension methods pass unchecked. It may see one connection after another: a
    handshake begins a new one.

    A host asks a client the `resource*` requests and for watches, and subscribes to a
    watch it was answered, no other channel. What a client answers about its resources is
    passed on verbatim: such an error may have any code and data.

    `foreign` is for tests whose clients send what 1.0.0 does not declare: a host shows
    that as it was sent, so clients' actions, states, results, notifications and what is
    asked of a client are then checked leniently. The host's own actions and its errors
    stay strict, but for the actions a client's message or claim comes back in.
    """

    def __init__(self, foreign: bool = False) -> None:
        self._check_shown = check if foreign else check_strict
        self._asked: dict[_Id, list[_Asked]] = {}
        self._host_asked: dict[_Id, str] = {}
        """The methods of the host's own requests, by their ids."""
        self._watches: dict[str, bool] = {}
        """The watches the client made for the host, and whether the host subscribed to each."""

    def client_sent(self, message: Any) -> None:
        """Note what the client sends. Never raises: a client may send anything."""
        if not isinstance(message, dict):
            return
        method, identifier = message.get("method"), message.get("id")
        if isinstance(method, str) and _is_id(identifier):
            if method in _HANDSHAKES:
                self._host_asked.clear()
                self._watches.clear()
            asked = _Asked(method, _is_relayed(method, message.get("params")))
            self._asked.setdefault(_key(identifier), []).append(asked)
        elif method is None and _is_id(identifier):
            self._client_answered(self._host_asked.pop(_key(identifier), None), message)

    def _client_answered(self, method: str | None, message: dict[str, Any]) -> None:
        result = message.get("result")
        channel = result.get("channel") if isinstance(result, dict) else None
        if method == "createResourceWatch" and isinstance(channel, str):
            self._watches.setdefault(canonical(channel), False)

    def host_sent(self, message: Any) -> None:
        """Raise `AssertionError`, naming the frame and the path, unless the host may send this."""
        try:
            self._host_sent(message)
        except ShapeError as error:
            raise AssertionError(f"the host sent what AHP does not declare: {error}") from None

    def unanswered(self) -> list[str]:
        """The methods of the client's requests that have no answer yet."""
        return [asked.method for waiting in self._asked.values() for asked in waiting]

    def unanswered_by_client(self) -> list[str]:
        """The methods of the host's requests that have no answer yet."""
        return list(self._host_asked.values())

    def _host_sent(self, message: Any) -> None:
        if not isinstance(message, dict):
            raise ShapeError("message", type(message).__name__, "an object")
        if "method" in message:
            self._called(message)
        elif "error" in message:
            self._failed(message)
        else:
            self._answered(message)

    # -- answers --------------------------------------------------------------

    def _answered(self, message: dict[str, Any]) -> None:
        check_strict(message, shape(_RESPONSE), at="response")
        asked = self._taken(message["id"])
        if asked is None:
            raise ShapeError("response.id", repr(message["id"]), "the id of a waiting request")
        method = asked.method
        if is_extension(method):
            return
        if method not in COMMANDS:
            raise ShapeError(method, "a result", "an error, for a method AHP does not have")
        at = f"{method}.result"
        result = message["result"]
        self._check_contents(result, at)
        # The states and actions inside were held to shapes of their own, by their kind.
        self._check_shown(_without_extensions(result), COMMANDS[method].result, at)

    def _failed(self, message: dict[str, Any]) -> None:
        check_strict(message, shape(_ERROR_RESPONSE), at="response")
        identifier, error = message["id"], message["error"]
        asked = None if identifier is None else self._taken(identifier)
        code = error["code"]
        if asked is None and code not in _UNREADABLE:
            raise ShapeError("response.id", repr(identifier), "the id of a waiting request")
        if asked is not None and (is_extension(asked.method) or asked.relayed):
            return
        at = f"{'response' if asked is None else asked.method}.error"
        if code not in _ERROR_CODES:
            raise ShapeError(f"{at}.code", repr(code), "a code of JSON-RPC or of AHP")
        data_shape = shape("rpc.ERROR_DATA").get(code)
        if data_shape is not None:
            check_strict(error.get("data"), data_shape, f"{at}.data")

    def _taken(self, identifier: Any) -> _Asked | None:
        """The request an answer is to, which then waits no longer."""
        key = _key(identifier)
        waiting = self._asked.get(key)
        if not waiting:
            return None
        asked = waiting.pop(0)
        if not waiting:
            del self._asked[key]
        return asked

    # -- requests and notifications of the host -------------------------------

    def _called(self, message: dict[str, Any]) -> None:
        method = message["method"]
        is_request = "id" in message
        check_strict(message, shape(_REQUEST if is_request else _NOTIFICATION), at="message")
        if is_request:
            self._note_request(method, message["id"])
        if is_extension(method):
            return
        if is_request:
            self._check_request(method, message.get("params"))
        else:
            self._check_notification(method, message.get("params"))

    def _note_request(self, method: str, identifier: Any) -> None:
        if _key(identifier) in self._host_asked:
            raise ShapeError("message.id", repr(identifier), "an id that no request waits under")
        self._host_asked[_key(identifier)] = method

    def _check_request(self, method: str, params: Any) -> None:
        command = COMMANDS.get(method)
        if command is None or not (command.direction == "both" or method == "subscribe"):
            raise ShapeError("message.method", repr(method), "a request a client serves")
        # It may be another client's request that is passed on, with what that client added.
        self._check_shown(params, command.params, f"{method}.params")
        if method == "subscribe":
            self._watches[self._client_watch(params["channel"], "subscribe")] = True

    def _check_notification(self, method: str, params: Any) -> None:
        notification = NOTIFICATIONS.get(method)
        if notification is not None and method == "unsubscribe":
            check_strict(params, notification.params, f"{method}.params")
            watch = self._client_watch(params["channel"], method)
            if not self._watches.pop(watch):
                raise ShapeError(f"{method}.params.channel", repr(watch), "one it subscribed to")
            return
        if notification is None or notification.direction != "server":
            raise ShapeError("message.method", repr(method), "a notification a host sends")
        if method == "action":
            self._check_envelope(params, "action.params")
        else:
            self._check_shown(params, notification.params, f"{method}.params")

    def _client_watch(self, channel: str, method: str) -> str:
        """The client's own watch of that name: a host may subscribe to nothing else of it."""
        if canonical(channel) not in self._watches or kind_of(channel) != _WATCH:
            words = "a watch this client made for the host"
            raise ShapeError(f"{method}.params.channel", repr(channel), words)
        return canonical(channel)

    # -- what travels inside --------------------------------------------------

    def _check_contents(self, result: Any, at: str) -> None:
        """Check the snapshots and envelopes of a result, where it has any."""
        if not isinstance(result, Mapping):
            return
        if "snapshot" in result:
            self._check_snapshot(result["snapshot"], f"{at}.snapshot")
        for name, look in (("snapshots", self._check_snapshot), ("actions", self._check_envelope)):
            members = result.get(name)
            if isinstance(members, list):
                for index, member in enumerate(members):
                    look(member, f"{at}.{name}[{index}]")

    def _check_snapshot(self, snapshot: Any, at: str) -> None:
        """By the kind of channel, whose words say more than "none of the ten states"."""
        if not isinstance(snapshot, Mapping) or not isinstance(snapshot.get("resource"), str):
            check_strict(snapshot, shape(_SNAPSHOT), at)
            return
        kind = kind_of(snapshot["resource"])
        if kind is ChannelKind.EXTENSION:
            if not isinstance(snapshot.get("state"), dict):
                raise ShapeError(f"{at}.state", type(snapshot.get("state")).__name__, "an object")
            check_strict({**snapshot, "state": _ANY_STATE}, shape(_SNAPSHOT), at)
            return
        if kind is None:
            raise ShapeError(f"{at}.resource", repr(snapshot["resource"]), "a channel with a state")
        self._check_shown(snapshot.get("state"), shape("envelopes.STATES")[kind], f"{at}.state")
        self._check_shown(snapshot, shape(_SNAPSHOT), at)

    def _check_envelope(self, envelope: Any, at: str) -> None:
        check_strict(envelope, shape(_ENVELOPE), at)
        if "rejectionReason" in envelope:
            # A refused action is shown as it was sent, and may be wrong in any way.
            if "origin" not in envelope:
                raise ShapeError(f"{at}.origin", "nothing", "the client whose action was refused")
            return
        action = envelope["action"]
        if kind_of(envelope["channel"]) is ChannelKind.EXTENSION:
            prefix = f"{scheme(envelope['channel'])}/"
            if "origin" in envelope or not action["type"].startswith(prefix):
                raise ShapeError(f"{at}.action.type", repr(action["type"]), f"one of {prefix}")
            return
        spec = ACTIONS.get(action["type"])
        if spec is None:
            raise ShapeError(f"{at}.action.type", repr(action["type"]), "an action of AHP")
        kind = kind_of(envelope["channel"])
        if kind is None or not belongs_on(spec.type, kind):
            raise ShapeError(
                f"{at}.channel", repr(envelope["channel"]), f"{spec.kind.value} channel"
            )
        if "origin" in envelope and not spec.client_dispatchable:
            raise ShapeError(f"{at}.origin", f"one on {spec.type}", "none on a host's action")
        if "origin" in envelope or spec.type in _SHOWS_CLIENTS_WORDS:
            self._check_shown(action, spec.shape, f"{at}.action")
        else:
            check_strict(action, spec.shape, f"{at}.action")


def _without_extensions(result: Any) -> Any:
    """A result whose snapshots of `x-` channels, which may hold any state, hold a plain one."""
    if not isinstance(result, Mapping):
        return result
    plain = dict(result)
    if "snapshot" in plain:
        plain["snapshot"] = _plain(plain["snapshot"])
    if isinstance(plain.get("snapshots"), list):
        plain["snapshots"] = [_plain(one) for one in plain["snapshots"]]
    return plain


def _plain(snapshot: Any) -> Any:
    resource = snapshot.get("resource") if isinstance(snapshot, Mapping) else None
    if isinstance(resource, str) and kind_of(resource) is ChannelKind.EXTENSION:
        return {**snapshot, "state": _ANY_STATE}
    return snapshot


def _is_id(identifier: Any) -> bool:
    return isinstance(identifier, (str, int, float)) and not isinstance(identifier, bool)


def _key(identifier: Any) -> _Id:
    """Ids 1 and "1" are two; 1 and 1.0 are one number."""
    return isinstance(identifier, str), identifier


def _is_relayed(method: str, params: Any) -> bool:
    """Whether a request is passed on to another client (AHP.txt, "Server-to-client commands")."""
    if not method.startswith("resource") or not isinstance(params, Mapping):
        return False
    uri = params.get("uri", params.get("source"))
    return isinstance(uri, str) and scheme(uri) == CLIENT_SCHEME
