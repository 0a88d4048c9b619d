"""The toolbox: what it offers, what it answers to wrong calls, and its switches."""

import subprocess
import sys

import pytest
import pytest_twisted
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from twisted.internet.defer import CancelledError, Deferred

from ahpd.interfaces import InvalidRecord, Permission
from ahpd_agent_openai.tools import ToolBox, schema, switches
from ahpd_agent_openai.tools.base import READS, Tool
from ahpd_agent_openai.tools.testing import ToolsBench
from ahpd_agent_openai.tools.values import ToolOutcome
from ahpd_agent_openai.tools.web.providers import Brave, DuckDuckGo, Tavily

ensure = pytest_twisted.ensureDeferred

FILES = ["read_file", "list_files", "search_files", "write_file", "edit_file"]
MEMORY = ["memory_read", "memory_write"]


@pytest_twisted.async_yield_fixture
async def bench(tmp_path):
    from twisted.internet import reactor

    made = ToolsBench(reactor, tmp_path)
    await made.start()
    yield made
    await made.stop()


# -- what is offered --------------------------------------------------------------------


@ensure
async def test_every_tool_is_offered_as_a_function(bench):
    box = bench.box(switches=switches({"web": {"search": {"duckduckgo": True}}}))
    definitions = box.definitions()
    names = [definition["function"]["name"] for definition in definitions]
    assert names == [*FILES, "shell_exec", "web_fetch", "web_search", *MEMORY]
    for definition in definitions:
        assert definition["type"] == "function"
        parameters = definition["function"]["parameters"]
        Draft202012Validator.check_schema(parameters)
        assert set(parameters["required"]) <= set(parameters["properties"])
        assert all(each["description"] for each in parameters["properties"].values())


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (None, [*FILES, "shell_exec", "web_fetch", *MEMORY]),
        ({}, [*FILES, "shell_exec", "web_fetch", *MEMORY]),
        ({"shell": False}, [*FILES, "web_fetch", *MEMORY]),
        ({"files": False}, ["shell_exec", "web_fetch", *MEMORY]),
        ({"web": False}, [*FILES, "shell_exec", *MEMORY]),
        ({"memory": False}, [*FILES, "shell_exec", "web_fetch"]),
        ({"web": {}}, [*FILES, "shell_exec", "web_fetch", *MEMORY]),
        ({"web": {"search": {}}}, [*FILES, "shell_exec", "web_fetch", *MEMORY]),
        ({"web": {"search": {"duckduckgo": False}}}, [*FILES, "shell_exec", "web_fetch", *MEMORY]),
        (
            {
                "files": False,
                "shell": False,
                "memory": False,
                "web": {"search": {"duckduckgo": True}},
            },
            ["web_fetch", "web_search"],
        ),
        ({"files": False, "shell": False, "memory": False, "web": False}, []),
    ],
)
@ensure
async def test_each_switch_takes_its_tools_away(bench, value, names):
    assert list(bench.box(switches=switches(value)).names) == names


