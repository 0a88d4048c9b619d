"""Reading, listing, writing and editing files."""

import os
import stat
import threading
from pathlib import Path

import attrs
import pytest
import pytest_twisted
from twisted.internet.defer import CancelledError, Deferred

from ahpd.protocol.check import check_strict
from ahpd.protocol.file_uris import file_uri
from ahpd.protocol.shapes.tool_calls import ToolCallResult
from ahpd_agent_openai.tools import files, reading
from ahpd_agent_openai.tools.testing import ToolsBench

ensure = pytest_twisted.ensureDeferred


@pytest_twisted.async_yield_fixture
async def bench(tmp_path):
    from twisted.internet import reactor

    made = ToolsBench(reactor, tmp_path)
    await made.start()
    yield made
    await made.stop()


def leftovers(folder: Path):
    return [path.name for path in folder.rglob(".*") if path.name.endswith((".part", ".tmp"))]


# -- read_file -----------------------------------------------------------------------


@ensure
async def test_a_small_file_is_read_whole_and_as_it_is(bench):
    (bench.workspace / "a.txt").write_bytes("één\n\ttwo\r\nlast".encode())
    outcome = await bench.run(bench.box(), "read_file", path="a.txt")
    assert outcome.success
    assert outcome.text == "één\n\ttwo\nlast"
    assert outcome.past_tense == "Read a.txt"
    check_strict(outcome.result(), ToolCallResult, "result")


@ensure
async def test_a_range_of_lines_says_which_it_is_and_what_follows(bench):
    (bench.workspace / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    box = bench.box()
    middle = await bench.run(box, "read_file", path="a.txt", start_line=3, line_count=2)
    assert middle.text == "line 3\nline 4\n[lines 3 to 4; more follow, from line 5 on]"
    end = await bench.run(box, "read_file", path="a.txt", start_line=9)
    assert end.text == "line 9\nline 10\n[lines 9 to 10, the last one]"
    past = await bench.run(box, "read_file", path="a.txt", start_line=11)
    assert past.text == "[the file has fewer than 11 lines]"


@ensure
async def test_a_large_file_is_cut_by_size_between_lines_and_a_long_line_within(bench):
    (bench.workspace / "many.txt").write_text("x" * 999 + "\n" + ("y" * 999 + "\n") * 500)
    (bench.workspace / "long.txt").write_text("z" * 1_000_000 + "\nnext\n")
    box = bench.box()
    many = await bench.run(box, "read_file", path="many.txt")
    assert "more follow, from line 101 on]" in many.text
    assert len(many.text) <= reading.MOST_CHARACTERS + 200
    long = await bench.run(box, "read_file", path="long.txt")
    assert long.text.startswith("z" * reading.LONGEST_LINE + "\nnext\n")
    assert long.text.endswith("[1 of the lines are cut off after 4000 characters]")


@ensure
async def test_a_line_of_exactly_the_bound_is_whole(bench):
    (bench.workspace / "a.txt").write_text("z" * reading.LONGEST_LINE + "\nnext")
    outcome = await bench.run(bench.box(), "read_file", path="a.txt")
    assert outcome.text == "z" * reading.LONGEST_LINE + "\nnext"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "[the file is empty]"),
        (b"\xef\xbb\xbfmarked", "marked"),
        ("wide é".encode("utf-16"), "wide é"),
        ("wide é\nb".encode("utf-16-be").join([b"\xfe\xff", b""]), "wide é\nb"),
        (b"caf\xe9", "café"),
    ],
)
@ensure
async def test_the_encoding_is_found(bench, data, text):
    (bench.workspace / "a.txt").write_bytes(data)
    assert (await bench.run(bench.box(), "read_file", path="a.txt")).text == text


