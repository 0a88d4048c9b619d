"""A fork copies a conversation through one turn and goes on under a name of its own."""

import pytest

from ahpd.interfaces import AgentAbilities, StoreFailure
from ahpd.protocol import errors
from ahpd.protocol.errors import RpcError
from ahpd.protocol.status import IDLE, IS_READ
from ahpd.testing import agents as scripts
from ahpd.testing.agents import ScriptedAgent

S1, S2, C2, C3 = "ahp-session:/s1", "ahp-session:/s2", "ahp-chat:/c2", "ahp-chat:/c3"


def pointed(turn):
    """Answers, and names where it ends."""
    turn.markdown(f"answer to {turn.request.text}")
    turn.point(f"point of {turn.request.text}")


async def points(turn):
    pointed(turn)


@pytest.fixture
def agent():
    agent = ScriptedAgent(
        always=points,
        capabilities={"multipleChats": {"fork": True}},
        abilities=AgentAbilities(reopens=True),
    )
    agent.keeps_as = lambda start: f"kept-{start.chat}"
    return agent


@pytest.fixture
def host(sessions_host, agent):
    host = sessions_host(agents={"scripted": agent})
    host.agent = agent
    return host


def create(host, chat=C2, session=S1, **params):
    host.service.create_chat({"channel": session, "chat": chat, **params})


def fork(host, of, turn, chat=C2, **params):
    create(host, chat, source={"kind": "fork", "chat": of, "turnId": turn}, **params)


def refused(host, *args, **params):
    with pytest.raises(RpcError) as error:
        fork(host, *args, **params)
    return error.value.code, error.value.message


@pytest.fixture
def three(host):
    """A session whose default chat holds three turns, and their ids."""
    host.session()
    return [host.turn(host.chat(), text) for text in ("one", "two", "three")]


def test_a_fork_holds_copies_of_the_turns_through_the_one_named(host, three):
    fork(host, host.chat(), three[1])
    assert host.turns(C2) == host.turns(host.chat())[:2]
    host.dispatch(C2, "chat/truncated", turnId=three[0])
    assert len(host.turns(C2)) == 1
    assert len(host.turns(host.chat())) == 3


def test_a_fork_says_what_it_was_made_from_and_opens_read_and_idle(host, three):
    fork(host, host.chat(), three[0])
    origin = {"kind": "fork", "chat": host.chat(), "turnId": three[0]}
    state = host.state(C2)
    assert state["origin"] == origin
    assert state["status"] == IDLE | IS_READ
    [row] = [row for row in host.state(S1)["chats"] if row["resource"] == C2]
    assert row["origin"] == origin
    assert row["title"] == state["title"] == "Forked: one"


def test_a_forks_origin_is_kept_whole_through_what_comes_after(host, three):
    fork(host, host.chat(), three[0])
    origin = host.state(C2)["origin"]
    host.turn(C2, "more")
    assert host.state(C2)["origin"] == origin
    [row] = [row for row in host.state(S1)["chats"] if row["resource"] == C2]
    assert row["origin"] == origin


def test_the_backend_forks_at_the_point_it_named(host, three):
    fork(host, host.chat(), three[1])
    host.turn(C2, "more")
    start = host.agent.chats[-1].start
    assert start.chat == C2
    assert start.resume is None
    assert start.fork.conversation == f"kept-{host.chat()}"
    assert start.fork.point == "point of two"
    assert [turn["id"] for turn in start.history][:2] == three[:2]


def test_a_fork_of_a_fork_goes_on_from_the_forks_own_conversation(host, three):
    fork(host, host.chat(), three[1])
    more = host.turn(C2, "more")
    fork(host, C2, more, C3)
    assert host.state(C3)["title"] == "Forked: one"
    host.turn(C3, "even more")
    start = host.agent.chats[-1].start
    assert (start.fork.conversation, start.fork.point) == (f"kept-{C2}", "point of more")


def test_a_fork_at_a_copied_turn_of_a_fork_uses_the_point_that_was_copied(host, three):
    fork(host, host.chat(), three[1])
    host.turn(C2, "more")
    fork(host, C2, three[0], C3)
    host.turn(C3, "other")
    assert host.agent.chats[-1].start.fork.point == "point of one"


def test_a_fork_of_a_fork_that_never_ran_copies_the_first_conversation(host, three):
    fork(host, host.chat(), three[1])
    fork(host, C2, three[0], C3)
    host.turn(C3, "other")
    start = host.agent.chats[-1].start
    assert start.fork.conversation == f"kept-{host.chat()}"
    assert start.fork.point == "point of one"


def test_a_turn_without_a_point_is_forked_into_a_conversation_of_its_own(host):
    host.session()
    host.agent.then(scripts.answers("no point"))
    turn = host.turn(host.chat(), "one")
    fork(host, host.chat(), turn)
    host.turn(C2, "more")
    start = host.agent.chats[-1].start
    assert start.fork is None
    assert start.resume is None
    assert start.history[0]["id"] == turn


def test_a_title_given_names_the_fork(host, three):
    fork(host, host.chat(), three[0], title="  Mine ")
    assert host.state(C2)["title"] == "Mine"


def test_a_fork_of_an_untitled_chat_is_named_after_its_first_message(host):
    host.session()
    turn = host.turn(host.chat(), "")
    fork(host, host.chat(), turn)
    assert host.state(C2)["title"] == ""
    host.turn(C2, "now a title")
    assert host.state(C2)["title"] == "now a title"


