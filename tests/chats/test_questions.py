"""Questions of an agent's: forms that are filled in by whoever is there (AHP.txt, `chat/input*`)."""

import pytest

from ahpd.chats.questions import answer_refused
from ahpd.interfaces import AgentAbilities, AgentFailure, InputAnswer
from ahpd.testing.agents import Gate

SESSION = "ahp-session:/s1"


@pytest.fixture
def host(sessions_host):
    host = sessions_host()
    host.session()
    return host


@pytest.fixture
def chat(host):
    return host.chat()


def asks(answers, *questions, **fields):
    async def script(turn):
        if questions:
            fields["questions"] = list(questions)
        request = turn.question("Which one?", "a", "b", **fields)
        answers.append(await turn.answered(request))

    return script


def text(words, state="submitted"):
    return {"state": state, "value": {"kind": "text", "value": words}}


def question(identifier, **fields):
    return {"id": identifier, "message": identifier, "kind": "text", **fields}


def change(host, chat, answer=None, question="q", request="turn-1:1", client="client-1"):
    fields = {} if answer is None else {"answer": answer}
    return host.dispatch(
        chat,
        "chat/inputAnswerChanged",
        client=client,
        requestId=request,
        questionId=question,
        **fields,
    )


def complete(host, chat, response="accept", request="turn-1:1", client="client-1", **fields):
    return host.dispatch(
        chat,
        "chat/inputCompleted",
        client=client,
        requestId=request,
        response=response,
        **fields,
    )


def part_of(host, chat):
    state = host.state(chat)
    turn = state.get("activeTurn") or state["turns"][-1]
    return next(part for part in turn["responseParts"] if part["kind"] == "inputRequest")


def test_a_question_is_asked_and_its_answer_handed_back(host, chat):
    answers = []
    host.agent.then(asks(answers))
    host.turn(chat)
    asked = next(a for a in host.said(chat) if a["type"] == "chat/inputRequested")
    assert set(asked) == {"type", "request"}
    assert complete(host, chat, answers={"q": text("b")}) is None
    assert answers == [InputAnswer(response="accept", answers={"q": text("b")})]
    assert part_of(host, chat)["response"] == "accept"
    assert host.turns(chat)[0]["state"] == "complete"


def test_drafts_are_shared_and_complete_a_form_that_carries_none(host, chat):
    answers = []
    host.agent.then(asks(answers, question("q"), question("r")))
    host.turn(chat)
    assert change(host, chat, text("on", "draft")) is None
    assert change(host, chat, text("one"), client="two") is None
    assert change(host, chat, {"state": "skipped"}, question="r") is None
    synced = {"q": text("one"), "r": {"state": "skipped"}}
    assert part_of(host, chat)["request"]["answers"] == synced
    [entry] = host.state(SESSION)["inputNeeded"]
    assert entry["request"]["answers"] == synced
    assert complete(host, chat) is None
    assert answers == [InputAnswer(response="accept", answers=synced)]


def test_answers_that_come_with_it_lie_over_the_synced_ones(host, chat):
    answers = []
    host.agent.then(asks(answers, question("q"), question("r")))
    host.turn(chat)
    change(host, chat, text("old"))
    change(host, chat, text("kept"), question="r")
    complete(host, chat, answers={"q": text("new")})
    assert answers[0].answers == {"q": text("new"), "r": text("kept")}


def test_an_answer_is_taken_back(host, chat):
    host.agent.then(asks([]))
    host.turn(chat)
    change(host, chat, text("a"))
    change(host, chat)
    assert "answers" not in part_of(host, chat)["request"]


@pytest.mark.parametrize("response", ["decline", "cancel"])
def test_declining_is_an_answer(host, chat, response):
    answers = []
    host.agent.then(asks(answers, required=True))
    host.turn(chat)
    assert complete(host, chat, response) is None
    assert answers == [InputAnswer(response=response, answers={})]


def test_the_first_answer_counts_and_a_second_changes_nothing(host, chat):
    answers, gate = [], Gate()

    async def script(turn):
        request = turn.question("Which?")
        await gate.passed()
        answers.append(await turn.answered(request))

    host.agent.then(script)
    host.turn(chat)
    assert complete(host, chat, answers={"q": text("mine")}, client="one") is None
    before = host.state(chat)
    assert complete(host, chat, "decline", client="two") is None
    assert change(host, chat, text("late")) is None
    assert host.state(chat) == before
    gate.open()
    assert answers == [InputAnswer(response="accept", answers={"q": text("mine")})]


REFUSED = "A required question has no submitted answer: q"


@pytest.mark.parametrize(
    ("synced", "carried", "refused"),
    [
        (None, None, True),
        (text("x", "draft"), None, True),
        ({"state": "skipped"}, None, True),
        (text("x"), None, False),
        (None, text("x"), False),
        (text("x", "draft"), text("x"), False),
        (text("x"), text("x", "draft"), True),
        (None, {"state": "skipped"}, True),
    ],
)
def test_a_required_question_needs_a_submitted_answer(host, chat, synced, carried, refused):
    answers = []
    host.agent.then(asks(answers, question("q", required=True), question("r")))
    host.turn(chat)
    if synced is not None:
        change(host, chat, synced)
    fields = {} if carried is None else {"answers": {"q": carried}}
    before = host.state(chat)
    assert complete(host, chat, **fields) == (REFUSED if refused else None)
    assert bool(answers) is not refused
    if refused:
        assert host.state(chat) == before
        assert complete(host, chat, "decline") is None


