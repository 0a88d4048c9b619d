"""Where conversations are kept: a file of JSON lines for each, or memory.

A file is only ever appended to, and is on disk when its turn ends. A line that a crash tore is
passed over when it is read, and taken off before the next one is written. Files are for their
owner alone.
"""

import os
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import attrs
from twisted.logger import Logger

from ahpd.interfaces import AgentFailure, ListedConversation
from ahpd.protocol import State
from ahpd.protocol.timestamps import stamp
from ahpd.wire.codec import decode, encode
from ahpd_agent_openai.conversation import Conversation

log = Logger()

NOT_KEPT: Final = "storeFailed"
UNKNOWN: Final = "unknownConversation"

_ID: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
_ENDING: Final = ".jsonl"
#: How much of a file a listing reads, in bytes: its head is the first line.
_HEAD: Final = 64 * 1024

RunBlocking = Callable[..., Awaitable[Any]]


@attrs.frozen
class _Read:
    records: list[State]
    sound: int
    """How many bytes of the file are whole lines."""


class ConversationLog:
    """One conversation, in memory as it counts and on disk as it was written."""

    def __init__(
        self, path: Path | None, run_blocking: RunBlocking, records: Iterable[State] = ()
    ) -> None:
        self.kept = Conversation(records)
        self._path = path
        self._run_blocking = run_blocking
        self._descriptor: int | None = None
        self._size: int | None = None
        self._is_named = False

    @property
    def id(self) -> str:
        """What it is kept under."""
        return self.kept.id

    def continued_at(self, size: int) -> None:
        """It is on disk already; `size` bytes of it are whole lines."""
        self._size = size
        self._is_named = True

    def add(self, *records: State) -> None:
        """Take records and write them. Raises `AgentFailure` where they cannot be kept."""
        if self._path is not None:
            self._write(self._path, b"".join(encode(record) + b"\n" for record in records))
        for record in records:
            self.kept.add(record)

    def _write(self, path: Path, data: bytes) -> None:
        try:
            if self._descriptor is None:
                self._descriptor = self._opened(path)
            left = memoryview(data)
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError as error:
            self.close()  # what was written of it is taken off when it is opened again
            raise _not_kept(error) from None
        self._size = (self._size or 0) + len(data)

    def _opened(self, path: Path) -> int:
        _make_private(path.parent)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        if self._size is not None and os.fstat(descriptor).st_size > self._size:
            os.ftruncate(descriptor, self._size)
        return descriptor

    async def settle(self) -> None:
        """All that was added is on disk when this returns. Raises `AgentFailure`."""
        if self._descriptor is None or self._path is None:
            return
        try:
            await self._run_blocking(_sync, self._descriptor)
            if not self._is_named:
                await self._run_blocking(_sync_folder, self._path.parent)
                self._is_named = True
        except OSError as error:
            raise _not_kept(error) from None

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)


