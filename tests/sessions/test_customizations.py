"""A session's customizations, what is decided about them, and its MCP servers.

Source: AHP.txt, `session/customizationsChanged`, `session/customizationToggled`,
`session/customizationUpdated`, `session/customizationRemoved` and `session/mcpServer*`.
"""

import pytest

from ahpd.interfaces import AgentAbilities, AgentFailure, StoreFailure
from ahpd.sessions.decisions import Decisions, Unkept
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.host import MemoryHost

S1, S2, S3 = "ahp-session:/s1", "ahp-session:/s2", "ahp-session:/s3"
HERE, THERE = "file:///here", "file:///there"
CHANGED = "session/customizationsChanged"
TOGGLED = "session/customizationToggled"
START, STOP = "session/mcpServerStartRequested", "session/mcpServerStopRequested"
BACKGROUND = "session/mcpServerBackgroundRequested"
MOVED = "session/mcpServerStateChanged"


def plugin(name="p", **fields):
    return {"type": "plugin", "id": name, "uri": f"file:///{name}", "name": name, **fields}


def skill(name="s", **fields):
    return {"type": "skill", "id": name, "uri": f"file:///{name}", "name": name, **fields}


def skills(*children, name="skills"):
    return {
        "type": "directory",
        "id": name,
        "uri": f"file:///{name}",
        "name": name,
        "enabled": True,
        "contents": "skill",
        "writable": False,
        "children": list(children),
    }


def server(name="m", kind="ready", **fields):
    state = {"kind": kind, **fields}
    return {
        "type": "mcpServer",
        "id": name,
        "uri": f"file:///{name}",
        "name": name,
        "state": state,
    }


def session_scope(enabled):
    return {"kind": "session", "enabled": enabled}


def folder_scope(folder, enabled):
    return {"kind": "workspace", "uri": folder, "enabled": enabled}


def everywhere(enabled):
    return {"kind": "global", "enabled": enabled}


class Customized:
    """A host whose agent lists some, and what its tests say to it."""

    def __init__(self, sessions_host, listed, abilities):
        self.agent = ScriptedAgent(abilities=AgentAbilities(**abilities))
        if listed:
            self.agent.more_info = {"customizations": listed}
        self.host = sessions_host(agents={"scripted": self.agent})

    def session(self, uri=S1, *folders, **params):
        self.host.session(uri, workingDirectories=list(folders), **params)
        return self.host.chat(uri)

    def open(self, uri=S1, *folders, **params):
        chat = self.session(uri, *folders, **params)
        self.host.turn(chat)
        return self.agent.chats[-1]

    def toggle(self, identifier, *enablement, session=S1):
        return self.host.dispatch(session, TOGGLED, id=identifier, enablement=list(enablement))

    def listed(self, session=S1):
        return self.host.state(session).get("customizations")

    def one(self, identifier, session=S1):
        top = self.listed(session)
        every = top + [child for entry in top for child in entry.get("children") or ()]
        return next(entry for entry in every if entry["id"] == identifier)

    def enablement(self, identifier="p", session=S1):
        return self.one(identifier, session).get("enablement")

    def said(self, *types, session=S1):
        return [action for action in self.host.said(session) if action["type"] in types]


@pytest.fixture
def customized(sessions_host):
    def make(*listed, **abilities):
        abilities.setdefault("customizations", True)
        abilities.setdefault("mcp", True)
        return Customized(sessions_host, list(listed), abilities)

    return make


# -- the list -------------------------------------------------------------------------------


def test_a_session_begins_with_what_its_agent_lists(customized):
    one = customized(plugin(), skills(skill()))
    one.session()
    assert one.listed() == [plugin(), skills(skill())]
    assert one.said(CHANGED) == []


def test_a_session_of_an_agent_that_lists_none_has_none(customized):
    one = customized()
    one.session()
    assert one.listed() is None


