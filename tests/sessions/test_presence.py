"""Who is in a session, and when a client has left (AHP.txt, `session/activeClientRemoved`)."""

import pytest

from ahpd.interfaces import DISCONNECT_WINDOW, AgentFailure
from ahpd.testing.host import MemoryHost

S1, S2 = "ahp-session:/s1", "ahp-session:/s2"


@pytest.fixture
def host():
    host = MemoryHost()
    yield host
    host.stop()


def create(host, probe, session=S1, **params):
    host.run(probe.request("createSession", channel=session, **params))
    return session


def enter(host, probe, session=S1, client_id=None, **fields):
    """A client says that it, or another one, is in a session."""
    entry = {"tools": [], **fields}
    if client_id is not False:
        entry["clientId"] = client_id or probe.client_id
    probe.dispatch(session, {"type": "session/activeClientSet", "activeClient": entry})
    host.settle()


def here(host, session=S1):
    return [entry.get("clientId") for entry in host.store.state(session)["activeClients"]]


def test_an_entry_is_held_echoed_and_shown_as_it_was_sent(host):
    a, b = host.connect("a", foreign=True), host.connect("b", foreign=True)
    create(host, a)
    host.run(a.subscribe(S1))
    host.run(b.subscribe(S1))
    entry = {"clientId": "a", "displayName": "A", "ahpd.more": [1]}
    a.dispatch(S1, {"type": "session/activeClientSet", "activeClient": entry})
    host.settle()
    for probe in (a, b):
        [said] = probe.envelopes(S1)
        assert said.action == {"type": "session/activeClientSet", "activeClient": entry}
        assert said.origin == {"clientId": "a", "clientSeq": 1}
    assert host.store.state(S1)["activeClients"] == [entry]


def test_an_entry_may_name_another_client_or_none(host):
    a = host.connect("a")
    create(host, a)
    host.run(a.subscribe(S1))
    enter(host, a, client_id="somebody")
    enter(host, a, client_id=False)
    assert here(host) == ["somebody", None]
    enter(host, a, client_id=False, displayName="again")
    assert here(host) == ["somebody", None]
    a.unsubscribe(S1)
    host.advance(DISCONNECT_WINDOW * 2)
    assert here(host) == ["somebody", None], "neither is this client's to leave with"


def test_a_client_takes_an_entry_out_at_once(host):
    a = host.connect("a")
    create(host, a, activeClient={"clientId": "a", "tools": []})
    host.run(a.subscribe(S1))
    for gone in ("a", "nobody"):
        a.dispatch(S1, {"type": "session/activeClientRemoved", "clientId": gone})
    host.settle()
    assert here(host) == []
    assert [said.origin is not None for said in a.envelopes(S1)] == [True, True]


def test_a_session_whose_agent_failed_takes_clients_as_any_other(host):
    async def dies(turn):
        raise AgentFailure("The program ended.", "agentDied")

    host.agent.then(dies)
    a = host.connect("a")
    create(host, a)
    a.dispatch(
        host.store.state(S1)["defaultChat"],
        {
            "type": "chat/turnStarted",
            "turnId": "t1",
            "startedAt": "2026-01-02T03:04:05.000Z",
            "message": {"text": "hello", "origin": {"kind": "user"}},
        },
    )
    host.run(a.subscribe(S1))
    enter(host, a)
    assert here(host) == ["a"]


def test_a_session_nobody_has_takes_no_client(host):
    a = host.connect("a")
    a.dispatch(S1, {"type": "session/activeClientRemoved", "clientId": "a"})
    host.settle()
    [said] = a.envelopes(S1)
    assert said.rejection == f"No agent for session: {S1}"


def test_it_is_in_while_it_watches_the_session_or_any_of_its_chats(host):
    a, b = host.connect("a"), host.connect("b")
    create(host, a)
    host.run(b.subscribe(S1))
    chat = host.store.state(S1)["defaultChat"]
    host.run(a.subscribe(S1))
    host.run(a.subscribe(chat))
    enter(host, a)
    a.unsubscribe(S1)
    host.settle()
    assert here(host) == ["a"]
    a.unsubscribe(chat)
    host.settle()
    assert here(host) == []
    [_, removed] = b.envelopes(S1)
    assert removed.action == {"type": "session/activeClientRemoved", "clientId": "a"}
    assert removed.origin is None


def test_an_unsubscribe_of_another_session_takes_nothing_out(host):
    a = host.connect("a")
    for session in (S1, S2):
        create(host, a, session)
        enter(host, a, session)
    host.run(a.subscribe(S1))
    host.run(a.subscribe(S2))
    a.unsubscribe(S2)
    host.settle()
    assert (here(host, S1), here(host, S2)) == (["a"], [])


