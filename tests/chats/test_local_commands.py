"""A message that begins with `!` is a line for the host's shell, and its turn a turn."""

import pytest

from ahpd.chats.command_turn import KILL_GRACE, LONGEST_PREVIEW, LONGEST_TEXT
from ahpd.chats.commands import command_in
from ahpd.protocol.errors import RpcError
from ahpd.protocol.status import ACTIVITY_MASK, IDLE, IN_PROGRESS, IS_READ
from ahpd.protocol.uris import ROOT
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.terminals import ScriptedTerminals

S1, FOLDER = "ahp-session:/s1", "file:///tmp"
SHELL = "/bin/sh"


@pytest.fixture
def host(sessions_host):
    host = sessions_host(programs=ScriptedTerminals())
    host.session(workingDirectories=[FOLDER])
    return host


@pytest.fixture
def chat(host):
    return host.chat()


def call_of(turn):
    [part] = turn["responseParts"]
    assert part["kind"] == "toolCall"
    return part["toolCall"]


def terminal_of(call):
    [block] = [block for block in call["content"] if block["type"] == "terminal"]
    return block


def active(host, chat):
    return host.state(chat).get("activeTurn")


# -- which messages ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("!ls -la", "ls -la"),
        ("! ls", "ls"),
        ("!!", "!"),
        ("!ls\n", "ls"),
        ("!for a in 1 2\ndo echo $a\ndone", "for a in 1 2\ndo echo $a\ndone"),
        ("!", None),
        ("!   ", None),
        ("!\n\t", None),
        ("", None),
        (" !ls", None),
        ("hello!", None),
        ("\N{FULLWIDTH EXCLAMATION MARK}ls", None),
    ],
)
def test_a_prefix_and_something_behind_it_is_a_command(text, command):
    assert command_in(text) == command


@pytest.mark.parametrize("text", ["!", "!  ", " !ls", "ls"])
def test_anything_else_goes_to_the_agent(host, chat, text):
    host.turn(chat, text)
    assert [turn.text for turn in host.agent.turns] == [text]
    assert host.programs.started == []


def test_without_terminals_it_goes_to_the_agent(sessions_host):
    host = sessions_host()
    host.session()
    host.turn(host.chat(), "!ls")
    assert [turn.text for turn in host.agent.turns] == ["!ls"]


# -- the turn and its call -----------------------------------------------------------------


def test_it_runs_at_once_in_a_terminal_of_its_own(host, chat):
    turn = host.turn(chat, "!ls -la")
    assert active(host, chat)["id"] == turn
    assert host.state(chat)["status"] & ACTIVITY_MASK == IN_PROGRESS
    program = host.programs.last.program
    assert program.argv[0] == SHELL
    assert any("ls -la" in word for word in program.argv)
    assert program.cwd == "/tmp"
    assert host.agent.turns == []
    [row] = host.state(ROOT)["terminals"]
    call = call_of(active(host, chat))
    assert row["claim"] == {
        "kind": "session",
        "session": S1,
        "chat": chat,
        "turnId": turn,
        "toolCallId": call["toolCallId"],
    }
    assert row["title"] == "Terminal"


def test_its_call_names_the_terminal_while_it_runs(host, chat):
    host.turn(chat, "!make")
    call = call_of(active(host, chat))
    [row] = host.state(ROOT)["terminals"]
    assert call["status"] == "running"
    assert call["confirmed"] == "not-needed"
    assert (call["toolName"], call["displayName"]) == ("terminal", "Terminal")
    assert call["invocationMessage"] == call["toolInput"] == call["intention"] == "make"
    assert call["_meta"] == {"toolKind": "terminal"}
    assert call["content"] == [
        {"type": "terminal", "resource": row["resource"], "title": "Terminal", "isPty": True}
    ]
    [changed] = [a for a in host.said(chat) if a["type"] == "chat/toolCallContentChanged"]
    assert "_meta" not in changed


