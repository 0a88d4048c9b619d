"""The body of a call: JSON or text, and nothing else."""

import json
import re
from typing import Any, Final

from ahpd.interfaces import Request, Response, json_response

_JSON: Final = re.compile(r"application/(?:[A-Za-z0-9.+-]*\+)?json", re.IGNORECASE)
_TEXT: Final = re.compile(r"text/[A-Za-z0-9.+-]+", re.IGNORECASE)


class Refused(Exception):
    """A call that is not done, and what it is answered."""

    def __init__(self, status: int, words: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(words)
        self.response: Response = json_response(status, {"error": words}, headers)


def read_body(request: Request, largest: int) -> Any:
    """The value of a body: what its JSON says, or its text. Raises `Refused`."""
    if len(request.body) > largest:
        raise Refused(413, f"a body may have {largest} bytes")
    kind, _, parameters = (request.header("content-type") or "text/plain").partition(";")
    charset = re.search(r"charset\s*=\s*\"?([^\s;\"]+)", parameters, re.IGNORECASE)
    if charset is not None and charset[1].lower() not in ("utf-8", "utf8", "us-ascii"):
        raise Refused(415, "a body is in UTF-8")
    is_json = _JSON.fullmatch(kind.strip()) is not None
    if not is_json and _TEXT.fullmatch(kind.strip()) is None:
        raise Refused(415, "a body is application/json or text/plain")
    try:
        text = request.body.decode()
    except UnicodeDecodeError:
        raise Refused(400, "the body is no UTF-8") from None
    if not is_json:
        return text
    try:
        value = json.loads(text, parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # JSON can spell one (`"\ud800"`), and nothing this is handed on to can hold it.
        raise Refused(400, "the body holds half a character") from None
    except (ValueError, RecursionError):
        raise Refused(400, "the body is no JSON") from None
    return value


def _no_constant(name: str) -> None:
    """`NaN` and its like are Python's, and no JSON."""
    raise ValueError(name)
