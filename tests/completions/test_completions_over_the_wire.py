"""`completions` and `sessionConfigCompletions` as a client asks them."""

import pytest

from ahpd.interfaces import AgentFailure
from ahpd.protocol.errors import RpcError
from ahpd.protocol.uris import default_chat
from ahpd.testing.agents import CompletingAgent
from ahpd.testing.host import MemoryHost

S1 = "ahp-session:/s1"
ROOT = "ahp-root://"
AT = "2026-01-02T03:04:05.000Z"


@pytest.fixture
def agent():
    return CompletingAgent()


@pytest.fixture
def host(agent, tmp_path):
    made = MemoryHost({"scripted": agent}, paths=(tmp_path,))
    yield made
    made.stop()


@pytest.fixture
def client(host):
    return host.connect("c1", ROOT)


def make_session(host, client, *directories, uri=S1):
    named = {"workingDirectories": [path.as_uri() for path in directories]} if directories else {}
    host.run(client.request("createSession", channel=uri, **named))
    return host.store.state(uri)["defaultChat"]


def complete(host, client, channel, text):
    asked = client.request(
        "completions", channel=channel, kind="userMessage", text=text, offset=len(text)
    )
    return host.run(asked)["items"]


def start(host, client, chat, turn_id, text="hello"):
    message = {"text": text, "origin": {"kind": "user"}}
    client.dispatch(
        chat, {"type": "chat/turnStarted", "turnId": turn_id, "startedAt": AT, "message": message}
    )
    host.settle()


def test_files_are_offered_on_a_sessions_and_on_a_chats_channel(host, client, tmp_path):
    (tmp_path / "main.py").write_text("x")
    chat = make_session(host, client, tmp_path)
    for channel in (S1, chat):
        [item] = complete(host, client, channel, "see @mai")
        assert item["insertText"] == "@main.py"
        assert item["attachment"]["uri"] == (tmp_path / "main.py").as_uri()


def test_the_other_chats_are_offered_where_one_is_typed(host, client):
    lead = make_session(host, client)
    start(host, client, lead, "t1")
    host.run(client.request("createChat", channel=S1, chat="ahp-chat:/c2", title="Other one"))
    start(host, client, "ahp-chat:/c2", "t2")
    for channel in (S1, lead):
        [item] = complete(host, client, channel, "#chat:other")
        assert item["attachment"] == {
            "type": "chat", "label": "Other one", "resource": "ahp-chat:/c2", "endTurn": "t2",
        }  # fmt: skip
    [item] = complete(host, client, "ahp-chat:/c2", "#chat:")
    assert (item["attachment"]["resource"], item["attachment"]["endTurn"]) == (lead, "t1")


def test_a_derived_default_chat_goes_by_the_name_its_client_built(host):
    window = host.connect("w", ROOT, clientInfo={"name": "vscode-agents-window", "version": "1"})
    mine = "scripted:/s1"
    lead = make_session(host, window, uri=mine)
    start(host, window, lead, "t1")
    peer = default_chat(mine).replace("default", "second")
    host.run(window.request("createChat", channel=mine, chat=peer))
    [item] = complete(host, window, peer, "#chat:")
    assert item["attachment"]["resource"] == lead == default_chat(mine)


def test_commands_come_from_the_agent_until_the_session_has_its_own(host, client, agent):
    chat = make_session(host, client)
    assert complete(host, client, chat, "/") == []
    held = {
        "type": "directory",
        "id": "d",
        "uri": "file:///d",
        "name": "Prompts",
        "contents": "prompt",
        "writable": False,
        "enabled": True,
        "children": [{"type": "prompt", "id": "p", "uri": "file:///p", "name": "compact"}],
    }
    told = agent.info
    agent.info = lambda: {**told(), "customizations": [held]}
    [item] = complete(host, client, chat, "/co")
    assert item["attachment"]["_meta"] == {"command": "compact"}


