"""One message of a program's to the endpoint of its session, and the answer (no I/O of its own).

Served are `initialize`, `ping`, `tools/list` and `tools/call`. A tool that fails is an answer
whose `isError` is set, because the model is the one that has to be told.
Source: PLUGINS.txt, "The MCP servers a session is offered"; MCP revision 2025-06-18.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from ahpd.mcp.listing import OfferedTool
from ahpd.protocol import State
from ahpd.protocol.errors import shortened
from ahpd.wire.codec import encode

REVISION: Final = "2025-06-18"
#: Revisions whose messages are the same as far as they are served here.
_REVISIONS: Final = (REVISION, "2025-03-26", "2024-11-05")

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

#: Calls a tool with its arguments and the id of the call, where the program named one.
CallTool = Callable[[OfferedTool, Mapping[str, Any], str | None], Awaitable[Mapping[str, Any]]]

#: Where a program names the call it makes, by the key its protocol has for it.
_CALL_IDS: Final = ("claudecode/toolUseId", "ahpd/toolCallId")
#: The longest id that is taken for one, in characters: it is kept with what the call made.
_LONGEST_ID: Final = 256


def initialized(params: Mapping[str, Any], name: str, version: str, notify: bool) -> State:
    """The answer to `initialize`: the client's revision where it is served, else the newest."""
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in _REVISIONS else REVISION,
        "capabilities": {"tools": {"listChanged": notify}},
        "serverInfo": {"name": name, "version": version},
    }


async def answer(
    method: str,
    params: Mapping[str, Any],
    tools: Mapping[str, OfferedTool],
    call: CallTool,
    about: State,
) -> tuple[State | None, State | None]:
    """The result and the error of one request, of which one is None.

    `about` is what `initialize` is answered with.
    """
    if method == "initialize":
        return about, None
    if method == "ping":
        return {}, None
    if method == "tools/list":
        return {"tools": [tool.described() for tool in tools.values()]}, None
    if method != "tools/call":
        return None, error(METHOD_NOT_FOUND, f"this endpoint has no method {shortened(method)!r}")
    name, arguments = params.get("name"), params.get("arguments", {})
    if not isinstance(name, str):
        return None, error(INVALID_PARAMS, "params.name: expected the name of a tool")
    if not isinstance(arguments, dict):
        return None, error(INVALID_PARAMS, "params.arguments: expected an object")
    tool = tools.get(name)
    if tool is None:
        words = f"params.name: this session has no tool {shortened(name)!r}"
        return None, error(INVALID_PARAMS, words)
    return called(await call(tool, arguments, call_id(params))), None


def call_id(params: Mapping[str, Any]) -> str | None:
    """The id a program gives the call it makes, where it says one."""
    meta = params.get("_meta")
    if isinstance(meta, dict):
        for key in _CALL_IDS:
            found = meta.get(key)
            if isinstance(found, str) and 0 < len(found) <= _LONGEST_ID and found.isprintable():
                return found
    return None


def called(result: Mapping[str, Any]) -> State:
    """A tool's result (schema: ToolCallResult) as MCP says it (CallToolResult)."""
    content = [_block(block) for block in result.get("content") or ()]
    failed = not result.get("success")
    if failed:
        words = (result.get("error") or {}).get("message") or _words(result["pastTenseMessage"])
        if not any(block.get("text") == words for block in content):
            content.insert(0, {"type": "text", "text": words})
    elif not content:
        content = [{"type": "text", "text": _words(result["pastTenseMessage"])}]
    answered: State = {"content": content, "isError": failed}
    if isinstance(result.get("structuredContent"), dict):
        answered["structuredContent"] = result["structuredContent"]
    return answered


def _words(message: Any) -> str:
    """The words of a StringOrMarkdown."""
    return message if isinstance(message, str) else str(message.get("markdown", ""))


def _block(block: Mapping[str, Any]) -> State:
    """A content block; one that MCP has no kind for is said as its text, or as its JSON."""
    kind = block.get("type")
    if kind == "text":
        return {"type": "text", "text": block["text"]}
    if kind == "embeddedResource" and isinstance(block.get("data"), str):
        mime = str(block.get("contentType", "application/octet-stream"))
        if mime.startswith("image/"):
            return {"type": "image", "data": block["data"], "mimeType": mime}
    return {"type": "text", "text": encode(dict(block)).decode()}


def error(code: int, words: str) -> State:
    """A JSON-RPC error."""
    return {"code": code, "message": words}


def is_one_message(value: Any) -> bool:
    """Whether a body is one JSON-RPC message, and no batch."""
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        return False
    if "id" in value and (isinstance(value["id"], bool) or not isinstance(value["id"], str | int)):
        return False
    if "method" not in value:
        return "id" in value and ("result" in value or "error" in value)
    params: Any = value.get("params", {})
    return isinstance(value["method"], str) and isinstance(params, dict)
