"""What the demo agent asks of people, clients and workers, and what it is told while it runs."""

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ahpd.agents.demo.agent import DemoAgent
from ahpd.agents.demo.background import DemoBackground
from ahpd.agents.demo.settings import pace_of
from ahpd.interfaces import (
    AgentFailure,
    ChatStart,
    ConversationPoint,
    InputAnswer,
    ToolAnswer,
    TurnRequest,
)
from ahpd.testing.agent_contract import check_said
from ahpd.testing.agents import Gate, RecordedHost, RecordedOutput

TOOLS = [
    {"clientId": "editor", "name": "look", "title": "Look around", "description": "Sees"},
    {"clientId": "other", "name": "look"},
    {"clientId": "other", "name": "listen"},
]


class Demo:
    """One chat on the demo agent, and its host."""

    def __init__(self, reactor, supervisor, pace_ms=0):
        self.agent = DemoAgent(reactor, supervisor, pace_ms=pace_ms)
        self.host = RecordedHost()
        self.chat = None

    async def open(self, **start):
        fields = {"working_directories": (), "config": {}, "host": self.host, **start}
        told = ChatStart(session="ahp-session:/s", chat="ahp-chat:/c", **fields)
        self.chat = await self.agent.open_chat(told)
        return self

    def request(self, text, turn_id="t"):
        return TurnRequest(
            turn_id=turn_id,
            message={"text": text, "origin": {"kind": "user"}},
            client_tools=TOOLS,
        )

    def begin(self, text, output):
        return Deferred.fromCoroutine(self.chat.run(self.request(text, output.turn_id), output))

    async def tell(self, text, output=None):
        output = output or RecordedOutput("t")
        await self.chat.run(self.request(text, output.turn_id), output)
        check_said(output.history, output.turn_id)
        return output


@pytest_twisted.async_yield_fixture
async def demo(reactor, supervisor):
    demo = await Demo(reactor, supervisor).open()
    yield demo
    await demo.chat.close()


def kinds(output):
    return [action["type"].removeprefix("chat/") for action in output.history]


# -- people ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (InputAnswer(response="decline", answers={}), "You declined to answer."),
        (InputAnswer(response="cancel", answers={}), "You called the question off."),
        (InputAnswer(response="accept", answers={}), "You answered nothing."),
        (
            InputAnswer(
                response="accept",
                answers={
                    "answer": {
                        "state": "submitted",
                        "value": {"kind": "selected", "value": "red"},
                    }
                },
            ),
            "You answered: red",
        ),
        (
            InputAnswer(
                response="accept",
                answers={
                    "answer": {
                        "state": "submitted",
                        "value": {"kind": "selected", "value": "red", "freeformValues": ["pink"]},
                    }
                },
            ),
            "You answered: red, pink",
        ),
        (
            InputAnswer(
                response="accept",
                answers={"answer": {"state": "skipped", "freeformValues": ["mauve"]}},
            ),
            "You answered: mauve",
        ),
    ],
)
@pytest_twisted.ensureDeferred
async def test_ask_asks_and_echoes_what_was_answered(demo, answer, words):
    output = RecordedOutput("t")
    running = demo.begin("/ask Which one? | red | blue | red\n/say after", output)
    request = await output.asked("answered")
    assert not running.called
    assert kinds(output) == ["inputRequested"]
    asked = output.actions[0]["request"]
    assert (asked["id"], asked["message"]) == (request, "Which one?")
    assert [option["label"] for option in asked["questions"][0]["options"]] == ["red", "blue"]
    output.answer(answer, request)
    await running
    check_said(output.history, "t")
    assert output.text() == words + "after"


@pytest_twisted.ensureDeferred
async def test_a_question_without_choices_is_yes_or_no(demo):
    output = RecordedOutput("t")
    output.answer(InputAnswer(response="cancel", answers={}))
    await demo.tell("/ask Sure?", output)
    options = output.actions[0]["request"]["questions"][0]["options"]
    assert [option["id"] for option in options] == ["Yes", "No"]


