"""Whose token a turn spends: its sender's, whatever anybody says in the meantime."""

import pytest

from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.agents.gates import Gate
from ahpd.testing.host import MemoryHost

ROOT = "ahp-root://"
API = "https://api.example"
SESSION = "ahp-session:/s1"
STARTED = "2026-01-02T03:04:05.000Z"


class Household:
    """Ann, who made a session, and Bob, each with a token; `paid` is what turns spent."""

    def __init__(self, **settings):
        self.agent = ScriptedAgent(always=self.spends)
        self.agent.more_info = {"protectedResources": [{"resource": API, "required": False}]}
        self.host = MemoryHost({"scripted": self.agent}, **settings)
        self.paid = {}
        self.gate = None
        self.ann, self.bob = (self.host.connect(name, ROOT) for name in ("ann", "bob"))
        for client in (self.ann, self.bob):
            self.lend(client)
        self.chat = self.session(self.ann)
        self.host.run(self.bob.subscribe(self.chat))

    async def spends(self, turn):
        self.paid[turn.request.text] = turn.host.credential(API)
        gate, self.gate = self.gate, None
        if gate is not None:
            await gate.passed()
            self.paid[turn.request.text + ", later"] = turn.host.credential(API)

    def lend(self, client, token=None):
        params = {"channel": ROOT, "resource": API, "token": token or f"{client.client_id}'s"}
        self.host.run(client.request("authenticate", **params))

    def session(self, client, uri=SESSION):
        self.host.run(client.request("createSession", channel=uri))
        self.host.run(client.subscribe(uri))
        chat = self.host.store.state(uri)["defaultChat"]
        self.host.run(client.subscribe(chat))
        return chat

    def starts(self, client, text, chat=None):
        message = {"text": text, "origin": {"kind": "user"}}
        action = {"type": "chat/turnStarted", "turnId": text, "startedAt": STARTED}
        client.dispatch(chat or self.chat, {**action, "message": message})
        self.host.settle()

    def queues(self, client, text, kind="queued"):
        message = {"text": text, "origin": {"kind": "user"}}
        action = {"type": "chat/pendingMessageSet", "kind": kind, "id": text, "message": message}
        client.dispatch(self.chat, action)
        self.host.settle()

    @property
    def askers(self):
        return self.host.host.sessions.registry.world.offers.credentials.askers


@pytest.fixture
def home():
    held = Household()
    yield held
    held.host.stop()


def test_each_message_that_waited_is_paid_by_who_wrote_it(home):
    gate = home.gate = Gate()
    home.starts(home.ann, "one")
    home.queues(home.ann, "two")
    home.queues(home.bob, "three")
    home.queues(home.ann, "four")
    gate.open()
    home.host.settle()
    assert home.paid == {
        "one": "ann's",
        "one, later": "ann's",
        "two": "ann's",
        "three": "bob's",
        "four": "ann's",
    }


def test_a_message_that_starts_at_once_is_paid_by_who_queued_it(home):
    home.starts(home.ann, "one")
    home.queues(home.bob, "two")
    assert home.paid == {"one": "ann's", "two": "bob's"}


def test_a_message_somebody_took_over_is_theirs(home):
    gate = home.gate = Gate()
    home.starts(home.ann, "one")
    home.queues(home.ann, "two")
    home.queues(home.bob, "two")
    gate.open()
    home.host.settle()
    assert home.paid["two"] == "bob's"


def test_who_is_refused_pays_for_nothing(home):
    gate = home.gate = Gate()
    home.starts(home.ann, "one")
    home.starts(home.bob, "one")  # there is a turn of this id already
    home.bob.dispatch(home.chat, {"type": "chat/turnResume", "turnId": "one"})
    home.queues(home.bob, "now", kind="steering")  # this agent takes none
    gate.open()
    home.host.settle()
    assert home.paid == {"one": "ann's", "one, later": "ann's"}


def test_a_sender_that_lent_nothing_runs_on_what_the_maker_lent(home):
    home.lend(home.bob, "")
    home.host.run(home.bob.request("authenticate", channel=ROOT, resource=API, token=""))
    home.starts(home.bob, "one")
    assert home.paid == {"one": "ann's"}


def test_two_connections_of_one_client_spend_the_newer_s_and_then_what_is_left(home):
    again = home.host.connect("ann", ROOT)
    home.lend(again, "the newer")
    home.starts(home.ann, "one")
    home.host.cut(again)
    home.starts(home.ann, "two")
    home.host.cut(home.ann)
    home.starts(home.bob, "three")
    assert home.paid == {"one": "the newer", "two": "ann's", "three": "bob's"}


def test_what_an_agent_hands_on_is_paid_by_who_it_works_for(home):
    async def hands_on(turn):
        arguments = {"prompt": "apart", "title": "Apart", "relationship": "independent"}
        for name, given in (
            ("create_session", arguments),
            ("create_chat", {"prompt": "beside"}),
            ("send_message", {"session": "ahp-session:/s2", "message": "told"}),
        ):
            result = await turn.host.run_tool(name, given, f"call-{name}")
            assert result["success"], result

    other = home.session(home.ann, "ahp-session:/s2")
    home.starts(home.ann, "first of ann's", other)
    home.agent.then(hands_on)
    home.starts(home.bob, "hand it on")
    assert {text: home.paid[text] for text in ("apart", "beside", "told")} == {
        "apart": "bob's",
        "beside": "bob's",
        "told": "bob's",
    }


def test_nobody_is_remembered_of_what_is_gone(home):
    home.starts(home.ann, "one")
    home.queues(home.bob, "two")
    second = "ahp-chat:/second"
    home.host.run(home.ann.request("createChat", channel=SESSION, chat=second))
    home.host.run(home.ann.subscribe(second))
    home.starts(home.ann, "three", second)
    assert len(home.askers) == 3
    home.host.run(home.ann.request("disposeChat", channel=second))
    assert len(home.askers) == 2
    home.host.run(home.ann.request("disposeSession", channel=SESSION))
    assert len(home.askers) == 0


def test_what_names_nothing_here_is_not_remembered(home):
    before = len(home.askers)
    for number in range(50):
        home.starts(home.ann, "lost", f"ahp-chat:/nobody-{number}")
        home.starts(home.ann, "lost", f"ahp-chat://{'x' * 1000}/{number}")
    assert len(home.askers) == before
