"""Calls that ask, answered by the host's rules or by people (PLUGINS.txt, "A question about a
tool call"), as clients are told of them."""

import pytest
from twisted.internet.defer import Deferred
from zope.interface import implementer
from zope.interface.verify import verifyObject

from ahpd.interfaces import (
    AgentAbilities,
    AgentFailure,
    Grant,
    IJudge,
    ISubscriber,
    Permission,
    ToolAnswer,
    TurnOver,
    Verdict,
)
from ahpd.protocol.uris import ROOT
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.host import MemoryHost
from ahpd.testing.judges import OFFERED, ScriptedJudge

S1 = "ahp-session:/s1"
ALLOWED = ToolAnswer(approved=True, decided_by="not-needed", decision_source="host_policy")
REFUSED = ToolAnswer(approved=False, decision_source="host_policy")
SHELL = Permission(kind="shell", command="make")


def deny(because="a rule"):
    return Verdict(decision="deny", because=because)


def approve(because="a rule"):
    return Verdict(decision="approve", because=because)


class Judged:
    """A host with one session and one client that watches all of it."""

    def __init__(self, judge=None, **options):
        self.judge = ScriptedJudge() if judge is None else judge
        self.agent = ScriptedAgent(abilities=AgentAbilities(live_config=True, workers=True))
        self.host = MemoryHost({"scripted": self.agent}, judge=self.judge, **options)
        self.ann = self.host.connect("ann", ROOT)
        self.run(
            self.ann.request(
                "createSession",
                channel=S1,
                activeClient={"clientId": "ann", "tools": [{"name": "openFile"}]},
                workingDirectories=["file:///w"],
            )
        )
        self.run(self.ann.subscribe(S1))
        self.chat = self.ann.state(S1)["defaultChat"]
        self.run(self.ann.subscribe(self.chat))
        self.answers = []
        self.turns = []

    def run(self, work):
        return self.host.run(work)

    def begin(self, script, text="hello", turn_id="t1", **message):
        async def kept(turn):
            self.turns.append(turn)
            await script(turn)

        self.agent.then(kept)
        sent = {"text": text, "origin": {"kind": "user"}, **message}
        self.dispatch(
            "chat/turnStarted", turnId=turn_id, startedAt="2026-01-02T03:04:05.000Z", message=sent
        )

    def dispatch(self, kind, channel=None, client=None, **fields):
        (client or self.ann).dispatch(channel or self.chat, {"type": kind, **fields})
        self.host.settle()

    def answer(self, call, option=None, approved=True, client=None, chat=None, turn="t1", **more):
        fields = {"confirmed": "user-action"} if approved else {"reason": "denied"}
        if option is not None:
            fields["selectedOptionId"] = option
        self.dispatch(
            "chat/toolCallConfirmed",
            channel=chat,
            client=client,
            turnId=turn,
            toolCallId=call,
            approved=approved,
            **fields,
            **more,
        )

    def calls(self, chat=None):
        """The calls of the newest turn, by their tools."""
        state = self.ann.plain_state(chat or self.chat)
        turn = state.get("activeTurn") or state["turns"][-1]
        parts = [part["toolCall"] for part in turn["responseParts"] if "toolCall" in part]
        return {call["toolName"]: call for call in parts}

    def said(self, *kinds, channel=None):
        return [
            envelope.action
            for envelope in self.ann.envelopes(channel)
            if envelope.action["type"] in kinds and envelope.rejection is None
        ]

    @property
    def needed(self):
        return [entry["id"] for entry in self.ann.plain_state(S1).get("inputNeeded", [])]

    @property
    def allowed(self):
        values = self.ann.plain_state(S1)["config"]["values"]
        return values.get("permissions", {}).get("allow", [])

    # -- scripts -----------------------------------------------------------------------

    def ask(self, turn, tool="rm", permission=SHELL, call=None, start=None, **fields):
        """Have a call ask, and return its id."""
        call = turn.begin(tool, **(start or {})) if call is None else call
        action = {
            "type": "chat/toolCallReady",
            "toolCallId": call,
            "invocationMessage": f"Run {tool}",
            "toolInput": "{}",
            "confirmationTitle": f"Run {tool}?",
            **fields,
        }
        turn.output.emit(action, permission)
        return call

    def asks(self, *tools, ends=True, **fields):
        """A script that asks about calls at once, keeps the answers, and acts on them."""

        async def one(turn, tool):
            call = self.ask(turn, tool, **fields)
            decided = await turn.confirmed(call)
            self.answers.append((tool, decided))
            if decided.approved:
                turn.complete(call, "done")
            elif ends and decided.decision_source == "host_policy":
                turn.fail(call, "refused")

        async def script(turn):
            for waiting in [Deferred.fromCoroutine(one(turn, tool)) for tool in tools]:
                await waiting

        return script