def test_what_a_conversation_loaded_replaces_it_and_is_said_where_it_moved(customized):
    one = customized(plugin("a"))
    chat = one.open()
    found = [plugin("b"), skills(skill())]
    chat.start.host.customizations(found)
    assert one.listed() == found
    assert one.said(CHANGED) == [{"type": CHANGED, "customizations": found}]
    chat.start.host.customizations(found)
    assert len(one.said(CHANGED)) == 1


def test_a_server_that_went_is_taken_out_by_itself(customized):
    one = customized()
    chat = one.open()
    chat.start.host.customizations([plugin(), server("m"), server("n"), server("o")])
    one.host.forget()
    chat.start.host.customizations([plugin(), server("n")])
    assert one.said() == []
    assert [action["id"] for action in one.said("session/customizationRemoved")] == ["m", "o"]
    assert one.said(CHANGED) == []
    assert [entry["id"] for entry in one.listed()] == ["p", "n"]


def test_one_server_that_moved_is_said_by_itself(customized):
    one = customized()
    chat = one.open()
    chat.start.host.customizations([plugin(), server()])
    one.host.forget()
    now = {**server(kind="stopped"), "enablement": [everywhere(False)]}
    chat.start.host.customizations([plugin(), now])
    assert one.said("session/customizationUpdated", CHANGED) == [
        {"type": "session/customizationUpdated", "customization": now}
    ]


# -- what clients bring ------------------------------------------------------------------------


def test_a_client_s_plugins_are_laid_behind_the_session_s_own(customized):
    one = customized(plugin("own"))
    one.session()
    brought = {**plugin("theirs", children=[skill("t")]), "nonce": "n", "childEnablement": {}}
    entry = {"clientId": "c", "tools": [], "customizations": [brought]}
    one.host.dispatch(S1, "session/activeClientSet", activeClient=entry)
    assert one.listed() == [plugin("own"), plugin("theirs", children=[skill("t")], clientId="c")]
    assert one.host.state(S1)["activeClients"] == [entry]
    one.host.dispatch(S1, "session/activeClientSet", activeClient=entry)
    assert len(one.said(CHANGED)) == 1
    one.host.dispatch(S1, "session/activeClientRemoved", clientId="c")
    assert one.listed() == [plugin("own")]


def test_they_are_there_from_the_creation(customized):
    one = customized()
    one.session(
        activeClient={"clientId": "client-1", "tools": [], "customizations": [plugin("theirs")]}
    )
    assert one.listed() == [plugin("theirs", clientId="client-1")]
    assert one.said(CHANGED) == []


def test_what_a_client_says_of_their_parts_is_laid_over_them(customized):
    one = customized()
    brought = plugin("theirs", children=[skill("t"), server("m")])
    brought["childEnablement"] = {"t": [session_scope(False)], "m": [session_scope(False)]}
    one.session(activeClient={"clientId": "client-1", "tools": [], "customizations": [brought]})
    assert one.one("t")["enabled"] is False
    assert one.one("m")["enablement"] == [session_scope(False)]


def test_no_backend_is_asked_about_what_a_client_brought(customized):
    one = customized(plugin("own"))
    chat = one.open(
        activeClient={
            "clientId": "client-1",
            "tools": [],
            "customizations": [plugin("theirs", children=[skill("t")])],
        }
    )
    assert one.toggle("theirs", session_scope(False)) is None
    assert one.toggle("t", session_scope(False)) is None
    assert one.enablement("theirs") == [session_scope(False)]
    assert one.one("t")["enabled"] is False
    assert chat.toggled == []


# -- decisions ------------------------------------------------------------------------------------


def test_a_switch_is_said_as_it_was_sent_before_anything_it_switches(customized):
    one = customized(plugin(), skills(skill()))
    chat = one.open()
    one.host.forget()
    assert one.toggle("p", session_scope(False)) is None
    assert one.host.said(S1) == [{"type": TOGGLED, "id": "p", "enablement": [session_scope(False)]}]
    assert chat.toggled == [("p", False)]
    assert one.enablement() == [session_scope(False)]


