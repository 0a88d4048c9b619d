"""What people granted while they answered: in the session it is of, and there after a restart."""

from collections.abc import Mapping

import pytest
from twisted.internet.defer import Deferred
from zope.interface import implementer

from ahpd.interfaces import AgentAbilities, AgentFailure, IOffers, Permission, ToolAnswer, TurnOver
from ahpd.protocol.uris import ROOT
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.host import MemoryHost
from ahpd.testing.judges import ScriptedJudge

S1, S2, C2 = "ahp-session:/s1", "ahp-session:/s2", "ahp-chat:/c2"
ALLOWED = ToolAnswer(approved=True, decided_by="not-needed", decision_source="host_policy")
SHELL = Permission(kind="shell", command="make")
START = "2026-01-02T03:04:05.000Z"


@implementer(IOffers)
class JudgeAlone:
    """Offers a judge and nothing else; what it was granted is in a list."""

    def __init__(self):
        self.judge = ScriptedJudge()
        self.granted = []
        self.values: Mapping[str, object] = {}

    def instructions(self, session):
        return None

    async def run_tool(self, name, arguments, context):
        raise AssertionError("nobody runs a tool here")

    def tools_server(self, session, chat, run_client_tool, notify):
        return None

    def tools_moved(self, session):
        pass

    def session_gone(self, session):
        pass

    def chat_gone(self, chat):
        pass

    def chat_moved(self, session, chat, action, origin):
        pass

    def credential(self, session, chat, resource, server=None):
        return None

    def mcp_servers(self):
        return {}

    def managed_settings(self):
        return {}

    def trusted(self, folders):
        return True

    def host_values(self):
        return self.values

    def grant(self, rules):
        self.granted.append(tuple(rules))


def asks(answers, tool="rm", over=None):
    """A script that asks about one call, and acts on the answer."""

    async def script(turn):
        call = turn.begin(tool)
        turn.output.emit(
            {"type": "chat/toolCallReady", "toolCallId": call, "invocationMessage": "Run"}, SHELL
        )
        try:
            answers.append(await turn.confirmed(call))
        except TurnOver:
            over.append(tool)
            raise
        if answers[-1].approved:
            turn.complete(call, "done")
        else:
            turn.fail(call, "refused")

    return script


# -- kept -------------------------------------------------------------------------------


@pytest.fixture
def offers():
    return JudgeAlone()


@pytest.fixture(params=["crash", "restart"])
def host(request, sessions_host, offers):
    agent = ScriptedAgent(abilities=AgentAbilities(live_config=True, workers=True))
    host = sessions_host(agents={"scripted": agent}, offers=offers)
    host.agent = agent
    host.again = getattr(host, request.param)
    host.session()
    return host


def answer(host, chat, turn, call, option, approved=True):
    fields = {"confirmed": "user-action"} if approved else {"reason": "denied"}
    return host.dispatch(
        chat,
        "chat/toolCallConfirmed",
        turnId=turn,
        toolCallId=call,
        approved=approved,
        selectedOptionId=option,
        **fields,
    )


def test_what_was_granted_in_a_session_is_there_after_a_restart(host, offers):
    answers, chat = [], host.chat()
    host.agent.then(asks(answers))
    turn = host.turn(chat)
    answer(host, chat, turn, f"{turn}:1", "allow-session")
    host.again()
    assert host.state(S1)["config"]["values"]["permissions"] == {"deny": [], "allow": ["rm"]}
    host.service.find_chat(chat)
    host.agent.then(asks(answers))
    host.turn(chat)
    assert answers[-1] == ALLOWED
    assert host.agent.chats[-1].start.config["permissions"]["allow"] == ["rm"]


def test_it_is_kept_before_the_call_is_said_to_run(host):
    """A crash at any moment leaves no call that ran for a rule that nobody has."""
    answers, chat = [], host.chat()
    host.agent.then(asks(answers))
    turn = host.turn(chat)
    host.forget()
    answer(host, chat, turn, f"{turn}:1", "allow-session")
    assert host.kinds()[:2] == ["session/configChanged", "chat/toolCallConfirmed"]


