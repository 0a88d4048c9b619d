"""Texts that can travel. A Python string may hold half of a surrogate pair: a byte of a file name
that is no UTF-8 does, and so does a JSON text that was cut. Nothing can be sent with one."""

import re
from collections.abc import Mapping
from typing import Any, Final

_HALF: Final = re.compile("[\ud800-\udfff]")

#: What is wrong with such a text.
HALF_WORDS: Final = "holds half a character (a lone surrogate)"


def is_whole(text: str) -> bool:
    """Whether every character of `text` can be sent."""
    return text.isascii() or _HALF.search(text) is None


def is_whole_json(value: Any) -> bool:
    """Whether every text of a JSON value, its keys among them, can be sent."""
    if isinstance(value, str):
        return is_whole(value)
    if isinstance(value, Mapping):
        return all(is_whole_json(key) and is_whole_json(held) for key, held in value.items())
    return not isinstance(value, list | tuple) or all(map(is_whole_json, value))


def whole(text: str) -> str:
    r"""`text` as it can be sent: half a character is written as Python does, `\udcff`."""
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def whole_json(value: Any) -> Any:
    """A copy of a JSON value as it can be sent."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, Mapping):
        return {whole(key): whole_json(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [whole_json(held) for held in value]
    return value
