"""What a chat's backend kept is gone on with after a restart, in order or not."""

import pytest

from ahpd.interfaces import AgentAbilities, AgentFailure, ConversationPoint
from ahpd.testing import agents as scripts
from ahpd.testing.agents import ConversationsAgent, Gate
from ahpd.testing.failing_store import FailingStore

ABILITIES = AgentAbilities(steering=True, resume=True, reopens=True)


@pytest.fixture
def agent():
    agent = ConversationsAgent(abilities=ABILITIES)
    agent.keeps_as = lambda start: f"c{len(agent.chats)}"
    return agent


@pytest.fixture(params=["crash", "restart"])
def host(request, sessions_host, agent):
    host = sessions_host(agents={"scripted": agent})
    host.again = getattr(host, request.param)
    return host


@pytest.fixture
def chat(host):
    host.session()
    return host.chat()


def ends_at(point):
    async def script(turn):
        await scripts.echo(turn)
        turn.point(point)

    return script


@pytest.fixture
def three(host, agent, chat):
    agent.then(ends_at("p1"), ends_at("p2"), ends_at("p3"))
    for turn_id in ("t1", "t2", "t3"):
        host.turn(chat, turn_id=turn_id)
    return chat


def resumed(host, agent, chat):
    """What the conversation goes on with at its next turn."""
    agent.then(scripts.echo)
    host.turn(chat)
    return agent.chats[-1].start.resume


def test_the_conversation_goes_on_where_it_was(host, agent, three):
    host.again()
    assert resumed(host, agent, three) == ConversationPoint(conversation="c1")
    assert [turn["state"] for turn in host.turns(three)] == ["complete"] * 4


def test_a_turn_of_an_earlier_life_can_be_cut_back_to(host, agent, three):
    host.again()
    host.dispatch(three, "chat/truncated", turnId="t2")
    assert resumed(host, agent, three) == ConversationPoint(conversation="c1", point="p2")


def test_a_cut_is_made_when_the_host_is_back(host, agent, three):
    host.dispatch(three, "chat/truncated", turnId="t1")
    host.again()
    assert resumed(host, agent, three) == ConversationPoint(conversation="c1", point="p1")
    host.again()
    assert resumed(host, agent, three) == ConversationPoint(conversation="c2")


def test_a_chat_that_started_over_stays_so(host, agent, three):
    host.dispatch(three, "chat/truncated")
    host.again()
    assert resumed(host, agent, three) is None
    assert agent.deleted == ["c1"]


def test_a_conversation_that_was_still_to_be_deleted_is_deleted_first(host, agent, three):
    agent.close_gate = Gate()
    host.dispatch(three, "chat/truncated")
    assert agent.deleted == []
    agent.close_gate.open()
    host.again()
    assert resumed(host, agent, three) is None
    assert set(agent.deleted) == {"c1"}


def test_a_turn_that_failed_in_an_earlier_life_is_resumed(host, agent, three):
    agent.then(scripts.fails("no", resumable=True), scripts.echo)
    failed = host.turn(three, "try")
    host.again()
    assert host.dispatch(three, "chat/turnResume", turnId=failed) is None
    assert host.turns(three)[-1]["state"] == "complete"
    assert agent.chats[-1].resumed[0].text == "try"


def test_a_turn_that_ran_can_be_resumed_where_its_backend_can(host, agent, three):
    agent.then(scripts.never_ends, scripts.echo)
    turn = host.turn(three, "cut short")
    host.again()
    assert host.dispatch(three, "chat/turnResume", turnId=turn) is None
    assert host.turns(three)[-1]["state"] == "complete"


def test_a_resumed_turn_of_an_earlier_life_is_started_by_nobody_again(host, agent, chat):
    agent.then(scripts.never_ends)
    host.turn(chat, turn_id="t1")
    host.again()
    gate = Gate()
    agent.then(scripts.waits_at(gate, "went on"))
    assert host.dispatch(chat, "chat/turnResume", turnId="t1") is None
    assert host.turn(chat, turn_id="t1") == "The chat has a turn of this id already: t1"
    gate.open()
    [turn] = host.turns(chat)
    assert (turn["id"], turn["state"]) == ("t1", "complete")


