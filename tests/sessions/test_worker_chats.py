"""A worker chat: the conversation a tool call spawns, watched by people and run by its backend."""

import uuid

import pytest

from ahpd.interfaces import (
    AgentAbilities,
    AgentFailure,
    BackgroundTask,
    StoreFailure,
    TurnOver,
)
from ahpd.protocol.status import IDLE, IN_PROGRESS, IS_READ
from ahpd.protocol.uris import session_of_chat
from ahpd.testing import agents as scripts
from ahpd.testing.agents import ScriptedAgent

S1, C2, ROOT = "ahp-session:/s1", "ahp-chat:/c2", "ahp-root://"
SUBAGENT = {"toolKind": "subagent"}


@pytest.fixture
def host(sessions_host):
    agent = ScriptedAgent(abilities=AgentAbilities(workers=True))
    host = sessions_host(agents={"scripted": agent})
    host.agent = agent
    host.session()
    return host


@pytest.fixture
def spawned(host):
    """Starts a turn whose call spawns a worker; both run until told otherwise."""

    def spawn(chat=None, call_meta=SUBAGENT, prompt="look into it"):
        held = []

        async def script(turn):
            call = turn.begin("task", _meta=call_meta)
            turn.ready(call, "Running task", confirmed="not-needed", _meta=call_meta)
            worker = turn.worker(call, prompt, "Looks into it")
            held.append((turn, call, worker))
            await turn.forever()

        host.agent.then(script)
        host.turn(chat or host.chat(), "go")
        return held[0]

    return spawn


def call_of(host, chat, call):
    state = host.state(chat)
    turns = [*state["turns"], *([state["activeTurn"]] if "activeTurn" in state else [])]
    for turn in turns:
        for part in turn["responseParts"]:
            if part["kind"] == "toolCall" and part["toolCall"]["toolCallId"] == call:
                return part["toolCall"]
    raise AssertionError(f"no call {call}")


def test_a_worker_is_announced_with_what_spawned_it_and_its_prompt_is_its_turn(host, spawned):
    _, call, worker = spawned()
    [added] = [a for a in host.said(S1) if a["type"] == "session/chatAdded"]
    assert added["summary"]["resource"] == worker.chat
    assert added["summary"]["origin"] == {
        "kind": "tool",
        "chat": host.chat(),
        "toolCallId": call,
    }
    assert added["summary"]["interactivity"] == "read-only"
    assert added["summary"]["title"] == "Looks into it"
    state = host.state(worker.chat)
    assert state["activeTurn"]["message"] == {
        "text": "look into it",
        "origin": {"kind": "agent"},
    }
    kinds = host.kinds()
    started = [i for i, a in enumerate(host.said()) if a["type"] == "chat/turnStarted"]
    assert kinds.index("session/chatAdded") < started[1]


def test_a_worker_of_an_opaque_session_is_named_alike_each_time(sessions_host):
    names = []
    for _ in range(2):
        agent = ScriptedAgent()
        host = sessions_host(agents={"scripted": agent})
        host.session()

        async def script(turn):
            names.append(turn.worker(turn.running("task"), "go").chat)

        agent.then(script)
        host.turn(host.chat(), "go", "turn-1")
    assert names[0] == names[1]
    assert names[0].startswith("ahp-chat:/")
    assert uuid.UUID(names[0].removeprefix("ahp-chat:/"))
    assert session_of_chat(names[0]) is None


def test_the_call_names_its_worker_while_it_runs_and_in_its_result(host, spawned):
    turn, call, worker = spawned()
    link = {"type": "subagent", "resource": worker.chat, "title": "Looks into it"}
    held = call_of(host, host.chat(), call)
    assert held["content"] == [link]
    assert held["_meta"]["subagentChatUri"] == worker.chat
    turn.say(
        "chat/toolCallContentChanged", toolCallId=call, content=[{"type": "text", "text": "x"}]
    )
    assert call_of(host, host.chat(), call)["content"] == [{"type": "text", "text": "x"}, link]
    worker.done()
    turn.complete(call, "found it")
    assert call_of(host, host.chat(), call)["content"] == [
        {"type": "text", "text": "found it"},
        link,
    ]


def test_a_result_that_names_the_worker_itself_is_left_as_it_is(host, spawned):
    turn, call, worker = spawned()
    content = [{"type": "subagent", "resource": worker.chat, "title": "Its own"}]
    result = {"success": True, "pastTenseMessage": "Ran", "content": content}
    turn.say("chat/toolCallComplete", toolCallId=call, result=result)
    assert call_of(host, host.chat(), call)["content"] == content


