"""Services stop in the opposite order of their start, each down before the next."""

import pytest
from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ahpd.service_tree import ServiceTree


class Part(Service):
    def __init__(self, name, events, answer=None):
        self.setName(name)
        self.events = events
        self.answer = answer

    def startService(self):
        super().startService()
        self.events.append(f"start {self.name}")

    def stopService(self):
        super().stopService()
        self.events.append(f"stop {self.name}")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def tree(*parts):
    clock = Clock()
    services = ServiceTree(clock, "host", bound=5)
    for part in parts:
        part.setServiceParent(services)
    services.startService()
    return clock, services


def test_each_is_down_before_the_one_it_stands_on_stops():
    events, gate = [], Deferred()
    _, services = tree(
        Part("store", events), Part("sessions", events, gate), Part("listener", events)
    )
    stopped = services.stopService()
    assert events[3:] == ["stop listener", "stop sessions"]
    assert not stopped.called
    gate.callback(None)
    assert events[5:] == ["stop store"]
    assert stopped.called
    assert services.getServiceNamed("sessions").name == "sessions"


def test_one_that_hangs_is_left_behind_after_its_bound():
    events = []
    clock, services = tree(Part("store", events), Part("hangs", events, Deferred()))
    stopped = services.stopService()
    clock.advance(5)
    assert events[-1] == "stop store"
    assert stopped.called
    assert clock.getDelayedCalls() == []


@pytest.mark.logs_failures
def test_one_that_fails_does_not_keep_the_others_up():
    events = []
    _, services = tree(Part("store", events), Part("fails", events, RuntimeError("no")))
    assert services.stopService().called
    assert events[-1] == "stop store"


def test_several_that_hang_are_left_behind_within_a_bound_of_all_of_them():
    events = []
    hanging = [Part(f"hangs-{number}", events, Deferred()) for number in range(30)]
    clock = Clock()
    services = ServiceTree(clock, "host")
    for part in hanging:
        part.setServiceParent(services)
    services.startService()
    stopped = services.stopService()
    while not stopped.called:
        clock.advance(0.5)
    assert clock.seconds() < 40
    assert sum(event.startswith("stop") for event in events) == 30
