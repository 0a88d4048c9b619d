"""The host's side of a plugin under test: what it was asked, written down and answered.

`Asked` stands where a built host stands (`ahpd.plugins.world.HostSide`). It starts no session and
draws nothing: it checks what the host would check by itself, keeps what was asked in order, and
answers what a test told it to.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from inspect import isawaitable
from typing import Any

import attrs
from zope.interface import implementer

from ahpd.app.plugin_calls import check_names, sendable
from ahpd.canvases.claims import checked
from ahpd.interfaces import (
    Caller,
    ChatRequest,
    ClientGone,
    IChannelHandle,
    IConnectionToHost,
    PluginError,
    Reader,
    SessionRequest,
    Watching,
)
from ahpd.plugins.contribution import Contribution
from ahpd.protocol import Action, State
from ahpd.protocol.errors import NOT_FOUND, RpcError, invalid_params, method_not_found
from ahpd.protocol.json_values import misfit, object_copy
from ahpd.sessions.asked_for import checked_chat, checked_owner, checked_session

#: What a connection answers to a request, or does about a notification: a value, an exception that
#: is raised, or `answer(connection, params)`, which may be awaited.
Answer = Any


@attrs.frozen(kw_only=True)
class Published:
    """One action a plugin said on a channel of its own."""

    uri: str
    action: Action
    visible: Callable[[Reader | None, str], bool] | None = None
    to: str | None = None

    def reaches(self, watching: Watching) -> bool:
        """Whether somebody who watches the URI is sent it: one `visible` raises for is not."""
        if self.to not in (None, watching.client):
            return False
        try:
            return self.visible is None or bool(self.visible(watching.reader, watching.client))
        except Exception:
            return False


@implementer(IChannelHandle)
class RecordedChannel:
    """A channel that is served to whoever a test lets watch it."""

    def __init__(self, scheme: str) -> None:
        self.scheme = scheme
        self.published: list[Published] = []
        self.watching: list[tuple[str, Watching]] = []
        """Who watches which URI."""

    def publish(
        self,
        uri: str,
        action: Action,
        *,
        visible: Callable[[Reader | None, str], bool] | None = None,
        to: str | None = None,
    ) -> None:
        """See `IChannelHandle.publish`."""
        self._check(uri)
        kind = action.get("type") if isinstance(action, Mapping) else None
        if not isinstance(kind, str) or not kind.startswith(f"{self.scheme}/"):
            raise ValueError(f"{self.scheme}: {kind!r} is no action of this channel")
        copy = object_copy(action, f"{self.scheme}: action")
        self.published.append(Published(uri=uri, action=copy, visible=visible, to=to))

    def subscribers(self, uri: str) -> Sequence[Watching]:
        """See `IChannelHandle.subscribers`."""
        self._check(uri)
        return tuple(watching for watched, watching in self.watching if watched == uri)

    def join(self, uri: str, caller: Caller) -> bool:
        """Somebody watches a URI from now on. True where nobody did before."""
        first = not self.subscribers(uri)
        self.watching.append((uri, Watching(client=caller.client, reader=caller.reader)))
        return first

    def leave(self, client: str) -> None:
        """A client watches no URI any more."""
        self.watching = [one for one in self.watching if one[1].client != client]

    def seen_by(self, caller: Caller) -> list[Action]:
        """The actions that somebody who watches everything since the start was sent."""
        watching = Watching(client=caller.client, reader=caller.reader)
        return [said.action for said in self.published if said.reaches(watching)]

    def _check(self, uri: str) -> None:
        if not uri.startswith(f"{self.scheme}:"):
            raise ValueError(f"{self.scheme}: {uri!r} is no URI of this scheme")


@implementer(IConnectionToHost)
class RecordedConnection:
    """A connection of the plugin's to its host, answered by `answers`, by method."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.sent: list[tuple[str, State]] = []
        """Requests and notifications, in order."""
        self.closed = False
        self._answers = answers
        self._handlers: list[Callable[[State], object]] = []

    async def request(self, method: str, params: State) -> Any:
        """See `IConnectionToHost.request`."""
        if self.closed:
            raise ClientGone("The connection to this host is closed")
        _check_sent(params)
        self.sent.append((method, params))
        if method not in self._answers:
            raise method_not_found(method)
        answer = self._answer(method, params)
        return await answer if isawaitable(answer) else answer

    def notify(self, method: str, params: State) -> None:
        """See `IConnectionToHost.notify`."""
        if not self.closed:
            _check_sent(params)
            self.sent.append((method, params))
            if method in self._answers:
                self._answer(method, params)

    def on_message(self, handler: Callable[[State], object]) -> None:
        """See `IConnectionToHost.on_message`."""
        self._handlers.append(handler)

    def close(self) -> None:
        """See `IConnectionToHost.close`."""
        self.closed = True

    def tell(self, message: State) -> None:
        """Have the plugin hear a message of the host's."""
        for handler in tuple(self._handlers):
            handler(message)

    def _answer(self, method: str, params: State) -> Any:
        answer = self._answers[method]
        if isinstance(answer, Exception):
            raise answer
        return answer(self, params) if callable(answer) else answer


