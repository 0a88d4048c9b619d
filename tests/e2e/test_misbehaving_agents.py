"""Agents that misbehave, over ACP and as real processes: every turn ends exactly once, what
follows works, no question stays on a screen, and no process is left."""

import importlib.util
import sys
from pathlib import Path

import pytest
import pytest_twisted

from ahpd.testing.daemon import PATIENCE
from ahpd.testing.processes import fields_of

PROGRAM = Path(__file__).parent / "acp_misbehaving.py"
ENDS = {"chat/turnComplete", "chat/turnCancelled", "chat/error"}

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ahpd_agent_acp") is None, reason="ahpd-agent-acp is not installed"
)

#: How each deed's turn ends, and what was answered of it; a deed that never ends is stopped.
EXPECTED = {
    "exits": ("error", "half of "),
    "dies_of_a_signal": ("error", "half of "),
    "closes_its_pipe": ("error", "half of "),
    "says_garbage": ("complete", "in spite of it"),
    "half_a_line": ("error", ""),
    "answers_twice": ("complete", "once"),
    "answers_another": ("complete", "its own"),
    "answers_with_an_error": ("error", ""),
    "answers_nonsense": ("any", ""),
    "speaks_after_the_end": ("complete", "in time"),
    "hangs": ("cancelled", "and then"),
    "leaves_a_child": ("error", "look after it"),
    "asks_and_dies": ("error", ""),
    "asks_and_goes_on": ("complete", ""),
    "floods_its_errors": ("complete", "heard"),
    "one_line_too_long": ("complete", "before after"),
}


@pytest.fixture
def misbehaving(serve):
    """A daemon with the agent, and a client in a chat of it."""

    async def make(talk):
        config = {"command": sys.executable, "args": [str(PROGRAM)], "killGraceMs": 300}
        record = {"id": "bad", "engine": "acp", "name": "Bad", "config": config}
        daemon = await serve("--port", "0", settings={"agents": [record]})
        probe = await daemon.connect("ann", "ahp-root://")
        ends = []
        probe.on_action(lambda one: ends.append(one.action) if one.action["type"] in ENDS else None)
        return daemon, await talk(probe, provider="bad"), ends

    return make


def answered(turn):
    return "".join(p["content"] for p in turn["responseParts"] if p["kind"] == "markdown")


@pytest.mark.parametrize("deed", EXPECTED)
@pytest_twisted.ensureDeferred
async def test_the_turn_ends_once_and_the_next_one_works(deed, misbehaving, talk):
    how, words = EXPECTED[deed]
    daemon, bad, ends = await misbehaving(talk)
    turn_id = await bad.begin(deed)
    if deed == "hangs":
        await bad.grown(1)
        action = {"type": "chat/turnCancelled", "turnId": turn_id, "duration": 0}
        await bad.probe.perform(bad.chat, action)
    turn = await bad.finished(turn_id)
    if how != "any":
        assert turn["state"] == how, turn
        assert answered(turn) == words
    calls = [part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall"]
    assert all(call["status"] in ("completed", "cancelled") for call in calls)
    later = await bad.say("say all is well")
    assert (later["state"], answered(later)) == ("complete", "all is well")
    mine = [one for one in ends if one["turnId"] == turn_id]
    assert len(mine) == 1, mine
    assert not bad.probe.state(bad.session).get("inputNeeded")
    await gone(started_by(daemon), bad)


def started_by(daemon):
    return [int(line) for path in daemon.work.rglob("pids") for line in path.read_text().split()]


async def gone(pids, bad):
    for pid in pids:
        await bad.probe.wait_for(lambda pid=pid: not fields_of(pid), PATIENCE, f"{pid}'s end")


@pytest.mark.parametrize("deed", ["hangs", "asks_and_goes_on", "leaves_a_child"])
@pytest_twisted.ensureDeferred
async def test_the_session_goes_with_all_it_started(deed, misbehaving, talk):
    daemon, bad, _ = await misbehaving(talk)
    turn_id = await bad.begin(deed)
    if deed == "hangs":
        await bad.grown(1)
    else:
        await bad.finished(turn_id)
    for channel in (bad.chat, bad.session):
        bad.probe.unsubscribe(channel)
    await bad.probe.request("disposeSession", channel=bad.session)
    await gone(started_by(daemon), bad)
