"""What an ACP agent says in a turn, as actions a client can follow."""

import pytest

from ahpd.interfaces import ToolAnswer
from ahpd.protocol.reducers.chat import reduce
from ahpd.protocol.status import IDLE
from ahpd.protocol.text import plain
from ahpd.testing.agent_contract import check_said
from ahpd.testing.agents import RecordedOutput
from ahpd_agent_acp.tool_names import ToolNames
from ahpd_agent_acp.updates import TurnUpdates

HOST_TOOLS = [{"name": "add_note", "title": "Add a note"}]
CLIENT_TOOLS = [{"name": "openFile", "title": "Open a file", "clientId": "win-1"}]


class News:
    def __init__(self):
        self.heard = []

    def commands_changed(self, commands):
        self.heard.append(("commands", [each["name"] for each in commands]))

    def mode_changed(self, mode):
        self.heard.append(("mode", mode))

    def options_changed(self, options):
        self.heard.append(("options", [each["id"] for each in options]))

    def title_changed(self, title):
        self.heard.append(("title", title))


class Turn:
    """A turn, what it said, and the state a client has of it."""

    def __init__(self, **options):
        self.output = RecordedOutput("t1")
        self.news = News()
        self.updates = TurnUpdates(self.output, news=self.news, directory="/work", **options)

    def say(self, kind, /, **fields):
        self.updates.update({"sessionUpdate": kind, **fields})

    def text(self, text, kind="agent_message_chunk", **fields):
        self.say(kind, content={"type": "text", "text": text}, **fields)

    def call(self, identifier="c1", **fields):
        self.say("tool_call", **{"toolCallId": identifier, "title": "Do it", **fields})

    def move(self, identifier="c1", **fields):
        self.say("tool_call_update", toolCallId=identifier, **fields)

    @property
    def kinds(self):
        return [action["type"].removeprefix("chat/") for action in self.output.actions]

    def state(self):
        check_said(self.output.history, "t1")
        chat = {"turns": [], "status": IDLE, "modifiedAt": "2026-01-02T03:04:05Z"}
        message = {"text": "hi", "origin": {"kind": "user"}}
        started = {"type": "chat/turnStarted", "turnId": "t1", "startedAt": "2026-01-02T03:04:05Z"}
        reduce(chat, {**started, "message": message})
        for action in self.output.history:
            reduce(chat, action)
        return plain(chat["activeTurn"])

    def parts(self):
        return self.state()["responseParts"]

    def tool(self, index=0):
        return [part["toolCall"] for part in self.parts() if part["kind"] == "toolCall"][index]


def content(text):
    return {"type": "content", "content": {"type": "text", "text": text}}


# -- text -----------------------------------------------------------------------------


def test_chunks_of_one_kind_grow_one_part_and_another_kind_opens_another():
    turn = Turn()
    turn.text("Let me", kind="agent_thought_chunk")
    turn.text(" see", kind="agent_thought_chunk")
    turn.text("Hel")
    turn.text("lo")
    assert turn.kinds == ["responsePart", "reasoning", "responsePart", "delta"]
    assert [(part["kind"], part["content"]) for part in turn.parts()] == [
        ("reasoning", "Let me see"),
        ("markdown", "Hello"),
    ]


def test_a_call_and_another_message_close_the_part_that_was_open():
    turn = Turn()
    turn.text("a", messageId="m1")
    turn.text("b", messageId="m1")
    turn.text("c", messageId="m2")
    turn.call(status="in_progress")
    turn.text("d", messageId="m2")
    shown = [part.get("content") for part in turn.parts()]
    assert shown == ["ab", "c", None, "d"]


