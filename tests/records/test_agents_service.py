"""The agents of a host while it runs: changes said once, probes bounded, all closed at the end."""

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from zope.interface import implementer

from ahpd.interfaces import Finding, IChangingAgent, IClosedAgent, IProbedAgent
from ahpd.records.paused import PausedAgent
from ahpd.records.service import CHANGE_WINDOW, CLOSE_BOUND, PROBE_BOUND, AgentsService
from ahpd.testing.agents import ScriptedAgent


@implementer(IChangingAgent, IProbedAgent, IClosedAgent)
class Lively(ScriptedAgent):
    def __init__(self, provider="lively", works=None, closes=None):
        super().__init__()
        self.provider = provider
        self.works, self.closes = works, closes
        self.closed = False

    def on_changed(self, told):
        self.told = told

    async def probe(self):
        if self.works is not None:
            await self.works
        return [Finding(about="program", ok=True, words="found")]

    async def close(self):
        if self.closes is not None:
            await self.closes
        self.closed = True


class Running:
    def __init__(self, *agents):
        self.clock = Clock()
        self.said = []
        self.service = AgentsService(
            {agent.provider: agent for agent in agents}, self.clock, lambda: self.said.append(1)
        )

    def stop(self):
        done = []
        self.service.stopService().addCallback(done.append)
        return done

    def probe(self, provider):
        found = []
        agent = self.service.agents[provider]
        Deferred.fromCoroutine(self.service.probe(provider, agent)).addCallback(found.append)
        return found


def test_changes_are_said_once_for_as_many_as_come_together():
    first, second = Lively("a"), Lively("b")
    run = Running(first, second, ScriptedAgent())
    run.service.startService()
    for agent in (first, second, first):
        agent.told()
    assert run.said == []
    run.clock.advance(CHANGE_WINDOW)
    assert run.said == [1]
    second.told()
    run.clock.advance(CHANGE_WINDOW)
    assert run.said == [1, 1]


def test_what_changed_ahead_of_the_start_is_said_at_it_and_nothing_after_the_stop():
    agent = Lively()
    run = Running(agent)
    agent.told()
    assert run.clock.getDelayedCalls() == []
    run.service.startService()
    run.clock.advance(CHANGE_WINDOW)
    assert run.said == [1]
    agent.told()
    assert run.stop() == [None]
    agent.told()
    run.clock.advance(60)
    assert (run.said, run.clock.getDelayedCalls()) == ([1], [])


def test_a_paused_agent_changes_is_probed_and_closed_as_any():
    agent = Lively()
    run = Running(PausedAgent(agent))
    run.service.startService()
    agent.told()
    run.clock.advance(CHANGE_WINDOW)
    assert run.said == [1]
    assert [each.words for each in run.probe("lively")[0]] == ["found"]
    assert run.stop() == [None]
    assert agent.closed


@pytest.mark.logs_failures
def test_a_listener_that_fails_is_told_again(monkeypatch):
    agent = Lively()
    run = Running(agent)
    run.service.startService()
    run.service.changed = lambda: 1 / 0
    agent.told()
    run.clock.advance(CHANGE_WINDOW)
    run.service.changed = lambda: run.said.append(2)
    agent.told()
    run.clock.advance(CHANGE_WINDOW)
    assert run.said == [2]


def test_an_agent_is_asked_and_one_that_cannot_be_finds_nothing():
    waits, plain = Deferred(), ScriptedAgent()
    run = Running(Lively("slow", works=waits), plain)
    found = run.probe("slow")
    assert found == []
    waits.callback(None)
    assert [each.words for each in found[0]] == ["found"]
    assert run.probe(plain.provider) == [()]
    assert run.clock.getDelayedCalls() == []


def test_one_that_does_not_answer_is_said_and_holds_nobody():
    run = Running(Lively("deaf", works=Deferred(lambda _: None)))
    found = run.probe("deaf")
    run.clock.advance(PROBE_BOUND)
    assert found[0][0].words == "did not say whether it works within 10 s"


@pytest.mark.logs_failures
def test_one_that_breaks_when_it_is_asked_is_said():
    works = Deferred()
    run = Running(Lively("broken", works=works))
    found = run.probe("broken")
    works.errback(ValueError("no such thing"))
    assert found[0][0] == Finding(
        about="agent", ok=False, words="could not be asked: no such thing"
    )


def test_the_stop_waits_for_every_agent_to_close():
    waits = Deferred()
    first, second = Lively("a", closes=waits), Lively("b")
    run = Running(first, second)
    run.service.startService()
    done = run.stop()
    assert (done, first.closed, second.closed) == ([], False, True)
    waits.callback(None)
    assert (done, first.closed) == ([None], True)
    assert run.clock.getDelayedCalls() == []


@pytest.mark.logs_failures
def test_a_stop_is_bounded_whatever_an_agent_does():
    broken = Deferred()
    run = Running(Lively("stuck", closes=Deferred(lambda _: None)), Lively("broken", closes=broken))
    run.service.startService()
    done = run.stop()
    broken.errback(ValueError("cannot"))
    run.clock.advance(CLOSE_BOUND - 0.1)
    assert done == []
    run.clock.advance(0.1)
    assert done == [None]
