"""The test kit's agents and the host's side of them: what a test relies on."""

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred
from zope.interface.verify import verifyObject

from ahpd.interfaces import (
    AgentAbilities,
    AgentFailure,
    BackgroundTask,
    ChatStart,
    IAgentChat,
    IChatHost,
    IConfigCompletions,
    IConfiguredChat,
    IConversations,
    ICustomizedChat,
    IDelegatingChat,
    IMcpChat,
    InputAnswer,
    IResumingChat,
    ISteeredChat,
    ITurnOutput,
    IWorkerOutput,
    ToolAnswer,
    TurnOver,
    TurnRequest,
)
from ahpd.testing.agent_contract import check_said
from ahpd.testing.agents import (
    CompletingAgent,
    ConversationsAgent,
    Gate,
    RecordedHost,
    RecordedOutput,
    ScriptedAgent,
    Steered,
    never_ends,
    waits_at,
)


class Chat:
    """One chat on an agent, its host, and the turns begun on it."""

    def __init__(self, agent, **start):
        self.host = RecordedHost()
        fields = {"working_directories": (), "config": {}, "host": self.host, **start}
        told = ChatStart(session="ahp-session:/s", chat="ahp-chat:/c", **fields)
        Deferred.fromCoroutine(agent.open_chat(told)).addCallback(self._opened)

    def _opened(self, chat):
        self.chat = chat

    def begin(self, output=None, how="run"):
        output = output or RecordedOutput("t")
        request = TurnRequest(turn_id=output.turn_id, message=message("hello"))
        running = Deferred.fromCoroutine(getattr(self.chat, how)(request, output))
        return output, running


def message(text):
    return {"text": text, "origin": {"kind": "user"}}


def test_each_provides_what_it_says():
    chat = Chat(ScriptedAgent()).chat
    for interface in (
        IAgentChat,
        ISteeredChat,
        IResumingChat,
        IConfiguredChat,
        IDelegatingChat,
        ICustomizedChat,
        IMcpChat,
    ):
        verifyObject(interface, chat)
    output = RecordedOutput("t")
    verifyObject(ITurnOutput, output)
    verifyObject(IWorkerOutput, output.worker("c", message("x"), "Worker"))
    verifyObject(IChatHost, RecordedHost())
    verifyObject(IConversations, ConversationsAgent())
    verifyObject(IConfigCompletions, CompletingAgent())
    assert ScriptedAgent().abilities == AgentAbilities()
    assert not IConversations.providedBy(ScriptedAgent())


@pytest_twisted.ensureDeferred
async def test_answers_are_given_before_or_after_they_are_asked_for():
    output = RecordedOutput("t")
    output.confirm(ToolAnswer(approved=True), "second")
    first = Deferred.fromCoroutine(output.confirmed("first"))
    assert (await output.confirmed("second")).approved
    assert output.awaited.waiting == [("confirmed", "first")]
    assert await output.asked("confirmed") == "first"
    output.answer(InputAnswer(response="accept", answers={}))
    assert not first.called, "an answer to a question answered a call"
    output.confirm(ToolAnswer(approved=False))
    assert not (await first).approved


@pytest_twisted.ensureDeferred
async def test_a_test_waits_until_the_turn_asks():
    async def script(turn):
        await turn.confirmed(turn.ask("run", "Running"))

    chat = Chat(ScriptedAgent().then(waits_at(Gate()), script))
    output, running = chat.begin()
    asked = Deferred.fromCoroutine(output.asked("confirmed"))
    assert not asked.called
    await chat.chat.stop("t")
    await running
    output, running = chat.begin(RecordedOutput("t2"))
    assert await output.asked("confirmed") == "t2:1"
    output.over()
    with pytest.raises(TurnOver):
        await running
    with pytest.raises(TurnOver):
        await output.client_result("another")