def test_where_a_resumed_turn_of_an_earlier_life_ends_is_kept(host, agent, chat):
    agent.then(ends_at("p0"), scripts.never_ends)
    host.turn(chat, turn_id="t0")
    host.turn(chat, turn_id="t1")
    host.again()
    held = Gate()

    async def goes_on(turn):
        await held.passed()
        turn.point("p1")

    agent.then(goes_on)
    assert host.dispatch(chat, "chat/turnResume", turnId="t1") is None
    held.open()
    agent.then(scripts.echo)
    host.turn(chat, turn_id="t2")
    assert host.dispatch(chat, "chat/truncated", turnId="t1") is None
    assert resumed(host, agent, chat).point == "p1"


def test_steering_a_host_went_away_with_waits_and_runs_once(host, agent, chat):
    agent.keeps_steering = True
    agent.then(scripts.never_ends)
    turn = host.turn(chat, "first")
    host.queue(chat, "s1", "left", kind="steering")
    host.again()
    assert host.dispatch(chat, "chat/turnResume", turnId=turn) is None
    assert [one.text for one in agent.turns] == ["first", "left"]
    assert "steeringMessage" not in host.state(chat)


def test_a_chat_whose_backend_cannot_come_back_says_so_in_its_turn(host, agent, three):
    host.again()
    agent.open_failure = AgentFailure("No conversation c1", "notFound")
    host.turn(three)
    assert host.turns(three)[-1]["responseParts"][-1]["error"]["errorType"] == "notFound"
    agent.open_failure = None
    assert resumed(host, agent, three) == ConversationPoint(conversation="c1")


def test_a_session_that_fell_asleep_goes_on_with_its_conversation(host, agent, three):
    for _ in range(30):
        host.pass_time(60)  # nothing to do: the backend is let go of, then the session
    assert agent.chats[0].closed
    assert host.service.registry.chats() == ()
    assert resumed(host, agent, three) == ConversationPoint(conversation="c1")
    assert len(host.turns(three)) == 4


# -- between a truncation and what the host makes of it -----------------------------------


@pytest.fixture
def full(sessions_host, agent):
    host = sessions_host(agents={"scripted": agent}, kept=FailingStore())
    host.session()
    agent.then(ends_at("p1"), ends_at("p2"))
    for turn_id in ("t1", "t2"):
        host.turn(host.chat(), turn_id=turn_id)
    host.pass_time(60)
    return host


def cut_unkept(host, **named):
    """Truncate, with nothing kept behind the truncation itself."""
    host.kept.spare = 1
    host.dispatch(host.chat(), "chat/truncated", **named)
    host.kept.spare, host.kept.full = None, False


def test_a_host_that_ends_behind_a_truncation_makes_the_cut_when_it_is_back(full, agent):
    chat = full.chat()
    cut_unkept(full, turnId="t1")
    for _ in range(2):
        full.crash()
        assert [turn["id"] for turn in full.turns(chat)] == ["t1"]
    assert resumed(full, agent, chat) == ConversationPoint(conversation="c1", point="p1")


def test_one_that_ends_behind_a_truncation_of_everything_begins_anew(full, agent):
    chat = full.chat()
    cut_unkept(full)
    full.crash()
    assert full.turns(chat) == []
    agent.deleted.clear()  # that was done, and not kept to be done
    assert resumed(full, agent, chat) is None
    assert agent.deleted == ["c1"]


@pytest.mark.logs_failures
def test_a_cut_the_disk_had_no_room_for_is_kept_with_what_comes_next(full, agent):
    chat = full.chat()
    cut_unkept(full, turnId="t1")
    full.pass_time(60)
    full.crash()
    assert resumed(full, agent, chat) == ConversationPoint(conversation="c1", point="p1")


@pytest.mark.logs_failures
@pytest.mark.parametrize("spare", range(9))
def test_wherever_the_disk_fills_up_a_conversation_is_listed_as_no_session_of_its_own(
    sessions_host, agent, spare
):
    host = sessions_host(agents={"scripted": agent}, kept=FailingStore())
    host.session()
    chat = host.chat()
    agent.then(ends_at("p1"))
    host.kept.spare = spare
    host.turn(chat, turn_id="t1")
    host.kept.spare, host.kept.full = None, False
    host.turn(chat, turn_id="t2")
    for number in range(1, len(agent.chats) + 1):
        agent.keep(f"c{number}")
    for again in (host.pass_time, lambda _: host.crash()):
        again(60)
        host.listing({})  # asks the agent; what it says is in the next one
        host.pass_time(60)
        host.listing({})
        assert [row["resource"] for row in host.listing({})["items"]] == ["ahp-session:/s1"]
