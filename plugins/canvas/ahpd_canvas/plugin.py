"""A page beside the chat: a tool opens it on the chat that calls, and writes on it when called again.

The host owns the canvas and tells clients of it; the plugin owns the page that the canvas shows,
and serves it on its own route, so that a client on another machine can load it too.
"""

import secrets
from collections.abc import Mapping
from typing import Any, Final

import attrs

from ahpd.interfaces import (
    HostTool,
    IPluginContext,
    IPluginHost,
    Request,
    Response,
    RpcError,
    ToolCallContext,
    ToolFailure,
    text_response,
)
from ahpd.protocol.errors import NOT_FOUND
from ahpd_canvas.page import page

_EXTENSION: Final = "ahpd-canvas"
#: How many pages are kept; the one that was written on least recently goes.
_MOST_PAGES: Final = 200


@attrs.define(kw_only=True)
class Board:
    """What one chat's page shows."""

    session: str
    token: str
    """The last part of its address, which nobody can guess: whoever has it may read the page."""
    title: str
    text: str
    status: str = ""
    revision: int = 0
    canvas: str | None = None
    """The canvas it is shown in, once it is."""

    def state(self, root: str) -> dict[str, Any]:
        """The claim to the host (schema: CanvasState)."""
        claim = {
            "instanceId": "board",
            "extensionId": _EXTENSION,
            "extensionName": "Canvas",
            "canvasId": "board",
            "title": self.title,
            # The page runs no script, so it is another address that makes a client load it anew.
            "url": f"{root}{self.token}?revision={self.revision}",
        }
        return {**claim, "status": self.status} if self.status else claim


class Boards:
    """The pages there are, one for each chat."""

    def __init__(self, host: IPluginHost, url: str | None) -> None:
        self._host = host
        self._path = f"/plugins/{host.id}/"
        self._root = None if url is None else url.rstrip("/") + self._path
        self._by_chat: dict[str, Board] = {}

    # -- what the model does ----------------------------------------------------------------

    async def show(self, arguments: Mapping[str, Any], at: ToolCallContext) -> str:
        """Write on the page of the calling chat, which is opened where it is not."""
        root = self._root
        if root is None:
            raise ToolFailure(
                "Pages of this host have no address: its administrator sets the option url of "
                "the plugin canvas."
            )
        title, text = arguments["title"].strip(), arguments["text"]
        if not title:
            raise ToolFailure("The title is blank.")
        board = self._by_chat.pop(at.chat, None)
        if board is None:
            token = secrets.token_urlsafe(24)
            board = Board(session=at.session, token=token, title=title, text=text)
        # Behind the others: those at the front were not written on for longest.
        self._by_chat[at.chat] = board
        board.session, board.title, board.text = at.session, title, text
        board.status = arguments.get("status", "").strip()
        board.revision += 1
        self._make_room()
        try:
            await self._draw(board, at.chat, board.state(root))
        except RpcError as refused:  # "Canvases are disabled.", in words a model can pass on
            raise ToolFailure(refused.message) from None
        return f"The page “{title}” is shown beside the chat."

    async def _draw(self, board: Board, chat: str, state: dict[str, Any]) -> None:
        if board.canvas is not None:
            try:
                self._host.update_canvas(board.canvas, state)
            except RpcError as refused:
                if refused.code != NOT_FOUND:
                    raise
            else:
                return
        # It was never opened, or went with its chat, which is back now.
        board.canvas = await self._host.open_canvas(chat, state)

    async def close(self, arguments: Mapping[str, Any], at: ToolCallContext) -> str:
        """Take the page of the calling chat away."""
        board = self._by_chat.pop(at.chat, None)
        if board is None:
            raise ToolFailure("This chat shows no page.")
        self._forget(board)
        return f"The page “{board.title}” is closed."

    # -- what becomes of them ---------------------------------------------------------------

    def listening(self, event: Mapping[str, Any], context: IPluginContext) -> None:
        """The host says where it listens: pages are there where nobody set another address."""
        if self._root is None and event.get("port"):
            self._root = f"http://{_authority(event)}{self._path}"

    def session_ended(self, event: Mapping[str, Any], context: IPluginContext) -> None:
        """A session is gone: the host took its canvases, and nobody reads its pages."""
        for chat, board in tuple(self._by_chat.items()):
            if board.session == event["session"]:
                del self._by_chat[chat]

    def _make_room(self) -> None:
        while len(self._by_chat) > _MOST_PAGES:
            self._forget(self._by_chat.pop(next(iter(self._by_chat))))

    def _forget(self, board: Board) -> None:
        if board.canvas is None:
            return
        try:
            self._host.close_canvas(board.canvas)
        except RpcError as refused:  # canvases were turned off since; the page is gone all the same
            self._host.log(f"a canvas stays open: {refused.message}")

    # -- what a browser asks for ------------------------------------------------------------

    async def serve(self, request: Request) -> Response:
        """The page of an address. Whoever has the address is let in, and nobody else finds it."""
        if request.method not in ("GET", "HEAD"):
            return text_response(405, "ask with GET", (("Allow", "GET, HEAD"),))
        token = request.path.removeprefix(self._path)
        for board in self._by_chat.values():
            if secrets.compare_digest(board.token.encode(), token.encode()):
                return page(board.title, board.text)
        return text_response(404, "no such page", (("Cache-Control", "no-store"),))


def apply(host: IPluginHost, options: dict[str, Any]) -> None:
    """Register the two tools and the route of the pages."""
    boards = Boards(host, options.get("url"))
    host.register_tool(
        HostTool(
            definition={
                "name": "canvas_show",
                "title": "Show a page",
                "description": (
                    "Shows a page of plain text beside this chat, for what a person should keep in "
                    "view: a plan, a checklist, a result. Called again it replaces the page."
                ),
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "title": {"type": "string", "maxLength": 200},
                        "text": {"type": "string", "maxLength": 100_000},
                        "status": {
                            "type": "string",
                            "maxLength": 200,
                            "description": "A word on how far it is, such as draft or done.",
                        },
                    },
                    "required": ["title", "text"],
                },
            },
            run=boards.show,
        )
    )
    host.register_tool(
        HostTool(
            definition={
                "name": "canvas_close",
                "title": "Close the page",
                "description": "Takes the page beside this chat away.",
                "inputSchema": {"type": "object", "properties": {}},
            },
            run=boards.close,
        )
    )
    host.register_route(boards.serve)
    host.on("listening", boards.listening)
    host.on("session_end", boards.session_ended)


def _authority(event: Mapping[str, Any]) -> str:
    """The address as a browser takes it; one that means every interface is asked for as this machine."""
    address = str(event["host"])
    if address in ("0.0.0.0", "::", ""):  # noqa: S104 - nothing is bound here
        address = "localhost"
    return f"[{address}]:{event['port']}" if ":" in address else f"{address}:{event['port']}"