def test_a_switch_to_what_is_so_already_tells_no_backend(customized):
    one = customized(plugin())
    chat = one.open()
    for _ in range(2):
        assert one.toggle("p", session_scope(False)) is None
    assert len(one.said(TOGGLED)) == 2
    assert chat.toggled == [("p", False)]


def test_a_decision_for_a_session_is_its_own(customized):
    one = customized(plugin())
    one.session(S1)
    one.session(S2)
    one.toggle("p", session_scope(False))
    assert one.enablement(session=S2) is None
    assert one.host.said(S2) == []


def test_a_decision_for_every_session_reaches_each_one_there_is_and_will_be(customized):
    one = customized(plugin())
    first, second = one.open(S1), one.open(S2)
    one.host.forget()
    one.toggle("p", everywhere(False))
    assert [action["type"] for action in one.host.said(S1)] == [TOGGLED]
    assert [action["type"] for action in one.host.said(S2)] == [CHANGED]
    assert first.toggled == second.toggled == [("p", False)]
    one.session(S3)
    for session in (S1, S2, S3):
        assert one.enablement(session=session) == [everywhere(False)]


def test_a_decision_for_a_folder_reaches_the_sessions_that_work_in_it(customized):
    one = customized(plugin())
    for session, folder in ((S1, HERE), (S2, HERE), (S3, THERE)):
        one.session(session, folder)
    one.toggle("p", folder_scope(HERE, False))
    assert one.enablement(session=S1) == one.enablement(session=S2) == [folder_scope(HERE, False)]
    assert one.enablement(session=S3) is None


def test_the_narrowest_scope_counts(customized):
    one = customized(plugin())
    one.session(S1, HERE)
    second = one.open(S2, HERE)
    one.toggle("p", session_scope(True), session=S2)
    one.toggle("p", everywhere(False), folder_scope(HERE, False))
    assert one.enablement(session=S2) == [
        session_scope(True),
        folder_scope(HERE, False),
        everywhere(False),
    ]
    assert second.toggled == []


def test_a_switch_takes_back_the_decisions_it_does_not_name(customized):
    one = customized(plugin())
    one.session(S1, HERE)
    one.session(S2, HERE)
    one.toggle("p", session_scope(False), folder_scope(HERE, False), everywhere(False))
    assert len(one.enablement()) == 3
    one.toggle("p", everywhere(True))
    assert one.enablement() == one.enablement(session=S2) == [everywhere(True)]
    one.toggle("p")
    assert one.enablement() is None
    assert one.enablement(session=S2) is None


def test_what_one_session_took_back_is_taken_back_where_it_was_decided(customized):
    one = customized(plugin(), plugin("box", children=[server()]))
    for session in (S1, S2):
        one.session(session, HERE)
    for name in ("p", "m"):
        one.toggle(name, everywhere(False), folder_scope(HERE, False))
        assert len(one.enablement(name, S2)) == 2
        one.toggle(name, session=S2)
        assert one.enablement(name) is None
        assert one.enablement(name, S2) is None


def test_a_decision_taken_back_while_a_session_slept_is_not_shown_when_it_wakes(customized):
    one = customized(plugin(), server(), reopens=True)
    one.session(S1, HERE)
    one.host.turn(one.host.chat(S1))
    for name in ("p", "m"):
        one.toggle(name, everywhere(False))
    one.host.pass_time(3600)
    assert not one.host.store.is_open(S1)
    one.session(S2, HERE)
    one.toggle("p", session=S2)
    one.host.service.find(S1)
    assert one.enablement("p") is None
    assert one.enablement("m") == [everywhere(False)]
    # What a backend says by itself is not taken for a decision of this host's.
    one.toggle("m", session=S2)
    one.host.turn(one.host.chat(S1))
    found = [plugin(enablement=[folder_scope(HERE, False)]), server()]
    one.agent.chats[-1].start.host.customizations(found)
    assert one.enablement("p") == [folder_scope(HERE, False)]


