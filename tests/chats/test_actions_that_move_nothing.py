"""An accepted action goes to everybody, the one that leaves the state as it was included.

AHP.txt, "Every accepted action goes to every client of its channel".
"""

import pytest

from ahpd.interfaces import AgentAbilities
from ahpd.protocol.status import IS_READ
from ahpd.testing.host import MemoryHost

S1 = "ahp-session:/s1"
C2 = "ahp-chat:/c2"
ROOT = "ahp-root://"
DRAFT = {"text": "typing", "origin": {"kind": "user"}}

#: Each is sent once to bring the chat there, and once more.
SET = [
    {"type": "chat/isReadChanged", "isRead": True},
    {"type": "chat/isReadChanged", "isRead": False},
    {"type": "chat/isArchivedChanged", "isArchived": True},
    {"type": "chat/isArchivedChanged", "isArchived": False},
    {"type": "chat/draftChanged", "draft": DRAFT},
    {"type": "chat/draftChanged"},
]

#: Each names something the chat does not have.
NAMING_NOTHING = [
    {"type": "chat/turnCancelled", "turnId": "none", "duration": 1},
    {"type": "chat/pendingMessageRemoved", "kind": "queued", "id": "none"},
    {"type": "chat/pendingMessageRemoved", "kind": "steering", "id": "none"},
    {"type": "chat/queuedMessagesReordered", "order": ["none"]},
    {"type": "chat/truncated", "turnId": "none"},
    {"type": "chat/inputAnswerChanged", "requestId": "none", "questionId": "q"},
    {"type": "chat/inputCompleted", "requestId": "none", "response": "decline"},
    {
        "type": "chat/toolCallConfirmed",
        "turnId": "none",
        "toolCallId": "none",
        "approved": True,
        "confirmed": "user-action",
    },
    {
        "type": "chat/toolCallResultConfirmed",
        "turnId": "none",
        "toolCallId": "none",
        "approved": True,
    },
    {
        "type": "chat/toolCallComplete",
        "turnId": "none",
        "toolCallId": "none",
        "result": {"success": True, "pastTenseMessage": "Did"},
    },
    {
        "type": "chat/toolCallContentChanged",
        "turnId": "none",
        "toolCallId": "none",
        "content": [{"type": "text", "text": "line"}],
    },
]


def _named(action):
    value = next((v for k, v in action.items() if k in ("isRead", "isArchived", "kind")), "")
    return f"{action['type']}-{value}"


@pytest.fixture
def host():
    made = MemoryHost()
    yield made
    made.stop()


@pytest.fixture
def one(host):
    probe = host.connect("one", ROOT)
    host.run(probe.request("createSession", channel=S1))
    host.run(probe.request("createChat", channel=S1, chat=C2))
    host.run(probe.subscribe(S1))
    host.run(probe.subscribe(C2))
    return probe


@pytest.fixture
def two(host, one):
    return host.connect("two", S1, C2)


def told(probe):
    return [(e.seq, e.action, e.origin, e.rejection) for e in probe.envelopes(C2)]


def send_and_compare(host, one, two, action):
    before = (host.store.snapshot(C2), host.store.snapshot(S1))
    count = len(told(one)), len(one.envelopes(S1))
    one.dispatch(C2, action)
    host.settle()
    [mine] = told(one)[count[0] :]
    assert mine == told(two)[-1]
    assert mine[1] == action
    assert mine[2]["clientId"] == "one"
    assert mine[3] is None
    assert mine[0] > before[0]["fromSeq"]
    after = (host.store.snapshot(C2), host.store.snapshot(S1))
    assert [each["state"] for each in after] == [each["state"] for each in before]
    assert len(one.envelopes(S1)) == count[1]


@pytest.mark.parametrize("action", SET, ids=_named)
def test_what_is_set_already_is_said_to_everybody_and_moves_nothing(host, one, two, action):
    one.dispatch(C2, action)
    host.settle()
    send_and_compare(host, one, two, action)
    assert host.agent.chats == []


@pytest.mark.parametrize("action", NAMING_NOTHING, ids=_named)
def test_what_names_nothing_of_the_chat_is_said_to_everybody_and_moves_nothing(
    host, one, two, action
):
    send_and_compare(host, one, two, action)
    assert host.agent.chats == []


@pytest.mark.parametrize("action", SET, ids=_named)
def test_a_session_asleep_takes_it_and_no_agent_is_started(sessions_host, action):
    host = sessions_host()
    host.agent.abilities = AgentAbilities(reopens=True)
    host.session()
    host.service.create_chat({"channel": S1, "chat": C2})
    host.turn(C2)
    host.restart()
    opened = len(host.agent.chats)
    assert not host.store.is_open(C2)
    fields = {key: value for key, value in action.items() if key != "type"}
    assert host.dispatch(C2, action["type"], **fields) is None
    assert action in host.said(C2)
    assert len(host.agent.chats) == opened


def test_a_draft_of_a_session_asleep_is_there_for_everybody_and_in_the_next_life(sessions_host):
    host = sessions_host()
    host.session()
    host.turn(host.chat())
    chat = host.chat()
    host.restart()
    host.dispatch(chat, "chat/draftChanged", draft=DRAFT)
    host.crash()
    assert host.state(chat)["draft"] == DRAFT
    assert len(host.agent.chats) == 1


def test_a_turns_start_clears_the_chats_bit_and_says_nothing_of_it(sessions_host):
    from ahpd.testing.agents import never_ends

    host = sessions_host()
    host.session()
    chat = host.chat()
    host.turn(chat)
    host.dispatch(S1, "session/isReadChanged", isRead=True)
    assert host.state(chat)["status"] & IS_READ
    host.agent.then(never_ends)
    host.forget()
    turn = host.turn(chat)
    assert not host.state(chat)["status"] & IS_READ
    assert "chat/isReadChanged" not in host.kinds(chat)
    assert "session/isReadChanged" not in host.kinds(S1)
    host.stop(chat, turn)
    assert host.kinds(chat)[-1] == "chat/isReadChanged"
    assert not host.state(S1)["status"] & IS_READ
