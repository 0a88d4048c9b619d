"""`rename_chat`, `set_workspace` and `delete_session`."""

import pytest

from ahpd.interfaces import AgentAbilities
from ahpd.testing.agents import ConversationsAgent, Gate
from ahpd.testing.agents.scripts import never_ends
from ahpd.testing.failing_store import FailingStore

S1, S2 = "ahp-session:/s1", "ahp-session:/s2"
A, B = "file:///work/a", "file:///work/b"


@pytest.fixture
def two(tools):
    tools.session(S2)
    return tools


# -- rename_chat -----------------------------------------------------------------------------


def test_the_chat_that_calls_is_renamed_and_its_session_with_it(two, read):
    assert read.text(two.call("rename_chat", title="  Fix   login ")) == (
        'Renamed chat to "Fix login".'
    )
    assert two.state(S1)["title"] == two.state(two.chat())["title"] == "Fix login"
    assert two.said(S1, "session/titleChanged")[-1]["title"] == "Fix login"
    assert {row["resource"]: row["title"] for row in two.rows()}[S1] == "Fix login"
    assert two.said(two.chat(), "session/titleChanged")[-1]["title"] == "Fix login"


def test_another_chat_is_renamed_alone(two, read):
    link = read.text(two.call("create_chat", session=S2, prompt="p")).partition("(")[2].rstrip(").")
    before = two.state(S2)["title"]
    read.text(two.call("rename_chat", chat=link, session=S2, title="Side &amp; more"))
    assert two.state(S2)["chats"][1]["title"] == "Side & more"
    assert two.state(S2)["title"] == before
    wrong = two.call("rename_chat", chat=link, session=S1, title="T")
    assert "session must match the owning session" in read.failure(wrong)
    assert "chat must name" in read.failure(two.call("rename_chat", chat="ahp-chat:/x", title="T"))


def test_a_project_s_session_is_named_in_words(tool_host, read):
    host = tool_host()
    host.session(workingDirectories=[A])
    read.text(host.call("rename_chat", title='"fix-login_page".'))
    assert host.state(S1)["title"] == "fix login page"
    read.text(host.call("rename_chat", title="Well-known A/B test"))
    assert host.state(S1)["title"] == "Well-known A/B test"


@pytest.mark.parametrize("title", ["", "   ", "&nbsp;", "x" * 201])
def test_a_title_that_says_nothing_or_too_much_is_refused(two, read, title):
    before = two.state(S1)["title"]
    assert "title" in read.failure(two.call("rename_chat", title=title))
    assert two.state(S1)["title"] == before


def test_a_title_that_cannot_be_kept_is_a_failure(tool_host, read):
    kept, results = FailingStore(), []
    host = tool_host(kept=kept)
    host.session()
    before = host.state(S1)["title"]

    async def script(turn):
        kept.full = True
        results.append(await turn.host.run_tool("rename_chat", {"title": "No"}, "c"))
        kept.full = False

    host.turn(host.chat(), script=script)
    assert "could not be saved" in read.failure(results[0])
    assert host.state(S1)["title"] == before


# -- set_workspace ---------------------------------------------------------------------------


def move(host, folder=B, **more):
    return host.call("set_workspace", workspaceFolder=folder, isolation=False, **more)


def test_the_session_moves_once_its_turn_is_over_and_goes_on_there(tool_host, read):
    host = tool_host()
    host.session(workingDirectories=[A])
    seen = []

    async def script(turn):
        arguments = {"workspaceFolder": "/work/b", "isolation": False}
        read.text(await turn.host.run_tool("set_workspace", arguments, "c"))
        seen.append(host.host.store.state(S1)["workingDirectories"])

    host.turn(host.chat(), script=script)
    assert seen == [[A]]
    assert host.state(S1)["workingDirectories"] == [B]
    assert host.said(S1, "session/workingDirectoryReplaced") == [
        {"type": "session/workingDirectoryReplaced", "directory": A, "replacement": B}
    ]
    notice = host.state(host.chat())["turns"][-1]["message"]
    assert notice["origin"] == {"kind": "systemNotification"}
    assert notice["_meta"]["vscode.chat.workspaceContinuation"] is True
    assert B in notice["text"]
    assert [chat.start.working_directories for chat in host.agent.chats] == [(A,), (B,)]
    assert host.agent.chats[1].turns[0].message["text"] == notice["text"]


def test_a_session_without_a_folder_gets_one(two, read):
    read.text(move(two))
    assert two.state(S1)["workingDirectories"] == [B]
    assert two.said(S1, "session/workingDirectorySet")


@pytest.mark.parametrize("end", ["stopped", "failed"])
def test_a_turn_that_does_not_complete_moves_nothing(two, read, end):
    async def script(turn):
        arguments = {"workspaceFolder": "/work/b", "isolation": False}
        read.text(await turn.host.run_tool("set_workspace", arguments, "c"))
        if end == "failed":
            raise RuntimeError("broken")
        await turn.forever()

    turn = two.turn(two.chat(), script=script)
    if end == "stopped":
        two.probe.dispatch(
            two.chat(), {"type": "chat/turnCancelled", "turnId": turn, "duration": 1}
        )
    two.host.settle()
    two.turn(two.chat(), "and on")
    assert "workingDirectories" not in two.state(S1)


