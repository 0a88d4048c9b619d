"""One record as the bytes of one file: Markdown below a front matter, or JSON.

    ---
    id: motion
    name: Motion
    ---
    The body, to the file's end.

What is written ends the body with one newline more, which is taken off when it is read: any
text comes back as it was. What a person wrote may begin with a byte order mark, end without a
newline, and have CRLF at the end of each line, where its first line does.
"""

import json
from collections.abc import Callable
from typing import Any, Final

import attrs

from ahpd.interfaces import RecordOptions
from ahpd.protocol import State
from ahpd.yaml_text import parse_yaml, stringify_yaml

_FENCE: Final = "---"


@attrs.frozen
class Format:
    """How records are written to files; `read` raises `ValueError` in words."""

    suffix: str
    read: Callable[[bytes], State]
    write: Callable[[State], bytes]


def format_of(options: RecordOptions) -> Format:
    """The format of a collection that is kept like this."""
    if options.as_json:
        return JSON
    body = options.body
    return Format(
        ".md",
        read=lambda data: read_markdown(data, body),
        write=lambda record: write_markdown(record, body),
    )


# -- Markdown ------------------------------------------------------------------------


def write_markdown(record: State, body: str | None) -> bytes:
    """The file of a record; `body` is the field whose text stands below the others."""
    fields = {key: value for key, value in record.items() if key != body}
    text = record[body] if body is not None else ""
    below = f"{text}\n" if text else ""
    return f"{_FENCE}\n{stringify_yaml(fields)}{_FENCE}\n{below}".encode()


def read_markdown(data: bytes, body: str | None) -> State:
    """The record of a file. Without a `body` nobody reads what stands below."""
    text = _decoded(data)
    first, _, rest = text.partition("\n")
    if first.endswith("\r"):
        text = text.replace("\r\n", "\n")
        first, _, rest = text.partition("\n")
    if first.rstrip() != _FENCE:
        raise ValueError("line 1: no --- that begins a front matter")
    front, below = _fenced(rest)
    fields = parse_yaml("\n" + front)  # so that its lines are counted as the file's
    if not isinstance(fields, dict):
        raise ValueError("the front matter is no mapping of fields")
    if body is None:
        return fields
    below = below.removesuffix("\n")
    if fields.get(body):
        if below:
            raise ValueError(f"{body} stands in the front matter and below it")
        return fields
    fields.pop(body, None)
    return {**fields, body: below}


def _fenced(text: str) -> tuple[str, str]:
    """What stands before the next fence and what stands behind it."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin)
        end = len(text) if end < 0 else end
        line = text[begin:end]
        if line.startswith(_FENCE) and line.rstrip() == _FENCE:
            return text[:begin], text[end + 1 :]
        begin = end + 1
    raise ValueError("no --- that ends the front matter")


# -- JSON ----------------------------------------------------------------------------


def _write_json(record: State) -> bytes:
    return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def read_json(data: bytes) -> State:
    """The JSON object of a file."""
    try:
        value = json.loads(
            _decoded(data), object_pairs_hook=_unique, parse_constant=_refused_constant
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("it holds no JSON object")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> State:
    held: State = {}
    for key, value in pairs:
        if key in held:
            raise ValueError("a key stands twice in one object")
        held[key] = value
    return held


def _refused_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


JSON: Final = Format(".json", read=read_json, write=_write_json)


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"a byte that is not UTF-8 at offset {error.start}") from None
