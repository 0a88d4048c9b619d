"""Reading a file, whole or in ranges (schema: resourceRead).

What comes back says how it is encoded, by what the bytes are: UTF-8 without a zero byte is
text, anything else is base64, and base64 that was asked for is always answered. A range
is the bytes asked for and no others, so one that cuts a character is base64, and the
ranges of a file put together are the file.
"""

import binascii
import os
from typing import Final

from ahpd.interfaces import Wanted
from ahpd.protocol import State
from ahpd.protocol.errors import INVALID_PARAMS, RpcError, invalid_params
from ahpd.resources.files.contents import CHUNK
from ahpd.resources.files.facts import content_type
from ahpd.resources.files.places import path_at
from ahpd.resources.files.refusals import only_regular, told
from ahpd.resources.ranges import RANGE

#: Never waits: not for the other end of a pipe, not for a record of a kernel's file.
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FARTHEST: Final = 2**63 - 1


class TooMuch(RpcError):
    """More was asked for than one answer may have: -32602."""


def read(uri: str, wanted: Wanted, most: int) -> State:
    """What a file holds, at most `most` bytes of it in one answer (schema: ResourceReadResult).

    Raises `RpcError`, for more than that `TooMuch`. The file is read as long as it was when it was opened; it takes at
    most twice the memory of the answer.
    """
    start, length = _checked(wanted)
    path = path_at(uri)
    with told(uri):
        # A device or a pipe may do something when it is opened, so it is asked first.
        only_regular(os.stat(path).st_mode, uri)  # noqa: PTH116
        file = os.open(path, _READ)
        try:
            found = os.fstat(file)
            only_regular(found.st_mode, uri)
            count = most + 1 if length is None else length
            if found.st_size:  # the kernel's own files have no size and something in them
                count = max(min(count, found.st_size - start), 0)
                whole = found.st_size - start if length is None else count
                _not_too_much(whole, most, uri)
            data = _bytes(file, start, min(count, most + 1))
        finally:
            os.close(file)
    _not_too_much(len(data), most, uri)
    return _answer(data, wanted.encoding, path)


def _checked(wanted: Wanted) -> tuple[int, int | None]:
    for name, value in (("offset", wanted.offset), ("length", wanted.length)):
        if value is not None and value < 0:
            raise invalid_params(f"The {name} of a range is {value}; it is a count of bytes")
    return min(wanted.offset, _FARTHEST), wanted.length


def _not_too_much(count: int, most: int, uri: str) -> None:
    if count > most:
        raise _too_much(count, most, uri)


def _too_much(count: int, most: int, uri: str) -> TooMuch:
    return TooMuch(
        INVALID_PARAMS,
        f"Too much for one answer: {count} bytes of {uri} were asked for and one answer has"
        f' at most {most}. Read it in ranges: params._meta["{RANGE}"] takes an offset and a'
        " length in bytes",
    )


def _bytes(file: int, start: int, count: int) -> bytearray:
    data = bytearray()
    while len(data) < count and start + len(data) < _FARTHEST:
        chunk = os.pread(file, min(CHUNK, count - len(data)), start + len(data))
        if not chunk:
            break
        data += chunk
    return data


def _answer(data: bytearray, encoding: str | None, path: str) -> State:
    text = None
    if encoding != "base64" and b"\0" not in data:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = None
    if text is not None:
        answer: State = {"data": text, "encoding": "utf-8"}
    else:
        encoded = binascii.b2a_base64(data, newline=False)
        data.clear()  # three of them at once would be too many
        answer = {"data": encoded.decode("ascii"), "encoding": "base64"}
    kind = content_type(path)
    if kind is not None:
        answer["contentType"] = kind
    return answer
