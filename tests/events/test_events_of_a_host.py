"""What a host does, as a plugin that listens hears it: each moment once, in its order."""

import pytest

from ahpd.app.observed import HeardLog
from ahpd.daemon.log import log_line
from ahpd.events.bus import Listener
from ahpd.extensions.access import OpenAccess
from ahpd.interfaces import EVENTS, AgentAbilities, AgentFailure
from ahpd.protocol.errors import RpcError
from ahpd.protocol.uris import ROOT
from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate, ScriptedAgent
from ahpd.testing.failing_store import FailingStore
from ahpd.testing.host import MemoryHost
from ahpd.testing.terminals import ScriptedTerminals

S1, C2 = "ahp-session:/s1", "ahp-chat:/c2"
FAILED = {"errorType": "agentError", "message": "It broke"}


class KnowsUsers(OpenAccess):
    """A host with a directory of users, where everybody holds everything."""

    def owner(self, reader):
        return "root:here"


@pytest.fixture
def agent():
    return ScriptedAgent(
        abilities=AgentAbilities(workers=True, steering=True, resume=True, reopens=True)
    )


@pytest.fixture
def make(agent):
    made = []

    def make(**options):
        host = MemoryHost({"scripted": agent}, **options)
        made.append(host)
        return host

    yield make
    for host in made:
        host.stop()


@pytest.fixture
def host(make):
    return make()


def listen(host, *events):
    """What is heard from now on of these, of all but the log where none is named."""
    heard = []
    for name in events or [name for name in EVENTS if name != "log"]:
        told = Listener("p", lambda payload, name=name: heard.append((name, dict(payload))))
        host.host.plugins.events.listen(name, told)
    return heard


def names(heard):
    return [name for name, _ in heard]


def of(heard, name):
    return [payload for each, payload in heard if each == name]


def created(host, client, session=S1, **params):
    host.run(client.request("createSession", channel=session, **params))
    host.run(client.subscribe(session))
    chat = client.state(session)["defaultChat"]
    host.run(client.subscribe(chat))
    return chat


def send(host, client, chat, text="hello", turn="t1", **fields):
    client.dispatch(
        chat,
        {
            "type": "chat/turnStarted",
            "turnId": turn,
            "startedAt": "2026-01-02T03:04:05.000Z",
            "message": {"text": text, "origin": {"kind": "user"}, **fields},
        },
    )
    host.settle()


def stop(host, client, chat, turn="t1"):
    client.dispatch(chat, {"type": "chat/turnCancelled", "turnId": turn, "duration": 0})
    host.settle()


def wait_in_queue(host, client, chat, text="next", identifier="q1"):
    message = {"text": text, "origin": {"kind": "user"}}
    pending = {"type": "chat/pendingMessageSet", "kind": "queued", "id": identifier}
    client.dispatch(chat, {**pending, "message": message})
    host.settle()


# -- who is here, and in what --------------------------------------------------------------------


def test_a_client_comes_makes_a_session_is_in_it_and_goes(host):
    heard = listen(host)
    client = host.connect("ada", ROOT)
    created(host, client)
    host.cut(client)
    assert heard == [
        ("client_connect", {"client": "ada"}),
        ("session_start", {"session": S1, "provider": "scripted", "client": "ada"}),
        ("session_opened", {"session": S1, "client": "ada"}),
        ("client_disconnect", {"client": "ada"}),
    ]


def test_a_client_is_here_from_its_first_connection_to_its_last(host):
    heard = listen(host, "client_connect", "client_disconnect")
    one, two = host.connect("ada"), host.connect("ada")
    host.cut(one)
    assert heard == [("client_connect", {"client": "ada"})]
    host.cut(two)
    host.reconnect(two)
    assert names(heard) == ["client_connect", "client_disconnect", "client_connect"]


def test_a_connection_that_never_says_who_it_is_is_no_client(host):
    heard = listen(host)
    host.attach(host.client("nobody"))
    host.settle()
    assert heard == []


