"""Messages behind a turn (CHATS.txt, Turns; AHP.txt, `chat/pendingMessageSet`)."""

import pytest

from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate


@pytest.fixture
def host(sessions_host):
    return sessions_host()


@pytest.fixture
def chat(host):
    host.session()
    return host.chat()


@pytest.fixture
def gate(host, chat):
    """A turn runs until this is opened."""
    gate = Gate()
    host.agent.then(scripts.waits_at(gate, "done"))
    host.turn(chat, "first")
    return gate


def texts(host):
    return [turn.text for turn in host.agent.turns]


def waiting(host, chat):
    return [message["id"] for message in host.state(chat).get("queuedMessages", [])]


def test_a_complete_turn_starts_the_head_and_then_the_next(host, chat, gate):
    host.queue(chat, "q1", "one")
    host.queue(chat, "q2", "two")
    assert waiting(host, chat) == ["q1", "q2"]
    gate.open()
    assert texts(host) == ["first", "one", "two"]
    started = [a for a in host.said(chat) if a["type"] == "chat/turnStarted"]
    assert [a.get("queuedMessageId") for a in started] == [None, "q1", "q2"]
    assert waiting(host, chat) == []
    assert len({a["turnId"] for a in started}) == 3


def test_the_chat_is_said_unread_before_the_next_turn_starts(host, chat, gate):
    host.queue(chat, "q1")
    host.forget()
    gate.open()
    kinds = host.kinds(chat)
    assert kinds.index("chat/isReadChanged") < kinds.index("chat/turnStarted")
    assert kinds.index("chat/turnComplete") < kinds.index("chat/isReadChanged")


def test_the_count_of_active_sessions_does_not_move_between_the_two(host, chat, gate):
    host.queue(chat, "q1")
    gate.open()
    counts = [a["activeSessions"] for a in host.said("ahp-root://")]
    assert counts == [1, 0]


def test_one_queued_while_nothing_runs_starts_at_once(host, chat):
    host.queue(chat, "q1", "now")
    assert texts(host) == ["now"]
    assert host.kinds(chat)[:2] == ["chat/pendingMessageSet", "chat/turnStarted"]


@pytest.mark.parametrize("how", ["stopped", "failed"])
def test_behind_a_turn_that_did_not_complete_the_queue_waits(host, chat, how):
    gate = Gate()
    host.agent.then(scripts.waits_at(gate) if how == "stopped" else _fails_at(gate))
    turn = host.turn(chat)
    host.queue(chat, "q1", "one")
    host.queue(chat, "q2", "two")
    if how == "stopped":
        host.stop(chat, turn)
    gate.open()
    assert waiting(host, chat) == ["q1", "q2"]
    host.dispatch(chat, "chat/queuedMessagesReordered", order=["q2"])
    assert texts(host)[1:] == ["two", "one"]


def _fails_at(gate):
    async def script(turn):
        await gate.passed()
        await scripts.fails("no")(turn)

    return script


def test_taking_one_back_while_nothing_runs_starts_the_head(host, chat):
    gate = Gate()
    host.agent.then(scripts.waits_at(gate))
    turn = host.turn(chat)
    host.queue(chat, "q1", "one")
    host.queue(chat, "q2", "two")
    host.stop(chat, turn)
    host.dispatch(chat, "chat/pendingMessageRemoved", kind="queued", id="q1")
    assert texts(host)[1:] == ["two"]


def test_a_turn_of_a_client_that_completes_starts_what_waits(host, chat):
    host.agent.then(scripts.never_ends)
    turn = host.turn(chat)
    host.queue(chat, "q1", "one")
    host.stop(chat, turn)
    host.turn(chat, "mine")
    assert texts(host)[1:] == ["mine", "one"]


def test_nothing_starts_behind_a_failure_that_can_be_resumed(host, chat):
    host.agent.then(scripts.fails("no", resumable=True))
    host.turn(chat)
    host.queue(chat, "q1", "one")
    assert waiting(host, chat) == ["q1"]
    host.turn(chat, "mine")
    assert texts(host)[1:] == ["mine", "one"]