def test_a_chunk_costs_the_same_however_long_the_answer_is():
    turn = Turn()
    for _ in range(5000):
        turn.text("word ")
    assert all(len(action.get("content", "")) <= 5 for action in turn.output.actions)
    assert len(turn.output.actions) == 5000


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (
            {"type": "resource_link", "name": "a [b]", "uri": "file:///x y"},
            {"kind": "markdown", "content": "[a \\[b\\]](<file:///x y>)"},
        ),
        (
            {"type": "resource", "resource": {"uri": "file:///n.txt", "text": "hello"}},
            {"kind": "markdown", "content": "hello"},
        ),
        (
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {
                "kind": "contentRef",
                "uri": "data:image/png;base64,AAAA",
                "contentType": "image/png",
            },
        ),
        (
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {
                "kind": "contentRef",
                "uri": "data:audio/wav;base64,AAAA",
                "contentType": "audio/wav",
            },
        ),
    ],
)
def test_a_block_of_any_type_is_shown(block, part):
    turn = Turn()
    turn.say("agent_message_chunk", content=block)
    shown = dict(turn.parts()[0])
    shown.pop("id", None)
    assert shown == part


@pytest.mark.parametrize(
    "block",
    [None, "text", {"type": "text"}, {"type": "text", "text": 5}, {"type": "hologram"}, {}],
)
def test_a_block_that_is_none_says_nothing(block):
    turn = Turn()
    turn.say("agent_message_chunk", content=block)
    assert turn.output.actions == []


# -- tool calls ---------------------------------------------------------------------------


def test_a_call_is_started_readied_and_completed_once_each():
    turn = Turn()
    turn.call(kind="execute", status="pending", rawInput={"command": "ls -l"})
    assert turn.kinds == ["toolCallStart"]
    turn.move(status="in_progress")
    turn.move(status="in_progress")
    turn.move(status="completed", content=[content("a.txt")])
    turn.move(status="completed", content=[content("a.txt")])
    assert turn.kinds == ["toolCallStart", "toolCallReady", "toolCallComplete"]
    call = turn.tool()
    assert call["toolInput"] == "ls -l"
    assert call["_meta"] == {"toolKind": "terminal"}
    assert call["confirmed"] == "not-needed"
    assert call["success"] is True
    assert call["content"] == [{"type": "text", "text": "a.txt"}]


@pytest.mark.parametrize("kind", ["tool_call", "tool_call_update"])
def test_a_call_that_arrives_finished_is_said_whole(kind):
    turn = Turn()
    turn.say(kind, toolCallId="c1", title="Read a.txt", kind="read", status="completed")
    assert turn.kinds == ["toolCallStart", "toolCallReady", "toolCallComplete"]
    assert turn.tool()["status"] == "completed"
    assert turn.tool()["pastTenseMessage"] == "Read a.txt"


def test_a_call_that_failed_is_completed_with_what_went_wrong():
    turn = Turn()
    turn.call(status="in_progress")
    turn.move(status="failed", content=[content("no such file")])
    call = turn.tool()
    assert call["success"] is False
    assert call["error"] == {"message": "no such file"}


def test_a_status_that_goes_back_is_ignored():
    turn = Turn()
    turn.call(status="in_progress")
    turn.move(status="pending")
    turn.move(status="completed")
    turn.move(status="in_progress")
    turn.move(status="failed")
    turn.call(status="pending")
    assert turn.kinds == ["toolCallStart", "toolCallReady", "toolCallComplete"]


def test_content_sent_whole_again_is_said_when_it_changed():
    turn = Turn()
    turn.call(status="in_progress", content=[])
    for _ in range(3):
        turn.move(content=[content("one")])
    turn.move(content=[content("one"), content("two")])
    turn.move(content=[content("one"), content("two"), {"type": "content", "content": {}}])
    assert turn.kinds.count("toolCallContentChanged") == 2
    assert [each["text"] for each in turn.tool()["content"]] == ["one", "two"]


def test_content_sent_whole_again_is_not_even_read_again():
    read = []
    turn = Turn(terminals=lambda identifier, final: read.append(identifier))
    turn.call(status="in_progress")
    for _ in range(100):
        turn.move(content=[{"type": "terminal", "terminalId": "term-1"}])
    assert read == ["term-1"]


