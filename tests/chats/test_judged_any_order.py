"""Whatever the rules, the backend and people say of calls, in whatever order: nothing runs that
neither the rules nor a person let run, and what waits is what the session lists."""

from hypothesis import example, given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred

from ahpd.interfaces import AgentAbilities, Permission, TurnOver, Verdict
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.host import MemoryHost
from ahpd.testing.judges import ScriptedJudge

S1, TOOLS = "ahp-session:/s1", ("rm", "mv")
SHELL = Permission(kind="shell", command="make")

CALLS = st.sampled_from(TOOLS)
STEPS = st.one_of(
    st.tuples(st.just("ask"), CALLS, st.sampled_from(["approve", "deny", "ask", "ask"])),
    st.tuples(st.just("answer"), CALLS, st.booleans(), st.sampled_from(["allow-session", "skip"])),
    st.tuples(st.just("wait"), CALLS),
    st.tuples(st.just("run"), CALLS),
    st.tuples(st.just("complete"), CALLS, st.booleans()),
    st.tuples(st.just("content"), CALLS),
)
#: A turn that is stopped early shows little of what went before.
PLANS = st.builds(
    lambda before, stop, after: [*before, *([("stop",)] if stop else []), *after],
    st.lists(STEPS, max_size=20),
    st.booleans(),
    st.lists(STEPS, max_size=5),
)


class Model:
    """A turn with two calls that have begun; what lets each of them run by now."""

    def __init__(self):
        self.judge = ScriptedJudge()
        agent = ScriptedAgent(abilities=AgentAbilities(live_config=True))
        self.host = MemoryHost({"scripted": agent}, judge=self.judge)
        self.ann = self.host.connect("ann")
        self.host.run(self.ann.request("createSession", channel=S1))
        self.host.run(self.ann.subscribe(S1))
        self.chat = self.ann.state(S1)["defaultChat"]
        self.host.run(self.ann.subscribe(self.chat))
        self.ids, self.turn, self.over = {}, None, False
        self.let = dict.fromkeys(TOOLS, False)
        self.granted = []
        self.heard = []

        async def script(turn):
            self.turn = turn
            for tool in TOOLS:
                self.ids[tool] = turn.begin(tool)
            await turn.forever()

        agent.then(script)
        self.say(
            "chat/turnStarted",
            turnId="t",
            startedAt="2026-01-02T03:04:05.000Z",
            message={"text": "x", "origin": {"kind": "user"}},
        )

    def say(self, kind, **fields):
        self.ann.dispatch(self.chat, {"type": kind, **fields})
        self.host.settle()

    def calls(self):
        state = self.ann.plain_state(self.chat)
        turn = state.get("activeTurn") or state["turns"][-1]
        parts = [part["toolCall"] for part in turn["responseParts"] if "toolCall" in part]
        return {call["toolName"]: call for call in parts}

    # -- what happens ------------------------------------------------------------------

    def ask(self, tool, decision):
        status = self.calls()[tool]["status"]
        if decision == "ask":
            self.judge.verdicts.pop(tool, None)
            if tool in self.granted:
                decision = "approve"
        else:
            self.judge.verdicts[tool] = Verdict(decision=decision, because="x")
        if status in ("streaming", "running", "pending-confirmation") and not self.over:
            # A running call that is refused runs on: what it was asked for more is not done.
            self.let[tool] = decision == "approve" or (
                decision == "deny" and status == "running" and self.let[tool]
            )
        action = {"type": "chat/toolCallReady", "toolCallId": self.ids[tool]}
        self.turn.output.emit({**action, "invocationMessage": "Run"}, SHELL)

    def run(self, tool):
        """Its backend says that it runs, and asked nobody."""
        if self.calls()[tool]["status"] != "completed" and not self.over:
            self.let[tool] = True
        action = {"type": "chat/toolCallReady", "toolCallId": self.ids[tool]}
        self.turn.output.emit({**action, "invocationMessage": "Run", "confirmed": "not-needed"})

    def answer(self, tool, approved, option):
        contradicts = approved and option == "skip"
        waits = self.calls()[tool]["status"] == "pending-confirmation"
        if waits and not contradicts and not self.over:
            self.let[tool] = approved
            if approved and option == "allow-session" and tool not in self.granted:
                self.granted.append(tool)
        fields = {"confirmed": "user-action"} if approved else {"reason": "denied"}
        self.say(
            "chat/toolCallConfirmed",
            turnId="t",
            toolCallId=self.ids[tool],
            approved=approved,
            selectedOptionId=option,
            **fields,
        )

    def wait(self, tool):
        async def one():
            try:
                answer = await self.turn.confirmed(self.ids[tool])
            except TurnOver:
                return
            self.heard.append(answer)
            assert not self.over, "an answer behind the end"
            assert answer.approved <= self.let[tool], (tool, answer)

        waiting = Deferred.fromCoroutine(one())
        waiting.addErrback(self.heard.append)

    def complete(self, tool, success):
        result = {"success": success, "pastTenseMessage": "Ran"}
        self.turn.say("chat/toolCallComplete", toolCallId=self.ids[tool], result=result)

    def content(self, tool):
        self.turn.say("chat/toolCallContentChanged", toolCallId=self.ids[tool], content=[])

    def stop(self):
        self.over = True
        self.say("chat/turnCancelled", turnId="t", duration=1)

    # -- what has to hold ----------------------------------------------------------------

    def check(self):
        self.host.settle()
        calls = self.calls()
        for tool, call in calls.items():
            if call["status"] == "running":
                assert self.let[tool], f"{tool} runs, and nobody let it"
        waiting = {c["toolCallId"] for c in calls.values() if c["status"] == "pending-confirmation"}
        state = self.ann.plain_state(S1)
        listed = {entry["toolCall"]["toolCallId"] for entry in state.get("inputNeeded") or ()}
        assert listed == waiting
        if self.over:
            assert {call["status"] for call in calls.values()} <= {"completed", "cancelled"}
        rules = state["config"]["values"].get("permissions", {}).get("allow", [])
        assert rules == self.granted
        assert not [each for each in self.heard if not hasattr(each, "approved")], self.heard


#: A call that ended is asked about again.
ENDED = [("ask", "rm", "deny"), ("complete", "rm", False), ("ask", "rm", "approve"), ("wait", "rm")]


@settings(max_examples=150, deadline=None)
@given(PLANS)
@example(ENDED)
def test_nothing_runs_that_nobody_let_and_nothing_dead_waits(steps):
    model = Model()
    model.check()
    for name, *arguments in steps:
        getattr(model, name)(*arguments)
        model.check()
    model.host.stop()