@attrs.define(eq=False)
class Asked:
    """Everything a plugin asked of its host."""

    contribution: Contribution
    """What the plugin registered."""
    answers: dict[str, Answer] = attrs.field(factory=lambda: {"initialize": {}})
    """What its connections answer, by method."""
    failures: dict[str, Exception] = attrs.field(factory=dict)
    """What a call raises in place of doing anything, by its name: `start_session`."""
    kept: dict[str, str | None] = attrs.field(factory=dict)
    """The sessions of this host by URI, and whose each is; those it starts are added."""
    started: list[SessionRequest] = attrs.field(factory=list)
    chats: list[tuple[str, ChatRequest]] = attrs.field(factory=list)
    """By the session each was started in."""
    canvases: dict[str, State] = attrs.field(factory=dict)
    """Those that are open, by their channel."""
    drawn: list[tuple[str, State]] = attrs.field(factory=list)
    """Every state a canvas was given, in order, with its channel."""
    usage: list[State] = attrs.field(factory=list)
    fired: list[tuple[str, str, Mapping[str, Any], str | None]] = attrs.field(factory=list)
    """`(type, event, data, owner)`."""
    automations: list[tuple[str, Mapping[str, Any], str | None]] = attrs.field(factory=list)
    meta_changed: list[str] = attrs.field(factory=list)
    connections: list[RecordedConnection] = attrs.field(factory=list)
    channels: dict[str, RecordedChannel] = attrs.field(factory=dict)
    """By scheme; one is there from when it was first spoken on or watched."""
    _chats_of: dict[str, str] = attrs.field(factory=dict)
    """The chat of each open canvas."""
    _numbers: Any = attrs.field(factory=lambda: itertools.count(1))

    def _called(self, name: str) -> None:
        if name in self.failures:
            raise self.failures[name]

    # -- sessions and chats -----------------------------------------------------------

    def connect(self, plugin: str, grants: Sequence[str]) -> IConnectionToHost:
        """See `IPluginHost.connect`."""
        self._called("connect")
        connection = RecordedConnection(self.answers)
        self.connections.append(connection)
        return connection

    async def start_session(self, plugin: str, request: SessionRequest) -> str:
        """See `IPluginHost.start_session`."""
        self._called("start_session")
        checked_owner(request)
        checked_session(request)
        self.started.append(request)
        session = f"ahp-session:/started-{next(self._numbers)}"
        self.kept[session] = request.owner
        return session

    async def start_chat(self, plugin: str, session: str, request: ChatRequest) -> str:
        """See `IPluginHost.start_chat`."""
        self._called("start_chat")
        if session not in self.kept:
            raise RpcError(-32001, f"Session not found: {session}")
        checked_chat(request)
        self.chats.append((session, request))
        return f"ahp-chat:/started-{next(self._numbers)}"

    async def session_kept(self, session: str) -> bool:
        """See `IPluginHost.session_kept`."""
        self._called("session_kept")
        return session in self.kept

    async def session_owner(self, session: str) -> str | None:
        """See `IPluginHost.session_owner`."""
        self._called("session_owner")
        return self.kept.get(session)

    def session_meta_changed(self, session: str) -> None:
        """See `IPluginHost.session_meta_changed`."""
        self._called("session_meta_changed")
        self.meta_changed.append(session)

    # -- canvases --------------------------------------------------------------------

    async def open_canvas(self, plugin: str, chat: str, state: State) -> str:
        """See `IPluginHost.open_canvas`: an instance that is open on the chat is drawn again."""
        self._called("open_canvas")
        claim = checked(state)
        for canvas, held in self.canvases.items():
            if (self._chats_of[canvas], held["instanceId"]) == (chat, claim["instanceId"]):
                self._draw(canvas, claim)
                return canvas
        canvas = f"ahp-canvas:/{next(self._numbers)}"
        self._chats_of[canvas] = chat
        self._draw(canvas, claim)
        return canvas

    def update_canvas(self, plugin: str, canvas: str, state: State) -> None:
        """See `IPluginHost.update_canvas`."""
        self._called("update_canvas")
        claim = checked(state)
        if canvas not in self.canvases:
            raise RpcError(NOT_FOUND, f"Canvas is no longer available: {canvas}")
        if claim["instanceId"] != self.canvases[canvas]["instanceId"]:
            raise invalid_params("instanceId: the canvas was opened under another one")
        self._draw(canvas, claim)

    def close_canvas(self, plugin: str, canvas: str) -> None:
        """See `IPluginHost.close_canvas`."""
        self._called("close_canvas")
        self.canvases.pop(canvas, None)

    def _draw(self, canvas: str, claim: State) -> None:
        self.canvases[canvas] = claim
        self.drawn.append((canvas, claim))

    # -- the rest --------------------------------------------------------------------

    async def record_usage(self, entry: State) -> None:
        """See `IPluginHost.record_usage`."""
        self._called("record_usage")
        self.usage.append(sendable(entry, "the usage entry"))

    def fire_trigger(
        self,
        plugin: str,
        type: str,  # noqa: A002
        event: str,
        data: Mapping[str, Any],
        owner: str | None,
    ) -> None:
        """See `IPluginHost.fire_trigger`."""
        self._called("fire_trigger")
        told = sendable(data, "the data of fire_trigger")
        check_names("fire_trigger", type=type, event=event, owner=owner)
        declared = self.contribution.trigger_types.get(type)
        if declared is None or event not in {one["id"] for one in declared.events}:
            raise PluginError(f"fire_trigger: {plugin} has no trigger type {type} with a {event}")
        self.fired.append((type, event, told, owner))

    def run_automation(
        self, plugin: str, automation: str, data: Mapping[str, Any], owner: str | None
    ) -> None:
        """See `IPluginHost.run_automation`."""
        self._called("run_automation")
        told = sendable(data, "the data of run_automation")
        check_names("run_automation", automation=automation, owner=owner)
        self.automations.append((automation, told, owner))

    def channel(self, plugin: str, scheme: str) -> IChannelHandle | None:
        """What the plugin's channel is spoken on; None for one it did not register."""
        return self.spoken(scheme) if scheme in self.contribution.channels else None

    def spoken(self, scheme: str) -> RecordedChannel:
        """What was said on a channel, and who watches it."""
        return self.channels.setdefault(scheme, RecordedChannel(scheme))


def _check_sent(params: State) -> None:
    found = misfit(params, "params")
    if found is not None:
        raise invalid_params(found)
