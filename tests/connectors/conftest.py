"""What the tests of connectors work with."""

import json

import pytest
from twisted.logger import globalLogPublisher

from .connectors_host import ConnectorsHost, ScriptedAdapter


@pytest.fixture
def host():
    return ConnectorsHost().start()


@pytest.fixture
def mail(host):
    """A host that has the adapter `mail`."""
    scripted = ScriptedAdapter()
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