def test_input_that_comes_while_it_runs_is_shown_and_the_content_stays():
    turn = Turn()
    turn.call(kind="execute", status="in_progress", content=[content("out")])
    turn.move(title="Run ls", rawInput={"command": "ls"})
    call = turn.tool()
    assert call["toolInput"] == "ls"
    assert call["invocationMessage"] == "Run ls"
    assert call["content"] == [{"type": "text", "text": "out"}]


def test_a_title_that_moves_before_it_runs_is_said():
    turn = Turn()
    turn.call(title="bash", status="pending")
    turn.move(title="List the files")
    assert turn.tool()["invocationMessage"] == "List the files"


def test_raw_output_is_shown_where_there_is_no_content():
    turn = Turn()
    turn.call("c1", status="completed", rawOutput={"output": "done", "exit": 0})
    turn.call("c2", status="completed", rawOutput={"n": 1})
    turn.call("c3", status="completed", rawOutput="plain", content=[content("said")])
    texts = [turn.tool(index)["content"][0]["text"] for index in range(3)]
    assert texts == ["done", '{\n  "n": 1\n}', "said"]


def test_a_call_nobody_finished_is_left_to_the_host():
    turn = Turn()
    turn.call(status="in_progress")
    turn.updates.finished("cancelled")
    turn.move(status="completed")
    assert turn.kinds == ["toolCallStart", "toolCallReady"]
    assert turn.updates.stop_reason == "cancelled"


def test_a_diff_is_the_edit_of_a_file_with_its_lines_counted():
    turn = Turn()
    diff = {"type": "diff", "path": "src/a.py", "oldText": "a\nb\nc\n", "newText": "a\nB\nc\nd\n"}
    made = {"type": "diff", "path": "/tmp/new", "oldText": None, "newText": "x\ny\n"}
    turn.call(kind="edit", status="completed", content=[diff, made, {"type": "diff", "path": 5}])
    side = {"uri": "file:///work/src/a.py", "content": {"uri": "file:///work/src/a.py"}}
    new = {"uri": "file:///tmp/new", "content": {"uri": "file:///tmp/new"}}
    assert turn.tool()["content"] == [
        {
            "type": "fileEdit",
            "before": side,
            "after": side,
            "diff": {"added": 2, "removed": 1},
        },
        {"type": "fileEdit", "after": new, "diff": {"added": 2, "removed": 0}},
    ]


@pytest.mark.parametrize(
    ("old", "kind", "sides"),
    [
        ("", None, {"after"}),
        ("", "add", {"after"}),
        ("", "modify", {"before", "after"}),
        ("x", "delete", {"before"}),
        ("x", "modify", {"before", "after"}),
    ],
)
def test_a_diff_says_in_its_own_way_that_a_file_is_new_or_gone(old, kind, sides):
    turn = Turn()
    diff = {"type": "diff", "path": "/a", "oldText": old, "newText": "", "_meta": {"kind": kind}}
    turn.call(kind="edit", status="completed", content=[diff])
    (edit,) = turn.tool()["content"]
    assert {"before", "after"} & set(edit) == sides


def test_what_a_tool_produced_is_shown_by_its_type():
    turn = Turn()
    blocks = [
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "file:///a", "name": "a", "size": 3, "mimeType": "t/x"},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": "BBBB"}},
        {"type": "resource", "resource": {"uri": "file:///c", "text": "C"}},
    ]
    turn.call(
        status="completed",
        content=[5, "x", *({"type": "content", "content": block} for block in blocks)],
    )
    assert turn.tool()["content"] == [
        {"type": "embeddedResource", "data": "AAAA", "contentType": "image/png"},
        {"type": "resource", "uri": "file:///a", "sizeHint": 3, "contentType": "t/x"},
        {"type": "embeddedResource", "data": "BBBB", "contentType": "application/octet-stream"},
        {"type": "text", "text": "C"},
    ]