@ensure
async def test_what_is_no_text_file_is_told_in_words(bench):
    box = bench.box()
    (bench.workspace / "a.bin").write_bytes(b"PNG\0\1\2")
    os.mkfifo(bench.workspace / "pipe")
    words = {}
    for name in ("a.bin", ".", "pipe", "nothing", "a.bin/inner", "~/x", "file://elsewhere/x"):
        outcome = await bench.run(box, "read_file", path=name)
        assert not outcome.success
        words[name] = outcome.text
    assert "a binary file of 6 bytes" in words["a.bin"]
    assert words["."].endswith("is a folder")
    assert "no regular file" in words["pipe"]
    assert words["nothing"].startswith("there is no ")
    assert "no folder" in words["a.bin/inner"]
    assert "~, which is not expanded" in words["~/x"]
    assert "no file: URI of this machine" in words["file://elsewhere/x"]


@ensure
async def test_a_file_uri_and_an_absolute_path_are_paths(bench):
    path = bench.workspace / "a b.txt"
    path.write_text("here")
    box = bench.box()
    assert (await bench.run(box, "read_file", path=file_uri(str(path)))).text == "here"
    assert (await bench.run(box, "read_file", path=str(path))).text == "here"


# -- list_files ----------------------------------------------------------------------


@ensure
async def test_a_folder_is_listed_and_a_tree_leaves_out_what_nobody_means(bench):
    for name in ("src/deep/a.py", "src/b.txt", "node_modules/x/y.js", ".git/config", "top.py"):
        path = bench.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (bench.workspace / "link").symlink_to("src")
    box = bench.box()
    flat = await bench.run(box, "list_files")
    assert flat.text.split("\n") == [".git/", "link@", "node_modules/", "src/", "top.py"]
    deep = await bench.run(box, "list_files", recursive=True)
    assert deep.text.split("\n") == [
        ".git/", "link@", "node_modules/", "src/", "src/b.txt", "src/deep/", "src/deep/a.py",
        "top.py",
    ]  # fmt: skip
    some = await bench.run(box, "list_files", pattern="*.py")
    assert some.text.split("\n") == ["src/deep/a.py", "top.py"]
    named = await bench.run(box, "list_files", pattern="src/**/*.{py,txt}")
    assert named.text.split("\n") == ["src/b.txt", "src/deep/a.py"]


@ensure
async def test_a_listing_is_bounded_and_says_so(bench):
    for number in range(1100):
        (bench.workspace / f"{number:04}").write_text("")
    outcome = await bench.run(bench.box(), "list_files")
    lines = outcome.text.split("\n")
    assert len(lines) == 1001
    assert lines[-1].startswith("[more than 1000")


@ensure
async def test_what_cannot_be_listed_is_told_in_words(bench):
    (bench.workspace / "file").write_text("")
    box = bench.box()
    assert (await bench.run(box, "list_files", path="file")).text.endswith("is no folder")
    assert (await bench.run(box, "list_files", path="none")).text.startswith("there is no")
    many = "{a,b}" * 7
    assert "more than 64 patterns" in (await bench.run(box, "list_files", pattern=many)).text


@ensure
async def test_a_listing_that_takes_too_long_is_given_up(bench):
    for number in range(50):
        (bench.workspace / str(number)).write_text("")
    ticks = iter(range(0, 10_000, 5))
    box = bench.box(seconds=lambda: next(ticks))
    outcome = await bench.run(box, "list_files")
    assert not outcome.success
    assert "longer than 20 s" in outcome.text


# -- write_file ----------------------------------------------------------------------


@ensure
async def test_a_new_file_is_written_with_the_folders_it_needs(bench):
    outcome = await bench.run(bench.box(), "write_file", path="a/b/c.txt", content="one\ntwo\n")
    path = bench.workspace / "a/b/c.txt"
    assert path.read_text() == "one\ntwo\n"
    assert outcome.past_tense == "Created a/b/c.txt"
    uri = file_uri(str(path))
    assert outcome.content == [
        {
            "type": "fileEdit",
            "after": {"uri": uri, "content": {"uri": uri, "sizeHint": 8}},
            "diff": {"added": 2, "removed": 0},
        }
    ]
    check_strict(outcome.result(), ToolCallResult, "result")
    assert leftovers(bench.workspace) == []


