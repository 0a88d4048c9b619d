"""HTTP as routes see it: one request with its body read, one response."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import attrs


@attrs.frozen
class Response:
    """An HTTP answer: a status, a body and its headers (`Content-Length` is added)."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()

    def encoded(self, head_only: bool = False) -> bytes:
        """The answer's bytes, saying that the connection closes after it."""
        try:
            phrase = HTTPStatus(self.status).phrase
        except ValueError:
            phrase = ""
        lines = [f"HTTP/1.1 {self.status} {phrase}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.status != HTTPStatus.NO_CONTENT:
            lines.append(f"Content-Length: {len(self.body)}")
        lines += ["Connection: close", "", ""]
        return "\r\n".join(lines).encode("latin-1") + (b"" if head_only else self.body)


def text_response(status: int, words: str, headers: Sequence[tuple[str, str]] = ()) -> Response:
    """An answer of one line of text."""
    kind = ("Content-Type", "text/plain; charset=utf-8")
    return Response(status, f"{words}\n".encode(), (kind, *headers))


def json_response(status: int, value: Any, headers: Sequence[tuple[str, str]] = ()) -> Response:
    """An answer of one JSON value."""
    kind = ("Content-Type", "application/json")
    body = json.dumps(value, separators=(",", ":")).encode()
    return Response(status, body, (kind, ("Cache-Control", "no-store"), *headers))


@attrs.frozen(kw_only=True)
class Request:
    """A request to a plugin's route, whole: its body was read, and bounded."""

    method: str
    path: str
    """As it was asked for, `/plugins/<id>/` at its front; percent-encoding is left as it came."""
    query: str = ""
    headers: Mapping[str, Sequence[str]] = attrs.field(factory=dict, repr=False)
    """By name in lower case, every value that came."""
    body: bytes = attrs.field(default=b"", repr=False)
    address: str = ""
    """Where the connection came from."""

    def header(self, name: str) -> str | None:
        """The first value of a header, whatever its case; None where it did not come."""
        held = self.headers.get(name.lower())
        return held[0] if held else None

    def json(self) -> Any:
        """The body as JSON. Raises `ValueError`."""
        return json.loads(self.body)


#: What answers a route's requests, whatever their method and path: it tells them apart itself. One
#: that raises is answered 500 and logged.
RouteHandler = Callable[[Request], Awaitable[Response]]
