"""The six modes: what each does about every kind of call."""

import pytest
import pytest_twisted

from ahpd.interfaces import Permission, ToolEffects
from ahpd_agent_openai.approvals import MODES, UNNAMED, decide, refusal
from ahpd_agent_openai.tools.testing import ToolsBench
from ahpd_agent_openai.tools.values import Described

ensure = pytest_twisted.ensureDeferred


@pytest_twisted.async_yield_fixture
async def bench(tmp_path):
    from twisted.internet import reactor

    made = ToolsBench(reactor, tmp_path)
    await made.start()
    yield made
    await made.stop()


CALLS = {
    "read inside": ("read_file", {"path": "a"}),
    "list inside": ("list_files", {}),
    "search inside": ("search_files", {"pattern": "x"}),
    "read outside": ("read_file", {"path": "/etc/hosts"}),
    "list outside": ("list_files", {"path": ".."}),
    "write inside": ("write_file", {"path": "a", "content": ""}),
    "edit inside": ("edit_file", {"path": "a", "old_text": "a", "new_text": "b"}),
    "write outside": ("write_file", {"path": "../a", "content": ""}),
    "write by a link": ("write_file", {"path": "link", "content": ""}),
    "command": ("shell_exec", {"command": "ls"}),
    "fetch": ("web_fetch", {"url": "http://example.com/"}),
    "read memory": ("memory_read", {}),
    "write memory": ("memory_write", {"name": "a", "content": "x"}),
}
READS_INSIDE = {"read inside", "list inside", "search inside", "read memory"}
READS_OUTSIDE = {"read outside", "list outside"}
WRITES_INSIDE = {"write inside", "edit inside"}
WRITES_ELSEWHERE = {"write outside", "write by a link", "command"}
SEEN = READS_OUTSIDE | WRITES_INSIDE | WRITES_ELSEWHERE | {"fetch", "write memory"}

#: What each mode asks about, and what it refuses; the rest runs.
EXPECTED = {
    "default": (SEEN, set()),
    "acceptEdits": (SEEN - WRITES_INSIDE, set()),
    "plan": (READS_OUTSIDE | {"fetch"}, WRITES_INSIDE | WRITES_ELSEWHERE | {"write memory"}),
    "auto": (WRITES_INSIDE | WRITES_ELSEWHERE, set()),
    "bypassPermissions": (set(), set()),
    "dontAsk": (set(), SEEN),
}


@pytest.mark.parametrize("mode", EXPECTED)
@ensure
async def test_every_mode_decides_about_every_tool(bench, tmp_path, mode):
    (bench.workspace / "link").symlink_to(tmp_path / "not-there-yet")
    box = bench.box()
    asked, refused = EXPECTED[mode]
    for what, (name, arguments) in CALLS.items():
        expected = "ask" if what in asked else "refuse" if what in refused else "run"
        described = box.describe(name, arguments)
        assert described.problem is None
        assert decide(mode, described) == expected, what


@ensure
async def test_each_tool_asks_its_kind_of_permission(bench):
    box = bench.box()
    kinds = {name: box.describe(*call).permission for name, call in CALLS.items()}
    assert kinds["read outside"] == Permission(kind="read", path="/etc/hosts")
    assert kinds["list inside"] == Permission(kind="read", path=str(bench.workspace))
    assert kinds["search inside"] == Permission(kind="read", path=str(bench.workspace))
    assert kinds["edit inside"] == Permission(kind="write", path=str(bench.workspace / "a"))
    assert kinds["write by a link"] == Permission(kind="write", path=str(bench.workspace / "link"))
    assert kinds["command"] == Permission(kind="shell", command="ls", language="bash")
    assert kinds["fetch"] == Permission(kind="url", url="http://example.com/")
    assert kinds["read memory"] == kinds["write memory"] == Permission(kind="memory")


def described(kind="custom-tool", inside=True, problem=None, **effects):
    return Described(
        display_name="A Tool",
        invocation_message="Doing it",
        permission=Permission(kind=kind),
        effects=ToolEffects(**effects),
        inside=inside,
        problem=problem,
    )


@pytest.mark.parametrize("mode", EXPECTED)
def test_a_tool_of_others_is_judged_by_what_it_declares(mode):
    destructive = {"auto": "ask", "default": "ask", "acceptEdits": "ask", "plan": "refuse",
                   "bypassPermissions": "run", "dontAsk": "refuse"}  # fmt: skip
    assert decide(mode, described(destructive=True)) == destructive[mode]
    assert decide(mode, described()) == "run"
    assert decide(mode, described(kind="mcp", reads=True)) == "run"
    # Only a file's write inside the folders is an edit.
    writes = {"auto": "run", "default": "ask", "acceptEdits": "ask", "plan": "refuse",
              "bypassPermissions": "run", "dontAsk": "refuse"}  # fmt: skip
    assert decide(mode, described(writes=True)) == writes[mode]


def test_a_session_that_names_no_mode_has_auto_and_an_unknown_one_asks():
    assert UNNAMED == "auto"
    for call in (described(network=True), described(destructive=True), described()):
        assert decide(None, call) == decide("auto", call)
        assert decide("no such mode", call) == decide("default", call)


@pytest.mark.parametrize("mode", EXPECTED)
def test_nobody_is_asked_about_a_call_that_is_wrong(mode):
    assert decide(mode, described(problem="`path` is missing", destructive=True)) == "run"


def test_there_are_words_for_every_mode():
    assert set(MODES) == set(EXPECTED)
    call = described(writes=True)
    assert "plan mode" in refusal("plan", call)
    assert "asks nobody" in refusal("dontAsk", call)
    assert refusal("plan", call).startswith("A Tool was not run")
