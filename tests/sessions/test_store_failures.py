"""A disk that is full: what cannot be saved is not said, turns fail in words, the host lives."""

from contextlib import suppress

import pytest

from ahpd.protocol.errors import RpcError
from ahpd.protocol.status import IS_READ
from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate
from ahpd.testing.failing_store import FailingStore
from ahpd.wire.codec import decode, encode

S1, C2 = "ahp-session:/s1", "ahp-chat:/c2"


@pytest.fixture
def host(sessions_host):
    return sessions_host(kept=FailingStore())


@pytest.fixture
def chat(host):
    host.session()
    return host.chat()


def test_a_session_that_cannot_be_saved_is_not_made(host):
    host.kept.full = True
    with pytest.raises(RpcError, match=r"could not be saved: .*no space left"):
        host.session()
    assert host.service.find(S1) is None
    assert not host.store.is_open(S1)
    host.kept.full = False
    host.session()
    host.turn(host.chat())
    assert len(host.listing({})["items"]) == 1


def test_a_clients_action_is_refused_in_words_and_changes_nothing(host, chat):
    host.turn(chat)
    before = host.state(S1), host.state(chat)
    host.kept.full = True
    draft = {"text": "d", "origin": {"kind": "user"}}
    host.dispatch(chat, "chat/draftChanged", draft=draft)
    host.dispatch(S1, "session/titleChanged", title="No")
    refused = [e for e in host.store.watcher.said if "rejectionReason" in e]
    assert [e["rejectionReason"] for e in refused] == [
        f"{kind} could not be saved: {host.kept.words}"
        for kind in ("chat/draftChanged", "session/titleChanged")
    ]
    assert (host.state(S1), host.state(chat)) == before
    host.kept.full = False
    host.crash()
    assert host.state(S1)["title"] == before[0]["title"]


def test_a_message_that_cannot_be_saved_starts_no_turn(host, chat):
    host.turn(chat)
    host.kept.full = True
    host.turn(chat, "lost", turn_id="lost")
    assert len(host.agent.turns) == 1
    assert host.service.find_chat(chat).current is None
    host.kept.full = False
    host.turn(chat, "lost", turn_id="lost")
    assert [turn["message"]["text"] for turn in host.turns(chat)] == ["hello", "lost"]
    host.crash()
    assert [turn["message"]["text"] for turn in host.turns(chat)] == ["hello", "lost"]


@pytest.mark.parametrize("spare", range(1, 14))
def test_wherever_it_fills_up_in_a_turn_the_turn_ends_and_is_there_with_space_again(
    host, chat, spare
):
    host.turn(chat, "first")
    host.kept.spare = spare
    host.turn(chat, "second", turn_id="t2")
    host.pass_time(1)
    state = host.state(chat)
    assert "activeTurn" not in state
    second = next((turn for turn in state["turns"] if turn["id"] == "t2"), None)
    if host.kept.full and second is not None and second["state"] == "error":
        part = second["responseParts"][-1]
        assert part["error"]["errorType"] == "storeFailed"
        assert host.kept.words in part["error"]["message"]
    assert host.service.find_chat(chat).current is None
    host.kept.spare, host.kept.full = None, False
    host.turn(chat, "third")
    turns = host.turns(chat)
    assert turns[-1]["state"] == "complete"
    session = host.state(S1)
    host.crash()
    assert host.turns(chat) == turns
    assert host.state(S1)["chats"] == session["chats"]


def test_text_that_cannot_be_saved_fails_its_turn_in_the_middle(host, chat):
    gate = Gate()
    host.agent.then(scripts.waits_at(gate, "some text"))
    host.turn(chat, turn_id="t")
    host.kept.full = True
    gate.open()
    host.pass_time(1)
    [turn] = host.turns(chat)
    assert turn["state"] == "error"
    assert turn["responseParts"][-1]["error"]["errorType"] == "storeFailed"
    host.kept.full = False
    host.pass_time(60)
    turns = host.turns(chat)
    host.crash()
    assert host.turns(chat) == turns


def test_an_end_that_cannot_be_saved_is_not_said_as_one(host, chat):
    gate = Gate()

    async def waits(turn):
        await gate.passed()

    host.turn(chat)
    host.agent.then(waits)
    host.turn(chat, turn_id="t")
    host.forget()
    host.kept.full = True
    gate.open()
    assert host.kinds(chat)[0] == "chat/error"
    assert "chat/turnComplete" not in host.kinds(chat)
    assert host.turns(chat)[-1]["state"] == "error"