def test_one_queued_behind_a_stopped_turn_not_let_go_is_taken_up_at_once(host, chat):
    gate, host.agent.ignores_stop = Gate(), True
    host.agent.then(scripts.waits_at(gate))
    host.stop(chat, host.turn(chat))
    host.queue(chat, "q1", "one")
    assert host.state(chat)["activeTurn"]["message"]["text"] == "one"
    assert len(host.agent.turns) == 1
    gate.open()
    assert len(host.agent.turns) == 2


def test_one_queued_on_an_archived_session_ends_in_an_error(host, chat):
    host.dispatch("ahp-session:/s1", "session/isArchivedChanged", isArchived=True)
    host.queue(chat, "q1")
    assert host.turns(chat)[0]["state"] == "error"
    assert waiting(host, chat) == []


def test_steering_is_refused_in_the_backends_words(host, chat, gate):
    words = "The session provider does not support steering messages."
    assert host.queue(chat, "s1", kind="steering") == words
    gate.open()
    assert host.queue(chat, "s1", kind="steering") == words


@pytest.mark.parametrize("kind", ["queued", "steering"])
def test_taking_back_what_is_not_there_is_said_back(host, chat, gate, kind):
    assert host.dispatch(chat, "chat/pendingMessageRemoved", kind=kind, id="nothing") is None
    assert host.kinds(chat)[-1] == "chat/pendingMessageRemoved"
    gate.open()


def test_a_queue_is_not_taken_up_by_a_host_that_goes(host, chat, gate):
    host.queue(chat, "q1")
    host.wait(host.service.drain())
    assert waiting(host, chat) == ["q1"]
    host.queue(chat, "q2")
    assert waiting(host, chat) == ["q1", "q2"]


def test_two_queued_from_inside_a_delivery_both_run(host, chat):
    """A client in the same process may answer a delivery in the delivery itself."""
    watcher = host.store.watcher
    deliver, done = watcher.deliver, []

    def answering(envelope):
        deliver(envelope)
        if envelope.type == "chat/draftChanged" and not done:
            done.append(True)
            host.queue(chat, "q1", "one")
            host.queue(chat, "q2", "two")

    watcher.deliver = answering
    host.dispatch(chat, "chat/draftChanged")
    assert texts(host) == ["one", "two"]
    assert [turn["state"] for turn in host.turns(chat)] == ["complete", "complete"]


def test_one_set_again_under_its_id_keeps_its_place_with_its_new_words(host, chat, gate):
    host.queue(chat, "q1", "one")
    host.queue(chat, "q2", "two")
    host.queue(chat, "q1", "better")
    assert waiting(host, chat) == ["q1", "q2"]
    gate.open()
    assert texts(host)[1:] == ["better", "two"]


@pytest.mark.parametrize("at", ["chat/turnComplete", "chat/isReadChanged", "chat/turnStarted"])
def test_one_taken_back_as_the_turn_ends_is_run_or_removed_and_the_state_says_which(
    host, chat, gate, at
):
    """Its removal is dispatched in the delivery of what is said as the turn ends."""
    watcher = host.store.watcher
    deliver, done = watcher.deliver, []

    def answering(envelope):
        deliver(envelope)
        if envelope.type == at and not done:
            done.append(True)
            host.dispatch(chat, "chat/pendingMessageRemoved", kind="queued", id="q1")

    host.queue(chat, "q1", "one")
    watcher.deliver = answering
    gate.open()
    assert done
    started = [a for a in host.said(chat) if a.get("queuedMessageId") == "q1"]
    assert host.kinds(chat).count("chat/pendingMessageRemoved") == 1
    assert waiting(host, chat) == []
    assert texts(host) == ["first", "one"][: 1 + len(started)]
    assert [turn["message"]["text"] for turn in host.turns(chat)] == texts(host)