def test_always_is_for_the_host_to_keep(host, offers):
    answers, chat = [], host.chat()
    host.agent.then(asks(answers))
    turn = host.turn(chat)
    answer(host, chat, turn, f"{turn}:1", "allow-always")
    assert offers.granted == [("rm",)]
    assert "permissions" not in host.state(S1)["config"]["values"]


def test_a_question_that_stood_when_the_host_went_is_nobody_s_to_answer_any_more(host):
    answers, over, chat = [], [], host.chat()
    host.agent.then(asks(answers, over=over))
    turn = host.turn(chat)
    assert len(host.state(S1)["inputNeeded"]) == 1
    host.again()
    host.service.find_chat(chat)
    assert "inputNeeded" not in host.state(S1) or host.state(S1)["inputNeeded"] == []
    state = host.state(chat)
    assert "activeTurn" not in state
    [call] = [p["toolCall"] for p in state["turns"][-1]["responseParts"] if "toolCall" in p]
    assert call["status"] == "cancelled"
    answer(host, chat, turn, f"{turn}:1", "allow-session")
    assert answers == []
    assert "permissions" not in host.state(S1)["config"]["values"]


def test_a_call_the_rules_refused_reads_back_as_it_ended(host, offers):
    answers, chat = [], host.chat()
    offers.values = {"permissions": {"deny": ["rm"]}}
    host.agent.then(asks(answers))
    host.turn(chat)
    turns = host.turns(chat)
    [call] = [p["toolCall"] for p in turns[-1]["responseParts"] if "toolCall" in p]
    assert (call["status"], call["success"]) == ("completed", False)
    host.again()
    host.service.find_chat(chat)
    assert host.turns(chat) == turns


def test_a_refused_call_whose_backend_was_gone_before_it_ended_it_reads_back_cancelled(
    host, offers
):
    offers.values = {"permissions": {"deny": ["rm"]}}

    async def script(turn):
        call = turn.begin("rm")
        turn.output.emit(
            {"type": "chat/toolCallReady", "toolCallId": call, "invocationMessage": "Run"}, SHELL
        )
        assert not (await turn.confirmed(call)).approved
        await turn.forever()

    host.agent.then(script)
    chat = host.chat()
    host.turn(chat)
    host.again()
    host.service.find_chat(chat)
    [part, _] = host.turns(chat)[-1]["responseParts"]
    assert part["toolCall"]["status"] == "cancelled"


def test_what_is_allowed_already_is_said_nothing_of(host, offers):
    answers, chat = [], host.chat()
    host.agent.then(asks(answers), asks(answers))
    turn = host.turn(chat)
    host.dispatch(S1, "session/configChanged", config={"permissions": {"allow": ["rm"]}})
    host.forget()
    answer(host, chat, turn, f"{turn}:1", "allow-session")
    assert "session/configChanged" not in host.kinds()


# -- a chat that moves ---------------------------------------------------------------------


class Moving:
    """Two sessions, the second chat of the first one, and a client of all."""

    def __init__(self):
        self.judge = ScriptedJudge()
        abilities = AgentAbilities(live_config=True, workers=True, reopens=True)
        self.agent = ScriptedAgent(abilities=abilities)
        self.host = MemoryHost({"scripted": self.agent}, judge=self.judge)
        self.ann = self.host.connect("ann", ROOT)
        self.dispatch(ROOT, "root/configChanged", config={"chatMoves.enabled": True})
        for session in (S1, S2):
            self.ask(
                "createSession", channel=session, workingDirectories=[f"file:///{session[-2:]}"]
            )
            self.host.run(self.ann.subscribe(session))
            chat = self.ann.state(session)["defaultChat"]
            self.host.run(self.ann.subscribe(chat))
            self.begin(chat)
        self.ask("createChat", channel=S1, chat=C2)
        self.host.run(self.ann.subscribe(C2))
        self.begin(C2)

    def ask(self, method, **params):
        return self.host.run(self.ann.request(method, **params))

    def dispatch(self, channel, kind, **fields):
        self.ann.dispatch(channel, {"type": kind, **fields})
        self.host.settle()

    def begin(self, chat, turn="t0"):
        message = {"text": "hello", "origin": {"kind": "user"}}
        self.dispatch(chat, "chat/turnStarted", turnId=turn, startedAt=START, message=message)

    def allowed(self, session):
        values = self.ann.plain_state(session)["config"]["values"]
        return values.get("permissions", {}).get("allow", [])

    def needed(self, session):
        return self.ann.plain_state(session).get("inputNeeded") or []

    def move(self, chat):
        self.ask("moveChat", channel=chat, destination={"kind": "session", "session": S2})

    def confirm(self, chat, turn, call):
        self.dispatch(
            chat,
            "chat/toolCallConfirmed",
            turnId=turn,
            toolCallId=call,
            approved=True,
            confirmed="user-action",
            selectedOptionId="allow-session",
        )