def test_an_answer_whose_value_is_not_of_its_kind_is_refused(host, chat):
    host.agent.then(asks([]))
    host.turn(chat)
    host.forget()
    bad = {"state": "draft", "value": {"kind": "number", "value": "three"}}
    words = "value.value: found a str, which is no number answer"
    assert change(host, chat, bad) == f"answer.{words}"
    assert complete(host, chat, answers={"q": bad}) == f"answers.q.{words}"
    assert host.said() == []


@pytest.mark.parametrize(
    ("value", "refused"),
    [
        ({"kind": "text", "value": "a"}, False),
        ({"kind": "text"}, True),
        ({"kind": "text", "value": 3}, True),
        ({"kind": "number", "value": 3}, False),
        ({"kind": "number", "value": 0.5}, False),
        ({"kind": "number", "value": True}, True),
        ({"kind": "boolean", "value": False}, False),
        ({"kind": "boolean", "value": 0}, True),
        ({"kind": "selected", "value": "a"}, False),
        ({"kind": "selected", "freeformValues": ["a"]}, True),
        ({"kind": "selected-many", "value": []}, False),
        ({"kind": "selected-many", "value": ["a", 1]}, True),
        ({"kind": "selected-many", "value": "ab"}, True),
        ({"kind": "x-colour", "rgb": "#fff"}, False),
        ({"value": "a"}, True),
        (None, True),
    ],
)
@pytest.mark.parametrize("state", ["draft", "submitted"])
def test_the_values_that_are_taken(state, value, refused):
    answer = {"state": state}
    if value is not None:
        answer["value"] = value
    words = answer_refused(answer, "answer")
    assert (words is not None) is refused
    assert words is None or words.startswith("answer.value")


def test_a_skip_needs_no_value():
    assert answer_refused({"state": "skipped"}, "answer") is None


def test_what_is_said_of_no_open_question_changes_nothing(host, chat):
    before = host.state(chat)
    assert change(host, chat, text("x"), request="none") is None
    assert complete(host, chat, request="none") is None
    assert host.state(chat) == before


def test_a_backend_may_close_its_own_question(host, chat):
    answers = []

    async def script(turn):
        request = turn.question("Which?")
        turn.say("chat/inputCompleted", requestId=request, response="cancel")
        answers.append(await turn.answered(request))

    host.agent.then(script)
    host.turn(chat)
    assert answers == [InputAnswer(response="cancel", answers={})]


def test_a_question_put_anew_keeps_what_was_typed(host, chat):
    gate, answers = Gate(), []

    async def script(turn):
        request = turn.question("Which?")
        await gate.passed()
        again = {"id": request, "message": "Which one?", "questions": [question("q")]}
        turn.output.emit({"type": "chat/inputRequested", "request": again})
        answers.append(await turn.answered(request))

    host.agent.then(script)
    host.turn(chat)
    change(host, chat, text("typed", "draft"))
    gate.open()
    request = part_of(host, chat)["request"]
    assert (request["message"], request["answers"]) == ("Which one?", {"q": text("typed", "draft")})
    complete(host, chat)
    assert answers[0].answers == {"q": text("typed", "draft")}


def test_the_same_id_asked_again_after_its_answer_is_a_new_question(host, chat):
    answers = []

    async def script(turn):
        for _ in range(2):
            asked = {"id": "r", "questions": [question("q")]}
            turn.output.emit({"type": "chat/inputRequested", "request": asked})
            answers.append(await turn.answered("r"))

    host.agent.then(script)
    host.turn(chat)
    complete(host, chat, request="r", answers={"q": text("one")})
    assert "response" not in host.state(chat)["activeTurn"]["responseParts"][-1]
    complete(host, chat, "decline", request="r")
    assert [(one.response, one.answers) for one in answers] == [
        ("accept", {"q": text("one")}),
        ("decline", {}),
    ]


def test_a_replaced_turn_puts_no_question_into_the_one_in_its_place(host, chat):
    gate = Gate()

    async def script(turn):
        await gate.passed()
        turn.question("Which?")

    host.agent.then(script)
    host.turn(chat)
    host.turn(chat, "instead")
    gate.open()
    assert "chat/inputRequested" not in host.kinds(chat)
    assert host.turns(chat)[0]["message"]["text"] == "instead"


def test_what_the_question_is_for_rides_with_it(host, chat):
    host.agent.then(asks([], _meta={"purpose": "askUser"}))
    host.turn(chat)
    assert part_of(host, chat)["request"]["_meta"] == {"purpose": "askUser"}
    [entry] = host.state(SESSION)["inputNeeded"]
    assert entry["request"]["_meta"] == {"purpose": "askUser"}


@pytest.mark.parametrize("waits_first", [True, False])
def test_a_resumed_turn_is_answered_a_question_of_its_first_run(host, chat, waits_first):
    answers, gate = [], Gate()

    async def breaks(turn):
        turn.question("Which?")
        raise AgentFailure("away", resumable=True)

    async def goes_on(turn):
        await gate.passed()
        answers.append(await turn.answered("turn-1:1"))

    host.agent.abilities = AgentAbilities(resume=True)
    host.agent.then(breaks, goes_on)
    turn = host.turn(chat)
    assert "inputNeeded" not in host.state(SESSION)
    assert host.dispatch(chat, "chat/turnResume", turnId=turn) is None
    assert len(host.state(SESSION)["inputNeeded"]) == 1
    if waits_first:
        gate.open()
    complete(host, chat, answers={"q": text("that one")})
    gate.open()
    assert answers == [InputAnswer(response="accept", answers={"q": text("that one")})]
    assert host.turns(chat)[0]["state"] == "complete"
