"""`authenticate` and `auth/required` over the wire, and what sessions spend."""

import pytest

from ahpd.interfaces import RpcError
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.host import MemoryHost

ROOT = "ahp-root://"
API = {"resource": "https://api.example", "resource_name": "The API", "required": False}
SESSION = "ahp-session:/s1"


class Served:
    def __init__(self, record=API):
        self.agent = ScriptedAgent()
        self.agent.more_info = {"protectedResources": [record]}
        self.host = MemoryHost({"scripted": self.agent})

    def call(self, client, method, **params):
        return self.host.run(client.call(method, params))

    def authenticate(self, client, token, **more):
        params = {"channel": ROOT, "resource": API["resource"], "token": token, **more}
        return self.call(client, "authenticate", **params)

    def session(self, client, uri=SESSION):
        self.call(client, "createSession", channel=uri)
        self.host.run(client.call("subscribe", {"channel": uri}))
        return self.host.store.state(uri)["defaultChat"]

    def turn(self, client, chat, text="hello", turn="t1"):
        action = {
            "type": "chat/turnStarted",
            "turnId": turn,
            "startedAt": "2026-01-02T03:04:05.000Z",
            "message": message(text),
        }
        client.dispatch(chat, action)
        self.host.settle()

    def spent(self, number=0):
        return self.agent.chats[number].start.host.credential(API["resource"])


def message(text):
    return {"text": text, "origin": {"kind": "user"}}


@pytest.fixture
def served():
    held = Served()
    yield held
    held.host.stop()


def test_a_token_is_spent_on_the_sessions_of_the_client_that_lent_it(served):
    ann, bob = served.host.connect("ann", ROOT), served.host.connect("bob", ROOT)
    assert served.authenticate(ann, "ann's") == {}
    chat = served.session(ann)
    served.turn(ann, chat)
    assert served.spent() == "ann's"
    other = served.session(bob, "ahp-session:/s2")
    served.turn(bob, other)
    assert served.spent(1) is None
    served.authenticate(ann, "")
    assert served.spent() is None


def test_whoever_sends_the_message_pays_for_it(served):
    ann, bob = served.host.connect("ann", ROOT), served.host.connect("bob", ROOT)
    served.authenticate(ann, "ann's")
    served.authenticate(bob, "bob's")
    chat = served.session(ann)
    served.turn(ann, chat)
    assert served.spent() == "ann's"
    served.host.run(bob.call("subscribe", {"channel": chat}))
    served.turn(bob, chat, turn="t2")
    assert served.spent() == "bob's"


def test_a_token_goes_with_its_connection(served):
    ann = served.host.connect("ann", ROOT)
    served.authenticate(ann, "ann's", expiresIn=100)
    chat = served.session(ann)
    served.turn(ann, chat)
    served.host.cut(ann)
    assert served.spent() is None
    served.host.reconnect(ann)
    assert served.spent() is None
    served.host.advance(200)
    assert "auth/required" not in [name for name, _ in notifications(ann)]


def notifications(client):
    return client.notifications


def test_a_token_that_runs_out_is_said_to_its_connection_alone(served):
    ann, bob = served.host.connect("ann", ROOT), served.host.connect("bob", ROOT)
    served.authenticate(ann, "ann's", expiresIn=60)
    chat = served.session(ann)
    served.turn(ann, chat)
    served.host.advance(59)
    assert served.spent() == "ann's"
    served.host.advance(1)
    assert served.spent() is None
    assert notifications(ann)[-1] == (
        "auth/required",
        {"channel": ROOT, "resource": API, "reason": "expired"},
    )
    assert "auth/required" not in [name for name, _ in notifications(bob)]


def test_a_token_that_was_replaced_does_not_run_out_for_the_new_one(served):
    ann = served.host.connect("ann", ROOT)
    served.authenticate(ann, "short", expiresIn=60)
    served.authenticate(ann, "long")
    chat = served.session(ann)
    served.turn(ann, chat)
    served.host.advance(100)
    assert served.spent() == "long"
    assert "auth/required" not in [name for name, _ in notifications(ann)]


