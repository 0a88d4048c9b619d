"""Keys plugins add to every session's `_meta` (PLUGINS.txt, `registerSessionMeta`)."""

import pytest

from ahpd.interfaces import AgentAbilities, Owned
from ahpd.protocol.uris import ROOT
from ahpd.sessions.session_artifacts import KEY as ARTIFACTS
from ahpd.sessions.session_meta import SOON
from ahpd.testing.agents import ConversationsAgent, ScriptedAgent
from ahpd.wire.codec import decode

S1, S2 = "ahp-session:/s1", "ahp-session:/s2"
LONG = 2000


class Watcher:
    """Somebody who watches the catalogue."""

    def __init__(self):
        self.told = []

    def deliver(self, envelope):
        pass

    def notify(self, channel, method, frame):
        self.told.append((method, decode(frame.payload)["params"]))

    def lagging(self):
        return False


class Moods:
    """A plugin that says a mood of each session."""

    def __init__(self, **held):
        self.held = {f"ahp-session:/{name}": mood for name, mood in held.items()}
        self.asked = []

    def __call__(self, session):
        self.asked.append(session)
        return self.held.get(session)


@pytest.fixture
def host(sessions_host):
    agent = ScriptedAgent(abilities=AgentAbilities(reopens=True))
    host = sessions_host(agents={"scripted": agent}, sleep_after=300)
    host.agent = agent
    return host


def say(host, **readers):
    host.service.meta.contributed({f"x.{key}": Owned("p", read) for key, read in readers.items()})


def row(host, session=S1):
    rows = host.listing({})["items"]
    return next(each for each in rows if each["resource"] == session)


def watched(host):
    host.root_watcher = Watcher()
    host.store.subscribe(ROOT, host.root_watcher)
    return host.root_watcher


def told_of(watcher, session=S1):
    return [
        params["changes"]["_meta"]
        for method, params in watcher.told
        if method == "root/sessionSummaryChanged"
        and params["session"] == session
        and "_meta" in params["changes"]
    ]


def test_a_session_has_the_keys_from_its_beginning_on_its_state_and_on_its_row(host):
    say(host, mood=Moods(s1={"value": "calm"}), other=Moods())
    host.session()
    assert host.state(S1)["_meta"] == {"x.mood": {"value": "calm"}}
    assert host.kinds(S1).count("session/metaChanged") == 0
    host.turn(host.chat())
    assert row(host)["_meta"] == {"x.mood": {"value": "calm"}}


def test_what_it_was_made_with_stays_beside_them(host):
    say(host, mood=Moods(s1="calm"))
    host.session(_meta={"multiRoot": True, "x.mood": "wild", "other": 1})
    assert host.state(S1)["_meta"] == {"multiRoot": True, "x.mood": "calm"}


def test_a_session_that_has_none_says_none(host):
    say(host, mood=Moods())
    host.session()
    assert "_meta" not in host.state(S1)


def test_a_value_that_moved_is_announced_and_the_same_again_is_not(host):
    moods = Moods(s1="calm")
    say(host, mood=moods)
    host.session()
    host.turn(host.chat())
    watcher = watched(host)
    moods.held[S1] = "wild"
    host.service.meta.changed(S1)
    host.service.meta.changed(S1)
    host.pass_time(1)
    said = [action for action in host.said(S1) if action["type"] == "session/metaChanged"]
    assert said == [{"type": "session/metaChanged", "_meta": {"x.mood": "wild"}}]
    assert told_of(watcher) == [{"x.mood": "wild"}]
    del moods.held[S1]
    host.service.meta.changed(S1)
    host.pass_time(1)
    assert "_meta" not in host.state(S1)
    assert told_of(watcher)[-1] == {}


def test_a_session_nobody_has_is_no_error(host):
    say(host, mood=Moods())
    host.service.meta.changed("ahp-session:/none")


def test_keys_come_to_the_sessions_there_are_and_go_with_their_plugin(host):
    host.session()
    host.turn(host.chat())
    say(host, mood=Moods(s1="calm"))
    assert host.state(S1)["_meta"] == {"x.mood": "calm"}
    say(host)
    assert "_meta" not in host.state(S1)


def test_what_the_host_writes_itself_is_not_a_plugins_to_say(host, log_lines):
    host.service.meta.contributed({ARTIFACTS: Owned("p", lambda session: [1])})
    host.session()
    assert "_meta" not in host.state(S1)
    assert any("it is this host's" in line for line in log_lines())


def test_what_agents_recorded_stays_whatever_moves_beside_it(host):
    say(host, mood=Moods(s1="calm"))
    host.session()
    session = host.service.find(S1)
    session.say(
        {"type": "session/metaChanged", "_meta": {**session.state["_meta"], ARTIFACTS: [{"u": 1}]}}
    )
    say(host)
    assert host.state(S1)["_meta"] == {ARTIFACTS: [{"u": 1}]}


def broken(session):
    raise KeyError("mood")


@pytest.mark.parametrize("read", [broken, lambda session: object()])
def test_one_that_cannot_say_it_is_logged_once_and_left_out(host, log_lines, read):
    say(host, mood=read, other=lambda session: 1)
    host.session()
    host.session(S2)
    host.service.meta.changed(S1)
    assert host.state(S1)["_meta"] == {"x.other": 1}
    assert host.state(S2)["_meta"] == {"x.other": 1}
    assert len([line for line in log_lines() if "does not say its x.mood" in line]) == 1