@ensure
async def test_a_file_is_replaced_whole_and_keeps_its_mode(bench):
    path = bench.workspace / "run.sh"
    path.write_text("a\nb\nc\n")
    path.chmod(0o755)
    outcome = await bench.run(bench.box(), "write_file", path="run.sh", content="a\nB\nc\nd\n")
    assert path.read_text() == "a\nB\nc\nd\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert outcome.content[0]["diff"] == {"added": 2, "removed": 1}
    assert outcome.past_tense == "Wrote run.sh"


@ensure
async def test_a_binary_file_is_replaced_without_a_count(bench):
    (bench.workspace / "x").write_bytes(b"\0\1")
    outcome = await bench.run(bench.box(), "write_file", path="x", content="text")
    assert "diff" not in outcome.content[0]


@ensure
async def test_a_write_that_fails_leaves_no_folder_and_no_draft(bench):
    box = bench.box()
    outcome = await bench.run(box, "write_file", path="new/er/" + "n" * 300, content="x")
    assert not outcome.success
    assert "/proc/" not in outcome.text
    assert list(bench.workspace.iterdir()) == []
    (bench.workspace / "file").write_text("")
    outcome = await bench.run(box, "write_file", path="file/inner", content="x")
    assert "no folder" in outcome.text
    assert (await bench.run(box, "write_file", path=".", content="x")).text.endswith("is a folder")


@ensure
async def test_what_others_write_meanwhile_is_not_lost(bench):
    """The file changes between the look and the write; the edit begins again on what is there."""
    path = bench.workspace / "a.txt"
    path.write_text("one two")
    real, meddled = bench.host.resources.ask, []

    class Meddling:
        async def ask(self, method, params):
            if method == "resourceWrite" and not meddled:
                meddled.append(True)
                path.write_text("zero one two")
            return await real(method, params)

    box = bench.box(ports={"resources": Meddling()})
    outcome = await bench.run(box, "edit_file", path="a.txt", old_text="two", new_text="2")
    assert outcome.success
    assert path.read_text() == "zero one 2"


@ensure
async def test_a_file_that_changes_over_and_over_is_told_so(bench):
    path = bench.workspace / "a.txt"
    path.write_text("one")
    real, count = bench.host.resources.ask, []

    class Meddling:
        async def ask(self, method, params):
            if method == "resourceWrite":
                count.append(True)
                path.write_text("one" + "!" * len(count))
            return await real(method, params)

    box = bench.box(ports={"resources": Meddling()})
    outcome = await bench.run(box, "edit_file", path="a.txt", old_text="one", new_text="1")
    assert "being changed by others" in outcome.text
    assert path.read_text().startswith("one!")


@ensure
async def test_without_the_hosts_files_nothing_is_offered_that_writes_one(bench):
    names = bench.box(ports={"resources": None}).names
    assert {"read_file", "list_files", "search_files"} <= set(names)
    assert not {"write_file", "edit_file"} & set(names)


@ensure
async def test_a_cancelled_write_is_over_before_it_is_told(bench):
    """The write is at its end when the cancellation comes out, so no draft and no lock is left."""
    held, real = Deferred(), bench.host.resources.ask
    events = []

    class Slow:
        async def ask(self, method, params):
            events.append(f"{method} asked")
            if method == "resourceWrite":
                await held
            answer = await real(method, params)
            events.append(f"{method} done")
            return answer

    box = bench.box(ports={"resources": Slow()})
    work = bench.begin(box, "write_file", path="new/a.txt", content="whole")
    while "resourceWrite asked" not in events:
        await pause(bench)
    work.addErrback(lambda failure: (failure.trap(CancelledError), events.append("cancelled")))
    work.cancel()
    await pause(bench)
    assert events[-1] == "resourceWrite asked"
    held.callback(None)
    await work
    assert events[-2:] == ["resourceWrite done", "cancelled"]
    assert (bench.workspace / "new/a.txt").read_text() == "whole"
    assert leftovers(bench.workspace) == []


async def pause(bench, seconds=0.01):
    over = Deferred()
    bench.ports.reactor.callLater(seconds, over.callback, None)
    await over


# -- edit_file -----------------------------------------------------------------------


