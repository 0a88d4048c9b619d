"""JSON values that can be read and sent on, and not written to."""

from collections.abc import Mapping
from typing import Any, NoReturn


def _refused(self: object, *_: object, **__: object) -> NoReturn:
    raise TypeError("this value is the host's own: it may be read, and copied to be changed")


class ReadOnlyDict(dict[str, Any]):
    """A mapping whoever is handed it cannot write to."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refused
    clear = pop = popitem = setdefault = update = _refused

    def __reduce__(self) -> Any:  # a copy of it may be written to
        return (dict, (dict(self),))

    def __deepcopy__(self, memo: Any) -> dict[str, Any]:
        return {key: _copied(value, memo) for key, value in self.items()}


class ReadOnlyList(list[Any]):
    """A list whoever is handed it cannot write to."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refused
    append = clear = extend = insert = pop = remove = reverse = sort = _refused

    def __reduce__(self) -> Any:
        return (list, (list(self),))

    def __deepcopy__(self, memo: Any) -> list[Any]:
        return [_copied(value, memo) for value in self]


def _copied(value: Any, memo: Any) -> Any:
    from copy import deepcopy  # noqa: PLC0415 - by way of what is copied alone

    return deepcopy(value, memo)


def read_only(value: Any) -> Any:
    """A copy of a JSON value that cannot be written to, at any depth."""
    if isinstance(value, Mapping):
        return ReadOnlyDict((key, read_only(held)) for key, held in value.items())
    if isinstance(value, list | tuple):
        return ReadOnlyList(read_only(held) for held in value)
    return value
