"""Messages with parts of a call in them: `{{body}}`, `{{json.a.b.0}}`, `{{header.x}}`, `{{query.q}}`."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl

from ahpd.interfaces import Request

_PLACE: Final = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_NAMES: Final = re.compile(r"body|json(?:\.[^.\s]+)*|header\.[A-Za-z0-9-]+|query\.\S+")
#: What a caller proves who it is with is not for a model to read.
_HIDDEN: Final = frozenset(("authorization", "cookie", "proxy-authorization"))
#: Characters of a message that is made.
LONGEST: Final = 200_000


class Template:
    """A message's text. Raises `ValueError` for a place that names no part of a call."""

    def __init__(self, text: str) -> None:
        for name in _PLACE.findall(text):
            if _NAMES.fullmatch(name) is None:
                raise ValueError(
                    f"the message names {{{{{name}}}}}, and there are body, json.<path>, "
                    "header.<name> and query.<name>"
                )
            if name.removeprefix("header.").lower() in _HIDDEN:
                raise ValueError(f"the message names {{{{{name}}}}}, which holds a credential")
        self._text = text

    def filled(self, request: Request, value: Any) -> str:
        """The message for a call, whose body is `value` read as JSON (or as text).

        What a call does not have is nothing. What is put in is never read as a place itself.
        Raises `ValueError` for a message that says nothing, or too much.
        """
        message = _PLACE.sub(lambda found: _part(found[1], request, value), self._text)
        if not message.strip():
            raise ValueError("the call leaves nothing to say")
        if len(message) > LONGEST:
            raise ValueError(f"the message would have {len(message)} characters of {LONGEST}")
        return message


def _part(name: str, request: Request, value: Any) -> str:
    kind, _, rest = name.partition(".")
    if kind == "body":
        return request.body.decode(errors="replace")
    if kind == "header":
        return request.header(rest) or ""
    if kind == "query":
        return dict(parse_qsl(request.query, keep_blank_values=True)).get(rest, "")
    return _text(_at(value, rest.split(".") if rest else []))


def _at(value: Any, path: Sequence[str]) -> Any:
    """What is at a path of a JSON value; None where there is nothing."""
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and step.isascii() and step.isdigit():
            value = value[int(step)] if int(step) < len(value) else None
        else:
            return None
    return value


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
