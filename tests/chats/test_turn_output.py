"""What a backend's turn says: in order, merged within the window, held back for slow readers."""

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from zope.interface.verify import verifyObject

from ahpd.channels.store import ChannelStore
from ahpd.chats.output import MOST_HELD, TurnOutput
from ahpd.interfaces import ITurnOutput
from ahpd.protocol.actions import ACTIONS, TURN_ACTIONS
from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate


def deltas(host, chat):
    return [
        (action["type"].removeprefix("chat/"), action.get("content"))
        for action in host.said(chat)
        if action["type"] in ("chat/delta", "chat/reasoning", "chat/toolCallDelta")
    ]


@pytest.fixture
def windowed(sessions_host):
    host = sessions_host(window=50)
    host.session()
    return host


def test_without_a_window_every_delta_is_said_as_it_comes(sessions_host):
    host = sessions_host()
    host.session()
    host.agent.then(scripts.answers("a", "b", "c"))
    host.turn(host.chat())
    assert deltas(host, host.chat()) == [("delta", "a"), ("delta", "b"), ("delta", "c")]
    assert all(a["turnId"] == "turn-1" for a in host.said(host.chat()) if "turnId" in a)


def test_deltas_of_one_part_are_said_as_one_when_the_window_is_over(windowed):
    gate = Gate()

    async def script(turn):
        part = turn.markdown()
        for piece in "abc":
            turn.delta(part, piece)
        await gate.passed()

    windowed.agent.then(script)
    windowed.turn(windowed.chat())
    assert deltas(windowed, windowed.chat()) == []
    windowed.clock.advance(0.049)
    assert deltas(windowed, windowed.chat()) == []
    windowed.clock.advance(0.001)
    assert deltas(windowed, windowed.chat()) == [("delta", "abc")]
    gate.open()