def test_a_session_is_opened_once_by_each_client_by_way_of_any_of_its_chats(host):
    ada = host.connect("ada")
    chat = created(host, ada)
    heard = listen(host, "session_opened")
    bob = host.connect("bob", chat)
    host.run(bob.subscribe(S1))
    bob.unsubscribe(S1)
    host.settle()
    host.run(bob.subscribe(S1))
    host.cut(bob)
    host.reconnect(bob)
    assert heard == [("session_opened", {"session": S1, "client": "bob"})]
    host.run(host.connect("bob-2").subscribe(S1))
    assert of(heard, "session_opened")[1:] == [{"session": S1, "client": "bob-2"}]


def test_a_session_made_anew_under_a_name_is_opened_anew(host):
    ada = host.connect("ada")
    created(host, ada)
    heard = listen(host, "session_start", "session_opened", "session_end")
    for _ in range(2):
        host.run(ada.request("disposeSession", channel=S1))
        created(host, ada)
    assert names(heard)[-3:] == ["session_end", "session_start", "session_opened"]


def test_asking_for_a_session_that_is_there_starts_none(host):
    ada = host.connect("ada")
    created(host, ada)
    heard = listen(host)
    host.run(ada.request("createSession", channel=S1))
    host.settle()
    assert heard == []


def test_a_session_that_is_disposed_of_ends_behind_its_turn(host, agent):
    ada = host.connect("ada")
    chat = created(host, ada)
    agent.then(scripts.never_ends)
    send(host, ada, chat)
    heard = listen(host)
    host.run(ada.request("disposeSession", channel=S1))
    assert names(heard) == ["turn_end", "session_end"]
    assert heard[1][1] == {"session": S1, "reason": "disposed"}


def test_a_session_that_was_never_sent_a_message_is_abandoned_after_a_day(host):
    ada = host.connect("ada")
    host.run(ada.request("createSession", channel=S1))
    heard = listen(host, "session_end")
    host.cut(ada)
    host.advance(26 * 3600)
    assert heard == [("session_end", {"session": S1, "reason": "abandoned"})]


def test_a_chat_that_moves_into_a_session_of_its_own_starts_it_for_who_asked(host):
    ada = host.connect("ada", ROOT)
    ada.dispatch(ROOT, {"type": "root/configChanged", "config": {"chatMoves.enabled": True}})
    send(host, ada, created(host, ada, workingDirectories=["file:///a"]))
    host.run(ada.request("createChat", channel=S1, chat=C2))
    host.run(ada.subscribe(C2))
    send(host, ada, C2, turn="t2")
    heard = listen(host)
    moved = host.run(ada.request("moveChat", channel=C2, destination={"kind": "newSession"}))
    started = {"session": moved["session"], "provider": "scripted", "client": "ada"}
    assert heard == [("session_start", started)]


def test_a_session_that_is_woken_did_not_start(agent):
    first = MemoryHost({"scripted": agent})
    ada = first.connect("ada")
    send(first, ada, created(first, ada))
    first.stop()
    again = MemoryHost({"scripted": agent}, kept=first.kept, clock=first.clock, ids=first.ids)
    heard = listen(again)
    bob = again.connect("bob")
    again.run(bob.subscribe(S1))
    assert bob.state(S1)["lifecycle"] == "ready"
    assert names(heard) == ["client_connect", "session_opened"]
    again.stop()


def test_a_first_subscription_opens_what_is_asleep_by_its_chat_too(agent):
    first = MemoryHost({"scripted": agent})
    ada = first.connect("ada")
    chats = {}
    for session in (S1, "ahp-session:/s2"):
        chats[session] = created(first, ada, session)
        send(first, ada, chats[session])
    first.stop()
    again = MemoryHost({"scripted": agent}, kept=first.kept, clock=first.clock, ids=first.ids)
    heard = listen(again, "session_opened")
    again.connect("bob", S1, chats["ahp-session:/s2"], "ahp-session:/none", ROOT)
    assert not again.store.is_open(S1)
    assert [payload["session"] for _, payload in heard] == [S1, "ahp-session:/s2"]
    again.stop()


# -- turns ---------------------------------------------------------------------------------------