@pytest.fixture
def judged():
    made = []

    def make(judge=None, **options):
        made.append(Judged(judge, **options))
        return made[-1]

    yield make
    for one in made:
        one.host.stop()


@pytest.fixture
def j(judged):
    return judged()


def test_the_scripted_judge_is_one(j):
    verifyObject(IJudge, j.judge)


# -- what the rules answer ------------------------------------------------------------


def test_an_approved_call_is_said_to_run_and_nobody_is_asked(j):
    j.judge.verdicts["rm"] = approve()
    j.begin(j.asks("rm"))
    [ready] = j.said("chat/toolCallReady")
    assert ready["confirmed"] == "not-needed"
    assert not {"options", "confirmationTitle"} & ready.keys()
    assert j.answers == [("rm", ALLOWED)]
    call = j.calls()["rm"]
    assert (call["status"], call["confirmed"]) == ("completed", "not-needed")
    assert "vscode.toolCallDurationMs" in call["_meta"]
    assert j.said("session/inputNeededSet") == []


def test_a_denied_call_is_said_to_nobody_as_a_question_and_ends_as_failed(j):
    j.judge.verdicts["rm"] = deny()
    j.begin(j.asks("rm"))
    assert j.answers == [("rm", REFUSED)]
    assert all("confirmed" in ready for ready in j.said("chat/toolCallReady"))
    assert j.said("session/inputNeededSet", "chat/toolCallConfirmed") == []
    call = j.calls()["rm"]
    assert (call["status"], call["success"]) == ("completed", False)
    assert call["error"] == {"message": "refused"}
    assert call["toolInput"] == "{}", "what it asked for is in the transcript"
    [turn] = j.ann.plain_state(j.chat)["turns"]
    assert turn["state"] == "complete"


def test_a_denied_call_is_answered_at_once_and_said_nothing_of(j):
    j.judge.verdicts["rm"] = deny()
    waiting = Deferred()

    async def script(turn):
        call = j.ask(turn)
        j.answers.append(await turn.confirmed(call))
        j.answers.append(await turn.confirmed(call))
        await waiting
        turn.fail(call, "refused")

    j.begin(script)
    assert j.answers == [REFUSED, REFUSED]
    assert j.said("chat/toolCallReady") == []
    assert j.calls()["rm"]["status"] == "streaming"
    assert j.needed == []
    waiting.callback(None)
    j.host.settle()
    assert j.calls()["rm"]["status"] == "completed"


def test_a_denied_call_its_backend_says_nothing_more_of_ends_with_its_turn(j):
    j.judge.verdicts["rm"] = deny()
    j.begin(j.asks("rm", ends=False))
    assert j.calls()["rm"]["status"] == "cancelled"
    assert j.needed == []


@pytest.mark.parametrize("own", [True, False])
def test_denied_calls_of_which_nothing_more_is_said_end_when_the_turn_goes_on(j, own):
    j.judge.verdicts |= {"rm": deny(), "mv": deny(), "openFile": deny()}

    async def script(turn):
        mine = {"contributor": {"kind": "client", "clientId": "ann"}}
        calls = [j.ask(turn, "rm"), j.ask(turn, "mv"), j.ask(turn, "openFile", start=mine)]
        for call in calls:
            assert not (await turn.confirmed(call)).approved
        if own:
            turn.fail(calls[0], "in its own words")
        assert j.said("chat/toolCallConfirmed") == []
        part = turn.markdown("so ")
        turn.delta(part, "be it")
        if not own:
            turn.fail(calls[0], "too late")
        await turn.forever()

    j.begin(script)
    calls = j.calls()
    words = "The host's rules do not allow the tool call."
    assert calls["rm"]["error"]["message"] == ("in its own words" if own else words)
    assert (calls["mv"]["status"], calls["mv"]["error"]["message"]) == ("completed", words)
    assert (calls["openFile"]["status"], calls["openFile"]["reason"]) == ("cancelled", "denied")
    kinds = [part["kind"] for part in j.ann.plain_state(j.chat)["activeTurn"]["responseParts"]]
    assert kinds == ["toolCall", "toolCall", "toolCall", "markdown"]
    assert j.needed == []


