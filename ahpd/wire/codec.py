"""JSON bytes in and out: the one place that encodes and decodes.

msgspec encodes an envelope in about a microsecond; `GrowingText` inside a state is
joined here and nowhere else.
"""

import re
from typing import Any, Final

import msgspec

from ahpd.protocol.text import GrowingText

#: Bytes that are JSON already, embedded in a larger value as they are.
Encoded = msgspec.Raw


def _hook(value: Any) -> Any:
    if isinstance(value, GrowingText):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


_encoder = msgspec.json.Encoder(enc_hook=_hook)
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()

encode = _encoder.encode


def decode(data: bytes | str) -> Any:
    """The JSON value in `data`.

    Raises `ValueError` in words that say what is wrong and where, for nesting deeper
    than this process can follow too. Half of a surrogate pair, which a JavaScript
    client writes when it cuts a string, reads as U+FFFD.
    """
    try:
        return _decoder.decode(data)
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None
    except msgspec.DecodeError as error:
        raw = data.encode() if isinstance(data, str) else data
        mended = _SURROGATES.sub(_mend, raw)
        if mended != raw:
            return decode(mended)
        raise ValueError(str(error)) from None


# An escaped backslash, a whole pair, or half of one: in this order, so that the
# first two are stepped over.
_SURROGATES: Final = re.compile(
    rb"\\\\"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


def _mend(match: re.Match[bytes]) -> bytes:
    found = match.group()
    return rb"\ufffd" if len(found) == 6 else found


class Frame:
    """One message, encoded once and shared by every connection it is sent on.

    `payload` is the message's JSON. `framed` is a place for the transport to keep
    what it made of it (the WebSocket frame, the line), so that is done once too.
    """

    __slots__ = ("framed", "payload")

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self.framed: bytes | None = None


def message_frame(message: Any) -> Frame:
    """A frame of a message that goes to one connection."""
    return Frame(encode(message))