def test_a_turn_begins_with_its_message_and_ends(host):
    ada = host.connect("ada")
    chat = created(host, ada)
    heard = listen(host)
    send(host, ada, chat, "hello there")
    turn = {"session": S1, "chat": chat, "turn": "t1"}
    end = {"session": S1, "channel": chat, "turnId": "t1", "reason": {"kind": "success"}}
    assert heard == [
        ("turn_start", turn),
        ("message", {**turn, "text": "hello there"}),
        ("turn_end", end),
    ]


def test_the_next_turn_begins_behind_the_end_of_the_one_before(host, agent):
    ada, gate = host.connect("ada"), Gate()
    chat = created(host, ada)
    agent.then(scripts.waits_at(gate))
    heard = listen(host)
    send(host, ada, chat)
    wait_in_queue(host, ada, chat)
    gate.open()
    host.settle()
    assert names(heard) == ["turn_start", "message", "turn_end"] * 2
    began, ended = of(heard, "turn_start")[1], of(heard, "turn_end")[1]
    assert began["queuedMessageId"] == "q1"
    assert "queuedMessageId" not in ended  # its backend ended it, and no drain
    assert "queuedMessageId" not in of(heard, "turn_start")[0]
    assert ended["turnId"] == began["turn"]


def test_a_turn_that_is_stopped_is_cancelled(host, agent):
    ada = host.connect("ada")
    chat = created(host, ada)
    agent.then(scripts.never_ends)
    send(host, ada, chat)
    heard = listen(host)
    stop(host, ada, chat, turn="another")
    assert heard == []
    stop(host, ada, chat)
    assert [payload["reason"] for payload in of(heard, "turn_end")] == [{"kind": "cancelled"}]
    stop(host, ada, chat)
    assert names(heard) == ["turn_end"]


def test_a_turn_that_fails_says_how_and_one_that_is_resumed_begins_again(host, agent):
    ada = host.connect("ada")
    chat = created(host, ada)
    agent.then(scripts.fails("It broke", resumable=True))
    heard = listen(host)
    send(host, ada, chat)
    reason = {"kind": "error", "error": FAILED, "resumable": True}
    assert of(heard, "turn_end")[0]["reason"] == reason
    ada.dispatch(chat, {"type": "chat/turnResume", "turnId": "t1"})
    host.settle()
    assert names(heard) == ["turn_start", "message", "turn_end", "turn_start", "turn_end"]
    assert of(heard, "turn_start")[1] == {"session": S1, "chat": chat, "turn": "t1"}
    assert of(heard, "turn_end")[1]["reason"] == {"kind": "success"}


def test_a_turn_whose_agent_cannot_be_opened_ends_as_a_send_that_failed(host, agent):
    async def refuses(start):
        raise AgentFailure("It broke")

    agent.open_chat = refuses
    ada = host.connect("ada")
    chat = created(host, ada)
    heard = listen(host)
    send(host, ada, chat)
    assert names(heard) == ["turn_start", "message", "turn_end"]
    assert heard[2][1]["reason"] == {"kind": "error", "error": FAILED, "resumable": False}


def archive(host, client, on=True):
    client.dispatch(S1, {"type": "session/isArchivedChanged", "isArchived": on})
    host.settle()


def test_a_turn_the_host_refuses_has_an_end_alone(host):
    ada = host.connect("ada")
    chat = created(host, ada)
    send(host, ada, chat)
    archive(host, ada)
    heard = listen(host)
    send(host, ada, chat, turn="t2")
    assert names(heard) == ["turn_end"]
    end = heard[0][1]
    assert (end["turnId"], end["channel"]) == ("t2", chat)
    assert end["reason"]["kind"] == "rejected"
    assert end["reason"]["error"]["errorType"] == "sessionArchived"
    assert end["reason"]["recoverable"] is False
    assert "queuedMessageId" not in end


def test_a_waiting_message_the_drain_could_not_hand_on_is_named_by_its_end(host, agent):
    ada, gate = host.connect("ada"), Gate()
    chat = created(host, ada)
    agent.then(scripts.waits_at(gate))
    send(host, ada, chat)
    wait_in_queue(host, ada, chat)
    archive(host, ada)
    heard = listen(host)
    gate.open()
    host.settle()
    assert names(heard) == ["turn_end", "turn_end"]
    assert heard[1][1]["reason"]["kind"] == "rejected"
    assert heard[1][1]["queuedMessageId"] == "q1"