def test_what_nobody_advertised_is_refused(served):
    ann = served.host.connect("ann", ROOT)
    with pytest.raises(RpcError) as refused:
        served.call(
            ann, "authenticate", channel=ROOT, resource="https://other.example", token="hush"
        )
    assert refused.value.code == -32602
    assert "https://other.example" in refused.value.message
    assert "hush" not in refused.value.message


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ({"kind": "planet"}, "Unsupported authentication target kind"),
        ({"kind": "mcpServer"}, "Authentication target must identify an MCP server"),
        (
            {"kind": "mcpServer", "session": SESSION, "id": "nobody"},
            "Authentication target must identify an MCP server in an existing session",
        ),
    ],
)
def test_a_target_nobody_has_is_refused(served, target, words):
    ann = served.host.connect("ann", ROOT)
    served.session(ann)
    with pytest.raises(RpcError) as refused:
        served.authenticate(ann, "hush", target=target)
    assert refused.value.code == -32602
    assert words in refused.value.message


def test_an_agent_that_needs_a_sign_in_is_not_used_without_one():
    needed = {"resource": "https://api.example", "resource_name": "The API"}
    served = Served(needed)
    ann = served.host.connect("ann", ROOT)
    with pytest.raises(RpcError) as refused:
        served.session(ann)
    assert refused.value.code == -32007
    assert refused.value.data == {"resources": [needed]}
    served.authenticate(ann, "ann's")
    chat = served.session(ann)
    served.turn(ann, chat)
    assert served.spent() == "ann's"
    served.host.stop()


def test_an_mcp_server_that_waits_for_a_sign_in_may_be_signed_in_to(served):
    ann, bob = served.host.connect("ann", ROOT), served.host.connect("bob", ROOT)
    chat = served.session(ann)
    served.turn(ann, chat)
    wanted = {"resource": "https://mcp.example", "authorization_servers": ["https://as.example"]}
    server = {
        "type": "mcpServer",
        "id": "m1",
        "uri": "file:///mcp.json",
        "name": "search",
        "state": {"kind": "authRequired", "reason": "required", "resource": wanted},
    }
    served.agent.chats[0].start.host.customizations([server])
    served.host.settle()
    served.host.run(bob.call("subscribe", {"channel": SESSION}))
    target = {"kind": "mcpServer", "session": SESSION, "id": "m1"}
    params = {"channel": ROOT, "resource": "https://mcp.example", "token": "bob's"}
    served.call(bob, "authenticate", **params, target=target, expiresIn=30)
    host = served.agent.chats[0].start.host
    assert host.credential("https://mcp.example", "m1") == "bob's"
    assert host.credential("https://mcp.example", "m2") is None
    assert host.credential("https://mcp.example") is None
    served.host.advance(30)
    assert notifications(bob)[-1] == (
        "auth/required",
        {"channel": SESSION, "resource": wanted, "reason": "expired"},
    )


def test_a_server_that_calls_itself_by_an_agent_s_resource_is_not_given_the_agent_s_token(served):
    ann = served.host.connect("ann", ROOT)
    served.authenticate(ann, "the agent's")
    chat = served.session(ann)
    served.turn(ann, chat)
    server = {
        "type": "mcpServer",
        "id": "m1",
        "uri": "file:///mcp.json",
        "name": "search",
        "state": {"kind": "authRequired", "reason": "required", "resource": API},
    }
    host = served.agent.chats[0].start.host
    host.customizations([server])
    served.host.settle()
    assert host.credential(API["resource"]) == "the agent's"
    assert host.credential(API["resource"], "m1") is None
    served.authenticate(
        ann, "the server's", target={"kind": "mcpServer", "session": SESSION, "id": "m1"}
    )
    assert host.credential(API["resource"], "m1") == "the server's"
    assert host.credential(API["resource"]) == "the agent's"