@pytest.mark.parametrize(
    ("answer", "words", "answered"),
    [
        (ToolAnswer(approved=True), "Rm was allowed.", "it all"),
        (ToolAnswer(approved=True, edited_input='{"text": "a bit"}'), "Rm was allowed.", "a bit"),
        (ToolAnswer(approved=True, edited_input="[1]"), "Rm was allowed.", "[1]"),
        (ToolAnswer(approved=True, edited_input="nothing {"), "Rm was allowed.", "nothing {"),
        (ToolAnswer(approved=False, reason="denied"), "Rm was denied.", None),
        (
            ToolAnswer(
                approved=False,
                reason="skipped",
                message="not now",
                suggestion={"text": "later", "origin": {"kind": "user"}},
            ),
            "Rm was skipped: not now (you suggested: later).",
            None,
        ),
    ],
)
@pytest_twisted.ensureDeferred
async def test_confirm_asks_first_and_says_what_was_decided(demo, answer, words, answered):
    output = RecordedOutput("t")
    running = demo.begin("/confirm rm it all", output)
    call = await output.asked("confirmed")
    ready = output.actions[-1]
    assert (ready["type"], ready["toolCallId"]) == ("chat/toolCallReady", call)
    assert "confirmed" not in ready
    assert ready["editable"]
    output.confirm(answer, call)
    await running
    check_said(output.history, "t")
    assert output.text() == words
    results = [a["result"] for a in output.actions if a["type"] == "chat/toolCallComplete"]
    assert [r["content"][0]["text"] for r in results] == ([] if answered is None else [answered])


@pytest_twisted.ensureDeferred
async def test_a_stop_ends_a_turn_that_waits_and_the_process_goes_on(demo, pause):
    output = RecordedOutput("t")
    running = demo.begin("/confirm rm it all\n/say never", output)
    await output.asked("confirmed")
    pid = demo.chat.pid
    await demo.chat.stop("t")
    await running
    output.confirm(ToolAnswer(approved=True))
    await pause(0.05)
    assert output.text() == ""
    assert (await demo.tell("/say on", RecordedOutput("t2"))).text() == "on"
    assert demo.chat.pid == pid


@pytest.mark.logs_failures
@pytest_twisted.ensureDeferred
async def test_a_host_that_cannot_answer_ends_the_turn_in_words(demo):
    class Broken(RecordedOutput):
        async def confirmed(self, tool_call_id):
            raise ValueError("broken")

    with pytest.raises(AgentFailure, match="the host could not answer it"):
        await demo.tell("/confirm rm it all", Broken("t"))
    assert (await demo.tell("/say on")).text() == "on"


# -- clients --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (
            {
                "success": True,
                "pastTenseMessage": "Looked",
                "content": [{"type": "text", "text": "a tree"}, {"type": "text", "text": "a hat"}],
            },
            "Look around answered: a tree a hat",
        ),
        ({"success": True, "pastTenseMessage": "Looked"}, "Look around answered: nothing"),
        (
            {"success": False, "pastTenseMessage": "Tried", "error": {"message": "it is gone"}},
            "Look around failed: it is gone",
        ),
        (
            {"success": False, "pastTenseMessage": "Tried"},
            "Look around failed: it did not say why",
        ),
    ],
)
@pytest_twisted.ensureDeferred
async def test_client_has_a_client_run_its_tool(demo, result, words):
    output = RecordedOutput("t")
    running = demo.begin('/client look {"at": "the sea"}', output)
    call = await output.asked("client_result")
    start, ready = output.actions[0], output.actions[-1]
    assert start["contributor"] == {"kind": "client", "clientId": "editor"}
    assert (start["toolName"], start["displayName"]) == ("look", "Look around")
    assert (ready["toolInput"], ready["confirmed"]) == ('{"at": "the sea"}', "not-needed")
    output.return_result(result, call)
    await running
    check_said(output.history, "t")
    assert output.text() == words


@pytest_twisted.ensureDeferred
async def test_a_tool_no_client_offers_fails_the_turn_in_words(demo):
    with pytest.raises(AgentFailure) as failure:
        await demo.tell("/client sing")
    assert failure.value.message == (
        "/client: no client offers the tool sing; offered are: listen, look"
    )


