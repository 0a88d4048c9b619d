"""`dispatchAction`: what a client may send, in the order it sent it.

A client's dispatches wait for each other, across every connection of that client,
and on nothing but what the host must have before it can apply one (AHP.txt,
`dispatchAction`). One that is not acted on comes back with a `rejectionReason`.
"""

from collections import deque
from collections.abc import Awaitable, Mapping
from typing import Any, Final, TypedDict

import attrs
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ahpd.channels.directory import ChannelDirectory
from ahpd.channels.envelope import NarrowedAction, Origin, PluginOrigin
from ahpd.channels.store import ChannelStore
from ahpd.interfaces import Command, IActionHandler, Refusal
from ahpd.peers.peer import Peer
from ahpd.protocol import Action
from ahpd.protocol.actions import ACTIONS
from ahpd.protocol.check import ShapeError, check
from ahpd.protocol.errors import RpcError
from ahpd.protocol.uris import ChannelKind, canonical, kind_of
from ahpd.root.host_values import shown_refused
from ahpd.sessions.folders import (
    FOLDER_ACTIONS,
    NO_EDITOR,
    NO_SESSION_CHANNEL,
    is_editor_window,
)

log = Logger()

#: Actions a client may send and this host serves to nobody, in the reference host's words.
_UNSUPPORTED: Final = frozenset({"chat/workingDirectorySet", "chat/workingDirectoryRemoved"})

#: How many actions of one client may wait behind one that is waited for.
MAX_WAITING: Final = 10_000


class _Typed(TypedDict):
    type: str


class _Params(TypedDict):
    """What a dispatch needs to be answered at all; the action itself is checked by its type."""

    channel: str
    clientSeq: float
    action: _Typed


@attrs.frozen(eq=False, repr=False)
class _Dispatch:
    peer: Peer
    channel: str
    action: dict[str, Any]
    origin: Origin


@attrs.frozen
class _OneClient:
    """The connections of one client (`Audience`)."""

    client: str

    def reaches(self, subscriber: Any) -> bool:
        """Whether it is one of them."""
        record = getattr(subscriber, "record", None)
        return record is not None and record.client_id == self.client


class Dispatcher:
    """Routes each action to the domain that owns its channel. `handlers` by channel kind."""

    def __init__(self, store: ChannelStore, directory: ChannelDirectory) -> None:
        self._store = store
        self._directory = directory
        self._handlers: dict[ChannelKind, IActionHandler] = {}
        self._waiting: dict[str, deque[_Dispatch]] = {}

    def register(self, kind: ChannelKind, handler: IActionHandler) -> None:
        """`handler` decides what actions on channels of `kind` do."""
        self._handlers[kind] = handler

    def notifications(self) -> Mapping[str, Command]:
        """The notifications served here, by method."""
        return {"dispatchAction": self.dispatch_action}

    def dispatch_action(self, peer: Peer, params: dict[str, Any]) -> None:
        """One action of a client. Its answer is an `action` envelope, never a response.

        A notification whose own members are wrong names no action to answer, and
        raises `ShapeError` for the log.
        """
        check(params, _Params)
        channel, sequence, action = params["channel"], params["clientSeq"], params["action"]
        client_id = peer.agreed().client_id
        origin = {"clientId": client_id, "clientSeq": sequence}
        if peer.reader is not None and peer.reader.principal.startswith("plugin:"):
            origin = PluginOrigin(origin)
        dispatch = _Dispatch(peer, channel, action, origin)
        waiting = self._waiting.get(client_id)
        if waiting is not None:
            if len(waiting) < MAX_WAITING:
                waiting.append(dispatch)
            else:
                self._refuse(
                    dispatch, Refusal(f"{MAX_WAITING} actions of this client wait already.")
                )
            return
        pending = self._begin(dispatch)
        if pending is not None:
            self._waiting[client_id] = deque()
            draining = Deferred.fromCoroutine(self._drain(client_id, dispatch, pending))
            draining.addErrback(
                lambda failure: log.failure(
                    "what {client} dispatched could not be dealt with", failure, client=client_id
                )
            )

    async def _drain(self, client_id: str, dispatch: _Dispatch, pending: Awaitable[None]) -> None:
        """Finish one dispatch, then the ones that came behind it."""
        waiting = self._waiting[client_id]
        following: Awaitable[None] | None = pending
        try:
            while True:
                if following is not None:
                    await self._finish(dispatch, following)
                if not waiting:
                    break
                dispatch = waiting.popleft()
                following = self._begin(dispatch)
        finally:  # else the client's next dispatches would wait for ever
            del self._waiting[client_id]

    def _begin(self, dispatch: _Dispatch) -> Awaitable[None] | None:
        try:
            return self._route(dispatch)
        except Exception as error:
            self._refuse(dispatch, error)
            return None

    async def _finish(self, dispatch: _Dispatch, pending: Awaitable[None]) -> None:
        try:
            await pending
        except Exception as error:
            self._refuse(dispatch, error)

    def _route(self, dispatch: _Dispatch) -> Awaitable[None] | None:
        action: Action = dispatch.action
        if kind_of(dispatch.channel) is ChannelKind.EXTENSION:
            raise Refusal(f"{dispatch.channel[:200]} takes no actions of clients")
        spec = ACTIONS.get(action["type"])
        if spec is None or not spec.client_dispatchable:
            raise Refusal(f"Server-only action: {action['type']}")
        if action["type"] in _UNSUPPORTED:
            raise Refusal(f"Unsupported action: {action['type']}")
        check(action, spec.shape, at="action")
        kind = kind_of(canonical(dispatch.channel))
        if action["type"] in FOLDER_ACTIONS and kind is not ChannelKind.SESSION:
            editor = is_editor_window(dispatch.peer.agreed().info)
            raise Refusal(NO_SESSION_CHANNEL if editor else NO_EDITOR)
        handler = None if kind is None else self._handlers.get(kind)
        if handler is None:
            raise Refusal(f"{action['type']}: nothing here answers to {dispatch.channel[:200]}")
        return handler.handle(canonical(dispatch.channel), action, dispatch.origin)

    def _refuse(self, dispatch: _Dispatch, error: Exception) -> None:
        channel = self._directory.resolve(dispatch.channel) or canonical(dispatch.channel)
        if isinstance(error, Refusal):
            reason = error.reason
        elif isinstance(error, RpcError):
            reason = error.message
        elif isinstance(error, ShapeError):
            reason = str(error)
        else:
            log.failure("{type} on {channel} failed", type=dispatch.action["type"], channel=channel)
            reason = f"{dispatch.action['type']} failed; the host's log says why"
        log.debug(
            "refused {type} on {channel}: {reason}",
            type=dispatch.action["type"],
            channel=channel,
            reason=reason,
        )
        if kind_of(channel) is ChannelKind.EXTENSION:
            # Nobody else's business: who watches such a channel is told what is for them alone.
            audience = _OneClient(dispatch.origin["clientId"])
            refused = NarrowedAction(
                channel=channel,
                action=shown_refused(dispatch.action),
                audience=audience,
                origin=dispatch.origin,
                rejection=reason,
            )
            self._store.tell(refused, dispatch.peer)
            return
        shown = shown_refused(dispatch.action)
        self._store.refuse(channel, shown, dispatch.origin, reason, dispatch.peer)
