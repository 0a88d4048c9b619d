"""What an ACP agent asks people in a turn, and what it is answered."""

import itertools

import pytest
import pytest_twisted
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred

from ahpd.interfaces import InputAnswer, ToolAnswer
from ahpd.protocol.check import check_strict
from ahpd.protocol.shapes import shape
from ahpd.testing.agent_contract import check_said
from ahpd.testing.agents import RecordedOutput
from ahpd_agent_acp.asks import ClientRequests
from ahpd_agent_acp.connection import RequestError
from ahpd_agent_acp.elicitation import content_of, questions_of
from ahpd_agent_acp.updates import TurnUpdates

ONCE = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    {"optionId": "never", "name": "Never", "kind": "reject_always"},
]
CANCELLED = {"outcome": {"outcome": "cancelled"}}


def selected(option):
    return {"outcome": {"outcome": "selected", "optionId": option}}


class Agent:
    """An agent in a turn that asks."""

    def __init__(self, session_id="s1"):
        numbers = itertools.count(1)
        self.requests = ClientRequests(
            resources=None,
            terminals=None,
            ids=lambda: f"id-{next(numbers)}",
            session="ahp-session:/1",
            chat="ahp-chat:/1",
            directory="/work",
            session_id=session_id,
        )
        self.output = RecordedOutput("t1")
        self.turn = TurnUpdates(self.output, directory="/work")

    def asks(self, method, turn=True, **params):
        """What it is answered, once it is: a list that it comes to."""
        answers = []
        params.setdefault("sessionId", "s1")
        asked = self.requests.answer(method, params, self.turn if turn else None)
        self.waiting = Deferred.fromCoroutine(asked)
        self.waiting.addBoth(answers.append)
        return answers

    def permission(self, options=ONCE, **call):
        call.setdefault("toolCallId", "c1")
        return self.asks("session/request_permission", toolCall=call, options=options)

    def form(self, turn=True, **properties):
        schema = {"type": "object", "properties": properties, "required": list(properties)[:1]}
        return self.asks(
            "elicitation/create", turn, mode="form", message="Tell me", requestedSchema=schema
        )

    def check(self):
        check_said(self.output.history, "t1")


def refusal(answers):
    (failure,) = answers
    assert failure.check(RequestError), failure
    return failure.value


# -- permissions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("approved", "options", "expected"),
    [
        (True, ONCE, selected("yes")),
        (False, ONCE, selected("no")),
        (True, ONCE[:1], CANCELLED),
        (False, ONCE[:2], CANCELLED),
        (True, [], CANCELLED),
    ],
)
def test_an_agent_is_answered_for_this_once_or_not_at_all(approved, options, expected):
    agent = Agent()
    answers = agent.permission(options, title="Run", kind="execute")
    assert answers == []
    agent.output.confirm(ToolAnswer(approved=approved, option="allow-session"), "c1")
    assert answers == [expected]
    agent.check()


def test_an_option_that_stands_is_not_sent_whoever_picked_it():
    agent = Agent()
    answers = agent.permission(title="Run", kind="execute")
    agent.output.confirm(ToolAnswer(approved=True, option="always"), "c1")
    assert answers == [selected("yes")]


def test_the_agents_own_options_are_not_offered():
    agent = Agent()
    agent.permission(title="Run", kind="execute", rawInput={"command": "make"})
    (ready,) = [each for each in agent.output.actions if each["type"] == "chat/toolCallReady"]
    assert "options" not in ready
    assert "confirmed" not in ready
    assert agent.output.permissions["c1"].command == "make"


def test_a_mode_switch_offers_its_own_buttons_approvals_first_and_sends_the_one_picked():
    agent = Agent()
    options = [
        {"optionId": "stay", "name": "Keep planning", "kind": "reject_once"},
        {"optionId": "auto", "name": "Go, and accept edits", "kind": "allow_always"},
        {"optionId": "ask", "name": "Go, and ask", "kind": "allow_once"},
    ]
    answers = agent.permission(options, title="Ready to code?", kind="switch_mode")
    ready = agent.output.actions[-1]
    assert [option["id"] for option in ready["options"]] == ["auto", "ask", "stay"]
    assert agent.output.permissions["c1"].kind == "custom-tool"
    agent.output.confirm(ToolAnswer(approved=True, option="auto"), "c1")
    assert answers == [selected("auto")]
    agent.check()