def test_a_terminal_is_named_as_the_host_knows_it_and_an_unknown_one_is_left_out():
    shown = {"type": "terminal", "resource": "ahp-terminal:/1", "title": "ls", "isPty": True}

    def terminals(identifier, final):
        result = {"result": {"exitCode": 0, "preview": "a"}} if final else {}
        return {**shown, **result} if identifier == "term-1" else None

    turn = Turn(terminals=terminals)
    items = [{"type": "terminal", "terminalId": each} for each in ("term-1", "other", 7)]
    turn.call(kind="execute", status="in_progress", content=items)
    assert turn.tool()["content"] == [shown]
    turn.move(status="completed")
    assert turn.tool()["content"] == [{**shown, "result": {"exitCode": 0, "preview": "a"}}]


def test_an_update_that_names_no_call_is_counted_and_costs_nothing_else():
    turn = Turn()
    turn.say("tool_call", title="no id")
    turn.say("tool_call_update", toolCallId=7)
    assert turn.output.actions == []
    assert turn.updates.ignored == {"tool_call": 1, "tool_call_update": 1}


# -- whose tool it is ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        {"title": "x", "name": "mcp__host__add_note"},
        {"title": "mcp__host__add_note"},
        {"title": "host_add_note", "kind": "other"},
        {"title": "Tool: host/add_note"},
        {"title": "add_note (host MCP Server)"},
        {"title": "x", "_meta": {"claudeCode": {"toolName": "mcp__host__add_note"}}},
    ],
)
def test_a_tool_of_the_hosts_is_known_in_every_spelling(call):
    turn = Turn(names=ToolNames(HOST_TOOLS, CLIENT_TOOLS))
    turn.call(**call)
    found = turn.tool()
    assert (found["toolName"], found["displayName"]) == ("mcp__host__add_note", "Add a note")
    assert "contributor" not in found


def test_a_command_that_is_spelled_as_a_tool_is_no_tool():
    turn = Turn(names=ToolNames(HOST_TOOLS, CLIENT_TOOLS))
    turn.call(title="mcp__host__add_note", kind="execute")
    assert turn.tool()["toolName"] == "execute"


@pytest.mark.parametrize("title", ["mcp__host__win-1__openFile", "win-1__openFile"])
def test_a_clients_tool_is_its_clients_and_runs_once_its_input_is_known(title):
    turn = Turn(names=ToolNames(HOST_TOOLS, CLIENT_TOOLS))
    turn.call(title=title, status="in_progress")
    assert turn.tool()["contributor"] == {"kind": "client", "clientId": "win-1"}
    assert turn.tool()["toolName"] == "openFile"
    assert turn.tool()["status"] == "streaming"
    turn.move(rawInput={"path": "a"})
    assert turn.tool()["status"] == "running"
    assert turn.updates.claim_client_call("win-1", "openFile", {"path": "a"}) == "c1"
    turn.move(status="completed", rawOutput="ok")
    assert turn.tool()["status"] == "running"  # its client says the end


def test_a_request_is_matched_with_the_call_that_has_its_arguments():
    turn = Turn(names=ToolNames([], CLIENT_TOOLS))
    for identifier, path in (("c1", "a"), ("c2", "b")):
        turn.call(
            identifier, title="win-1__openFile", status="in_progress", rawInput={"path": path}
        )
    turn.call("c3", title="win-1__openFile", status="pending")
    claim = turn.updates.claim_client_call
    assert claim("win-1", "openFile", {"path": "b"}) == "c2"
    assert claim("win-1", "openFile", {"path": "z"}) == "c3"
    assert turn.tool(2)["toolInput"] == '{\n  "path": "z"\n}'
    assert claim("win-1", "openFile", {"path": "a"}) == "c1"
    assert claim("win-1", "openFile", {"path": "a"}) is None
    assert claim("win-2", "openFile", {"path": "a"}) is None


