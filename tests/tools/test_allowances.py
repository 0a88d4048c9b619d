"""How much agents may begin: counted when a call begins, because calls run beside each other."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.interfaces import ToolFailure
from ahpd.tools.limits import WINDOW, Allowance


class Now:
    seconds = 0.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def now():
    return Now()


def test_calls_that_run_beside_each_other_share_what_is_left(now):
    allowance, gate, outcomes = Allowance(now, 3, "make one"), Deferred(), []

    async def call():
        try:
            with allowance.one("root"):
                await gate
                outcomes.append("made")
        except ToolFailure as refused:
            outcomes.append(str(refused))

    for _ in range(10):
        Deferred.fromCoroutine(call())
    gate.callback(None)
    assert outcomes.count("made") == 3
    assert sum("Refusing to make one" in words for words in outcomes) == 7


def test_what_was_refused_costs_nothing_and_what_broke_off_does(now):
    allowance = Allowance(now, 1, "make one")
    for _ in range(5):
        with pytest.raises(ToolFailure, match="no such folder"), allowance.one("root"):
            raise ToolFailure("no such folder")
    with pytest.raises(RuntimeError), allowance.one("root"):
        raise RuntimeError
    with pytest.raises(ToolFailure, match="Refusing"), allowance.one("root"):
        pass
    with allowance.one("another root"):
        pass
    now.seconds = WINDOW + 1
    with allowance.one("root"):
        pass
