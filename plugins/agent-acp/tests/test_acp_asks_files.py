"""An ACP agent's files, read and written through the host's resources."""

import base64

import pytest
import pytest_twisted
from hypothesis import given, settings
from hypothesis import strategies as st
from zope.interface import implementer

from ahpd.interfaces import IResources, RpcError
from ahpd.protocol.errors import INTERNAL_ERROR, NOT_FOUND, PERMISSION_DENIED
from ahpd.protocol.file_uris import path_of
from ahpd_agent_acp.asks import ClientRequests
from ahpd_agent_acp.asks_files import _lines
from ahpd_agent_acp.connection import RequestError


@implementer(IResources)
class Files:
    """The files of a machine, by path; folders are those of `folders`."""

    def __init__(self, **files):
        self.files = {}
        self.folders = {"/work"}
        self.asked = []
        self.refusal = None

    async def ask(self, method, params):
        self.asked.append(method)
        path = path_of(params["uri"])
        if self.refusal is not None:
            raise self.refusal
        if method == "resourceMkdir":
            self.folders.add(path)
            return {}
        if method == "resourceWrite":
            if path.rpartition("/")[0] not in self.folders:
                raise RpcError(NOT_FOUND, f"Resource not found: {params['uri']}")
            self.files[path] = params["data"].encode()
            return {}
        if path not in self.files:
            raise RpcError(NOT_FOUND, f"Resource not found: {params['uri']}")
        try:
            return {"data": self.files[path].decode(), "encoding": "utf-8"}
        except UnicodeDecodeError:
            return {"data": base64.b64encode(self.files[path]).decode(), "encoding": "base64"}

    async def watch(self, request, changed):
        raise NotImplementedError

    def check_watched(self, root):
        raise NotImplementedError


@pytest.fixture
def files():
    return Files()


def requests_of(files):
    return ClientRequests(
        resources=files,
        terminals=None,
        ids=lambda: "id",
        session="ahp-session:/1",
        chat="ahp-chat:/1",
        directory="/work",
        session_id="s1",
    )


@pytest.fixture
def ask(files):
    requests = requests_of(files)
    assert requests.capabilities()["fs"] == {"readTextFile": True, "writeTextFile": True}

    async def asked(method, **params):
        return await requests.answer(f"fs/{method}", {"sessionId": "s1", **params}, None)

    return asked


@pytest_twisted.ensureDeferred
@pytest.mark.parametrize(
    ("wanted", "content"),
    [
        ({}, "one\ntwo\nthree"),
        ({"line": 1}, "one\ntwo\nthree"),
        ({"line": 2, "limit": 1}, "two\n"),
        ({"line": None, "limit": 2}, "one\ntwo\n"),
        ({"line": 3, "limit": 9}, "three"),
        ({"line": 4}, ""),
        ({"line": 0, "limit": 0}, ""),
    ],
)
async def test_a_file_is_read_whole_or_by_lines(files, ask, wanted, content):
    files.files["/work/a b.txt"] = b"one\ntwo\nthree"
    assert await ask("read_text_file", path="/work/a b.txt", **wanted) == {"content": content}


@settings(max_examples=200, deadline=None)
@given(st.text("ab\n\r", max_size=20), st.integers(1, 6), st.one_of(st.none(), st.integers(0, 6)))
def test_lines_are_those_between_newlines(text, line, limit):
    lines = text.split("\n")
    whole = [f"{each}\n" for each in lines[:-1]] + [lines[-1]]
    end = None if limit is None else line - 1 + limit
    assert _lines(text, line, limit) == "".join(whole[line - 1 : end])


@pytest_twisted.ensureDeferred
async def test_a_file_that_is_not_there_is_said_in_both_ways_agents_look_for(ask):
    with pytest.raises(RequestError) as refused:
        await ask("read_text_file", path="/work/new.txt")
    assert refused.value.code == -32002
    assert refused.value.message.startswith("Resource not found")
    assert refused.value.data == {"uri": "file:///work/new.txt"}


@pytest_twisted.ensureDeferred
async def test_an_agent_that_takes_no_error_for_a_missing_file_is_told_it_is_empty(files):
    requests = requests_of(files)
    asked = {"sessionId": "s1", "path": "/work/new.txt"}
    requests.met("Gemini CLI")
    assert await requests.answer("fs/read_text_file", asked, None) == {"content": ""}
    files.refusal = RpcError(PERMISSION_DENIED, "Permission denied")
    with pytest.raises(RequestError):
        await requests.answer("fs/read_text_file", asked, None)
    files.refusal = None
    requests.met("another")
    with pytest.raises(RequestError):
        await requests.answer("fs/read_text_file", asked, None)


@pytest_twisted.ensureDeferred
async def test_what_is_no_text_is_refused_and_not_made_into_one(files, ask):
    files.files["/work/a.bin"] = b"\xff\xfe\x00"
    with pytest.raises(RequestError) as refused:
        await ask("read_text_file", path="/work/a.bin")
    assert refused.value.code == -32602
    assert "not UTF-8" in refused.value.message


@pytest_twisted.ensureDeferred
async def test_a_file_is_written_with_the_folders_it_needs(files, ask):
    assert await ask("write_text_file", path="/work/a.txt", content="hé") == {}
    assert await ask("write_text_file", path="/work/new/b.txt", content="") == {}
    assert files.files == {"/work/a.txt": "hé".encode(), "/work/new/b.txt": b""}
    assert files.asked.count("resourceMkdir") == 1


@pytest_twisted.ensureDeferred
@pytest.mark.parametrize(
    ("code", "expected"), [(PERMISSION_DENIED, -32603), (INTERNAL_ERROR, -32603), (-32602, -32602)]
)
async def test_what_the_host_refuses_is_refused_in_its_words(files, ask, code, expected):
    files.refusal = RpcError(code, "Permission denied: file:///work/a.txt")
    for method in ("read_text_file", "write_text_file"):
        with pytest.raises(RequestError) as refused:
            await ask(method, path="/work/a.txt", content="x")
        assert (refused.value.code, refused.value.message) == (expected, files.refusal.message)


@pytest_twisted.ensureDeferred
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"path": "a.txt"},
        {"path": "file:///work/a.txt"},
        {"path": 5},
        {"path": "/a\0b"},
        {"path": "/work/a.txt", "line": -1},
        {"path": "/work/a.txt", "limit": "2"},
        {"path": "/work/a.txt", "limit": True},
    ],
)
async def test_params_that_say_no_file_are_refused_before_anything_is_read(files, ask, params):
    with pytest.raises(RequestError) as refused:
        await ask("read_text_file", **params)
    assert refused.value.code == -32602
    assert files.asked == []


@pytest_twisted.ensureDeferred
@pytest.mark.parametrize("content", [None, 5, "\ud800"])
async def test_what_is_no_text_is_not_written(files, ask, content):
    with pytest.raises(RequestError) as refused:
        await ask("write_text_file", path="/work/a.txt", content=content)
    assert refused.value.code == -32602
    assert files.asked == []