def test_decisions_in_another_order_are_not_said_again(customized):
    one = customized(plugin())
    one.session(S1, HERE)
    one.toggle("p", everywhere(False), session_scope(True))
    assert one.enablement() == [everywhere(False), session_scope(True)]
    assert one.said(CHANGED) == []


def test_what_is_kept_off_is_said_to_a_backend_that_reports_it(customized):
    one = customized(plugin())
    one.session(S1)
    one.toggle("p", everywhere(False))
    one.host.turn(one.host.chat(S1))
    chat = one.agent.chats[0]
    assert chat.toggled == []
    chat.start.host.customizations([plugin(), plugin("q")])
    assert chat.toggled == [("p", False)]
    assert one.enablement() == [everywhere(False)]


def test_a_switch_of_what_is_not_there_is_said_and_keeps_nothing(customized):
    one = customized(plugin())
    one.session()
    assert one.toggle("nobody", everywhere(False)) is None
    assert len(one.said(TOGGLED)) == 1
    assert one.host.service.company.customizations._decisions.of("nobody", (), ()) == []


def test_a_decision_that_cannot_be_written_down_is_refused(customized, monkeypatch):
    one = customized(plugin())
    one.session()
    record = one.host.service.company.customizations._decisions._record

    def full(name, value):
        raise StoreFailure("host.json: the disk is full")

    monkeypatch.setattr(record, "write", full)
    words = "The decision could not be kept: host.json: the disk is full"
    assert one.toggle("p", everywhere(False)) == words
    assert one.enablement() is None


def test_decisions_outlive_the_host():
    record = Unkept()
    kept = [everywhere(False), folder_scope(THERE, True)]
    assert Decisions(record).take("p", kept, [HERE])
    again = Decisions(record)
    assert again.of("p", [HERE], []) == [everywhere(False)]
    assert again.of("p", [HERE, THERE], []) == [folder_scope(THERE, True), everywhere(False)]
    assert not again.take("p", kept, [HERE]), "nothing moved"


def test_what_was_taken_back_is_known_until_it_is_decided_again():
    record = Unkept()
    assert Decisions(record).take("p", [everywhere(False)], [HERE])
    assert Decisions(record).take("p", [], [HERE])
    held = [session_scope(True), everywhere(False)]
    assert Decisions(record).standing("p", held) == [session_scope(True)]
    assert Decisions(record).standing("q", held) == held
    assert Decisions(record).take("p", [everywhere(False)], [HERE])
    assert Decisions(record).standing("p", held) == held


# -- skills and prompts -----------------------------------------------------------------------------


def test_a_skill_is_switched_by_a_backend_that_can(customized):
    one = customized(skills(skill()))
    chat = one.open()
    one.host.forget()
    assert one.toggle("s", session_scope(False)) is None
    assert chat.toggled == [("s", False)]
    assert one.one("s")["enabled"] is False
    assert [action["type"] for action in one.host.said(S1)] == [TOGGLED]
    chat.start.host.customizations([skills(skill(), skill("t"))])
    assert one.one("s")["enabled"] is False


def test_a_backend_with_no_such_switch_puts_the_control_back(customized):
    one = customized(skills(skill()))
    one.open()
    one.agent.toggle_failure = AgentFailure("It has no such switch.")
    one.host.forget()
    assert one.toggle("s", session_scope(False)) is None
    assert [action["type"] for action in one.host.said(S1)] == [TOGGLED, CHANGED]
    assert one.one("s").get("enabled", True) is True


