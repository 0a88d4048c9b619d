"""The endpoints a host opens for the chats of its sessions, and what becomes of them."""

import pytest

from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.host import MemoryHost

ROOT = "ahp-root://"
SESSION = "ahp-session:/s1"
STARTED = "2026-01-02T03:04:05.000Z"


class House:
    """A host that says it is reached over HTTP; `endpoints` by what a turn's message was."""

    def __init__(self):
        self.agent = ScriptedAgent(
            always=self.asks, capabilities={"multipleChats": {"fork": True, "sideChat": True}}
        )
        self.host = MemoryHost({"scripted": self.agent})
        self.servers._origin = lambda: "http://127.0.0.1:1"
        self.endpoints = {}
        self.ann = self.host.connect("ann", ROOT)
        self.host.run(self.ann.request("createSession", channel=SESSION))
        self.host.run(self.ann.subscribe(SESSION))
        self.chat = self.host.store.state(SESSION)["defaultChat"]
        self.say("first", self.chat)

    @property
    def servers(self):
        return self.host.host.sessions.registry.world.offers.servers

    async def asks(self, turn):
        self.endpoints[turn.request.text] = turn.host.tools_server()

    def say(self, text, chat):
        if chat not in self.ann.subscriptions:
            self.host.run(self.ann.subscribe(chat))
        message = {"text": text, "origin": {"kind": "user"}}
        action = {"type": "chat/turnStarted", "turnId": text, "startedAt": STARTED}
        self.ann.dispatch(chat, {**action, "message": message})
        self.host.settle()
        return self.endpoints[text]

    def is_open(self, endpoint):
        return self.servers.find(endpoint.identifier) is endpoint


@pytest.fixture
def house():
    held = House()
    yield held
    held.host.stop()


def test_a_chat_keeps_its_endpoint_and_a_chat_beside_it_has_another(house):
    own = house.endpoints["first"]
    assert house.say("second", house.chat) is own
    beside = "ahp-chat:/beside"
    house.host.run(house.ann.request("createChat", channel=SESSION, chat=beside))
    other = house.say("beside", beside)
    assert other is not own
    assert (other.chat, own.chat) == (beside, house.chat)
    assert other.token != own.token
    house.host.run(house.ann.request("disposeChat", channel=beside))
    assert not house.is_open(other)
    assert house.is_open(own)


def test_a_fork_is_let_in_by_no_token_of_the_chat_it_was_made_of(house):
    own, fork = house.endpoints["first"], "ahp-chat:/fork"
    source = {"kind": "fork", "chat": house.chat, "turnId": "first"}
    house.host.run(house.ann.request("createChat", channel=SESSION, chat=fork, source=source))
    other = house.say("forked", fork)
    assert other.url != own.url
    assert not other.opens_with(own.token.encode())


def test_nothing_is_open_once_the_session_is_gone_and_none_is_opened_by_a_host_that_stops(house):
    own = house.endpoints["first"]
    house.host.run(house.ann.request("disposeSession", channel=SESSION))
    assert not house.is_open(own)
    assert len(house.servers) == 0
    tools = house.host.host.service.getServiceNamed("tools")
    tools.stopService()
    assert house.servers.open(SESSION, house.chat, None, True) is None