def test_a_start_a_delta_and_a_question_of_such_a_call_carry_the_workers_name(host):
    names = []

    async def script(turn):
        call = turn.begin("task", _meta={**SUBAGENT, "more": 1})
        turn.say("chat/toolCallDelta", toolCallId=call, content="{}", _meta=SUBAGENT)
        turn.say("chat/toolCallReady", toolCallId=call, invocationMessage="Task?", _meta=SUBAGENT)
        other = turn.begin("read", _meta={"toolKind": "read"})
        turn.ready(other, "Reading", confirmed="not-needed")
        names.append(turn.worker(call, "go").chat)

    host.agent.then(script)
    host.turn(host.chat())
    said = [a for a in host.said(host.chat()) if a["type"].startswith("chat/toolCall")]
    stamped = [a["_meta"].get("subagentChatUri") for a in said if a.get("_meta")]
    assert stamped == [*names * 3, None]
    assert said[0]["_meta"]["more"] == 1


def test_a_worker_opened_before_its_call_runs_is_named_once_it_does(host):
    held = []

    async def script(turn):
        call = turn.begin("task")
        held.append((call, turn.worker(call, "go").chat))
        turn.ready(call, "Running", confirmed="not-needed")
        await turn.forever()

    host.agent.then(script)
    host.turn(host.chat())
    [(call, worker)] = held
    assert call_of(host, host.chat(), call)["content"][0]["resource"] == worker


def test_a_worker_says_what_it_does_on_its_own_channel_and_is_done_by_itself(host, spawned):
    _, _, worker = spawned()
    part = worker.markdown("found")
    worker.delta(part, " it")
    worker.tool("read", "a file")
    worker.done()
    [turn] = host.turns(worker.chat)
    assert turn["state"] == "complete"
    assert host.text(turn) == "found it"
    assert "activeTurn" in host.state(host.chat())
    worker.markdown("too late")
    assert host.turns(worker.chat) == [turn]


def test_a_worker_that_fails_ends_in_its_words(host, spawned):
    _, _, worker = spawned()
    worker.failed("no luck", "outOfLuck")
    [turn] = host.turns(worker.chat)
    assert turn["state"] == "error"
    assert turn["responseParts"][-1]["error"] == {"errorType": "outOfLuck", "message": "no luck"}
    assert "activeTurn" in host.state(host.chat())


def test_the_same_call_asked_again_is_the_same_worker_with_another_turn(host):
    workers = []

    async def script(turn):
        call = turn.running("task")
        for prompt in ("first", "second"):
            workers.append(turn.worker(call, prompt))
        workers[-1].done()

    host.agent.then(script)
    host.turn(host.chat())
    assert workers[0].chat == workers[1].chat
    turns = host.turns(workers[0].chat)
    assert [turn["message"]["text"] for turn in turns] == ["first", "second"]
    assert [turn["state"] for turn in turns] == ["complete", "complete"]
    assert host.kinds(S1).count("session/chatAdded") == 1


# -- people --------------------------------------------------------------------------


def test_a_person_watches_a_worker_and_sends_it_nothing(host, spawned):
    _, _, worker = spawned()
    before = host.state(worker.chat)
    assert "read-only" in host.turn(worker.chat, "hey")
    assert "read-only" in host.queue(worker.chat, "q1")
    assert "read-only" in host.queue(worker.chat, "s1", kind="steering")
    assert host.state(worker.chat) == before
    worker.failed("broke")
    turn = host.turns(worker.chat)[-1]
    refused = host.dispatch(worker.chat, "chat/turnResume", turnId=turn["id"], startedAt=host.now())
    assert refused == "Cannot resume a read-only or archived chat."


def test_a_turn_sent_to_a_worker_at_rest_is_said_and_ends_unrun(host, spawned):
    _, _, worker = spawned()
    worker.done()
    turn = host.turn(worker.chat, "hey")
    assert host.turns(worker.chat)[-1]["id"] == turn
    assert host.turns(worker.chat)[-1]["state"] == "error"
    assert "read-only" in host.turns(worker.chat)[-1]["responseParts"][-1]["error"]["message"]
    assert len(host.agent.turns) == 1


