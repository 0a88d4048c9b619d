"""What a session and a chat are configured with while they live, and whom it reaches.

Source: AHP.txt, `session/configChanged`, `resolveSessionConfig` and "What is served outside
the protocol" (`chatMutable`, `config`, `chat/configChanged`).
"""

import pytest
from zope.interface import implementer

from ahpd.interfaces import AgentAbilities, AgentFailure, IUndeclaredConfig
from ahpd.protocol.errors import RpcError
from ahpd.sessions.config import permission_rules, sensitive_locations
from ahpd.testing.agents import ScriptedAgent

S1 = "ahp-session:/s1"
SECOND = "ahp-chat:/second"
RULES = {"allow": ["Bash"], "deny": ["Rm"], "ask": []}
SCHEMA = {
    "type": "object",
    "properties": {
        "mode": {
            "type": "string",
            "title": "Mode",
            "enum": ["ask", "act"],
            "default": "ask",
            "sessionMutable": True,
        },
        "effort": {
            "type": "string",
            "title": "Effort",
            "enum": ["low", "high"],
            "sessionMutable": True,
            "chatMutable": True,
        },
    },
}


def configured(sessions_host, live=False, agent=None):
    agent = agent or ScriptedAgent("it", abilities=AgentAbilities(live_config=live))
    agent.schema = SCHEMA
    host = sessions_host(agents={"it": agent})
    host.agent = agent
    host.session()
    host.service.create_chat({"channel": S1, "chat": SECOND})
    return host


@pytest.fixture
def host(sessions_host):
    return configured(sessions_host)


@pytest.fixture
def live(sessions_host):
    return configured(sessions_host, live=True)


def change(host, channel=S1, action_type="session/configChanged", replace=None, **config):
    fields = {} if replace is None else {"replace": replace}
    return host.dispatch(channel, action_type, config=config, **fields)


def of_chat(host, chat, replace=None, **config):
    return change(host, chat, "chat/configChanged", replace, **config)


def run_both(host):
    """Run a turn in each chat; the configuration each was last opened with, by chat."""
    for chat in (host.chat(), SECOND):
        host.turn(chat)
    return {opened.start.chat: dict(opened.start.config) for opened in host.agent.chats}


# -- a chat's own values ------------------------------------------------------------------


def test_a_chat_sets_a_value_of_its_own_where_its_property_says_so(host):
    assert "config" not in host.state(SECOND)
    assert of_chat(host, SECOND, effort="high") is None
    assert host.said(SECOND) == [{"type": "chat/configChanged", "config": {"effort": "high"}}]
    assert host.state(SECOND)["config"] == {"effort": "high"}
    assert host.kinds(S1).count("session/configChanged") == 0
    assert run_both(host) == {
        host.chat(): {"mode": "ask"},
        SECOND: {"mode": "ask", "effort": "high"},
    }


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"mode": "act"}, "Chat configuration 'mode' is not writable."),
        ({"permissions": RULES}, "Chat configuration 'permissions' is not writable."),
        ({"nothing": 1}, "Chat configuration 'nothing' is not writable."),
        (
            {"effort": "x"},
            "Chat configuration effort: found 'x', expected one of 'low', 'high'.",
        ),
    ],
)
def test_anything_else_is_refused_whole(host, config, words):
    assert of_chat(host, SECOND, **{"effort": "high", **config}) == words
    assert host.said(SECOND) == []
    assert "config" not in host.state(SECOND)


def test_a_value_of_the_session_s_reaches_the_chats_that_set_none(host):
    of_chat(host, SECOND, effort="high")
    assert change(host, effort="low") is None
    assert run_both(host) == {
        host.chat(): {"mode": "ask", "effort": "low"},
        SECOND: {"mode": "ask", "effort": "high"},
    }


def test_a_value_given_up_leaves_the_session_s_in_force(host):
    change(host, effort="low")
    of_chat(host, SECOND, effort="high")
    assert of_chat(host, SECOND, replace=True) is None
    assert "config" not in host.state(SECOND)
    assert run_both(host)[SECOND] == {"mode": "ask", "effort": "low"}


def test_it_is_handed_to_its_own_backend_alone(live):
    run_both(live)
    of_chat(live, SECOND, effort="high")
    change(live, effort="low")
    change(live, mode="act")
    lead, second = live.agent.chats
    assert lead.configured == [
        {"mode": "ask", "effort": "low"},
        {"mode": "act", "effort": "low"},
    ]
    assert second.configured == [
        {"mode": "ask", "effort": "high"},
        {"mode": "act", "effort": "high"},
    ]