def test_nobody_can_allow_a_denied_call(j):
    j.judge.verdicts["rm"] = deny()

    async def script(turn):
        j.answers.append(await turn.confirmed(j.ask(turn)))
        await turn.forever()

    j.begin(script)
    j.answer("t1:1", "allow-session")
    assert j.answers == [REFUSED]
    assert j.calls()["rm"]["status"] == "streaming"
    assert j.allowed == []


def test_whoever_waited_before_it_asked_is_answered_too(j):
    j.judge.verdicts |= {"rm": deny(), "ls": approve()}

    async def script(turn):
        calls = [turn.begin("rm"), turn.begin("ls")]
        waiting = [Deferred.fromCoroutine(turn.confirmed(call)) for call in calls]
        for call, tool in zip(calls, ("rm", "ls"), strict=True):
            j.ask(turn, tool, call=call)
        for one in waiting:
            j.answers.append(await one)

    j.begin(script)
    assert j.answers == [REFUSED, ALLOWED]


def test_the_verdict_of_an_ask_says_what_is_offered_and_marks_the_question(j):
    options = ({"id": "allow-once", "label": "Allow", "kind": "approve"}, OFFERED[-1])
    mark = {"agentHost.sandboxBypass": True}
    j.judge.verdicts["rm"] = Verdict(decision="ask", because="x", options=options, meta=mark)
    bypass = Permission(kind="shell", command="x", sandbox_bypass=True)
    j.begin(j.asks("rm", permission=bypass, _meta={"own": 1}))
    call = j.calls()["rm"]
    assert call["options"] == list(options)
    assert call["_meta"] == {"own": 1, **mark}
    j.answer("t1:1", "allow-once")
    assert j.calls()["rm"]["_meta"].items() >= {"own": 1, **mark}.items()
    assert j.allowed == []


def test_marks_go_with_the_question_they_were_of(j):
    mark = {"agentHost.sandboxBypass": True}
    j.judge.verdicts["rm"] = Verdict(decision="ask", because="x", options=OFFERED, meta=mark)

    async def script(turn):
        call = j.ask(turn, _meta={"own": 1})
        assert (await turn.confirmed(call)).approved
        del j.judge.verdicts["rm"]
        j.ask(turn, call=call)
        await turn.forever()

    j.begin(script)
    j.answer("t1:1")
    assert j.calls()["rm"]["_meta"] == {"own": 1}


def test_a_backends_own_options_are_the_judges_to_offer(j):
    own = [{"id": "keep", "label": "Keep planning", "kind": "deny"}]

    async def script(turn):
        call = j.ask(turn, options=own)
        j.ask(turn, call=call, invocationMessage="Run it, really")
        await turn.forever()

    j.begin(script)
    assert [list(question.options) for question in j.judge.questions] == [own, own]
    assert j.calls()["rm"]["options"] == list(OFFERED)


def test_a_backends_own_yes_is_nobody_s_to_judge(j):
    j.judge.verdicts["rm"] = deny()

    async def script(turn):
        call = j.ask(turn, confirmed="not-needed")
        j.answers.append(await turn.confirmed(call))
        turn.complete(call, "done")

    j.begin(script)
    assert j.judge.questions == []
    assert j.answers == [ToolAnswer(approved=True, decided_by="not-needed")]


# -- asked again ------------------------------------------------------------------------


def test_a_call_that_runs_and_asks_again_is_judged_again(j):
    j.judge.verdicts["rm"] = approve()

    async def script(turn):
        call = j.ask(turn)
        j.answers.append(await turn.confirmed(call))
        del j.judge.verdicts["rm"]
        j.ask(turn, call=call)
        j.answers.append(await turn.confirmed(call))
        turn.complete(call, "done")

    j.begin(script)
    assert j.answers == [ALLOWED]
    assert j.calls()["rm"]["status"] == "pending-confirmation"
    j.answer("t1:1", "allow-once")
    assert j.answers[1] == ToolAnswer(approved=True, option="allow-once")


def test_a_running_call_that_is_denied_goes_on_as_its_backend_says(j):
    async def script(turn):
        call = turn.running("rm")
        j.judge.verdicts["rm"] = deny()
        j.ask(turn, call=call)
        j.answers.append(await turn.confirmed(call))
        turn.say("chat/toolCallContentChanged", toolCallId=call, content=[])
        turn.fail(call, "refused")

    j.begin(script)
    assert j.answers == [REFUSED]
    call = j.calls()["rm"]
    assert (call["status"], call["success"]) == ("completed", False)