def test_anything_else_a_person_does_to_a_worker_is_applied(host, spawned):
    _, _, worker = spawned()
    draft = {"text": "hm", "origin": {"kind": "user"}}
    assert host.dispatch(worker.chat, "chat/draftChanged", draft=draft) is None
    assert host.dispatch(worker.chat, "chat/isReadChanged", isRead=True) is None
    state = host.state(worker.chat)
    assert state["draft"] == draft
    assert state["status"] & IS_READ


def test_a_stop_of_a_worker_is_the_backends_to_carry_out(host, spawned):
    _, call, worker = spawned()
    turn = host.state(worker.chat)["activeTurn"]["id"]
    assert host.stop(worker.chat, turn) is None
    assert host.turns(worker.chat)[0]["state"] == "cancelled"
    assert host.agent.chats[0].stopped_workers == [call]
    assert worker.stopped
    assert "activeTurn" in host.state(host.chat())
    worker.done()
    assert host.kinds(worker.chat).count("chat/turnComplete") == 0


def test_a_stop_that_names_no_turn_of_the_worker_stops_nothing(host, spawned):
    _, _, worker = spawned()
    assert host.stop(worker.chat, "another") is None
    assert "activeTurn" in host.state(worker.chat)
    assert host.agent.chats[0].stopped_workers == []


def test_a_worker_whose_turn_a_person_drops_is_stopped_too(host, spawned):
    _, call, worker = spawned()
    assert host.dispatch(worker.chat, "chat/truncated") is None
    assert host.agent.chats[0].stopped_workers == [call]
    worker.markdown("too late")
    assert host.turns(worker.chat) == []
    assert "activeTurn" not in host.state(worker.chat)
    assert host.kinds(worker.chat).count("chat/responsePart") == 0


def test_what_a_worker_asks_is_answered_on_its_chat(host):
    answers = []

    async def script(turn):
        worker = turn.worker(turn.running("task"), "go")
        call = worker.ask("write", "Write it?")
        answers.append(await worker.confirmed(call))
        answers.append(await worker.answered(worker.question("Which?", "a", "b")))
        called = worker.client_tool("client-1", "browse")
        answers.append(await worker.client_result(called))
        worker.done()

    host.agent.then(script)
    host.dispatch(S1, "session/activeClientSet", activeClient={"clientId": "client-1", "tools": []})
    host.turn(host.chat())
    [chat] = [row["resource"] for row in host.state(S1)["chats"] if row["resource"] != host.chat()]
    turn = host.state(chat)["activeTurn"]
    [needed] = host.state(S1)["inputNeeded"]
    assert (needed["kind"], needed["chat"]) == ("toolConfirmation", chat)
    host.dispatch(
        chat,
        "chat/toolCallConfirmed",
        turnId=turn["id"],
        toolCallId=needed["toolCall"]["toolCallId"],
        approved=True,
        confirmed="user-action",
    )
    [needed] = host.state(S1)["inputNeeded"]
    host.dispatch(chat, "chat/inputCompleted", requestId=needed["request"]["id"], response="accept")
    [needed] = host.state(S1)["inputNeeded"]
    result = {"success": True, "pastTenseMessage": "Browsed"}
    host.dispatch(
        chat,
        "chat/toolCallComplete",
        turnId=turn["id"],
        toolCallId=needed["toolCall"]["toolCallId"],
        result=result,
    )
    assert answers[0].approved
    assert answers[1].response == "accept"
    assert answers[2] == result
    assert host.turns(chat)[0]["state"] == "complete"
    assert "inputNeeded" not in host.state(S1)


# -- what spawned it ends ---------------------------------------------------------------


def test_a_stopped_turns_workers_end_with_it(host, spawned):
    _, _, worker = spawned()
    turn = host.state(host.chat())["activeTurn"]["id"]
    host.stop(host.chat(), turn)
    assert host.turns(worker.chat)[0]["state"] == "cancelled"
    assert host.agent.chats[0].stops == [turn]
    assert host.agent.chats[0].stopped_workers == []


def test_a_worker_of_an_earlier_turn_runs_on_through_a_stop(host):
    workers = []

    async def leaves_one(turn):
        workers.append(turn.worker(turn.running("task"), "go"))

    host.agent.then(leaves_one, scripts.never_ends)
    host.turn(host.chat())
    assert "activeTurn" in host.state(workers[0].chat)
    turn = host.turn(host.chat())
    host.stop(host.chat(), turn)
    assert "activeTurn" in host.state(workers[0].chat)
    workers[0].done()
    assert host.turns(workers[0].chat)[0]["state"] == "complete"