def test_a_backend_that_takes_nothing_while_open_begins_again_at_its_next_turn(host):
    run_both(host)
    of_chat(host, SECOND, effort="high")
    assert [chat.closed for chat in host.agent.chats] == [False, False]
    run_both(host)
    assert [chat.closed for chat in host.agent.chats] == [False, True, False]
    assert host.agent.chats[2].start.config == {"mode": "ask", "effort": "high"}


def test_a_change_of_nothing_is_said_and_tells_no_backend(live):
    run_both(live)
    for _ in range(2):
        assert of_chat(live, SECOND, effort="high") is None
        assert change(live, mode="act") is None
    assert live.kinds(SECOND).count("chat/configChanged") == 2
    assert live.kinds(S1).count("session/configChanged") == 2
    assert [len(chat.configured) for chat in live.agent.chats] == [1, 2]


@pytest.mark.parametrize("channel", [S1, SECOND])
def test_a_backend_that_does_not_take_it_begins_again(live, channel):
    run_both(live)
    live.agent.configure_failure = AgentFailure("not now")
    assert change(live, channel, mode="act") is None
    live.agent.configure_failure = None
    assert run_both(live)[SECOND]["mode"] == "act"


# -- this host's own keys -------------------------------------------------------------------


def test_every_session_s_schema_declares_them(sessions_host):
    host = sessions_host()
    host.session()
    properties = host.state(S1)["config"]["schema"]["properties"]
    assert set(properties) == {
        "permissions",
        "autoApprove",
        "sensitiveEditLocations",
        "tools",
        "connectors",
    }
    assert set(properties["permissions"]["properties"]) == {"allow", "deny", "ask"}
    assert set(properties["sensitiveEditLocations"]["items"]["properties"]) == {
        "path",
        "isDirectory",
    }
    fixed = [key for key, declared in properties.items() if not declared.get("sessionMutable")]
    assert fixed == ["connectors"]
    assert host.state(S1)["config"]["values"] == {}, "set by somebody, or not there"


BOUND = {"work": "connectors://mail/one"}


@pytest.mark.parametrize(
    ("connectors", "words"),
    [
        ({"Work": "connectors://mail/one"}, "connectors: 'Work' is no alias"),
        ({"work": "nope"}, "connectors.work is no connectors://<adapter>/<id>"),
        ({"work": 5}, "connectors.work is no connectors://<adapter>/<id>"),
        ({**BOUND, "home": "connectors://Mail/one"}, "connectors.home is no connectors://"),
        ("str", "connectors: found a string, expected an object of connectors://"),
    ],
)
def test_connectors_that_are_wrongly_named_are_taken_and_logged_once(
    sessions_host, log_lines, connectors, words
):
    def told():
        return [line for line in log_lines() if "does without connectors" in line]

    host = sessions_host()
    host.session(config={"connectors": connectors})
    assert host.state(S1)["config"]["values"]["connectors"] == connectors
    [line] = told()
    assert line.startswith(f"{S1} does without connectors: {words}")
    assert "nope" not in line
    host.turn(host.chat())
    host.dispatch(S1, "session/configChanged", config={"autoApprove": "default"})
    assert told() == [line]


def test_connectors_that_are_named_wrongly_in_a_new_session_are_logged_when_they_are(
    sessions_host, log_lines
):
    host = sessions_host()
    host.session(config={"connectors": BOUND})
    assert not any("does without connectors" in line for line in log_lines())
    host.dispatch(S1, "session/configChanged", config={"connectors": {"work": "mail/one"}})
    [line] = [line for line in log_lines() if "does without connectors" in line]
    assert "connectors.work is no connectors://<adapter>/<id>" in line
    host.dispatch(S1, "session/configChanged", config={"connectors": BOUND})
    assert sum("does without connectors" in line for line in log_lines()) == 1


def test_an_agent_s_property_of_the_name_is_this_host_s(sessions_host):
    agent = ScriptedAgent()
    agent.schema = {
        "type": "object",
        "properties": {"permissions": {"type": "string", "title": "x", "default": "y"}},
    }
    host = sessions_host(agents={"scripted": agent})
    host.session()
    declared = host.state(S1)["config"]
    assert declared["schema"]["properties"]["permissions"]["type"] == "object"
    assert declared["values"] == {}


