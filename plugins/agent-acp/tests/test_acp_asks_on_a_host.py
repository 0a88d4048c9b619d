"""An ACP agent's questions on a whole host: its rules, its people, and its clients' tools."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.interfaces import Verdict
from ahpd.protocol.uris import ROOT
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.host import MemoryHost
from ahpd.testing.judges import ScriptedJudge
from ahpd_agent_acp.asks import ClientRequests
from ahpd_agent_acp.tool_names import ToolNames
from ahpd_agent_acp.updates import TurnUpdates

S1 = "ahp-session:/s1"
OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]
CANCELLED = {"outcome": {"outcome": "cancelled"}}
TOOLS = [{"name": "openFile", "title": "Open a file"}]


def selected(option):
    return {"outcome": {"outcome": "selected", "optionId": option}}


class Asking:
    """A host whose one agent is asked by a test to ask."""

    def __init__(self):
        self.judge = ScriptedJudge()
        self.agent = ScriptedAgent()
        self.host = MemoryHost({"scripted": self.agent}, judge=self.judge)
        self.ann = self.host.connect("ann", ROOT)
        self.host.run(
            self.ann.request(
                "createSession",
                channel=S1,
                activeClient={"clientId": "ann", "tools": TOOLS},
                workingDirectories=["file:///work"],
            )
        )
        self.host.run(self.ann.subscribe(S1))
        self.chat = self.ann.state(S1)["defaultChat"]
        self.host.run(self.ann.subscribe(self.chat))
        self.requests = ClientRequests(
            resources=None,
            terminals=None,
            ids=self.host.ids,
            session=S1,
            chat=self.chat,
            directory="/work",
            session_id="s1",
        )
        self.agent.then(self._script)
        message = {"text": "go", "origin": {"kind": "user"}}
        started = "2026-01-02T03:04:05.000Z"
        self.dispatch("chat/turnStarted", turnId="t1", startedAt=started, message=message)

    async def _script(self, turn):
        tools = [{**tool, "clientId": "ann"} for tool in TOOLS]
        self.turn = TurnUpdates(turn.output, names=ToolNames([], tools), directory="/work")
        await turn.forever()

    def dispatch(self, kind, **fields):
        self.ann.dispatch(self.chat, {"type": kind, **fields})
        self.host.settle()

    def say(self, kind="tool_call", **fields):
        self.turn.update({"sessionUpdate": kind, "toolCallId": "c1", "title": "Run", **fields})
        self.host.settle()

    def asks(self, method, **params):
        answers = []
        asked = self.requests.answer(method, {"sessionId": "s1", **params}, self.turn)
        Deferred.fromCoroutine(asked).addBoth(answers.append)
        self.host.settle()
        return answers

    def permission(self, **call):
        call = {"toolCallId": "c1", "title": "Run", **call}
        return self.asks("session/request_permission", toolCall=call, options=OPTIONS)

    def answer(self, approved, **more):
        fields = {"confirmed": "user-action"} if approved else {"reason": "denied"}
        fields = {"turnId": "t1", "toolCallId": "c1", "approved": approved, **fields, **more}
        self.dispatch("chat/toolCallConfirmed", **fields)

    def call(self):
        state = self.ann.plain_state(self.chat)
        turn = state.get("activeTurn") or state["turns"][-1]
        (call,) = [part["toolCall"] for part in turn["responseParts"] if "toolCall" in part]
        return call

    def stop(self):
        self.dispatch("chat/turnCancelled", turnId="t1", duration=1)


@pytest.fixture
def asking():
    made = Asking()
    yield made
    made.host.stop()


@pytest.mark.parametrize(("approved", "option"), [(True, "yes"), (False, "no")])
def test_a_person_decides_and_the_agent_is_answered_once(asking, approved, option):
    answers = asking.permission(kind="execute", rawInput={"command": "make"})
    assert asking.call()["status"] == "pending-confirmation"
    assert not {"yes", "no"} & {each["id"] for each in asking.call()["options"]}
    assert asking.ann.plain_state(S1)["inputNeeded"]
    asking.answer(approved)
    assert answers == [selected(option)]
    asking.say("tool_call_update", status="completed" if approved else "failed")
    assert asking.call()["status"] == ("completed" if approved else "cancelled")


def test_what_the_rules_allow_runs_and_nobody_is_asked(asking):
    asking.judge.verdicts["execute"] = Verdict(decision="approve", because="a rule")
    answers = asking.permission(kind="execute", rawInput={"command": "make"})
    assert answers == [selected("yes")]
    assert asking.call()["status"] == "running"
    asking.say("tool_call_update", status="completed", rawOutput="made")
    assert asking.call()["content"] == [{"type": "text", "text": "made"}]


def test_what_the_rules_refuse_ends_as_the_agent_says_and_nobody_is_asked(asking):
    asking.judge.verdicts["execute"] = Verdict(decision="deny", because="a rule")
    answers = asking.permission(kind="execute", rawInput={"command": "make"})
    assert answers == [selected("no")]
    assert asking.call()["status"] == "streaming"
    asking.say("tool_call_update", status="failed", rawOutput="blocked")
    call = asking.call()
    assert (call["status"], call["success"]) == ("completed", False)
    assert call["error"] == {"message": "blocked"}


def test_a_turn_a_person_stops_answers_what_stands(asking):
    permission = asking.permission()
    form = asking.asks("elicitation/create", mode="form", message="Who?", requestedSchema={})
    asking.stop()
    asking.host.settle()
    assert permission == [CANCELLED]
    assert form == [{"action": "cancel"}]
    assert asking.permission() == [CANCELLED]


def test_a_persons_answers_are_the_forms_content(asking):
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    answers = asking.asks("elicitation/create", mode="form", message="?", requestedSchema=schema)
    parts = asking.ann.plain_state(asking.chat)["activeTurn"]["responseParts"]
    request = parts[-1]["request"]
    name = {"state": "submitted", "value": {"kind": "text", "value": "Ann"}}
    asking.dispatch(
        "chat/inputCompleted",
        requestId=request["id"],
        response="accept",
        answers={"name": name},
    )
    assert answers == [{"action": "accept", "content": {"name": "Ann"}}]


def test_a_page_the_agent_is_done_with_is_closed_for_people(asking):
    page = {"mode": "url", "url": "https://x", "elicitationId": "e1", "message": "Sign in"}
    answers = asking.asks("elicitation/create", **page)
    assert asking.ann.plain_state(S1)["inputNeeded"]
    asking.requests.told("elicitation/complete", {"elicitationId": "e1"})
    asking.host.settle()
    assert answers == [{"action": "accept"}]
    assert not asking.ann.plain_state(S1).get("inputNeeded")


@pytest.mark.parametrize("reported_first", [True, False])
def test_a_clients_tool_is_run_by_its_client_whichever_comes_first(asking, reported_first):
    named = {"title": "host_ann__openFile", "rawInput": {"path": "a"}}
    results = []
    if reported_first:
        asking.say(**named, status="in_progress")
        call = asking.turn.claim_client_call("ann", "openFile", {"path": "a"})
    else:
        assert asking.turn.claim_client_call("ann", "openFile", {"path": "a"}) is None
        call = asking.turn.hold_client_call("ann", "openFile", {"path": "a"})
        asking.say(**named, status="in_progress")
    Deferred.fromCoroutine(asking.turn.output.client_result(call)).addBoth(results.append)
    asking.host.settle()
    assert asking.call()["status"] == "running"
    result = {"success": True, "pastTenseMessage": "Opened a"}
    asking.dispatch("chat/toolCallComplete", turnId="t1", toolCallId=call, result=result)
    asking.say("tool_call_update", status="completed", rawOutput="ok")
    assert results == [result]
    assert asking.call()["pastTenseMessage"] == "Opened a"