def test_a_fork_takes_the_folders_of_its_source_and_none_it_is_sent(host, agent):
    agent.capabilities["multipleWorkingDirectories"] = {}
    host.session(workingDirectories=["file:///a", "file:///b"])
    create(host, C2, workingDirectories=["file:///b"])
    turn = host.turn(C2, "one")
    fork(host, C2, turn, C3, workingDirectories=["file:///elsewhere"])
    assert host.state(C3)["workingDirectories"] == ["file:///b"]
    turn = host.turn(host.chat(), "one")
    fork(host, host.chat(), turn, "ahp-chat:/c4", workingDirectories=["file:///a"])
    assert "workingDirectories" not in host.state("ahp-chat:/c4")


def test_a_fork_takes_the_values_its_source_has_set_for_itself(host, agent):
    agent.schema = {
        "type": "object",
        "properties": {
            "mode": {
                "type": "string",
                "title": "Mode",
                "enum": ["ask", "go"],
                "sessionMutable": True,
                "chatMutable": True,
            }
        },
    }
    host.session(config={"mode": "ask"})
    create(host, C2)
    assert host.dispatch(C2, "chat/configChanged", config={"mode": "go"}) is None
    fork(host, C2, host.turn(C2, "one"), C3)
    host.turn(C3, "two")
    assert host.agent.chats[-1].start.config["mode"] == "go"


def test_a_forks_first_message_is_its_next_turn(host, three):
    message = {"text": "go on", "origin": {"kind": "user"}}
    fork(host, host.chat(), three[0], initialMessage=message)
    assert [turn["message"]["text"] for turn in host.turns(C2)] == ["one", "go on"]
    assert host.state(C2)["title"] == "Forked: one"


def test_the_turn_that_runs_cannot_be_forked(host, three):
    host.agent.then(scripts.never_ends)
    running = host.turn(host.chat(), "four")
    code, words = refused(host, host.chat(), running)
    assert code == errors.INVALID_PARAMS
    assert "still running" in words
    assert not host.store.is_open(C2)


def test_what_cannot_be_forked_is_refused_and_nothing_is_made(host, three):
    host.session(S2)
    elsewhere = host.turn(host.chat(S2), "other")
    host.forget()
    for of, turn, words in (
        (host.chat(), "nobody", "holds no turn 'nobody'"),
        ("ahp-chat:/nobody", three[0], f"is no chat of {S1}"),
        (host.chat(S2), elsewhere, f"is no chat of {S1}"),
    ):
        code, told = refused(host, of, turn)
        assert code == errors.INVALID_PARAMS
        assert words in told
    assert host.said() == []


def test_an_agent_that_does_not_fork_refuses_one(host, three):
    host.agent.capabilities = {"multipleChats": {"sideChat": True}}
    code, words = refused(host, host.chat(), three[0])
    assert code == errors.INVALID_PARAMS
    assert "capabilities.multipleChats.fork" in words


def test_the_kind_of_a_source_is_the_first_thing_read(host, three):
    with pytest.raises(RpcError, match=r"source\.kind: found 'copy'"):
        create(host, "file:///no-chat", source={"kind": "copy"}, provider="scripted")


def test_a_fork_with_a_first_message_onto_the_default_chat_is_refused(host, three):
    message = {"text": "go on", "origin": {"kind": "user"}}
    code, words = refused(host, host.chat(), three[0], host.chat(), initialMessage=message)
    assert (code, words) == (errors.ALREADY_EXISTS, f"Chat already exists: {host.chat()}")
    host.forget()
    fork(host, host.chat(), three[0], host.chat())
    assert host.said() == []


def test_a_fork_of_a_worker_is_a_chat_a_person_talks_in(host):
    workers = []

    async def spawns(turn):
        call = turn.running("task")
        worker = turn.worker(call, "do it")
        worker.markdown("done it")
        worker.done()
        workers.append(worker)

    host.session()
    host.agent.then(spawns)
    host.turn(host.chat(), "go")
    [worker] = workers
    fork(host, worker.chat, worker.request.turn_id)
    assert "interactivity" not in host.state(C2)
    host.turn(C2, "and?")
    assert [turn["state"] for turn in host.turns(C2)] == ["complete", "complete"]


@pytest.mark.parametrize("ends", ["crash", "restart"])
def test_a_fork_is_what_it_was_after_the_host_began_again(host, three, ends):
    fork(host, host.chat(), three[1])
    before = host.state(C2)
    getattr(host, ends)()
    assert host.service.find_chat(C2) is not None
    assert host.state(C2) == before
    host.turn(C2, "more")
    start = host.agent.chats[-1].start
    assert (start.fork.conversation, start.fork.point) == (f"kept-{host.chat()}", "point of two")
    getattr(host, ends)()
    host.turn(C2, "even more")
    start = host.agent.chats[-1].start
    assert start.fork is None
    assert start.resume.conversation == f"kept-{C2}"


def test_a_fork_that_cannot_be_kept_is_not_made(host, three, monkeypatch):
    def full(writes):
        raise StoreFailure("no space left")

    host.forget()
    with monkeypatch.context() as broken:
        broken.setattr(host.service.journals.store, "apply", full)
        with pytest.raises(RpcError, match="no space left"):
            fork(host, host.chat(), three[0])
    assert host.said() == []
    assert host.service.find_chat(C2) is None
    fork(host, host.chat(), three[0])
    assert len(host.turns(C2)) == 1
