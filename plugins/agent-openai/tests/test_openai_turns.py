"""Turns of the loop: tools of three kinds, approvals, steering, stops, and running on."""

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred
from twisted.logger import globalLogPublisher

from ahpd.interfaces import (
    AgentFailure,
    ConversationPoint,
    HostTool,
    ToolAnswer,
    ToolEffects,
    TurnRequest,
)
from ahpd.protocol.check import check_strict
from ahpd.protocol.shapes import shape
from ahpd.testing.agent_contract import check_said
from ahpd.testing.agents import Gate, RecordedHost, RecordedOutput
from ahpd_agent_openai.testing import (
    Answer,
    call_delta,
    calls,
    chunk,
    refuses,
    says,
    sse,
    usage_chunk,
)

DESTROYS = ToolEffects(writes=True, destructive=True)


def roles(request):
    return [message["role"] for message in request["messages"]]


def of_kind(output, kind):
    return [action for action in output.actions if action["type"] == kind]


@pytest_twisted.ensureDeferred
async def test_parallel_calls_run_in_order_and_the_model_goes_on(bench):
    order = []
    bench.tools["look"] = lambda arguments, call: (
        order.append(arguments["at"]) or f"saw {arguments['at']}"
    )
    both = {"tool_calls": [
        *call_delta("look", '{"at": 1}')["tool_calls"],
        *call_delta("look", '{"at": 2}', index=1, id="call_2")["tool_calls"],
    ]}  # fmt: skip
    bench.endpoint.answers += [
        Answer(body=sse(chunk({"content": "Let me see."}), chunk(both), chunk({}, "tool_calls"))),
        calls("look", {"at": 3}),
        says("All", " seen"),
    ]
    chat = await bench.chat()
    output = await bench.turn(chat)
    assert order == [1, 2, 3]
    assert output.text() == "Let me see.All seen"
    check_said(output.history, "t1")
    second, third = bench.endpoint.completions[1:]
    assert roles(second) == ["system", "user", "assistant", "tool", "tool"]
    assert [one["content"] for one in second["messages"][3:]] == ["saw 1", "saw 2"]
    assert roles(third)[-2:] == ["assistant", "tool"]
    started = of_kind(output, "chat/toolCallStart")
    assert started[0]["displayName"] == "Look"
    assert started[0]["_meta"] == {"drawn": "look"}
    assert len({one["toolCallId"] for one in started}) == 3
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_request_says_what_is_offered_and_how(bench):
    bench.tools["look"] = lambda arguments, call: ""
    host = RecordedHost()
    chat = await bench.chat(
        bench.agent(instructions="Be brief."),
        host,
        instructions="Use tools of the host.",
        server_tools=[
            {"name": "rename", "description": "Renames", "inputSchema": {"type": "object"}}
        ],
        preamble="Earlier it was said: hi",
        working_directories=("file:///work/a", "file:///work/b"),
    )
    bench.boxes[0].memory = "Remember: green."
    tool = {
        "clientId": "ed.1",
        "name": "look up!",
        "title": "Look",
        "inputSchema": {"type": "object", "properties": {"a": {}}},
    }
    await bench.turn(chat, client_tools=[tool, {**tool, "name": "look up?"}])
    request = bench.endpoint.completions[0]
    system = request["messages"][0]["content"]
    for said in ("Be brief.", "/work/a", "/work/b", "Use tools of the host.", "Remember: green."):
        assert said in system
    names = [one["function"]["name"] for one in request["tools"]]
    assert names[:3] == ["look", "rename", "ed_1__look_up_"]
    assert names[3].startswith("ed_1__look_up__")
    assert len(set(names)) == 4
    assert request["messages"][1]["content"] == "Earlier it was said: hi\n\nhello"
    assert request["stream_options"] == {"include_usage": True}
    assert "reasoning_effort" not in request
    await bench.turn(
        chat, turn_id="t2", model={"id": "openai/other", "config": {"thinkingLevel": "high"}}
    )
    request = bench.endpoint.completions[1]
    assert request["model"] == "other"
    assert request["reasoning_effort"] == "high"
    assert "Earlier" not in request["messages"][-1]["content"]
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_host_tool_is_run_by_the_host(bench):
    host = RecordedHost()

    async def rename(arguments, context):
        return f"renamed to {arguments['title']} by {context.tool_call_id}"

    host.tools["rename"] = HostTool(definition={"name": "rename"}, run=rename)
    bench.endpoint.answers += [calls("rename", {"title": "X"}), says("Done")]
    chat = await bench.chat(host=host, server_tools=[{"name": "rename", "title": "Rename"}])
    output = await bench.turn(chat)
    told = bench.endpoint.completions[1]["messages"][-1]["content"]
    assert told.startswith("renamed to X by t1:")
    assert of_kind(output, "chat/toolCallComplete")[0]["result"]["success"] is True
    check_said(output.history, "t1")
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_clients_tool_is_run_by_its_client(bench, running):
    bench.endpoint.answers += [calls("editor__look", {"at": 1}), says("Done")]
    chat = await bench.chat()
    output = RecordedOutput("t1")
    run = running(chat, output, client_tools=[{"clientId": "editor", "name": "look"}])
    await output.asked("client_result")
    output.return_result(
        {
            "success": True,
            "pastTenseMessage": "Looked",
            "content": [{"type": "text", "text": "a tree"}],
        }
    )
    await run
    start = of_kind(output, "chat/toolCallStart")[0]
    assert start["contributor"] == {"kind": "client", "clientId": "editor"}
    assert start["toolName"] == "look"
    assert bench.endpoint.completions[1]["messages"][-1]["content"] == "a tree"
    assert not of_kind(output, "chat/toolCallComplete")
    check_said(output.history, "t1")
    await chat.close()