def test_a_request_ahead_of_its_report_is_one_row():
    turn = Turn(names=ToolNames([], CLIENT_TOOLS))
    assert turn.updates.claim_client_call("win-1", "openFile", {"path": "a"}) is None
    held = turn.updates.hold_client_call("win-1", "openFile", {"path": "a"})
    turn.call(title="win-1__openFile", status="in_progress", rawInput={"path": "a"})
    turn.move(status="completed")
    assert [part["toolCall"]["toolCallId"] for part in turn.parts()] == [held]
    assert turn.tool()["displayName"] == "Open a file"
    assert turn.tool()["status"] == "running"


@pytest.mark.parametrize("shown", ['{"path": "a"}', "opens a", '["a"]', "{" * 5000])
def test_a_question_about_a_clients_tool_has_the_input_it_shows(shown):
    turn = Turn(names=ToolNames([], CLIENT_TOOLS))
    title = "win-1__openFile (host MCP Server)"
    ask(turn, title=title, kind="other", content=[content(shown)])
    told = '{\n  "path": "a"\n}' if shown == '{"path": "a"}' else None
    assert turn.tool()["contributor"] == {"kind": "client", "clientId": "win-1"}
    assert turn.tool().get("toolInput") == told
    assert turn.updates.claim_client_call("win-1", "openFile", {"path": "a"}) == "c1"


def test_what_a_question_about_a_tool_of_its_own_shows_is_no_input():
    turn = Turn(names=ToolNames([], CLIENT_TOOLS))
    ask(turn, title="Note", kind="edit", content=[content('{"path": "a"}')])
    assert "toolInput" not in turn.tool()


def test_a_clients_call_that_failed_before_it_was_asked_is_never_sent_to_it():
    turn = Turn(names=ToolNames([], CLIENT_TOOLS))
    turn.call(title="win-1__openFile", status="pending")
    turn.move(status="failed", content=[content("not allowed")])
    assert turn.tool()["status"] == "streaming"
    assert turn.updates.claim_client_call("win-1", "openFile", {}) is None


# -- a question about a call ------------------------------------------------------------------


def ask(turn, identifier="c1", options=(), **fields):
    return turn.updates.ask({"toolCallId": identifier, **fields}, options)


def answer(turn, call, **fields):
    given = ToolAnswer(**fields)
    turn.output.history.append(
        {
            "type": "chat/toolCallConfirmed",
            "turnId": "t1",
            "toolCallId": call.id,
            **(
                {"approved": True, "confirmed": "user-action"}
                if given.approved
                else {"approved": False, "reason": "denied"}
            ),
        }
    )
    turn.updates.answered(call, given)


def test_a_question_about_a_call_nobody_reported_starts_it():
    turn = Turn()
    ask(turn, kind="edit", title="Write a.txt", locations=[{"path": "a.txt"}])
    assert turn.kinds == ["toolCallStart", "toolCallReady"]
    call = turn.tool()
    assert (call["status"], call["confirmationTitle"]) == ("pending-confirmation", "Write a.txt")
    permission = turn.output.permissions["c1"]
    assert (permission.kind, permission.path) == ("write", "/work/a.txt")


def test_a_question_by_an_id_alone_is_about_the_call_that_was_reported():
    turn = Turn()
    turn.call(kind="execute", title="Run", rawInput={"command": "rm -r x"}, status="pending")
    ask(turn)
    assert turn.kinds == ["toolCallStart", "toolCallReady"]
    assert turn.tool()["toolInput"] == "rm -r x"
    assert turn.output.permissions["c1"].command == "rm -r x"


def test_a_standing_question_is_the_calls_readiness():
    turn = Turn()
    call = ask(turn, kind="execute", title="Run")
    turn.move(status="in_progress")
    assert turn.kinds.count("toolCallReady") == 1
    turn.move(rawInput={"command": "ls"}, status="in_progress")
    assert turn.kinds.count("toolCallReady") == 2
    assert turn.tool()["toolInput"] == "ls"
    assert all("confirmed" not in action for action in turn.output.actions)
    assert turn.output.permissions["c1"].command == "ls"
    turn.move(content=[content("a.txt")])
    answer(turn, call, approved=True, decided_by="user-action")
    assert turn.tool()["content"] == [{"type": "text", "text": "a.txt"}]
    turn.move(status="completed")
    assert turn.tool()["confirmed"] == "user-action"


