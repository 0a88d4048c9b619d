"""Messages that go into the turn that runs (CHATS.txt, Turns; AHP.txt, `chat/pendingMessageSet`)."""

import pytest

from ahpd.interfaces import AgentAbilities
from ahpd.protocol.uris import ROOT
from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate, ScriptedAgent

NOT_SUPPORTED = "The session provider does not support steering messages."
BEING_PROCESSED = "Cannot change a steering message while it is being processed."


@pytest.fixture
def chat(lone_chat):
    return lone_chat(steering=True, resume=True)


@pytest.fixture
def gate():
    return Gate()


@pytest.fixture
def running(chat, gate):
    """A turn that answers when the gate opens, and reads no steering by itself."""
    chat.agent.keeps_steering = True
    chat.agent.then(scripts.waits_at(gate, "done"))
    chat.turn("first", "t1")
    return chat


def removals(chat):
    return [
        (envelope["action"]["id"], "origin" in envelope)
        for envelope in chat.reader.said
        if envelope["action"]["type"] == "chat/pendingMessageRemoved"
    ]


async def reads_one(turn):
    part = turn.markdown()
    steered = await turn.steering()
    turn.delta(part, f"steered by {steered.text}")


# -- into the turn -------------------------------------------------------------------


def test_it_goes_into_the_turn_and_is_taken_out_once_the_model_has_read_it(chat):
    chat.agent.then(reads_one)
    chat.turn("first")
    assert chat.steer("s1", "left") is None
    [turn] = chat.turns
    assert turn["responseParts"][0]["content"] == "steered by left"
    assert removals(chat) == [("s1", False)]
    assert "steeringMessage" not in chat.state
    assert chat.texts() == ["first"]


def test_it_is_said_as_it_was_sent_and_held(running):
    message = {**running.message("left"), "vendor": 7}
    running.dispatch("chat/pendingMessageSet", kind="steering", id="s1", message=message, more=True)
    said = running.said("chat/pendingMessageSet")[0]
    assert (said["message"], said["more"]) == (message, True)
    assert running.state["steeringMessage"] == {"id": "s1", "message": message}
    assert dict(running.backend.steered[0].message) == message


def test_it_is_offered_at_each_of_the_turns_actions_until_it_is_taken(chat):
    chat.agent.takes_steering = lambda steered: len(chat.backend.steered) > 3
    gates = [Gate(), Gate(), Gate()]

    async def script(turn):
        part = turn.markdown()
        for gate in gates:
            await gate.passed()
            turn.delta(part, ".")
        await turn.forever()

    chat.agent.then(script)
    chat.turn()
    chat.steer("s1")
    assert chat.steered() == ["s1"]
    for count, gate in enumerate(gates, start=2):
        gate.open()
        assert len(chat.steered()) == count
    chat.dispatch("chat/draftChanged")  # no action of the turn's
    assert len(chat.steered()) == 4


def test_once_taken_it_is_offered_no_more(chat, gate):
    async def script(turn):
        part = turn.markdown()
        await gate.passed()
        turn.delta(part, "more")
        turn.markdown("and more")
        await turn.forever()

    chat.agent.then(script)
    chat.turn()
    chat.steer("s1")
    gate.open()
    assert chat.steered() == ["s1"]


def test_deltas_pay_nothing_while_no_message_waits(running):
    assert running.chat.steering.waiting is False
    running.steer("s1")
    assert running.chat.steering.waiting is False


def test_a_turn_in_preparation_is_offered_it_at_its_start(chat, gate):
    chat.agent.open_gate = gate
    chat.agent.then(reads_one)
    chat.turn()
    chat.steer("s1", "early")
    gate.open()
    assert chat.turns[0]["responseParts"][0]["content"] == "steered by early"


def test_a_backend_that_fails_over_it_is_offered_it_again(chat, gate, flushed_errors):
    def takes(steered):
        if len(chat.backend.steered) == 1:
            raise KeyError("bug")
        return True

    chat.agent.takes_steering = takes
    chat.agent.then(scripts.waits_at(gate, "x"))
    chat.turn()
    chat.steer("s1")
    assert "steeringMessage" in chat.state
    gate.open()
    assert chat.steered() == ["s1", "s1"]


@pytest.fixture
def flushed_errors(request):
    request.node.add_marker(pytest.mark.logs_failures)


def test_a_turn_waiting_behind_another_is_offered_it_when_it_is_its_own_turn(running, gate):
    running.agent.then(reads_one)
    running.turn("second", "t2")
    running.steer("s1", "for the second")
    assert running.steered() == []
    gate.open()
    assert running.turns[-1]["responseParts"][0]["content"] == "steered by for the second"


# -- a backend that takes none -------------------------------------------------------


def test_a_backend_that_takes_none_refuses_it_turn_or_no_turn(lone_chat, gate):
    chat = lone_chat()
    assert chat.steer("s1") == NOT_SUPPORTED
    chat.agent.then(scripts.waits_at(gate))
    chat.turn()
    assert chat.steer("s1") == NOT_SUPPORTED
    assert "steeringMessage" not in chat.state


