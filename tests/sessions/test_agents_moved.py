"""Sessions while their agent comes, goes, is paused, or is replaced by another of its name."""

import pytest
from twisted.internet.defer import Deferred
from zope.interface import implementer

from ahpd.interfaces import AgentAbilities, ConversationPoint, IClosedAgent
from ahpd.protocol.errors import PROVIDER_NOT_FOUND, RpcError
from ahpd.records.paused import PausedAgent
from ahpd.records.roster import OWN, AgentsRoster
from ahpd.records.service import AgentsService
from ahpd.sessions.agents_moved import LONGEST_LEAVE
from ahpd.testing import agents as scripts
from ahpd.testing.agents import ConversationsAgent, Gate

S1, C2 = "ahp-session:/s1", "ahp-chat:/c2"
ABILITIES = AgentAbilities(steering=True, resume=True, reopens=True, mcp=True, customizations=True)


@implementer(IClosedAgent)
class Keeping(ConversationsAgent):
    closed = False

    async def close(self):
        self.closed = True


def made(name="first", **options):
    agent = Keeping("scripted", **{"abilities": ABILITIES, **options})
    agent.keeps_as = lambda start: f"{name}-{len(agent.chats)}"
    return agent


class World:
    """A host's sessions with one agent, which a test takes away, gives back and replaces."""

    def __init__(self, make_host, agent=None, **options):
        self.agent = made() if agent is None else agent
        self.roster = AgentsRoster(**{OWN: {"scripted": self.agent}})
        self.host = make_host(agents=self.roster, **options)
        self.changes = []
        self.service = AgentsService(
            self.roster, self.host.clock, lambda: self.changes.append(list(self.roster))
        )
        self.follow()

    def follow(self):
        self.service.sessions = self.host.service.agents_moved
        self.host.service.registry.absent = self.roster.absent

    def begin(self, *agents, resting=None):
        """Offer these and no others; what fires when that is done."""
        work = self.service.set(OWN, {each.provider: each for each in agents}, resting)
        done = []
        Deferred.fromCoroutine(work).addBoth(done.append)
        return done

    def offer(self, *agents, resting=None):
        done = self.begin(*agents, resting=resting)
        assert done == [None], done

    def chat(self):
        self.host.session()
        return self.host.chat()

    def last(self, chat):
        turn = self.host.turns(chat)[-1]
        error = next((p["error"] for p in turn["responseParts"] if p["kind"] == "error"), None)
        return turn["state"], error


@pytest.fixture
def world(sessions_host):
    return World(sessions_host)


# -- one that goes -------------------------------------------------------------------


def test_a_turn_that_runs_ends_in_words_and_its_backend_is_down_before_clients_are_told(world):
    gate, closing = Gate(), Gate()
    chat = world.chat()
    world.agent.then(scripts.waits_at(gate))
    world.agent.close_gate = closing
    world.host.turn(chat)
    done = world.begin()
    state, error = world.last(chat)
    assert (state, error["errorType"]) == ("error", "agentNotFound")
    assert error["message"] == "The agent 'scripted' is not offered by this host any more."
    assert (done, world.changes, world.agent.closed) == ([], [], False)
    closing.open()
    assert (done, world.changes, world.agent.closed) == ([None], [[]], True)
    assert world.agent.chats[0].closed


def test_it_is_offered_to_no_new_session_from_the_first_moment(world):
    chat = world.chat()
    world.host.turn(chat)
    world.agent.close_gate = Gate()
    done = world.begin()
    with pytest.raises(RpcError) as caught:
        world.host.session("ahp-session:/s2")
    assert caught.value.code == PROVIDER_NOT_FOUND
    world.agent.close_gate.open()
    assert done == [None]


def test_its_sessions_keep_their_history_and_answer_turns_in_words(world):
    chat = world.chat()
    world.host.turn(chat)
    world.offer()
    assert [row["resource"] for row in world.host.listing({})["items"]] == [S1]
    assert world.host.turns(chat)[0]["state"] == "complete"
    world.host.turn(chat)
    assert world.last(chat) == (
        "error",
        {
            "errorType": "agentNotFound",
            "message": "This host does not offer the agent 'scripted' any more.",
        },
    )