def test_a_call_that_ended_under_its_question_ends_when_that_is_answered():
    turn = Turn()
    call = ask(turn, title="Run")
    turn.move(status="failed")
    assert turn.tool()["status"] == "pending-confirmation"
    answer(turn, call, approved=True)
    assert (turn.tool()["status"], turn.tool()["success"]) == ("completed", False)


def test_the_diff_a_person_allowed_stays_where_the_end_reports_none():
    turn = Turn()
    diff = {"type": "diff", "path": "/work/a", "oldText": "1\n", "newText": "2\n"}
    call = ask(turn, kind="edit", title="Write", content=[diff])
    answer(turn, call, approved=True)
    turn.move(status="completed", content=[content("Wrote it")])
    assert [each["type"] for each in turn.tool()["content"]] == ["text", "fileEdit"]
    call = ask(turn, "c2", kind="edit", title="Write", content=[diff])
    answer(turn, call, approved=True)
    turn.move("c2", status="failed", content=[content("No room")])
    assert [each["type"] for each in turn.tool(1)["content"]] == ["text"]


def test_a_call_that_was_not_allowed_is_over():
    turn = Turn()
    call = ask(turn, title="Run")
    answer(turn, call, approved=False)
    turn.move(status="failed", content=[content("rejected")])
    assert turn.tool()["status"] == "cancelled"


def test_of_a_call_the_hosts_rules_refused_the_end_alone_is_said():
    turn = Turn()
    call = ask(turn, title="Run")
    turn.updates.answered(call, ToolAnswer(approved=False, decision_source="host_policy"))
    turn.move(status="in_progress", title="Running")
    turn.move(status="failed", content=[content("blocked")])
    assert turn.kinds == ["toolCallStart", "toolCallReady", "toolCallComplete"]
    assert turn.output.actions[-1]["result"]["error"] == {"message": "blocked"}


def test_of_a_call_a_person_allowed_only_input_they_had_not_seen_is_said_again():
    turn = Turn()
    call = ask(turn, title="Run", kind="execute")
    answer(turn, call, approved=True, decided_by="user-action")
    turn.move(status="in_progress", title="Running")
    assert turn.kinds.count("toolCallReady") == 1
    turn.move(rawInput={"command": "ls"})
    assert turn.kinds.count("toolCallReady") == 2
    assert turn.tool()["confirmed"] == "user-action"
    turn.move(rawInput={"command": "ls -l"})
    assert turn.kinds.count("toolCallReady") == 2


def test_a_question_that_is_taken_back_leaves_the_call_to_its_agent():
    turn = Turn()
    call = ask(turn, title="Run")
    turn.updates.answered(call, None)
    turn.move(title="Still to run")
    assert turn.kinds == ["toolCallStart", "toolCallReady"]
    turn.move(status="in_progress")
    turn.move(status="completed")
    assert turn.tool()["status"] == "completed"


def test_a_call_asked_about_again_while_it_runs_shows_its_content_afterwards():
    turn = Turn()
    call = ask(turn, title="Run", kind="execute", rawInput={"command": "make"})
    answer(turn, call, approved=True)
    turn.move(status="in_progress", content=[content("half")])
    assert ask(turn, title="Run outside the sandbox") is call
    answer(turn, call, approved=True)
    assert turn.tool()["content"] == [{"type": "text", "text": "half"}]


def test_a_call_asked_about_after_it_was_over_is_another_one():
    turn = Turn()
    turn.call(kind="execute", title="Run", status="failed")
    call = ask(turn)
    assert call.id != "c1"
    assert turn.tool(1)["invocationMessage"] == "Run"
    answer(turn, call, approved=True)
    turn.move(status="completed")
    assert [turn.tool(index)["success"] for index in (0, 1)] == [False, True]


