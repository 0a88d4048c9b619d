"""Which sessions refer to files in the folders of others.

A chat that moved to another session goes on naming the files that came with its messages,
which are in the folder of the session it was in. `.shared`, beside those folders, says for
each session which attachments of others its chats name, so that these stay when the session
they came to is gone. Each is named `FOLDER/PLACE`, its session's folder and its own in it.
"""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from twisted.logger import Logger

from ahpd.attachments.names import is_folder_name
from ahpd.private_folders import make_private
from ahpd.protocol import State
from ahpd.protocol.file_uris import path_of
from ahpd.whole_files import replace

log = Logger()

FILE: Final = ".shared"


class SharedFiles:
    """What `.shared` in `root` says. It is read when it is first asked, and written whole.

    One that cannot be read says nothing and is not written over: `damaged` is true then.
    Folders are named as they are under `root`.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path = root / FILE
        self.damaged = False
        self._held: dict[str, frozenset[str]] | None = None
        self._left: frozenset[str] = frozenset()

    def of(self, folder: str) -> frozenset[str]:
        """What the session of this folder refers to in the folders of others."""
        return self._shared().get(folder, frozenset())

    def of_others(self, folder: str) -> frozenset[str]:
        """All that any session but that of this folder refers to."""
        names = (names for other, names in self._shared().items() if other != folder)
        return frozenset().union(*names)

    @property
    def sessions(self) -> Collection[str]:
        """The folders of the sessions that refer to something."""
        return tuple(self._shared())

    @property
    def left(self) -> frozenset[str]:
        """Folders of sessions nobody knew when there was no session at all; see `leave`."""
        self._shared()
        return self._left

    def put(self, told: Mapping[str, Iterable[str]]) -> None:
        """From now on the sessions of these folders refer to these, and to nothing else.

        On disk when it returns. Raises `OSError`, nothing changed.
        """
        held = {**self._shared(), **{folder: frozenset(names) for folder, names in told.items()}}
        held = {folder: names for folder, names in held.items() if names}
        if held != self._held:
            self._write(held, self._left)

    def leave(self, folders: Iterable[str]) -> None:
        """Never take these away as left behind. Raises `OSError`, nothing changed."""
        left = self.left | frozenset(folders)
        if left != self._left:
            self._write(self._shared(), left)

    def names(self, chats: Iterable[State], folder: str) -> frozenset[str]:
        """The attachments in other folders than this one that chats (ChatState) name."""
        found = (self.name(uri) for chat in chats for uri in _uris(chat))
        return frozenset(name for name in found if name and not name.startswith(f"{folder}/"))

    def name(self, uri: str) -> str | None:
        """The name of the attachment a URI is the file of; None for any other URI."""
        path, inside = path_of(uri), f"{self.root}{os.sep}"
        if path is None or not path.startswith(inside):
            return None
        # A client may have written the URI: what is named here is removed one day.
        folder, _, rest = path[len(inside) :].partition(os.sep)
        place, _, file = rest.partition(os.sep)
        if file in ("", ".", "..") or os.sep in file:
            return None
        name = f"{folder}/{place}"
        return name if _is_name(name) else None

    def _shared(self) -> dict[str, frozenset[str]]:
        if self._held is None:
            self._held = {}
            try:
                self._held, self._left = _read(self.path)
            except FileNotFoundError:
                pass
            except (OSError, ValueError) as error:
                self.damaged = True
                log.error(
                    "{path} cannot be read ({why}): attachments of sessions that are gone stay "
                    "until it is moved away",
                    path=str(self.path),
                    why=getattr(error, "strerror", None) or str(error),
                )
        return self._held

    def _write(self, held: dict[str, frozenset[str]], left: frozenset[str]) -> None:
        if self.damaged:
            raise OSError(0, f"{self.path} is damaged; move it away")
        shared = {folder: sorted(names) for folder, names in sorted(held.items())}
        data = json.dumps({"shared": shared, "left": sorted(left)}).encode()
        make_private(self.root)
        replace(self.path, data)
        self._held, self._left = held, left


def _read(path: Path) -> tuple[dict[str, frozenset[str]], frozenset[str]]:
    """Raises `OSError`, and `ValueError` for what is none of ours."""
    value: Any = json.loads(path.read_bytes())
    try:
        held = {str(folder): frozenset(_texts(names)) for folder, names in value["shared"].items()}
        if not all(_is_name(name) for names in held.values() for name in names):
            raise TypeError
        return held, frozenset(_texts(value["left"]))
    except (AttributeError, KeyError, TypeError):
        raise ValueError("it is none of ahpd's") from None


def _is_name(name: str) -> bool:
    """Whether it is `FOLDER/PLACE`, the name of an attachment."""
    folder, _, place = name.partition("/")
    return is_folder_name(folder) and is_folder_name(place)


def _texts(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError
    return values


def _uris(chat: State) -> Iterator[str]:
    """The URIs of all resources that messages of a chat carry."""
    for message in _messages(chat):
        for attachment in message.get("attachments") or ():
            if attachment.get("type") == "resource":
                yield attachment["uri"]


def _messages(chat: State) -> Iterator[State]:
    """A chat's messages: those of its turns, those that wait, and the one being written."""
    for turn in chat["turns"]:
        yield turn["message"]
    if "activeTurn" in chat:
        yield chat["activeTurn"]["message"]
    waiting = [*(chat.get("queuedMessages") or ()), chat.get("steeringMessage")]
    for entry in waiting:
        if entry:
            yield entry["message"]
    if chat.get("draft"):
        yield chat["draft"]
