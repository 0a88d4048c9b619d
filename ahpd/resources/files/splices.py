"""What a write makes of a file's bytes (schema: ResourceWriteMode). Pure.

| Mode | Becomes, of `old` |
|---|---|
| `truncate` | `old[:position] + data` |
| `append` | `old[:n] + data + old[n:]`, where `n` is `len(old) - position` |
| `insert` | `old[:position] + data + old[position:]` |
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import attrs

from ahpd.protocol.errors import invalid_params


@attrs.frozen(kw_only=True)
class Splice:
    """The bytes a write brings, and where they go."""

    data: bytes
    mode: str = "truncate"
    position: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the old content is kept."""
        return self.mode == "truncate" and self.position == 0

    @property
    def is_append(self) -> bool:
        """Whether it goes to the very end."""
        return self.mode == "append" and self.position == 0

    @property
    def keeps_tail(self) -> bool:
        """Whether what was behind the data stays behind it."""
        return self.mode != "truncate"

    def start(self, size: int, uri: str) -> int:
        """Where in a file of `size` bytes the data goes. Raises `RpcError` -32602."""
        if self.position > size:
            raise invalid_params(
                f"params.position is {self.position}, and {uri} has {size} bytes;"
                f" {self.mode} takes 0 to {size}"
            )
        return size - self.position if self.mode == "append" else self.position


def splice(params: Mapping[str, Any]) -> Splice:
    """What `params` (schema: ResourceWriteParams) ask for. Raises `RpcError` -32602."""
    mode = params.get("mode", "truncate")
    if mode not in ("truncate", "append", "insert"):
        raise invalid_params(f"params.mode is {mode!a}; it is truncate, append or insert")
    return Splice(
        data=_data(params["data"], params["encoding"]),
        mode=mode,
        position=_position(params.get("position", 0)),
    )


def _position(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise invalid_params(f"params.position is {value!a}; it is a whole number of bytes")
    if value < 0:
        raise invalid_params(f"params.position is {value}; it is 0 or more")
    return int(value)


def _data(data: str, encoding: str) -> bytes:
    try:
        if encoding == "base64":
            return base64.b64decode(data, validate=True)
        if encoding == "utf-8":
            return data.encode()
    except binascii.Error as error:
        raise invalid_params(f"params.data is no base64: {error}") from None
    except ValueError:  # what is no ASCII, or half a surrogate pair
        raise invalid_params(f"params.data cannot be read as {encoding}") from None
    raise invalid_params(f"params.encoding is {encoding!a}; it is utf-8 or base64")