def test_a_command_that_ran_ends_its_call_and_its_turn(host, chat):
    turn = host.turn(chat, "!make")
    host.programs.last.prints("built\r\n")
    host.clock.advance(2.5)
    host.programs.last.exits(0)
    [ended] = host.turns(chat)
    assert (ended["id"], ended["state"], ended["duration"]) == (turn, "complete", 2500)
    call = call_of(ended)
    assert (call["status"], call["success"]) == ("completed", True)
    assert call["pastTenseMessage"] == "Ran command"
    assert call["_meta"] == {"toolKind": "terminal", "vscode.toolCallDurationMs": 2500}
    terminal, text = call["content"]
    assert terminal["result"] == {"exitCode": 0, "preview": "built\r\n", "truncated": False}
    assert text == {"type": "text", "text": "built"}
    assert host.kinds(chat) == [
        "chat/turnStarted",
        "chat/toolCallStart",
        "chat/toolCallReady",
        "chat/toolCallContentChanged",
        "chat/toolCallComplete",
        "chat/turnComplete",
    ]
    assert host.state(chat)["status"] & ACTIVITY_MASK == IDLE


def test_one_that_printed_nothing_has_no_text(host, chat):
    host.turn(chat, "!true")
    host.programs.last.exits(0)
    [block] = call_of(host.turns(chat)[0])["content"]
    assert block["type"] == "terminal"


@pytest.mark.parametrize(
    ("ended", "words", "result"),
    [
        ({"code": 3}, "Command exited with code 3", {"exitCode": 3}),
        ({"signal": "SIGKILL"}, "Command was ended by SIGKILL", {}),
    ],
)
def test_one_that_fails_is_a_call_that_failed_in_a_turn_that_completes(
    host, chat, ended, words, result
):
    host.turn(chat, "!false")
    host.programs.last.exits(**ended)
    [turn] = host.turns(chat)
    assert turn["state"] == "complete"
    call = call_of(turn)
    assert (call["status"], call["success"], call["pastTenseMessage"]) == (
        "completed", False, words,
    )  # fmt: skip
    assert terminal_of(call)["result"] == {"preview": "", "truncated": False, **result}


def test_one_that_cannot_be_started_says_so(host, chat):
    host.programs.failure = "/bin/sh: no such file"
    host.turn(chat, "!ls")
    [turn] = host.turns(chat)
    call = call_of(turn)
    assert (turn["state"], call["success"]) == ("complete", False)
    assert call["pastTenseMessage"] == "Command exited with code 127"
    assert call["content"][1] == {"type": "text", "text": "/bin/sh: no such file"}


def test_a_host_that_opens_no_terminal_fails_the_call_in_its_words(host, chat, monkeypatch):
    def refused(start, uri=None):
        raise RpcError(-32603, "No terminal can be had")

    monkeypatch.setattr(host.terminals, "open", refused)
    host.turn(chat, "!ls")
    [turn] = host.turns(chat)
    call = call_of(turn)
    assert (turn["state"], call["status"], call["success"]) == ("complete", "completed", False)
    assert call["pastTenseMessage"] == "Failed to run command"
    assert call["error"] == {"message": "No terminal can be had"}
    assert "content" not in call


def test_what_breaks_inside_is_not_shown_to_clients(host, chat, monkeypatch):
    def broken(start, uri=None):
        raise KeyError("secret")

    monkeypatch.setattr(host.terminals, "open", broken)
    host.turn(chat, "!ls")
    assert call_of(host.turns(chat)[0])["error"] == {"message": "The host's log says why."}


def test_what_it_printed_is_shown_within_bounds(host, chat):
    host.turn(chat, "!yes")
    for number in range(3000):
        host.programs.last.prints(f"\x1b[32mline {number}\x1b[0m\r\n")
    host.programs.last.exits(0)
    terminal, text = call_of(host.turns(chat)[0])["content"]
    preview = terminal["result"]["preview"]
    assert terminal["result"]["truncated"] is True
    assert len(preview) <= LONGEST_PREVIEW
    assert preview.startswith("\x1b[32mline ")
    assert preview.endswith("line 2999\x1b[0m\r\n")
    assert len(text["text"]) <= LONGEST_TEXT
    assert text["text"].endswith("line 2998\nline 2999")
    assert "\x1b" not in text["text"]


