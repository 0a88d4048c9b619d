"""`ahp_resource` and `ahp_resource_edit`: what this host and its clients serve, for an agent."""

import itertools
import json

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ahpd.protocol.client_uris import wrapped
from ahpd.protocol.errors import permission_denied
from ahpd.protocol.file_uris import file_uri
from ahpd.resources.files.provider import FileResources
from ahpd.testing.served_files import serve_files
from ahpd.threads import in_thread
from ahpd.tools.resources import MOST_BYTES, MOST_ENTRIES

S1 = "ahp-session:/s1"


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "work"
    made.mkdir()
    (made / "a.txt").write_text("hello")
    (tmp_path / "secret.txt").write_text("secret")
    return made


@pytest.fixture
def host(tool_host, folder):
    numbers = itertools.count(1)
    files = FileResources(in_thread(Clock()), ids=lambda: f"t-{next(numbers)}")
    host = tool_host(files)
    host.session(workingDirectories=[file_uri(str(folder))])
    return host


def uri(path):
    return file_uri(str(path))


def look(host, path, **more):
    return host.call("ahp_resource", uri=path if isinstance(path, str) else uri(path), **more)


def edit(host, action, path, **more):
    named = path if isinstance(path, str) else uri(path)
    return host.call("ahp_resource_edit", action=action, uri=named, **more)


# -- this machine's files -------------------------------------------------------------------


def test_a_file_of_the_session_s_folders_is_read_listed_and_resolved(host, folder, read):
    assert read.text(look(host, folder / "a.txt")) == "hello"
    assert read.text(look(host, folder / "a.txt", offset=2)) == "llo"
    assert read.text(look(host, folder, action="list")) == "a.txt\tfile"
    found = json.loads(read.text(look(host, folder / "a.txt", action="resolve")))
    assert (found["type"], found["size"]) == ("file", 5)
    (folder / "empty").mkdir()
    assert read.text(look(host, folder / "empty", action="list")) == "The directory is empty."
    assert "not found" in read.failure(look(host, folder / "none")).lower()


@pytest.mark.parametrize("action", ["read", "list", "resolve"])
def test_a_file_outside_of_them_is_not_reached_by_any_name(host, folder, read, action):
    (folder / "out").symlink_to(folder.parent)
    (folder / "file").symlink_to(folder.parent / "secret.txt")
    inside = "is in no folder of this session"
    for name, words in (
        (folder.parent / "secret.txt", inside),
        (uri(folder) + "/../secret.txt", inside),
        (uri(folder) + "/%2e%2e/secret.txt", inside),
        (uri(folder) + "x/secret.txt", inside),
        ("file:///etc/passwd", inside),
        (folder / "out", "leads out of"),
        (folder / "out" / "secret.txt", "leads out of"),
        (folder / "file", "leads out of"),
    ):
        assert words in read.failure(look(host, name, action=action)), name


def test_a_folder_that_is_a_link_itself_is_reached(tool_host, folder, tmp_path, read):
    link = tmp_path / "link"
    link.symlink_to(folder)
    files = FileResources(in_thread(Clock()), ids=lambda: "t")
    host = tool_host(files)
    host.session(workingDirectories=[uri(link)])
    assert read.text(look(host, link / "a.txt")) == "hello"


def test_a_session_without_folders_reaches_no_file(tools, read):
    assert "in no folder" in read.failure(look(tools, "file:///etc/passwd"))