# -- workers --------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_task_spawns_a_worker_that_answers(demo):
    output = await demo.tell("/task reader what is there\n/say after")
    ((call, worker),) = output.workers.items()
    check_said(worker.history, worker.turn_id)
    assert worker.message == {"text": "what is there", "origin": {"kind": "agent"}}
    assert (worker.title, worker.text()) == ("reader", "You said: what is there")
    assert worker.ended == "complete"
    assert output.text() == "after"
    (complete,) = [a for a in output.actions if a["type"] == "chat/toolCallComplete"]
    assert complete["toolCallId"] == call
    assert complete["result"]["content"] == [
        {"type": "text", "text": "You said: what is there"},
        {
            "type": "subagent",
            "resource": worker.chat,
            "title": "reader",
            "agentName": "reader",
        },
    ]
    assert worker.turn_id != output.turn_id


@pytest_twisted.ensureDeferred
async def test_a_stopped_worker_is_stopped_and_its_turn_goes_on(demo):
    output = RecordedOutput("t")
    running = demo.begin("/task reader /sleep 600000\n/say after", output)
    while not output.workers:
        await a_moment()
    (call,) = output.workers
    await demo.chat.stop_worker(call)
    await running
    check_said(output.history, "t")
    assert output.text() == "after"
    (complete,) = [a for a in output.actions if a["type"] == "chat/toolCallComplete"]
    assert complete["result"]["error"] == {"message": "reader was stopped"}


@pytest_twisted.ensureDeferred
async def test_a_worker_that_fails_fails_its_call_alone(demo):
    output = await demo.tell("/task reader /fail no luck\n/say after")
    ((_, worker),) = output.workers.items()
    assert worker.ended == "demoFailure: no luck"
    (complete,) = [a for a in output.actions if a["type"] == "chat/toolCallComplete"]
    assert complete["result"]["error"] == {"message": "no luck"}
    assert output.text() == "after"


@pytest_twisted.ensureDeferred
async def test_a_workers_question_is_asked_in_its_own_chat(demo):
    output = RecordedOutput("t")
    running = demo.begin("/task reader /confirm rm it all", output)
    while not output.workers:
        await a_moment()
    ((_, worker),) = output.workers.items()
    await worker.asked("confirmed")
    assert not output.awaited.waiting
    worker.confirm(ToolAnswer(approved=False, reason="denied"))
    await running
    assert worker.text() == "Rm was denied."


@pytest_twisted.ensureDeferred
async def test_a_stop_of_the_turn_ends_its_worker(demo):
    output = RecordedOutput("t")
    running = demo.begin("/task reader /sleep 600000", output)
    while not output.workers:
        await a_moment()
    await demo.chat.stop("t")
    await running
    ((_, worker),) = output.workers.items()
    assert worker.ended == "turnEnded: The turn that spawned it ended first"


async def a_moment():
    from twisted.internet import reactor
    from twisted.internet.task import deferLater

    await deferLater(reactor, 0.005, lambda: None)


# -- steering -------------------------------------------------------------------------


def message(text):
    return {"text": text, "origin": {"kind": "user"}}


async def speaking(output):
    while not output.actions:
        await a_moment()


CALLED_OFF = InputAnswer(response="cancel", answers={})


@pytest_twisted.ensureDeferred
async def test_what_is_said_meanwhile_is_answered_between_two_steps(demo):
    output = RecordedOutput("t")
    running = demo.begin("/ask Sure?\n/say b", output)
    request = await output.asked("answered")  # the step waits for as long as the test does
    assert demo.chat.steer("m1", message("faster")) is True
    assert demo.chat.steer("m2", message("please")) is True
    output.answer(CALLED_OFF, request)
    await running
    check_said(output.history, "t")
    meanwhile = "You said meanwhile: fasterYou said meanwhile: please"
    assert output.text() == f"You called the question off.{meanwhile}b"
    assert demo.host.taken == ["m1", "m2"]
    assert demo.host.returned == []