def test_what_a_plugin_answered_is_not_what_it_holds(host):
    held = {"count": 1}
    say(host, mood=lambda session: held)
    host.session()
    held["count"] = 2
    assert host.state(S1)["_meta"] == {"x.mood": {"count": 1}}


# -- asleep -----------------------------------------------------------------------------


@pytest.fixture
def asleep(host):
    """Two sessions of an earlier life."""
    for session in (S1, S2):
        host.session(session)
        host.turn(host.chat(session))
    host.restart()
    return host


def awake(host):
    return [session.uri for session in host.service.registry.catalogue.sessions()]


def test_a_session_that_is_asleep_is_listed_with_them_and_not_woken(asleep):
    say(asleep, mood=Moods(s1="calm"))
    assert row(asleep)["_meta"] == {"x.mood": "calm"}
    assert "_meta" not in row(asleep, S2)
    assert awake(asleep) == []


def test_it_is_read_when_it_is_listed_and_not_before_and_once(asleep):
    moods = Moods(s1="calm")
    say(asleep, mood=moods)
    assert moods.asked == []
    asleep.listing({"limit": 1})
    assert len(moods.asked) == 1
    asleep.listing({})
    asleep.listing({})
    assert sorted(moods.asked) == [S1, S2]


def test_a_value_that_moved_while_it_sleeps_is_told_to_who_watches_the_catalogue(asleep):
    moods = Moods(s1="calm")
    say(asleep, mood=moods)
    watcher = watched(asleep)
    moods.held[S1] = "wild"
    asleep.service.meta.changed(S1)
    assert told_of(watcher) == [{"x.mood": "wild"}]
    assert row(asleep)["_meta"] == {"x.mood": "wild"}
    moods.held.clear()
    asleep.service.meta.changed(S1)
    assert told_of(watcher)[-1] == {}
    assert awake(asleep) == []


def test_a_key_that_comes_is_told_to_who_watches_the_catalogue(asleep):
    watcher = watched(asleep)
    say(asleep, mood=Moods(s1="calm", s2="wild"))
    assert told_of(watcher) == [{"x.mood": "calm"}]
    assert told_of(watcher, S2) == [{"x.mood": "wild"}]
    say(asleep)
    asleep.pass_time(1)
    assert told_of(watcher)[-1] == {}


def test_many_sleeping_sessions_hold_nobody_up(sessions_host):
    host = sessions_host()
    for number in range(250):
        host.session(f"ahp-session:/n{number}")
        host.turn(host.chat(f"ahp-session:/n{number}"))
    host.restart()
    watcher = watched(host)
    say(host, mood=lambda session: "calm")
    assert len(watcher.told) == 100
    host.pass_time(SOON)
    assert len(watcher.told) == 200
    host.pass_time(SOON)
    assert len(watcher.told) == 250
    say(host)
    host.wait(host.service.drain())


def test_it_wakes_as_it_was_and_then_says_what_moved(asleep):
    moods = Moods(s1="calm")
    say(asleep, mood=moods)
    assert asleep.state(S1)["_meta"] == {"x.mood": "calm"}
    assert asleep.kinds(S1).count("session/metaChanged") == 1
    assert row(asleep)["_meta"] == {"x.mood": "calm"}


def test_what_was_kept_of_a_plugin_that_is_gone_goes(host):
    say(host, mood=Moods(s1="calm"))
    host.session()
    host.turn(host.chat())
    host.restart()
    say(host)
    assert "_meta" not in row(host)
    assert "_meta" not in host.state(S1)
    host.restart()
    assert "_meta" not in host.state(S1)


def test_a_session_that_goes_to_sleep_and_is_woken_has_the_value_of_then(host):
    moods = Moods(s1="calm")
    say(host, mood=moods)
    host.session()
    host.turn(host.chat())
    host.pass_time(LONG)
    assert awake(host) == []
    moods.held[S1] = "wild"
    assert row(host)["_meta"] == {"x.mood": "calm"}  # its plugin has not said that it moved
    assert host.state(S1)["_meta"] == {"x.mood": "wild"}
    assert row(host)["_meta"] == {"x.mood": "wild"}


# -- other ways a session comes to be ---------------------------------------------------


def test_a_conversation_a_backend_lists_has_them_before_and_after_it_is_read(sessions_host):
    agent = ConversationsAgent()
    agent.keep("k1", title="Kept")
    host = sessions_host(agents={"scripted": agent})
    say(host, mood=lambda session: "calm")
    listed = row(host, "ahp-session:/k1")
    assert listed["_meta"] == {"x.mood": "calm"}
    host.wait(host.service.channels.ready("ahp-session:/k1"))
    assert host.state("ahp-session:/k1")["_meta"] == {"x.mood": "calm"}


def test_a_session_a_chat_moved_to_has_them(sessions_host):
    agent = ScriptedAgent(abilities=AgentAbilities(reopens=True))
    host = sessions_host(agents={"scripted": agent})
    say(host, mood=lambda session: session)
    host.store.dispatch(ROOT, {"type": "root/configChanged", "config": {"chatMoves.enabled": True}})
    host.session(workingDirectories=["file:///w"])
    host.service.create_chat({"channel": S1, "chat": "ahp-chat:/c2"})
    host.turn("ahp-chat:/c2")
    moved = host.service.move_chat(
        {"channel": "ahp-chat:/c2", "destination": {"kind": "newSession"}}
    )
    assert host.state(moved["session"])["_meta"] == {"x.mood": moved["session"]}
