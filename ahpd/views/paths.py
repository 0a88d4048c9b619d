"""Paths into a view's data: `/account/name`, `/items/0`, and `/` for all of it.

A step with `/` or `~` in it is written as in a JSON pointer, `~1` and `~0`.
"""

from typing import Any, Final

_MOST_STEPS: Final = 32
_LONGEST: Final = 1024


def is_path(path: Any) -> bool:
    """Whether `path` leads into a view's data."""
    return path == "/" or (isinstance(path, str) and path.startswith("/") and is_inner(path[1:]))


def is_inner(path: Any) -> bool:
    """Whether `path` leads into one row's own item, from that item: `name`, `limits/0`."""
    if not isinstance(path, str) or not path or len(path) > _LONGEST or not path.isprintable():
        return False
    found = path.split("/")
    return len(found) <= _MOST_STEPS and all(found)


def with_value(data: Any, path: str, value: Any) -> Any:
    """A copy of `data` in which `path` holds `value`; only what is on the way is copied.

    A key that is missing is made, and objects on the way to it. A list takes a value at a place
    it has, and at its end. Raises `ValueError`, whose words name the path.
    """
    if not is_path(path):
        raise ValueError(f"{_quoted(path)} is no path: one is / or /a/b/0")
    if path == "/":
        return value
    steps = [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]
    return _set(data, steps, value, path)


def _set(data: Any, steps: list[str], value: Any, path: str) -> Any:
    if not steps:
        return value
    step, *rest = steps
    if isinstance(data, dict):
        return {**data, step: _set(data.get(step, {}), rest, value, path)}
    if isinstance(data, list):
        index = int(step) if step.isascii() and step.isdecimal() and len(step) < 8 else -1
        if not 0 <= index <= len(data):
            raise ValueError(f"{path} leads to no place of a list that has {len(data)} items")
        held = data[index] if index < len(data) else {}
        return [*data[:index], _set(held, rest, value, path), *data[index + 1 :]]
    raise ValueError(f"{path} leads into a value that is neither an object nor a list")


def _quoted(path: Any) -> str:
    return repr(path[:80]) if isinstance(path, str) else "a path that is not text"