def test_an_agent_that_switches_nothing_puts_the_control_back(customized):
    one = customized(skills(skill()), customizations=False)
    chat = one.open()
    one.host.forget()
    assert one.toggle("s", session_scope(False)) is None
    assert [action["type"] for action in one.host.said(S1)] == [TOGGLED, CHANGED]
    assert one.one("s").get("enabled", True) is True
    assert chat.toggled == []


def test_a_plugin_stays_where_it_was_put_whatever_its_backend_says(customized):
    one = customized(plugin(), customizations=False)
    one.open()
    assert one.toggle("p", session_scope(False)) is None
    assert one.enablement() == [session_scope(False)]
    assert one.said(CHANGED) == []


# -- MCP servers --------------------------------------------------------------------------------------


def test_a_start_is_said_then_asked_of_the_backend_and_its_state_follows(customized):
    one = customized(server(kind="stopped"))
    chat = one.open()
    one.host.forget()
    assert one.host.dispatch(S1, START, id="m") is None
    assert one.host.said(S1) == [{"type": START, "id": "m"}]
    assert chat.started_servers == ["m"]
    assert one.one("m")["state"] == {"kind": "starting"}
    chat.start.host.mcp_server_state("m", {"kind": "ready"})
    assert one.said(MOVED) == [{"type": MOVED, "id": "m", "state": {"kind": "ready"}}]
    chat.start.host.mcp_server_state("m", {"kind": "ready"})
    assert len(one.said(MOVED)) == 1


def failed(words):
    error = {"errorType": "mcp-server-start-failed", "message": words}
    return {"kind": "error", "error": error}


def test_a_start_that_failed_leaves_the_server_in_error(customized):
    one = customized(server(kind="stopped"))
    one.open()
    one.agent.server_failure = AgentFailure("npx: not found")
    assert one.host.dispatch(S1, START, id="m") is None
    assert one.one("m")["state"] == failed("npx: not found")


def test_a_backend_that_cannot_start_one_is_said_to(customized):
    one = customized(server(kind="stopped"), mcp=False)
    chat = one.open()
    assert one.host.dispatch(S1, START, id="m") is None
    words = "The session provider does not support starting MCP servers."
    assert one.said(START, MOVED) == [
        {"type": START, "id": "m"},
        {"type": MOVED, "id": "m", "state": failed(words)},
    ]
    assert chat.started_servers == []


def test_a_start_with_no_conversation_open_says_so(customized):
    one = customized(server(kind="stopped"))
    one.session()
    one.host.dispatch(S1, START, id="m")
    assert "No conversation of the session is open" in one.one("m")["state"]["error"]["message"]


def test_a_failed_start_leaves_what_the_backend_said_of_the_server(customized):
    one = customized(server(kind="stopped"))
    chat = one.open()
    asking = {"kind": "authRequired", "reason": "required", "resource": {"resource": "https://x"}}

    async def start(server_id):
        chat.start.host.mcp_server_state(server_id, asking)
        raise AgentFailure("Sign in first.")

    chat.start_server = start
    one.host.dispatch(S1, START, id="m")
    assert one.one("m")["state"] == asking


def test_a_stop_is_said_and_asked_and_a_failure_is_the_log_s(customized):
    one = customized(server())
    chat = one.open()
    one.agent.server_failure = AgentFailure("It is stuck.")
    one.host.forget()
    assert one.host.dispatch(S1, STOP, id="m") is None
    assert one.host.said(S1) == [{"type": STOP, "id": "m"}]
    assert chat.stopped_servers == ["m"]
    chat.start.host.mcp_server_state("m", {"kind": "ready"})
    assert one.one("m")["state"] == {"kind": "ready"}


def test_a_turn_is_let_go_of_a_server_that_holds_it_back(customized):
    one = customized(server("m", "starting", blocking=True), server("n", "starting"), server("o"))
    chat = one.open()
    for name in ("m", "n", "o"):
        assert one.host.dispatch(S1, BACKGROUND, id=name) is None
    assert chat.left_starting == ["m"]
    assert one.one("m")["state"] == {"kind": "starting", "blocking": False}
    assert len(one.said(BACKGROUND)) == 3


