"""What a frame has to be answered with, read by Python's own JSON and by nothing of ours."""

import json
import math
import re

SILENCE = ("silence",)
#: Answers to what is no request: an error under the id that could be read, or under null.
PARSE_ERROR = -32700
INVALID_REQUEST = -32600

MAX_DEPTH = 200
_HALF_PAIR = re.compile("[\ud800-\udfff]")


def expected_answer(data):
    """`SILENCE`, `("error", id, code)` or `("answer", id)` for one frame from a client."""
    try:
        value = _read(data)
    except (ValueError, RecursionError):
        return ("error", None, PARSE_ERROR)
    if not isinstance(value, dict):
        return ("error", None, INVALID_REQUEST)
    identifier = value.get("id")
    readable = isinstance(identifier, (str, int, float)) and not isinstance(identifier, bool)
    invalid = ("error", identifier if readable else None, INVALID_REQUEST)
    if _depth(value) > MAX_DEPTH or value.get("jsonrpc") != "2.0":
        return invalid
    is_error = isinstance(value.get("error"), dict)
    if "method" in value:
        params = value.get("params")
        wrong_id = "id" in value and not readable
        if wrong_id or not isinstance(value["method"], str):
            return invalid
        if params is not None and not isinstance(params, dict):
            return invalid
        return ("answer", identifier) if "id" in value else SILENCE
    if readable:
        return SILENCE if "result" in value or is_error else invalid
    return SILENCE if identifier is None and is_error else invalid


def _read(data):
    text = data.decode("utf-8")  # a UnicodeDecodeError is a ValueError
    # The host reads half of a surrogate pair as U+FFFD, in ids too.
    return _mended(json.loads(text, parse_constant=_none, parse_float=_finite))


def _none(word):
    raise ValueError(f"{word} is no JSON")


def _finite(text):
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is no number this host can hold")
    return number


def _mended(value):
    if isinstance(value, str):
        return _HALF_PAIR.sub("�", value)
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    return value


def _depth(value):
    deepest, level = 0, [value]
    while level:
        deepest += 1
        level = [
            item
            for holder in level
            for item in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(item, (dict, list))
        ]
    return deepest
