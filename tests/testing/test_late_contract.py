"""A check that ran out of time says so, whatever the agent makes of being cancelled."""

import pytest
import pytest_twisted
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from ahpd.interfaces import AgentFailure, TurnOver
from ahpd.testing import AgentContract


@pytest.mark.parametrize("made", [AgentFailure("It was stopped"), TurnOver(), None])
@pytest_twisted.ensureDeferred
async def test_a_turn_that_is_cancelled_at_the_end_of_the_time_is_late(made):
    async def endless():
        try:
            await Deferred()
        except CancelledError:
            if made is not None:
                raise made from None

    contract = AgentContract(reactor=Clock(), endless="")
    with pytest.raises(AssertionError, match=r"the end of it took more than 10\.0 seconds"):
        await contract.within("the end of it", endless())
    with pytest.raises(AssertionError, match=r"the end of it took more than 10\.0 seconds"):
        await contract.tried("the end of it", endless())
