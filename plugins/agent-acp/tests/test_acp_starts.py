"""The first program of an agent is started alone, and the others once it was greeted."""

import pytest
import pytest_twisted
from twisted.internet.defer import CancelledError, Deferred, ensureDeferred

from ahpd.interfaces import AgentFailure
from ahpd_agent_acp.starts import Starts


class Started:
    """Programs that are being started: each is greeted, or fails, when a test says so."""

    def __init__(self):
        self.starts = Starts()
        self.waiting = []

    def one(self):
        greeted = Deferred()

        async def start():
            self.waiting.append(greeted)
            await greeted

        return ensureDeferred(self.starts.run(start)), greeted


def test_others_wait_for_the_first_and_then_for_nobody():
    started = Started()
    first, second, third = started.one(), started.one(), started.one()
    assert started.waiting == [first[1]]
    first[1].callback(None)
    assert {*started.waiting} == {first[1], second[1], third[1]}
    assert first[0].called
    fourth = started.one()
    assert started.waiting[-1] is fourth[1]


@pytest.mark.parametrize("failure", [AgentFailure("it did not start"), CancelledError()])
def test_the_next_takes_the_place_of_one_that_failed(failure):
    started = Started()
    first, second, third = started.one(), started.one(), started.one()
    caught = []
    first[0].addErrback(lambda found: caught.append(found.value))
    first[1].errback(failure)
    assert caught == [failure]
    assert started.waiting == [first[1], second[1]]
    second[1].callback(None)
    assert started.waiting[-1] is third[1]


def test_one_that_is_given_up_while_it_waits_is_never_started():
    started = Started()
    first, second, third = started.one(), started.one(), started.one()
    second[0].addErrback(lambda found: found.trap(CancelledError))
    second[0].cancel()
    first[1].callback(None)
    assert started.waiting == [first[1], third[1]]


@pytest_twisted.ensureDeferred
async def test_a_program_that_is_let_go_while_it_waits_is_never_started(acp, supervisor, pause):
    agent = acp.agent({"at": {"initialize": "hang"}})
    talk = await acp.talk(agent)
    _, running = talk.begin("hello")
    running.addErrback(lambda failure: None)
    listing = ensureDeferred(agent.list_conversations())
    listing.addErrback(lambda failure: failure.trap(AgentFailure))
    await pause(0.05)
    assert len(supervisor.children) == 1
    await agent.close()
    await talk.chat.close()
    await pause(0.05)
    assert supervisor.children == ()
    await listing
