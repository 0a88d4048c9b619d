"""What is in a directory, and what a URI is."""

import os
import re
import time
from pathlib import Path

import pytest
from zope.interface.verify import verifyObject

from ahpd.interfaces import (
    IListedResources,
    IResolvedResources,
    IResourceProvider,
    IWatchedResources,
    IWritableResources,
    RpcError,
    WatchRequest,
)
from ahpd.protocol.file_uris import file_uri
from ahpd.protocol.timestamps import instant
from ahpd.resources.files import facts, kernel, listing


def test_directories_come_first_then_by_name(files, tmp_path):
    for name in ("b", "a", "Z"):
        (tmp_path / name).mkdir()
        (tmp_path / f"{name}.txt").write_text("")
    (tmp_path / ".hidden").write_text("")
    assert [each["name"] for each in files.list()] == [
        "Z", "a", "b", ".hidden", "Z.txt", "a.txt", "b.txt",
    ]  # fmt: skip
    assert files.list("a") == []


def test_a_link_is_what_it_leads_to_and_a_file_where_it_leads_nowhere(files, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "to folder").symlink_to("folder")
    (tmp_path / "nowhere").symlink_to("gone")
    (tmp_path / "circle").symlink_to("circle")
    os.mkfifo(tmp_path / "pipe")
    assert {each["name"]: each["type"] for each in files.list()} == {
        "folder": "directory",
        "to folder": "directory",
        "nowhere": "file",
        "circle": "file",
        "pipe": "file",
    }


def test_a_directory_is_listed_through_a_link(files, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "f").write_text("")
    (tmp_path / "link").symlink_to("folder")
    assert files.list("link") == [{"name": "f", "type": "file"}]


def test_what_cannot_be_listed_is_refused_in_words(files, tmp_path, refused):
    (tmp_path / "f").write_text("")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to("circle")
    for name in ("f", "pipe"):
        with refused(-32008, files.uri(name), "it is no directory"):
            files.list(name)
    for name in ("gone", "f/x"):
        with refused(-32008, f"Resource not found: {files.uri(name)}"):
            files.list(name)
    with refused(-32008, "in a circle"):
        files.list("circle")


def test_a_directory_that_may_not_be_listed_is_refused(
    files_under, open_folder, refused, as_nobody
):
    files = files_under(open_folder)
    closed = open_folder / "closed"
    closed.mkdir(mode=0o100 if os.geteuid() else 0o700)
    with as_nobody(), refused(-32009, f"Permission denied: {files.uri('closed')}"):
        files.list("closed")
    closed.chmod(0o700)


def test_a_directory_of_very_many_is_refused_past_a_limit(tmp_path, refused):
    for number in range(5):
        (tmp_path / str(number)).write_text("")
    assert len(listing.entries(tmp_path.as_uri(), 5)) == 5
    with refused(-32602, "more than the 4 entries"):
        listing.entries(tmp_path.as_uri(), 4)


def test_the_root_is_a_directory_like_any_other(files_under):
    files = files_under("/")
    assert {"name": "proc", "type": "directory"} in files.list()
    assert files.resolve("")["uri"] == "file:///"


# -- resolve -----------------------------------------------------------------------


def test_a_file_is_resolved_with_what_is_known_of_it(files, tmp_path):
    before = time.time()
    (tmp_path / "f.txt").write_text("12345")
    os.utime(tmp_path / "f.txt", ns=(0, 1_700_000_000_123_456_789))
    answer = files.resolve("f.txt")
    born = answer.pop("ctime", None)
    assert re.fullmatch(r"[0-9a-f-]+", answer.pop("etag"))
    assert answer == {
        "uri": files.uri("f.txt"),
        "type": "file",
        "size": 5,
        "mtime": "2023-11-14T22:13:20.123Z",
        "contentType": "text/plain",
    }
    if born is not None:
        assert before - 60 < instant(born) < time.time() + 60


def test_a_time_of_creation_that_is_not_known_is_left_out(files, tmp_path, monkeypatch):
    (tmp_path / "f").write_text("")
    monkeypatch.setattr(kernel, "_statx", None)
    assert "ctime" not in files.resolve("f")
    monkeypatch.setattr(facts, "_born", lambda path, info: 10**30)
    assert "ctime" not in files.resolve("f")


def test_a_directory_has_no_size_and_no_version(files, tmp_path):
    (tmp_path / "d").mkdir()
    answer = files.resolve("d")
    assert answer["type"] == "directory"
    assert not {"size", "etag", "contentType"} & answer.keys()


