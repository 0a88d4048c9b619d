"""JSON bytes in and out: the one place that encodes and decodes.

msgspec encodes an envelope in about a microsecond; `GrowingText` inside a state is
joined here and nowhere else, and in parts not even here. What is encoded already goes into a larger message as it
is, and where it is large it is not even copied: such a message is a frame of several
parts (`message_frame`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from ahpd.protocol.text import GrowingText

#: Bytes that are JSON already, copied into a larger value as they are.
Encoded = msgspec.Raw

#: Bytes from which on a copy costs more than a part of its own.
LARGE: Final = 64 * 1024


class Shared:
    """A `LARGE` value that is JSON already, and is part of a message without being copied."""

    __slots__ = ("parts",)

    def __init__(self, *parts: bytes) -> None:
        self.parts = parts


def encoded(data: "bytes | InParts") -> Encoded | Shared:
    """JSON that many messages may hold, to be put into each as it is."""
    if isinstance(data, InParts):
        return Shared(*data)
    return Shared(data) if len(data) > LARGE else Encoded(data)


def encoded_array(items: Iterable[bytes]) -> Encoded | Shared:
    """The JSON array of `items`, each of which is JSON already: a join and nothing more."""
    return encoded(b"[%b]" % b",".join(items))


def _hook(value: Any) -> Any:
    if isinstance(value, GrowingText):
        return str(value)
    if isinstance(value, Shared):
        return Encoded(b"".join(value.parts))
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

    `parts` are the message's JSON, cut where something `LARGE` was not copied into it;
    `size` is their bytes. `framed` is a place for the transport to keep what it made of
    it (the WebSocket frame), so that is done once too.
    """

    __slots__ = ("framed", "parts", "size")

    def __init__(self, *parts: bytes) -> None:
        self.parts = parts
        self.size = len(parts[0]) if len(parts) == 1 else sum(map(len, parts))
        self.framed: bytes | None = None

    @property
    def payload(self) -> bytes:
        """The whole message in one piece; joined at each call where it has several parts."""
        return self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)


def message_frame(message: Any) -> Frame:
    """A frame of a message that goes to one connection. What is `Shared` in it is not copied."""
    shared: list[Sequence[bytes]] = []

    def hook(value: Any) -> Any:
        if isinstance(value, Shared):
            shared.append(value.parts)
            return _GAP
        return _hook(value)

    whole = msgspec.json.encode(message, enc_hook=hook)
    if not shared:
        return Frame(whole)
    between = whole.split(_GAP_BYTES)
    parts: list[bytes] = []
    for before, value in zip(between, shared, strict=False):
        parts += (before, *value)
    return Frame(*parts, between[-1])


class InParts:
    """The JSON of a value with long `GrowingText` in it, made while it is iterated.

    No more than a piece of the text is encoded at a time. Again is the same bytes, for as
    long as nothing is appended.
    """

    __slots__ = ("_between", "_texts", "size")

    def __init__(self, between: Sequence[bytes], texts: Sequence[GrowingText]) -> None:
        self._between = between
        self._texts = texts
        self.size = sum(map(len, between)) + sum(map(len, texts))
        """About how many bytes it is: one for each character of the texts."""

    def __iter__(self) -> Iterator[bytes]:
        yield self._between[0]
        for text, behind in zip(self._texts, self._between[1:], strict=True):
            yield b'"'
            for piece in text.pieces:
                yield encode(piece)[1:-1]
            yield b'"'
            yield behind


def encode_in_parts(value: Any) -> bytes | InParts:
    """`value` as JSON, in parts where a text in it that grew is `LARGE`."""
    texts: list[GrowingText] = []

    def hook(found: Any) -> Any:
        if isinstance(found, GrowingText) and len(found) > LARGE:
            texts.append(found)
            return _GAP
        return _hook(found)

    whole = msgspec.json.encode(value, enc_hook=hook)
    return InParts(whole.split(_GAP_BYTES), texts) if texts else whole


# Stands in for what is shared or long while the rest is encoded. JSON holds no raw control
# character, so the byte is nowhere else.
_GAP_BYTES: Final = b"\x00"
_GAP: Final = Encoded(_GAP_BYTES)
