"""Nothing a fuzzed host is told may touch a file of this machine.

What a fuzzer sends names anything: a URI cut in the middle is the folder above. So it is
not the values that are safe but the host: every operation of the `file:` provider, of every
instance, goes through `FENCE`, which serves a folder made for one rig as `file:///fuzz` and
refuses every other path before the provider is asked. Without a rig it refuses all.

Terminals have a port that starts nothing (`ScriptedTerminals`).
"""

import inspect
import itertools
import shutil
import tempfile
from functools import wraps
from pathlib import Path
from unittest import mock

import attrs
from twisted.internet.defer import succeed
from twisted.internet.task import Clock
from zope.interface import implementer

from ahpd.interfaces import IResourceWatcher, WatchRequest
from ahpd.protocol.errors import permission_denied
from ahpd.protocol.file_uris import file_uri, named_path
from ahpd.resources.files.provider import FileResources
from ahpd.threads import in_thread

#: Where a rig's folder is, as clients know it.
PLACE = "/fuzz"
#: What does something to files. Each of these is fenced, and nothing else may be there.
FENCED = ("read", "list", "resolve", "write", "delete", "mkdir", "move", "copy", "watch")
#: What of an operation's arguments names a file.
_NAMES = ("uri", "source", "destination")


class Fence:
    """Between a host and the files of this machine; `folder` is the one there is."""

    def __init__(self):
        self._holder = None
        self.refused = 0

    @property
    def folder(self):
        return None if self._holder is None else self._holder / "inside"

    def enter(self):
        """Serve a new folder with a few things in it."""
        self.leave()
        # One above it is ours as well: drafts of a file stand beside it.
        self._holder = Path(tempfile.mkdtemp(prefix="ahpd-fuzz-"))
        (self.folder / "deep" / "er").mkdir(parents=True)
        (self.folder / "text").write_text("hello\n" * 100)
        (self.folder / "bytes").write_bytes(bytes(range(256)))
        (self.folder / "deep" / "link").symlink_to("er")

    def leave(self):
        """Serve nothing; what there was is gone."""
        holder, self._holder = self._holder, None
        if holder is not None:
            shutil.rmtree(holder)

    def inside(self, uri):
        """The URI of the file of this machine that is meant. Raises `RpcError` for any other."""
        path = named_path(uri)
        if self.folder is None or not (path == PLACE or path.startswith(f"{PLACE}/")):
            self.refused += 1
            raise permission_denied(f"Permission denied: {uri[:200]!a}")
        real = f"{self.folder}{path[len(PLACE) :]}"
        assert ".." not in Path(real).parts, real
        return file_uri(real)

    def _meant(self, argument, name):
        if isinstance(argument, WatchRequest):
            return attrs.evolve(argument, root=self.inside(argument.root))
        if name == "params":
            return {**argument, "uri": self.inside(argument["uri"])}
        return self.inside(argument) if name in _NAMES else argument

    def fenced(self, operation):
        """The operation, done inside alone."""
        names = list(inspect.signature(operation).parameters)[1:]

        @wraps(operation)
        async def done(this, *arguments, **named):
            given = dict(zip(names, arguments, strict=False)) | named
            meant = {name: self._meant(argument, name) for name, argument in given.items()}
            return await operation(this, **meant)

        return done

    def around(self):
        """A context in which every provider of this machine's files is behind this."""
        theirs = {name for name in vars(FileResources) if not name.startswith("_")}
        assert theirs == set(FENCED), f"what is to be fenced: {theirs ^ set(FENCED)}"
        return mock.patch.multiple(
            FileResources, **{name: self.fenced(vars(FileResources)[name]) for name in FENCED}
        )

    @property
    def stands(self):
        """Whether it is there."""
        return all(hasattr(vars(FileResources)[name], "__wrapped__") for name in FENCED)


FENCE = Fence()


@implementer(IResourceWatcher)
class Watched:
    """A watch that is held until it is released."""

    def __init__(self, held, request, changed):
        self.root = request.root
        self.changed = changed
        self._held = held
        held.append(self)

    def release(self):
        if self in self._held:
            self._held.remove(self)
        return succeed(None)


class Watches:
    """What would watch files: `held` are the watches, told of what a test makes up."""

    def __init__(self):
        self.held = []

    async def watch(self, request, changed):
        return Watched(self.held, request, changed)

    def change(self, kind):
        """Something happened under each root."""
        for watch in tuple(self.held):
            watch.changed([{"uri": f"{watch.root}/changed", "type": kind}])


def fenced_files(watches):
    """The real provider of files, on this side of the fence."""
    assert FENCE.stands
    numbers = itertools.count(1)
    ids = lambda: f"draft-{next(numbers)}"  # noqa: E731
    return FileResources(in_thread(Clock()), ids=ids, watcher=watches)
