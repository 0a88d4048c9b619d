"""The files of a session's attachments on their way from one host to another.

A file travels in pieces, so that no line of an export is long, and is put in its place when
all of the import is known to be good.
"""

import base64
import binascii
import contextlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ahpd.interfaces.stores import StoreFailure

#: Where the files of the session with an id are.
FolderOf = Callable[[str], Path]

#: Bytes of a file in one line; a multiple of three, so that base64 pads the last alone.
PIECE: Final = 48 * 1024


def pieces(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Every file under a folder: `path` inside it, `data` in base64, and whether there is `more`.

    A link is not followed and not carried. Raises `OSError`, and `StoreFailure` for a name that
    is no text.
    """
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = Path(place, name)
            if not stat.S_ISREG(path.lstat().st_mode):
                continue
            inside = path.relative_to(folder).as_posix()
            try:
                inside.encode()
            except UnicodeEncodeError:
                raise StoreFailure(f"{path!r}: its name is no text and cannot be carried") from None
            yield from _pieces_of(path, inside)


def _pieces_of(path: Path, inside: str) -> Iterator[Mapping[str, Any]]:
    with path.open("rb") as file:
        data = file.read(PIECE)
        while True:
            following = file.read(PIECE)
            yield {
                "path": inside,
                "data": base64.b64encode(data).decode(),
                "more": bool(following),
            }
            if not following:
                return
            data = following


class Arriving:
    """Files of an import: kept aside first, then put in place, or taken away again.

    `aside` is a folder on the same file system as those `folder_of` names. Each method raises
    `OSError`; `add` raises `ValueError` for what is no piece of a file.
    """

    def __init__(self, aside: Path, folder_of: FolderOf) -> None:
        self._aside = aside
        self._folder_of = folder_of
        self._waiting: list[tuple[Path, Path]] = []
        self._shared: dict[Path, bool] = {}
        """Where files belong, and whether each came as one of another session's."""
        self._passed_over = False
        self._placed: list[Path] = []
        self._open: tuple[str, str] | None = None
        """The session and the path of a file that is not whole yet."""

    @property
    def is_between(self) -> bool:
        """Whether a file waits for its next piece."""
        return self._open is not None

    def add(self, session: str, path: str, data: str, more: bool, shared: str = "") -> None:
        """One piece of a file; pieces of a file follow one another.

        `shared` is for a file in another session's folder: the name of the attachment it is
        of, `FOLDER/PLACE`. Such a one may come more than once.
        """
        if self._open is not None and self._open != (session, path):
            raise ValueError(f"the file {self._open[1]} is not whole")
        raw = _decoded(data)
        if self._open is None:
            self._begin(session, path, shared)
        if not self._passed_over:
            with self._waiting[-1][0].open("ab") as file:
                file.write(raw)
        self._open = (session, path) if more else None

    def _begin(self, session: str, path: str, shared: str) -> None:
        folder = self._aside.parent / shared if shared else self._folder_of(session)
        target = folder.joinpath(*_names(path))
        self._passed_over = target in self._shared and (bool(shared) or self._shared[target])
        if target in self._shared and not self._passed_over:
            raise ValueError(f"the file {path} is there twice")
        self._shared[target] = bool(shared) and self._shared.get(target, True)
        if not self._passed_over:
            _make(self._aside)
            draft = self._aside / str(len(self._waiting))
            self._waiting.append((draft, target))
            os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))

    def place(self) -> None:
        """Put every file where it belongs."""
        for draft, target in self._waiting:
            if self._shared[target] and target.exists():
                continue  # the session it came to is here, and the file with it
            _make(target.parent)
            draft.chmod(0o400)
            draft.replace(target)
            self._placed.append(target)

    def take_back(self) -> None:
        """Take away what was put in place; what cannot be is left."""
        for target in self._placed:
            with contextlib.suppress(OSError):
                target.unlink()
                target.parent.rmdir()
                target.parent.parent.rmdir()
        self._placed.clear()

    def clear(self) -> None:
        """Leave nothing aside."""
        shutil.rmtree(self._aside, ignore_errors=True)


def _make(folder: Path) -> None:
    """Make a folder and what is missing above it, all their owner's alone."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("data is not base64") from None


def _names(path: str) -> list[str]:
    """The names a path inside a folder is made of: none leads out of it."""
    names = path.split("/")
    if any(name in ("", ".", "..") or "\0" in name for name in names):
        raise ValueError(f"path is {path!r}, expected one inside the session's folder")
    return names


def mover(old: Path, new: Path) -> Callable[[Any], Any]:
    """Makes of a value one that names attachments where they are now.

    A text that begins with the old folder, as a path or as a `file:` URI, begins with the new
    one; a text that only mentions it is left as it was said.
    """
    if old == new or not old.is_absolute():
        return lambda value: value
    pairs = ((f"{old}/", f"{new}/"), (f"{old.as_uri()}/", f"{new.as_uri()}/"))

    def moved(value: Any) -> Any:
        match value:
            case str():
                for before, after in pairs:
                    if value.startswith(before):
                        return after + value[len(before) :]
                return value
            case list():
                return [moved(item) for item in value]
            case dict():
                return {key: moved(item) for key, item in value.items()}
            case _:
                return value

    return moved
