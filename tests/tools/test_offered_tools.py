"""The host's own set, as sessions list it, switch it off, and are refused what does not fit."""

import pytest

from ahpd.protocol.check import check_strict
from ahpd.protocol.shapes.tools import ToolDefinition
from ahpd.tools import links
from ahpd.tools.own import own_tools

S1, S2 = "ahp-session:/s1", "ahp-session:/s2"
SESSION_TOOLS = [
    "list_sessions",
    "get_current_session",
    "set_workspace",
    "create_session",
    "create_chat",
    "rename_chat",
    "send_message",
    "get_session_context",
    "delete_session",
]
ARTIFACT_TOOLS = [
    "add_artifact_or_reference",
    "remove_artifact_or_reference",
    "list_artifacts_and_references",
]
OTHERS = ["ahp_resource", "ahp_resource_edit", "ahp_terminals", "ahp_terminals_control"]


def names(state):
    return [tool["name"] for tool in state.get("serverTools", [])]


def test_a_session_lists_them_in_their_order(tools):
    assert names(tools.state(S1)) == [*SESSION_TOOLS, *ARTIFACT_TOOLS, *OTHERS]
    for definition in tools.state(S1)["serverTools"]:
        check_strict(definition, ToolDefinition, definition["name"])
        assert definition["description"]
        assert definition["title"]


def test_what_they_do_to_the_world_is_what_they_say(tools):
    for definition in tools.state(S1)["serverTools"]:
        effects = tools.registry.effects(definition["name"])
        read_only = definition["annotations"]["readOnlyHint"]
        assert read_only is not effects.writes, definition["name"]
        assert effects.reads or effects.writes


def test_what_begins_or_ends_work_elsewhere_is_what_a_person_is_asked_about(tools):
    asked = {
        definition["name"]
        for definition in tools.state(S1)["serverTools"]
        if tools.registry.effects(definition["name"]).destructive
    }
    assert asked == {
        "set_workspace",
        "create_session",
        "create_chat",
        "send_message",
        "delete_session",
        "ahp_resource_edit",
        "ahp_terminals_control",
    }
    for definition in tools.state(S1)["serverTools"]:
        if definition["name"] in asked:
            assert definition["annotations"]["destructiveHint"] is True


def test_a_host_without_terminals_or_resources_has_none_of_their_tools():
    made = own_tools(None, seconds=lambda: 0, ids=lambda: "id")
    assert [tool.name for tool in made] == [*SESSION_TOOLS, *ARTIFACT_TOOLS]


def test_a_conversation_is_opened_with_what_its_session_lists(tools):
    start = tools.agent.chats[0].start
    assert [tool["name"] for tool in start.server_tools] == names(tools.state(S1))
    assert "add_artifact_or_reference" in start.instructions


# -- the session's own choice -------------------------------------------------------------


def choose(host, switches, session=S1):
    host.probe.dispatch(session, {"type": "session/configChanged", "config": {"tools": switches}})
    host.host.settle()


def test_a_session_does_without_what_it_switches_off(tools, read):
    tools.session(S2)
    choose(tools, {"send_message": False, "list_sessions": True, "unheard_of": False})
    said = tools.said(S1, "session/serverToolsChanged")
    assert len(said) == 1
    assert "send_message" not in [tool["name"] for tool in said[0]["tools"]]
    assert "send_message" not in names(tools.state(S1))
    assert "list_sessions" in names(tools.state(S1))
    assert "send_message" in names(tools.state(S2))
    words = read.failure(tools.call("send_message", session=S2, message="x"))
    assert words == "This host has no tool named send_message for this session."
    offered = [tool["name"] for tool in tools.agent.chats[-1].start.server_tools]
    assert "send_message" not in offered
    choose(tools, {})
    assert "send_message" in names(tools.state(S1))
    read.text(tools.call("send_message", session=S2, message="x"))


def test_instructions_go_with_the_tool_they_are_of(tools):
    choose(tools, {"add_artifact_or_reference": False})
    tools.turn(tools.chat())
    assert tools.agent.chats[-1].start.instructions is None


def test_a_new_session_begins_with_its_choice(tools):
    tools.make(S2, config={"tools": {"delete_session": False}})
    assert "delete_session" not in names(tools.state(S2))
    assert tools.said(S2, "session/serverToolsChanged") == []


@pytest.mark.parametrize("value", [[], "all", 7, None, {"send_message": 0}, {"send_message": None}])
def test_a_choice_that_is_none_switches_nothing_off(tools, value):
    before = names(tools.state(S1))
    choose(tools, value)
    assert names(tools.state(S1)) == before
    assert tools.said(S1, "session/serverToolsChanged") == []


def test_the_choice_holds_after_a_restart(tool_host):
    host = tool_host()
    host.session()
    choose(host, {"send_message": False})
    kept = host.host.kept
    host.stop()
    again = tool_host(kept=kept, clock=host.host.clock, ids=host.host.ids)
    assert "send_message" not in names(again.state(S1))


# -- what does not fit ----------------------------------------------------------------------

