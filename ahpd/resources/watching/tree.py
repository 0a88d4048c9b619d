"""What is under a watched root, and how that is compared with what is there now.

The names in each folder are kept, with a mark of what each is. A hint has one name looked at
again; a folder that is new, or that another one may be in the place of, is listened to first
and read then, so what comes into it between the two is read or hinted at. Where hints were
lost everything is read again, and a folder nobody can listen to is read again and again: the
marks say what changed.

All of it blocks, and one thread at a time may be in a tree.
"""

import errno
import os
import stat
from collections.abc import Callable, Mapping
from typing import Final

from twisted.logger import Logger

from ahpd.protocol import State
from ahpd.protocol.file_uris import file_uri, shown
from ahpd.protocol.globs import WatchFilter
from ahpd.resources.files.at_work import GoOn, always
from ahpd.resources.watching.changes import Changes, Kind
from ahpd.resources.watching.hints import Hints
from ahpd.resources.watching.marks import UNSURE, Seen, SeenFolder, seen_at, seen_in
from ahpd.resources.watching.room import Room

log = Logger()

#: How many files and folders one watch may hold.
MOST_ENTRIES: Final = 1_000_000

#: The errors of what is not there, and of what is closed to us.
GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
DENIED: Final = frozenset({errno.EACCES, errno.EPERM})
#: The errors of a machine that has no more of something: they say nothing of a folder.
SHORT: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


class TooMany(Exception):
    """There is more under a root than one watch may hold, or than all of them may; in words."""


class Folder:
    """A folder that is known; one that is not looked into is a name with a mark."""

    __slots__ = ("descriptor", "entries", "gone", "inode", "mark", "parent", "path", "told", "tree")

    def __init__(self, tree: "Tree", parent: "Folder | None", path: str, told: bool) -> None:
        self.tree = tree
        self.parent = parent
        #: Relative to the root, which is "".
        self.path = path
        #: Whether clients are told of the folder, or of nothing but what is in it.
        self.told = told
        #: What is in it: a folder, or the mark of anything else that clients are told of.
        self.entries: dict[str, Folder | int] = {}
        self.inode = (0, 0)
        self.mark = UNSURE
        self.gone = False
        self.descriptor = -1

    def touched(self, name: str, anew: bool) -> None:
        """See `Place.touched`. What happens to a folder is told as the folder above it knows it."""
        if name or self.parent is None:
            self.tree.touched(self, name, anew)
        else:
            self.tree.touched(self.parent, self.path.rpartition("/")[2], anew)

    def within(self, name: str) -> str:
        """The path of `name` in here."""
        return f"{self.path}/{name}" if self.path else name


#: The names to look at in each folder, and whether another thing may be under the name.
Touched = Mapping[Folder, Mapping[str, bool]]


