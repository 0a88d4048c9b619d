"""Messages with attachments, from a client through the host to its backend."""

import base64
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred

from ahpd.attachments.contents import BECAME, SNAPSHOT
from ahpd.interfaces import AgentAbilities
from ahpd.protocol.errors import RpcError
from ahpd.protocol.file_uris import path_of
from ahpd.testing.agents import never_ends
from ahpd.testing.host import MemoryHost

S1 = "ahp-session:/s1"
ROOT = "ahp-root://"
AT = "2026-01-02T03:04:05.000Z"
PNG = b"\x89PNG\r\n\x1a\n\0\0"


def pasted(label="shot.png"):
    data = base64.b64encode(PNG).decode()
    return {"type": "embeddedResource", "label": label, "data": data, "contentType": "image/png"}


def message(*attachments, text="see this"):
    return {"text": text, "origin": {"kind": "user"}, "attachments": list(attachments)}


@pytest.fixture
def host(tmp_path):
    made = MemoryHost(sessions="memory", data_directory=tmp_path)
    yield made
    made.stop()


@pytest.fixture
def client(host):
    probe = host.connect("c1", ROOT)
    host.run(probe.request("createSession", channel=S1))
    host.run(probe.subscribe(S1))
    host.run(probe.subscribe(probe.state(S1)["defaultChat"]))
    return probe


def default_chat(client):
    return client.state(S1)["defaultChat"]


def start(host, client, turn_id, *attachments, chat=None):
    chat = chat or default_chat(client)
    action = {
        "type": "chat/turnStarted",
        "turnId": turn_id,
        "startedAt": AT,
        "message": message(*attachments),
    }
    client.dispatch(chat, action)
    host.settle()


def requests(host):
    return [turn for chat in host.agent.chats for turn in chat.turns]


def refusals(client):
    return [e.rejection for e in client.envelopes() if e.rejection is not None]


def test_a_pasted_picture_is_a_file_in_every_clients_state_and_a_picture_for_the_backend(
    host, client
):
    start(host, client, "t1", pasted())
    [turn] = client.plain_state(default_chat(client))["turns"]
    [kept] = turn["message"]["attachments"]
    assert kept["type"] == "resource"
    assert kept["_meta"][SNAPSHOT]["isSnapshot"] is True
    assert Path(path_of(kept["uri"])).read_bytes() == PNG
    [request] = requests(host)
    assert request.message["attachments"] == [kept]
    [taken] = request.attachments
    assert base64.b64decode(taken["data"]) == PNG
    assert taken["_meta"][BECAME]["as"] == "image"


def test_a_queued_message_is_kept_before_it_waits(host, client):
    chat = default_chat(client)
    queued = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q"}
    start(host, client, "t0")
    client.dispatch(chat, queued | {"message": message(pasted())})
    host.settle()
    said = [e.action for e in client.envelopes(chat) if e.action["type"] == queued["type"]]
    assert said[0]["message"]["attachments"][0]["type"] == "resource"
    assert requests(host)[-1].attachments[0]["type"] == "embeddedResource"


def test_a_first_message_of_a_new_chat_is_kept(host, client):
    chat = "ahp-chat:/c2"
    host.run(client.request("createChat", channel=S1, chat=chat, initialMessage=message(pasted())))
    host.settle()
    [turn] = host.store.state(chat)["turns"]
    assert turn["message"]["attachments"][0]["type"] == "resource"
    assert requests(host)[-1].attachments[0]["_meta"][BECAME]["as"] == "image"


def test_a_refused_first_message_leaves_no_file(host, client, tmp_path):
    asked = client.request(
        "createChat", channel=S1, chat="nonsense:/c2", initialMessage=message(pasted())
    )
    with pytest.raises(RpcError):
        host.run(asked)
    assert [p for p in attachments_of(host).rglob("*") if p.is_file()] == []


def attachments_of(host):
    return host.host.service.getServiceNamed("attachments").path


def test_a_message_sent_twice_is_refused_and_its_file_stays(host, client):
    start(host, client, "t1", pasted())
    start(host, client, "t1", pasted())
    assert len(refusals(client)) == 1
    [turn] = client.plain_state(default_chat(client))["turns"]
    assert Path(path_of(turn["message"]["attachments"][0]["uri"])).read_bytes() == PNG


def steer(host, client, identifier, *attachments, text="see this"):
    action = {"type": "chat/pendingMessageSet", "kind": "steering", "id": identifier}
    action["message"] = message(*attachments, text=text)
    client.dispatch(default_chat(client), action)
    host.settle()


def files_of(host):
    return [path for path in attachments_of(host).rglob("*") if path.is_file()]