# -- too late ------------------------------------------------------------------------


def test_with_no_turn_running_it_runs_as_a_turn_of_its_own(chat):
    chat.steer("s1", "late")
    assert chat.texts() == ["late"]
    [start] = chat.said("chat/turnStarted")
    assert start["queuedMessageId"] == "s1"
    assert "steeringMessage" not in chat.state
    assert chat.steered() == []


def test_one_not_taken_runs_ahead_of_the_queue_when_the_turn_completes(chat, gate):
    chat.agent.takes_steering = False
    chat.agent.then(scripts.waits_at(gate))
    chat.turn("first")
    chat.pend("q1", "queued")
    chat.steer("s1", "steering")
    gate.open()
    assert chat.texts() == ["first", "steering", "queued"]
    starts = chat.said("chat/turnStarted")
    assert [start.get("queuedMessageId") for start in starts] == [None, "s1", "q1"]


def test_one_handed_back_unsent_runs_next(chat, gate):
    chat.agent.then(scripts.waits_at(gate))
    chat.turn("first")
    chat.pend("q1", "queued")
    chat.steer("s1", "steering")
    gate.open()  # the agent hands back what its turn did not read
    assert chat.steered() == ["s1"]
    assert chat.texts() == ["first", "steering", "queued"]


def test_one_handed_back_after_its_turn_runs_next(running, gate):
    running.pend("q1", "queued")
    running.steer("s1", "steering")
    gate.open()
    assert running.texts() == ["first"]
    running.backend.start.host.steering_returned("s1")
    assert running.texts() == ["first", "steering", "queued"]


def test_one_handed_back_steers_the_turn_that_runs_then(running, gate):
    running.steer("s1", "back again")
    gate.open()
    second = Gate()

    async def script(turn):
        part = turn.markdown()
        await second.passed()
        turn.delta(part, ".")
        await turn.forever()

    running.agent.then(script)
    running.turn("second")
    assert running.steered() == ["s1"]
    running.backend.start.host.steering_returned("s1")
    second.open()
    assert running.steered() == ["s1", "s1"]


def test_one_handed_back_whose_place_is_taken_goes_ahead_of_the_queue(running, gate):
    running.pend("q1", "queued")
    running.steer("s1", "first steering")
    running.steer("s2", "second steering")
    running.backend.start.host.steering_returned("s1")
    assert [entry["id"] for entry in running.state["queuedMessages"]] == ["s1", "q1"]
    running.backend.start.host.steering_taken("s2")
    gate.open()
    assert running.texts() == ["first", "first steering", "queued"]


def test_nothing_starts_while_the_backend_holds_one_it_was_handed(running, gate):
    running.steer("s1")
    running.pend("q1", "one")
    gate.open()
    assert running.turns[0]["state"] == "complete"
    running.pend("q2", "two")
    assert running.texts() == ["first"]
    running.backend.start.host.steering_taken("s1")
    assert running.texts() == ["first", "one", "two"]


def test_after_a_failure_what_a_client_did_meanwhile_starts_once_the_backend_holds_nothing(chat):
    chat.agent.keeps_steering = True
    gate = Gate()

    async def script(turn):
        await gate.passed()
        await scripts.fails("no")(turn)

    chat.agent.then(script)
    chat.turn("first")
    chat.steer("s1", "steering")
    gate.open()
    chat.pend("q1", "queued")
    assert chat.texts() == ["first"]
    chat.backend.start.host.steering_taken("s1")
    assert chat.texts() == ["first", "queued"]


def test_a_message_a_client_starts_a_turn_of_itself_is_not_read_as_well(running):
    running.steer("s1", "mine")
    running.agent.then(scripts.never_ends)
    running.dispatch(
        "chat/turnStarted",
        turnId="t2",
        startedAt=running.now(),
        message=running.message("mine"),
        queuedMessageId="s1",
    )
    assert running.backend.withdrawn == ["s1"]
    assert "steeringMessage" not in running.state


def test_after_a_failure_one_handed_back_waits_as_the_queue_does(chat, gate):
    async def script(turn):
        await gate.passed()
        await scripts.fails("no")(turn)

    chat.agent.then(script)
    chat.turn("first")
    chat.pend("q1", "queued")
    chat.steer("s1", "steering")
    gate.open()
    assert chat.texts() == ["first"]
    chat.dispatch("chat/queuedMessagesReordered", order=["q1"])
    assert chat.texts() == ["first", "steering", "queued"]


def test_behind_a_failure_that_can_be_resumed_it_goes_into_the_next_turn(chat):
    chat.agent.then(scripts.fails("no", resumable=True), reads_one)
    chat.turn("first")
    chat.steer("s1", "waited")
    assert chat.texts() == ["first"]
    chat.turn("second")
    assert chat.turns[-1]["responseParts"][0]["content"] == "steered by waited"
    assert chat.texts() == ["first", "second"]


def test_behind_a_failure_that_can_be_resumed_it_goes_into_the_turn_resumed(chat):
    chat.agent.then(scripts.fails("no", resumable=True), reads_one)
    failed = chat.turn("first")
    chat.steer("s1", "waited")
    chat.resume(failed)
    assert chat.turns[0]["responseParts"][-1]["content"] == "steered by waited"


