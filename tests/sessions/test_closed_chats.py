"""What an agent keeps of a chat that is closed: hidden, or deleted (CHATS.txt, `closedChats`)."""

import pytest

from ahpd.interfaces import AgentAbilities, AgentFailure
from ahpd.testing.agents import ConversationsAgent

S1, C2 = "ahp-session:/s1", "ahp-chat:/c2"


@pytest.fixture
def agent():
    agent = ConversationsAgent(abilities=AgentAbilities(reopens=True))
    agent.keeps_as = lambda start: f"kept-{start.chat.removeprefix('ahp-chat:/')}"
    return agent


@pytest.fixture
def closed(sessions_host, agent):
    """A host, by what it is to do, that has closed a chat which ran a turn."""

    def make(**options):
        host = sessions_host(agents={"scripted": agent}, **options)
        host.session()
        host.turn(host.chat())
        host.service.create_chat({"channel": S1, "chat": C2})
        host.turn(C2)
        agent.keep("kept-c2")
        agent.keep("from elsewhere")
        host.wait(host.service.dispose_chat(C2))
        return host

    return make


def listed(host):
    host.listing({})  # asks the agent; what it says is in the next one
    host.pass_time(60)
    host.listing({})
    return [row["resource"] for row in host.listing({})["items"]]


@pytest.mark.parametrize("ends", [None, "crash", "restart"])
def test_a_closed_chats_conversation_is_left_and_never_listed(closed, agent, ends):
    host = closed()
    if ends is not None:
        getattr(host, ends)()
    assert agent.deleted == []
    assert listed(host) == [S1, "ahp-session:/from%20elsewhere"]


def test_one_is_deleted_where_that_is_asked_for(closed, agent):
    host = closed(delete_closed=True)
    assert agent.deleted == ["kept-c2"]
    assert agent.chats[-1].closed
    assert listed(host) == [S1, "ahp-session:/from%20elsewhere"]


@pytest.mark.logs_failures
def test_one_that_cannot_be_deleted_stays_hidden(closed, agent):
    agent.delete_failure = AgentFailure("the disk is gone")
    host = closed(delete_closed=True)
    assert agent.deleted == ["kept-c2"]
    assert not host.store.is_open(C2)
    assert listed(host) == [S1, "ahp-session:/from%20elsewhere"]


def test_a_chat_that_never_ran_leaves_nothing_to_delete(sessions_host, agent):
    host = sessions_host(agents={"scripted": agent}, delete_closed=True)
    host.session()
    host.service.create_chat({"channel": S1, "chat": C2})
    host.wait(host.service.dispose_chat(C2))
    assert agent.deleted == []
