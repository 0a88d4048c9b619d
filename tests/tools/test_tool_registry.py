"""Which tools a session is offered, and what becomes of a call."""

import json

import attrs
import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import globalLogPublisher

from ahpd.interfaces import (
    HostTool,
    Refusal,
    RpcError,
    StoreFailure,
    ToolCallContext,
    ToolEffects,
    ToolFailure,
)
from ahpd.protocol.check import check_strict
from ahpd.protocol.shapes.tool_calls import ToolCallResult
from ahpd.tools import answers, arguments
from ahpd.tools.registry import ToolRegistry, permits
from tests.raises import RAISES

S1, S2 = "ahp-session:/s1", "ahp-session:/s2"


def at(session=S1):
    return ToolCallContext(session=session, chat="ahp-chat:/c", tool_call_id="call-1")


def tool(name="t", run=None, schema=None, **more):
    async def says(given, context):
        return f"{name} was given {json.dumps(given)}"

    definition = {"name": name, "title": name.upper()}
    if schema is not None:
        definition["inputSchema"] = schema
    return HostTool(definition=definition, run=run or says, **more)


def raising(error):
    async def run(given, context):
        raise error

    return run


class Waiting:
    """A tool that waits. A `stubborn` one goes on when it is cancelled."""

    def __init__(self, stubborn=False):
        self.stubborn = stubborn
        self.waiting = Deferred()
        self.cancelled = False
        self.finished = False

    async def run(self, given, context):
        try:
            answer = await self.waiting
        except CancelledError:
            self.cancelled = True
            if not self.stubborn:
                raise
            answer = "late"
        self.finished = True
        return answer


def begin(registry, name="t", given=None, context=None):
    """A call, and the list its outcome will be in."""
    outcome = []
    call = Deferred.fromCoroutine(registry.run(name, given or {}, context or at()))
    call.addBoth(outcome.append)
    return call, outcome


def run(registry, name="t", given=None, context=None):
    _, outcome = begin(registry, name, given, context)
    assert outcome, "it is not done"
    check_strict(outcome[0], ToolCallResult, "result")
    return outcome[0]


@pytest.fixture
def logged():
    """What is logged meanwhile."""
    events = []
    globalLogPublisher.addObserver(events.append)
    yield events
    globalLogPublisher.removeObserver(events.append)


# -- which there are -----------------------------------------------------------------------


def test_names_are_one_each_and_are_names():
    registry = ToolRegistry([tool("a")])
    with pytest.raises(ValueError, match="a tool named a is registered already"):
        registry.register(tool("a"))
    for name in ("", "a b", "a/b", "ä", "x" * 65, "a\n"):
        with pytest.raises(ValueError, match="is no tool's name"):
            registry.register(tool(name))
    for definition in ({}, {"name": "b", "inputSchema": {"type": "array"}}, {"name": "b", "x": 1}):
        with pytest.raises(ValueError):
            registry.register(HostTool(definition=definition, run=tool().run))
    assert [each["name"] for each in registry.definitions()] == ["a"]


def test_whoever_asked_is_told_of_each_change():
    registry, told = ToolRegistry(), []
    registry.changed = lambda: told.append([each["name"] for each in registry.definitions()])
    registry.register(tool("a"))
    registry.register(tool("b"))
    registry.unregister("a")
    registry.unregister("a")
    assert told == [["a"], ["a", "b"], ["b"]]
    assert not run(registry, "a")["success"]


@pytest.mark.parametrize(
    ("setting", "offered"),
    [
        (False, []),
        (None, []),
        ("x", []),
        (7, []),
        ([], []),
        (["x"], ["x"]),
        (["y", "z"], ["y"]),
        ({"x": True}, ["x"]),
        (True, ["x", "y"]),
    ],
)
def test_an_advanced_tool_is_offered_and_run_where_the_setting_lets_it(setting, offered):
    registry = ToolRegistry(
        [tool("a"), tool("x", advanced=True), tool("y", advanced=True, instructions="Y.")],
        advanced=lambda: setting,
    )
    assert [each["name"] for each in registry.definitions()] == ["a", *offered]
    assert registry.instructions(S1) == ("Y." if "y" in offered else None)
    for name in ("x", "y"):
        assert run(registry, name)["success"] is (name in offered)
        assert permits(setting, name) is (name in offered)