@pytest.mark.parametrize("action", [START, STOP, BACKGROUND])
@pytest.mark.parametrize("identifier", ["p", "nobody"])
def test_a_request_about_no_server_is_said_and_asks_nobody(customized, action, identifier):
    one = customized(plugin())
    chat = one.open()
    one.host.forget()
    assert one.host.dispatch(S1, action, id=identifier) is None
    assert [said["type"] for said in one.host.said(S1)] == [action]
    assert chat.started_servers == chat.stopped_servers == chat.left_starting == []


def test_a_state_of_a_server_nobody_lists_is_not_said(customized):
    one = customized(plugin())
    chat = one.open()
    chat.start.host.mcp_server_state("m", {"kind": "ready"})
    assert one.said(MOVED) == []


def test_a_server_inside_a_plugin_is_one_too(customized):
    one = customized(plugin(children=[server(kind="stopped")]))
    chat = one.open()
    one.host.dispatch(S1, START, id="m")
    assert chat.started_servers == ["m"]
    chat.start.host.mcp_server_state("m", {"kind": "ready"})
    assert one.one("m")["state"] == {"kind": "ready"}


def test_a_server_stays_in_the_state_it_moved_to_when_the_list_is_made_anew(customized):
    one = customized(plugin(children=[server("inner", "stopped")]), server(kind="stopped"))
    chat = one.open()
    for name in ("m", "inner"):
        one.host.dispatch(S1, START, id=name)
        chat.start.host.mcp_server_state(name, {"kind": "ready"})
    entry = {"clientId": "c", "tools": [], "customizations": [plugin("theirs")]}
    one.host.dispatch(S1, "session/activeClientSet", activeClient=entry)
    assert one.one("m")["state"] == one.one("inner")["state"] == {"kind": "ready"}
    chat.start.host.customizations([server(kind="stopped")])
    assert one.one("m")["state"] == {"kind": "stopped"}, "the backend knows better"


# -- restarts -------------------------------------------------------------------------------------------


def test_what_was_decided_is_kept_through_a_crash(customized):
    one = customized(plugin(), plugin("q"), skills(skill()))
    chat = one.open(
        S1,
        HERE,
        activeClient={"clientId": "client-1", "tools": [], "customizations": [plugin("theirs")]},
    )
    chat.start.host.customizations([plugin(), plugin("q"), skills(skill())])
    one.toggle("p", session_scope(False))
    one.toggle("s", session_scope(False))
    one.host.crash()
    one.host.service.find(S1)
    assert [entry["id"] for entry in one.listed()] == ["p", "q", "skills"], "nobody is here"
    assert one.enablement() == [session_scope(False)]
    one.host.turn(one.host.chat())
    again = one.agent.chats[-1]
    again.start.host.customizations([plugin(), plugin("q"), skills(skill())])
    assert again.toggled == [("p", False), ("s", False)]
    assert one.enablement() == [session_scope(False)]
    assert one.one("s")["enabled"] is False


def test_a_decision_for_every_session_is_kept_by_the_next_host(tmp_path):
    for enablement, found in (([everywhere(False)], None), ([], [everywhere(False)])):
        agent = ScriptedAgent()
        agent.more_info = {"customizations": [plugin()]}
        host = MemoryHost(
            agents={"scripted": agent}, sessions="file", data_directory=tmp_path / "data"
        )
        probe = host.connect("c")
        session = f"ahp-session:/{len(enablement)}"
        host.run(probe.request("createSession", channel=session))
        host.run(probe.subscribe(session))
        assert probe.state(session)["customizations"][0].get("enablement") == found
        probe.dispatch(session, {"type": TOGGLED, "id": "p", "enablement": enablement})
        host.stop()