@ensure
async def test_an_edit_replaces_one_piece_and_counts_lines(bench):
    path = bench.workspace / "a.py"
    path.write_text("def f():\n    return 1\n\ndef g():\n    return 2\n")
    outcome = await bench.run(
        bench.box(),
        "edit_file",
        path="a.py",
        old_text="    return 2",
        new_text="    x = 2\n    return x",
    )
    assert path.read_text() == "def f():\n    return 1\n\ndef g():\n    x = 2\n    return x\n"
    assert outcome.content[0]["diff"] == {"added": 2, "removed": 1}
    assert "before" not in outcome.content[0]
    check_strict(outcome.result(), ToolCallResult, "result")


@ensure
async def test_an_edit_keeps_crlf_and_encoding(bench):
    path = bench.workspace / "dos.txt"
    path.write_bytes(b"caf\xe9\r\ntwo\r\nthree\r\n")
    box = bench.box()
    outcome = await bench.run(
        box, "edit_file", path="dos.txt", old_text="two\nthree", new_text="2\n3\n4"
    )
    assert outcome.success
    assert path.read_bytes() == b"caf\xe9\r\n2\r\n3\r\n4\r\n"
    refused = await bench.run(box, "edit_file", path="dos.txt", old_text="4", new_text="☃")
    assert "latin-1, which has no '☃'" in refused.text
    wide = bench.workspace / "wide.txt"
    wide.write_bytes("één\r\n".encode("utf-16"))
    await bench.run(box, "edit_file", path="wide.txt", old_text="één", new_text="twee")
    assert wide.read_bytes() == "twee\r\n".encode("utf-16")


@ensure
async def test_an_edit_that_is_not_clear_changes_nothing_and_says_why(bench):
    path = bench.workspace / "a.txt"
    path.write_text("same\nother\n  same\n")
    box = bench.box()
    twice = await bench.run(box, "edit_file", path="a.txt", old_text="same", new_text="x")
    assert "more than once, at lines 1, 3" in twice.text
    none = await bench.run(box, "edit_file", path="a.txt", old_text="\tother\nmore", new_text="x")
    assert "Its first line, spaces around it aside, is at line 2" in none.text
    equal = await bench.run(box, "edit_file", path="a.txt", old_text="same", new_text="same")
    assert "nothing to change" in equal.text
    missing = await bench.run(box, "edit_file", path="no/such", old_text="a", new_text="b")
    assert missing.text.startswith("there is no")
    assert not (bench.workspace / "no").exists()
    assert path.read_text() == "same\nother\n  same\n"
    every = await bench.run(
        box, "edit_file", path="a.txt", old_text="same", new_text="x", replace_all=True
    )
    assert "in 2 places" in every.text
    assert path.read_text() == "x\nother\n  x\n"


@ensure
async def test_a_file_too_large_to_edit_is_told_so(bench):
    (bench.workspace / "big").write_bytes(b"a" * (8 * 1024 * 1024 + 1))
    outcome = await bench.run(bench.box(), "edit_file", path="big", old_text="a", new_text="b")
    assert "has more than the 8388608 bytes" in outcome.text


# -- the check and the use ----------------------------------------------------------------


