"""Trees of files, what is in them, and what a client makes of the changes it is told."""

import os
import select
from pathlib import Path
from urllib.parse import unquote_to_bytes

from ahpd.protocol.file_uris import file_uri
from ahpd.resources.watching.hints import Inotify


class NoReactor:
    """What an `Inotify` is made with where the test itself reads it."""

    def addReader(self, reader):
        pass

    def removeReader(self, reader):
        pass


class Driven:
    """A tree that is looked at when a test says so. `hints` are read when it says so, too."""

    def __init__(self, tree, hints):
        self.tree = tree
        self.hints = hints
        self.touched = {}
        tree.touched = self._touched
        tree.start()

    def _touched(self, folder, name, anew):
        names = self.touched.setdefault(folder, {})
        names[name] = anew or names.get(name, False)

    def hear(self):
        """Read what the kernel has to tell."""
        if isinstance(self.hints, Inotify):
            self.hints.doRead()

    def look(self, **options):
        """Everything there is to hear is heard, and looked at: (type, path below the root)."""
        while isinstance(self.hints, Inotify) and _waiting(self.hints):
            self.hints.doRead()
        touched, self.touched = self.touched, {}
        found = self.tree.look(touched, **options)
        return [(each["type"], below(self.tree, each["uri"])) for each in found]


def _waiting(hints):
    return bool(select.select([hints], [], [], 0)[0])


def below(tree, uri):
    """The path relative to a tree's root that a URI names."""
    base = tree.uri("")
    assert uri.startswith(base)
    return os.fsdecode(unquote_to_bytes(uri[len(base) :].lstrip("/")))


def listing(root):
    """Every path under a root, the root as "", and whether each is a folder."""
    root = Path(root)
    found = {"": root.is_dir()} if root.exists() else {}
    if not found.get(""):
        return found
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = Path(folder, name)
            found[str(path.relative_to(root))] = path.is_dir() and not path.is_symlink()
    return found


def folded(held, changes, now):
    """What a client holds after `changes`; what is added is what `now` says it is."""
    held = dict(held)
    for change, path in changes:
        if change == "added":
            assert path not in held, f"{path} was added twice"
            held[path] = now.get(path)
        elif change == "deleted":
            assert path in held, f"{path} was deleted and was not there"
            del held[path]
        else:
            assert path in held, f"{path} was updated and was not there"
    return held


def uri_of(path):
    """A path's URI."""
    return file_uri(os.fspath(path))