def test_one_put_in_at_the_creation_counts_before_it_watches_anything(host):
    a = host.connect("a")
    create(host, a, activeClient={"clientId": "a", "tools": []})
    host.advance(DISCONNECT_WINDOW * 3)
    assert here(host) == ["a"]
    host.cut(a)
    host.advance(DISCONNECT_WINDOW - 1)
    assert here(host) == ["a"]
    host.advance(1)
    assert here(host) == []


def test_a_client_that_drops_has_30_seconds_in_every_session_it_is_in(host):
    a = host.connect("a")
    for session in (S1, S2):
        create(host, a, session)
        host.run(a.subscribe(session))
        enter(host, a, session)
    host.cut(a)
    host.advance(DISCONNECT_WINDOW - 0.1)
    assert (here(host, S1), here(host, S2)) == (["a"], ["a"])
    host.advance(0.1)
    assert (here(host, S1), here(host, S2)) == ([], [])


def test_coming_back_ends_its_time_in_all_of_them(host):
    a = host.connect("a")
    for session in (S1, S2):
        create(host, a, session)
        host.run(a.subscribe(session))
        enter(host, a, session)
    host.cut(a)
    host.advance(DISCONNECT_WINDOW - 1)
    host.reconnect(a)
    host.advance(DISCONNECT_WINDOW * 2)
    assert (here(host, S1), here(host, S2)) == (["a"], ["a"])


def test_a_reconnect_that_does_not_ask_for_the_session_takes_it_out(host):
    a = host.connect("a")
    for session in (S1, S2):
        create(host, a, session)
        host.run(a.subscribe(session))
        enter(host, a, session)
    host.cut(a)
    again = host.client("a")
    host.attach(again)
    seen = host.store.server_seq
    back = host.run(again.reconnect(subscriptions=[S2], lastSeenServerSeq=seen))
    assert (here(host, S1), here(host, S2)) == ([], ["a"])
    assert (back.missing, back.actions) == ((), ())


def test_what_a_reconnect_takes_out_is_in_its_answer_and_told_once(host):
    a, b = host.connect("a"), host.connect("b")
    create(host, a)
    chat = host.store.state(S1)["defaultChat"]
    for probe in (a, b):
        host.run(probe.subscribe(S1))
    create(host, a, S2)
    enter(host, a, S2)
    host.run(b.subscribe(S2))
    enter(host, a)
    host.cut(a)
    host.reconnect(a)
    assert here(host, S2) == []
    host.check()
    assert here(host) == ["a"]
    assert host.store.is_open(chat)


def test_one_that_begins_anew_keeps_what_it_watches_by_the_end_of_its_time(host):
    a = host.connect("a")
    for session in (S1, S2):
        create(host, a, session)
        host.run(a.subscribe(session))
        enter(host, a, session)
    host.cut(a)
    again = host.connect("a")
    host.run(again.subscribe(S1))
    host.advance(DISCONNECT_WINDOW)
    assert (here(host, S1), here(host, S2)) == (["a"], [])


def test_another_window_of_the_same_client_keeps_it_in(host):
    first, second = host.connect("a"), host.connect("a")
    create(host, first)
    for window in (first, second):
        host.run(window.subscribe(S1))
    enter(host, first)
    host.cut(first)
    host.advance(DISCONNECT_WINDOW * 2)
    assert here(host) == ["a"]
    second.unsubscribe(S1)
    host.settle()
    assert here(host) == []


def test_another_window_that_watches_something_else_does_not(host):
    first, second = host.connect("a"), host.connect("a")
    create(host, first)
    host.run(first.subscribe(S1))
    enter(host, first)
    host.cut(first)
    host.advance(DISCONNECT_WINDOW)
    assert here(host) == []
    assert second.connected


def test_a_chat_that_goes_takes_whoever_watched_that_alone(host):
    a, b = host.connect("a"), host.connect("b")
    create(host, a)
    chat = "ahp-chat:/second"
    host.run(a.request("createChat", channel=S1, chat=chat))
    for probe in (a, b):
        host.run(probe.subscribe(chat))
        enter(host, probe)
    host.run(b.subscribe(S1))
    host.run(b.request("disposeChat", channel=chat))
    assert here(host) == ["b"]


def test_nobody_s_time_runs_on_when_the_host_stops(host):
    a = host.connect("a")
    create(host, a)
    host.run(a.subscribe(S1))
    enter(host, a)
    host.cut(a)  # the fixture sees that nothing is left on the clock