class ConversationStore:
    """The conversations of one agent. `folder` None keeps them in memory."""

    def __init__(self, folder: Path | None, run_blocking: RunBlocking) -> None:
        self._folder = folder
        self._run_blocking = run_blocking
        self._held: dict[str, ConversationLog] = {}

    def begun(self, head: State, records: Sequence[State] = ()) -> ConversationLog:
        """A new one, written with the first thing that is added."""
        made = ConversationLog(self._path(head["id"]), self._run_blocking)
        if self._folder is None:
            self._held[head["id"]] = made
        made.add(head, *records)
        return made

    async def opened(self, identifier: str) -> ConversationLog | None:
        """The one of that id; None where there is none."""
        if self._folder is None:
            return self._held.get(identifier)
        if not _ID.fullmatch(identifier):
            return None
        path = self._path(identifier)
        assert path is not None
        try:
            read = await self._run_blocking(_read_file, path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise AgentFailure(
                f"The conversation could not be read: {error.strerror}", NOT_KEPT
            ) from None
        if not read.records:
            return None
        made = ConversationLog(path, self._run_blocking, read.records)
        made.continued_at(read.sound)
        return made

    async def listed(self) -> list[ListedConversation]:
        """All there are. Raises `AgentFailure`."""
        if self._folder is None:
            return [
                _listed(one.kept.records[0], str(one.kept.records[-1].get("at") or ""))
                for one in self._held.values()
                if one.kept.records
            ]
        try:
            found: list[ListedConversation] = await self._run_blocking(_list_folder, self._folder)
        except OSError as error:
            raise AgentFailure(
                f"The conversations could not be listed: {error.strerror}", NOT_KEPT
            ) from None
        return found

    async def deleted(self, identifier: str) -> None:
        """Delete it; one there is none of is no error. Raises `AgentFailure`."""
        held = self._held.pop(identifier, None)
        if held is not None or self._folder is None or not _ID.fullmatch(identifier):
            return
        path = self._path(identifier)
        assert path is not None
        try:
            await self._run_blocking(path.unlink, True)
        except OSError as error:
            raise AgentFailure(
                f"The conversation could not be deleted: {error.strerror}", NOT_KEPT
            ) from None

    def _path(self, identifier: str) -> Path | None:
        return None if self._folder is None else self._folder / f"{identifier}{_ENDING}"


def _not_kept(error: OSError) -> AgentFailure:
    return AgentFailure(f"The conversation could not be kept: {error.strerror}", NOT_KEPT, True)


def _make_private(folder: Path) -> None:
    """Make the folder and every missing one above it, each for its owner alone."""
    if not folder.parent.exists():
        _make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def _sync(descriptor: int) -> None:
    """Sync a file that its owner may close meanwhile, so through a descriptor of its own."""
    own = os.dup(descriptor)
    try:
        os.fsync(own)
    finally:
        os.close(own)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_file(path: Path) -> _Read:
    data = path.read_bytes()
    sound = data.rfind(b"\n") + 1
    records: list[State] = []
    for number, line in enumerate(data[:sound].split(b"\n"), 1):
        if not line:
            continue
        record = _record(line)
        if record is None:
            log.warn("line {number} of {path} is no record", number=number, path=str(path))
        elif records or record["k"] == "head":
            records.append(record)
    return _Read(records, sound)


#: What each kind of record holds; one that lacks it, a torn write's, is none.
_NEEDED: Final[dict[str, tuple[tuple[str, type | tuple[type, ...]], ...]]] = {
    "head": (("id", str),),
    "turn": (("turn", str), ("at", str), ("message", dict), ("content", (str, list))),
    "again": (("turn", str),),
    "assistant": (("text", str), ("calls", list)),
    "tool": (("id", str), ("text", str)),
    "user": (("content", (str, list)),),
    "summary": (("text", str), ("keep", int)),
    "end": (("turn", str), ("state", str), ("ms", (int, float))),
    "cut": (),
}


def _record(line: bytes) -> State | None:
    try:
        record = decode(line)
    except ValueError:
        return None
    if type(record) is not dict:
        return None
    kind = record.get("k")
    needed = _NEEDED.get(kind) if type(kind) is str else None
    if needed is None or not all(isinstance(record.get(name), kind) for name, kind in needed):
        return None
    return record


def _list_folder(folder: Path) -> list[ListedConversation]:
    found: list[ListedConversation] = []
    try:
        entries = list(folder.iterdir())
    except FileNotFoundError:
        return found
    for path in entries:
        if path.suffix != _ENDING or not _ID.fullmatch(path.stem):
            continue
        try:
            with path.open("rb") as file:
                line = file.readline(_HEAD)
                modified = os.fstat(file.fileno()).st_mtime
        except FileNotFoundError:
            continue
        head = _record(line)
        if head is not None and head["k"] == "head" and head["id"] == path.stem:
            found.append(_listed(head, _stamp(modified)))
    return found


def _stamp(seconds: float) -> str:
    return stamp(datetime.fromtimestamp(seconds, UTC))


def _listed(head: State, modified: str) -> ListedConversation:
    created = str(head.get("at") or modified)
    return ListedConversation(
        id=head["id"],
        title=str(head.get("title") or ""),
        created_at=created,
        modified_at=modified or created,
        working_directories=tuple(
            one for one in head.get("directories") or () if isinstance(one, str)
        ),
    )