def test_a_chats_own_folders_come_first(sessions_host):
    agent = ScriptedAgent(capabilities={"multipleWorkingDirectories": {}})
    host = sessions_host(agents={"scripted": agent}, programs=ScriptedTerminals())
    host.session(workingDirectories=[FOLDER, "file:///usr"])
    host.service.create_chat(
        {"channel": S1, "chat": "ahp-chat:/c2", "workingDirectories": ["file:///usr"]}
    )
    host.turn("ahp-chat:/c2", "!ls")
    assert host.programs.last.program.cwd == "/usr"


def test_where_no_folder_is_it_runs_in_the_home_folder(sessions_host):
    host = sessions_host(programs=ScriptedTerminals())
    host.session()
    host.turn(host.chat(), "!ls")
    assert host.programs.last.program.cwd == "/"


def test_a_folder_of_another_machine_runs_no_command(sessions_host):
    host = sessions_host(programs=ScriptedTerminals())
    host.session(workingDirectories=["file://elsewhere/src"])
    chat = host.chat()
    turn = host.turn(chat, "!rm -rf build")
    assert host.programs.started == []
    [ended] = host.state(chat)["turns"]
    assert (ended["id"], ended["state"]) == (turn, "complete")
    result = call_of(ended)
    assert result["success"] is False
    assert result["error"]["message"] == (
        "file://elsewhere/src is no folder of this machine, where commands run"
    )


def test_its_end_says_nothing_of_what_is_read(host, chat):
    host.dispatch(S1, "session/isReadChanged", isRead=True)
    host.forget()
    for end in ("exit", "stop"):
        turn = host.turn(chat, "!ls")
        if end == "exit":
            host.programs.last.exits(0)
        else:
            host.stop(chat, turn)
    assert "chat/isReadChanged" not in host.kinds()
    assert "session/isReadChanged" not in host.kinds()
    assert host.state(S1)["status"] & IS_READ
    assert not host.state(chat)["status"] & IS_READ  # its start left it so


def test_it_runs_on_what_admits_no_question(host, chat):
    host.turn(chat, "hello")
    host.dispatch(S1, "session/isArchivedChanged", isArchived=True)
    turn = host.turn(chat, "!ls")
    assert active(host, chat)["id"] == turn
    host.programs.last.exits(0)
    assert host.turns(chat)[-1]["state"] == "complete"


def test_a_client_sees_its_start_as_it_sent_it(host, chat):
    host.turn(chat, "!ls", _meta={"mine": 1})
    [start] = [e for e in host.store.watcher.said if e["action"]["type"] == "chat/turnStarted"]
    assert start["origin"]["clientId"] == "client-1"
    assert start["action"]["message"]["text"] == "!ls"
    assert start["action"]["_meta"] == {"mine": 1}


def test_a_first_message_of_a_new_chat_may_be_one(host):
    message = {"text": "!ls", "origin": {"kind": "user"}}
    host.service.create_chat({"channel": S1, "chat": "ahp-chat:/c2", "initialMessage": message})
    assert active(host, "ahp-chat:/c2")["message"] == message
    assert len(host.programs.started) == 1


# -- stops ---------------------------------------------------------------------------------


def test_a_stop_kills_it_and_ends_its_call(host, chat):
    turn = host.turn(chat, "!sleep 100")
    program = host.programs.last
    program.prints("\x1b[32mso far\x1b[0m\r\n")
    [row] = host.state(ROOT)["terminals"]
    host.clock.advance(1.5)
    host.stop(chat, turn)
    assert not program.runs
    [stopped] = host.turns(chat)
    call = call_of(stopped)
    assert (stopped["state"], call["status"], call["success"], call["pastTenseMessage"]) == (
        "cancelled", "completed", False, "Command was stopped",
    )  # fmt: skip
    assert call["_meta"] == {"toolKind": "terminal", "vscode.toolCallDurationMs": 1500}
    terminal, text = call["content"]
    assert terminal["resource"] == row["resource"]
    assert terminal["result"] == {"preview": "\x1b[32mso far\x1b[0m\r\n", "truncated": False}
    assert text == {"type": "text", "text": "so far"}
    assert host.state(ROOT)["terminals"] == []
    host.clock.advance(1)
    assert host.clock.getDelayedCalls() == []
    assert host.kinds(chat)[-2:] == ["chat/toolCallComplete", "chat/turnCancelled"]