def test_one_that_is_asleep_answers_so_too(world):
    chat = world.chat()
    world.host.turn(chat)
    world.host.restart()
    world.follow()
    world.offer()
    assert world.host.turns(chat)[0]["state"] == "complete"
    world.host.turn(chat)
    assert world.last(chat)[1]["errorType"] == "agentNotFound"


@pytest.mark.logs_failures
def test_a_backend_that_does_not_close_holds_the_others_no_longer_than_its_time(world):
    chat = world.chat()
    world.host.turn(chat)
    world.agent.close_gate = Gate()
    done = world.begin()
    world.host.clock.advance(LONGEST_LEAVE - 1)
    world.host.clock.advance(1)
    assert (done, world.changes) == ([None], [[]])


def test_a_message_that_waits_runs_once_it_is_back(world):
    gate = Gate()
    chat = world.chat()
    world.agent.then(scripts.waits_at(gate))
    world.host.turn(chat)
    world.offer()
    world.host.queue(chat, "q1", "later")
    assert [each["id"] for each in world.host.state(chat)["queuedMessages"]] == ["q1"]
    world.offer(world.agent)
    # Behind a failed turn nothing starts by itself, as ever.
    assert world.last(chat)[0] == "error"
    world.host.turn(chat)
    assert [turn["state"] for turn in world.host.turns(chat)] == ["error", "complete", "complete"]
    assert world.host.text(world.host.turns(chat)[-1]) == "later"


def test_a_command_of_the_hosts_own_runs_on(sessions_host):
    from ahpd.testing.terminals import ScriptedTerminals

    world = World(sessions_host, programs=ScriptedTerminals())
    chat = world.chat()
    world.host.turn(chat, "!sleep 1")
    assert "activeTurn" in world.host.state(chat)
    world.offer()
    assert "activeTurn" in world.host.state(chat)


def test_what_it_alone_kept_is_listed_no_longer_and_is_again(world):
    world.agent.keep("elsewhere")
    world.host.listing({})
    world.host.pass_time(60)
    uri = "ahp-session:/elsewhere"
    world.host.listing({})
    assert [row["resource"] for row in world.host.listing({})["items"]] == [uri]
    world.offer()
    assert world.host.listing({})["items"] == []
    world.offer(world.agent)
    assert [row["resource"] for row in world.host.listing({})["items"]] == [uri]


def test_a_listing_that_is_on_its_way_when_it_goes_brings_nothing_back(world):
    world.agent.list_gate = Gate()
    world.agent.keep("elsewhere")
    world.host.pass_time(60)
    world.host.listing({})
    world.offer()
    world.agent.list_gate.open()
    assert world.host.listing({})["items"] == []


def test_a_session_that_is_disposed_of_meanwhile_is_not_listed_when_it_is_back(world):
    chat = world.chat()
    world.host.turn(chat)
    world.agent.keep("first-1")
    world.offer()
    world.host.wait(world.host.service.dispose(S1))
    world.offer(world.agent)
    world.host.pass_time(60)
    world.host.listing({})
    assert world.host.listing({})["items"] == []


# -- one that comes back -----------------------------------------------------------------


def test_its_sessions_are_served_again_on_the_conversation_they_had(world):
    chat = world.chat()
    world.host.turn(chat)
    world.offer()
    world.host.turn(chat)
    back = made("second")
    world.offer(back)
    world.host.turn(chat)
    assert [turn["state"] for turn in world.host.turns(chat)] == ["complete", "error", "complete"]
    assert back.chats[0].start.resume == ConversationPoint(conversation="first-1")


def test_one_that_was_woken_while_it_was_missing_is_served_too(world):
    chat = world.chat()
    world.host.turn(chat)
    world.host.restart()
    world.follow()
    world.offer()
    assert world.host.turns(chat)[0]["state"] == "complete"
    world.offer(world.agent)
    world.host.turn(chat)
    assert world.last(chat) == ("complete", None)