def test_a_mode_switch_answered_without_its_buttons_is_answered_once():
    agent = Agent()
    answers = agent.permission(kind="switch_mode")
    agent.output.confirm(ToolAnswer(approved=False, option="yes"), "c1")
    assert answers == [selected("no")]


@pytest.mark.parametrize(
    ("call", "kind", "field", "value"),
    [
        ({"kind": "execute", "rawInput": {"command": "ls"}}, "shell", "command", "ls"),
        (
            {"kind": "execute", "rawInput": {"command": ["bash", "-lc", "ls | wc"]}},
            "shell",
            "command",
            "ls | wc",
        ),
        (
            {"kind": "execute", "rawInput": {"command": ["rm", "a b"]}},
            "shell",
            "command",
            "rm 'a b'",
        ),
        (
            {"kind": "execute", "rawInput": {"command": "git", "args": ["push", "-f"]}},
            "shell",
            "command",
            "git push -f",
        ),
        ({"kind": "execute", "rawInput": {"command": "a", "cmd": "b"}}, "shell", "command", None),
        ({"kind": "execute", "rawInput": {"command": "a", "args": 5}}, "shell", "command", None),
        ({"kind": "execute", "title": "rm -r /"}, "shell", "command", None),
        ({"kind": "read", "locations": [{"path": "/etc/x"}]}, "read", "path", "/etc/x"),
        ({"kind": "search", "locations": [{"path": "src"}]}, "read", "path", "/work/src"),
        ({"kind": "edit", "locations": [{"path": "file:///a%20b"}]}, "write", "path", "/a b"),
        ({"kind": "delete", "locations": [5, {}]}, "write", "path", None),
        ({"kind": "move", "locations": [{"path": "/a"}, {"path": "/b"}]}, "write", "path", "/a"),
        ({"kind": "fetch", "rawInput": {"url": "https://x/y"}}, "url", "url", "https://x/y"),
        ({"kind": "fetch", "rawInput": {"urls": ["https://x", "https://y"]}}, "url", "url", None),
        ({"kind": "read", "name": "mcp__files__read"}, "mcp", "path", None),
        ({"kind": "think"}, "custom-tool", "path", None),
        ({}, "custom-tool", "path", None),
    ],
)
def test_what_a_call_asks_is_said_by_its_kind(call, kind, field, value):
    agent = Agent()
    agent.permission(
        title=call.get("title", "Do"), **{k: v for k, v in call.items() if k != "title"}
    )
    permission = agent.output.permissions["c1"]
    assert (permission.kind, getattr(permission, field)) == (kind, value)


def test_a_turn_that_is_stopped_answers_what_stands_and_what_comes_after_it():
    agent = Agent()
    permission, form = agent.permission(), agent.form(name={"type": "string"})
    agent.requests.turn_over(agent.turn)
    assert (permission, form) == ([CANCELLED], [{"action": "cancel"}])
    assert agent.permission(toolCallId="c2") == [CANCELLED]
    assert agent.form(name={"type": "string"}) == [{"action": "cancel"}]
    assert agent.output.awaited.waiting == []


def test_the_hosts_own_end_of_the_turn_answers_too():
    agent = Agent()
    permission, form = agent.permission(), agent.form(name={"type": "string"})
    agent.output.over()
    assert (permission, form) == ([CANCELLED], [{"action": "cancel"}])


def test_without_a_turn_nobody_is_asked():
    agent = Agent()
    assert agent.form(turn=False) == [{"action": "cancel"}]
    params = {"toolCall": {"toolCallId": "c1"}, "options": ONCE}
    assert agent.asks("session/request_permission", turn=False, **params) == [CANCELLED]
    assert agent.output.actions == []


