"""What comes before a turn's prompt: admitted, prepared, and then handed (AHP.txt, `chat/turnStarted`)."""

import attrs
import pytest

from ahpd.chats.owner import TurnFailure
from ahpd.interfaces import AgentFailure
from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate


@pytest.fixture
def chat(lone_chat):
    return lone_chat(steering=True, resume=True, reopens=True)


def error_of(turn):
    assert turn["state"] == "error"
    return turn["responseParts"][-1]["error"]


def test_the_backend_is_handed_what_the_preparation_made_of_the_request(chat):
    note = {"type": "simple", "label": "other chat", "modelRepresentation": "read it there"}

    async def prepare(request):
        assert [dict(one) for one in request.attachments] == [{"type": "chat", "label": "x"}]
        return attrs.evolve(request, attachments=(note,))

    chat.owner.preparation = prepare
    message = {**chat.message("look"), "attachments": [{"type": "chat", "label": "x"}]}
    chat.dispatch("chat/turnStarted", turnId="t1", startedAt=chat.now(), message=message)
    assert chat.agent.turns[0].attachments == (note,)
    assert chat.turns[0]["message"] == message  # clients read back what was sent


def test_a_preparation_that_fails_ends_the_turn_before_the_backend_has_it(chat):
    async def prepare(request):
        raise AgentFailure("The pinned turn is still running.", "sendFailed")

    chat.owner.preparation = prepare
    chat.turn()
    assert error_of(chat.turns[0]) == {
        "errorType": "sendFailed",
        "message": "The pinned turn is still running.",
    }
    assert chat.agent.chats == []
    assert [failure.error_type for failure in chat.owner.failures] == ["sendFailed"]
    chat.owner.preparation = None
    chat.turn()
    assert chat.turns[1]["state"] == "complete"


def test_a_bug_in_a_preparation_shows_no_trace(chat):
    async def prepare(request):
        raise KeyError("secret")

    chat.owner.preparation = prepare
    chat.turn()
    assert error_of(chat.turns[0])["errorType"] == "agentError"
    assert "secret" not in str(chat.turns)


def test_what_a_preparation_moves_is_in_force_for_its_turn(chat):
    chat.turn()
    assert len(chat.agent.chats) == 1

    async def prepare(request):
        chat.owner.working_directories = ("file:///moved",)
        chat.chat.refresh_backend()
        return request

    chat.owner.preparation = prepare
    chat.turn()
    assert len(chat.agent.chats) == 2
    assert chat.backend.start.working_directories == ("file:///moved",)
    assert chat.turns[1]["state"] == "complete"


def test_a_turn_is_prepared_when_the_work_in_front_of_it_is_done(chat):
    gate, prepared = Gate(), []

    async def prepare(request):
        prepared.append(request.turn_id)
        return request

    chat.owner.preparation = prepare
    chat.agent.then(scripts.waits_at(gate))
    chat.turn(turn_id="t1")
    chat.turn(turn_id="t2")
    assert prepared == ["t1"]
    gate.open()
    assert prepared == ["t1", "t2"]


def test_a_turn_that_is_not_admitted_is_said_and_ends_in_an_error_on_it(chat):
    chat.owner.refusal = TurnFailure("hostClosing", "The host is going.")
    chat.turn(turn_id="t1")
    assert chat.kinds()[:2] == ["turnStarted", "error"]
    assert error_of(chat.turns[0])["errorType"] == "hostClosing"
    assert chat.agent.chats == []


# -- a chat people watch and send nothing --------------------------------------------


@pytest.fixture
def read_only(chat):
    chat.store.amend("ahp-chat:/lone", {"interactivity": "read-only"})
    return chat


def test_a_read_only_chat_takes_no_turn_no_message_and_no_resume(read_only):
    read_only.turn(turn_id="t1")
    assert error_of(read_only.turns[0])["errorType"] == "chatReadOnly"
    words = "The chat is read-only and takes no message."
    assert read_only.pend("q1") == words
    assert read_only.steer("s1") == words
    assert read_only.resume("t1") == "Cannot resume a read-only or archived chat."
    assert read_only.agent.chats == []


def test_anything_else_is_applied_to_a_read_only_chat(read_only):
    draft = read_only.message("typing")
    assert read_only.dispatch("chat/draftChanged", draft=draft) is None
    assert read_only.state["draft"] == draft
    assert read_only.take_back("q1", "queued") is None


# -- a turn that is run elsewhere ----------------------------------------------------


def begin(chat, turn_id="w1"):
    stops = []
    turn = chat.chat.begin_turn(
        {
            "type": "chat/turnStarted",
            "turnId": turn_id,
            "startedAt": chat.now(),
            "message": {"text": "do it", "origin": {"kind": "agent"}},
        },
        elsewhere=lambda: stops.append(turn_id),
    )
    return turn, stops


def test_a_turn_run_elsewhere_is_ended_by_whoever_runs_it(read_only):
    turn, stops = begin(read_only)
    turn.output.emit(
        {"type": "chat/responsePart", "part": {"kind": "markdown", "id": "p", "content": "done"}}
    )
    read_only.clock.advance(2)
    read_only.chat.complete(turn)
    read_only.chat.fail(turn, TurnFailure("late", "too late"))
    [said] = read_only.turns
    assert (said["state"], said["duration"]) == ("complete", 2000)
    assert stops == []
    assert read_only.agent.chats == []


def test_a_stop_of_a_turn_run_elsewhere_is_said_and_told_to_whoever_runs_it(read_only):
    turn, stops = begin(read_only)
    read_only.stop("w1")
    assert stops == ["w1"]
    read_only.chat.complete(turn)
    assert [one["state"] for one in read_only.turns] == ["cancelled"]
