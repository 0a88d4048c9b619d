"""The files of a temporary folder, served, and driven without a reactor."""

# The system's own calls are what is spoken of here.
# ruff: noqa: PTH112, PTH118

import itertools
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ahpd.interfaces import RpcError, Wanted
from ahpd.protocol.check import check_strict
from ahpd.protocol.file_uris import file_uri
from ahpd.protocol.shapes.resources import (
    ResourceListResult,
    ResourceReadResult,
    ResourceResolveResult,
)
from ahpd.resources.files.provider import FileResources
from ahpd.threads import in_thread

NOBODY = 65534


class Files:
    """A provider over real files; each method waits and is its result, or raises."""

    def __init__(self, root, **how):
        self.root = root
        numbers = itertools.count(1)
        self.provider = FileResources(
            in_thread(Clock()), ids=lambda: f"{os.getpid()}-{next(numbers)}", **how
        )

    def uri(self, path=""):
        return file_uri(os.path.join(self.root, path))

    def done(self, work):
        results = []
        Deferred.fromCoroutine(work).addBoth(results.append)
        if hasattr(results[0], "raiseException"):
            results[0].raiseException()
        return results[0]

    def read(self, path, **wanted):
        return self.read_uri(self.uri(path), **wanted)

    def read_uri(self, uri, **wanted):
        answer = self.done(self.provider.read(uri, Wanted(**wanted)))
        check_strict(answer, ResourceReadResult, "result")
        return answer

    def list(self, path=""):
        entries = list(self.done(self.provider.list(self.uri(path))))
        check_strict({"entries": entries}, ResourceListResult, "result")
        return entries

    def resolve(self, path, follow=True):
        return self.resolve_uri(self.uri(path), follow)

    def resolve_uri(self, uri, follow=True):
        answer = self.done(self.provider.resolve(uri, follow))
        check_strict(answer, ResourceResolveResult, "result")
        return answer

    def write(self, path, data, encoding="utf-8", **more):
        return self.write_uri(self.uri(path), data, encoding, **more)

    def write_uri(self, uri, data, encoding="utf-8", **more):
        params = {"channel": "ahp-root://", "uri": uri, "data": data, "encoding": encoding}
        return self.done(self.provider.write(params | more))

    def delete(self, path, recursive=False):
        return self.done(self.provider.delete(self.uri(path), recursive))

    def mkdir(self, path):
        return self.done(self.provider.mkdir(self.uri(path)))

    def move(self, source, destination, new=False):
        return self.done(self.provider.move(self.uri(source), self.uri(destination), new))

    def copy(self, source, destination, new=False):
        return self.done(self.provider.copy(self.uri(source), self.uri(destination), new))

    def names(self, path=""):
        """All there is under a folder, relative to it; drafts left behind are seen here."""
        top = Path(self.root, path)
        return sorted(str(each.relative_to(top)) for each in top.rglob("*"))


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


@pytest.fixture
def files_under():
    """Makes a provider with other settings: `files_under(root, most_read=10)`."""
    return Files


@pytest.fixture
def refused():
    """`with refused(-32008, "words"):` what is inside is refused so."""

    @contextmanager
    def check(code, *words):
        with pytest.raises(RpcError) as caught:
            yield caught
        assert caught.value.code == code, caught.value
        for each in words:
            assert each in caught.value.message
        assert "Traceback" not in caught.value.message

    return check


@pytest.fixture
def open_folder():
    """A folder outside of what only its owner may enter."""
    folder = Path(tempfile.mkdtemp(prefix="ahpd-test-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def quick_folder():
    """A folder in memory where there is one: for tests of very many steps."""
    shared = "/dev/shm"
    folder = Path(
        tempfile.mkdtemp(prefix="ahpd-test-", dir=shared if os.path.isdir(shared) else None)
    )
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def as_nobody():
    """`with as_nobody():` what is inside is done without this process's privileges."""

    @contextmanager
    def act():
        if os.geteuid() != 0:
            yield
            return
        groups = os.getgroups()
        os.setgroups([])
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups(groups)

    return act
