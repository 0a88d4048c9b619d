"""The files attachments are kept in: one folder per session, one per attachment inside it.

Everything here blocks, and is called off the reactor's thread.
"""

import contextlib
import os
import shutil
import stat
import threading
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Final

from ahpd.attachments.names import file_name, folder_name, is_folder_name
from ahpd.private_folders import make_private
from ahpd.protocol.uris import session_id
from ahpd.whole_files import keep_names

#: A file that is being written.
_PART: Final = ".part"
_MODE: Final = 0o400


class AttachmentFiles:
    """Files under `root`, which is made when first written to. `ids` never repeat.

    With `power` what is written is on disk when it returns; without, in the system's cache,
    which outlives this process.
    """

    def __init__(self, root: Path, ids: Callable[[], str], *, power: bool = False) -> None:
        self.root = root
        self._ids = ids
        self._power = power
        self._sweeping = threading.Lock()
        self._written: set[str] = set()
        """The folders that were written to in this life."""

    def folder(self, session: str) -> Path:
        """Where a session's files are; `session` is any of its URIs."""
        return self.root / folder_name(session_id(session))

    def write(self, session: str, label: str, content_type: str, data: bytes) -> Path:
        """Keep `data`: the file is there whole or not at all. Raises `OSError`."""
        folder = self.folder(session)
        place = folder / folder_name(self._ids())
        with self._sweeping:
            self._written.add(folder.name)
        make_private(self.root)
        folder.mkdir(mode=0o700, exist_ok=True)
        place.mkdir(mode=0o700)
        path = place / file_name(label, content_type)
        part = place / _PART
        try:
            with part.open("xb") as file:
                os.fchmod(file.fileno(), _MODE)
                file.write(data)
                if self._power:
                    file.flush()
                    os.fsync(file.fileno())
            part.replace(path)
            for named_in in (place, folder, self.root) if self._power else ():
                keep_names(named_in)
        except OSError:
            part.unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            place.rmdir()
            raise
        return path

    def owns(self, path: str, session: str | None = None) -> bool:
        """Whether `path` is a file kept here, for `session` or for any: links are seen through."""
        folder = self.root if session is None else self.folder(session)
        real, inside = os.path.realpath(path), os.path.realpath(folder)
        return real.startswith(inside + os.sep) and Path(real).is_file()

    def take_back(self, path: str) -> None:
        """Remove one file this wrote, its folder with it. Raises `OSError`."""
        if self.owns(path):
            written = Path(path)
            written.unlink()
            written.parent.rmdir()

    def remove(self, session: str, keep: Collection[str] = ()) -> None:
        """Remove all that is kept of a session but the places `keep` names in its folder.

        Nothing there is no error. Raises `OSError`.
        """
        folder = self.folder(session)
        if keep and not folder.is_symlink():
            self.take_away(
                f"{folder.name}/{place.name}" for place in _in(folder) if place.name not in keep
            )
        elif folder.is_symlink() or folder.exists():
            shutil.rmtree(folder)

    def take_away(self, names: Iterable[str]) -> None:
        """Remove attachments by their names, `FOLDER/PLACE`, and the folders left empty.

        One that is not there is no error. Raises `OSError`.
        """
        for name in names:
            place = self.root / name
            if not place.parent.is_symlink() and place.exists():
                shutil.rmtree(place)
                _remove_if_empty(place.parent)

    def folders(self) -> list[str]:
        """The names of the folders there are that may be a session's. Raises `OSError`."""
        return [entry.name for entry in _in(self.root) if is_folder_name(entry.name)]

    def sweep(self, folder: str, keep: Collection[str]) -> bool:
        """Remove what was written for a session that is gone; whether anything was.

        What `write` did not make stays, and so do the places `keep` names and a folder that
        was written to in this life. Raises `OSError`.
        """
        with self._sweeping:
            if folder in self._written:
                return False
            found = False
            for place in _in(self.root / folder):
                if place.name not in keep and _is_ours(place):
                    shutil.rmtree(place)
                    found = True
            _remove_if_empty(self.root / folder)
            return found


def _in(folder: Path) -> list[Path]:
    """The folders in a folder, links left out; none where it is missing."""
    try:
        with os.scandir(folder) as found:
            return [Path(entry) for entry in found if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []


def _is_ours(place: Path) -> bool:
    """Whether a folder is as `write` makes it: one file at most, read by its owner alone."""
    with os.scandir(place) as found:
        entries = list(found)
    if not is_folder_name(place.name) or len(entries) > 1:
        return False
    modes = [(entry.name, entry.stat(follow_symlinks=False).st_mode) for entry in entries]
    return all(
        stat.S_ISREG(mode) and (name == _PART or stat.S_IMODE(mode) == _MODE)
        for name, mode in modes
    )


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()