def test_what_is_held_back_to_be_gathered_is_shown_of_a_stopped_one(host, chat):
    turn = host.turn(chat, "!make")
    for number in range(3):
        host.programs.last.prints(f"line {number}\r\n")
    host.stop(chat, turn)
    assert call_of(host.turns(chat)[0])["content"][1]["text"] == "line 0\nline 1\nline 2"


def test_a_second_stop_of_one_that_goes_on_dying_says_no_more_of_it(host, chat):
    host.programs.stubborn = True
    host.stop(chat, host.turn(chat, "!one"))
    host.stop(chat, host.turn(chat, "!two"))
    reports = [a for a in host.said(chat) if a["type"] == "chat/toolCallComplete"]
    assert len({a["toolCallId"] for a in reports}) == len(reports) == 2


def test_a_stop_behind_a_truncation_says_nothing_of_what_that_dropped(host, chat):
    host.turn(chat, "!one")
    host.programs.last.exits(0)
    kept = host.turns(chat)[0]["id"]
    host.programs.stubborn = True
    host.turn(chat, "!two")
    host.dispatch(chat, "chat/truncated", turnId=kept)
    turn = host.turn(chat, "!three")
    host.forget()
    host.stop(chat, turn)
    assert [a["turnId"] for a in host.said(chat) if a["type"] == "chat/toolCallComplete"] == [turn]


def test_a_stop_of_another_turn_says_nothing_of_it(host, chat):
    host.turn(chat, "!sleep 100")
    host.forget()
    host.stop(chat, "none")
    assert host.kinds(chat) == ["chat/turnCancelled"]
    assert host.programs.last.runs


@pytest.mark.parametrize("starts", [True, False])
def test_a_stop_from_inside_the_delivery_of_its_end_does_not_report_it_twice(host, chat, starts):
    host.programs.failure = None if starts else "no such file"
    deliver = host.store.watcher.deliver

    def stopping(envelope):
        deliver(envelope)
        action = host.store.watcher.said[-1]["action"]
        if action["type"] == "chat/toolCallComplete":
            host.stop(chat, action["turnId"])

    host.store.watcher.deliver = stopping
    host.turn(chat, "!make")
    if starts:
        host.programs.last.exits(127)
    assert host.kinds(chat).count("chat/toolCallComplete") == 1
    [turn] = host.turns(chat)
    assert call_of(turn)["pastTenseMessage"] == "Command exited with code 127"


def test_a_stop_from_inside_the_delivery_of_what_it_printed_shows_it(host, chat):
    class Stopping:
        def deliver(self, envelope):
            if envelope.type == "terminal/data":
                host.stop(chat, active(host, chat)["id"])

        def lagging(self):
            return False

    host.turn(chat, "!make")
    [row] = host.state(ROOT)["terminals"]
    eyes = Stopping()
    host.store.subscribe(row["resource"], eyes)
    host.programs.last.prints("built\r\n")
    assert not host.programs.last.runs
    [turn] = host.turns(chat)
    assert (turn["state"], call_of(turn)["content"][1]["text"]) == ("cancelled", "built")
    assert host.kinds(chat)[-2:] == ["chat/toolCallComplete", "chat/turnCancelled"]
    assert host.store.state(row["resource"])["lifecycle"]["status"] == "exited"
    host.store.unsubscribe(row["resource"], eyes)


def test_one_that_does_not_die_is_not_waited_for_forever(host, chat):
    host.programs.stubborn = True
    turn = host.turn(chat, "!trap '' HUP; sleep 100")
    host.stop(chat, turn)
    assert host.service.find_chat(chat).runs
    host.clock.advance(KILL_GRACE)
    assert host.state(ROOT)["terminals"] == []
    host.programs.last.exits(signal="SIGKILL")
    assert not host.service.find_chat(chat).runs
    assert len(host.turns(chat)) == 1


def test_a_late_end_of_a_stopped_one_says_nothing(host, chat):
    host.programs.stubborn = True
    host.stop(chat, host.turn(chat, "!sleep 100"))
    host.forget()
    host.programs.last.exits(0)
    assert host.kinds(chat) == []