def test_a_session_is_told_of_and_runs_what_it_lists():
    lists = {S1: {"a"}, S2: set()}
    registry = ToolRegistry(
        [tool("a", instructions="A."), tool("b", instructions="B.")], listed=lists.get
    )
    assert registry.instructions(S1) == "A."
    assert registry.instructions(S2) is None
    assert registry.instructions("ahp-session:/other") == "A.\n\nB."
    assert [each["name"] for each in registry.definitions(S1)] == ["a"]
    assert [each["name"] for each in registry.definitions()] == ["a", "b"]
    assert run(registry, "a")["success"]
    words = run(registry, "b")["error"]["message"]
    assert words == "This host has no tool named b for this session."
    assert run(registry, "a", context=at(S2))["success"] is False


def test_effects_are_the_tool_s_own():
    registry = ToolRegistry([tool("a", effects=ToolEffects(writes=True))])
    assert registry.effects("a") == ToolEffects(writes=True)
    assert registry.effects("b") is None


# -- what a call comes to -------------------------------------------------------------------


def test_a_text_is_a_result_and_a_result_is_itself():
    assert run(ToolRegistry([tool()]), given={"x": [1]}) == {
        "success": True,
        "pastTenseMessage": "Ran T",
        "content": [{"type": "text", "text": 't was given {"x": [1]}'}],
    }
    whole = {"success": False, "pastTenseMessage": "Tried", "error": {"message": "no", "code": "E"}}

    async def answers_whole(given, context):
        return whole

    assert run(ToolRegistry([tool(run=answers_whole)])) == whole


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ToolFailure("There is no such thing."), "There is no such thing."),
        (RpcError(-32602, "channel: no"), "channel: no"),
        (Refusal("The session is archived."), "The session is archived."),
        (StoreFailure("disk full"), "It could not be saved: disk full"),
        (ToolFailure("x" * 5000), None),
    ],
)
def test_words_that_are_raised_are_the_model_s_to_read(error, words):
    found = run(ToolRegistry([tool(run=raising(error))]))
    assert found["success"] is False
    assert found["error"]["message"] == found["pastTenseMessage"]
    if words is None:
        assert len(found["error"]["message"]) <= 2000
    else:
        assert found["error"]["message"] == words


@pytest.mark.parametrize("error", [KeyError("secret"), RecursionError("secret"), OSError(5, "x")])
def test_a_bug_is_a_failed_call_that_shows_nothing_and_is_logged(error, logged):
    found = run(ToolRegistry([tool(run=raising(error))]))
    assert found["error"]["message"] == "The tool t failed; the host's log says why."
    (event,) = [each for each in logged if "call" in each]
    assert (event["call"], event["name"], event["chat"]) == ("call-1", "t", "ahp-chat:/c")
    assert event["kind"] == type(error).__name__
    assert "log_failure" not in event


def test_an_answer_that_is_none_is_a_failed_call():
    for answer in (None, 7, {"success": True}, {"success": True, "pastTenseMessage": "x", "y": 1}):

        async def gives(given, context, answer=answer):
            return answer

        found = run(ToolRegistry([tool(run=gives)]))
        assert found["error"]["message"] == "The tool t failed; the host's log says why."


def test_what_is_no_text_in_an_answer_is_replaced():
    async def half(given, context):
        return "a\ud800b"

    found = run(ToolRegistry([tool(run=half)]))
    assert found["content"][0]["text"] == "a?b"
    assert run(ToolRegistry([tool(run=raising(ToolFailure("\udfff")))]))["error"]["message"] == "?"


# -- how large it may be --------------------------------------------------------------------


def weight(value):
    return len(json.dumps(value, ensure_ascii=False).encode())