@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_a_question_that_stands_and_is_put_again_is_answered_for_all_to_see(j, decision):
    waiting = Deferred()

    async def script(turn):
        call = j.ask(turn)
        answered = Deferred.fromCoroutine(turn.confirmed(call))
        await waiting
        j.judge.verdicts["rm"] = Verdict(decision=decision, because="a rule")
        j.ask(turn, call=call)
        j.answers.append(await answered)
        await turn.forever()

    j.begin(script)
    assert len(j.needed) == 1
    waiting.callback(None)
    j.host.settle()
    assert j.needed == []
    approved = decision == "approve"
    assert j.answers == [ALLOWED if approved else REFUSED]
    assert j.calls()["rm"]["status"] == ("running" if approved else "cancelled")
    j.answer("t1:1", "allow-session", approved=not approved)
    assert j.answers == [ALLOWED if approved else REFUSED]
    assert j.allowed == []


def test_a_question_put_while_another_is_answered_is_not_answered_by_what_came_before_it(j):
    """A call that was said to run, and asks at once: both are still to be said there."""

    async def script(turn):
        first = j.ask(turn, "ls")
        await turn.confirmed(first)
        # In the delivery of the answer: what follows is said once that is over.
        call = turn.running("rm")
        j.ask(turn, call=call)
        j.answers.append(await turn.confirmed(call))
        turn.complete(call, "done")

    j.begin(script)
    j.answer("t1:1", "allow-once")
    assert j.answers == []
    assert j.calls()["rm"]["status"] == "pending-confirmation"
    j.answer("t1:2", approved=False)
    assert [answer.approved for answer in j.answers] == [False]


@implementer(ISubscriber)
class AtOnce:
    """Does something in the delivery of the first thing that is said to it."""

    def __init__(self, work):
        self.work = work

    def deliver(self, envelope):
        work, self.work = self.work, lambda: None
        work()

    def notify(self, channel, method, frame):
        pass

    def lagging(self):
        return False


def test_what_a_person_answered_holds_though_the_rules_refuse_it_behind_that(j):
    async def script(turn):
        j.answers.append(await turn.confirmed(j.ask(turn)))
        await turn.forever()

    def refuse():
        j.judge.verdicts["rm"] = deny()
        j.ask(j.turns[0], call="t1:1")

    j.begin(script)
    j.host.store.subscribe(S1, AtOnce(refuse))
    j.answer("t1:1", "allow-session")
    assert len(j.judge.questions) == 2
    assert j.answers == [ToolAnswer(approved=True, option="allow-session")]
    assert j.calls()["rm"]["status"] == "running"


# -- what a judge is told ---------------------------------------------------------------


def test_a_judge_is_told_what_the_call_asks_and_what_is_known_of_its_chat(j):
    j.dispatch("session/configChanged", channel=S1, config={"permissions": {"deny": ["x"]}})
    j.dispatch("root/configChanged", channel=ROOT, config={"terminalAutoApproveEnabled": False})
    attachments = [
        {"type": "resource", "label": "a", "uri": "file:///elsewhere/a%20b.txt"},
        {"type": "resource", "label": "a", "uri": "https://example.com/"},
        {"type": "simple", "label": "note", "modelRepresentation": "file:///no"},
    ]
    j.begin(j.asks(), attachments=attachments)
    j.begin(j.asks("rm"), turn_id="t2")
    [question] = j.judge.questions
    assert question.permission == SHELL
    assert (question.tool, question.eligibility) == ("rm", "rm")
    assert question.session_values["permissions"] == {"deny": ["x"]}
    assert question.host_values["terminalAutoApproveEnabled"] is False
    assert question.folders == ("/w",)
    assert question.attached == ("/elsewhere/a b.txt",)
    assert question.options == ()


def test_a_judge_is_told_where_attachments_are_kept(judged, tmp_path):
    j = judged(data_directory=tmp_path)
    j.begin(j.asks("rm"))
    [question] = j.judge.questions
    [folder] = question.snapshots
    assert folder.rpartition("/")[2]


def test_a_call_that_says_nothing_of_what_it_asks_is_a_custom_tool_s(j):
    j.begin(j.asks("rm", permission=None))
    [question] = j.judge.questions
    assert question.permission == Permission(kind="custom-tool")


