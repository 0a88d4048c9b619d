"""Manifests that were read before, so that a start reads none that is as it was.

What a file holds is kept as JSON text in the plugin root (`values`; whoever is handed it may change
it, and reading the text again is the quickest copy) beside what tells the file from any other it
may become: its time stamps, its size and its inode. A file that changed just now is read anew the
next time too, because it may change again within the same stamp. Nothing is believed that somebody
else could have written, and nothing here fails a load: where it cannot be read or kept, manifests
are read as they are.
"""

import json
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ahpd.config import document
from ahpd.config.document import Document
from ahpd.private_folders import make_private
from ahpd.whole_files import replace

_FILE: Final = "manifests.json"
#: Seconds within which a change may leave the stamps of a file as they were.
_SAME_STAMP: Final = 2.0
_OTHERS_MAY_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


class ReadManifests:
    """The manifests of one plugin root, which is made where there is something to keep.

    `version` is the one of this program: another one may read files differently. `now` answers
    seconds since the epoch.
    """

    def __init__(self, folder: Path, version: str, now: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._version = version
        self._now = now
        self._held: dict[str, Any] | None = None
        self._moved = False

    def read(self, path: Path) -> Document:
        """See `ahpd.config.document.read`."""
        try:
            found = path.stat()
        except OSError:
            return document.read(path)
        known, held = self._known(), _stamps(found)
        kept = known.get(str(path))
        if kept is not None and kept.get("stamps") == held:
            values = _values(kept["values"])
            if values is not None:
                return Document(path, values, kept["lines"])
        read = document.read(path)
        if self._now() - max(found.st_mtime, found.st_ctime) > _SAME_STAMP:
            self._learn(path, held, read)
        return read

    def keep(self) -> None:
        """Write what was learned since, for the next start."""
        if not self._moved:
            return
        self._moved = False
        said = {"version": self._version, "manifests": self._known()}
        try:
            make_private(self._folder)
            replace(self._folder / _FILE, json.dumps(said).encode())
        except OSError:
            return

    def _learn(self, path: Path, stamps: list[int], read: Document) -> None:
        try:
            values = json.dumps(read.values)
            same = json.loads(values) == read.values
        except (TypeError, ValueError, RecursionError):
            return
        if same:  # what JSON cannot say is read anew
            self._known()[str(path)] = {
                "stamps": stamps, "values": values, "lines": dict(read.lines)
            }  # fmt: skip
            self._moved = True

    def _known(self) -> dict[str, Any]:
        if self._held is None:
            self._held = self._load()
        return self._held

    def _load(self) -> dict[str, Any]:
        try:
            for place in (self._folder, self._folder / _FILE):
                found = place.lstat()
                if found.st_uid != os.geteuid() or found.st_mode & _OTHERS_MAY_WRITE:
                    return {}
            said = json.loads((self._folder / _FILE).read_bytes())
            held = said["manifests"] if said["version"] == self._version else {}
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return {}
        return {path: kept for path, kept in held.items() if _is_kept(kept)}


def _is_kept(kept: Any) -> bool:
    return (
        isinstance(kept, dict)
        and isinstance(kept.get("values"), str)
        and isinstance(kept.get("lines"), dict)
    )


def _values(text: str) -> dict[str, Any] | None:
    """What was kept, as a value of its own for each who asks; None for what nobody kept here."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _stamps(found: os.stat_result) -> list[int]:
    return [found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev]
