"""Asking for a part of a resource: `ahpd.range` in the `_meta` of a `resourceRead`.

    {"uri": "file:///var/log/big.log", "_meta": {"ahpd.range": {"offset": 0, "length": 1048576}}}

The protocol declares no range, and lets a request's `_meta` carry what its two ends agreed
on. `offset` is the first byte wanted, 0 where it is left out; `length` how many bytes at
most, all there are where it is left out. Past the end there are no bytes, and that is no
error. What a client serves is asked with the same `_meta`, and a client that does not know
the key answers the whole.
"""

from collections.abc import Mapping
from typing import Any, Final

from ahpd.interfaces import Wanted
from ahpd.protocol import State
from ahpd.protocol.errors import invalid_params

RANGE: Final = "ahpd.range"
_PATH: Final = f'params._meta["{RANGE}"]'


def wanted(params: State) -> Wanted:
    """What a `resourceRead` wants. Raises `RpcError` -32602 for a range that is none."""
    encoding = params.get("encoding")
    asked = (params.get("_meta") or {}).get(RANGE)
    if asked is None:
        return Wanted(encoding=encoding)
    if not isinstance(asked, Mapping):
        raise invalid_params(f"{_PATH}: expected an object with offset and length")
    offset, length = _bytes(asked, "offset"), _bytes(asked, "length")
    return Wanted(encoding=encoding, offset=offset or 0, length=length)


def _bytes(asked: Mapping[str, Any], key: str) -> int | None:
    value = asked.get(key)
    if value is None:
        return None
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or value < 0:
        raise invalid_params(f"{_PATH}.{key}: expected a whole number of bytes, 0 or more")
    return int(value)