@pytest.mark.parametrize("piece", ["x", "ä", "\U0001f600", '"', "\n"])
def test_a_huge_text_is_cut_and_says_how_much_is_missing(piece):
    text = piece * 1_000_000

    async def much(given, context):
        return text

    found = run(ToolRegistry([tool(run=much)]))
    assert weight(found) <= answers.MOST_BYTES
    kept, _, rest = found["content"][0]["text"].partition("\n… ")
    if piece != "\n":
        assert text.startswith(kept)
        assert rest == f"{len(text) - len(kept)} characters were left out: the answer is too long."
        assert weight(kept) > answers.MOST_BYTES // 2


def test_huge_blocks_are_left_out_one_by_one():
    result = {
        "success": True,
        "pastTenseMessage": {"markdown": "m" * 9000},
        "content": [
            {"type": "text", "text": "kept"},
            {"type": "embeddedResource", "data": "x" * 999_999, "contentType": "image/png"},
            *({"type": "text", "text": f"{n} " + "y" * 20_000} for n in range(50)),
        ],
        "structuredContent": {"z": "z" * 999_999},
        "error": {"message": "e" * 9000},
    }
    found = answers.bounded(result)
    check_strict(found, ToolCallResult, "result")
    assert weight(found) <= answers.MOST_BYTES
    assert found["content"][0] == {"type": "text", "text": "kept"}
    assert "embeddedResource was left out" in found["content"][1]["text"]
    assert found["content"][2]["text"].startswith("0 y")
    assert "structuredContent" not in found
    small = {"success": True, "pastTenseMessage": "x", "structuredContent": {"a": 1}}
    assert answers.bounded(small) == small


# -- arguments ------------------------------------------------------------------------------

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 5},
        "kind": {"type": "string", "enum": ["a", "b"]},
        "items": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {"n": {"type": "integer"}},
                "required": ["n"],
            },
        },
    },
    "required": ["name"],
}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "name is missing"),
        ({"name": 7}, "name: found 7, expected a value of type string"),
        ({"name": "abcdef"}, "name: found 6 characters, expected at most 5"),
        ({"name": "a", "kind": "c"}, "kind: found 'c', expected one of a, b"),
        ({"name": "a", "items": []}, "items: found 0 items, expected at least 1"),
        ({"name": "a", "items": [{"n": 1}, {"n": "x"}]}, "items[1].n: found 'x'"),
        ({"name": "a", "items": [{}]}, "items[0].n is missing"),
        ({"name": "a", "items": [{"n": 1.5}]}, "items[0].n: found 1.5"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_by_their_path(given, words):
    ran = []

    async def noted(given, context):
        ran.append(given)
        return ""

    registry = ToolRegistry([tool(run=noted, schema=SCHEMA)])
    assert f"Invalid t input: {words}" in run(registry, given=given)["error"]["message"]
    assert ran == []
    assert run(registry, given={"name": "a", "else": 1})["success"]
    assert ran == [{"name": "a", "else": 1}]


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        "x",
        {"a": float("nan")},
        {"a": object()},
        {"a": b"x"},
        {"a": "\ud800"},
        {"\ud800": 1},
        {"a": "x" * arguments.MOST_BYTES},
    ],
)
def test_arguments_that_are_no_json_or_too_much_are_refused(given):
    outcome = []
    registry = ToolRegistry([tool()])
    Deferred.fromCoroutine(registry.run("t", given, at())).addBoth(outcome.append)
    assert outcome[0]["success"] is False
    assert outcome[0]["error"]["message"].startswith("Invalid t input: ")


def test_arguments_that_hold_themselves_are_refused():
    loop = {}
    loop["loop"] = loop
    assert "it is no JSON" in run(ToolRegistry([tool()]), given=loop)["error"]["message"]


def test_a_tool_has_its_arguments_for_itself():
    async def spoils(given, context):
        given["list"].append(2)
        return "done"

    given = {"list": [1]}
    assert run(ToolRegistry([tool(run=spoils)]), given=given)["success"]
    assert given == {"list": [1]}


@pytest.mark.parametrize(
    "inner", [{"$ref": "http://127.0.0.1:1/schema"}, {"$ref": "#/$defs/none"}, {"type": "thing"}]
)
def test_a_schema_that_refers_elsewhere_is_never_fetched_and_takes_everything(inner):
    schema = {"type": "object", "properties": {"a": inner}}
    assert run(ToolRegistry([tool(schema=schema)]), given={"a": 1})["success"]


