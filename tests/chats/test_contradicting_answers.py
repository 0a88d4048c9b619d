"""Answers to a call's question that are not what was asked, and inputs that people edit."""

import attrs
import pytest

from ahpd.interfaces import Grant, Permission, Verdict
from ahpd.permissions import Judge, parse_managed
from ahpd.protocol.uris import ROOT

from .test_judged_calls import Judged

WRITE = Permission(
    kind="write", path="/w/a", edited=lambda text: Permission(kind="write", path=text)
)


@pytest.fixture
def make():
    made = []

    def one(judge=None, **options):
        made.append(Judged(judge, **options))
        return made[-1]

    yield one
    for each in made:
        each.host.stop()


@pytest.fixture
def j(make):
    return make(Judge(home="/home/nobody"))


def refusal(j):
    """The words of the newest refusal; None where the newest action was taken."""
    return j.ann.envelopes(j.chat)[-1].rejection


def asks_one(j, permission, tool="Bash", **fields):
    async def script(turn):
        call = j.ask(turn, tool, permission, **fields)
        answer = await turn.confirmed(call)
        j.answers.append(answer)
        if answer.approved:
            turn.complete(call, "done")

    return script


def begin(j, permission=None, **fields):
    permission = permission or Permission(kind="shell", command="make x")
    shown = {"toolInput": permission.command} if permission.command else {}
    j.begin(asks_one(j, permission, **{"editable": True, **shown, **fields}))
    [call] = j.calls().values()
    assert call["status"] == "pending-confirmation"
    return call["toolCallId"]


def rules(j, **lists):
    j.dispatch(
        "session/configChanged",
        channel="ahp-session:/s1",
        config={"permissions": {"allow": [], **lists}},
    )


# -- options ---------------------------------------------------------------------------------------


def test_an_approval_that_picked_an_option_that_refuses_is_not_taken(j):
    call = begin(j)
    j.answer(call, "skip")
    assert refusal(j) == f"Option skip of tool call {call} does not approve it."
    assert (j.answers, j.calls()["Bash"]["status"]) == ([], "pending-confirmation")
    j.answer(call, "allow-once")
    assert [(answer.approved, answer.option) for answer in j.answers] == [(True, "allow-once")]


def test_a_refusal_that_picked_an_option_that_approves_is_a_refusal(j):
    call = begin(j)
    j.answer(call, "allow-commands-session", approved=False)
    assert [answer.approved for answer in j.answers] == [False]
    assert j.allowed == []


@pytest.mark.parametrize("option", ["allow-session", "nothing", "allow-host-session", ""])
def test_an_option_nobody_offered_is_a_plain_answer_that_keeps_nothing(j, option):
    call = begin(j)
    j.answer(call, option)
    assert [answer.approved for answer in j.answers] == [True]
    assert j.allowed == []


def test_an_option_of_another_question_keeps_nothing(make):
    j = make()
    grant = Grant(scope="session", rules=("one",))
    offered = [{"id": "one", "label": "One", "kind": "approve"}]
    j.judge.verdicts["Bash"] = Verdict(
        decision="ask", because="x", options=offered, grants={"one": grant}
    )
    j.begin(j.asks("Bash", "Other"))
    j.answer(j.calls()["Other"]["toolCallId"], "one")
    assert j.allowed == []
    j.answer(j.calls()["Bash"]["toolCallId"], "one")
    assert j.allowed == ["one"]


def test_an_answer_that_comes_too_late_is_said_as_any_other(j):
    call = begin(j)
    j.answer(call, "allow-once")
    j.answer(call, "skip", editedToolInput="rm x")
    assert refusal(j) is None
    assert len(j.answers) == 1


# -- edited inputs ---------------------------------------------------------------------------------


def test_what_was_edited_is_judged_again_and_runs_where_nothing_refuses_it(j):
    call = begin(j)
    j.answer(call, "allow-once", editedToolInput="make y")
    assert [answer.edited_input for answer in j.answers] == ["make y"]
    assert j.calls()["Bash"]["toolInput"] == "make y"


@pytest.mark.parametrize("line", ["rm x", "make x; rm x", "r''m x", "sh -c 'rm x'"])
def test_no_edit_gets_round_a_rule_that_refuses(j, line):
    rules(j, deny=["Shell(rm)"])
    call = begin(j)
    j.answer(call, "allow-once", editedToolInput=line)
    assert refusal(j).startswith(
        f"Tool call {call} is not allowed as it was edited: the rule Shell(rm)"
    )
    waiting = j.calls()["Bash"]
    assert (waiting["status"], waiting["toolInput"]) == ("pending-confirmation", "make x")
    assert j.answers == []
    j.answer(call, "allow-once")
    assert [answer.edited_input for answer in j.answers] == [None]


