"""The main job: a turn of an agent in a process of its own, seen over a real WebSocket."""

import pytest
import pytest_twisted

from ahpd.protocol.uris import ROOT


@pytest.fixture
def opened(serve, talk):
    """A daemon with one client in one chat."""

    async def opened(*arguments, **options):
        daemon = await serve(*arguments, **options)
        return daemon, await talk(await daemon.connect("ann", ROOT))

    return opened


@pytest_twisted.ensureDeferred
async def test_a_turn_is_streamed_with_its_reasoning_text_tool_call_and_usage(opened, text_of):
    _, talk = await opened()
    turn = await talk.say("/think Let me see.\n/tool look around\nHello there\n/usage 12 34")
    assert turn["state"] == "complete"
    assert text_of(turn, "reasoning").startswith("Let me see.")
    assert text_of(turn) == "You said: Hello there"
    assert turn["usage"]["inputTokens"] == 12
    assert turn["usage"]["outputTokens"] == 34
    (call,) = [part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall"]
    assert call["status"] == "completed"
    assert call["success"] is True
    assert call["content"] == [{"type": "text", "text": "around"}]
    said = [envelope.type for envelope in talk.probe.envelopes(talk.chat)]
    assert said[0] == "chat/turnStarted"
    assert {"chat/reasoning", "chat/delta", "chat/toolCallDelta", "chat/usage"} <= set(said)


@pytest_twisted.ensureDeferred
async def test_there_are_two_models_and_one_thinks_as_hard_as_it_is_told(opened, text_of):
    _, talk = await opened()
    (agent,) = talk.probe.state(ROOT)["agents"]
    plain, thinker = sorted(agent["models"], key=lambda model: bool(model.get("configSchema")))
    assert not plain.get("configSchema")
    levels = thinker["configSchema"]["properties"]["thinkingLevel"]["enum"]
    thoughts = []
    for level in levels:
        model = {"id": thinker["id"], "config": {"thinkingLevel": level}}
        thoughts.append(text_of(await talk.say("hm\n/usage 1 1", model=model), "reasoning"))
    assert [len(set(thoughts)), len(thoughts)] == [len(levels)] * 2
    turn = await talk.say("/usage 1 1", model={"id": plain["id"]})
    assert turn["usage"]["model"] == plain["id"]


@pytest_twisted.ensureDeferred
async def test_an_agent_that_dies_mid_turn_costs_that_turn_alone(opened, text_of):
    daemon, talk = await opened()
    turn = await talk.say("/say before\n/crash\n/say after")
    assert turn["state"] == "error"
    assert text_of(turn) == "before"
    errors = [said for said in talk.probe.envelopes(talk.chat) if said.type == "chat/error"]
    assert len(errors) == 1
    again = await talk.say("/say alive")
    assert (again["state"], text_of(again)) == ("complete", "alive")
    assert daemon.running


@pytest_twisted.ensureDeferred
async def test_a_turn_that_fails_says_the_words_it_was_told(opened):
    _, talk = await opened()
    turn = await talk.say("/fail out of luck")
    assert turn["state"] == "error"
    assert "out of luck" in str(turn)
    assert (await talk.say("/say fine"))["state"] == "complete"
    unknown = await talk.say("/nonsense")
    assert unknown["state"] == "error"
    assert "/nonsense is no directive" in str(unknown)


@pytest_twisted.ensureDeferred
async def test_twenty_thousand_deltas_arrive_whole_and_in_order(opened, text_of):
    _, talk = await opened()
    text = text_of(await talk.say("/stream 20000 100"))
    pieces = [text[at : at + 100] for at in range(0, len(text), 100)]
    assert pieces == [str(number).ljust(100, ".") for number in range(20_000)]


@pytest_twisted.ensureDeferred
async def test_a_sleeping_turn_is_stopped_and_the_next_one_runs(opened):
    _, talk = await opened()
    turn_id = await talk.begin("/say first\n/sleep 3600000\n/say never")
    await talk.grown(5)
    await talk.probe.perform(
        talk.chat, {"type": "chat/turnCancelled", "turnId": turn_id, "duration": 1}
    )
    assert (await talk.finished(turn_id))["state"] == "cancelled"
    assert (await talk.say("/say second"))["state"] == "complete"
    turns = talk.probe.plain_state(talk.chat)["turns"]
    # Late, it stops nothing and changes nothing (AHP.txt, `chat/turnCancelled`).
    await talk.probe.perform(
        talk.chat, {"type": "chat/turnCancelled", "turnId": turn_id, "duration": 1}
    )
    assert talk.probe.plain_state(talk.chat)["turns"] == turns


@pytest_twisted.ensureDeferred
async def test_a_message_that_was_queued_runs_when_its_turn_comes(opened, text_of):
    _, talk = await opened()
    turn_id = await talk.begin("/say one\n/sleep 300")
    message = {"text": "/say two", "origin": {"kind": "user"}}
    await talk.probe.perform(
        talk.chat,
        {"type": "chat/pendingMessageSet", "kind": "queued", "id": "m", "message": message},
    )
    await talk.finished(turn_id)
    await talk.probe.wait_for(lambda: len(talk.probe.state(talk.chat)["turns"]) == 2)
    first, second = talk.probe.plain_state(talk.chat)["turns"]
    assert (text_of(first), text_of(second)) == ("one", "two")


@pytest_twisted.ensureDeferred
async def test_a_session_is_told_of_everywhere_and_goes_with_its_process(opened):
    daemon, talk = await opened()
    await talk.say("/say hello")
    watcher = await daemon.connect("bob", ROOT)
    listed = (await watcher.request("listSessions"))["items"]
    assert [row["resource"] for row in listed] == [talk.session]
    assert len(daemon.children()) == 2  # the agent's process, and the guard of them all
    for channel in (talk.session, talk.chat):
        talk.probe.unsubscribe(channel)
    await watcher.request("disposeSession", channel=talk.session)
    await watcher.wait_for(
        lambda: any(method == "root/sessionRemoved" for method, _ in watcher.notifications),
        what="root/sessionRemoved",
    )
    await daemon.until(lambda: len(daemon.children()) < 2, "the end of the agent's process")
