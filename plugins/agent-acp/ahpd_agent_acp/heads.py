"""What the beginning of a line says of the message it was, where the rest was dropped."""

import re
from typing import Final

import attrs

from ahpd.wire.codec import decode

#: One JSON token: a bracket, a comma or colon, a whole string, or a whole scalar.
_TOKEN: Final = re.compile(rb'\s*([{}\[\],:]|"(?:[^"\\]|\\.)*"|[^\s{}\[\],:"]+(?=[\s,}\]]))')

MessageId = str | int | float


@attrs.frozen
class Head:
    """What was read of a message: each is None where it was not in the part that was kept."""

    id: MessageId | None = None
    method: str | None = None

    @property
    def about(self) -> str:
        """What it was, in words for the log."""
        if self.method is not None:
            return f"a call of {self.method[:80]}"
        return "an answer whose request is not known" if self.id is None else "an answer"


def read_head(head: bytes) -> Head:
    """The id and the method that stand at the top of a message cut off after `head`.

    Members inside of params or a result are no such thing, whatever they are called.
    """
    found: dict[str, object] = {}
    depth, key, at = 0, None, 0
    while match := _TOKEN.match(head, at):
        at, token = match.end(), match.group(1)
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            depth -= 1
        elif depth == 1 and token == b",":
            key = None
        elif depth == 1 and token != b":":
            value = _value(token)
            if key is None:
                key = value
            elif isinstance(key, str):
                found.setdefault(key, value)
    identifier, method = found.get("id"), found.get("method")
    return Head(
        identifier
        if isinstance(identifier, (str, int, float)) and not isinstance(identifier, bool)
        else None,
        method if isinstance(method, str) else None,
    )


def _value(token: bytes) -> object:
    try:
        value: object = decode(token)
    except ValueError:
        return None
    return value