def test_a_turn_that_it_went_away_under_can_be_resumed_when_it_is_back(world):
    gate = Gate()
    chat = world.chat()
    world.agent.then(scripts.waits_at(gate))
    turn_id = world.host.turn(chat)
    world.offer()
    world.offer(world.agent)
    assert (
        world.host.dispatch(
            chat,
            "chat/turnResume",
            turnId=turn_id,
            startedAt=world.host.now(),
        )
        is None
    )
    assert world.last(chat)[0] == "complete"


def test_whether_a_chat_may_be_moved_is_said_as_it_goes_and_comes(world):
    world.host.store.dispatch(
        "ahp-root://", {"type": "root/configChanged", "config": {"chatMoves.enabled": True}}
    )
    world.host.session(workingDirectories=["file:///work"])
    world.host.turn(world.host.chat())
    world.host.service.create_chat({"channel": S1, "chat": C2})
    world.host.turn(C2)
    assert world.host.state(C2)["movable"]
    world.offer()
    assert not world.host.state(C2)["movable"]
    world.offer(world.agent)
    assert world.host.state(C2)["movable"]


# -- one that is replaced ---------------------------------------------------------------


def test_the_turn_that_runs_ends_on_the_old_one_and_the_next_begins_on_the_new(world):
    gate = Gate()
    chat = world.chat()
    world.agent.then(scripts.waits_at(gate, "old"))
    world.host.turn(chat)
    new = made("second")
    world.offer(new)
    assert (world.changes, world.agent.closed) == ([["scripted"]], False)
    gate.open()
    assert world.last(chat) == ("complete", None)
    assert world.host.text(world.host.turns(chat)[0]) == "old"
    assert (world.agent.chats[0].closed, world.agent.closed) == (True, True)
    world.host.turn(chat)
    assert world.last(chat) == ("complete", None)
    assert new.chats[0].start.resume == ConversationPoint(conversation="first-1")
    assert len(world.agent.chats) == 1


def test_what_waits_behind_the_turn_runs_on_the_new_one(world):
    gate = Gate()
    chat = world.chat()
    world.agent.then(scripts.waits_at(gate))
    world.host.turn(chat)
    world.host.queue(chat, "q1", "later")
    new = made("second")
    world.offer(new)
    gate.open()
    assert [each.text for each in new.turns] == ["later"]
    assert world.agent.closed


def test_a_conversation_nothing_runs_in_is_let_go_of_at_once(world):
    chat = world.chat()
    world.host.turn(chat)
    world.offer(made("second"))
    assert (world.agent.chats[0].closed, world.agent.closed) == (True, True)


def test_one_that_works_on_behind_its_turns_stays_until_the_next(world):
    from ahpd.interfaces import BackgroundTask

    chat = world.chat()
    world.host.turn(chat)
    backend = world.agent.chats[0]
    backend.start.host.background(
        [BackgroundTask(id="shell:1", label="builds", started_at=world.host.now())]
    )
    new = made("second")
    world.offer(new)
    assert (backend.closed, world.agent.closed) == (False, False)
    world.host.turn(chat)
    assert (backend.closed, world.agent.closed, len(new.chats)) == (True, True, 1)


def test_steering_goes_to_the_backend_that_runs_whatever_the_new_one_can(world):
    gate = Gate()
    chat = world.chat()
    world.agent.then(scripts.waits_at(gate))
    world.host.turn(chat)
    world.offer(made("second", abilities=AgentAbilities()))
    world.host.queue(chat, "s1", "to the left", kind="steering")
    assert [each.id for each in world.agent.chats[0].steered] == ["s1"]
    gate.open()


def test_one_that_can_less_is_not_asked_what_the_new_one_could(sessions_host):
    gate, plain = Gate(), made(abilities=AgentAbilities(reopens=True))
    world = World(sessions_host, plain)
    chat = world.chat()
    plain.then(scripts.waits_at(gate))
    world.host.turn(chat)
    world.offer(made("second"))
    world.host.queue(chat, "s1", "to the left", kind="steering")
    world.host.dispatch(S1, "session/mcpServerStopRequested", id="server")
    backend = plain.chats[0]
    assert (backend.steered, backend.stopped_servers) == ([], [])
    gate.open()


