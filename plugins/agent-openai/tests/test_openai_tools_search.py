"""Searching files, in a process that can be killed."""

import os
import time

import pytest
import pytest_twisted
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import CancelledError, Deferred

from ahpd_agent_openai.tools import search
from ahpd_agent_openai.tools.testing import ToolsBench
from ahpd_agent_openai.tools.tree.names import matches, patterns

ensure = pytest_twisted.ensureDeferred


@pytest_twisted.async_yield_fixture
async def bench(tmp_path):
    from twisted.internet import reactor

    made = ToolsBench(reactor, tmp_path)
    await made.start()
    yield made
    await made.stop()


def write(bench, **files):
    for name, text in files.items():
        path = bench.workspace / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)


@ensure
async def test_lines_that_match_are_told_with_their_place(bench):
    write(bench, a_dot_py="import os\nx = 1\n", src__b_dot_py="def f():\r\n    IMPORT = 2\r\n")
    box = bench.box()
    found = await bench.run(box, "search_files", pattern=r"^import\b")
    assert found.text == "a.py:1: import os"
    assert found.past_tense.endswith(r" for ^import\b: 1 match")
    both = await bench.run(box, "search_files", pattern="import", ignore_case=True)
    assert both.text == "a.py:1: import os\nsrc/b.py:2:     IMPORT = 2"
    none = await bench.run(box, "search_files", pattern="nothing like it")
    assert none.success
    assert none.text == "[no match]"


@ensure
async def test_plain_text_is_no_pattern(bench):
    write(bench, a_dot_txt="f(x)\nfx\n")
    outcome = await bench.run(bench.box(), "search_files", pattern="f(x)", literal=True)
    assert outcome.text == "a.txt:1: f(x)"


@ensure
async def test_one_file_and_some_files_can_be_searched(bench):
    write(bench, a_dot_py="hit\n", b_dot_txt="hit\n", src__c_dot_py="hit\n")
    box = bench.box()
    one = await bench.run(box, "search_files", pattern="hit", path="src/c.py")
    assert one.text == "1: hit"
    some = await bench.run(box, "search_files", pattern="hit", include="*.py")
    assert some.text == "a.py:1: hit\nsrc/c.py:1: hit"


@ensure
async def test_binary_files_links_and_others_folders_are_left_out(bench, tmp_path):
    write(bench, bin="hit\0", node_modules__x="hit", _dot_git__config="hit", kept="hit")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("hit")
    (bench.workspace / "folder").symlink_to(outside)
    (bench.workspace / "file").symlink_to(outside / "secret")
    os.mkfifo(bench.workspace / "pipe")
    outcome = await bench.run(bench.box(), "search_files", pattern="hit")
    assert outcome.text == "kept:1: hit"


@ensure
async def test_matches_are_bounded(bench):
    write(bench, many="hit\n" * 1000, long="hit" + "y" * 10_000)
    box = bench.box()
    outcome = await bench.run(box, "search_files", pattern="hit")
    lines = outcome.text.split("\n")
    assert len(lines) == search.MOST_MATCHES + 1
    assert lines[-1].startswith("[there are more matches")
    assert len(lines[0]) < 600


@pytest.mark.parametrize(
    ("pattern", "words"),
    [("(", "no regular expression"), ("(" * 1000 + ")" * 1000, ""), ("a{99999999999}", "")],
)
@ensure
async def test_a_pattern_that_is_none_is_told(bench, pattern, words):
    write(bench, a="x")
    outcome = await bench.run(bench.box(), "search_files", pattern=pattern)
    assert not outcome.success
    assert words in outcome.text


@ensure
async def test_what_is_not_there_is_told(bench):
    outcome = await bench.run(bench.box(), "search_files", pattern="x", path="none")
    assert "cannot be searched: No such file or directory" in outcome.text


@ensure
async def test_a_pattern_that_runs_away_is_ended_and_keeps_nobody_waiting(bench, monkeypatch):
    """The reactor goes on while the pattern backtracks, and the child is gone at the end."""
    write(bench, a="x", b="a" * 200 + "!")
    monkeypatch.setattr(search, "LONGEST_SEARCH", 1.0)
    reactor, ticks = bench.ports.reactor, []

    def tick():
        ticks.append(time.monotonic())
        nonlocal call
        call = reactor.callLater(0.05, tick)

    call = reactor.callLater(0, tick)
    outcome = await bench.run(bench.box(), "search_files", pattern="x|(a+)+$")
    call.cancel()
    assert outcome.text.startswith("a:1: x\n[the search was ended after 1 s")
    assert len(ticks) > 8
    assert bench.host.supervisor.children == ()


@ensure
async def test_a_cancelled_search_is_gone_when_that_is_told(bench):
    write(bench, a="a" * 200 + "!")
    work = bench.begin(bench.box(), "search_files", pattern="(a+)+$")
    over = Deferred()
    bench.ports.reactor.callLater(0.3, over.callback, None)
    await over
    assert len(bench.host.supervisor.children) == 1
    work.cancel()
    with pytest.raises(CancelledError):
        await work
    assert bench.host.supervisor.children == ()


@ensure
async def test_a_search_reads_no_module_of_the_workspace(bench):
    write(bench, json_dot_py="raise SystemExit('mine')", tree__ini="", a="hit")
    outcome = await bench.run(bench.box(), "search_files", pattern="hit")
    assert outcome.text == "a:1: hit"


# -- globs ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*.py", "a.py", True),
        ("*.py", "deep/er/a.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/in/a.py", False),
        ("src/**", "src/in/a.py", True),
        ("src/**/*.py", "src/a.py", True),
        ("**/test_?.py", "x/test_a.py", True),
        ("**/test_?.py", "x/test_ab.py", False),
        ("{a,b/{c,d}}.txt", "b/d.txt", True),
        ("{a,b/{c,d}}.txt", "b/e.txt", False),
        ("*", ".hidden", True),
        ("a{b", "a{b", True),
        ("/src/a", "src/a", True),
    ],
)
def test_globs_mean_what_people_mean(glob, path, expected):
    assert matches(patterns(glob), path) is expected


def test_a_glob_of_many_stars_takes_no_time():
    glob = "/".join(["**", "*a*a*a*a*a*a*a*b"] * 20)
    started = time.monotonic()
    assert not matches(patterns(glob), "/".join(["a" * 100] * 100))
    assert time.monotonic() - started < 2


@given(st.lists(st.text(alphabet="ab.", min_size=1, max_size=4), min_size=1, max_size=5))
def test_every_path_is_of_itself_and_of_two_stars(names):
    path = "/".join(names)
    assert matches(patterns("**"), path)
    if path.strip("./"):
        kept = [name for name in names if name != "."]
        assert matches(patterns("/" + "/".join(kept)), "/".join(kept))
