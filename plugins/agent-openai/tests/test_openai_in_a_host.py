"""The engine's agent inside a whole host: turns, a rewind and a fork as clients meet them."""

import pytest_twisted
from twisted.internet.defer import Deferred

from ahpd.protocol.uris import ROOT
from ahpd.testing.host import MemoryHost
from ahpd_agent_openai.testing import calls, says

S1 = "ahp-session:/s1"


class Visit:
    """A host that offers the agent, and one client in a session of it."""

    def __init__(self, bench):
        self.bench = bench
        self.host = MemoryHost({"openai": bench.agent()})
        self.ann = self.host.connect("ann", ROOT)

    async def does(self, work):
        """The result of what the client asks, however long the host's threads take."""
        done = []
        Deferred.fromCoroutine(work).addBoth(done.append)
        await self.until(lambda: done)
        if hasattr(done[0], "raiseException"):
            done[0].raiseException()
        return done[0]

    async def until(self, holds):
        for _ in range(1000):
            self.host.settle()
            self.host.clock.advance(0.01)
            if holds():
                return
            pause = Deferred()
            self.bench.reactor.callLater(0.002, pause.callback, None)
            await pause
        raise AssertionError("it did not happen")

    async def turn(self, chat, turn_id, text):
        message = {"text": text, "origin": {"kind": "user"}}
        self.ann.dispatch(
            chat,
            {
                "type": "chat/turnStarted",
                "turnId": turn_id,
                "startedAt": "2026-01-02T03:04:05.000Z",
                "message": message,
            },
        )
        await self.until(lambda: self.ended(chat, turn_id))
        return self.ended(chat, turn_id)

    def ended(self, chat, turn_id):
        turns = self.ann.plain_state(chat)["turns"]
        return next((turn for turn in turns if turn["id"] == turn_id), None)


def said(bench):
    return [one["content"] for one in bench.endpoint.completions[-1]["messages"][1:]]


@pytest_twisted.ensureDeferred
async def test_turns_a_rewind_and_a_fork(bench):
    visit = Visit(bench)
    ann = visit.ann
    bench.tools["look"] = lambda arguments, call: "a tree"
    bench.endpoint.answers += [calls("look", {"at": 1}), says("A1", usage=(9, 2)), says("A2")]
    await visit.does(ann.request("createSession", channel=S1, provider="openai"))
    await visit.does(ann.subscribe(S1))
    chat = ann.state(S1)["defaultChat"]
    await visit.does(ann.subscribe(chat))
    turn = await visit.turn(chat, "t1", "q1")
    assert turn["state"] == "complete"
    assert [part["kind"] for part in turn["responseParts"]] == ["toolCall", "markdown"]
    assert turn["usage"]["outputTokens"] == 2
    await visit.turn(chat, "t2", "q2")
    assert said(bench) == ["q1", None, "a tree", "A1", "q2"]
    ann.dispatch(chat, {"type": "chat/truncated", "turnId": "t1"})
    await visit.turn(chat, "t3", "q3")
    assert said(bench) == ["q1", None, "a tree", "A1", "q3"]
    other = "ahp-chat:/other"
    source = {"kind": "fork", "chat": chat, "turnId": "t1"}
    await visit.does(ann.request("createChat", channel=S1, chat=other, source=source))
    await visit.does(ann.subscribe(other))
    await visit.turn(other, "t4", "q4")
    assert said(bench) == ["q1", None, "a tree", "A1", "q4"]
    visit.host.check()
    await visit.does(ann.request("disposeSession", channel=S1))
    await visit.until(lambda: all(box.closed for box in bench.boxes))
