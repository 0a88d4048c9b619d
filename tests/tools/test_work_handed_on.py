"""`create_session` and `create_chat`: work that an agent hands on."""

import pytest

from ahpd.interfaces import AgentFailure, ToolFailure
from ahpd.testing.agents import ScriptedAgent
from ahpd.tools import naming
from ahpd.tools.limits import MOST_CHATS, MOST_DEEP, MOST_SESSIONS, WINDOW

S1, S2 = "ahp-session:/s1", "ahp-session:/s2"
CONFIG = {
    "type": "object",
    "properties": {
        "mode": {"type": "string", "title": "Mode", "enum": ["ask", "act"], "default": "ask"},
        "isolation": {
            "type": "string",
            "title": "Isolation",
            "enum": ["folder", "worktree"],
            "default": "folder",
        },
    },
}


@pytest.fixture
def other():
    return ScriptedAgent("other", models=("big", "small"))


@pytest.fixture
def host(tool_host, other):
    mine = ScriptedAgent(models=("one", "two"))
    host = tool_host(agents={"scripted": mine, "other": other})
    host.agent = mine
    host.session()
    return host


def apart(host, **more):
    arguments = {"relationship": "independent", "prompt": "Do it", "title": "Apart", **more}
    return host.call("create_session", **arguments)


def newest(host):
    """The session that was announced last."""
    rows = [row for row in host.rows() if row["resource"] != S1]
    return max(rows, key=lambda row: host.sessions.registry.named(row["resource"]).ordinal)


# -- sessions of their own ------------------------------------------------------------------


def test_a_session_is_made_named_and_started_and_its_clients_are_told(host, read):
    added = []
    host.probe.on_notification(
        lambda method, params: added.append(params) if method == "root/sessionAdded" else None
    )
    said = read.text(apart(host))
    host.host.settle()
    row = newest(host)
    assert [params["summary"]["resource"] for params in added] == [row["resource"]]
    assert row["title"] == "Apart"
    identifier = row["resource"].partition("/")[2]
    assert said == f"New session created (agent-host-session://scripted/{identifier})."
    turns = host.state(row["defaultChat"])["turns"]
    assert [turn["message"]["text"] for turn in turns] == ["Do it"]
    assert turns[0]["message"]["origin"] == {"kind": "agent"}
    source = turns[0]["message"]["_meta"]["vscode.chat.delegation"]
    assert source["sourceSession"] == S1
    assert host.state(row["resource"])["lifecycle"] == "ready"


def test_it_is_configured_and_runs_as_its_maker(tool_host, read):
    host = tool_host()
    host.agent.schema = CONFIG
    rules = {"allow": ["Read"], "deny": ["Bash"]}
    host.session(config={"mode": "act", "permissions": rules})
    read.text(apart(host))
    values = host.state(newest(host)["resource"])["config"]["values"]
    assert values["mode"] == "act"
    assert values["permissions"] == rules
    assert values["isolation"] == "folder"


def test_another_agent_s_takes_over_what_binds_and_nothing_that_was_allowed(host, other, read):
    other.schema = CONFIG
    rules = {"allow": ["Bash"], "deny": ["Write"], "ask": ["Fetch"]}
    own = {"permissions": rules, "tools": {"send_message": False}}
    host.probe.dispatch(S1, {"type": "session/configChanged", "config": own})
    host.host.settle()
    read.text(apart(host, model="Big"))
    row = newest(host)
    assert row["provider"] == "other"
    assert host.state(row["resource"])["config"]["values"] == {
        "mode": "ask",
        "isolation": "folder",
        "permissions": {**rules, "allow": []},
        "tools": {"send_message": False},
    }
    assert host.state(row["defaultChat"])["turns"][0]["message"]["model"] == {"id": "big"}