def test_providers_are_asked_in_the_order_they_are_listed():
    tavily, brave = {"tavily": {"apiKey": "t"}}, {"brave": {"apiKey": "b"}}
    duck = {"duckduckgo": True}
    assert switches({"web": {"search": {**tavily, **duck, **brave}}}).search == (
        Tavily("t"),
        DuckDuckGo(),
        Brave("b"),
    )
    assert switches({"web": {"search": {**brave, **tavily}}}).search == (Brave("b"), Tavily("t"))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "tools: expected an object with any of files, shell, web, memory"),
        (True, "tools: expected an object"),
        ({"shel": False}, "tools.shel: there is no such field; tools takes files, shell"),
        ({"shell": "no"}, "tools.shell: expected true or false"),
        ({"shell": {}}, "tools.shell: expected true or false"),
        ({"memory": 0}, "tools.memory: expected true or false"),
        ({"web": "on"}, "tools.web: expected true or false, or an object with search"),
        ({"web": {"serch": {}}}, "tools.web.serch: there is no such field"),
        ({"web": {"search": True}}, "tools.web.search: expected an object with any of brave"),
        ({"web": {"search": {"google": {}}}}, "tools.web.search.google: there is no such field"),
        (
            {"web": {"search": {"brave": "secret-key"}}},
            "tools.web.search.brave: expected an object",
        ),
        (
            {"web": {"search": {"brave": {}}}},
            "tools.web.search.brave.apiKey: expected the provider",
        ),
        (
            {"web": {"search": {"tavily": {"apiKey": 3}}}},
            "tools.web.search.tavily.apiKey: expected",
        ),
        (
            {"web": {"search": {"tavily": {"apiKey": " "}}}},
            "tools.web.search.tavily.apiKey: expected",
        ),
        (
            {"web": {"search": {"brave": {"apiKey": "secret\r\nX: y"}}}},
            "brave.apiKey: holds a character",
        ),
        (
            {"web": {"search": {"brave": {"key": "secret"}}}},
            "tools.web.search.brave.key: there is no",
        ),
        ({"web": {"search": {"duckduckgo": {}}}}, "tools.web.search.duckduckgo: expected true"),
    ],
)
def test_what_is_wrong_with_the_option_is_told_by_its_field(value, words):
    with pytest.raises(InvalidRecord) as failure:
        switches(value)
    assert words in str(failure.value)
    assert "secret" not in str(failure.value)
    assert not Draft202012Validator(schema()).is_valid(value) or "apiKey" in words


def test_a_record_names_providers_without_a_key_alone():
    assert switches({"web": {"search": {"duckduckgo": True}}}, keyless=True).search
    value = {"web": {"search": {"brave": {"apiKey": "secret"}}}}
    with pytest.raises(InvalidRecord) as failure:
        switches(value, at="config.tools", keyless=True)
    assert str(failure.value).startswith("config.tools.web.search.brave: ")
    assert "secret" not in str(failure.value)
    assert Draft202012Validator(schema()).is_valid(value)
    assert not Draft202012Validator(schema(keyless=True)).is_valid(value)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"shell": False},
        {"web": True},
        {"web": {"search": {"brave": {"apiKey": "k"}, "duckduckgo": True}}},
    ],
)
def test_what_is_right_fits_the_schema(value):
    assert Draft202012Validator(schema()).is_valid(value)
    switches(value)


# -- wrong calls ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("read_file", {}, ["`path` is missing: the file, absolute or relative"]),
        ("read_file", [], ["takes its arguments as one JSON object"]),
        ("read_file", "path", ["takes its arguments as one JSON object"]),
        ("read_file", None, ["takes its arguments as one JSON object"]),
        ("read_file", {"path": 3}, ["`path` is a number; it has to be a string"]),
        ("read_file", {"path": None}, ["`path` is missing"]),
        ("read_file", {"path": ""}, ["`path` is empty"]),
        ("read_file", {"path": "\ud800"}, ["`path` holds half of a surrogate pair"]),
        ("read_file", {"path": "a\0"}, ["`path` holds a NUL"]),
        ("read_file", {"path": "a", "start_line": "1"}, ["`start_line` is a string; it has to be a whole"]),
        ("read_file", {"path": "a", "start_line": 0}, ["`start_line` is 0; the least is 1"]),
        ("read_file", {"path": "a", "line_count": 10**9}, ["`line_count` is 1000000000; the most is"]),
        ("read_file", {"path": "a", "line_count": 1.5}, ["`line_count` is a number; it has to be a whole"]),
        ("read_file", {"path": "a", "line_count": True}, ["`line_count` is true or false"]),
        ("list_files", {"recursive": "yes"}, ["`recursive` is a string; it has to be true or false"]),
        ("read_file", {"file": "a", "lines": 3}, ["`path` is missing", "`file` is no argument", "`lines` is no"]),
        ("edit_file", {}, ["`path` is missing", "`old_text` is missing", "`new_text` is missing"]),
        ("shell_exec", {"command": "a\0b"}, ["`command` holds a NUL"]),
        ("shell_exec", {"command": "x" * 100_001}, ["`command` has 100001 characters"]),
        ("web_fetch", {"url": "ftp://x"}, ["no http or https URL"]),
        ("no_such_tool", {}, ["there is no tool 'no_such_tool'; there are: read_file, "]),
        ("", {}, ["there is no tool ''"]),
    ],
)  # fmt: skip
@ensure
async def test_a_wrong_call_is_an_answer_that_names_what_is_wrong(bench, name, arguments, words):
    box = bench.box()
    described = box.describe(name, arguments)
    for call in (bench.call(), bench.call(described=described)):
        outcome = await box.run(name, arguments, call)
        assert not outcome.success
        for each in words:
            assert each in outcome.text
            assert each in described.problem
        assert outcome.result()["error"]["message"]


