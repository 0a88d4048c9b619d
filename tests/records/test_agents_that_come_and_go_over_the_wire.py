"""What clients see while agents come, go and are replaced under a running host."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.config.errors import ConfigError
from ahpd.interfaces import AgentAbilities
from ahpd.protocol.errors import RpcError
from ahpd.records.roster import REGISTERED
from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate, ScriptedAgent
from ahpd.testing.host import MemoryHost

ROOT, S1 = "ahp-root://", "ahp-session:/s1"


class Host(MemoryHost):
    """A host whose plugins register agents while it runs."""

    def __init__(self, agents=None):
        super().__init__(agents)
        self.service = self.host.service.getServiceNamed("agents")

    def offer(self, *agents):
        """Have plugins register these and no others; what fires when that is done."""
        done = []
        work = self.service.set(REGISTERED, {each.provider: each for each in agents})
        Deferred.fromCoroutine(work).addBoth(done.append)
        self.settle()
        return done


@pytest.fixture
def host():
    host = Host()
    yield host
    host.stop()


def told(client, kind):
    said = [message for who, message in client.frames if who == "host"]
    actions = [message["params"] for message in said if message.get("method") == "action"]
    return [each["action"] for each in actions if each["action"]["type"] == kind]


def listed(client):
    return [each["provider"] for each in client.state(ROOT)["agents"]]


def session_on(host, client, provider):
    host.run(client.request("createSession", channel=S1, provider=provider))
    host.run(client.subscribe(S1))
    chat = client.state(S1)["defaultChat"]
    host.run(client.subscribe(chat))
    return chat


def say(host, client, chat, turn_id, text="hello"):
    client.dispatch(
        chat,
        {
            "type": "chat/turnStarted",
            "turnId": turn_id,
            "startedAt": "2026-01-02T03:04:05.000Z",
            "message": {"text": text, "origin": {"kind": "user"}},
        },
    )
    host.settle()


def test_each_change_is_said_once_and_a_new_agent_is_used_at_once(host):
    client = host.connect("client-1", ROOT)
    assert host.offer(ScriptedAgent("extra")) == [None]
    # What a plugin registers stands before what the host was built with.
    assert listed(client) == ["extra", "scripted"]
    assert len(told(client, "root/agentsChanged")) == 1
    chat = session_on(host, client, "extra")
    say(host, client, chat, "t1")
    assert client.state(chat)["turns"][0]["state"] == "complete"
    assert host.run(client.request("resolveSessionConfig", channel=ROOT, provider="extra"))


def test_a_turn_on_one_that_goes_ends_ahead_of_the_news_and_the_session_stays(host):
    agent, gate = ScriptedAgent("extra", abilities=AgentAbilities(reopens=True)), Gate()
    agent.then(scripts.waits_at(gate))
    host.offer(agent)
    client = host.connect("client-1", ROOT)
    chat = session_on(host, client, "extra")
    say(host, client, chat, "t1")
    assert "activeTurn" in client.state(chat)
    assert host.offer() == [None]
    kinds = [
        message["params"]["action"]["type"]
        for who, message in client.frames
        if who == "host" and message.get("method") == "action"
    ]
    assert kinds.index("chat/error") < kinds.index("root/agentsChanged")
    assert (listed(client), agent.chats[0].closed) == (["scripted"], True)
    rows = host.run(client.request("listSessions", channel=ROOT))["items"]
    assert [row["provider"] for row in rows] == ["extra"]
    with pytest.raises(RpcError, match="No agent of provider 'extra'"):
        host.run(client.request("createSession", channel="ahp-session:/s2", provider="extra"))
    host.offer(ScriptedAgent("extra"))
    say(host, client, chat, "t2")
    assert [turn["state"] for turn in client.state(chat)["turns"]] == ["error", "complete"]


def test_one_that_is_replaced_by_what_shows_the_same_is_no_news(host):
    host.offer(ScriptedAgent("extra"))
    client = host.connect("client-1", ROOT)
    host.offer(ScriptedAgent("extra"))
    assert told(client, "root/agentsChanged") == []


@pytest.mark.parametrize("name", ["session", "x-mine", "ahpd-one", "file"])
def test_a_host_is_not_built_with_an_agent_of_a_reserved_name(name):
    with pytest.raises(ConfigError, match=f"the name {name} is reserved"):
        MemoryHost({name: ScriptedAgent(name)})


def test_a_host_does_not_start_with_a_record_of_a_reserved_name(tmp_path):
    from twisted.internet.task import Clock

    from ahpd.app import make_host
    from ahpd.config.records import Records
    from ahpd.config.settings import Settings
    from ahpd.stores.memory import MemorySessionStore

    rows = Records().check([{"id": "session", "engine": "demo"}], tmp_path)
    settings = Settings(agents=rows, listens=False, paths=(tmp_path,))
    with pytest.raises(ConfigError, match=r"agents\[0\].id: found 'session'"):
        make_host(settings, Clock(), kept=MemorySessionStore())