LINK = "agent-host-session://scripted/s1"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("list_sessions", {"status": "idle"}),
        ("list_sessions", {"status": ["busy"]}),
        ("list_sessions", {"session": 7}),
        ("list_sessions", {"createdBefore": "soon"}),
        ("set_workspace", {}),
        ("set_workspace", {"workspaceFolder": "/work/a"}),
        ("set_workspace", {"workspaceFolder": "here", "isolation": False}),
        ("set_workspace", {"workspaceFolder": "/work/a", "isolation": "no"}),
        ("create_session", {"title": "T"}),
        ("create_session", {"prompt": "p"}),
        ("create_session", {"prompt": " ", "title": "T"}),
        ("create_session", {"prompt": "p", "title": " "}),
        ("create_session", {"prompt": "p", "title": "x" * 201}),
        ("create_session", {"prompt": "p", "title": "T", "relationship": "child"}),
        ("create_session", {"prompt": "p", "title": "T", "worktree": False}),
        ("create_session", {"prompt": "p", "title": "T", "workspace": "nowhere"}),
        ("create_session", {"prompt": "p", "title": "T", "model": "none"}),
        ("create_chat", {}),
        ("create_chat", {"prompt": ""}),
        ("create_chat", {"prompt": "p", "session": "ahp-session:/none"}),
        ("create_chat", {"prompt": "p", "session": "ahp-chat:/c"}),
        ("create_chat", {"prompt": "p", "model": ["scripted-1"]}),
        ("rename_chat", {}),
        ("rename_chat", {"title": "\n"}),
        ("rename_chat", {"title": "T", "session": "ahp-session:/none"}),
        ("rename_chat", {"title": "T", "chat": "x"}),
        ("send_message", {"session": LINK}),
        ("send_message", {"session": LINK, "message": " "}),
        ("send_message", {"session": "x", "message": "m"}),
        ("send_message", {"session": f"{LINK}?chat=none", "message": "m"}),
        ("get_session_context", {}),
        ("get_session_context", {"session": ""}),
        ("get_session_context", {"session": LINK, "detail": "all"}),
        ("get_session_context", {"session": LINK, "transcriptLimit": "9"}),
        ("get_session_context", {"session": LINK, "transcriptLimit": -1}),
        ("delete_session", {}),
        ("delete_session", {"session": ["ahp-session:/s1"]}),
        ("add_artifact_or_reference", {}),
        ("add_artifact_or_reference", {"items": []}),
        ("add_artifact_or_reference", {"items": [{"type": "file"}]}),
        ("remove_artifact_or_reference", {"id": 7}),
        ("ahp_resource", {}),
        ("ahp_resource", {"uri": "mem:/a", "action": "write"}),
        ("ahp_resource", {"uri": "mem:/a", "offset": -1}),
        ("ahp_resource_edit", {"uri": "mem:/a"}),
        ("ahp_resource_edit", {"uri": "mem:/a", "action": "read"}),
        ("ahp_terminals", {"action": "open"}),
        ("ahp_terminals", {"action": "read"}),
        ("ahp_terminals", {"action": "read", "terminal": "x", "characters": 0}),
        ("ahp_terminals_control", {}),
        ("ahp_terminals_control", {"action": "write", "text": "x"}),
        ("ahp_terminals_control", {"action": "open", "title": "x" * 201}),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_words_and_do_nothing(
    tools, read, name, arguments
):
    before = tools.rows(), tools.host.store.state(S1)["title"]
    words = read.failure(tools.call(name, **arguments))
    assert words.startswith(f"Invalid {name} input: "), words
    assert [row["resource"] for row in tools.rows()] == [row["resource"] for row in before[0]]
    assert len(tools.state(S1)["chats"]) == 1
    assert tools.state(S1)["title"] == before[1]
    assert "queuedMessages" not in tools.state(tools.chat())
    assert tools.programs.started == []


# -- links ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "chat", "link"),
    [
        ({"provider": "p", "resource": "ahp-session:/a"}, None, "agent-host-session://p/a"),
        (
            {"provider": "p q", "resource": "x:/a/b c"},
            "ahp-chat:/c/1",
            "agent-host-session://p%20q/a%2Fb%20c?chat=c%2F1",
        ),
        (
            {"provider": "p", "resource": "x:/a"},
            "ahp-chat://c1/eDovYQ",
            "agent-host-session://p/a?chat=c1",
        ),
        (
            {"provider": "p", "resource": "x:/a", "defaultChat": "ahp-chat:/c"},
            "ahp-chat:/c",
            "agent-host-session://p/a",
        ),
    ],
)
def test_a_link_reads_back_as_what_it_was_made_of(row, chat, link):
    assert links.link_to(row, chat) == link
    named = links.parsed(f" {link} ")
    assert named.provider == row["provider"]
    assert links.session_id(named.session) == links.session_id(row["resource"])
    default = chat is None or chat == row.get("defaultChat")
    assert named.chat == (None if default else links.chat_id(chat))


def test_what_is_no_name_names_nothing():
    for text in ("", "x", "agent-host-session://", "agent-host-session://p", "ahp-root://", "/a/b"):
        assert links.parsed(text) is None, text
    assert links.parsed("agent-host-session://p/a?chat=default").chat is None
    assert links.parsed("AGENT-HOST-SESSION://p/a?turn=t%201#x").turn == "t 1"
