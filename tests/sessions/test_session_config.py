"""A session's configuration against its agent's schema."""

import pytest

from ahpd.extensions.access import OpenAccess
from ahpd.interfaces import ChatRequest
from ahpd.protocol.errors import RpcError
from ahpd.sessions.config import HOST_KEYS, problems
from ahpd.sessions.starting import SessionStarts
from ahpd.testing.agents import ScriptedAgent

S1 = "ahp-session:/s1"


class Iterative(ScriptedAgent):
    """Offers a branch once it runs in a worktree."""

    def config_schema(self, working_directory, values):
        properties = {
            "mode": {
                "type": "string",
                "title": "Mode",
                "enum": ["ask", "act"],
                "default": "ask",
                "sessionMutable": True,
            },
            "worktree": {"type": "boolean", "title": "Worktree"},
        }
        if values.get("worktree") is True:
            properties["branch"] = {"type": "string", "title": "Branch", "default": "main"}
        return {"type": "object", "properties": properties}


@pytest.fixture
def host(sessions_host):
    host = sessions_host(agents={"it": Iterative("it")})
    host.agent = host.agents["it"]
    return host


def resolve(host, **config):
    return host.service.resolve_config({"provider": "it", "config": config})["values"]


def test_what_was_answered_comes_back_answered_with_the_defaults_of_the_rest(host):
    assert resolve(host) == {"mode": "ask"}
    assert resolve(host, mode="act") == {"mode": "act"}
    assert resolve(host, worktree=True) == {"mode": "ask", "worktree": True, "branch": "main"}
    assert resolve(host, worktree=True, branch="b")["branch"] == "b"


def test_an_answer_with_no_place_any_more_is_left_out(host):
    assert resolve(host, worktree=False, branch="b") == {"mode": "ask", "worktree": False}
    assert resolve(host, mode="gone") == {"mode": "ask"}


def test_an_unknown_provider_is_refused(host):
    with pytest.raises(RpcError, match="'none'"):
        host.service.resolve_config({"provider": "none"})


def test_a_session_holds_its_schema_and_its_values(host):
    host.session(config={"worktree": True})
    config = host.state(S1)["config"]
    assert config["values"] == {"mode": "ask", "worktree": True, "branch": "main"}
    assert set(config["schema"]["properties"]) - HOST_KEYS.keys() == {
        "mode",
        "worktree",
        "branch",
    }


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"branch": "b"}, "config.branch: is no key"),
        ({"mode": "x"}, "config.mode: found 'x', expected one of 'ask', 'act'"),
        ({"worktree": "yes"}, "config.worktree: found 'yes', expected a value of type boolean"),
    ],
)
def test_a_session_is_not_made_of_a_wrong_value(host, config, words):
    with pytest.raises(RpcError, match=words):
        host.session(config=config)


def test_sessions_hold_one_schema_between_them(host):
    for uri in (S1, "ahp-session:/s2"):
        host.session(uri)
    one, two = (host.store.state(uri)["config"]["schema"] for uri in (S1, "ahp-session:/s2"))
    assert one is two


def test_before_its_first_message_every_declared_key_is_open(host):
    host.session()
    assert host.dispatch(S1, "session/configChanged", config={"worktree": True}) is None
    assert host.state(S1)["config"]["values"]["worktree"] is True


def test_after_it_only_what_the_schema_says(host):
    host.session()
    host.turn(host.chat())
    words = "Session configuration 'worktree' is not writable."
    change = {"mode": "act", "worktree": True}
    assert host.dispatch(S1, "session/configChanged", config=change) == words
    assert host.state(S1)["config"]["values"] == {"mode": "ask"}
    assert host.dispatch(S1, "session/configChanged", config={"mode": "act"}) is None
    assert host.dispatch(S1, "session/configChanged", config={"nothing": 1}) == (
        "Session configuration 'nothing' is not writable."
    )
    assert "expected one of" in host.dispatch(S1, "session/configChanged", config={"mode": "x"})


def test_a_replacement_drops_no_key_that_may_not_be_written(host):
    host.session(config={"worktree": False})
    host.turn(host.chat())
    refused = host.dispatch(S1, "session/configChanged", config={"mode": "act"}, replace=True)
    assert refused == "Session configuration 'worktree' is not writable."
    kept = {"mode": "act", "worktree": False}
    assert host.dispatch(S1, "session/configChanged", config=kept, replace=True) is None
    assert host.state(S1)["config"]["values"] == kept


def test_a_change_reaches_the_backend_at_the_next_turn(host):
    host.session()
    host.turn(host.chat())
    host.dispatch(S1, "session/configChanged", config={"mode": "act"})
    assert not host.agent.chats[0].closed
    host.turn(host.chat())
    assert host.agent.chats[0].closed
    assert host.agent.chats[1].start.config == {"mode": "act"}
    assert [turn["id"] for turn in host.agent.chats[1].start.history] == ["turn-1"]