def test_a_drain_closes_what_is_left_of_an_old_one(world):
    gate = Gate()
    chat = world.chat()
    world.agent.then(scripts.waits_at(gate))
    world.agent.ignores_stop = True
    world.host.turn(chat)
    world.offer(made("second"))
    stopped = []
    Deferred.fromCoroutine(world.host.service.drain()).addCallback(stopped.append)
    world.service.stopService().addCallback(stopped.append)
    assert world.agent.closed
    world.host.clock.advance(60)
    assert len(stopped) == 2


# -- one that rests, and one that is paused ------------------------------------------------


def test_one_that_is_disabled_ends_its_turn_and_takes_no_other(world):
    gate = Gate()
    chat = world.chat()
    world.agent.then(scripts.waits_at(gate))
    world.host.turn(chat)
    world.host.queue(chat, "q1", "later")
    world.offer(resting={"scripted": "It is off."})
    assert "activeTurn" in world.host.state(chat)
    assert (world.changes, world.agent.closed) == ([[]], False)
    gate.open()
    assert world.last(chat) == ("complete", None)
    assert world.agent.closed
    world.host.turn(chat, "now")
    assert world.last(chat) == ("error", {"errorType": "agentNotFound", "message": "It is off."})
    assert [each["id"] for each in world.host.state(chat)["queuedMessages"]] == ["q1"]


def test_one_that_is_paused_ends_its_turn_and_takes_nothing_until_it_is_not(world):
    gate = Gate()
    chat = world.chat()
    world.agent.then(scripts.waits_at(gate))
    world.host.turn(chat)
    world.host.queue(chat, "q1", "later")
    world.offer(PausedAgent(world.agent))
    gate.open()
    assert world.last(chat) == ("complete", None)
    assert len(world.host.turns(chat)) == 1
    backend = world.agent.chats[0]
    assert not backend.closed
    world.offer(world.agent)
    assert [each.text for each in backend.turns] == ["hello", "later"]
    assert not world.agent.closed


def test_a_paused_one_is_sent_nothing_and_has_no_new_chat(world):
    chat = world.chat()
    world.host.turn(chat)
    world.offer(PausedAgent(world.agent))
    world.host.turn(chat)
    state, error = world.last(chat)
    assert (state, error["errorType"]) == ("error", "agentPaused")
    with pytest.raises(RpcError, match="is paused on this host"):
        world.host.service.create_chat({"channel": S1, "chat": C2})
    assert len(world.agent.turns) == 1


def test_no_chat_is_moved_to_a_paused_one(world):
    world.host.store.dispatch(
        "ahp-root://", {"type": "root/configChanged", "config": {"chatMoves.enabled": True}}
    )
    for session in (S1, "ahp-session:/s2"):
        world.host.session(session, workingDirectories=["file:///work"])
        world.host.turn(world.host.chat(session))
    world.host.service.create_chat({"channel": S1, "chat": C2})
    world.host.turn(C2)
    world.offer(PausedAgent(world.agent))
    for destination in (
        {"kind": "session", "session": "ahp-session:/s2"},
        {"kind": "newSession"},
    ):
        with pytest.raises(RpcError, match="is paused on this host") as caught:
            world.host.service.move_chat({"channel": C2, "destination": destination})
        assert caught.value.data == {"reason": "unsupported"}


# -- the roster ----------------------------------------------------------------------------


def test_every_section_is_listed_in_its_order_and_the_first_has_a_name():
    first, second, third = made(), made(), made()
    second.provider = "second"
    roster = AgentsRoster(own={"scripted": first}, configured={"second": second})
    assert list(roster) == ["second", "scripted"]
    moved = roster.replace("configured", {"scripted": third})
    assert dict(roster) == {"scripted": third}
    assert (dict(moved.gone), dict(moved.replaced)) == (
        {"second": second},
        {"scripted": (first, third)},
    )
    assert dict(roster.replace("configured", {}).replaced) == {"scripted": (third, first)}
