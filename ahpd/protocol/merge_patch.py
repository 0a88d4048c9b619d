"""Changes laid over a JSON object, as JSON Merge Patch has it (RFC 7396)."""

from collections.abc import Mapping
from typing import Any


def merge(target: dict[str, Any], changes: Mapping[str, Any]) -> None:
    """Lay `changes` over `target`: None takes a member out, an object is laid over the one there.

    Objects of `changes` are copied, any other value is shared.
    """
    for key, value in changes.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, Mapping):
            held = target.get(key)
            if not isinstance(held, dict):
                held = target[key] = {}
            merge(held, value)
        else:
            target[key] = value