def test_a_turn_that_failed_takes_its_workers_along_but_those_that_run_behind_it(host):
    workers = []

    async def breaks(turn):
        workers.extend(turn.worker(turn.running("task"), name) for name in ("goes", "stays"))
        turn.background(
            BackgroundTask(
                id="subagent:1",
                label="stays",
                started_at="2026-01-02T03:04:05.000Z",
                worker=workers[1].chat,
            )
        )
        raise AgentFailure("broke")

    host.agent.then(breaks)
    host.turn(host.chat())
    assert host.turns(host.chat())[0]["state"] == "error"
    assert host.turns(workers[0].chat)[0]["state"] == "cancelled"
    assert "activeTurn" in host.state(workers[1].chat)
    workers[1].done()
    assert host.turns(workers[1].chat)[0]["state"] == "complete"


def test_what_a_worker_waits_for_is_over_with_it(host):
    ends = []

    async def script(turn):
        worker = turn.worker(turn.running("task"), "go")
        try:
            await worker.confirmed(worker.ask("write", "Write it?"))
        except TurnOver:
            ends.append("over")
        await turn.forever()

    host.agent.then(script)
    host.turn(host.chat())
    [chat] = [row["resource"] for row in host.state(S1)["chats"] if row["resource"] != host.chat()]
    host.stop(chat, host.state(chat)["activeTurn"]["id"])
    assert ends == ["over"]
    assert "inputNeeded" not in host.state(S1)


def test_nested_workers_hang_off_the_worker_that_spawned_them_and_end_with_it(host, spawned):
    _, call, worker = spawned()
    nested_call = worker.begin("task", _meta=SUBAGENT)
    worker.ready(nested_call, "Running", confirmed="not-needed", _meta=SUBAGENT)
    nested = worker.worker(nested_call, "deeper")
    assert host.state(nested.chat)["origin"]["chat"] == worker.chat
    held = call_of(host, worker.chat, nested_call)
    assert held["_meta"]["subagentChatUri"] == nested.chat
    host.stop(worker.chat, host.state(worker.chat)["activeTurn"]["id"])
    assert host.turns(nested.chat)[0]["state"] == "cancelled"
    assert host.agent.chats[0].stopped_workers == [call]


def test_a_stop_of_a_nested_worker_goes_to_the_one_backend(host, spawned):
    _, _, worker = spawned()
    nested_call = worker.running("task")
    nested = worker.worker(nested_call, "deeper")
    host.stop(nested.chat, host.state(nested.chat)["activeTurn"]["id"])
    assert host.agent.chats[0].stopped_workers == [nested_call]
    assert "activeTurn" in host.state(worker.chat)


def test_a_disposed_chats_workers_go_with_it(host, spawned):
    host.service.create_chat({"channel": S1, "chat": C2})
    _, _, worker = spawned(C2)
    nested = worker.worker(worker.running("task"), "deeper")
    host.wait(host.service.dispose_chat(C2))
    assert [row["resource"] for row in host.state(S1)["chats"]] == [host.chat()]
    for chat in (C2, worker.chat, nested.chat):
        assert not host.store.is_open(chat)
    ends = [a for a in host.said(worker.chat) if a["type"] == "chat/turnCancelled"]
    assert len(ends) == 1


def test_a_disposed_sessions_workers_go_with_it(host, spawned):
    _, _, worker = spawned()
    host.wait(host.service.dispose(S1))
    assert host.kinds(worker.chat).count("chat/turnCancelled") == 1
    assert not host.store.is_open(worker.chat)
    assert host.said(ROOT)[-1]["activeSessions"] == 0


def test_workers_of_a_host_on_its_way_out_are_interrupted(host, spawned):
    _, _, worker = spawned()
    host.wait(host.service.drain())
    for chat in (host.chat(), worker.chat):
        part = host.turns(chat)[0]["responseParts"][-1]
        assert part["error"]["errorType"] == "executionInterrupted"
        assert host.kinds(chat).count("chat/error") == 1


def test_a_backend_that_is_begun_again_leaves_no_worker_running(host):
    workers = []

    async def leaves_one(turn):
        workers.append(turn.worker(turn.running("task"), "go"))

    host.agent.then(leaves_one)
    host.turn(host.chat())
    host.service.find_chat(host.chat()).refresh_backend()
    host.turn(host.chat())
    assert host.turns(workers[0].chat)[0]["state"] == "cancelled"