@pytest.fixture
def moving():
    moving = Moving()
    yield moving
    moving.host.stop()


def test_a_chat_whose_question_stands_stays_where_it_is(moving):
    answers = []
    moving.agent.then(asks(answers))
    moving.begin(C2, "t1")
    with pytest.raises(Exception, match="running a turn"):
        moving.move(C2)
    moving.confirm(C2, "t1", "t1:1")
    assert moving.allowed(S1) == ["rm"]
    assert [answer.approved for answer in answers] == [True]


def test_a_chat_that_moved_is_judged_by_the_session_it_is_in_and_grants_there(moving):
    answers = []
    moving.dispatch(S1, "session/configChanged", config={"permissions": {"allow": ["rm"]}})
    moving.move(C2)
    moving.agent.then(asks(answers))
    moving.begin(C2, "t1")
    assert answers == []
    [entry] = moving.needed(S2)
    assert entry["chat"] == C2
    moving.confirm(C2, "t1", "t1:1")
    assert [answer.approved for answer in answers] == [True]
    assert (moving.allowed(S1), moving.allowed(S2)) == (["rm"], ["rm"])
    assert moving.needed(S2) == []


def test_a_worker_s_question_moves_along_with_its_chat_and_grants_where_it_is_then(moving):
    answers, held = [], []

    async def work(turn):
        worker = turn.worker(turn.running("task"), "look into it")
        held.append(worker)

    moving.agent.then(work)
    moving.begin(C2, "t1")
    [worker] = held
    moving.host.run(moving.ann.subscribe(worker.chat))
    call = worker.begin("rm")
    worker.output.emit(
        {"type": "chat/toolCallReady", "toolCallId": call, "invocationMessage": "Run"}, SHELL
    )

    async def wait():
        answers.append(await worker.confirmed(call))

    Deferred.fromCoroutine(wait())
    moving.host.settle()
    assert [entry["chat"] for entry in moving.needed(S1)] == [worker.chat]
    moving.move(C2)
    assert moving.needed(S1) == []
    assert [entry["chat"] for entry in moving.needed(S2)] == [worker.chat]
    moving.confirm(worker.chat, worker.output.turn_id, call)
    assert [answer.approved for answer in answers] == [True]
    assert (moving.allowed(S1), moving.allowed(S2)) == ([], ["rm"])
    worker.done()
    moving.host.settle()


def test_an_agent_that_dies_with_questions_open_leaves_none(moving):
    async def script(turn):
        for tool in ("rm", "mv"):
            call = turn.begin(tool)
            turn.output.emit(
                {"type": "chat/toolCallReady", "toolCallId": call, "invocationMessage": "Run"},
                SHELL,
            )
        await moving.death
        raise AgentFailure("it died")

    moving.death = Deferred()
    moving.agent.then(script)
    moving.begin(C2, "t1")
    assert len(moving.needed(S1)) == 2
    moving.death.callback(None)
    moving.host.settle()
    assert moving.needed(S1) == []
    moving.confirm(C2, "t1", "t1:1")
    assert moving.allowed(S1) == []
    turn = moving.ann.plain_state(C2)["turns"][-1]
    calls = [part["toolCall"] for part in turn["responseParts"] if "toolCall" in part]
    assert {call["status"] for call in calls} == {"cancelled"}