@pytest.mark.parametrize(
    ("tool", "contributor", "key"),
    [
        ("openFile", {"kind": "client", "clientId": "ann"}, "openFile"),
        ("mcp__my_db__query", {"kind": "mcp", "customizationId": "db"}, "my.db/query"),
        ("mcp__my.db__query__all", {"kind": "mcp", "customizationId": "db"}, "my.db/query__all"),
        ("mcp__MyDb__query", {"kind": "mcp", "customizationId": "db"}, "my.db/query"),
        ("query", {"kind": "mcp", "customizationId": "db"}, "my.db/query"),
        ("my__query", {"kind": "mcp", "customizationId": "db"}, "my.db/my__query"),
        ("query", {"kind": "mcp", "customizationId": "gone"}, "query"),
        ("list_chats", None, "host/list_chats"),
        ("mcp__ahp__list_chats", {"kind": "mcp", "customizationId": "gone"}, "host/list_chats"),
        ("relist_chats", None, "relist_chats"),
        ("Bash", None, "Bash"),
    ],
)
def test_eligibility_names_a_tool_by_who_has_it(j, tool, contributor, key):
    server = {
        "type": "mcpServer",
        "id": "db",
        "uri": "file:///w/db",
        "name": "my.db",
        "state": {"kind": "ready"},
    }
    j.host.host.sessions.set_server_tools([{"name": "chats"}, {"name": "list_chats"}])
    start = {} if contributor is None else {"contributor": contributor}

    async def script(turn):
        turn.host.customizations([server])
        j.ask(turn, tool, start=start)
        await turn.forever()

    j.begin(script)
    assert [question.eligibility for question in j.judge.questions] == [key]


def test_who_contributes_a_call_may_be_said_with_its_question_but_for_a_client(j):
    async def script(turn):
        mine = {"contributor": {"kind": "client", "clientId": "ann"}}
        j.ask(turn, "openFile", start=mine, contributor={"kind": "mcp", "customizationId": "x"})
        j.host.host.sessions.set_server_tools([{"name": "openFile"}])
        j.ask(turn, "openFile", start=mine)
        await turn.forever()

    j.begin(script)
    assert [question.eligibility for question in j.judge.questions] == ["openFile", "openFile"]


@implementer(IJudge)
class BrokenJudge:
    def __init__(self, answer=None):
        self.answer = answer

    def judge(self, question):
        if self.answer is None:
            raise ValueError("no rules today")
        return self.answer


@pytest.mark.logs_failures
@pytest.mark.parametrize("answer", [None, Verdict(decision="maybe", because="?")])
def test_what_cannot_be_judged_is_asked_about_once(judged, answer):
    j = judged(BrokenJudge(answer))
    j.begin(j.asks("rm"))
    assert [option["id"] for option in j.calls()["rm"]["options"]] == ["allow-once", "skip"]
    j.answer("t1:1", "allow-session")
    assert j.allowed == []
    assert [answer.approved for _, answer in j.answers] == [True]


# -- what people grant -------------------------------------------------------------------


def test_allowing_it_in_the_session_is_kept_before_the_call_runs_and_told_to_the_backend(j):
    seen = []

    async def script(turn):
        call = j.ask(turn)
        j.answers.append(await turn.confirmed(call))
        seen.append(j.agent.chats[-1].configured[-1]["permissions"])
        turn.complete(call, "done")

    j.begin(script)
    before = len(j.ann.envelopes())
    j.answer("t1:1", "allow-session")
    told = [envelope.action["type"] for envelope in j.ann.envelopes()[before:]]
    assert told[:2] == ["session/configChanged", "chat/toolCallConfirmed"]
    [change] = j.said("session/configChanged")
    assert change["config"] == {"permissions": {"deny": [], "allow": ["rm"]}}
    [envelope] = [e for e in j.ann.envelopes(S1) if e.action["type"] == "session/configChanged"]
    assert envelope.origin is None, "it is the host's own"
    assert seen == [{"deny": [], "allow": ["rm"]}]
    assert j.answers == [ToolAnswer(approved=True, option="allow-session")]
    j.begin(j.asks("rm"), turn_id="t2")
    assert j.answers[-1] == ("rm", ALLOWED)
    assert len(j.said("session/configChanged")) == 1