# -- what the session shows -------------------------------------------------------------


def test_a_worker_is_in_no_row_and_in_the_count_of_active_sessions(host):
    workers = []

    async def leaves_one(turn):
        workers.append(turn.worker(turn.running("task"), "go"))

    host.agent.then(leaves_one)
    host.turn(host.chat())
    host.clock.advance(1)
    [row] = host.listing({})["items"]
    assert [chat["resource"] for chat in row["chats"]] == [host.chat()]
    assert host.root["activeSessions"] == 1
    assert host.state(workers[0].chat)["status"] & IN_PROGRESS
    workers[0].done()
    assert host.root["activeSessions"] == 0


def test_a_workers_end_says_it_unread_and_leaves_the_sessions_bit(host):
    workers = []

    async def leaves_one(turn):
        workers.append(turn.worker(turn.running("task"), "go"))

    host.agent.then(leaves_one)
    host.turn(host.chat())
    host.dispatch(S1, "session/isReadChanged", isRead=True)
    assert host.state(S1)["status"] & IS_READ
    host.forget()
    workers[0].done()
    assert host.kinds(workers[0].chat)[-1] == "chat/isReadChanged"
    assert not host.state(workers[0].chat)["status"] & IS_READ
    assert host.state(workers[0].chat)["status"] & IDLE
    assert host.state(S1)["status"] & IS_READ


def test_a_worker_leaves_a_rename_of_its_session_going_down_to_the_one_chat(host, spawned):
    _, _, worker = spawned()
    host.dispatch(S1, "session/titleChanged", title="Renamed")
    assert host.state(host.chat())["title"] == "Renamed"
    assert host.state(worker.chat)["title"] == "Looks into it"


def test_an_agent_without_workers_is_not_told_of_a_stop(sessions_host):
    agent = ScriptedAgent()
    host = sessions_host(agents={"scripted": agent})
    host.session()

    async def script(turn):
        turn.worker(turn.running("task"), "go")
        await turn.forever()

    agent.then(script)
    host.turn(host.chat())
    [chat] = [row["resource"] for row in host.state(S1)["chats"] if row["resource"] != host.chat()]
    host.stop(chat, host.state(chat)["activeTurn"]["id"])
    assert agent.chats[0].stopped_workers == []
    assert host.turns(chat)[0]["state"] == "cancelled"


# -- once the host began again ------------------------------------------------------------


def test_a_worker_reads_back_as_it_was_left(host, spawned):
    _, call, worker = spawned()
    worker.markdown("found it")
    nested = worker.worker(worker.running("task"), "deeper")
    worker.done()
    host.crash()
    assert host.service.find_chat(worker.chat) is not None
    state = host.state(worker.chat)
    assert state["origin"] == {"kind": "tool", "chat": host.chat(), "toolCallId": call}
    assert state["interactivity"] == "read-only"
    assert state["title"] == "Looks into it"
    assert host.text(state["turns"][0]) == "found it"
    assert state["turns"][0]["state"] == "complete"
    [left] = host.turns(nested.chat)
    assert left["state"] == "error"
    assert left["responseParts"][-1]["error"]["errorType"] == "executionInterrupted"
    assert call_of(host, host.chat(), call)["_meta"]["subagentChatUri"] == worker.chat
    assert host.stop(nested.chat, left["id"]) is None
    assert host.agent.chats[0].stopped_workers == []


def test_a_session_with_a_worker_at_work_stays_awake(host):
    workers = []

    async def leaves_one(turn):
        workers.append(turn.worker(turn.running("task"), "go"))

    host.agent.then(leaves_one)
    host.turn(host.chat())
    for _ in range(20):
        host.pass_time(600)
    workers[0].markdown("still here")
    workers[0].done()
    assert host.text(host.turns(workers[0].chat)[0]) == "still here"


def test_a_worker_that_cannot_be_kept_is_not_opened(host, monkeypatch):
    raised = []

    async def script(turn):
        with monkeypatch.context() as broken:
            broken.setattr(host.service.journals.store, "apply", full)
            try:
                turn.worker(turn.running("task"), "go")
            except AgentFailure as failure:
                raised.append(failure.message)

    def full(writes):
        raise StoreFailure("no space left")

    host.agent.then(script)
    host.turn(host.chat())
    [words] = raised
    assert "no space left" in words
    assert [row["resource"] for row in host.state(S1)["chats"]] == [host.chat()]