@ensure
async def test_a_path_that_leads_elsewhere_after_the_question_is_refused(bench, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    inner = bench.workspace / "dir"
    inner.mkdir()
    box = bench.box()
    for name, more in {
        "write_file": {"content": "x"},
        "read_file": {},
        "list_files": {},
        "search_files": {"pattern": "x"},
    }.items():
        arguments = {"path": "dir/f", **more}
        described = box.describe(name, arguments)
        assert described.inside
        inner.rename(tmp_path / "aside")
        inner.symlink_to(outside)
        outcome = await box.run(name, arguments, bench.call(described=described))
        assert not outcome.success
        assert "leads elsewhere than when it was asked about" in outcome.text
        inner.unlink()
        (tmp_path / "aside").rename(inner)
    assert list(outside.iterdir()) == []


@pytest.mark.skipif(files.DESCRIPTORS is None, reason="this system names no descriptors")
@ensure
async def test_a_folder_swapped_for_a_link_while_a_write_is_under_way_is_not_followed(
    bench, tmp_path
):
    """The folder was held when it was looked at; the write lands in it, wherever it is by then."""
    outside = tmp_path / "outside"
    outside.mkdir()
    inner = bench.workspace / "dir"
    inner.mkdir()
    real = bench.host.resources.ask

    class Swapping:
        async def ask(self, method, params):
            if method == "resourceWrite":
                inner.rename(tmp_path / "aside")
                inner.symlink_to(outside)
            return await real(method, params)

    box = bench.box(ports={"resources": Swapping()})
    await bench.run(box, "write_file", path="dir/f", content="x")
    assert list(outside.iterdir()) == []
    assert (tmp_path / "aside/f").read_text() == "x"


@ensure
async def test_a_file_swapped_for_a_link_while_a_write_is_under_way_is_not_followed(
    bench, tmp_path
):
    secret = tmp_path / "secret"
    secret.write_text("kept")
    path = bench.workspace / "f"
    path.write_text("old")
    real = bench.host.resources.ask

    class Swapping:
        async def ask(self, method, params):
            if method == "resourceWrite" and not path.is_symlink():
                path.unlink()
                path.symlink_to(secret)
            return await real(method, params)

    box = bench.box(ports={"resources": Swapping()})
    outcome = await bench.run(box, "write_file", path="f", content="x")
    assert not outcome.success
    assert secret.read_text() == "kept"


@ensure
async def test_an_edited_path_is_described_anew(bench):
    box = bench.box()
    described = box.describe("write_file", {"path": "a", "content": "x"})
    outcome = await box.run(
        "write_file", {"path": "b", "content": "x"}, bench.call(described=described)
    )
    assert not outcome.success
    again = attrs.evolve(described, target=str(bench.workspace / "b"))
    outcome = await box.run(
        "write_file", {"path": "b", "content": "x"}, bench.call(described=again)
    )
    assert outcome.success


# -- what is left ------------------------------------------------------------------------------


@ensure
async def test_no_call_leaves_a_descriptor_open(bench):
    (bench.workspace / "a").write_text("one")
    (bench.workspace / "dir").mkdir()
    box = bench.box()
    calls = [
        ("read_file", {"path": "a"}),
        ("read_file", {"path": "none"}),
        ("read_file", {"path": "dir"}),
        ("list_files", {"recursive": True}),
        ("list_files", {"path": "a"}),
        ("write_file", {"path": "x/y", "content": "z"}),
        ("write_file", {"path": "a/y", "content": "z"}),
        ("edit_file", {"path": "a", "old_text": "n", "new_text": "m"}),
        ("edit_file", {"path": "a", "old_text": "none", "new_text": "m"}),
        ("edit_file", {"path": "none/a", "old_text": "n", "new_text": "m"}),
        ("memory_write", {"name": "a", "content": "x"}),
        ("memory_read", {"name": "a"}),
        ("memory_read", {"name": "b"}),
        ("search_files", {"pattern": "x"}),
        ("shell_exec", {"command": "true"}),
    ]

    async def all_of_them():
        for name, arguments in calls:
            await bench.run(box, name, **arguments)

    await all_of_them()
    before = descriptors()
    for _ in range(3):
        await all_of_them()
    await pause(bench, 0.1)
    assert descriptors() <= before + 1


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize(("name", "arguments"), [("list_files", {}), ("read_file", {"path": "a"})])
@ensure
async def test_work_nobody_waits_for_ends_between_two_steps(bench, name, arguments):
    """Its thread looks up when the call is cancelled, and reads no further."""
    (bench.workspace / "a").write_text("line\n" * 100)
    (bench.workspace / "b").write_text("")
    begun, go_on, looks = threading.Event(), threading.Event(), []

    def seconds():
        looks.append(threading.current_thread())
        if len(looks) == 2:  # the first look sets the time's end
            begun.set()
            go_on.wait(10)
        return 0.0

    work = bench.begin(bench.box(seconds=seconds), name, **arguments)
    while not begun.is_set():
        await pause(bench)
    work.cancel()
    with pytest.raises(CancelledError):
        await work
    go_on.set()
    await pause(bench, 0.1)
    assert len(looks) == 2
