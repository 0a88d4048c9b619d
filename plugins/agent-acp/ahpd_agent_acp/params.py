"""The params of what an agent asks, read and refused in words: -32602 names the member."""

from collections.abc import Mapping
from typing import Any

from ahpd_agent_acp.connection import INVALID_PARAMS, RequestError


def invalid(words: str) -> RequestError:
    """-32602."""
    return RequestError(INVALID_PARAMS, words)


def text_param(params: Mapping[str, Any], key: str, at: str = "params") -> str:
    """A text that must be there; `at` is where the object stands."""
    found = params.get(key)
    if not isinstance(found, str) or not found:
        raise invalid(f"{at}.{key}: found {shown(found)}, expected a text")
    return found


def count_param(params: Mapping[str, Any], key: str) -> int | None:
    """A whole number from 0 on, or None where it was left out."""
    found = params.get(key)
    if found is None:
        return None
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise invalid(f"params.{key}: found {shown(found)}, expected a whole number from 0 on")
    return found


def path_param(params: Mapping[str, Any], key: str) -> str:
    """An absolute path that must be there."""
    found = text_param(params, key)
    if not found.startswith("/"):
        raise invalid(f"params.{key}: found {shown(found)}, expected an absolute path")
    if "\0" in found:
        raise invalid(f"params.{key}: holds a NUL, which no path has")
    return found


def shown(value: Any) -> str:
    """A value an agent sent, short enough for a sentence."""
    return repr(value)[:200]