def test_a_stop_from_inside_the_delivery_of_its_start_runs_nothing(host, chat):
    deliver = host.store.watcher.deliver

    def stopping(envelope):
        deliver(envelope)
        action = host.store.watcher.said[-1]["action"]
        if action["type"] == "chat/turnStarted":
            host.stop(chat, action["turnId"])

    host.store.watcher.deliver = stopping
    host.turn(chat, "!rm -r /")
    assert host.programs.started == []
    assert [turn["state"] for turn in host.turns(chat)] == ["cancelled"]


def test_a_stop_from_inside_the_delivery_of_its_call_runs_nothing(host, chat):
    deliver = host.store.watcher.deliver

    def stopping(envelope):
        deliver(envelope)
        action = host.store.watcher.said[-1]["action"]
        if action["type"] == "chat/toolCallStart":
            host.stop(chat, action["turnId"])

    host.store.watcher.deliver = stopping
    host.turn(chat, "!rm -r /")
    assert host.programs.started == []
    assert [turn["state"] for turn in host.turns(chat)] == ["cancelled"]


def test_a_stop_from_inside_the_delivery_of_its_terminal_kills_it(host, chat):
    deliver, runs = host.store.watcher.deliver, []

    def stopping(envelope):
        deliver(envelope)
        action = host.store.watcher.said[-1]["action"]
        if action["type"] == "chat/toolCallContentChanged":
            host.stop(chat, action["turnId"])
            runs.extend(program.runs for program in host.programs.started)

    host.store.watcher.deliver = stopping
    host.turn(chat, "!sleep 100")
    assert runs == [False]
    [turn] = host.turns(chat)
    assert (turn["state"], call_of(turn)["status"]) == ("cancelled", "completed")
    [terminal] = call_of(turn)["content"]
    assert host.kept.terminal(terminal["resource"]) is not None
    assert host.state(ROOT)["terminals"] == []


def test_a_stop_from_inside_the_opening_of_its_terminal_kills_it(host, chat):
    deliver = host.store.watcher.deliver

    def stopping(envelope):
        deliver(envelope)
        action = host.store.watcher.said[-1]["action"]
        if action["type"] == "root/terminalsChanged" and action["terminals"]:
            running = active(host, chat)
            host.stop(chat, "none" if running is None else running["id"])

    host.store.watcher.deliver = stopping
    host.turn(chat, "!sleep 100")
    assert [program.runs for program in host.programs.started] == [False]
    [turn] = host.turns(chat)
    assert (turn["state"], call_of(turn)["status"]) == ("cancelled", "cancelled")
    assert host.state(ROOT)["terminals"] == []


def test_a_host_on_its_way_out_ends_it_unrun(host, chat):
    host.turn(chat, "hello")
    host.wait(host.service.drain())
    host.turn(chat, "!ls")
    assert host.programs.started == []
    last = host.turns(chat)[-1]
    assert last["state"] == "error"
    assert last["responseParts"][-1]["error"]["errorType"] == "hostClosing"


def test_one_that_runs_when_the_host_goes_is_interrupted_and_killed(host, chat):
    host.turn(chat, "!sleep 100")
    host.programs.last.prints("so far\r\n")
    host.wait(host.service.drain())
    assert not host.programs.last.runs
    [turn] = host.turns(chat)
    [call, error] = turn["responseParts"]
    assert (turn["state"], call["toolCall"]["status"]) == ("error", "completed")
    assert call["toolCall"]["pastTenseMessage"] == "Command was stopped"
    assert call["toolCall"]["content"][1]["text"] == "so far"
    assert error["error"]["errorType"] == "executionInterrupted"
    assert "resumable" not in error
    assert host.clock.getDelayedCalls() == []


def test_a_client_that_takes_the_terminal_away_ends_it(host, chat):
    host.turn(chat, "!sleep 100")
    [row] = host.state(ROOT)["terminals"]
    host.terminals.dispose_of(row["resource"])
    [turn] = host.turns(chat)
    assert turn["state"] == "complete"
    assert call_of(turn)["pastTenseMessage"] == "Command was ended by SIGHUP"
