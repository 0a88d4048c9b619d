"""The canvases of a host: pages plugins draw on chats, each a channel of its own.

A canvas is its plugin's, lives as long as its chat, and is kept nowhere: a chat that moves or
sleeps keeps its canvases, and none is there after a restart. Sources: PLUGINS.txt, "Showing a
canvas on a chat"; AHP.txt, `chat/canvasesChanged` and `canvas/stateChanged`.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
from twisted.application.service import Service

from ahpd.canvases.claims import checked, sayable
from ahpd.channels.store import ChannelStore
from ahpd.protocol import Action, State
from ahpd.protocol.errors import NOT_FOUND, RpcError, invalid_params
from ahpd.protocol.uris import ChannelKind, session_of_chat
from ahpd.protocol.uris import canvas as canvas_uri


@attrs.define(eq=False, repr=False)
class _Canvas:
    uri: str
    plugin: str
    chat: str
    state: State
    """As it was last said (schema: CanvasState)."""


class Canvases(Service):
    """`enabled` says whether a window turned canvases on. `reached` wakes the session of the chat
    of a URI and answers the chat's own, None for a chat no session holds; `ids` are new ids."""

    name = "canvases"

    def __init__(
        self,
        store: ChannelStore,
        enabled: Callable[[], bool],
        reached: Callable[[str], Awaitable[str | None]],
        ids: Callable[[], str],
    ) -> None:
        self._store = store
        self._enabled = enabled
        self._reached = reached
        self._ids = ids
        self._held: dict[str, _Canvas] = {}
        self._of_chats: dict[str, dict[str, _Canvas]] = {}
        """By chat and by the instance's id, in the order they were opened."""

    # -- what plugins ask ------------------------------------------------------------------

    async def open(self, plugin: str, chat: str, state: Mapping[str, Any]) -> str:
        """Show a canvas on a chat, or draw an open one again; its channel. Raises `RpcError`."""
        self._check_enabled()
        claim = checked(state)
        uri = await self._reached(sayable("chat", chat))
        if uri is None:
            session = session_of_chat(chat) or chat
            raise invalid_params(f"Canvas operation targeted a chat outside session '{session}'")
        held = self._of_chats.get(uri, {}).get(claim["instanceId"])
        if held is not None:
            self._check_owner(held, plugin)
            self._redraw(held, claim)
            return held.uri
        canvas = _Canvas(canvas_uri(uri, self._ids()), plugin, uri, claim)
        self._held[canvas.uri] = canvas
        self._of_chats.setdefault(uri, {})[claim["instanceId"]] = canvas
        # Ahead of the chat that lists it: who is told of it may subscribe to it.
        self._store.open(canvas.uri, ChannelKind.CANVAS, dict(claim))
        self._say_list(uri)
        return canvas.uri

    def update(self, plugin: str, canvas: str, state: Mapping[str, Any]) -> None:
        """Replace the state of a canvas, whole. Raises `RpcError`, -32008 for one that is gone."""
        self._check_enabled()
        held = self._held.get(sayable("canvas", canvas))
        if held is None:
            raise RpcError(NOT_FOUND, f"Canvas is no longer available: {canvas}")
        self._check_owner(held, plugin)
        claim = checked(state)
        if claim["instanceId"] != held.state["instanceId"]:
            raise invalid_params(
                f"instanceId: found {claim['instanceId']!r}, and the canvas was opened as "
                f"{held.state['instanceId']!r}"
            )
        self._redraw(held, claim)

    def close(self, plugin: str, canvas: str) -> None:
        """Take a canvas off its chat; one that is gone is no error. Raises `RpcError`."""
        self._check_enabled()
        held = self._held.get(sayable("canvas", canvas))
        if held is not None:
            self._check_owner(held, plugin)
            self._take_off([held])

    # -- what becomes of them ----------------------------------------------------------------

    def unloaded(self, plugin: str) -> None:
        """A plugin is gone, and what it drew with it, whether or not canvases are on."""
        self._take_off([held for held in self._held.values() if held.plugin == plugin])

    def chat_gone(self, chat: str) -> None:
        """A chat is gone for good: so is what was drawn on it."""
        for held in self._of_chats.pop(chat, {}).values():
            del self._held[held.uri]
            self._close(held)

    def of(self, chat: str) -> Sequence[State]:
        """What is drawn on a chat now (schema: CanvasReference), in the order it was opened."""
        return [{"resource": held.uri} for held in self._of_chats.get(chat, {}).values()]

    def _take_off(self, gone: Iterable[_Canvas]) -> None:
        chats = []
        for held in gone:
            del self._held[held.uri]
            of_chat = self._of_chats[held.chat]
            del of_chat[held.state["instanceId"]]
            if not of_chat:
                del self._of_chats[held.chat]
            chats.append(held)
        for chat in dict.fromkeys(held.chat for held in chats):
            self._say_list(chat)
        for held in chats:
            self._close(held)

    def _close(self, held: _Canvas) -> None:
        # Behind what was said on it and of it so far.
        self._store.behind(lambda: self._store.close(held.uri))

    # -- what is said --------------------------------------------------------------------------

    def _redraw(self, held: _Canvas, claim: State) -> None:
        if claim != held.state:
            held.state = claim
            self._store.dispatch(held.uri, {"type": "canvas/stateChanged", "canvas": claim})

    def _say_list(self, chat: str) -> None:
        """Say the whole list of a chat; of one that is asleep it is said to who comes back to it."""
        action: Action = {"type": "chat/canvasesChanged"}
        shown = self.of(chat)
        self._store.dispatch(chat, {**action, "canvases": list(shown)} if shown else action)

    # -- what is refused -----------------------------------------------------------------------

    def _check_enabled(self) -> None:
        if not self._enabled():
            raise invalid_params("Canvases are disabled.")

    def _check_owner(self, held: _Canvas, plugin: str) -> None:
        if held.plugin != plugin:
            raise invalid_params(f"The canvas {held.uri} was opened by another plugin")