def test_the_same_steering_message_sent_again_is_the_same_with_its_files(host, client):
    host.agent.abilities = AgentAbilities(steering=True)
    host.agent.then(never_ends)
    start(host, client, "t1")
    for _ in range(2):
        steer(host, client, "s1", pasted(), pasted("other.png"))
    assert refusals(client) == []
    [chat] = host.agent.chats
    assert [steered.id for steered in chat.steered] == ["s1"]
    assert len(files_of(host)) == 2
    steer(host, client, "s1", pasted(), text="another")
    assert refusals(client) == ["Cannot change a steering message while it is being processed."]
    held = client.plain_state(default_chat(client))["steeringMessage"]["message"]
    kept = [Path(path_of(one["uri"])) for one in held["attachments"]]
    assert sorted(kept) == sorted(files_of(host))


def test_a_steering_message_is_the_same_though_the_chat_it_names_went_on(host, client):
    host.agent.abilities = AgentAbilities(steering=True)
    other = second_chat(host, client)
    start(host, client, "o1", chat=other)
    host.agent.then(never_ends)
    start(host, client, "t1")
    sent = {"type": "chat", "label": "Other", "resource": other}
    steer(host, client, "s1", sent)
    start(host, client, "o2", chat=other)
    steer(host, client, "s1", sent)
    assert refusals(client) == []
    held = client.plain_state(default_chat(client))["steeringMessage"]["message"]
    assert held["attachments"] == [sent | {"endTurn": "o1"}]
    [steered] = host.agent.chats[-1].steered
    assert steered.id == "s1"


def test_what_only_the_client_has_is_read_before_the_message_and_its_later_actions_wait(
    host, client
):
    asked = []

    def read(params):
        asked.append(Deferred())
        assert params["uri"] == "vscode-userdata:/draft"
        return asked[-1]

    client.serve("resourceRead", read)
    sent = {"type": "resource", "label": "draft.txt", "uri": "vscode-userdata:/draft"}
    start(host, client, "t1", sent)
    chat = default_chat(client)
    client.dispatch(chat, {"type": "chat/draftChanged", "draft": message(text="next")})
    other = host.connect("c2", chat)
    other.dispatch(chat, {"type": "chat/draftChanged", "draft": message(text="theirs")})
    host.settle()
    assert len(asked) == 1
    kinds = [e.action["type"] for e in other.envelopes(chat)]
    assert kinds == ["chat/draftChanged"]
    asked[0].callback({"data": "hello", "encoding": "utf-8", "contentType": "text/plain"})
    host.settle()
    kinds = [e.action["type"] for e in other.envelopes(chat)]
    assert kinds.index("chat/turnStarted") < kinds.index("chat/draftChanged", 1)
    [taken] = requests(host)[0].attachments
    assert taken["modelRepresentation"] == "hello"


def test_a_client_that_leaves_while_it_is_read_leaves_its_message(host, client):
    client.serve("resourceRead", lambda params: Deferred())
    sent = {"type": "resource", "label": "draft.txt", "uri": "vscode-userdata:/draft"}
    chat = default_chat(client)
    other = host.connect("c2", chat)
    start(host, client, "t1", sent)
    assert other.plain_state(chat)["turns"] == []
    host.cut(client)
    [turn] = other.plain_state(chat)["turns"]
    assert turn["message"]["attachments"] == [sent]


def test_a_client_that_never_answers_holds_its_message_up_for_a_minute_alone(host, client):
    asked = Deferred()
    client.serve("resourceRead", lambda params: asked)
    sent = {"type": "resource", "label": "draft.txt", "uri": "vscode-userdata:/draft"}
    start(host, client, "t1", sent)
    client.dispatch(S1, {"type": "session/titleChanged", "title": "behind it"})
    host.advance(59)
    assert client.plain_state(default_chat(client))["turns"] == []
    host.advance(1)
    [turn] = client.plain_state(default_chat(client))["turns"]
    assert turn["message"]["attachments"] == [sent]
    assert client.state(S1)["title"] == "behind it"
    asked.callback({"data": "", "encoding": "utf-8"})  # too late, and no trouble
    host.settle()


def test_a_session_that_goes_takes_its_files_and_a_host_in_memory_all_of_them(host, client):
    start(host, client, "t1", pasted())
    folder = attachments_of(host)
    assert (folder / "s1").is_dir()
    host.run(client.request("disposeSession", channel=S1))
    assert not (folder / "s1").exists()
    host.run(client.request("createSession", channel="ahp-session:/s2"))
    chat = host.store.state("ahp-session:/s2")["defaultChat"]
    start(host, client, "t2", pasted(), chat=chat)
    assert (folder / "s2").is_dir()
    host.stop()
    assert not folder.exists()


