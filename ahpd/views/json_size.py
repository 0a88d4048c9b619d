"""How much JSON a value is."""

import json
from typing import Any


def sized(value: Any, what: str) -> int:
    """Bytes of `value` as JSON. Raises `ValueError` for what is none, named by `what`."""
    try:
        _check_keys(value)
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return len(text.encode())
    except (TypeError, ValueError, RecursionError):
        # The words of these quote the value.
        raise ValueError(f"{what} must be JSON") from None


def _check_keys(value: Any) -> None:
    """The encoder makes text of a number that is a key: a client would be sent another name."""
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError
        for held in value.values():
            _check_keys(held)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_keys(item)