def test_always_is_kept_in_the_host_s_own_rules(j):
    j.begin(j.asks("rm"))
    j.answer("t1:1", "allow-always")
    assert j.allowed == []
    values = j.ann.plain_state(ROOT)["config"]["values"]
    assert values["permissions"] == {"deny": [], "allow": ["rm"]}
    [change] = [e for e in j.ann.envelopes(ROOT) if e.action["type"] == "root/configChanged"]
    assert change.origin is None
    order = [e.action["type"] for e in j.ann.envelopes()]
    assert order.index("root/configChanged") < order.index("chat/toolCallConfirmed")
    j.begin(j.asks("rm"), turn_id="t2")
    assert j.answers[-1] == ("rm", ALLOWED)


@pytest.mark.parametrize("option", ["allow-once", "nothing-offered", None])
def test_any_other_answer_grants_nothing(j, option):
    j.begin(j.asks("rm"))
    j.answer("t1:1", option)
    assert [answer.approved for _, answer in j.answers] == [True]
    assert j.said("session/configChanged", "root/configChanged") == []


@pytest.mark.parametrize("option", ["allow-session", "allow-always"])
def test_a_refusal_grants_nothing_whatever_it_picked(j, option):
    j.begin(j.asks("rm"))
    j.answer("t1:1", option, approved=False)
    assert [answer.approved for _, answer in j.answers] == [False]
    assert j.said("session/configChanged", "root/configChanged") == []


@pytest.mark.parametrize("first", [True, False])
def test_of_two_opposite_answers_the_first_counts_and_it_alone_grants(j, first):
    bob = j.host.connect("bob", j.chat)

    async def script(turn):
        j.answers.append(await turn.confirmed(j.ask(turn)))
        await turn.forever()

    j.begin(script)
    j.answer("t1:1", "allow-session" if first else "skip", approved=first)
    j.answer("t1:1", "skip" if first else "allow-session", approved=not first, client=bob)
    assert [answer.approved for answer in j.answers] == [first]
    assert j.allowed == (["rm"] if first else [])
    assert j.calls()["rm"]["status"] == ("running" if first else "cancelled")
    assert len(j.said("chat/toolCallConfirmed")) == 2, "each is said as it was sent"


def test_an_answer_to_another_turn_s_call_of_the_same_name_grants_nothing(j):
    j.begin(j.asks("rm"))
    j.answer("t1:1", "allow-session", turn="t0")
    assert j.answers == []
    assert j.allowed == []
    assert j.calls()["rm"]["status"] == "pending-confirmation"


def test_a_question_put_again_keeps_no_rules_that_whoever_answers_it_may_not_have_seen(j):
    """An answer to what was asked before may be on its way, and picks by the same id."""

    def asking(*rules):
        grants = {"allow-session": Grant(scope="session", rules=rules)}
        return Verdict(decision="ask", because="x", options=OFFERED, grants=grants)

    async def script(turn):
        call = turn.begin("rm")
        for rule in ("Shell(make)", "Shell(rm)", "Shell(dd)"):
            j.judge.verdicts["rm"] = asking(rule)
            j.ask(turn, call=call)
        j.judge.verdicts["mv"] = asking("Shell(mv)")
        other = j.ask(turn, "mv")
        j.ask(turn, "mv", call=other)
        await turn.forever()

    j.begin(script)
    ids = {name: call["toolCallId"] for name, call in j.calls().items()}
    j.answer(ids["rm"], "allow-session")
    assert j.calls()["rm"]["status"] == "running"
    assert j.allowed == []
    j.answer(ids["mv"], "allow-session")
    assert j.allowed == ["Shell(mv)"]


def test_what_was_refused_stays_refused_beside_what_is_granted(j):
    j.dispatch(
        "session/configChanged",
        channel=S1,
        config={"permissions": {"deny": ["curl"], "ask": ["git"], "allow": ["ls"]}},
    )
    j.begin(j.asks("rm"))
    j.answer("t1:1", "allow-session")
    values = j.ann.plain_state(S1)["config"]["values"]
    assert values["permissions"] == {"deny": ["curl"], "ask": ["git"], "allow": ["ls", "rm"]}


def test_a_question_that_stands_stays_with_the_person_when_another_s_answer_grants_its_tool(j):
    j.begin(j.asks("rm", "rm"))
    assert len(j.needed) == 2
    j.answer("t1:1", "allow-session")
    assert len(j.needed) == 1
    assert len(j.answers) == 1
    j.answer("t1:2", approved=False)
    assert [answer.approved for _, answer in j.answers] == [True, False]


