"""JSON-RPC 2.0 messages, without I/O: what came in, and what an answer looks like.

One frame holds one message. A frame that is no message becomes a `Malformed`, whose
answer the peer sends back: bad input never ends a connection.
"""

from typing import Any, Final

import attrs

from ahpd.protocol.errors import INVALID_REQUEST, PARSE_ERROR, RpcError
from ahpd.wire.codec import Frame, decode, encode, message_frame

#: Nesting past this is refused: what is read here is later encoded, checked and walked.
MAX_DEPTH: Final = 200

#: Ids are echoed as they came. Strings and numbers are both in use.
MessageId = str | int | float


@attrs.frozen
class Request:
    """A call that wants an answer under `id`. `params` is a JSON object; {} where none came."""

    id: MessageId
    method: str
    params: dict[str, Any]


@attrs.frozen
class Notification:
    """A call that wants none."""

    method: str
    params: dict[str, Any]


@attrs.frozen
class Response:
    """The answer to one of our own requests: `error` is None where it succeeded."""

    id: MessageId
    result: Any
    error: dict[str, Any] | None


@attrs.frozen
class Malformed:
    """A frame that is no message: what to answer, and to which id where one could be read."""

    id: MessageId | None
    error: RpcError


Message = Request | Notification | Response | Malformed


def parse(data: bytes) -> Message:
    """The message in one frame. Never raises."""
    try:
        value = decode(data)
    except ValueError as error:
        return Malformed(None, RpcError(PARSE_ERROR, f"Parse error: {error}"))
    if isinstance(value, list):
        return _invalid(None, "a batch; send one message a frame")
    if not isinstance(value, dict):
        return _invalid(None, f"{_kind(value)} where a JSON-RPC object is expected")
    identifier = value.get("id")
    known = identifier if _is_id(identifier) else None
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH and _deeper_than(value, MAX_DEPTH):
        return _invalid(known, f"nested deeper than {MAX_DEPTH} levels")
    if value.get("jsonrpc") != "2.0":
        return _invalid(known, f'jsonrpc is {_shown(value.get("jsonrpc"))}, expected "2.0"')
    if "id" in value and known is None and not _is_error_without_id(value):
        return _invalid(None, f"id is {_kind(identifier)}, expected a string or a number")
    if "method" in value:
        return _call(value, known)
    return _answer(value, known)


def _call(value: dict[str, Any], identifier: MessageId | None) -> Message:
    method, params = value["method"], value.get("params")
    if not isinstance(method, str):
        return _invalid(identifier, f"method is {_kind(method)}, expected a string")
    if params is None:
        params = {}
    if not isinstance(params, dict):
        return _invalid(identifier, f"params is {_kind(params)}, expected an object")
    if identifier is None:
        return Notification(method, params)
    return Request(identifier, method, params)


def _answer(value: dict[str, Any], identifier: MessageId | None) -> Message:
    if "result" in value and identifier is not None:
        return Response(identifier, value["result"], None)
    error = value.get("error")
    if isinstance(error, dict):
        # An error without an id answers a frame of ours the other side could not read.
        return Response("" if identifier is None else identifier, None, error)
    return _invalid(identifier, "neither a method nor a result nor an error")


def request(identifier: MessageId, method: str, params: dict[str, Any]) -> Frame:
    """A request of ours."""
    return Frame(encode({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}))


def notification(method: str, params: dict[str, Any]) -> Frame:
    """A notification of ours to one peer."""
    return Frame(encode({"jsonrpc": "2.0", "method": method, "params": params}))


def result(identifier: MessageId, value: Any) -> Frame:
    """The answer to a request that succeeded; None is sent as null.

    What `value` holds as `codec.Shared`, a snapshot for one, is not copied.
    """
    return message_frame({"jsonrpc": "2.0", "id": identifier, "result": value})


def error(identifier: MessageId | None, failure: RpcError) -> Frame:
    """The answer to a request that failed, or to a frame that was no request (id null)."""
    return Frame(encode({"jsonrpc": "2.0", "id": identifier, "error": failure.to_wire()}))


def _is_id(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _is_error_without_id(value: dict[str, Any]) -> bool:
    return (
        value.get("id") is None and "method" not in value and isinstance(value.get("error"), dict)
    )


def _invalid(identifier: MessageId | None, words: str) -> Malformed:
    return Malformed(identifier, RpcError(INVALID_REQUEST, f"Invalid request: {words}"))


def _deeper_than(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        deeper: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                deeper.extend(child for child in item.values() if isinstance(child, (dict, list)))
            else:
                deeper.extend(child for child in item if isinstance(child, (dict, list)))
        if not deeper:
            return False
        level = deeper
    return True


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"


def _shown(value: Any) -> str:
    return f'"{value[:40]}"' if isinstance(value, str) else _kind(value)