def test_a_session_with_no_configuration_of_its_agent_s_takes_none(sessions_host):
    host = sessions_host()
    host.session()
    assert host.state(S1)["config"]["values"] == {}
    assert host.dispatch(S1, "session/configChanged", config={"a": 1}) == (
        "Session configuration 'a' is not writable."
    )


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ({"type": "number"}, True, "v: found True"),
        ({"type": "number"}, 1.5, None),
        ({"type": "string", "enum": ["a"], "enumDynamic": True}, "b", None),
        ({"type": "array", "items": {"type": "string"}}, ["a", 1], "v[1]: found 1"),
        ({"type": "array", "minItems": 1}, [], "v: found 0 items, expected at least 1"),
        ({"type": "array", "maxItems": 1}, [1, 2], "v: found 2 items, expected at most 1"),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {},
            "v.a: is missing",
        ),
        (
            {"type": "object", "additionalProperties": {"type": "boolean"}},
            {"x": 1},
            "v.x: found 1",
        ),
        ({"type": "object"}, {"x": 1}, None),
        ({"type": "number", "minimum": 3}, 1, "v: 1 is less than the minimum of 3"),
        ({"type": "string", "pattern": "^a"}, "b", "v: "),
        (
            {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "number"}}}},
            [{"n": "x"}],
            "v[0].n: found 'x'",
        ),
        ({"type": "nobody knows"}, 1, None),
        ({"$ref": "http://127.0.0.1:9/schema.json"}, 1, None),
    ],
)
def test_a_value_is_checked_by_its_path(schema, value, words):
    found = next(problems(schema, value, "v"), None)
    assert found is None if words is None else found.startswith(words)


def test_a_change_of_nothing_is_said_back_where_there_is_no_configuration(sessions_host):
    host = sessions_host()
    host.session()
    assert host.dispatch(S1, "session/configChanged", config={}) is None
    assert host.kinds(S1) == ["session/configChanged"]


def test_a_change_sent_on_a_chat_is_answered_there_and_moves_the_session(host):
    host.session()
    chat = host.chat()
    host.forget()
    changed = {"config": {"mode": "act"}, "ahpd.note": "kept"}
    assert host.dispatch(chat, "session/configChanged", **changed) is None
    assert host.said(chat) == [{"type": "session/configChanged", **changed}]
    assert host.said(S1) == [{"type": "session/configChanged", "config": {"mode": "act"}}]
    assert host.state(S1)["config"]["values"]["mode"] == "act"
    assert "config" not in host.state(chat)
    host.forget()
    assert host.dispatch(chat, "session/configChanged", config={"nothing": 1}) == (
        "Session configuration 'nothing' is not writable."
    )
    assert host.said() == []


# -- what an agent is asked with, and what it leaves unnamed ------------------------------


class Writing(Iterative):
    """Writes to what it is asked with."""

    refused = 0

    def config_schema(self, working_directory, values):
        if "mode" in values:
            for change in (
                lambda: values.__setitem__("mode", "moved"),
                lambda: values["nested"]["deep"].append("moved"),
            ):
                try:
                    change()
                except TypeError:
                    self.refused += 1
        schema = super().config_schema(working_directory, values)
        schema["properties"]["nested"] = {"type": "object", "title": "Nested", "properties": {}}
        return schema


def test_an_agent_that_is_asked_cannot_move_what_a_session_is_configured_with(sessions_host):
    agent = Writing("it")
    host = sessions_host(agents={"it": agent})
    given = {"mode": "act", "nested": {"deep": ["one"]}}
    host.session(config=given)
    agent.refused = 0
    starts = SessionStarts(host.service, OpenAccess())
    host.wait(starts.start_chat(S1, ChatRequest(prompt="hello"), "motion"))
    host.service.resolve_config({"provider": "it", "config": given})
    assert agent.refused >= 4
    assert host.store.state(S1)["config"]["values"] == given
    assert given == {"mode": "act", "nested": {"deep": ["one"]}}


class Unnamed(Iterative):
    """Leaves in its settings what a client draws as an empty form."""

    def config_schema(self, working_directory, values):
        schema = super().config_schema(working_directory, values)
        schema["properties"]["env"] = {"type": "object", "title": "Environment"}
        if working_directory is not None:
            schema["properties"]["list"] = {"type": "array", "title": "List"}
        return schema


def test_what_an_agents_settings_leave_unnamed_is_a_line_of_the_log_once(sessions_host, log_lines):
    host = sessions_host(agents={"it": Unnamed("it")})

    def lines():
        return [line for line in log_lines() if "the settings the agent" in line]

    env = "the settings the agent it has for a session: env: object with no properties"
    for _ in range(2):
        resolve(host)
        host.session()
        assert lines() == [env]
    host.service.resolve_config({"provider": "it", "workingDirectory": "file:///tmp"})
    assert lines() == [
        env,
        "the settings the agent it has for a session: list: array with no items",
    ]
