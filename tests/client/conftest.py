"""A host's side of a connection whose lines a test writes itself."""

import pytest
from twisted.internet.task import Clock
from zope.interface import implementer

from ahpd.client import Client
from ahpd.interfaces import IConnection
from ahpd.wire.codec import decode, encode

SESSION = "ahp-session:/one"
CHAT = "ahp-chat:/one"


def chat_state(**more):
    return {
        "resource": CHAT,
        "title": "A chat",
        "status": 1,
        "modifiedAt": "2026-01-01T00:00:00.000Z",
        "turns": [],
        **more,
    }


def root_state(**more):
    return {"agents": [], "activeSessions": 0, **more}


@implementer(IConnection)
class ScriptedHost:
    """Takes what the client sends and says what the test tells it to."""

    name = "scripted"

    def __init__(self, client):
        self.client = client
        self.sent = []
        self.ended = None
        self.handler = client.accept(self)

    # IConnection

    def send(self, frame):
        self.sent.append(decode(frame.payload))

    def pending_bytes(self):
        return None

    def progressing(self):
        return True

    def close(self, code, reason):
        self.ended = ("close", code, reason)

    def abort(self):
        self.ended = ("abort",)

    # the script

    def take(self, method=None):
        """The next message the client sent."""
        message = self.sent.pop(0)
        if method is not None:
            assert message.get("method") == method, message
        return message

    def say(self, message):
        self.handler.message_received(encode({"jsonrpc": "2.0", **message}))

    def answer(self, method, result):
        self.say({"id": self.take(method)["id"], "result": result})

    def fail(self, method, code, message):
        self.say({"id": self.take(method)["id"], "error": {"code": code, "message": message}})

    def act(self, channel, seq, action, **more):
        self.say(
            {
                "method": "action",
                "params": {"channel": channel, "action": action, "serverSeq": seq, **more},
            }
        )

    def drop(self, reason="the cable was pulled"):
        self.handler.connection_lost(reason)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def client(clock):
    client = Client("tester", clock, timeout=10)
    client.violations = []
    client.on_violation(client.violations.append)
    yield client
    assert client.violations == []


@pytest.fixture
def host(client):
    return ScriptedHost(client)


@pytest.fixture
def again(client):
    """Opens the client's next connection."""
    return lambda: ScriptedHost(client)


@pytest.fixture
def chat():
    return chat_state


@pytest.fixture
def root():
    return root_state