def test_somebody_who_is_asked_sees_what_would_be_written():
    turn = Turn()
    diff = {"type": "diff", "path": "/work/a", "oldText": "1\n2\n3\n", "newText": "1\ntwo\n3\n"}
    ask(turn, kind="edit", title="Write", content=[diff])
    assert turn.tool()["toolInput"] == "/work/a\n 1\n-2\n+two\n 3"


# -- the rest -----------------------------------------------------------------------------------


def test_a_plan_is_a_row_with_its_list_and_the_same_plan_is_said_once():
    turn = Turn()
    entries = [
        {"content": "Look", "priority": "high", "status": "completed"},
        {"content": "Write", "priority": "low", "status": "in_progress"},
        {"content": "Test", "status": "pending"},
    ]
    turn.say("plan", entries=entries)
    turn.say("plan", entries=entries)
    turn.say("plan", entries=[])
    assert turn.kinds == ["toolCallStart", "toolCallReady", "toolCallComplete"]
    assert turn.tool()["pastTenseMessage"] == "Plan: 1 of 3 done"
    assert turn.tool()["content"] == [
        {"type": "text", "text": "- [x] Look\n- [~] Write\n- [ ] Test"}
    ]
    assert turn.tool()["structuredContent"] == {"entries": entries}
    turn.say("plan_update", plan={"type": "markdown", "planId": "p", "content": "# Plan"})
    assert turn.tool(1)["content"] == [{"type": "text", "text": "# Plan"}]
    assert "structuredContent" not in turn.tool(1)


def test_what_is_said_of_the_session_goes_to_whoever_hears_it_after_the_turn_too():
    turn = Turn()
    turn.say("available_commands_update", availableCommands=[{"name": "plan"}, 5])
    turn.say("current_mode_update", currentModeId="ask")
    turn.say("current_mode_update", currentModeId=None)
    turn.say("config_option_update", configOptions=[{"id": "model"}])
    turn.updates.finished("end_turn")
    turn.say("session_info_update", title="A title")
    turn.say("session_info_update", updatedAt="2026-01-02T03:04:05Z")
    turn.say("session_info_update", title=None)
    assert turn.news.heard == [
        ("commands", ["plan"]),
        ("mode", "ask"),
        ("options", ["model"]),
        ("title", "A title"),
        ("title", None),
    ]
    assert turn.output.actions == []


def test_usage_is_the_context_the_cost_and_in_the_end_the_tokens():
    turn = Turn()
    cost = {"amount": 0.5, "currency": "USD"}
    turn.say("usage_update", used=100, size=1000, cost=cost)
    turn.say("usage_update", used=100, size=1000, cost=cost)
    usage = {"totalTokens": 9, "inputTokens": 5, "outputTokens": 4, "thoughtTokens": 1}
    turn.updates.finished("end_turn", {**usage, "cachedReadTokens": 2, "cachedWriteTokens": None})
    assert turn.kinds == ["usage", "usage"]
    assert turn.state()["usage"] == {
        "inputTokens": 5,
        "outputTokens": 4,
        "cacheReadTokens": 2,
        "_meta": {
            "ahpd.context": {"used": 100, "size": 1000},
            "ahpd.cost": cost,
            "ahpd.reasoningTokens": 1,
        },
    }


def test_a_notice_is_shown_and_a_persons_own_words_are_not():
    turn = Turn()
    turn.say("notice", severity="warning", title="Slow", description="The model is busy")
    turn.text("hi", kind="user_message_chunk")
    assert turn.parts() == [{"kind": "systemNotification", "content": "Slow: The model is busy"}]
    assert not turn.updates.ignored


def test_kinds_nobody_knows_are_counted_and_however_many_there_are_take_little_room():
    turn = Turn()
    for number in range(1000):
        turn.say(f"kind_{number}")
    turn.say("kind_0")
    turn.updates.update({})
    assert turn.updates.ignored["kind_0"] == 2
    assert turn.updates.ignored.total() == 1002
    assert len(turn.updates.ignored) <= 51
    assert turn.output.actions == []
