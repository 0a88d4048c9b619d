"""What the tests of tunnels work with."""

import json

import pytest
from twisted.logger import globalLogPublisher

from .tunnels_host import ANONYMOUS, RESTART, ScriptedKind, TunnelsHost


@pytest.fixture
def host():
    """A host that listens and has no kind of tunnel."""
    host = TunnelsHost()
    host.listen()
    yield host
    assert not host.faults, host.faults


@pytest.fixture
def dev(host):
    """A kind with two verbs of its own, on `host`."""
    scripted = ScriptedKind(operations=(RESTART, ANONYMOUS))
    host.offer(scripted)
    return scripted


@pytest.fixture
def logged():
    """Every line that is logged meanwhile, with everything an event carries."""
    lines = []

    def observe(event):
        lines.append(json.dumps({key: str(value) for key, value in event.items()}))

    globalLogPublisher.addObserver(observe)
    yield lines
    globalLogPublisher.removeObserver(observe)