def test_a_permission_that_is_taken_back_leaves_the_call_to_its_agent():
    agent = Agent()
    agent.permission(title="Run")
    agent.waiting.cancel()
    agent.turn.update(
        {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"}
    )
    assert agent.output.actions[-1]["type"] == "chat/toolCallComplete"
    assert agent.output.awaited.waiting == []
    agent.check()


@pytest.mark.parametrize("call", [None, 5, {}, {"toolCallId": 7}])
def test_a_permission_for_nothing_is_refused(call):
    agent = Agent()
    answers = agent.asks("session/request_permission", toolCall=call, options=ONCE)
    assert refusal(answers).code == -32602


# -- what is served -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method", ["fs/read_text_file", "terminal/create", "session/other", "_custom"]
)
def test_what_is_not_there_is_not_served(method):
    agent = Agent()
    assert refusal(agent.asks(method)).code == -32601
    capabilities = agent.requests.capabilities()
    assert capabilities["fs"] == {"readTextFile": False, "writeTextFile": False}
    assert capabilities["terminal"] is False
    assert capabilities["elicitation"] == {"form": {}, "url": {}}


@pytest.mark.parametrize("session", ["s2", None, 5])
def test_another_session_is_refused(session):
    agent = Agent()
    params = {"sessionId": session, "toolCall": {"toolCallId": "c1"}, "options": []}
    assert refusal(agent.asks("session/request_permission", **params)).code == -32602


# -- questions ---------------------------------------------------------------------------------

FORM = {
    "name": {"type": "string", "title": "Name", "minLength": 2, "default": "Ann"},
    "mail": {"type": "string", "format": "email", "description": "Where to?"},
    "color": {"type": "string", "enum": ["red", "blue"], "default": "blue"},
    "size": {
        "type": "string",
        "oneOf": [{"const": "s", "title": "Small", "description": "S"}, {"const": "l"}],
    },
    "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
    "rate": {"type": "number"},
    "sure": {"type": "boolean", "default": False},
    "tags": {
        "type": "array",
        "items": {"type": "string", "enum": ["a", "b"]},
        "minItems": 1,
        "maxItems": 2,
        "default": ["b"],
    },
    "more": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "X"}]}},
}


def test_a_form_is_a_question_for_each_of_its_fields():
    agent = Agent()
    agent.form(**FORM)
    (asked,) = agent.output.actions
    request = asked["request"]
    assert request["_meta"] == {"purpose": "askUser"}
    assert request["message"] == "Tell me"
    shown = {question["id"]: question for question in request["questions"]}
    assert shown["name"] == {
        "id": "name",
        "title": "Name",
        "message": "Name",
        "required": True,
        "kind": "text",
        "min": 2,
        "defaultValue": "Ann",
    }
    assert (shown["mail"]["format"], shown["mail"]["message"]) == ("email", "Where to?")
    assert shown["color"]["options"] == [
        {"id": "red", "label": "red"},
        {"id": "blue", "label": "blue", "recommended": True},
    ]
    assert shown["size"]["options"] == [
        {"id": "s", "label": "Small", "description": "S"},
        {"id": "l", "label": "l"},
    ]
    assert (shown["count"]["kind"], shown["count"]["min"], shown["count"]["max"]) == (
        "integer",
        1,
        9,
    )
    assert shown["rate"]["kind"] == "number"
    assert (shown["sure"]["kind"], shown["sure"]["defaultValue"]) == ("boolean", False)
    assert (shown["tags"]["kind"], shown["tags"]["min"]) == ("multi-select", 1)
    assert shown["more"]["options"] == [{"id": "x", "label": "X"}]
    assert [shown[name]["required"] for name in ("name", "mail")] == [True, False]
    agent.check()


def said(kind, value):
    return {"state": "submitted", "value": {"kind": kind, "value": value}}


def test_what_was_filled_in_is_the_content():
    agent = Agent()
    answers = agent.form(**FORM)
    given_ = {
        "name": said("text", "Bob"),
        "mail": {"state": "skipped"},
        "size": {"state": "draft", "value": {"kind": "selected", "value": "s"}},
        "count": said("number", 4.0),
        "rate": said("text", "1.5"),
        "tags": said("selected-many", ["a"]),
    }
    agent.output.answer(InputAnswer(response="accept", answers=given_))
    content = {
        "name": "Bob",
        "color": "blue",
        "size": "s",
        "count": 4,
        "rate": 1.5,
        "sure": False,
        "tags": ["a"],
    }
    assert answers == [{"action": "accept", "content": content}]
    assert isinstance(answers[0]["content"]["count"], int)
    agent.check()