@pytest_twisted.ensureDeferred
async def test_a_stopped_turn_no_longer_waits_for_an_answer():
    async def script(turn):
        await turn.answered(turn.question("Sure?", "yes", "no", required=True))

    chat = Chat(ScriptedAgent().then(script))
    output, running = chat.begin()
    assert output.awaited.waiting
    await chat.chat.stop("t")
    await running
    assert not output.awaited.waiting


@pytest_twisted.ensureDeferred
async def test_short_words_say_what_fits():
    async def script(turn):
        call = turn.ask("run", "Running", [{"id": "y", "label": "Yes", "kind": "approve"}])
        assert (await turn.confirmed(call)).option == "y"
        turn.complete(call, "ran", requiresResultConfirmation=True)
        assert not (await turn.result_confirmed(call)).approved
        await turn.client_result(turn.client_tool("editor", "look", '{"at": 1}'))
        held = turn.client_tool("editor", "look", confirmed=None)
        await turn.confirmed(held)
        turn.fail(turn.running("other"), "it broke")
        assert (await turn.answered(turn.question("Sure?", "yes", "no"))).response == "decline"
        turn.background(BackgroundTask(id="shell:1", label="x", started_at="now"))
        turn.point("here")

    chat = Chat(ScriptedAgent().then(script))
    output, running = chat.begin()
    output.confirm(ToolAnswer(approved=True, option="y"))
    output.confirm_result(ToolAnswer(approved=False))
    output.return_result({"success": True, "pastTenseMessage": "Looked"})
    output.confirm(ToolAnswer(approved=False, reason="denied", message="no"))
    output.answer(InputAnswer(response="decline", answers={}))
    await running
    check_said(output.history, "t")
    assert output.points == ["here"]
    assert [task.id for task in chat.host.tasks[0]] == ["shell:1"]
    assert len(output.history) == len(output.actions) + 5


@pytest_twisted.ensureDeferred
async def test_a_worker_is_stopped_by_its_call():
    stopped = []

    async def script(turn):
        worker = turn.worker(turn.running("task"), "look", "Reader")
        worker.markdown("seen")
        await worker.until_stopped()
        stopped.append(worker.chat)
        worker.failed("stopped")

    chat = Chat(ScriptedAgent().then(script))
    output, running = chat.begin()
    ((call, worker),) = output.workers.items()
    await chat.chat.stop_worker("another")
    assert not running.called
    await chat.chat.stop_worker(call)
    await running
    assert chat.chat.stopped_workers == ["another", call]
    assert stopped == [worker.chat]
    assert (worker.title, worker.text(), worker.ended) == ("Reader", "seen", "agentError: stopped")
    with pytest.raises(RuntimeError, match="had ended already"):
        worker.complete()
    again = output.worker(call, message("more"), "Reader")
    assert again.chat == worker.chat
    assert again.turn_id != worker.turn_id


@pytest_twisted.ensureDeferred
async def test_steering_is_read_handed_back_or_withdrawn():
    async def script(turn):
        turn.markdown((await turn.steering()).text)
        await turn.forever()

    chat = Chat(ScriptedAgent().then(script))
    assert chat.chat.steer("early", message("x")) is False
    output, running = chat.begin()
    for name in ("one", "two", "three"):
        assert chat.chat.steer(name, message(name)) is True
    assert output.text() == "one"
    assert chat.host.taken == ["one"]
    assert chat.chat.withdraw("one") is False
    assert chat.chat.withdraw("two") is True
    await chat.chat.stop("t")
    await running
    assert chat.host.returned == ["three"]
    assert [steered.id for steered in chat.chat.steered] == ["early", "one", "two", "three"]
    assert chat.chat.withdrawn == ["one", "two"]


def test_steering_misbehaves_as_told():
    agent = ScriptedAgent(always=never_ends)
    chat = Chat(agent)
    chat.begin()
    agent.takes_steering = lambda steered: steered == Steered("one", message("x"))
    assert chat.chat.steer("one", message("x")) is True
    assert chat.chat.steer("two", message("x")) is False
    agent.withdraws = False
    assert chat.chat.withdraw("one") is False
    agent.keeps_steering = True
    Deferred.fromCoroutine(chat.chat.stop("t"))
    assert chat.host.returned == []