class Tree:
    """The inventory of one watch. `root` is an absolute path; a link is followed there alone."""

    def __init__(
        self,
        root: str,
        uri: str,
        recursive: bool,
        told: WatchFilter,
        hints: Hints,
        most: int = MOST_ENTRIES,
        go_on: GoOn = always,
        room: Room | None = None,
    ) -> None:
        """`uri` is the root's, as whoever watches spells it: those of its changes begin with it.

        `go_on` is asked at each folder that is read; what it raises comes out of `start` and
        `look`, and the tree is of no more use. `room` is what it shares with other trees.
        """
        self.root = root
        self._uri = uri
        self._recursive = recursive
        self._filter = told
        self._hints = hints
        self._most = most
        self._go_on = go_on
        self._room = Room(most) if room is None else room
        self._size = 0
        #: Holds the root under the name "", and nothing else.
        self._top = Folder(self, None, "", False)
        self._changes = Changes()
        #: The folders nobody can listen to.
        self._unheard: dict[Folder, None] = {}
        self._starting = True
        self._complained = False
        #: Told of every hint, in the reactor's thread; whoever drives this sets it.
        self.touched: Callable[[Folder, str, bool], None] = lambda folder, name, anew: None

    # -- what is asked of it -----------------------------------------------------

    def start(self) -> None:
        """Listen, and read what is there.

        Raises `OSError` where the root is not there, cannot be read or, as `ENOSPC`, cannot
        be listened to, and where the machine is short of something; `TooMany`. It is to be
        closed all the same.
        """
        if stat.S_ISDIR(os.stat(self.root).st_mode):  # noqa: PTH116 - may be no UTF-8
            os.scandir(self.root).close()
        self._look_at_root(anew=False)
        self._starting = False

    def look(
        self, touched: Touched, *, everything: bool = False, unheard: bool = False
    ) -> list[State]:
        """What changed (schema: ResourceChange) under the names that were touched.

        With `everything`, anywhere. With `unheard`, in the root's own place and in the folders
        nobody can listen to.
        """
        if everything or unheard or self._top in touched:
            self._look_at_root(anew=everything or touched.get(self._top, {}).get("", False))
        if not everything:
            for folder, names in touched.items():
                if folder is not self._top:
                    self._look_at(folder, names)
            if unheard:
                self._read(list(self._unheard), anew=False)
        return self._changes.take(self.uri)

    def close(self) -> None:
        """Listen to nothing any more, and know nothing."""
        if "" in self._top.entries:
            self._forget(self._top, "")
        self._hints.drop(self._top)
        self._changes.clear()

    def uri(self, path: str) -> str:
        """The URI of a path relative to the root."""
        if not path:
            return self._uri
        return f"{self._uri.rstrip('/')}/{file_uri('/' + path)[len('file:///') :]}"

    # -- looking -----------------------------------------------------------------

    def _look_at_root(self, *, anew: bool) -> None:
        todo: list[Folder] = []
        self._meet(self._top, "", seen_at(self.root, follow=True), anew, todo)
        root = self._top.entries.get("")
        if isinstance(root, Folder):
            heard = root.descriptor
            if root not in todo and self._listen(root) and root.descriptor != heard:
                todo.append(root)  # it is not the one that was listened to
        elif root is not None:
            self._listen(self._top)
        self._read(todo, anew=True)

    def _look_at(self, folder: Folder, names: Mapping[str, bool]) -> None:
        """Compare single names. What they turn out to be in the place of is read whole."""
        if folder.gone:
            return
        todo: list[Folder] = []
        place = self._place(folder)
        for name, anew in names.items():
            self._meet(folder, name, seen_at(f"{place}/{name}"), anew, todo)
        self._read(todo, anew=True)

    def _read(self, todo: list[Folder], *, anew: bool) -> None:
        """Compare whole folders with what is in them and, with `anew`, all that is below."""
        while todo:
            self._go_on()
            folder = todo.pop()
            if folder.gone:
                continue
            found = self._found_in(folder) if self._listen(folder) else {}
            if found is None:
                continue
            for name in [name for name in folder.entries if name not in found]:
                self._forget(folder, name)
            for name, now in found.items():
                self._meet(folder, name, now, anew, todo)

    def _meet(
        self, folder: Folder, name: str, now: Seen | None, anew: bool, todo: list[Folder]
    ) -> None:
        """Lay what is under one name over what was; a folder to be read goes on `todo`."""
        was = folder.entries.get(name)
        if was is not None and isinstance(was, Folder) is not isinstance(now, SeenFolder):
            self._forget(folder, name)
            was = None
        if now is None:
            if was is not None:
                self._forget(folder, name)
        elif isinstance(now, SeenFolder):
            assert was is None or isinstance(was, Folder)
            self._meet_folder(folder, name, was, now, anew, todo)
        elif was is None:
            if folder is self._top or self._filter.reports(folder.within(name)):
                self._keep(folder, name, now)
        elif was != now or now == UNSURE:
            folder.entries[name] = now
            self._changes.note(folder.within(name), Kind.FILE, Kind.FILE)

    def _meet_folder(
        self,
        folder: Folder,
        name: str,
        was: Folder | None,
        now: SeenFolder,
        anew: bool,
        todo: list[Folder],
    ) -> None:
        path, is_root = folder.within(name), folder is self._top
        if was is None:
            enters = is_root or (self._recursive and self._filter.enters(path))
            told = is_root or self._filter.reports(path)
            if not (enters or told):
                return
            was = Folder(self, folder, path, told)
            if not self._keep(folder, name, was):
                return
        else:
            enters = anew or was.inode != now.inode or was.mark != now.mark
            enters = enters and (is_root or (self._recursive and self._filter.enters(path)))
            if was.told and was.mark != now.mark:
                self._changes.note(path, Kind.FOLDER, Kind.FOLDER)
        was.inode, was.mark = now.inode, now.mark
        if enters:
            todo.append(was)

    def _keep(self, folder: Folder, name: str, entry: Folder | int) -> bool:
        """Know a new entry; False where that is one too many."""
        why = self._no_room()
        if why is not None:
            if self._starting:
                raise TooMany(why)
            self._complain("{root}: {why}: not all of them are watched", why=why)
            return False
        self._size += 1
        folder.entries[name] = entry
        if self._starting:
            return True
        if not isinstance(entry, Folder):
            self._changes.note(folder.within(name), None, Kind.FILE)
        elif entry.told:
            self._changes.note(entry.path, None, Kind.FOLDER)
        return True

    def _no_room(self) -> str | None:
        """Why an entry may not be known; None where room was taken for it."""
        if self._size >= self._most:
            return f"there are more than {self._most} files and folders under it"
        if not self._room.take():
            return (
                f"this host's watches hold {self._room.most} files and folders, the most they may"
            )
        return None

    def _let_go(self, count: int) -> None:
        self._size -= count
        self._room.give_back(count)

    def _forget(self, folder: Folder, name: str) -> None:
        """An entry is there no more, with all that was in it."""
        entry = folder.entries.pop(name)
        self._let_go(1)
        if not isinstance(entry, Folder):
            self._changes.note(folder.within(name), Kind.FILE, None)
            return
        left = [entry]
        while left:
            gone = left.pop()
            gone.gone = True
            self._hints.drop(gone)
            self._unheard.pop(gone, None)
            if gone.told:
                self._changes.note(gone.path, Kind.FOLDER, None)
            self._let_go(len(gone.entries))
            for inner, inside in gone.entries.items():
                if isinstance(inside, Folder):
                    left.append(inside)
                else:
                    self._changes.note(gone.within(inner), Kind.FILE, None)
            gone.entries.clear()

    # -- folders -----------------------------------------------------------------

    def _place(self, folder: Folder) -> str:
        return f"{self.root.rstrip('/')}/{folder.path}" if folder.path else self.root

    def _found_in(self, folder: Folder) -> Mapping[str, Seen] | None:
        """What is in a folder now; None where nobody could tell, and it is asked for again."""
        try:
            return seen_in(self._place(folder), follow=not folder.path)
        except OSError as error:
            if error.errno in GONE | DENIED:
                self._cannot_read(folder, error)
                return {}
            if self._starting and (not folder.path or error.errno in SHORT):
                raise
            # A mount whose other end is gone, a process's folder as it ends: all else is watched.
            self._unheard[folder] = None
            self._complain(
                "{place} could not be read, and is tried again every few seconds: {why}",
                place=shown(self._place(folder)),
                why=error.strerror,
            )
            return None

    def _listen(self, folder: Folder) -> bool:
        """Listen to a folder as it is now; False where it is gone or closed to us."""
        follow = not folder.path
        try:
            self._hints.add(self._place(folder), folder, follow=follow)
        except OSError as error:
            if error.errno in GONE | DENIED:
                self._unheard.pop(folder, None)
                self._cannot_read(folder, error)
                return False
            if self._starting and error.errno == errno.ENOSPC:
                raise
            if folder is not self._top:
                self._unheard[folder] = None
            if error.errno != errno.ENOTSUP:
                self._complain(
                    "not every folder under {root} can be listened to, and some are read again "
                    "every few seconds instead: {why}",
                    why=error.strerror,
                )
            return True
        self._unheard.pop(folder, None)
        return True

    def _cannot_read(self, folder: Folder, error: OSError) -> None:
        if error.errno not in GONE:
            place, why = shown(self._place(folder)), error.strerror
            log.debug("{place} is not watched: {why}", place=place, why=why)

    def _complain(self, words: str, **said: object) -> None:
        """Log what this watch cannot do, once."""
        if not self._complained:
            self._complained = True
            log.warn(words, root=shown(self.root), **said)