@pytest_twisted.ensureDeferred
async def test_what_is_said_into_a_stream_that_is_held_back_is_answered_behind_it(demo):
    room = Gate()
    output = RecordedOutput("t", room)
    running = demo.begin("/stream 20000 100\n/say b", output)
    await room.reached()  # its program has most of it still to write
    assert demo.chat.steer("m1", message("faster")) is True
    room.open()
    await running
    check_said(output.history, "t")
    said = output.text()
    assert said.startswith("0..")
    assert said.endswith("..You said meanwhile: fasterb")
    assert demo.host.taken == ["m1"]


@pytest_twisted.ensureDeferred
async def test_a_message_withdrawn_in_time_is_not_answered(demo):
    output = RecordedOutput("t")
    running = demo.begin("/ask Sure?\n/say b", output)
    request = await output.asked("answered")
    demo.chat.steer("m1", message("faster"))
    assert demo.chat.withdraw("m1") is True
    assert demo.chat.withdraw("m1") is False
    output.answer(CALLED_OFF, request)
    await running
    assert output.text() == "You called the question off.b"
    assert (demo.host.taken, demo.host.returned) == ([], [])


@pytest_twisted.ensureDeferred
async def test_what_its_turn_did_not_read_goes_back(demo):
    assert demo.chat.steer("early", message("x")) is False
    output = RecordedOutput("t")
    running = demo.begin("/say a\n/sleep 600000", output)
    await speaking(output)
    demo.chat.steer("m1", message("faster"))
    await demo.chat.stop("t")
    assert demo.chat.steer("late", message("x")) is False
    await running
    assert demo.host.returned == ["m1"]


# -- resuming -------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_a_turn_that_can_be_resumed_goes_on_where_it_failed(demo):
    turn = demo.request("/say a\n/retry 2\n/say b")
    outputs = [RecordedOutput("t") for _ in range(3)]
    with pytest.raises(AgentFailure) as failure:
        await demo.chat.run(turn, outputs[0])
    assert failure.value.resumable
    assert failure.value.message == "Try 1 failed; try 3 works"
    with pytest.raises(AgentFailure, match="Try 2 failed") as failure:
        await demo.chat.resume(turn, outputs[1])
    assert failure.value.resumable
    await demo.chat.resume(turn, outputs[2])
    assert [output.text() for output in outputs] == ["a", "", "It worked on try 3.b"]
    check_said(*(each for output in outputs for each in (output.history, "t")))


@pytest_twisted.ensureDeferred
async def test_a_failure_that_cannot_be_resumed_says_so(demo):
    with pytest.raises(AgentFailure) as failure:
        await demo.tell("/fail")
    assert not failure.value.resumable


@pytest_twisted.ensureDeferred
async def test_a_turn_that_failed_before_the_chat_was_opened_begins_again(reactor, supervisor):
    parts = [
        {"kind": "markdown", "id": "t:1", "content": "a"},
        {"kind": "toolCall", "toolCall": {"toolCallId": "t:4"}},
        {"kind": "error", "message": "x"},
    ]
    demo = await Demo(reactor, supervisor).open(history=[{"id": "t", "responseParts": parts}])
    output = RecordedOutput("t")
    await demo.chat.resume(demo.request("/say a\n/retry 1"), output)
    assert output.text() == "aIt worked on try 2."
    assert [a["part"]["id"] for a in output.actions if "part" in a] == ["t:5", "t:6"]
    await demo.chat.close()


# -- background -----------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_background_work_is_told_of_until_it_ends(demo, pause):
    output = await demo.tell("/background build 0")
    assert output.text() == "build runs in the background for 0 s."
    (task,) = demo.host.tasks[0]
    assert (task.label, task.command) == ("build", "sleep 0")
    assert task.id == "shell:t:1"
    while len(demo.host.tasks) < 2:
        await pause(0.005)
    assert demo.host.tasks[1] == ()


