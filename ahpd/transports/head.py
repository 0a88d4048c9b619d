"""The head of an HTTP request, read strictly and without I/O.

Every connection on the port begins with one. It is the only thing a stranger can say
before admission, so anything that is not exactly RFC 9112's grammar is refused rather
than guessed at: two readers that guess differently are a hole.
"""

import re

import attrs

#: A head may be this many bytes, its blank line included.
MAX_HEAD = 32 * 1024
MAX_HEADERS = 100

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TARGET = re.compile(rb"[\x21-\x7e\x80-\xff]+")
_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_ABSOLUTE = re.compile(rb"[A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*")


class BadHead(Exception):
    """A head this host will not act on: the HTTP status it is answered with, and why."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words


@attrs.frozen
class RequestHead:
    """A request line and its headers, as they came."""

    method: bytes
    target: bytes
    version: bytes
    """`HTTP/1.0` or `HTTP/1.1`."""
    headers: tuple[tuple[bytes, bytes], ...]
    """In the order they came; names in lower case, values stripped."""

    def values(self, name: bytes) -> list[bytes]:
        """Every value of the header `name` (in lower case)."""
        return [value for found, value in self.headers if found == name]

    def has_word(self, name: bytes, word: bytes) -> bool:
        """Whether the comma-separated header `name` holds `word` (in lower case)."""
        return any(
            word == part.strip().lower()
            for value in self.values(name)
            for part in value.split(b",")
        )

    @property
    def path(self) -> bytes:
        """The target's path, percent-encoded as it came; of an absolute target too."""
        return self._local_target().partition(b"?")[0]

    @property
    def query(self) -> bytes:
        return self._local_target().partition(b"?")[2]

    def _local_target(self) -> bytes:
        target = self.target.partition(b"#")[0]
        absolute = _ABSOLUTE.match(target)
        return target if absolute is None else target[absolute.end() :] or b"/"


def could_begin(data: bytes) -> bool:
    """Whether `data`, the first bytes of a connection, can be the start of a request.

    Tells a TLS hello on a plain port, and noise, before a whole head of it is awaited.
    """
    word = data[:24].partition(b" ")[0]
    return bool(word) and _TOKEN.fullmatch(word) is not None


def parse_head(data: bytes) -> RequestHead:
    """The head in `data`, which ends with its blank line. Raises `BadHead`."""
    lines = data[:-4].split(b"\r\n")
    if len(lines) - 1 > MAX_HEADERS:
        raise BadHead(431, f"the request has {len(lines) - 1} headers; {MAX_HEADERS} are allowed")
    method, target, version = _request_line(lines[0])
    headers = tuple(_header(number, line) for number, line in enumerate(lines[1:], 1))
    return RequestHead(method, target, version, headers)


def _request_line(line: bytes) -> tuple[bytes, bytes, bytes]:
    parts = line.split(b" ")
    if len(parts) != 3 or not _TOKEN.fullmatch(parts[0]) or not _TARGET.fullmatch(parts[1]):
        raise BadHead(400, "the request line is not a method, a target and a version")
    if parts[2] not in {b"HTTP/1.0", b"HTTP/1.1"}:
        raise BadHead(505, "this host speaks HTTP/1.1")
    return parts[0], parts[1], parts[2]


def _header(number: int, line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.partition(b":")
    if not colon or not _TOKEN.fullmatch(name):
        raise BadHead(400, f"header {number} is not a name, a colon and a value")
    if not _VALUE.fullmatch(value):
        raise BadHead(400, f"the value of header {number} holds a control character")
    return name.lower(), value.strip(b" \t")