@pytest.mark.parametrize(
    ("mode", "effects", "happens"),
    [
        ("auto", DESTROYS, "asks"),
        ("auto", ToolEffects(reads=True), "runs"),
        ("bypassPermissions", DESTROYS, "runs"),
        ("plan", DESTROYS, "refuses"),
        ("dontAsk", DESTROYS, "refuses"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_the_mode_decides_whether_a_call_runs(bench, running, mode, effects, happens):
    bench.tools["shell"] = lambda arguments, call: "ran"
    bench.effects["shell"] = effects
    bench.endpoint.answers += [calls("shell", {"command": "rm"}), says("Done")]
    chat = await bench.chat(config={"permissionMode": mode})
    output = RecordedOutput("t1")
    run = running(chat, output)
    if happens == "asks":
        call = await output.asked("confirmed")
        assert output.permissions[call].kind == "shell"
        output.confirm(ToolAnswer(approved=True, edited_input="rm -i"))
    await run
    ran = bench.boxes[0].ran
    told = bench.endpoint.completions[1]["messages"][-1]["content"]
    assert (
        ran
        == {
            "asks": [("shell", {"command": "rm -i"})],
            "runs": [("shell", {"command": "rm"})],
            "refuses": [],
        }[happens]
    )
    assert (told == "ran") is (happens != "refuses")
    check_said(output.history, "t1")
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_command_is_edited_as_it_is_shown_and_nothing_else_is(bench, running):
    bench.tools |= {"shell": lambda arguments, call: "ran", "write": lambda arguments, call: "ran"}
    bench.effects |= {"shell": DESTROYS, "write": DESTROYS}
    bench.endpoint.answers += [calls("shell", {"command": "rm"}), calls("write", {}), says("Done")]
    chat = await bench.chat()
    output = RecordedOutput("t1")
    run = running(chat, output)
    for name in ("shell", "write"):
        call = await output.asked("confirmed")
        [ready] = [
            said for said in of_kind(output, "chat/toolCallReady") if said["toolCallId"] == call
        ]
        shown = ready["toolInput"] == output.permissions[call].command
        assert ready.get("editable", False) is shown, name
        output.confirm(ToolAnswer(approved=True))
    await run
    await chat.close()


@pytest.mark.parametrize("edited", ["{", "[1]", "3", "rm -i"])
@pytest_twisted.ensureDeferred
async def test_what_a_person_made_no_input_of_is_not_run_in_any_other_way(bench, running, edited):
    bench.tools["write"] = lambda arguments, call: "ran"
    bench.effects["write"] = DESTROYS
    bench.endpoint.answers += [calls("write", {"path": "a"}), says("I see")]
    chat = await bench.chat()
    output = RecordedOutput("t1")
    run = running(chat, output)
    await output.asked("confirmed")
    output.confirm(ToolAnswer(approved=True, edited_input=edited))
    await run
    assert bench.boxes[0].ran == []
    told = bench.endpoint.completions[1]["messages"][-1]["content"]
    assert "was not run: the person edited its input" in told
    check_said(output.history, "t1")
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_declined_call_tells_the_model_why(bench):
    bench.tools["shell"] = lambda arguments, call: "ran"
    bench.effects["shell"] = DESTROYS
    bench.endpoint.answers += [calls("shell", {"command": "rm"}), says("I see")]
    chat = await bench.chat()
    output = RecordedOutput("t1")
    output.confirm(
        ToolAnswer(
            approved=False, reason="denied", message="not today", suggestion={"text": "use ls"}
        )
    )
    await bench.turn(chat, output=output)
    told = bench.endpoint.completions[1]["messages"][-1]["content"]
    assert "not today" in told
    assert "use ls" in told
    assert not bench.boxes[0].ran
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_call_the_hosts_rules_refuse_is_ended_and_told_to_the_model(bench):
    bench.tools["shell"] = lambda arguments, call: "ran"
    bench.effects["shell"] = DESTROYS
    bench.endpoint.answers += [calls("shell", {"command": "rm"}), says("I see")]
    chat = await bench.chat()
    output = RecordedOutput("t1")
    output.confirm(ToolAnswer(approved=False, decision_source="host_policy"))
    await bench.turn(chat, output=output)
    assert "rules of this host" in bench.endpoint.completions[1]["messages"][-1]["content"]
    (ended,) = of_kind(output, "chat/toolCallComplete")
    assert ended["result"]["success"] is False
    assert not bench.boxes[0].ran
    check_said(output.history, "t1")
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_tool_nobody_has_and_one_that_breaks_are_told_to_the_model(bench):
    def broken(arguments, call):
        raise ValueError("secret detail")

    bench.tools["look"] = broken
    bench.endpoint.answers += [calls("fly", {}), calls("look", {}), says("Sorry")]
    chat = await bench.chat()
    seen = []
    globalLogPublisher.addObserver(seen.append)
    output = await bench.turn(chat)
    globalLogPublisher.removeObserver(seen.append)
    second, third = bench.endpoint.completions[1:]
    assert "no tool 'fly'" in second["messages"][-1]["content"]
    assert "look" in second["messages"][-1]["content"]
    assert "secret" not in third["messages"][-1]["content"]
    assert [one for one in seen if "log_failure" in one]
    assert output.text() == "Sorry"
    check_said(output.history, "t1")
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_steering_goes_into_the_next_step_and_what_comes_late_goes_back(bench, running):
    host = RecordedHost()
    gate = Deferred()
    bench.tools["look"] = lambda arguments, call: gate
    bench.endpoint.answers += [calls("look", {}), says("Done")]
    chat = await bench.chat(host=host)
    output = RecordedOutput("t1")
    run = running(chat, output)
    while not bench.boxes[0].ran:
        await pause(bench.reactor)
    message = {"text": "and hurry", "origin": {"kind": "user"}}
    assert chat.steer("s1", message) is True
    assert chat.steer("s2", message) is True
    assert chat.withdraw("s2") is True
    assert host.taken == []
    gate.callback("saw")
    await run
    assert host.taken == ["s1"]
    assert bench.endpoint.completions[1]["messages"][-1] == {"role": "user", "content": "and hurry"}
    assert chat.steer("s3", message) is False
    wait = Deferred()
    bench.endpoint.answers.append(Answer(body=says("Late").body, wait=wait))
    run = running(chat, RecordedOutput("t2"))
    while len(bench.endpoint.completions) < 3:
        await pause(bench.reactor)
    assert chat.steer("s4", message) is True
    wait.callback(None)
    await run
    assert host.returned == ["s4"]
    await chat.close()


def pause(reactor, seconds=0.002):
    deferred = Deferred()
    reactor.callLater(seconds, deferred.callback, None)
    return deferred


@pytest_twisted.ensureDeferred
async def test_a_stop_in_a_tool_cancels_it_and_the_next_turn_knows(bench, running):
    cancelled = []
    bench.tools["look"] = lambda arguments, call: Deferred(lambda d: cancelled.append(1))
    bench.endpoint.answers += [calls("look", {}, text="Looking"), says("Fine")]
    chat = await bench.chat()
    output = RecordedOutput("t1")
    run = running(chat, output)
    while not bench.boxes[0].ran:
        await pause(bench.reactor)
    output.over()
    await chat.stop("t1")
    await run
    assert cancelled
    await bench.turn(chat, "again", "t2")
    messages = bench.endpoint.completions[1]["messages"]
    assert [one["role"] for one in messages] == ["system", "user", "assistant", "tool", "user"]
    assert "interrupted" in messages[3]["content"]
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_stop_in_the_stream_lets_go_of_the_connection(bench, running):
    bench.endpoint.answers.append(Answer(endless=sse(chunk({"content": "x"}), done=False)))
    chat = await bench.chat()
    output = RecordedOutput("t1")
    run = running(chat, output)
    while not output.actions:
        await pause(bench.reactor)
    await chat.stop("t1")
    await run
    for _ in range(200):
        if not bench.endpoint._open:
            break
        await pause(bench.reactor)
    assert not bench.endpoint._open, "the endpoint is still being read"
    count = len(output.actions)
    await pause(bench.reactor, 0.02)
    assert len(output.actions) == count
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_an_endpoint_that_outruns_the_clients_is_held_back(bench, running):
    piece = sse(*[chunk({"content": "word " * 20})] * 50, done=False)
    bench.endpoint.answers.append(Answer(endless=piece))
    chat = await bench.chat()
    room = Gate()
    output = RecordedOutput("t1", room)
    run = running(chat, output)
    while not output.actions:
        await pause(bench.reactor)
    last = -1
    while bench.endpoint.written != last:  # until the sockets between us are full
        last = bench.endpoint.written
        await pause(bench.reactor, 0.1)
    assert last < 30 * 1024 * 1024
    said = len(output.actions)
    await pause(bench.reactor, 0.1)
    assert bench.endpoint.written == last, "it was read while the clients had no room"
    assert len(output.actions) == said
    await chat.stop("t1")
    await run
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_turn_that_broke_off_is_run_on_behind_what_it_said(bench):
    bench.endpoint.answers += [
        Answer(body=sse(chunk({"content": "One, two"}), done=False)),
        says(", three"),
    ]
    chat = await bench.chat()
    first, second = RecordedOutput("t1"), RecordedOutput("t1")
    with pytest.raises(AgentFailure) as caught:
        await bench.turn(chat, output=first)
    assert caught.value.resumable
    message = {"text": "hello", "origin": {"kind": "user"}}
    await chat.resume(TurnRequest(turn_id="t1", message=message), second)
    assert first.text() + second.text() == "One, two, three"
    check_said(first.history, "t1", second.history, "t1")
    messages = bench.endpoint.completions[1]["messages"]
    assert [one["role"] for one in messages] == ["system", "user", "assistant", "user"]
    assert messages[2]["content"] == "One, two"
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_steps_are_bounded(bench):
    bench.tools["look"] = lambda arguments, call: "saw"
    bench.endpoint.always = lambda asked: calls("look", {})
    chat = await bench.chat(bench.agent(maxSteps=3))
    with pytest.raises(AgentFailure, match="3 steps") as caught:
        await bench.turn(chat)
    assert caught.value.resumable
    assert len(bench.endpoint.completions) == 3
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_usage_is_added_up_and_absent_where_nothing_was_said_of_it(bench):
    bench.tools["look"] = lambda arguments, call: "saw"
    one = calls("look", {})
    one.body += sse(usage_chunk(100, 10))
    two = says("Done", usage=(120, 5))
    one.body = one.body.replace(b"data: [DONE]\n\n", b"", 1)
    bench.endpoint.answers += [one, two, says("Hm")]
    chat = await bench.chat()
    output = await bench.turn(chat)
    usages = [one["usage"] for one in of_kind(output, "chat/usage")]
    assert [(one["inputTokens"], one["outputTokens"]) for one in usages] == [(100, 10), (220, 15)]
    assert usages[0]["model"] == "openai/fake"
    output = await bench.turn(chat, turn_id="t2")
    assert not of_kind(output, "chat/usage")
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_an_answer_cut_at_the_limit_says_so_and_completes(bench):
    bench.endpoint.answers.append(says("Once upon", finish="length"))
    chat = await bench.chat()
    output = await bench.turn(chat)
    notices = [one["part"]["content"] for one in of_kind(output, "chat/responsePart")
               if one["part"]["kind"] == "systemNotification"]  # fmt: skip
    assert notices == ["The answer was cut off at the model's limit of output."]
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_reasoning_goes_back_within_its_turn_alone(bench):
    bench.tools["look"] = lambda arguments, call: "saw"
    thinking = Answer(body=sse(chunk({"reasoning_content": "hm"}), chunk(call_delta("look", "{}")),
                               chunk({}, "tool_calls")))  # fmt: skip
    bench.endpoint.answers += [thinking, says("Done"), says("More")]
    chat = await bench.chat()
    output = await bench.turn(chat)
    assert [one["part"]["kind"] for one in of_kind(output, "chat/responsePart")] == [
        "reasoning",
        "markdown",
    ]
    await bench.turn(chat, turn_id="t2")
    second, third = bench.endpoint.completions[1:]
    assert second["messages"][2]["reasoning_content"] == "hm"
    assert "reasoning_content" not in str(third["messages"])
    await chat.close()


# -- settings ---------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_settings_are_taken_while_the_chat_is_open(bench):
    chat = await bench.chat(config={"openai.reasoning": "low"})
    await bench.turn(chat)
    chat.configure({"openai.reasoning": "low", "effortLevel": "high", "instructions": "Rhyme."})
    await bench.turn(chat, turn_id="t2")
    await bench.turn(
        chat, turn_id="t3", model={"id": "openai/fake", "config": {"thinkingLevel": "off"}}
    )
    requests = bench.endpoint.completions
    assert [one.get("reasoning_effort") for one in requests] == ["low", "high", None]
    assert requests[1]["messages"][0]["content"].startswith("Rhyme.")
    for wrong in ({"permissionMode": "yolo"}, {"effortLevel": "max"}, {"instructions": 3}):
        with pytest.raises(AgentFailure):
            chat.configure(wrong)
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_attachments_are_words_and_pictures(bench):
    picture = {
        "type": "embeddedResource",
        "label": "a.png",
        "data": "iVBORw0KGgo=",
        "contentType": "image/png",
    }
    attachments = [
        {"type": "simple", "label": "notes.txt", "modelRepresentation": "x" * 100_000},
        picture,
        {"type": "resource", "label": "b.py", "uri": "file:///work/b%20c.py",
         "selection": {"range": {"start": {"line": 2, "character": 0}, "end": {"line": 4, "character": 1}}}},
    ]  # fmt: skip
    chat = await bench.chat()
    bench.endpoint.answers += [refuses(400, "fake does not support image input"), says("I see")]
    output = await bench.turn(chat, attachments=attachments)
    first, second = bench.endpoint.completions
    words, image = first["messages"][-1]["content"]
    assert image == {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="},
    }
    assert "/work/b c.py, lines 3 to 5" in words["text"]
    assert 65_000 < len(words["text"]) < 67_000
    assert isinstance(second["messages"][-1]["content"], str)
    assert "cannot see" in second["messages"][-1]["content"]
    assert output.text() == "I see"
    await chat.close()
    bench.endpoint.answers.clear()
    chat = await bench.chat(bench.agent(models={"fake": {"supportsVision": False}}))
    await bench.turn(chat, attachments=[picture])
    assert "a.png (image/png)" in bench.endpoint.completions[-1]["messages"][-1]["content"]
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_no_model_and_no_endpoint_are_said(bench):
    chat = await bench.chat(bench.agent(model=None))
    with pytest.raises(AgentFailure, match="No model is configured") as caught:
        await bench.turn(chat)
    assert '"<provider>/<model>"' in caught.value.message
    chat = await bench.chat(bench.agent(base=False))
    with pytest.raises(AgentFailure, match="No endpoint is configured"):
        await bench.turn(chat)


def test_the_settings_fit_their_shapes(bench):
    agent = bench.agent(id="cofold")
    schema = agent.config_schema(None, {})
    check_strict(schema, shape("config.SessionConfigSchema"), "schema")
    properties = schema["properties"]
    assert set(properties) == {"instructions", "permissionMode", "effortLevel", "cofold.reasoning"}
    assert properties["permissionMode"]["default"] == "auto"
    assert len(properties["permissionMode"]["enum"]) == 6
    assert properties["cofold.reasoning"]["chatMutable"] is True


@pytest_twisted.ensureDeferred
async def test_a_turn_that_failed_is_run_on_by_a_chat_opened_anew(bench):
    host = RecordedHost()
    agent = bench.agent(maxRetries=0)
    bench.tools["look"] = lambda arguments, call: "saw"
    bench.endpoint.answers += [calls("look", {}), refuses(500, "oops"), says("Done")]
    chat = await bench.chat(agent, host)
    first, second = RecordedOutput("t1"), RecordedOutput("t1")
    with pytest.raises(AgentFailure):
        await bench.turn(chat, output=first)
    await chat.close()
    chat = await bench.chat(agent, host, resume=ConversationPoint(conversation=host.kept[-1]))
    message = {"text": "hello", "origin": {"kind": "user"}}
    await chat.resume(TurnRequest(turn_id="t1", message=message), second)
    assert second.text() == "Done"
    assert len(bench.boxes[1].ran) == 0, "a call that had its result was run again"
    assert roles(bench.endpoint.completions[-1]) == ["system", "user", "assistant", "tool"]
    check_said(first.history, "t1", second.history, "t1")
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_stop_at_any_moment_ends_the_turn_and_the_chat_goes_on(bench, running):
    endless = Answer(endless=sse(chunk({"content": "x"}), done=False))
    chat = await bench.chat()
    bench.endpoint.answers.append(endless)
    run = running(chat, RecordedOutput("unbegun"))
    await chat.stop("unbegun")
    await chat.stop("unbegun")
    await run
    bench.endpoint.answers.clear()
    await bench.turn(chat, turn_id="t1")

    class Stopping(RecordedOutput):
        def emit(self, action, permission=None):
            super().emit(action, permission)
            Deferred.fromCoroutine(chat.stop(self.turn_id))

    bench.endpoint.answers.append(endless)
    output = Stopping("first-word")
    await running(chat, output)
    assert len(output.actions) == 1
    assert (await bench.turn(chat, turn_id="t2")).text() == "Hello there"
    await chat.close()


@pytest.mark.parametrize("begun", [False, True])
@pytest_twisted.ensureDeferred
async def test_two_closes_at_once_end_a_running_turn(bench, running, begun):
    bench.endpoint.answers.append(Answer(endless=sse(chunk({"content": "x"}), done=False)))
    chat = await bench.chat()
    output = RecordedOutput("t1")
    run = running(chat, output)
    while begun and not output.actions:
        await pause(bench.reactor)
    closing = [Deferred.fromCoroutine(chat.close()) for _ in range(2)]
    with pytest.raises(AgentFailure, match="closed"):
        await run
    for one in closing:
        await one
    with pytest.raises(AgentFailure, match="closed"):
        await bench.turn(chat, turn_id="t2")
    assert bench.boxes[0].closed