def test_the_model_is_the_caller_s_where_none_is_named(host, read):
    made = []

    async def script(turn):
        arguments = {"relationship": "independent", "prompt": "p", "title": "t"}
        made.append(await turn.host.run_tool("create_session", arguments, "c"))

    host.agent.then(script)
    message = {"text": "go", "origin": {"kind": "user"}, "model": {"id": "two"}}
    host.probe.dispatch(
        host.chat(),
        {
            "type": "chat/turnStarted",
            "turnId": "with-model",
            "startedAt": "2026-01-02T03:04:05.000Z",
            "message": message,
        },
    )
    host.host.settle()
    read.text(made[0])
    first = host.state(newest(host)["defaultChat"])["turns"][0]["message"]
    assert first["model"] == {"id": "two"}


def test_a_model_nobody_has_or_several_have_is_refused(host, other, read):
    assert "model must match" in read.failure(apart(host, model="huge"))
    other.models = ("one",)
    assert "is ambiguous" in read.failure(apart(host, model="one"))
    assert len(host.rows()) == 1


def test_a_workspace_is_a_path_a_uri_or_a_folder_sessions_work_in(host, read):
    for number, name in enumerate(("/work/x", "file:///work/x/", "/work/y/../x")):
        read.text(apart(host, workspace=name, title=f"T{number}"))
        assert newest(host)["workingDirectories"] == ["file:///work/x"]
    for name in ("x", "relative/path", "http://host/x", "file://elsewhere/x"):
        assert "workspace must match" in read.failure(apart(host, workspace=name))


def test_a_project_is_named_by_its_name_where_that_is_one_alone(read):
    def row(uri, name):
        return {"project": {"uri": uri, "displayName": name}}

    rows = [row("file:///work/shop", "Shop"), row("file:///work/shop", "Shop"), {}]
    assert naming.workspace("t", "shop", rows) == "file:///work/shop"
    assert naming.workspace("t", "file:///work/shop", rows) == "file:///work/shop"
    with pytest.raises(ToolFailure, match=r"ambiguous.*file:///work/shop, file:///old"):
        naming.workspace("t", "SHOP", [*rows, row("file:///old", "shop")])
    with pytest.raises(ToolFailure, match="workspace must match"):
        naming.workspace("t", "store", rows)


def test_a_worktree_is_set_where_the_agent_makes_any(tool_host, read):
    host = tool_host()
    host.agent.schema = CONFIG
    host.session(workingDirectories=["file:///work/mine"])

    def isolation(**more):
        read.text(apart(host, **more))
        return host.state(newest(host)["resource"])["config"]["values"]["isolation"]

    assert isolation(workspace="/work/else") == "worktree"
    assert isolation(workspace="/work/else", worktree=False) == "folder"
    assert isolation(workspace="/work/mine") == "folder"
    assert isolation(workspace="/work/mine", worktree=True) == "worktree"


def test_a_worktree_nobody_makes_is_refused(host, read):
    assert "no worktree" in read.failure(apart(host, workspace="/work/x", worktree=True))
    assert "worktree requires workspace" in read.failure(apart(host, worktree=True))
    assert len(host.rows()) == 1


def test_sessions_make_sessions_so_deep_and_no_deeper(host, read):
    chat, words = host.chat(), None
    for depth in range(MOST_DEEP + 1):
        made = host.call(
            "create_session", chat, relationship="independent", prompt="p", title=f"T{depth}"
        )
        if not made["success"]:
            words = read.failure(made)
            break
        host.host.advance(1)
        chat = newest(host)["defaultChat"]
        host.watch(chat)
    assert depth == MOST_DEEP
    assert "sessions deep" in words


def test_depth_and_root_are_known_after_a_restart(tool_host, read):
    host = tool_host()
    host.session()
    read.text(apart(host))
    row, kept = newest(host), host.host.kept
    host.stop()
    again = tool_host(kept=kept, clock=host.host.clock, ids=host.host.ids)
    session = again.sessions.find(row["resource"])
    assert again.sessions.registry.world.facts(session.uri)["spawned"] == {"depth": 1, "root": S1}


def test_so_many_are_made_in_an_hour_by_all_that_came_of_one(host, read):
    for number in range(MOST_SESSIONS):
        read.text(apart(host, title=f"T{number}"))
    assert "Refusing to create a session" in read.failure(apart(host))
    child = newest(host)["defaultChat"]
    words = read.failure(
        host.call("create_session", child, relationship="independent", prompt="p", title="t")
    )
    assert "Refusing to create a session" in words
    host.host.advance(WINDOW + 1)
    read.text(apart(host))