@pytest.mark.logs_failures
def test_a_start_that_cannot_be_kept_is_rejected_and_its_sender_has_the_message_still(make):
    kept = FailingStore()
    kept.close()
    host = make(kept=kept)
    ada = host.connect("ada")
    chat = created(host, ada)
    send(host, ada, chat)
    host.advance(5)
    heard = listen(host)
    kept.full = True
    send(host, ada, chat, turn="t2")
    kept.full = False
    assert names(heard) == ["turn_end"]
    reason = heard[0][1]["reason"]
    assert (reason["kind"], reason["recoverable"]) == ("rejected", True)
    assert reason["error"]["errorType"] == "storeFailed"


def test_a_worker_s_turn_ends_on_its_own_chat_and_has_no_start(host, agent):
    workers = []

    async def delegates(turn):
        call = turn.running("task")
        worker = turn.worker(call, "look")
        workers.append(worker.chat)
        worker.tool("grep", "found")
        worker.done()
        turn.complete(call, "done")

    ada = host.connect("ada")
    chat = created(host, ada)
    agent.then(delegates)
    heard = listen(host)
    send(host, ada, chat)
    assert names(heard) == [
        "turn_start",
        "message",
        "tool_call",
        "turn_end",
        "tool_call",
        "turn_end",
    ]
    assert [end["channel"] for end in of(heard, "turn_end")] == [workers[0], chat]
    assert [call["chat"] for call in of(heard, "tool_call")] == [workers[0], chat]


def test_a_turn_sent_in_front_of_another_s_end_and_that_other_each_end_once(host, agent):
    ada, gate = host.connect("ada"), Gate()
    chat = created(host, ada)
    agent.then(scripts.waits_at(gate), scripts.waits_at(gate))
    heard = listen(host, "turn_start", "turn_end")
    send(host, ada, chat, turn="t1")
    send(host, ada, chat, turn="t2")
    gate.open()
    host.settle()
    told = [payload.get("turn") or payload["turnId"] for _, payload in heard]
    assert list(zip(names(heard), told, strict=True)) == [
        ("turn_start", "t1"),
        ("turn_start", "t2"),
        ("turn_end", "t1"),
        ("turn_end", "t2"),
    ]


def test_a_stop_of_the_turn_in_front_ends_those_behind_it_too(host, agent):
    ada = host.connect("ada")
    chat = created(host, ada)
    agent.then(scripts.never_ends)
    heard = listen(host, "turn_end")
    for turn in ("t1", "t2", "t3"):
        send(host, ada, chat, turn=turn)
    stop(host, ada, chat, turn="t3")
    assert [end["turnId"] for end in of(heard, "turn_end")] == ["t3", "t2", "t1"]
    assert {end["reason"]["kind"] for end in of(heard, "turn_end")} == {"cancelled"}


def test_a_truncation_that_drops_the_turn_that_runs_ends_it(host, agent):
    ada = host.connect("ada")
    chat = created(host, ada)
    agent.then(scripts.never_ends)
    send(host, ada, chat)
    heard = listen(host)
    ada.dispatch(chat, {"type": "chat/truncated"})
    host.settle()
    assert [(name, end["reason"]["kind"]) for name, end in heard] == [("turn_end", "cancelled")]


def test_a_command_is_a_turn_that_ends_as_the_hosts_own(make):
    programs = ScriptedTerminals()
    host = make(terminals=programs)
    ada = host.connect("ada")
    chat = created(host, ada)
    heard = listen(host)
    send(host, ada, chat, "!make")
    programs.last.exits(2)
    host.settle()
    assert names(heard) == ["turn_start", "message", "terminal_open", "tool_call", "turn_end"]
    assert of(heard, "message")[0]["text"] == "!make"
    assert of(heard, "turn_end")[0]["reason"] == {"kind": "localCommand"}
    assert of(heard, "tool_call") == [
        {"session": S1, "chat": chat, "tool": "terminal", "ok": False}
    ]
    opened = of(heard, "terminal_open")[0]
    assert set(opened) == {"terminal", "cwd"}
    assert opened["cwd"].startswith("file:///")
    send(host, ada, chat, "!sleep", turn="t2")
    stop(host, ada, chat, turn="t2")
    assert of(heard, "turn_end")[1]["reason"] == {"kind": "cancelled"}