# -- chats -----------------------------------------------------------------------------


def second_chat(host, client):
    chat = "ahp-chat:/c2"
    host.run(client.request("createChat", channel=S1, chat=chat))
    host.run(client.subscribe(chat))
    return chat


def test_an_attached_chat_stays_one_for_clients_and_is_a_pointer_for_the_backend(host, client):
    start(host, client, "t1")
    lead, chat = default_chat(client), second_chat(host, client)
    sent = {"type": "chat", "label": "First", "resource": lead}
    start(host, client, "t2", sent, chat=chat)
    [turn] = client.plain_state(chat)["turns"]
    assert turn["message"]["attachments"] == [sent | {"endTurn": "t1"}]
    [taken] = requests(host)[-1].attachments
    assert taken["type"] == "simple"
    assert lead in taken["modelRepresentation"]
    assert "Person: see this" in taken["modelRepresentation"]


@pytest.mark.parametrize("named", [S1, ROOT, f"{S1}/annotations", "ahp-chat:/nobodys", "", "\0"])
def test_an_attachment_that_names_no_chat_is_said_as_it_was_sent(host, client, named):
    sent = {"type": "chat", "label": "First", "resource": named}
    start(host, client, "t1", sent)
    [turn] = client.plain_state(default_chat(client))["turns"]
    assert turn["state"] == "complete"
    assert turn["message"]["attachments"] == [sent]
    [taken] = requests(host)[-1].attachments
    assert taken["modelRepresentation"] == "The message refers to another chat: First"


def test_an_attached_chat_of_a_session_asleep_is_pinned_and_told_like_any_other(tmp_path):
    first = MemoryHost(data_directory=tmp_path)
    probe = first.connect("c1", ROOT)
    first.run(probe.request("createSession", channel=S1))
    lead = first.store.state(S1)["defaultChat"]
    start(first, probe, "t1", chat=lead)
    first.stop()
    host = MemoryHost(data_directory=tmp_path, kept=first.kept, clock=first.clock, ids=first.ids)
    probe = host.connect("c1", ROOT)
    host.run(probe.request("createSession", channel="ahp-session:/s2"))
    chat = host.store.state("ahp-session:/s2")["defaultChat"]
    host.run(probe.subscribe(chat))
    assert not host.store.is_open(lead)
    sent = {"type": "chat", "label": "First", "resource": lead}
    start(host, probe, "t2", sent, chat=chat)
    [turn] = probe.plain_state(chat)["turns"]
    assert turn["message"]["attachments"] == [sent | {"endTurn": "t1"}]
    [taken] = requests(host)[-1].attachments
    assert "Person: see this" in taken["modelRepresentation"]
    host.stop()


@pytest.mark.parametrize("end", ["t1", "nowhere"])
def test_a_pin_nobody_can_honour_ends_the_turn_before_the_backend_has_it(host, client, end):
    lead, chat = default_chat(client), second_chat(host, client)
    host.agent.then(never_ends)
    start(host, client, "t1")
    handed = len(requests(host))
    sent = {"type": "chat", "label": "First", "resource": lead, "endTurn": end}
    start(host, client, "t2", sent, chat=chat)
    [turn] = client.plain_state(chat)["turns"]
    assert turn["state"] == "error"
    assert turn["responseParts"][-1]["error"]["errorType"] == "sendFailed"
    assert turn["message"]["attachments"] == [sent]
    assert len(requests(host)) == handed


def test_what_was_attached_is_there_in_the_hosts_next_life(tmp_path):
    first = MemoryHost(data_directory=tmp_path)
    probe = first.connect("c1", ROOT)
    first.run(probe.request("createSession", channel=S1))
    chat = first.store.state(S1)["defaultChat"]
    start(first, probe, "t1", pasted(), chat=chat)
    first.stop()
    second = MemoryHost(data_directory=tmp_path)
    probe = second.connect("c1")
    second.run(probe.subscribe(chat))
    [turn] = probe.plain_state(chat)["turns"]
    [kept] = turn["message"]["attachments"]
    assert Path(path_of(kept["uri"])).read_bytes() == PNG
    start(second, probe, "t2", kept, chat=chat)
    [taken] = requests(second)[-1].attachments
    assert base64.b64decode(taken["data"]) == PNG
    second.run(probe.request("disposeSession", channel=S1))
    assert [p for p in (tmp_path / "attachments").rglob("*") if p.is_file()] == []
    second.stop()