def test_the_form_of_a_session_declares_them_and_what_a_chat_may_set(host):
    form = host.service.resolve_config({"provider": "it", "config": {"permissions": RULES}})
    properties = form["schema"]["properties"]
    assert properties["effort"]["chatMutable"] is True
    assert "permissions" in properties
    assert form["values"] == {"mode": "ask", "permissions": RULES}


@pytest.mark.parametrize("value", [RULES, "no rules at all", None, 7])
def test_they_are_taken_whatever_they_hold(host, value):
    host.session("ahp-session:/s2", config={"permissions": value})
    assert host.state("ahp-session:/s2")["config"]["values"]["permissions"] == value
    run_both(host)
    assert change(host, permissions=value) is None
    assert host.state(S1)["config"]["values"]["permissions"] == value


def test_a_backend_is_handed_them_at_its_start_and_as_they_move(live):
    change(live, permissions=RULES)
    run_both(live)
    assert live.agent.chats[0].start.config["permissions"] == RULES
    change(live, sensitiveEditLocations=[])
    assert live.agent.chats[0].configured == [
        {"mode": "ask", "permissions": RULES, "sensitiveEditLocations": []}
    ]


def test_no_conversation_begins_again_for_them(host):
    run_both(host)
    change(host, permissions=RULES)
    run_both(host)
    assert len(host.agent.chats) == 2


@pytest.mark.parametrize(
    ("value", "rules"),
    [
        (RULES, RULES),
        ({"allow": ["A"]}, {"allow": ["A"], "deny": [], "ask": []}),
        ({}, {"allow": [], "deny": [], "ask": []}),
        ({"allow": ["A"], "deny": "B"}, {"allow": [], "deny": [], "ask": []}),
        ({"allow": ["A", 1]}, {"allow": [], "deny": [], "ask": []}),
        ([], {"allow": [], "deny": [], "ask": []}),
        (None, {"allow": [], "deny": [], "ask": []}),
    ],
)
def test_a_value_that_is_not_lists_of_rules_is_no_rules(value, rules):
    assert permission_rules({"permissions": value}) == rules
    assert permission_rules({}) == {"allow": [], "deny": [], "ask": []}


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ([{"path": "/a", "isDirectory": True}], 1),
        ([{"path": "/a", "isDirectory": True, "more": 1}, {"path": "b", "isDirectory": False}], 2),
        ([{"path": "/a", "isDirectory": True}, {"path": "/b"}], 0),
        ([{"path": 1, "isDirectory": True}], 0),
        ([{"path": "/a", "isDirectory": "yes"}], 0),
        (["/a"], 0),
        ({}, 0),
        (None, 0),
    ],
)
def test_locations_are_read_whole(value, count):
    assert len(sensitive_locations({"sensitiveEditLocations": value})) == count
    assert sensitive_locations({}) == []


# -- what no schema declares ------------------------------------------------------------------


@implementer(IUndeclaredConfig)
class Taking(ScriptedAgent):
    def check_config(self, key, value):
        if key == "voice" and value == "loud":
            raise AgentFailure("It only whispers.")
        if key != "voice":
            raise AgentFailure("")


def test_a_key_no_schema_declares_is_the_agent_s_to_take_or_refuse(sessions_host):
    host = configured(sessions_host, agent=Taking("it"))
    run_both(host)
    assert change(host, voice="low") is None
    assert host.state(S1)["config"]["values"] == {"mode": "ask", "voice": "low"}
    assert change(host, voice="loud", mode="act") == "It only whispers."
    assert change(host, nothing=1) == "Session configuration 'nothing' is not writable."
    assert host.state(S1)["config"]["values"] == {"mode": "ask", "voice": "low"}
    host.session("ahp-session:/s2", config={"voice": "low"})
    assert host.state("ahp-session:/s2")["config"]["values"]["voice"] == "low"
    with pytest.raises(RpcError, match=r"config\.voice: It only whispers\."):
        host.session("ahp-session:/s3", config={"voice": "loud"})


# -- restarts ---------------------------------------------------------------------------------


def test_what_was_set_is_kept_through_a_crash(host):
    run_both(host)
    change(host, mode="act", permissions=RULES)
    of_chat(host, SECOND, effort="high")
    host.crash()
    assert run_both(host) == {
        host.chat(): {"mode": "act", "permissions": RULES},
        SECOND: {"mode": "act", "permissions": RULES, "effort": "high"},
    }
    assert host.state(SECOND)["config"] == {"effort": "high"}