def test_approving_everything_answers_the_next_question_and_none_that_stands(j):
    j.begin(j.asks("rm", "mv"))
    j.dispatch("root/configChanged", channel=ROOT, config={"globalAutoApproveEnabled": True})
    assert len(j.needed) == 2
    assert j.answers == []
    j.answer("t1:1", "allow-once")
    j.answer("t1:2", "skip", approved=False)
    assert [answer.approved for _, answer in j.answers] == [True, False]
    j.begin(j.asks("rm"), turn_id="t2")
    assert j.answers[-1] == ("rm", ALLOWED)


@pytest.mark.logs_failures
def test_an_answer_counts_where_what_it_grants_cannot_be_kept(j):
    broken = Grant(scope="session", rules=None)
    options = OFFERED
    j.judge.verdicts["rm"] = Verdict(
        decision="ask", because="x", options=options, grants={"allow-session": broken}
    )
    j.begin(j.asks("rm"))
    j.answer("t1:1", "allow-session")
    assert [answer.approved for _, answer in j.answers] == [True]


@pytest.mark.parametrize(
    ("named", "heard"),
    [
        ("human_response", "human_response"),
        ("host_policy", "host_policy"),
        ("assisted_approval", "assisted_approval"),
        ("unattended_fallback", "unattended_fallback"),
        ("somebody", None),
        (["human_response"], None),
        (None, None),
    ],
)
@pytest.mark.parametrize("approved", [True, False])
def test_who_decided_is_handed_to_the_backend_as_the_client_says_it(j, named, heard, approved):
    j.begin(j.asks("rm", ends=False))
    meta = {} if named is None else {"_meta": {"agentHost.permissionDecisionSource": named}}
    j.answer("t1:1", approved=approved, **meta)
    [(_, answer)] = j.answers
    assert (answer.approved, answer.decision_source) == (approved, heard)


def test_a_call_its_backend_completes_unanswered_was_not_allowed(j):
    waiting = Deferred()

    async def script(turn):
        call = j.ask(turn)
        answered = Deferred.fromCoroutine(turn.confirmed(call))
        await waiting
        turn.fail(call, "never mind")
        j.answers.append(await answered)

    j.begin(script)
    waiting.callback(None)
    j.host.settle()
    assert j.answers == [ToolAnswer(approved=False, reason="skipped")]
    assert j.needed == []


# -- nothing unanswered runs --------------------------------------------------------------


def test_several_questions_are_answered_each_by_itself_and_in_any_order(j):
    j.judge.verdicts |= {"cat": approve(), "dd": deny()}
    j.begin(j.asks("rm", "cat", "mv", "dd", "cp"))
    assert dict(j.answers) == {"cat": ALLOWED, "dd": REFUSED}
    waits = {name for name, call in j.calls().items() if call["status"] == "pending-confirmation"}
    assert waits == {"rm", "mv", "cp"}
    assert len(j.needed) == 3
    ids = {name: call["toolCallId"] for name, call in j.calls().items()}
    j.answer(ids["cp"], "allow-once")
    j.answer(ids["rm"], "skip", approved=False)
    assert len(j.needed) == 1
    j.answer(ids["mv"], "allow-session")
    assert {name: answer.approved for name, answer in j.answers} == {
        "cat": True,
        "dd": False,
        "cp": True,
        "rm": False,
        "mv": True,
    }
    assert j.needed == []
    assert j.allowed == ["mv"]


def test_a_client_that_comes_late_is_shown_the_question_and_may_grant(j):
    j.begin(j.asks("rm"))
    late = j.host.connect("late")
    [snapshot] = [j.run(late.request("subscribe", channel=j.chat))["snapshot"]["state"]]
    [part] = snapshot["activeTurn"]["responseParts"]
    assert part["toolCall"]["options"] == list(OFFERED)
    j.answer("t1:1", "allow-session", client=late)
    assert j.allowed == ["rm"]
    assert j.needed == []


def stopped(j):
    j.dispatch("chat/turnCancelled", turnId="t1", duration=1)


def died(j):
    j.agent.death.errback(AgentFailure("the agent died"))
    j.host.settle()


def replaced(j):
    async def script(turn):
        await turn.forever()

    j.begin(script, turn_id="t2")


def disposed(j):
    waiting = Deferred.fromCoroutine(j.ann.request("disposeSession", channel=S1))
    for _ in range(10):
        j.host.advance(1)
    assert waiting.called


