"""Agents that misbehave, over ACP and as real processes: every turn ends exactly once, what
follows works, no question stays on a screen, nothing unanswered ever ran, and no process is left.
"""

import contextlib
import importlib.util
import sys
from pathlib import Path

import attrs
import pytest
import pytest_twisted
from twisted.internet.task import deferLater

from ahpd.client.failures import ActionRefused
from ahpd.testing.daemon import PATIENCE
from ahpd.testing.processes import fields_of

PROGRAM = Path(__file__).parent / "acp_misbehaving.py"
ENDS = {"chat/turnComplete", "chat/turnCancelled", "chat/error"}
MIB = 1024 * 1024

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ahpd_agent_acp") is None, reason="ahpd-agent-acp is not installed"
)

#: How each deed's turn ends, and what was answered of it; one that never ends is stopped.
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
    "leaves_one_of_another_session": ("complete", "find it"),
    "hears_nothing": ("cancelled", "and on"),
    "answers_late_after_a_stop": ("cancelled", "before "),
    "asks_while_it_is_stopped": ("cancelled", "before "),
    "closes_its_ear": ("complete", "heard"),
    "goes_elsewhere": ("complete", "elsewhere"),
    "forgets_who_started_it": ("complete", "a stranger"),
}
#: Those whose processes live as long as their chat does.
OUTLIVED = {"leaves_one_of_another_session", "goes_elsewhere", "forgets_who_started_it"}