@ensure
async def test_numbers_without_a_fraction_and_nulls_are_taken(bench):
    (bench.workspace / "a").write_text("1\n2\n3\n")
    outcome = await bench.run(bench.box(), "read_file", path="a", start_line=2.0, line_count=None)
    assert outcome.text == "2\n3\n[lines 2 to 3, the last one]"


@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    name=st.sampled_from([*FILES, "shell_exec", "web_fetch", *MEMORY, "x"]),
    arguments=st.one_of(
        st.none(),
        st.text(max_size=5),
        st.dictionaries(
            st.sampled_from(["path", "content", "old_text", "new_text", "pattern", "command", "url", "name"]),
            st.one_of(
                st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8),
                st.lists(st.integers(), max_size=2),
            ),
            max_size=4,
        ),
    ),
)  # fmt: skip
def test_describing_never_raises(tmp_path_factory, name, arguments):
    from twisted.internet.task import Clock

    from ahpd.testing.engines import engine_ports
    from ahpd_agent_openai.tools import make_toolbox

    folder = tmp_path_factory.getbasetemp()
    box = make_toolbox(engine_ports(Clock(), folder), folders=[], store=folder / "s")
    described = box.describe(name, arguments)
    assert described.display_name
    assert isinstance(described.tool_input, str)


# -- tools that fail, and that are stopped ------------------------------------------------------


class Scripted(Tool):
    name = "scripted"
    title = "Scripted"
    kind = "custom-tool"
    effects = READS
    description = "What the test says."
    arguments = ()

    def __init__(self, work):
        self.work = work

    def described(self, arguments):
        return self._described("Doing it", arguments, Permission(kind=self.kind))

    async def run(self, arguments, call):
        return await self.work()


@pytest.mark.logs_failures
@ensure
async def test_a_tool_that_breaks_is_told_in_words_without_a_trace(bench):
    async def broken():
        raise KeyError("/secret/path")

    outcome = await ToolBox([Scripted(broken)]).run("scripted", {}, bench.call())
    assert not outcome.success
    assert outcome.text == "scripted failed; the host's log says why."


@ensure
async def test_a_stop_waits_for_what_the_tool_has_to_put_away(bench):
    held, put_away = Deferred(), Deferred()

    async def work():
        try:
            await held
        finally:
            await put_away
        return ToolOutcome(text="", past_tense="")

    box = ToolBox([Scripted(work)])
    running = Deferred.fromCoroutine(box.run("scripted", {}, bench.call()))
    ended = []
    running.addErrback(lambda failure: ended.append(failure.check(CancelledError)))
    closing = Deferred.fromCoroutine(box.close())
    assert not ended
    assert not closing.called
    put_away.callback(None)
    await closing
    assert ended == [CancelledError]


def test_a_host_that_needs_no_web_does_not_load_what_it_takes():
    """What connects, and what TLS is made of, takes longer to import than all the rest."""
    program = (
        "import sys, ahpd_agent_openai.tools;"
        "print([name for name in ('twisted.web', 'OpenSSL', 'twisted.internet.endpoints')"
        " if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