def test_what_has_no_bytes_is_a_file_without_a_size(files, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    answer = files.resolve("pipe")
    assert answer["type"] == "file"
    assert not {"size", "etag"} & answer.keys()


def test_a_link_is_followed_to_where_it_leads_or_is_itself(files, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a b.txt").write_text("123")
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "link").symlink_to("folder/a b.txt")
    for name in ("link", "folder/a b.txt"):
        answer = files.resolve(name)
        assert (answer["uri"], answer["type"]) == (files.uri("real/a b.txt"), "file")
        assert answer["size"] == 3
    answer = files.resolve("link", follow=False)
    assert (answer["uri"], answer["type"]) == (files.uri("link"), "symlink")
    assert not {"size", "etag"} & answer.keys()
    answer = files.resolve("folder/a b.txt", follow=False)
    assert (answer["uri"], answer["type"]) == (files.uri("folder/a b.txt"), "file")


def test_a_uri_that_leads_through_no_link_is_answered_as_it_was_sent(files, tmp_path):
    (tmp_path / "é").write_text("")
    for path in (str(tmp_path / "é"), f"{tmp_path}/./x/../é"):
        for uri in (f"file://{path}", f"FILE://localhost{path}"):
            assert files.resolve_uri(uri)["uri"] == uri
            assert files.resolve_uri(uri, follow=False)["uri"] == uri


def test_what_is_not_there_is_refused(files, tmp_path, refused):
    (tmp_path / "nowhere").symlink_to("gone")
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for follow in (True, False):
        for name in ("gone", "gone/x"):
            with refused(-32008, f"Resource not found: {files.uri(name)}"):
                files.resolve(name, follow)
    for name, words in (("nowhere", ""), ("a", "circle"), ("a/x", "circle")):
        with refused(-32008, files.uri(name), words):
            files.resolve(name)
    assert files.resolve("nowhere", follow=False)["type"] == "symlink"
    assert files.resolve("a", follow=False)["type"] == "symlink"


def test_an_etag_is_the_version_of_a_file(files, tmp_path):
    path = tmp_path / "f"
    path.write_text("one")
    first = files.resolve("f")["etag"]
    assert files.resolve("f")["etag"] == first
    path.read_text()
    assert files.resolve("f")["etag"] == first
    os.utime(path, ns=(0, 0))
    touched = files.resolve("f")["etag"]
    assert touched != first
    path.write_text("other")
    os.utime(path, ns=(0, 0))
    assert files.resolve("f")["etag"] not in (first, touched)
    (tmp_path / "link").symlink_to("f")
    assert files.resolve("link")["etag"] == files.resolve("f")["etag"]


@pytest.mark.parametrize("seconds", [-62_135_596_801, 253_402_300_800])
def test_a_time_no_calendar_has_is_left_out(seconds):
    assert facts._moment(seconds * 10**9) is None


def test_the_kernel_says_when_a_file_was_made(tmp_path):
    path = tmp_path / "f"
    path.write_text("")
    (tmp_path / "link").symlink_to("gone")
    if kernel.birth(str(path)) is None:
        pytest.skip("the file system does not keep it")
    assert abs(kernel.birth(str(path)) - path.stat().st_mtime_ns) < 60 * 10**9
    assert kernel.birth(str(tmp_path / "link")) is not None
    assert kernel.birth(str(tmp_path / "gone")) is None
    assert kernel.birth(os.fsdecode(b"/\xff")) is None


def test_a_hundred_thousand_entries_are_listed(tmp_path):
    top = tmp_path / "many"
    top.mkdir()
    (top / "f0").write_text("")
    for number in range(1, 100_000):  # names of few files: as many links as one may have
        if number % 60_000 == 1:
            (tmp_path / f"s{number}").write_text("")
            source = str(tmp_path / f"s{number}")
        os.link(source, f"{top}/f{number}")
    found = listing.entries(file_uri(str(top)))
    assert len(found) == 100_000
    assert found[0] == {"name": "f0", "type": "file"}
    assert Path(top, found[-1]["name"]).exists()


# -- watching ------------------------------------------------------------------------


def test_a_watch_is_the_watchers_and_without_one_none_is_offered(files, files_under, tmp_path):
    class Watcher:
        async def watch(self, request, changed):
            return request, changed

    request = WatchRequest(root=tmp_path.as_uri())
    watching = files_under(tmp_path, watcher=Watcher())
    assert IWatchedResources.providedBy(watching.provider)
    assert verifyObject(IWatchedResources, watching.provider)
    assert watching.done(watching.provider.watch(request, print)) == (request, print)
    assert not IWatchedResources.providedBy(files.provider)
    with pytest.raises(RpcError) as caught:
        files.done(files.provider.watch(request, print))
    assert caught.value.code == -32601


@pytest.mark.parametrize(
    "port", [IResourceProvider, IListedResources, IResolvedResources, IWritableResources]
)
def test_the_provider_is_what_it_says(files, port):
    assert verifyObject(port, files.provider)