@pytest_twisted.ensureDeferred
async def test_background_work_is_stopped_and_ends_with_its_chat():
    clock, host = Clock(), RecordedHost()
    background = DemoBackground(clock, host)
    background.begin("one", "One", 10)
    background.begin("two", "Two", 20)
    assert [task.id for task in host.tasks[-1]] == ["shell:one", "shell:two"]
    assert host.tasks[-1][0].started_at == "1970-01-01T00:00:00.000Z"
    await host.tasks[-1][0].stop()
    await host.tasks[0][0].stop()
    assert [task.id for task in host.tasks[-1]] == ["shell:two"]
    assert len(host.tasks) == 3
    clock.advance(20)
    assert host.tasks[-1] == ()
    background.begin("three", "Three", 10)
    background.close()
    assert host.tasks[-1] == ()
    assert not clock.getDelayedCalls()


# -- settings, conversations, what it shows ---------------------------------------------


@pytest_twisted.ensureDeferred
async def test_the_pace_is_a_setting_and_a_running_answer_takes_it(reactor, supervisor, pause):
    demo = await Demo(reactor, supervisor, pace_ms=30_000).open(config={"pace": "instant"})
    begun = reactor.seconds()
    assert (await demo.tell("a b c")).text() == "You said: a b c"
    demo.chat.configure({"pace": "slow"})
    output = RecordedOutput("t2")
    running = demo.begin("a b c", output)
    await speaking(output)
    await pause(0.05)
    assert output.text() == ""
    demo.chat.configure({"pace": "instant"})
    await running
    assert output.text() == "You said: a b c"
    assert (await demo.tell("d", RecordedOutput("t3"))).text() == "You said: d"
    assert reactor.seconds() - begun < 10
    await demo.chat.close()


def test_a_pace_there_is_none_of_is_refused_in_words():
    for value in ("fast", 3, None, ["slow"]):
        with pytest.raises(AgentFailure, match="pace is one of slow, normal, instant, not"):
            pace_of({"pace": value})
    assert pace_of({}) == pace_of({"pace": "normal", "another": 1}) == 1.0


@pytest_twisted.ensureDeferred
async def test_its_conversation_is_kept_and_its_turns_have_ends(demo):
    output = await demo.tell("hello")
    await demo.tell("hello", RecordedOutput("t2"))
    assert demo.host.kept == ["ahp-chat:/c"]
    assert output.points == ["t"]


@pytest_twisted.ensureDeferred
async def test_a_conversation_that_goes_on_keeps_its_name_and_a_fork_has_its_own(
    reactor, supervisor
):
    at = ConversationPoint(conversation="ahp-chat:/old", point="t0")
    for how, kept in (("resume", []), ("fork", ["ahp-chat:/c"])):
        demo = await Demo(reactor, supervisor).open(**{how: at})
        await demo.tell("hello")
        assert demo.host.kept == kept
        await demo.chat.close()


@pytest_twisted.ensureDeferred
async def test_a_side_chats_first_turn_says_what_it_was_told_of(reactor, supervisor):
    demo = await Demo(reactor, supervisor).open(preamble="the sky is blue")
    output = await demo.tell("/say a")
    thoughts = [a["content"] for a in output.actions if a["type"] == "chat/reasoning"]
    assert thoughts == ["Before this message I was told: the sky is blue"]
    again = await demo.tell("/say a", RecordedOutput("t2"))
    assert [a["type"] for a in again.actions] == ["chat/responsePart", "chat/delta"]
    await demo.chat.close()


@pytest_twisted.ensureDeferred
async def test_its_customizations_are_directives_it_knows(demo):
    containers = demo.agent.info()["customizations"]
    assert [container["contents"] for container in containers] == ["prompt", "skill"]
    for container in containers:
        (child,) = container["children"]
        assert child["type"] == container["contents"]
        await demo.tell(f"/{child['name']}", RecordedOutput(child["name"]))
    output = await demo.tell("/help", RecordedOutput("help-2"))
    for directive in ("/say", "/ask", "/confirm", "/client", "/task", "/retry", "/hello"):
        assert f"`{directive}" in output.text()
    assert (await demo.tell("/hello Ann", RecordedOutput("t9"))).text().startswith("Hello, Ann!")