@pytest.mark.parametrize("response", ["decline", "cancel"])
def test_a_form_that_is_not_filled_in_says_which(response):
    agent = Agent()
    answers = agent.form(**FORM)
    agent.output.answer(InputAnswer(response=response, answers={}))
    assert answers == [{"action": response}]


def test_a_page_is_done_when_the_agent_says_so():
    agent = Agent()
    page = {"mode": "url", "url": "https://x/login", "elicitationId": "e1", "message": "Sign in"}
    answers = agent.asks("elicitation/create", **page)
    assert agent.output.actions[0]["request"]["url"] == "https://x/login"
    assert agent.requests.told("elicitation/complete", {"elicitationId": "other"})
    assert answers == []
    assert agent.requests.told("elicitation/complete", {"elicitationId": "e1"})
    assert answers == [{"action": "accept"}]
    assert agent.output.actions[1] == {
        "type": "chat/inputCompleted",
        "requestId": "t1:1",
        "response": "accept",
    }
    assert agent.output.awaited.waiting == []
    agent.check()
    assert agent.requests.told("elicitation/complete", {"elicitationId": "e1"})
    assert not agent.requests.told("_other", {})


def test_a_page_a_person_answered_is_not_answered_again():
    agent = Agent()
    page = {"mode": "url", "url": "https://x/login", "elicitationId": "e1"}
    answers = agent.asks("elicitation/create", **page)
    agent.output.answer(InputAnswer(response="accept", answers={}))
    assert answers == [{"action": "accept"}]
    agent.requests.told("elicitation/complete", {"elicitationId": "e1"})
    assert len(agent.output.actions) == 1


def test_a_question_that_is_taken_back_is_closed_for_people_too():
    agent = Agent()
    agent.form(**FORM)
    agent.waiting.cancel()
    assert agent.output.actions[-1]["response"] == "cancel"
    agent.check()


def test_a_question_about_a_request_names_no_session():
    agent = Agent()
    params = {"sessionId": None, "requestId": 4, "mode": "form", "message": "?"}
    answers = agent.asks("elicitation/create", **params)
    assert "questions" not in agent.output.actions[0]["request"]
    agent.output.answer(InputAnswer(response="accept", answers={}))
    assert answers == [{"action": "accept", "content": {}}]


@pytest.mark.parametrize(
    "params", [{"mode": "dance"}, {"mode": "url"}, {"mode": "url", "url": "https://x"}]
)
def test_a_question_nobody_could_put_is_refused(params):
    agent = Agent()
    assert refusal(agent.asks("elicitation/create", **params)).code == -32602
    assert agent.output.actions == []


ODD = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["type", "enum", "oneOf", "items", "const", "title", "default"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)
TYPES = st.sampled_from(["string", "number", "integer", "boolean", "array", "later"])
PROPERTIES = st.dictionaries(
    st.text(min_size=1, max_size=4),
    st.one_of(ODD, st.fixed_dictionaries({"type": TYPES}, optional={"default": ODD, "enum": ODD})),
    max_size=4,
)


@settings(deadline=None, max_examples=200)
@given(PROPERTIES, ODD, st.dictionaries(st.text(max_size=4), st.none(), max_size=2))
def test_any_form_is_questions_people_can_be_asked(properties, required, extra):
    schema = {"properties": properties, "required": required, **extra}
    questions = questions_of(schema)
    request = {"id": "q", "questions": questions}
    check_strict(request, shape("questions.ChatInputRequest"), "request")
    answers = {question["id"]: said("text", "x") for question in questions}
    assert set(content_of(schema, answers)) == set(answers)


# -- the end ------------------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_a_session_that_closes_answers_what_stands():
    agent = Agent()
    permission = agent.permission()
    await agent.requests.close()
    assert permission == [CANCELLED]