def test_nor_an_operator_s(make):
    managed = parse_managed({"deny": ["Shell(rm)", "Write(/etc/**)"]})
    j = make(Judge(managed, home="/home/nobody"))
    call = begin(j)
    j.answer(call, "allow-once", editedToolInput="rm x")
    assert "the managed rule Shell(rm)" in refusal(j)
    j.answer(call, "allow-once", editedToolInput="rm$X x")
    assert refusal(j) is None, "what may be it is the person's to decide, who did"
    assert [answer.edited_input for answer in j.answers] == ["rm$X x"]


def test_a_backend_says_what_its_input_asks_for_once_it_is_edited(make):
    j = make(Judge(parse_managed({"deny": ["Write(/etc/**)"]}), home="/home/nobody"))
    call = begin(j, attrs.evolve(WRITE, path="/elsewhere/a"), tool="Write")
    j.answer(call, editedToolInput="/etc/passwd")
    assert "the managed rule Write(/etc/**)" in refusal(j)
    j.answer(call, editedToolInput="/w/b")
    assert [answer.edited_input for answer in j.answers] == ["/w/b"]


@pytest.mark.parametrize(
    "permission",
    [
        Permission(kind="write", path="/elsewhere/a"),
        Permission(kind="read", path="/elsewhere/a"),
        Permission(kind="url", url="https://a.example"),
        Permission(kind="shell"),
    ],
)
def test_what_nobody_can_tell_of_is_not_edited(j, permission):
    call = begin(j, permission)
    j.answer(call, editedToolInput='{"path": "/etc/passwd"}')
    assert refusal(j) == f"Tool call {call} cannot be edited: nobody could tell what it does then."
    assert j.answers == []


def test_a_line_that_is_not_what_is_shown_is_not_edited(j):
    call = begin(j, Permission(kind="shell", command="make x"), toolInput='{"command": "make x"}')
    j.answer(call, editedToolInput='{"command": "rm x"}')
    assert "cannot be edited" in refusal(j)


def test_an_input_that_is_not_to_be_edited_is_not(j):
    call = begin(j, editable=False)
    j.answer(call, editedToolInput="make y")
    assert refusal(j) == f"The input of tool call {call} is not to be edited."
    j.answer(call, editedToolInput="make x")
    assert [answer.approved for answer in j.answers] == [True], "what is as it was is no edit"


def test_a_tool_rules_know_by_its_name_alone_is_edited_freely(j):
    call = begin(j, Permission(kind="mcp"), tool="mcp__a__b")
    j.answer(call, editedToolInput='{"a": 1}')
    assert [answer.edited_input for answer in j.answers] == ['{"a": 1}']


# -- several at once -------------------------------------------------------------------------------


def test_of_two_answers_at_once_one_of_which_contradicts_the_other_one_counts(j):
    bob = j.host.connect("bob", ROOT)
    j.run(bob.subscribe(j.chat))
    call = begin(j)
    answer = {"type": "chat/toolCallConfirmed", "turnId": "t1", "toolCallId": call}
    j.ann.dispatch(
        j.chat, {**answer, "approved": True, "confirmed": "user-action", "selectedOptionId": "skip"}
    )
    bob.dispatch(
        j.chat, {**answer, "approved": False, "reason": "denied", "selectedOptionId": "skip"}
    )
    j.host.settle()
    assert [given.approved for given in j.answers] == [False]
    assert j.calls()["Bash"]["status"] == "cancelled"


# -- what was attached -----------------------------------------------------------------------------


def test_only_what_people_attached_is_read_for_it(j):
    """A worker's prompt is its agent's, whatever it comes with."""
    attached = [{"type": "resource", "uri": "file:///secret", "label": "x"}]
    heard = []

    async def script(turn):
        call = turn.begin("task")
        prompt = {"text": "read it", "origin": {"kind": "user"}, "attachments": attached}
        output = turn.output.worker(call, prompt, "Worker")
        output.emit(
            {
                "type": "chat/toolCallStart",
                "toolCallId": "r",
                "toolName": "Read",
                "displayName": "Read",
            }
        )
        output.emit(
            {"type": "chat/toolCallReady", "toolCallId": "r", "invocationMessage": "Read"},
            Permission(kind="read", path="/secret"),
        )
        heard.append(output.chat)
        await turn.forever()

    j.begin(script)
    j.run(j.ann.subscribe(heard[0]))
    [call] = j.calls(heard[0]).values()
    assert call["status"] == "pending-confirmation"


def test_what_a_person_attached_is(j):
    j.begin(
        asks_one(j, Permission(kind="read", path="/secret"), "Read"),
        attachments=[{"type": "resource", "uri": "file:///secret", "label": "x"}],
    )
    assert [answer.approved for answer in j.answers] == [True]