def test_a_large_text_is_read_in_parts_and_what_is_none_as_it_is(host, folder, read):
    (folder / "big").write_text("ä" * MOST_BYTES)
    first = read.text(look(host, folder / "big"))
    kept, _, rest = first.partition("\n… ")
    assert kept == "ä" * (MOST_BYTES // 2)
    assert rest == f"there is more: read on at offset {MOST_BYTES}."
    second = read.text(look(host, folder / "big", offset=MOST_BYTES))
    assert second == "ä" * (MOST_BYTES // 2)
    assert read.text(look(host, folder / "big", offset=2 * MOST_BYTES - 3)) == "ä"
    (folder / "odd").write_text("x" + "ä" * MOST_BYTES)
    first = read.text(look(host, folder / "odd"))
    assert first.endswith(f"read on at offset {MOST_BYTES - 1}.")
    (folder / "bytes").write_bytes(bytes(range(256)))
    answer = look(host, folder / "bytes")
    assert answer["content"][0]["type"] == "embeddedResource"
    (folder / "more").write_bytes(b"\x00\xff" * MOST_BYTES)
    assert "is no text, and more than" in read.failure(look(host, folder / "more"))


def test_a_large_directory_is_told_as_far_as_it_goes(host, folder, read):
    for number in range(MOST_ENTRIES + 5):
        (folder / f"f{number}").touch()
    lines = read.text(look(host, folder, action="list")).splitlines()
    assert len(lines) == MOST_ENTRIES + 1
    assert lines[-1] == "… 6 entries were left out"


def test_files_are_written_made_moved_copied_and_deleted(host, folder, read):
    assert read.text(edit(host, "write", folder / "b.txt", data="one")).startswith("Wrote")
    read.text(edit(host, "write", folder / "b.txt", data=" two", mode="append"))
    assert (folder / "b.txt").read_text() == "one two"
    assert "exists" in read.failure(
        edit(host, "write", folder / "b.txt", data="x", createOnly=True)
    )
    read.text(edit(host, "mkdir", folder / "sub" / "deep"))
    read.text(edit(host, "copy", folder / "b.txt", destination=uri(folder / "sub" / "c.txt")))
    read.text(edit(host, "move", folder / "b.txt", destination=uri(folder / "sub" / "d.txt")))
    assert sorted(each.name for each in (folder / "sub").iterdir()) == ["c.txt", "d.txt", "deep"]
    words = read.failure(
        edit(host, "copy", folder / "a.txt", destination=uri(folder / "sub" / "c.txt"))
    )
    assert "exists" in words
    assert read.failure(edit(host, "delete", folder / "sub"))
    read.text(edit(host, "delete", folder / "sub", recursive=True))
    assert not (folder / "sub").exists()
    assert "data is missing" in read.failure(edit(host, "write", folder / "e"))
    assert "destination is missing" in read.failure(edit(host, "move", folder / "a.txt"))


def test_nothing_outside_is_changed(host, folder, read):
    (folder / "out").symlink_to(folder.parent)
    outside, secret = folder.parent / "new.txt", folder.parent / "secret.txt"
    for action, name, more in (
        ("write", outside, {"data": "x"}),
        ("write", folder / "out" / "new.txt", {"data": "x"}),
        ("mkdir", folder / "out" / "new" / "deep", {}),
        ("delete", secret, {}),
        ("delete", folder / "out" / "secret.txt", {}),
        ("move", folder / "a.txt", {"destination": uri(outside)}),
        ("copy", secret, {"destination": uri(folder / "mine.txt")}),
    ):
        assert "folder" in read.failure(edit(host, action, name, **more)), (action, name)
    assert sorted(each.name for each in folder.parent.iterdir()) == ["secret.txt", "work"]
    assert secret.read_text() == "secret"
    assert (folder / "a.txt").exists()


# -- clients' ---------------------------------------------------------------------------------


def test_what_a_client_alone_has_is_read_listed_and_changed(tools, read):
    files = serve_files(tools.probe, {"mem:/notes/a.txt": "hello", "mem:/notes/b.bin": b"\xff\x00"})
    note = wrapped("person", "mem:/notes/a.txt")
    assert read.text(look(tools, note)) == "hello"
    assert read.text(look(tools, wrapped("person", "mem:/notes"), action="list")) == (
        "a.txt\tfile\nb.bin\tfile"
    )
    read.text(edit(tools, "write", note, data="other"))
    assert files.files["mem:/notes/a.txt"] == b"other"
    read.text(edit(tools, "delete", note))
    assert "mem:/notes/a.txt" not in files.files


def test_a_client_s_refusal_and_its_absence_are_told_in_words(tools, read):
    files = serve_files(tools.probe, {"mem:/a": "x"})
    files.refuse("mem:/a", permission_denied("Not that one."))
    assert read.failure(look(tools, wrapped("person", "mem:/a"))) == "Not that one."
    results = []

    async def script(turn):
        arguments = {"uri": wrapped("nobody", "mem:/a")}
        results.append(await turn.host.run_tool("ahp_resource", arguments, "c"))

    tools.turn(tools.chat(), script=script)
    tools.host.advance(10)
    assert not results[0]["success"]


def test_a_scheme_nobody_serves_is_said_to_be_none(tools, read):
    assert "nothing here serves" in read.failure(look(tools, "notes://x/y"))
    assert read.failure(look(tools, "no uri"))


def test_a_client_that_does_not_answer_is_let_go_of_with_the_session(tools):
    tools.probe.serve("resourceRead", lambda params: Deferred())
    results = []

    async def script(turn):
        arguments = {"uri": wrapped("person", "mem:/a")}
        results.append(await turn.host.run_tool("ahp_resource", arguments, "c"))

    tools.turn(tools.chat(), script=script)
    assert results == []
    tools.registry.session_gone(S1)
    tools.host.settle()
    assert results[0]["error"]["message"] == "The session this call was made in is gone."