def test_a_person_who_was_faster_is_not_talked_over(two, read):
    chat, gate = two.chat(), Gate()

    async def script(turn):
        arguments = {"workspaceFolder": "/work/b", "isolation": False}
        read.text(await turn.host.run_tool("set_workspace", arguments, "c"))
        await gate.passed()

    two.turn(chat, script=script)
    message = {"text": "mine", "origin": {"kind": "user"}}
    queued = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q1", "message": message}
    two.probe.dispatch(chat, queued)
    two.host.settle()
    gate.open()
    two.host.settle()
    assert two.state(S1)["workingDirectories"] == [B]
    assert [turn["message"]["text"] for turn in two.state(chat)["turns"]][-1] == "mine"
    two.turn(chat, "next")
    assert two.agent.chats[-1].start.working_directories == (B,)


def test_a_worktree_a_wrong_name_and_a_busy_sibling_are_refused(two, read):
    wrong = two.call("set_workspace", workspaceFolder="/work/b", isolation=True)
    assert "makes no worktrees" in read.failure(wrong)
    assert "absolute local path" in read.failure(move(two, "work/b"))
    read.text(two.call("create_chat", prompt="p"))
    side = two.state(S1)["chats"][1]["resource"]
    two.turn(side, script=never_ends)
    assert "Another chat of this session runs a turn" in read.failure(move(two))
    two.host.settle()
    assert "workingDirectories" not in two.state(S1)


# -- delete_session --------------------------------------------------------------------------


def test_a_session_is_gone_for_everybody(two, read):
    removed = []
    two.probe.on_notification(
        lambda method, params: removed.append(params) if method == "root/sessionRemoved" else None
    )
    assert read.text(two.call("delete_session", session=S2)).startswith(f"Deleted session {S2}.")
    assert [params["session"] for params in removed] == [S2]
    assert [row["resource"] for row in two.rows()] == [S1]
    assert two.sessions.find(S2) is None
    assert "known session" in read.failure(two.call("delete_session", session=S2))


def test_the_session_that_calls_is_never_deleted_under_any_name(two, read):
    for name in (S1, "scripted:/s1", "agent-host-session://scripted/s1"):
        words = read.failure(two.call("delete_session", session=name))
        assert "refusing to delete the current session" in words
    assert two.sessions.find(S1) is not None


def test_a_running_turn_of_it_is_stopped(two, read):
    two.turn(two.chat(S2), script=never_ends)
    read.text(two.call("delete_session", session=S2))
    assert two.agent.chats[1].closed


def test_two_that_delete_each_other_at_once_are_not_left_hanging(two, read):
    """The second is gone when its agent, which heeds no stop, asks for the first's end."""
    two.agent.ignores_stop = True
    two.agent.close_gate = Gate()
    first, second, results = Gate(), Gate(), {}

    def deletes(gate, session, other):
        async def script(turn):
            await gate.passed()
            results[session] = await turn.host.run_tool("delete_session", {"session": other}, "c")

        return script

    two.turn(two.chat(S1), script=deletes(first, S1, S2))
    two.turn(two.chat(S2), script=deletes(second, S2, S1))
    first.open()
    two.host.settle()
    assert S1 not in results, "it waits for the second's agent"
    second.open()
    two.host.settle()
    assert "for this session" in read.failure(results[S2])
    two.agent.close_gate.open()
    two.agent.close_gate = None
    two.host.settle()
    read.text(results[S1])
    assert [row["resource"] for row in two.rows()] == [S1]
    assert len(two.registry._calls) == 0


def test_who_stops_waiting_for_a_deletion_does_not_stop_it(two, read):
    two.agent.close_gate = Gate()
    turn = None

    async def script(turn):
        await turn.host.run_tool("delete_session", {"session": S2}, "c")

    turn = two.turn(two.chat(), script=script)
    assert len(two.registry._calls) == 1
    two.probe.dispatch(two.chat(), {"type": "chat/turnCancelled", "turnId": turn, "duration": 1})
    two.host.settle()
    assert len(two.registry._calls) == 0
    two.agent.close_gate.open()
    two.agent.close_gate = None
    two.host.settle()
    assert two.agent.chats[1].closed
    assert two.sessions.find(S2) is None


def test_a_conversation_its_backend_keeps_is_deleted_there(tool_host, read):
    agent = ConversationsAgent(abilities=AgentAbilities(reopens=True))
    agent.keep("old")
    host = tool_host(agents={"scripted": agent})
    host.agent = agent
    host.session()
    host.host.advance(2)
    assert "ahp-session:/old" in [row["resource"] for row in host.rows()]
    read.text(host.call("delete_session", session="ahp-session:/old"))
    assert [row["resource"] for row in host.rows()] == [S1]
    assert agent.deleted == ["old"]