@attrs.define
class Bad:
    """A daemon with the agent, and a client in a chat of it."""

    daemon: object
    talk: object
    ends: list

    @property
    def probe(self):
        return self.talk.probe

    def noted(self, name):
        """The lines the agent wrote to a file in its folder."""
        files = self.daemon.directory.rglob(name)
        return [line for path in files for line in path.read_text().splitlines()]

    async def until_noted(self, name):
        return await self.daemon.until(lambda: self.noted(name), f"the agent's {name}")

    async def pause(self, seconds):
        await deferLater(self.daemon.reactor, seconds)

    async def stop(self, turn_id):
        """As a person does."""
        action = {"type": "chat/turnCancelled", "turnId": turn_id, "duration": 0}
        await self.probe.perform(self.talk.chat, action)

    async def nothing_runs(self):
        """All that the agent started is gone."""
        for pid in map(int, self.noted("pids")):
            await self.daemon.until(lambda pid=pid: not fields_of(pid), f"{pid}'s end")

    async def disposed(self):
        for channel in (self.talk.chat, self.talk.session):
            self.probe.unsubscribe(channel)
        await self.probe.request("disposeSession", channel=self.talk.session)

    async def asked(self):
        """The call that is on people's screens."""
        return await self.probe.wait_for(self._call, PATIENCE, "a question")

    def _call(self):
        turn = self.probe.plain_state(self.talk.chat).get("activeTurn") or {"responseParts": []}
        calls = [part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall"]
        return next((one for one in calls if one["status"] == "pending-confirmation"), None)


@pytest.fixture
def misbehaving(serve, talk):
    async def make(**settings):
        config = {"command": sys.executable, "args": [str(PROGRAM)], "killGraceMs": 300}
        record = {"id": "bad", "engine": "acp", "name": "Bad", "config": config}
        daemon = await serve("--port", "0", settings={"agents": [record], **settings})
        probe = await daemon.connect("ann", "ahp-root://")
        ends = []
        probe.on_action(lambda one: ends.append(one.action) if one.action["type"] in ENDS else None)
        return Bad(daemon, await talk(probe, provider="bad"), ends)

    return make


def answered(turn):
    return "".join(p["content"] for p in turn["responseParts"] if p["kind"] == "markdown")


def calls_of(turn):
    return [part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall"]


async def works(bad):
    """The chat runs a turn that goes well, in which nothing of another is said."""
    later = await bad.talk.say("say all is well")
    assert (later["state"], answered(later)) == ("complete", "all is well"), later


@pytest.mark.parametrize("deed", EXPECTED)
@pytest_twisted.ensureDeferred
async def test_the_turn_ends_once_and_the_next_one_works(deed, misbehaving):
    how, words = EXPECTED[deed]
    bad = await misbehaving()
    turn_id = await bad.talk.begin(deed)
    if how == "cancelled":
        await bad.talk.grown(1)
        await bad.stop(turn_id)
    turn = await bad.talk.finished(turn_id)
    if how != "any":
        assert turn["state"] == how, turn
        assert answered(turn) == words
    assert all(call["status"] in ("completed", "cancelled") for call in calls_of(turn))
    if deed == "speaks_after_the_end":  # and it is not heard in the turn that follows
        await bad.until_noted("outcomes")
    if deed == "closes_its_ear":  # which is learned of when it is talked to
        await bad.talk.say("say nothing")
    await works(bad)
    mine = [one for one in bad.ends if one["turnId"] == turn_id]
    assert len(mine) == 1, mine
    assert not bad.probe.state(bad.talk.session).get("inputNeeded")
    assert "yes" not in bad.noted("outcomes")
    assert not bad.noted("ran")
    if deed in OUTLIVED:
        await bad.disposed()
    await bad.nothing_runs()


@pytest.mark.parametrize(
    "deed", ["hangs", "asks_and_goes_on", "leaves_a_child", "hears_nothing", "runs_if_allowed"]
)
@pytest_twisted.ensureDeferred
async def test_the_session_goes_with_all_it_started(deed, misbehaving):
    bad = await misbehaving()
    turn_id = await bad.talk.begin(deed)
    if deed in ("hangs", "hears_nothing"):
        await bad.talk.grown(1)
    elif deed == "runs_if_allowed":
        await bad.asked()
    else:
        await bad.talk.finished(turn_id)
    await bad.disposed()
    await bad.nothing_runs()
    assert not bad.noted("ran")


# -- what runs, and only if it was allowed -------------------------------------------------


def confirmed(turn_id, call, *, approved):
    fields = {"confirmed": "user-action"} if approved else {"reason": "denied"}
    return {
        "type": "chat/toolCallConfirmed",
        "turnId": turn_id,
        "toolCallId": call["toolCallId"],
        "approved": approved,
        **fields,
    }


@pytest.mark.parametrize("approved", [True, False])
@pytest_twisted.ensureDeferred
async def test_what_a_person_answers_is_what_runs(approved, misbehaving):
    bad = await misbehaving()
    turn_id = await bad.talk.begin("runs_if_allowed")
    call = await bad.asked()
    assert not bad.noted("ran")
    await bad.probe.perform(bad.talk.chat, confirmed(turn_id, call, approved=approved))
    turn = await bad.talk.finished(turn_id)
    assert (turn["state"], answered(turn)) == ("complete", "yes" if approved else "no")
    assert bool(bad.noted("ran")) is approved


@pytest.mark.parametrize("way", ["stop", "truncation", "daemon"])
@pytest_twisted.ensureDeferred
async def test_what_nobody_answered_never_runs(way, misbehaving):
    bad = await misbehaving()
    turn_id = await bad.talk.begin("runs_if_allowed")
    call = await bad.asked()
    if way == "daemon":
        await bad.daemon.kill()
    elif way == "truncation":
        await bad.probe.perform(bad.talk.chat, {"type": "chat/truncated"})
    else:
        await bad.stop(turn_id)
        await bad.talk.finished(turn_id)
    if way != "daemon":
        late = confirmed(turn_id, call, approved=True)
        with contextlib.suppress(ActionRefused):
            await bad.probe.perform(bad.talk.chat, late)
        assert not bad.probe.state(bad.talk.session).get("inputNeeded")
        await works(bad)
        assert "yes" not in bad.noted("outcomes")
    assert not bad.noted("ran")


# -- the daemon's own end --------------------------------------------------------------------

#: What each does by the time the daemon is killed in the middle of its turn. None is a process
#: that has neither a parent nor a mark by then: whose it was nothing on this machine says.
MIDDLES = {
    "hangs": "text",
    "hears_nothing": "text",
    "answers_late_after_a_stop": "text",
    "pours": "text",
    "runs_if_allowed": "question",
    "leaves_one_of_another_session": "end",
    "goes_elsewhere": "end",
    "closes_its_ear": "end",
}


@pytest.mark.parametrize("deed", MIDDLES)
@pytest_twisted.ensureDeferred
async def test_a_killed_daemon_leaves_nothing_and_comes_back_in_order(deed, misbehaving):
    bad = await misbehaving()
    turn_id = await bad.talk.begin(deed)
    if MIDDLES[deed] == "text":
        await bad.talk.grown(1)
    elif MIDDLES[deed] == "question":
        await bad.asked()
    else:
        await bad.talk.finished(turn_id)
    await bad.daemon.kill()
    await bad.nothing_runs()
    assert not bad.noted("ran")
    bad.daemon.clients.clear()
    await bad.daemon.start()
    probe = await bad.daemon.connect("bob", "ahp-root://")
    bad.talk = await bad.talk.with_client(probe)
    state = probe.plain_state(bad.talk.chat)
    assert "activeTurn" not in state
    (turn,) = state["turns"]
    assert turn["state"] == ("complete" if MIDDLES[deed] == "end" else "error"), turn
    assert all(call["status"] in ("completed", "cancelled") for call in calls_of(turn))
    assert not probe.state(bad.talk.session).get("inputNeeded")
    await works(bad)
    await bad.disposed()
    await bad.nothing_runs()


# -- more than is read ---------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_an_agent_that_pours_waits_for_a_client_that_reads_slowly(misbehaving):
    bad = await misbehaving(clientQueueBytes=4 * MIB)
    await works(bad)
    before = bad.daemon.memory()
    turn_id = await bad.talk.begin("pours")
    await bad.talk.grown(1)
    bad.talk.pause()
    await bad.pause(0.5)
    poured = int(bad.noted("poured")[0])
    await bad.pause(1.0)
    later = int(bad.noted("poured")[0])
    assert later - poured < 8 * MIB, "the agent pours on although nobody reads"
    assert bad.daemon.memory("VmHWM") - before < 120 * MIB
    bad.talk.resume()
    await bad.stop(turn_id)
    turn = await bad.talk.finished(turn_id)
    assert turn["state"] == "cancelled"
    await works(bad)