def test_what_runs_when_the_host_goes_ends_as_interrupted(make, agent):
    host = MemoryHost({"scripted": agent})
    ada = host.connect("ada")
    chat = created(host, ada)
    agent.then(scripts.never_ends)
    send(host, ada, chat)
    said = []
    events = host.host.plugins.events
    events.listen("turn_end", Listener("p", lambda payload: None))
    emit = events.emit
    events.emit = lambda event, payload: (said.append((event, payload)), emit(event, payload))
    host.stop()
    [end] = of(said, "turn_end")
    assert end["reason"]["error"]["errorType"] == "executionInterrupted"


def test_a_sender_is_named_on_a_host_that_knows_its_users_alone(make, agent):
    for access, expected in ((KnowsUsers(), "user:bob"), (None, None)):
        host = make(access=access)
        ada = host.connect("ada")
        chat = created(host, ada)
        heard = listen(host, "turn_start", "turn_end", "message", "plan_update")
        agent.then(plans(PLAN))
        send(host, ada, chat, _meta={"ahpd.sender": "user:bob"})
        for name in ("turn_start", "turn_end", "plan_update"):
            assert of(heard, name)[0].get("sender") == expected
        assert "sender" not in of(heard, "message")[0]


# -- calls and what is waited for ----------------------------------------------------------------


def test_a_call_is_told_of_with_how_it_went(host, agent):
    async def calls(turn):
        turn.tool("read", "text")
        turn.fail(turn.running("write"), "disk full")
        twice = turn.running("echo")
        turn.complete(twice, "a")
        turn.complete(twice, "b")

    ada = host.connect("ada")
    chat = created(host, ada)
    agent.then(calls)
    heard = listen(host, "tool_call")
    send(host, ada, chat)
    where = {"session": S1, "chat": chat}
    assert of(heard, "tool_call") == [
        {**where, "tool": "read", "ok": True},
        {**where, "tool": "write", "ok": False, "error": "disk full"},
        {**where, "tool": "echo", "ok": True},
    ]


def test_a_call_that_waits_is_waited_for_until_it_is_answered(host, agent):
    async def asks(turn):
        call = turn.ask("rm", "Remove it")
        answer = await turn.confirmed(call)
        if answer.approved:
            turn.complete(call, "gone")
        else:
            turn.fail(call, "denied")

    ada = host.connect("ada")
    chat = created(host, ada)
    heard = listen(host, "input_needed_set", "input_needed_removed", "tool_call")
    for number, approved in enumerate((True, False)):
        agent.then(asks)
        send(host, ada, chat, turn=f"t{number}")
        [(kind, asked)] = heard
        assert kind == "input_needed_set"
        assert set(asked) == {"session", "chat", "id", "kind"}
        assert (asked["session"], asked["chat"]) == (S1, chat)
        assert asked["kind"] == "toolConfirmation"
        call = asked["id"].partition(f"{chat}:t{number}:")[2]
        answer = {"type": "chat/toolCallConfirmed", "turnId": f"t{number}", "toolCallId": call}
        said = {"confirmed": "user-action"} if approved else {"reason": "denied"}
        ada.dispatch(chat, {**answer, "approved": approved, **said})
        host.settle()
        assert heard[1] == ("input_needed_removed", {"session": S1, "id": asked["id"]})
        assert names(heard[2:]) == (["tool_call"] if approved else [])  # what ran is told of
        heard.clear()


PLAN = [{"content": "Look", "status": "completed"}, {"content": "Write", "status": "pending"}]


def plans(*entries_of, **structured):
    async def script(turn):
        for each in entries_of or (None,):
            call = turn.running("update_plan")
            content = {"entries": each} if each is not None else structured
            result = {"success": True, "pastTenseMessage": "Plan", "structuredContent": content}
            turn.say("chat/toolCallComplete", toolCallId=call, result=result)

    return script