@pytest_twisted.ensureDeferred
async def test_a_resumed_turn_counts_on():
    async def script(turn):
        turn.markdown("again" if turn.resumed else "first")
        if not turn.resumed:
            raise AgentFailure("not yet", resumable=True)

    chat = Chat(ScriptedAgent(always=script))
    first, running = chat.begin()
    with pytest.raises(AgentFailure):
        await running
    second, running = chat.begin(how="resume")
    await running
    assert [turn.turn_id for turn in chat.chat.resumed] == ["t"]
    assert len(chat.chat.turns) == 1
    check_said(first.history, "t", second.history, "t")


@pytest_twisted.ensureDeferred
async def test_what_it_was_asked_is_kept_and_failures_are_raised():
    agent = ScriptedAgent()
    chat = Chat(agent).chat
    for _ in range(2):
        works = agent.configure_failure is None
        calls = (
            lambda: chat.toggle("c", False),
            lambda: chat.start_server("m"),
            lambda: chat.stop_server("m"),
        )
        for call in calls:
            if works:
                await call()
            else:
                with pytest.raises(AgentFailure):
                    await call()
        if works:
            chat.configure({"a": 1})
        else:
            with pytest.raises(AgentFailure):
                chat.configure({"a": 2})
        agent.configure_failure = agent.toggle_failure = agent.server_failure = AgentFailure("no")
    chat.leave_server_starting("m")
    assert chat.configured == [{"a": 1}, {"a": 2}]
    assert chat.toggled == [("c", False)] * 2
    assert chat.started_servers == chat.stopped_servers == ["m", "m"]
    assert chat.left_starting == ["m"]


@pytest_twisted.ensureDeferred
async def test_a_conversation_is_named_at_its_first_turn():
    agent = ScriptedAgent()
    agent.keeps_as = lambda start: f"kept {start.chat}"
    chat = Chat(agent)
    assert chat.host.kept == []
    for number in range(2):
        _, running = chat.begin(RecordedOutput(f"t{number}"))
        await running
    assert chat.host.kept == ["kept ahp-chat:/c"]


@pytest_twisted.ensureDeferred
async def test_conversations_are_those_the_test_keeps():
    agent = ConversationsAgent()
    agent.keep(
        "one", {"id": "t"}, title="One", points={"t": "p"}, working_directories=["file:///a"]
    )
    agent.keep("two", modified_at="2026-02-01T00:00:00.000Z")
    listed = {found.id: found for found in await agent.list_conversations()}
    assert (listed["one"].title, listed["two"].title) == ("One", "two")
    assert listed["one"].working_directories == ("file:///a",)
    assert (await agent.read_conversation("one")).points == {"t": "p"}
    await agent.delete_conversation("one")
    await agent.delete_conversation("one")
    assert agent.deleted == ["one", "one"]
    with pytest.raises(AgentFailure, match="no conversation one"):
        await agent.read_conversation("one")
    agent.list_failure = agent.delete_failure = agent.read_failure = AgentFailure("no")
    for call in (
        agent.list_conversations(),
        agent.read_conversation("two"),
        agent.delete_conversation("two"),
    ):
        with pytest.raises(AgentFailure, match="no"):
            await call
    assert "two" in agent.listed
    assert agent.reads == ["one", "one", "two"]


@pytest_twisted.ensureDeferred
async def test_settings_are_completed_from_what_the_test_has():
    agent = CompletingAgent()
    agent.completions["branch"] = ["main", "domain", "other"]
    found = await agent.complete_config("branch", "main", {})
    assert [item["value"] for item in found] == ["main", "domain"]
    assert await agent.complete_config("unknown", "", {}) == []
    assert agent.completed == [("branch", "main", {}), ("unknown", "", {})]