# -- calls that take their time -----------------------------------------------------------


def test_calls_run_beside_each_other():
    first, second = Waiting(), Waiting()
    registry = ToolRegistry([tool("a", first.run), tool("b", second.run)])
    _, one = begin(registry, "a")
    _, two = begin(registry, "b")
    second.waiting.callback("2")
    assert (one, two[0]["content"][0]["text"]) == ([], "2")
    first.waiting.callback("1")
    assert one[0]["content"][0]["text"] == "1"


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_session_that_goes_takes_its_calls_along(stubborn):
    mine, others = Waiting(stubborn), Waiting()
    registry = ToolRegistry([tool("a", mine.run), tool("b", others.run)])
    _, gone = begin(registry, "a")
    _, stays = begin(registry, "b", context=at(S2))
    registry.session_gone("scripted:/s1")
    assert gone[0]["error"]["message"] == "The session this call was made in is gone."
    assert mine.cancelled
    assert stays == []
    others.waiting.callback("on")
    assert stays[0]["success"]
    assert len(registry._calls) == 0
    registry.session_gone(S1)


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_tool_that_is_offered_no_more_takes_its_calls_along(stubborn):
    going, staying = Waiting(stubborn), Waiting()
    registry = ToolRegistry()
    kept = tool("b", staying.run)
    registry.replace("plugins", {"a": tool("a", going.run), "b": kept})
    _, gone = begin(registry, "a", context=at(S2))
    _, stays = begin(registry, "b")
    registry.replace("plugins", {"b": kept})
    (said,) = gone
    check_strict(said, ToolCallResult, "result")
    assert said["error"]["message"] == "The tool a is gone: this host offers it no more."
    assert going.cancelled
    registry.replace("plugins", {"c": tool("c"), "b": kept})
    assert stays == []
    staying.waiting.callback("on")
    assert stays[0]["success"]
    assert len(registry._calls) == 0


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_tool_whose_name_is_another_s_now_takes_its_calls_along(stubborn):
    going = Waiting(stubborn)
    registry = ToolRegistry()
    registry.replace("plugins", {"a": tool("a", going.run)})
    _, gone = begin(registry, "a")
    registry.replace("plugins", {"a": tool("a")})
    assert gone[0]["error"]["message"] == "The tool a is gone: this host offers it no more."
    assert going.cancelled
    assert run(registry, "a")["success"]


@pytest.mark.parametrize("error", [*RAISES, "words that raise", "a code that is none"])
def test_a_call_is_answered_whatever_its_tool_raises(error, logged):
    class Unsaid(str):
        def __str__(self):
            raise RuntimeError("no words")

    more = {
        "words that raise": lambda: ToolFailure(Unsaid("x")),
        "a code that is none": lambda: RpcError("x", 5),
    }
    found = run(ToolRegistry([tool(run=raising({**RAISES, **more}[error]()))]))
    assert found["error"]["message"] == "The tool t failed; the host's log says why."
    assert [each["name"] for each in logged if "call" in each] == ["t"]


@pytest.mark.parametrize("error", RAISES)
def test_a_tool_that_raises_over_what_a_session_is_offered_is_not_offered(error):
    def breaks(session, config):
        raise RAISES[error]()

    registry = ToolRegistry([attrs.evolve(tool("a"), for_session=breaks), tool("b")])
    assert [one["name"] for one in registry.offered(S1, {})] == ["b"]


def test_whoever_waits_may_stop_and_the_tool_is_stopped_with_it():
    waiting = Waiting()
    registry = ToolRegistry([tool("a", waiting.run)])
    call, outcome = begin(registry, "a")
    call.cancel()
    assert waiting.cancelled
    assert outcome[0].check(CancelledError)
    assert len(registry._calls) == 0


def test_a_host_that_stops_ends_every_call_and_begins_none():
    waiting = Waiting()
    registry = ToolRegistry([tool("a", waiting.run)])
    _, outcome = begin(registry, "a")
    registry.stop()
    assert outcome[0]["error"]["message"] == "The host is shutting down."
    assert waiting.cancelled
    assert run(registry, "a")["error"]["message"] == "The host is shutting down."
