"""A conversation that outgrows its model is compacted, and nothing of the transcript is lost."""

import pytest
import pytest_twisted
from hypothesis import given
from hypothesis import strategies as st

from ahpd.interfaces import AgentFailure, ConversationPoint
from ahpd.testing.agents import RecordedHost
from ahpd_agent_openai import compaction
from ahpd_agent_openai.testing import calls, refuses, says

LONG = "word " * 1000


def notices(output):
    return [
        action["part"]["content"]
        for action in output.actions
        if action["type"] == "chat/responsePart" and action["part"]["kind"] == "systemNotification"
    ]


def by_size(limit):
    """An endpoint that refuses what is longer than `limit` tokens, and summarizes."""

    def answer(asked):
        messages = asked.body["messages"]
        if compaction.estimate(messages) > limit:
            return refuses(400, "the request exceeds the available context size", "exceed_context")
        if messages[0]["content"] == compaction.INSTRUCTIONS:
            return says("They want words.")
        return says("Yes")

    return answer


@pytest_twisted.ensureDeferred
async def test_it_is_compacted_at_its_share_of_the_context(bench):
    bench.endpoint.always = by_size(10**9)
    agent = bench.agent(models={"fake": {"maxContextWindow": 4000}})
    host = RecordedHost()
    chat = await bench.chat(agent, host)
    told = []
    for number in range(4):
        output = await bench.turn(chat, LONG, f"t{number}")
        told.append(notices(output))
    assert told[0] == told[1] == []
    (notice,) = told[2]
    assert "compacted" in notice
    assert "Nothing of the transcript is lost" in notice
    last = bench.endpoint.completions[-1]["messages"]
    assert "They want words." in last[1]["content"]
    assert compaction.estimate(last) < 3200
    summary = next(
        one
        for one in bench.endpoint.completions
        if one["messages"][0]["content"] == compaction.INSTRUCTIONS
    )
    assert "tools" not in summary
    await chat.close()
    read = await agent.read_conversation(host.kept[-1])
    assert [turn["message"]["text"] for turn in read.turns] == [LONG] * 4
    chat = await bench.chat(agent, resume=ConversationPoint(conversation=host.kept[-1], point="t1"))
    await bench.turn(chat, "short", "t9")
    assert "They want words." not in str(bench.endpoint.completions[-1]), "a cut takes it back"
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_fewer_tokens_may_be_named(bench):
    bench.endpoint.always = by_size(10**9)
    chat = await bench.chat(bench.agent(autoCompactTokens=2000))
    told = [notices(await bench.turn(chat, LONG, f"t{n}")) for n in range(3)]
    assert [len(one) for one in told] == [0, 1, 1]
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_context_that_was_too_short_is_compacted_once_and_asked_again(bench):
    bench.endpoint.always = by_size(3000)
    bench.tools["look"] = lambda arguments, call: LONG
    bench.endpoint.answers += [calls("look", {})]
    chat = await bench.chat()
    await bench.turn(chat, LONG, "t1")
    output = await bench.turn(chat, "and now?", "t2")
    assert output.text() == "Yes"
    output = await bench.turn(chat, "more " * 1000, "t3")
    assert len(notices(output)) <= 1
    assert output.text() == "Yes"
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_message_that_never_fits_fails_in_words(bench):
    bench.endpoint.always = by_size(100)
    chat = await bench.chat()
    with pytest.raises(AgentFailure, match="longer than the context"):
        await bench.turn(chat, LONG)
    assert len(bench.endpoint.completions) == 1
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_summary_nobody_can_write_leaves_what_the_person_said(bench):
    def answer(asked):
        if asked.body["messages"][0]["content"] == compaction.INSTRUCTIONS:
            return refuses(400, "maximum context length", "context_length_exceeded")
        return says("Yes")

    bench.endpoint.always = answer
    chat = await bench.chat(bench.agent(autoCompactTokens=2000))
    await bench.turn(chat, "first " + LONG, "t1")
    output = await bench.turn(chat, LONG, "t2")
    assert notices(output)
    assert "could not be summarized" in bench.endpoint.completions[-1]["messages"][1]["content"]
    assert "first word" in bench.endpoint.completions[-1]["messages"][1]["content"]
    await chat.close()


MESSAGES = st.lists(
    st.tuples(st.sampled_from(["user", "assistant", "tool"]), st.integers(0, 4000)), max_size=30
)


@given(MESSAGES, st.integers(10, 20_000))
def test_what_stays_begins_with_no_tools_result(shapes, room):
    messages = [
        {"role": role, "content": "x" * size, **({"tool_call_id": "a"} if role == "tool" else {})}
        for role, size in shapes
    ]
    kept = compaction.kept_of(messages, room)
    if kept is not None:
        assert 0 <= kept < len(messages)
        assert not kept or messages[-kept]["role"] != "tool"
        assert compaction.estimate(messages[len(messages) - kept :]) <= max(
            room // 4, compaction.estimate(messages[-1:])
        )


def test_the_threshold_is_the_lower_of_two():
    assert compaction.threshold(None, None, 0.8, 32_000) == 25_600
    assert compaction.threshold(100_000, None, 0.8, 32_000) == 80_000
    assert compaction.threshold(100_000, 50_000, 0.8, 32_000) == 50_000
    assert compaction.threshold(10_000, 50_000, 0.8, 32_000) == 8_000