def test_a_stop_stops_whatever_the_disk_does(host, chat):
    host.agent.then(scripts.never_ends)
    turn = host.turn(chat)
    host.kept.full = True
    host.stop(chat, turn)
    assert host.turns(chat)[-1]["state"] == "cancelled"
    assert host.agent.chats[0].stops == [turn]


def test_a_chat_that_cannot_be_saved_is_not_made(host, chat):
    host.turn(chat)
    host.kept.full = True
    with pytest.raises(RpcError, match="could not be saved"):
        host.service.create_chat({"channel": S1, "chat": C2})
    assert host.service.find_chat(C2) is None
    assert len(host.state(S1)["chats"]) == 1
    host.kept.full = False
    host.service.create_chat({"channel": S1, "chat": C2})
    assert host.state(C2)["status"] & IS_READ


def test_what_cannot_be_deleted_is_said_and_stays(host, chat):
    host.turn(chat)
    host.service.create_chat({"channel": S1, "chat": C2})
    host.kept.full = True
    with pytest.raises(RpcError, match="could not be saved"):
        host.wait(host.service.dispose_chat(C2))
    with pytest.raises(RpcError, match="could not be saved"):
        host.wait(host.service.dispose(S1))
    assert host.told("root/sessionRemoved") == []
    assert host.service.find_chat(C2) is not None
    host.kept.full = False
    host.wait(host.service.dispose(S1))
    assert len(host.told("root/sessionRemoved")) == 1


def test_a_session_that_cannot_be_read_is_said_and_troubles_no_other(host, chat):
    host.turn(chat)
    other = host.session("ahp-session:/s2")
    host.turn(host.chat(other))
    host.restart()
    host.kept._channels[S1].head = b"{broken"
    assert len(host.listing({})["items"]) == 2
    with pytest.raises(RpcError, match="cannot be read"):
        host.service.find(S1)
    assert host.service.find(other) is not None
    host.restart()
    assert len(host.listing({})["items"]) == 2


@pytest.mark.parametrize("spare", range(4))
def test_wherever_the_host_ends_in_it_a_chat_is_closed_whole_or_not_at_all(host, chat, spare):
    host.turn(chat)
    host.service.create_chat({"channel": S1, "chat": C2})
    host.turn(C2)
    host.pass_time(60)
    host.kept.spare = spare
    if spare == 0:
        with pytest.raises(RpcError, match="could not be saved"):
            host.wait(host.service.dispose_chat(C2))
    else:
        host.wait(host.service.dispose_chat(C2))
    host.kept.spare, host.kept.full = None, False
    host.crash()
    [row] = host.listing({})["items"]
    assert [each["resource"] for each in row["chats"]] == ([chat, C2] if spare == 0 else [chat])
    assert (host.service.find_chat(C2) is not None) == (spare == 0)
    assert host.kept.session_of(C2) == ("s1" if spare == 0 else None)


@pytest.mark.parametrize("left_alone", [True, False])
def test_a_host_starts_on_a_full_disk_and_shows_what_there_is(host, chat, left_alone):
    host.turn(chat)
    if left_alone:
        host.session("ahp-session:/s2")
        host.clock.advance(2 * 24 * 3600)
    host.kept.full = True
    host.crash()
    assert [row["resource"] for row in host.listing({})["items"]] == [S1]
    assert [turn["state"] for turn in host.turns(chat)] == ["complete"]
    assert host.service.find("ahp-session:/s2") is None
    host.kept.full = False
    host.crash()
    assert [row.id for row in host.kept.sessions()] == ["s1"]


RECORDS = ("provider", "title", "status", "lifecycle", "chats", "activeClients", "config")
CHATS = ("resource", "title", "status", "modifiedAt", "origin")


@pytest.mark.parametrize(
    ("which", "field"), [*(("session", name) for name in RECORDS), *(("chat", n) for n in CHATS)]
)
@pytest.mark.parametrize("value", [None, 7, {"x": "y"}])
@pytest.mark.parametrize("entries", [(), (b"{}",)])
def test_a_record_of_something_else_costs_no_other_session(
    host, chat, which, field, value, entries
):
    host.turn(chat)
    other = host.session("ahp-session:/s2")
    host.turn(host.chat(other))
    host.restart()
    record = host.kept._channels[S1 if which == "session" else chat]
    head = decode(record.head)
    before = head["state"].pop(field, None)
    if value is not None and type(value) is not type(before):
        head["state"][field] = value
    record.head, record.entries = encode(head), list(entries)
    for _ in range(2):
        host.crash()  # it begins again all the same
        assert len(host.listing({})["items"]) == 2
        for _ in range(2):
            with suppress(RpcError):  # some of it is missed by nobody
                host.service.find(S1)
        assert host.state(other)["chats"]
        host.turn(host.chat(other))
        host.pass_time(60)
