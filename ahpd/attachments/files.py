"""The files attachments are kept in: one folder per session, one per attachment inside it.

Everything here blocks, and is called off the reactor's thread.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from ahpd.attachments.names import file_name, folder_name
from ahpd.protocol.uris import session_id


class AttachmentFiles:
    """Files under `root`, which is made when first written to. `ids` never repeat."""

    def __init__(self, root: Path, ids: Callable[[], str]) -> None:
        self.root = root
        self._ids = ids

    def folder(self, session: str) -> Path:
        """Where a session's files are; `session` is any of its URIs."""
        return self.root / folder_name(session_id(session))

    def write(self, session: str, label: str, content_type: str, data: bytes) -> Path:
        """Keep `data`: the file is there whole or not at all. Raises `OSError`."""
        folder = self.folder(session)
        place = folder / folder_name(self._ids())
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        place.mkdir(mode=0o700)
        path = place / file_name(label, content_type)
        part = place / ".part"
        try:
            with part.open("xb") as file:
                os.fchmod(file.fileno(), 0o400)
                file.write(data)
            part.replace(path)
        except OSError:
            part.unlink(missing_ok=True)
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

    def remove(self, session: str) -> None:
        """Remove all that is kept of a session; nothing there is no error. Raises `OSError`."""
        folder = self.folder(session)
        if folder.is_symlink() or folder.exists():
            shutil.rmtree(folder)
