"""`memory_read` and `memory_write`: notes that outlive a session, shared by its workspace.

They are text files in one folder of a workspace, `<store>/memory/<slug>/`, for a person to
read and edit by hand. A name is one name, so nothing outside of the folder can be meant by
it, and a link in it is not followed.
"""

import contextlib
import fcntl
import hashlib
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
from twisted.internet.defer import Deferred, maybeDeferred

from ahpd.interfaces import Permission, ToolEffects
from ahpd_agent_openai.tools.arguments import Argument
from ahpd_agent_openai.tools.base import Tool, clipped
from ahpd_agent_openai.tools.tree.walking import open_folder, open_in
from ahpd_agent_openai.tools.values import (
    CallContext,
    Described,
    ToolOutcome,
    ToolProblem,
    text_block,
)
from ahpd_agent_openai.tools.work import to_its_end

#: Bytes of one note, how many notes there are, and characters of what a prompt is told of them.
LARGEST_NOTE: Final = 64 * 1024
MOST_NOTES: Final = 100
LONGEST_PROMPT: Final = 8_000

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NAME_WORDS: Final = "a name of letters, digits, dots, dashes and underscores, at most 64"
_MAKE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def slug(workspace: str) -> str:
    """The name of a workspace's folder of notes: its own, and a mark that no other shares.

    `workspace` is the real path of the session's first folder.
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(workspace)).strip("-.")  # noqa: PTH119
    mark = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:12]
    return f"{name[:40] or 'workspace'}-{mark}"


@attrs.frozen
class Notes:
    """The notes of one workspace, on disk. Everything here may block, and raises `ToolProblem`.

    `ids` never repeat.
    """

    folder: Path
    ids: Callable[[], str]

    def names(self) -> list[str]:
        """Every note, by name."""
        with _told("the notes", nothing=[]) as outcome, self._held() as folder:
            listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder)
            try:
                found = os.listdir(listed)  # noqa: PTH208 - a folder without a path
            finally:
                os.close(listed)
            outcome.value = sorted(name for name in found if _NAME.fullmatch(name))[:MOST_NOTES]
        names: list[str] = outcome.value
        return names

    def read(self, name: str) -> str | None:
        """A note's text, None where there is none of that name."""
        with _told(f"the note {name!r}", nothing=None) as outcome, self._held() as folder:
            with os.fdopen(open_in(folder, name), "rb") as stream:
                data = stream.read(LARGEST_NOTE + 1)
            text = data[:LARGEST_NOTE].decode(errors="replace")
            outcome.value = text + ("\n[cut off here]" if len(data) > LARGEST_NOTE else "")
        text_or_none: str | None = outcome.value
        return text_or_none

    def write(self, name: str, text: str, *, append: bool) -> int:
        """Have a note hold `text`, behind what it holds with `append`; its size in bytes.

        Empty text takes a note away.
        """
        with self._alone():
            return self._write(name, text, append)

    def _write(self, name: str, text: str, append: bool) -> int:
        before = (self.read(name) or "") if append else ""
        gap = "\n" if before and not before.endswith("\n") else ""
        data = (before + gap + text).encode()
        if len(data) > LARGEST_NOTE:
            raise ToolProblem(
                f"the note would have {len(data)} bytes; a note has at most {LARGEST_NOTE}"
            )
        names = self.names()
        if data and name not in names and len(names) >= MOST_NOTES:
            raise ToolProblem(f"there are {MOST_NOTES} notes already: take one away first")
        with _told(f"the note {name!r}"), self._held() as folder:
            if data:
                self._put(folder, name, data)
            elif name in names:
                os.unlink(name, dir_fd=folder)
        return len(data)

    @contextlib.contextmanager
    def _alone(self) -> Any:
        """Nobody else writes notes here meanwhile, no other session and no other process."""
        with _told("the notes"), self._held(make=True) as folder:
            locked = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder)
            try:
                fcntl.flock(locked, fcntl.LOCK_EX)
                yield
            finally:
                os.close(locked)

    def _put(self, folder: int, name: str, data: bytes) -> None:
        draft = f".{name}.{re.sub(r'[^A-Za-z0-9-]', '', self.ids())}.part"
        try:
            with os.fdopen(os.open(draft, _MAKE, 0o600, dir_fd=folder), "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise

    @contextlib.contextmanager
    def _held(self, *, make: bool = False) -> Any:
        """A descriptor of the folder. Raises `OSError`."""
        if make:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The store may be reached by a link of a person's; the last two names are ours.
        memory = self.folder.parent
        real = Path(os.path.realpath(memory.parent), memory.name, self.folder.name)
        folder = open_folder(str(real))
        try:
            yield folder
        finally:
            os.close(folder)

    def prompt(self) -> str:
        """What a model's system prompt is told of the notes."""
        lines = []
        for name in self.names():
            text = (self.read(name) or "").strip()
            lines.append(f"- {name}: {clipped(text.partition(chr(10))[0], 120) or 'empty'}")
        words = (
            "You have notes that outlive this session and are shared by every session in this"
            " workspace. Read them with memory_read where they may help, and keep what a later"
            " session should know with memory_write: decisions, conventions, what people asked"
            " for. Never keep a secret in them."
        )
        if not lines:
            return f"{words} There are none yet."
        return f"{words} The notes, each with its first line:\n" + "\n".join(lines)[:LONGEST_PROMPT]


@attrs.define
class _Outcome:
    value: Any = None


@contextlib.contextmanager
def _told(what: str, nothing: Any = None) -> Any:
    """Have an error of the system's be told in words; what is not there is `nothing`."""
    outcome = _Outcome(nothing)
    try:
        yield outcome
    except FileNotFoundError:
        pass
    except OSError as error:
        raise ToolProblem(f"{what} cannot be reached: {error.strerror or error}") from None


class _MemoryTool(Tool):
    kind = "memory"

    def __init__(self, notes: Notes, run_blocking: Callable[..., Awaitable[Any]]) -> None:
        self._notes = notes
        self._run_blocking = run_blocking

    def checked(self, arguments: Any) -> dict[str, Any]:
        """See `ITool.checked`."""
        taken = super().checked(arguments)
        name = taken.get("name")
        if name is not None and _NAME.fullmatch(name) is None:
            raise ToolProblem(f"{self.name} was not run. `name` {name!r} is not {_NAME_WORDS}.")
        return taken


class MemoryRead(_MemoryTool):
    """Reads a note, or lists them."""

    name = "memory_read"
    title = "Read Memory"
    effects = ToolEffects(reads=True)
    description = "Read a note of this workspace's memory, or list the notes there are."
    arguments = (
        Argument(
            name="name",
            kind="string",
            description="the note; where it is left out, the notes are listed",
            longest=64,
        ),
    )

    def described(self, arguments: Mapping[str, Any]) -> Described:
        """See `ITool.described`."""
        name = arguments.get("name")
        words = "Listing memory" if name is None else f"Reading the note {name}"
        return self._described(words, arguments, Permission(kind="memory"))

    async def run(self, arguments: Mapping[str, Any], call: CallContext) -> ToolOutcome:
        """See `ITool.run`."""
        name = arguments.get("name")
        if name is None:
            names = await self._run_blocking(self._notes.names)
            text = "\n".join(names) or "[there are no notes]"
            return ToolOutcome(text=text, past_tense="Listed memory", content=[text_block(text)])
        note = await self._run_blocking(lambda: self._notes.read(name))
        if note is None:
            raise ToolProblem(f"there is no note {name!r}")
        text = note or "[the note is empty]"
        return ToolOutcome(
            text=text, past_tense=f"Read the note {name}", content=[text_block(text)]
        )


class MemoryWrite(_MemoryTool):
    """Writes a note."""

    name = "memory_write"
    title = "Write Memory"
    effects = ToolEffects(writes=True)
    description = (
        "Keep a note in this workspace's memory, for this session and later ones. It takes the"
        " place of the note of that name, or goes behind it with `append`. Empty text takes the"
        " note away."
    )
    arguments = (
        Argument(name="name", kind="string", description=_NAME_WORDS, required=True, longest=64),
        Argument(
            name="content",
            kind="string",
            description="the text of the note",
            required=True,
            longest=LARGEST_NOTE,
            empty=True,
        ),
        Argument(name="append", kind="boolean", description="whether it goes behind what is there"),
    )

    def described(self, arguments: Mapping[str, Any]) -> Described:
        """See `ITool.described`."""
        words = f"Keeping the note {arguments['name']}"
        return self._described(words, arguments, Permission(kind="memory"))

    async def run(self, arguments: Mapping[str, Any], call: CallContext) -> ToolOutcome:
        """See `ITool.run`."""
        name: str = arguments["name"]
        append = arguments.get("append", False)

        def work() -> int:
            return self._notes.write(name, arguments["content"], append=append)

        writing: Deferred[Any] = maybeDeferred(self._run_blocking, work)
        size = await to_its_end(writing)
        words = f"Kept the note {name}" if size else f"Took the note {name} away"
        text = f"{words}, {size} bytes." if size else f"{words}."
        return ToolOutcome(text=text, past_tense=words, content=[text_block(text)])