def test_a_channel_nobody_has_is_refused_and_one_nobody_types_in_offers_nothing(host, client):
    for channel in ("ahp-session:/none", "ahp-chat:/none"):
        with pytest.raises(RpcError) as refused:
            complete(host, client, channel, "@")
        assert refused.value.code == -32001
    assert complete(host, client, ROOT, "@") == []


def test_an_offset_outside_of_the_text_is_refused_by_its_path(host, client):
    make_session(host, client)
    asked = client.request("completions", channel=S1, kind="userMessage", text="@", offset=9)
    with pytest.raises(RpcError, match=r"params\.offset: found 9"):
        host.run(asked)


# -- settings ------------------------------------------------------------------------


def values(host, client, key, **more):
    asked = client.request("sessionConfigCompletions", channel=ROOT, property=key, **more)
    return [item["value"] for item in host.run(asked)["items"]]


def test_the_agent_answers_for_its_keys(host, client, agent):
    agent.completions = {"machine": ["red", "green"]}
    assert values(host, client, "machine", query="re") == ["red", "green"]
    assert values(host, client, "machine", query="red") == ["red"]
    assert values(host, client, "other") == []
    assert [asked[:2] for asked in agent.completed] == [
        ("machine", "re"), ("machine", "red"), ("other", ""),
    ]  # fmt: skip


def test_a_failure_of_the_answer_fails_the_request(host, client, agent):
    agent.completion_failure = AgentFailure("The list cannot be read")
    with pytest.raises(RpcError, match="The list cannot be read"):
        values(host, client, "machine")
    with pytest.raises(RpcError) as refused:
        values(host, client, "machine", provider="nobody")
    assert refused.value.code == -32002


def test_an_agent_with_no_answers_answers_nothing():
    host = MemoryHost()
    client = host.connect("c1", ROOT)
    assert values(host, client, "machine") == []
    host.stop()


def declare(agent, **properties):
    schema = {"type": "object", "properties": properties}
    agent.config_schema = lambda directory, given: schema
    return schema


def resolve(host, client, **config):
    return host.run(client.request("resolveSessionConfig", channel=ROOT, config=config))


def test_a_form_has_the_first_values_of_its_dynamic_keys(host, client, agent):
    agent.completions = {"machine": ["red", "green"], "plain": ["no"]}
    own = {"enum": ["green", "old"], "enumLabels": ["Green!", "Old one"]}
    base = {"type": "string", "title": "M"}
    schema = declare(agent, machine=base | own | {"enumDynamic": True}, plain=base)
    form = resolve(host, client, machine="blue")
    assert form["values"] == {"machine": "blue"}
    assert form["schema"]["properties"]["machine"] == base | {
        "enumDynamic": True,
        "enum": ["red", "green", "old"],
        "enumLabels": ["red", "green", "Old one"],
    }
    assert form["schema"]["properties"]["plain"] == base
    assert [asked[:2] for asked in agent.completed] == [("machine", "")]
    assert schema["properties"]["machine"]["enum"] == ["green", "old"]


def test_a_key_whose_first_values_fail_stays_as_it_is(host, client, agent):
    agent.completion_failure = AgentFailure("not now")
    machine = {"type": "string", "title": "M", "enumDynamic": True}
    declare(agent, machine=machine)
    assert resolve(host, client)["schema"]["properties"]["machine"] == machine


def test_a_form_waits_for_no_key_for_ever(host, client, agent):
    from twisted.internet.defer import Deferred

    async def never(key, query, context):
        await Deferred()

    agent.complete_config = never
    machine = {"type": "string", "title": "M", "enumDynamic": True}
    declare(agent, machine=machine)
    results = []
    asked = Deferred.fromCoroutine(client.request("resolveSessionConfig", channel=ROOT))
    asked.addCallback(results.append)
    host.advance(4.9)
    assert results == []
    host.advance(0.2)
    assert results[0]["schema"]["properties"]["machine"] == machine