def test_much_text_is_said_before_the_window_is_over(windowed):
    gate = Gate()

    async def script(turn):
        part = turn.markdown()
        for _ in range(5):
            turn.delta(part, "x" * (MOST_HELD // 2))
        await gate.passed()

    windowed.agent.then(script)
    windowed.turn(windowed.chat())
    assert [len(text) for _, text in deltas(windowed, windowed.chat())] == [MOST_HELD] * 2
    windowed.clock.advance(0.050)
    assert len(deltas(windowed, windowed.chat())) == 3
    gate.open()


def test_another_part_and_the_end_say_first_what_is_held(windowed):
    async def script(turn):
        thought, part = turn.reasoning(), turn.markdown()
        turn.think(thought, "hm")
        turn.think(thought, "!")
        turn.delta(part, "a")
        turn.delta(part, "b")

    windowed.agent.then(script)
    windowed.turn(windowed.chat())
    assert deltas(windowed, windowed.chat()) == [("reasoning", "hm!"), ("delta", "ab")]
    assert windowed.text(windowed.turns(windowed.chat())[0]) == "ab"
    windowed.clock.advance(1)
    assert len(deltas(windowed, windowed.chat())) == 2


def test_what_a_client_says_meanwhile_keeps_its_place(windowed):
    gate = Gate()

    async def script(turn):
        part = turn.markdown()
        turn.delta(part, "before")
        await gate.passed()
        turn.delta(part, "after")

    windowed.agent.then(script)
    chat = windowed.chat()
    windowed.turn(chat)
    windowed.dispatch(chat, "chat/draftChanged")
    kinds = windowed.kinds(chat)
    assert kinds[-2:] == ["chat/delta", "chat/draftChanged"]
    gate.open()


def test_a_stop_comes_behind_the_text_said_before_it(windowed):
    async def script(turn):
        part = turn.markdown()
        turn.delta(part, "said")
        await turn.forever()

    windowed.agent.then(script)
    chat = windowed.chat()
    windowed.stop(chat, windowed.turn(chat))
    assert windowed.text(windowed.turns(chat)[0]) == "said"
    assert windowed.kinds(chat).index("chat/delta") < windowed.kinds(chat).index(
        "chat/turnCancelled"
    )


def test_a_delta_that_carries_more_than_text_is_not_merged(windowed):
    async def script(turn):
        part = turn.markdown()
        turn.delta(part, "a")
        turn.say("chat/delta", partId=part, content="b", _meta={"k": 1})
        turn.delta(part, "c")

    windowed.agent.then(script)
    windowed.turn(windowed.chat())
    assert [content for _, content in deltas(windowed, windowed.chat())] == ["a", "b", "c"]


def test_a_call_is_said_whole_and_reads_back(windowed):
    async def script(turn):
        turn.tool("grep", "found it")

    windowed.agent.then(script)
    windowed.turn(windowed.chat())
    [part] = windowed.turns(windowed.chat())[0]["responseParts"]
    assert part["toolCall"]["status"] == "completed"


def test_a_calls_input_is_shown_as_it_is_written_in_the_one_part_its_start_made(windowed):
    call = []

    async def script(turn):
        call.append(turn.begin("write"))
        for piece in ('{"path":', ' "a"', "}"):
            turn.say("chat/toolCallDelta", toolCallId=call[0], content=piece)
        await turn.forever()

    chat = windowed.chat()
    windowed.agent.then(script)
    turn = windowed.turn(chat)
    windowed.clock.advance(1)
    [part] = windowed.state(chat)["activeTurn"]["responseParts"]
    assert part["toolCall"]["status"] == "streaming"
    assert part["toolCall"]["partialInput"] == '{"path": "a"}'
    assert deltas(windowed, chat) == [("toolCallDelta", '{"path": "a"}')]
    assert windowed.kinds(chat).count("chat/responsePart") == 0
    windowed.stop(chat, turn)


def test_a_calls_part_is_not_said_beside_its_start(windowed):
    errors = []

    async def script(turn):
        call = turn.running("grep")
        part = {"kind": "toolCall", "toolCall": {"toolCallId": call}}
        try:
            turn.say("chat/responsePart", part=part)
        except ValueError as error:
            errors.append(str(error))
        turn.complete(call, "found it")

    windowed.agent.then(script)
    windowed.turn(windowed.chat())
    assert len(windowed.turns(windowed.chat())[0]["responseParts"]) == 1
    assert errors == ["a tool call's part is made by chat/toolCallStart, not said beside it"]


def test_a_notice_of_a_compacted_context_is_a_part_and_drops_no_turn(windowed):
    notice = {"kind": "systemNotification", "content": "The context was compacted: 90k to 12k."}

    async def script(turn):
        turn.markdown("before")
        turn.say("chat/responsePart", part=notice)
        turn.markdown("after")

    chat = windowed.chat()
    windowed.turn(chat, "one")
    windowed.agent.then(script)
    windowed.turn(chat, "two")
    turns = windowed.turns(chat)
    assert [turn["message"]["text"] for turn in turns] == ["one", "two"]
    assert [part["content"] for part in turns[1]["responseParts"]] == [
        "before",
        notice["content"],
        "after",
    ]


def test_a_backend_waits_while_a_reader_is_behind(sessions_host):
    host = sessions_host()
    host.session()
    chat = host.chat()
    host.agent.then(scripts.streams(3, 10))
    host.store.watcher.behind = True
    host.turn(chat)
    assert len(deltas(host, chat)) == 1
    host.clock.pump([0.01] * 5)
    assert len(deltas(host, chat)) == 1
    host.store.watcher.behind = False
    host.clock.pump([0.01] * 2)
    assert len(deltas(host, chat)) == 3


def test_nobody_is_waited_for_for_ever(sessions_host):
    host = sessions_host()
    host.session()
    host.agent.then(scripts.streams(1, 10))
    host.store.watcher.behind = True
    host.turn(host.chat())
    host.clock.pump([0.01] * 3100)
    assert len(host.turns(host.chat())) == 1


def test_an_agent_may_answer_for_a_result_it_had_asked_about(sessions_host):
    host = sessions_host()
    host.session()

    async def script(turn):
        call = {"toolCallId": "c"}
        turn.say("chat/toolCallStart", **call, toolName="run", displayName="Run")
        turn.say("chat/toolCallReady", **call, invocationMessage="Running", confirmed="not-needed")
        result = {"success": True, "pastTenseMessage": "Ran", "content": []}
        turn.say("chat/toolCallComplete", **call, result=result, requiresResultConfirmation=True)
        turn.say("chat/toolCallResultConfirmed", **call, approved=True)

    host.agent.then(script)
    host.turn(host.chat())
    [turn] = host.turns(host.chat())
    assert turn["state"] == "complete"
    assert turn["responseParts"][0]["toolCall"]["status"] == "completed"


def test_what_a_turn_may_say_is_all_that_grows_it_and_nothing_of_its_start_or_end():
    named = {kind for kind in ACTIONS if kind.startswith("chat/toolCall")}
    assert named < TURN_ACTIONS
    assert TURN_ACTIONS - named == {
        "chat/activityChanged",
        "chat/delta",
        "chat/inputCompleted",
        "chat/inputRequested",
        "chat/reasoning",
        "chat/responsePart",
        "chat/usage",
    }


def test_an_agent_says_no_end_and_no_start(sessions_host):
    host = sessions_host()
    host.session()
    errors = []

    async def script(turn):
        for kind in ("chat/turnStarted", "chat/turnComplete", "chat/turnCancelled", "chat/error"):
            try:
                turn.say(kind)
            except ValueError as error:
                errors.append(str(error))

    host.agent.then(script)
    host.turn(host.chat())
    assert len(errors) == 4
    assert host.turns(host.chat())[0]["state"] == "complete"


def test_a_waiting_backend_that_is_stopped_leaves_no_timer(sessions_host):
    host = sessions_host()
    host.session()
    host.agent.then(scripts.streams(5, 10))
    host.store.watcher.behind = True
    turn = host.turn(host.chat())
    host.stop(host.chat(), turn)
    done = Deferred.fromCoroutine(host.service.drain())
    assert done.called
    host.clock.advance(0.2)
    assert host.clock.getDelayedCalls() == []


def test_an_output_provides_all_a_backend_may_ask_of_it():
    output = TurnOutput(ChannelStore(), Clock(), "ahp-session:/s", "ahp-chat:/c", "turn-1", 0)
    assert verifyObject(ITurnOutput, output)
    assert output.turn_id == "turn-1"


def test_where_a_turn_ends_is_kept_until_its_end():
    output = TurnOutput(ChannelStore(), Clock(), "ahp-session:/s", "ahp-chat:/c", "turn-1", 0)
    assert output.point is None
    output.ended_at("here")
    output.ended_at("there")
    output.end()
    output.ended_at("too late")
    assert output.point == "there"