def test_one_that_became_a_turn_does_not_steer_that_turn(chat):
    """Started from inside a delivery, the turn runs before its start is applied."""
    chat.agent.then(scripts.never_ends)
    chat.reader.on = lambda action: (
        action["type"] == "chat/draftChanged" and chat.steer("s1", "itself")
    )
    chat.dispatch("chat/draftChanged")
    assert chat.texts() == ["itself"]
    assert chat.steered() == []


# -- sent again ----------------------------------------------------------------------


def test_the_same_one_sent_again_is_answered_and_not_handed_twice(running):
    running.steer("s1", "left")
    assert running.steer("s1", "left") is None
    assert running.steered() == ["s1"]
    assert len(running.said("chat/pendingMessageSet")) == 2


def test_another_one_under_its_id_is_refused(running):
    running.steer("s1", "left")
    assert running.steer("s1", "right") == BEING_PROCESSED
    assert running.state["steeringMessage"]["message"]["text"] == "left"


def test_one_not_taken_yet_may_be_changed(running):
    running.agent.takes_steering = False
    running.steer("s1", "left")
    assert running.steer("s1", "right") is None
    assert [steered.text for steered in running.backend.steered] == ["left", "right"]


def test_one_the_turn_has_read_is_not_run_again_when_it_is_sent_again(running, gate):
    running.steer("s1", "left")
    running.backend.start.host.steering_taken("s1")
    assert running.steer("s1", "right") == BEING_PROCESSED
    assert running.steer("s1", "left") is None
    assert removals(running) == [("s1", False), ("s1", False)]
    gate.open()
    assert running.steer("s1", "left") is None
    assert "steeringMessage" not in running.state
    assert running.texts() == ["first"]
    assert running.steered() == ["s1"]


# -- taken back ----------------------------------------------------------------------


def test_one_the_backend_was_handed_is_withdrawn_from_it(running, gate):
    running.steer("s1")
    assert running.take_back("s1") is None
    assert running.backend.withdrawn == ["s1"]
    assert removals(running) == [("s1", True)]
    gate.open()
    assert running.texts() == ["first"]


def test_one_the_backend_cannot_give_back_stays_while_its_turn_runs(running, gate):
    running.agent.withdraws = False
    running.steer("s1")
    assert running.take_back("s1") == BEING_PROCESSED
    assert running.state["steeringMessage"]["id"] == "s1"
    gate.open()
    assert running.take_back("s1") is None
    assert "steeringMessage" not in running.state


def test_one_the_backend_does_not_hold_is_taken_back_without_asking_it(running):
    running.agent.takes_steering = False
    running.steer("s1")
    assert running.take_back("s1") is None
    assert running.take_back("never there") is None
    assert running.backend.withdrawn == []
    assert removals(running) == [("s1", True), ("never there", True)]


# -- a stop --------------------------------------------------------------------------


def test_a_stop_takes_it_out_right_behind_it_and_before_the_backend_is_told(running):
    running.pend("q1")
    running.steer("s1")
    told = []
    running.reader.on = lambda action: told.append((action["type"], list(running.backend.stops)))
    running.stop()
    assert told[0] == ("chat/turnCancelled", [])
    assert told[1] == ("chat/pendingMessageRemoved", [])
    assert removals(running) == [("s1", False)]
    assert running.backend.stops == ["t1"]
    assert running.texts() == ["first"]
    assert [entry["id"] for entry in running.state["queuedMessages"]] == ["q1"]


def test_nothing_that_follows_from_a_stop_comes_before_what_it_takes_out(sessions_host):
    agent = ScriptedAgent(abilities=AgentAbilities(steering=True, reopens=True))
    host = sessions_host(agents={"scripted": agent})
    switched = {"type": "root/configChanged", "config": {"chatMoves.enabled": True}}
    host.store.dispatch(ROOT, switched)
    session, peer = host.session(workingDirectories=["file:///w"]), "ahp-chat:/peer"
    host.service.create_chat({"channel": session, "chat": peer})
    agent.then(scripts.never_ends)
    turn = host.turn(peer)
    host.queue(peer, "s1", kind="steering")
    host.forget()
    assert host.stop(peer, turn) is None
    kinds = host.kinds(peer)
    assert kinds[:2] == ["chat/turnCancelled", "chat/pendingMessageRemoved"]
    assert "chat/movableChanged" in kinds


def test_what_a_stop_took_out_is_not_run_when_the_backend_hands_it_back(running):
    running.steer("s1")
    running.stop()
    running.backend.start.host.steering_returned("s1")
    running.backend.start.host.steering_taken("s1")
    assert running.texts() == ["first"]
    assert removals(running) == [("s1", False)]


def test_a_conversation_let_go_of_says_nothing_more(running, gate):
    gate.open()
    host = running.backend.start.host
    running.chat.refresh_backend()
    running.agent.then(scripts.never_ends)
    running.turn("second")
    running.steer("s1")
    host.steering_taken("s1")
    assert removals(running) == []