def test_a_plan_that_moves_is_told_whole_or_as_one_change(host, agent):
    ada = host.connect("ada")
    chat = created(host, ada)
    ada.dispatch(S1, {"type": "session/titleChanged", "title": "Tidy up"})
    host.settle()
    agent.then(plans(PLAN), plans(change={"id": "7", "status": "completed"}))
    heard = listen(host, "plan_update")
    send(host, ada, chat)
    send(host, ada, chat, turn="t2")
    told = {
        "session": S1,
        "chat": chat,
        "turn": "t1",
        "harness": "scripted",
        "tool": "update_plan",
        "title": "Tidy up",
    }
    change = {"id": "7", "status": "completed"}
    assert of(heard, "plan_update") == [
        {**told, "entries": PLAN},
        {**told, "turn": "t2", "change": change},
    ]


def test_a_call_that_is_called_like_a_plan_and_says_none_is_a_call_alone(host, agent):
    async def calls(turn):
        turn.tool("update_plan", "- [ ] Look")

    ada = host.connect("ada")
    agent.then(calls)
    heard = listen(host, "plan_update", "tool_call")
    send(host, ada, created(host, ada))
    assert names(heard) == ["tool_call"]


# -- beside sessions -----------------------------------------------------------------------------


def test_a_terminal_is_told_of_with_its_folder(make):
    host = make(terminals=ScriptedTerminals())
    ada = host.connect("ada")
    heard = listen(host, "terminal_open")
    claim = {"kind": "client", "clientId": "ada"}
    host.run(
        ada.request("createTerminal", channel="ahp-terminal:/t", claim=claim, cwd="file:///tmp")
    )
    assert of(heard, "terminal_open") == [{"terminal": "ahp-terminal:/t", "cwd": "file:///tmp"}]
    with pytest.raises(RpcError):
        host.run(ada.request("createTerminal", channel="ahp-terminal:/t", claim=claim))
    assert len(heard) == 1


def test_a_token_that_is_lent_is_told_of_without_it(make):
    resource = "https://api.example.com"
    agent = ScriptedAgent()
    info = agent.info
    agent.info = lambda: {**info(), "protectedResources": [{"resource": resource}]}
    host = MemoryHost({"scripted": agent})
    ada = host.connect("ada")
    heard = listen(host)
    asked = {"channel": ROOT, "resource": resource}
    host.run(ada.request("authenticate", **asked, token="s3cret"))
    host.run(ada.request("authenticate", **asked, token=""))  # taken back
    with pytest.raises(RpcError):
        host.run(ada.request("authenticate", channel=ROOT, resource="https://no", token="x"))
    assert heard == [("authenticated", {"client": "ada", "resource": resource})]
    host.stop()


def test_each_line_the_log_has_is_told_of_while_the_host_runs(host):
    log = HeardLog(host.host.plugins.events, host.clock, log_line(()))
    log.startService()
    heard = listen(host, "log")
    host.connect("ada")
    assert any("ada" in payload["line"] and " info " in payload["line"] for _, payload in heard)
    count = len(heard)
    log.stopService()
    host.connect("bob")
    assert len(heard) == count


def test_a_subscriber_that_is_no_client_opens_nothing(host):
    ada = host.connect("ada")
    created(host, ada)
    heard = listen(host)
    host.store.subscribe(S1, object())
    host.store.unsubscribe(S1, next(w for w in host.store.watchers(S1) if type(w) is object))
    host.settle()
    assert heard == []


def test_nothing_is_kept_for_a_listener_that_is_not_there(host, agent):
    ada = host.connect("ada")
    chat = created(host, ada)
    agent.then(scripts.never_ends)
    send(host, ada, chat)
    told = host.host.sessions.happenings.told
    assert not told._calls
    assert not told._opened._told
    heard = listen(host)
    stop(host, ada, chat)  # somebody who came in the middle hears the end
    assert names(heard) == ["turn_end"]
    assert host.host.sessions.find_chat(chat).ending is None