def test_an_agent_that_does_not_start_shows_in_the_session_it_made(host, other, read):
    other.open_failure = AgentFailure("not today")
    read.text(apart(host, model="big"))
    row = newest(host)
    assert host.state(row["resource"])["lifecycle"] == "failed"


# -- chats ---------------------------------------------------------------------------------


def test_work_of_the_current_session_is_a_chat_of_it(host, read):
    said = read.text(host.call("create_session", prompt="Beside", title="A side job"))
    rows = host.state(S1)["chats"]
    assert [row["title"] for row in rows][1:] == ["A side job"]
    chat = rows[1]["resource"]
    link = f"agent-host-session://scripted/s1?chat={chat.partition(':/')[2]}"
    assert said == f"Chat created in the current session ({link})."
    turn = host.state(chat)["turns"][0]
    assert turn["message"]["text"] == "Beside"
    added = host.said(S1, "session/chatAdded")
    assert [each["summary"]["resource"] for each in added] == [chat]


def test_a_chat_of_it_works_in_one_of_its_folders_where_one_is_named(tool_host, read):
    agent = ScriptedAgent(capabilities={"multipleWorkingDirectories": {}})
    host = tool_host(agents={"scripted": agent})
    host.agent = agent
    host.session(workingDirectories=["file:///work/a", "file:///work/b"])
    read.text(host.call("create_session", prompt="p", title="t", workspace="/work/b/"))
    chat = host.state(S1)["chats"][1]["resource"]
    assert host.state(chat)["workingDirectories"] == ["file:///work/b"]
    wrong = host.call("create_session", prompt="p", title="t", workspace="/work/c")
    assert "is no folder of the current session" in read.failure(wrong)
    wrong = host.call("create_session", prompt="p", title="t", workspace="/work/b", worktree=True)
    assert "no worktree of its own" in read.failure(wrong)


def test_a_chat_is_made_in_a_session_that_is_named(host, read):
    host.session(S2)
    said = read.text(host.call("create_chat", session="scripted:/s2", prompt="There", model="two"))
    row = host.state(S2)["chats"][1]
    assert said.startswith("Chat created (agent-host-session://scripted/s2?chat=")
    turn = host.state(row["resource"])["turns"][0]
    assert turn["message"]["model"] == {"id": "two"}
    assert row["title"] == "There"
    wrong = host.call("create_chat", session=S2, prompt="p", model="big")
    assert 'for provider "scripted"' in read.failure(wrong)
    assert len(host.state(S2)["chats"]) == 2


def test_a_session_with_a_shaped_default_chat_gets_chats_of_its_kind(host, read):
    window = host.host.connect("w", clientInfo={"name": "vscode-editor-window"})
    host.host.run(window.request("createSession", channel="scripted:/shaped"))
    chat = host.chat("scripted:/shaped")
    assert chat.startswith("ahp-chat://default/")
    host.watch("scripted:/shaped", chat)
    host.turn(chat)
    link = read.text(host.call("create_chat", session="scripted:/shaped", prompt="p"))
    made = host.state("scripted:/shaped")["chats"][1]["resource"]
    assert made.startswith("ahp-chat://")
    link = link.partition("(")[2].rstrip(").")
    told = read.told(host.call("get_session_context", session=link))
    assert [turn["user"] for turn in told["transcript"]] == ["p"]


def test_an_archived_session_gets_no_chat(host, read):
    host.session(S2)
    host.probe.dispatch(S2, {"type": "session/isArchivedChanged", "isArchived": True})
    host.host.settle()
    assert "archived" in read.failure(host.call("create_chat", session=S2, prompt="p"))
    assert len(host.state(S2)["chats"]) == 1


def test_so_many_chats_are_made_in_an_hour(host, read):
    for _ in range(MOST_CHATS):
        read.text(host.call("create_chat", prompt="p"))
    assert "Refusing to create a chat" in read.failure(host.call("create_chat", prompt="p"))