@pytest.mark.parametrize("end", [stopped, died, replaced, disposed])
def test_whatever_ends_a_turn_nothing_unanswered_runs_and_no_question_is_left(j, end):
    over, j.agent.death = [], Deferred()

    async def one(turn, tool):
        try:
            j.answers.append(await turn.confirmed(j.ask(turn, tool)))
        except TurnOver:
            over.append(tool)

    async def script(turn):
        for tool in ("rm", "mv"):
            Deferred.fromCoroutine(one(turn, tool))
        await j.agent.death

    j.begin(script)
    assert len(j.needed) == 2
    end(j)
    assert j.answers == []
    assert sorted(over) == ["mv", "rm"]
    if end is not disposed:
        assert j.needed == []
        turns = j.ann.plain_state(j.chat)["turns"]
        calls = [
            part["toolCall"]
            for turn in turns
            for part in turn["responseParts"]
            if "toolCall" in part
        ]
        assert {call["status"] for call in calls} <= {"cancelled"}
        for call in ("t1:1", "t1:2"):
            j.answer(call, "allow-session")
        assert j.answers == []
        assert j.allowed == []
    late = j.turns[0]
    assert late.output.turn_id == "t1"
    late.output.emit(
        {"type": "chat/toolCallStart", "toolCallId": "z", "toolName": "rm", "displayName": "rm"}
    )
    j.ask(late, call="z")
    with pytest.raises(TurnOver):
        j.run(late.output.confirmed("z"))


def test_a_worker_s_question_is_judged_by_its_session_and_grants_there(j):
    held = []

    async def script(turn):
        call = turn.running("task")
        worker = turn.worker(call, "look into it")
        held.append(worker)
        asked = j.ask(worker)
        j.answers.append(await worker.confirmed(asked))
        worker.complete(asked, "done")
        worker.done()
        turn.complete(call, "done")

    attachment = {"type": "resource", "label": "a", "uri": "file:///elsewhere/a.txt"}
    j.begin(script, attachments=[attachment])
    [worker] = held
    [question] = j.judge.questions
    assert question.attached == ("/elsewhere/a.txt",), "what people attached is where they sent it"
    assert [worker.chat in entry for entry in j.needed] == [True]
    j.run(j.ann.subscribe(worker.chat))
    [call] = j.calls(worker.chat).values()
    j.answer(call["toolCallId"], "allow-session", chat=worker.chat, turn=worker.output.turn_id)
    assert j.allowed == ["rm"]
    assert [answer.approved for answer in j.answers] == [True]
    assert j.needed == []


def test_a_worker_s_questions_go_with_the_turn_that_spawned_it(j):
    async def script(turn):
        worker = turn.worker(turn.running("task"), "look into it")
        j.ask(worker)
        await turn.forever()

    j.begin(script)
    assert len(j.needed) == 1
    stopped(j)
    assert j.needed == []


def test_a_client_s_tool_the_rules_refuse_is_not_run_and_its_result_says_so(j):
    j.judge.verdicts["openFile"] = deny()
    results = []

    async def script(turn):
        mine = {"contributor": {"kind": "client", "clientId": "ann"}}
        call = turn.begin("openFile", **mine)
        early = Deferred.fromCoroutine(turn.client_result(call))
        j.ask(turn, "openFile", call=call)
        results.extend([await early, await turn.client_result(call)])
        turn.fail(call, "refused")

    j.begin(script)
    assert [result["success"] for result in results] == [False, False]
    assert results[0]["error"]["message"] == "The host's rules do not allow the tool call."
    entries = [action["request"]["kind"] for action in j.said("session/inputNeededSet")]
    assert "toolClientExecution" not in entries, "its client would have run it"
    assert all("confirmed" not in ready for ready in j.said("chat/toolCallReady"))
    assert j.needed == []
    call = j.calls()["openFile"]
    assert (call["status"], call["reason"]) == ("cancelled", "denied")
    assert call["reasonMessage"] == "refused"


def test_a_client_s_tool_the_rules_approve_is_the_client_s_to_run(j):
    j.judge.verdicts["openFile"] = approve()
    results = []

    async def script(turn):
        mine = {"contributor": {"kind": "client", "clientId": "ann"}}
        call = j.ask(turn, "openFile", start=mine)
        assert await turn.confirmed(call) == ALLOWED
        results.append(await turn.client_result(call))

    j.begin(script)
    assert j.calls()["openFile"]["status"] == "running"
    result = {"success": True, "pastTenseMessage": "Opened it"}
    j.dispatch("chat/toolCallComplete", turnId="t1", toolCallId="t1:1", result=result)
    assert results == [result]
