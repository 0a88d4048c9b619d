"""Icons as clients draw them: what a manifest names, read once and sent as `data:` URIs.

A client never asks a server that a plugin names, nor this host for a file. Source: PLUGINS.txt,
"Icons"; the shape is the protocol's `Icon`. The marks this host ships are in `marks/`.
"""

import base64
import binascii
import re
import stat
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote_to_bytes, urlsplit

import attrs

from ahpd.protocol import State
from ahpd.threads import InThread

#: Bytes of image one icon may have.
LIMIT: Final = 256 * 1024
#: Seconds an icon's server may take.
TIMEOUT: Final = 10.0

MARKS: Final = Path(__file__).parent / "marks"

_TYPES: Final = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
}
_MARK: Final = re.compile(r"[a-z0-9-]+")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_HTTPS: Final = "https:"
#: What is shown of a source, in characters.
_SHOWN: Final = 80


class IconUnread(Exception):
    """An icon that is left out, and why."""


@attrs.frozen
class Fetched:
    """What a server answered."""

    content_type: str
    """Without its parameters; empty where it said none."""
    body: bytes = attrs.field(repr=False)


#: `fetch(url, limit, timeout)`: what is at an `https:` URL. A limit of 0 is none. Raises `IconUnread`.
Fetch = Callable[[str, int, float], Awaitable[Fetched]]


async def resolve(
    icons: Sequence[Mapping[str, Any]],
    folder: Path | None,
    *,
    fetch: Fetch | None,
    run_blocking: InThread,
    limit: int = LIMIT,
    timeout: float = TIMEOUT,  # noqa: ASYNC109 - the fetch's own, of one icon
    marks: Path = MARKS,
    fetched: dict[str, Fetched] | None = None,
) -> tuple[list[State], list[str]]:
    """The icons as clients are sent them (schema: Icon), and a line for each that is left out.

    `folder` is the package of the plugin that declared them, None where it has none. `limit` is
    in bytes of image, 0 for none. What is in `fetched` by its URL is not fetched again, and what is
    fetched is put there. Icons have the protocol's shape; they are not changed.
    """
    held = {} if fetched is None else fetched
    resolving = _Resolving(folder, fetch, run_blocking, limit, timeout, marks, held)
    made: list[State] = []
    lines = []
    for icon in icons:
        try:
            made += await resolving.icon(icon)
        except IconUnread as unread:
            lines.append(f"the icon {shown(icon['src'])} is left out: {unread}")
    return made, lines


def is_fetched(icon: Mapping[str, Any]) -> bool:
    """Whether an icon is on a server, which may keep whoever asks waiting."""
    return _scheme(icon["src"]) == _HTTPS


def shown(src: str) -> str:
    """A source in words: neither a picture's data nor what a URL may carry in secret."""
    if src[:5].lower() == "data:":
        return "data:" + src[5:].partition(",")[0][:_SHOWN]
    if _SCHEME.match(src):
        try:
            parts = urlsplit(src)
            host = parts.hostname or ""
        except ValueError:
            return src.partition(":")[0] + ":..."
        if parts.netloc:
            src = f"{parts.scheme}://{host}{parts.path}"
    words = src.encode(errors="replace").decode()
    words = "".join(each if each.isprintable() else "?" for each in words)
    return words if len(words) <= _SHOWN else f"{words[:_SHOWN]}..."


@attrs.frozen
class _Resolving:
    """One load's icons: where they are from, and what bounds them."""

    folder: Path | None
    fetch: Fetch | None
    run_blocking: InThread
    limit: int
    timeout: float
    marks: Path
    fetched: dict[str, Fetched]

    async def icon(self, icon: Mapping[str, Any]) -> list[State]:
        src: str = icon["src"]
        scheme = _scheme(src)
        if scheme == "data:":
            return [self._data(icon)]
        if scheme == "mark:":
            return await self._mark(icon, src.partition(":")[2])
        if scheme == _HTTPS:
            return [await self._remote(icon)]
        if scheme:
            raise IconUnread("a file of the package, https:, data: or mark: is read")
        if self.folder is None:
            raise IconUnread("there is no package its file could be in")
        kind = icon.get("contentType") or _TYPES.get(Path(src).suffix.lower())
        if kind is None:
            raise IconUnread(f"it says no contentType and ends in none of {', '.join(_TYPES)}")
        folder = self.folder
        body = await self.run_blocking(lambda: _read(folder, src, self.limit))
        return [_sent(icon, kind, body)]

    def _data(self, icon: Mapping[str, Any]) -> State:
        head, comma, data = icon["src"][5:].partition(",")
        if not comma:
            raise IconUnread("it is no data: URI")
        self._measure(_length(head, data))
        kind = icon.get("contentType") or head.partition(";")[0].strip().lower()
        return _with_sizes(dict(icon), kind)

    async def _mark(self, icon: Mapping[str, Any], name: str) -> list[State]:
        if not _MARK.fullmatch(name):
            raise IconUnread("a mark's name is small letters, digits and dashes")

        def read() -> tuple[bytes, bytes | None]:
            if not (self.marks / f"{name}.svg").exists():
                raise IconUnread("this host ships no such mark")
            light = _read(self.marks, f"{name}.svg", self.limit)
            dark = f"{name}-dark.svg"
            there = (self.marks / dark).exists()
            return light, _read(self.marks, dark, self.limit) if there else None

        light, dark = await self.run_blocking(read)
        kind = _TYPES[".svg"]
        made = [_sent(icon, kind, light)]
        if dark is not None:
            made.append(_sent({**icon, "theme": "dark"}, kind, dark))
        return made

    async def _remote(self, icon: Mapping[str, Any]) -> State:
        src: str = icon["src"]
        if self.fetch is None:
            raise IconUnread("this host fetches none")
        if src not in self.fetched:
            self.fetched[src] = await self.fetch(src, self.limit, self.timeout)
        answer = self.fetched[src]
        kind = icon.get("contentType")
        if kind is None:
            kind = answer.content_type.lower()
            if not kind.startswith("image/"):
                raise IconUnread("its server answered what is no image")
        self._measure(len(answer.body))
        return _sent(icon, kind, answer.body)

    def _measure(self, size: int) -> None:
        if self.limit and size > self.limit:
            raise IconUnread(_too_large(self.limit))


def _scheme(src: str) -> str:
    """The scheme of a source with its colon, in small letters; empty for a path."""
    return found[0].lower() if (found := _SCHEME.match(src)) else ""


def _sent(icon: Mapping[str, Any], kind: str, body: bytes) -> State:
    """The icon with its picture in it."""
    src = f"data:{kind};base64,{base64.b64encode(body).decode()}"
    return _with_sizes({**icon, "src": src, "contentType": kind}, kind)


def _with_sizes(icon: State, kind: str) -> State:
    """A drawing fits any size, where nothing else was said."""
    if kind == _TYPES[".svg"] and "sizes" not in icon:
        icon["sizes"] = ["any"]
    return icon


def _length(head: str, data: str) -> int:
    """The bytes of the picture a `data:` URI holds."""
    body = unquote_to_bytes(data)
    if head.rpartition(";")[2].strip().lower() != "base64":
        return len(body)
    try:
        return len(base64.b64decode(body + b"=" * (-len(body) % 4), validate=True))
    except binascii.Error:
        raise IconUnread("what it holds is not base64") from None


def _read(folder: Path, name: str, limit: int) -> bytes:
    """A file below `folder`, links followed no further than it reaches."""
    try:
        root = folder.resolve(strict=True)
        place = (root / name).resolve(strict=True)
        if not place.is_relative_to(root):
            raise IconUnread("it is outside the package")
        if not stat.S_ISREG(place.stat().st_mode):
            raise IconUnread("it is no file")
        with place.open("rb") as file:
            body = file.read(limit + 1 if limit else -1)
    except (OSError, ValueError, RuntimeError) as error:
        words = error.strerror if isinstance(error, OSError) else "its name is none"
        raise IconUnread(f"its file cannot be read: {words}") from None
    if limit and len(body) > limit:
        raise IconUnread(_too_large(limit))
    return body


def _too_large(limit: int) -> str:
    return f"it is larger than {limit} bytes"
