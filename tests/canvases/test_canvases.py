"""Pages that plugins draw on chats (PLUGINS.txt, "Showing a canvas on a chat")."""

import base64

import pytest
from twisted.internet.defer import Deferred

from ahpd.canvases import Canvases
from ahpd.channels.directory import ChannelDirectory
from ahpd.interfaces import AgentAbilities
from ahpd.protocol import errors
from ahpd.protocol.errors import RpcError
from ahpd.protocol.uris import ROOT
from ahpd.testing.agents import ScriptedAgent

S1, C2 = "ahp-session:/s1", "ahp-chat:/c2"
LONG = 2000
BOARD = {
    "instanceId": "board-1",
    "extensionId": "com.acme.boards",
    "canvasId": "board",
    "title": "Board",
    "status": "ready",
    "url": "https://boards.acme.example/live/board-1",
}


class Kit:
    """A host with canvases turned on, and the plugin `acme`."""

    def __init__(self, host):
        self.host = host
        self.on = True
        self.build()

    def build(self):
        service = self.host.service
        ids = iter(range(1, 1000))
        self.canvases = Canvases(
            self.host.store, lambda: self.on, service.channels.reach_chat, lambda: f"c-{next(ids)}"
        )
        service.from_plugins.canvases = self.canvases.of
        service.from_plugins.chat_gone = self.canvases.chat_gone

    def open(self, chat, plugin="acme", **claim):
        return self.host.wait(self.canvases.open(plugin, chat, {**BOARD, **claim}))

    def update(self, canvas, plugin="acme", **claim):
        self.canvases.update(plugin, canvas, {**BOARD, **claim})

    def listed(self, chat):
        return [each["resource"] for each in self.host.state(chat).get("canvases", ())]


@pytest.fixture
def host(sessions_host):
    agent = ScriptedAgent(abilities=AgentAbilities(reopens=True))
    host = sessions_host(agents={"scripted": agent}, sleep_after=300)
    host.session()
    host.service.create_chat({"channel": S1, "chat": C2})
    host.turn(C2)
    return host


@pytest.fixture
def kit(host):
    return Kit(host)


# -- drawing ---------------------------------------------------------------------------


def test_a_canvas_is_a_channel_of_its_own_that_its_chat_lists(host, kit):
    canvas = kit.open(C2)
    encoded = base64.urlsafe_b64encode(C2.encode()).decode().rstrip("=")
    assert canvas == f"ahp-canvas:/{encoded}/c-1"
    assert host.state(canvas) == BOARD
    assert kit.listed(C2) == [canvas]
    assert "canvases" not in host.state(host.chat())
    assert host.said(C2)[-1] == {
        "type": "chat/canvasesChanged",
        "canvases": [{"resource": canvas}],
    }


def test_whoever_is_told_of_it_may_subscribe_to_it_at_once(host, kit):
    found = []

    class Reader:
        def deliver(self, envelope):
            found.extend(
                host.store.is_open(each["resource"]) for each in envelope.action["canvases"]
            )

        def lagging(self):
            return False

    host.store.subscribe(C2, Reader())
    kit.open(C2)
    assert found == [True]


def test_the_same_instance_is_drawn_again_on_the_channel_it_has(host, kit):
    canvas = kit.open(C2)
    other = kit.open(C2, instanceId="board-2")
    assert kit.open(C2, status="saving") == canvas
    assert host.state(canvas)["status"] == "saving"
    assert kit.listed(C2) == [canvas, other]
    assert host.kinds(C2).count("chat/canvasesChanged") == 2
    assert host.said(canvas)[-1] == {
        "type": "canvas/stateChanged",
        "canvas": {**BOARD, "status": "saving"},
    }
    assert kit.open(host.chat()) != canvas  # on another chat it is another canvas


def test_a_state_it_has_already_says_nothing(host, kit):
    canvas = kit.open(C2)
    said = host.store.server_seq
    assert kit.open(C2) == canvas
    kit.update(canvas)
    assert host.store.server_seq == said


def test_an_update_replaces_the_whole_state(host, kit):
    canvas = kit.open(C2)
    claim = {key: BOARD[key] for key in ("instanceId", "extensionId", "canvasId")}
    kit.canvases.update("acme", canvas, claim)
    assert host.state(canvas) == claim
    with pytest.raises(RpcError, match="instanceId: found 'other', and the canvas was opened as"):
        kit.update(canvas, instanceId="other")


@pytest.mark.parametrize(
    "name", ["instanceId", "extensionId", "canvasId", "extensionName", "title", "status", "url"]
)
def test_a_text_that_cannot_be_said_is_refused_by_its_name_and_nothing_is_drawn(host, kit, name):
    half = f"{BOARD.get(name, 'a')}\ud800"
    with pytest.raises(RpcError, match=f"{name}: ") as refused:
        kit.open(C2, **{name: half})
    assert refused.value.code == errors.INVALID_PARAMS
    assert kit.listed(C2) == []
    canvas = kit.open(C2)
    with pytest.raises(RpcError, match=f"{name}: "):
        kit.update(canvas, **{name: half})
    assert host.state(canvas) == BOARD
    assert kit.open(C2, status="saving") == canvas


@pytest.mark.parametrize("uri", [5, None, ["a"], "ahp-chat:/\ud800"])
def test_what_names_no_chat_and_no_canvas_is_refused_in_words(kit, uri):
    with pytest.raises(RpcError, match="chat: expected a"):
        kit.open(uri)
    with pytest.raises(RpcError, match="canvas: expected a"):
        kit.update(uri)
    with pytest.raises(RpcError, match="canvas: expected a"):
        kit.canvases.close("acme", uri)


def test_a_plugin_that_changes_what_it_claimed_changes_nothing(host, kit):
    claim = dict(BOARD)
    canvas = host.wait(kit.canvases.open("acme", C2, claim))
    claim["title"] = "Other"
    assert host.state(canvas)["title"] == "Board"
    kit.canvases.update("acme", canvas, claim)
    assert host.state(canvas)["title"] == "Other"


def test_a_closed_one_is_off_its_chat_and_closing_it_again_does_nothing(host, kit):
    canvas, other = kit.open(C2), kit.open(C2, instanceId="board-2")
    kit.canvases.close("acme", canvas)
    assert kit.listed(C2) == [other]
    kit.canvases.close("acme", canvas)
    kit.canvases.close("acme", other)
    assert "canvases" not in host.state(C2)
    assert host.said(C2)[-1] == {"type": "chat/canvasesChanged"}
    assert not host.store.is_open(canvas)
    directory = ChannelDirectory(host.store)
    assert directory.resolve(canvas) is None
    refused = directory.not_found(canvas)
    assert refused.code == errors.NOT_FOUND
    assert refused.message == f"Canvas is no longer available: {canvas}"
    with pytest.raises(RpcError) as gone:
        kit.update(canvas)
    assert (gone.value.code, gone.value.message) == (refused.code, refused.message)


# -- what is refused ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ({"instanceId": ""}, "instanceId: is to be a text that is not empty"),
        ({"extensionId": None}, "extensionId: is to be a text that is not empty"),
        ({"canvasId": 3}, "canvasId: is to be a text that is not empty"),
        ({"title": 3}, "title: is to be a text"),
        ({"status": None}, "status: is to be a text"),
        ({"resource": "x"}, "resource: is no field of a canvas's state"),
    ],
)
def test_a_claim_that_is_none_is_refused_by_its_field(host, kit, claim, words):
    with pytest.raises(RpcError) as refused:
        kit.open(C2, **claim)
    assert refused.value.code == errors.INVALID_PARAMS
    assert refused.value.message == words
    assert "canvases" not in host.state(C2)


@pytest.mark.parametrize(
    "url",
    [
        "",
        None,
        7,
        "boards/s3cret",
        "/s3cret",
        "//host/s3cret",
        "ftp://host/s3cret",
        "file:///s3cret",
        "javascript:alert('s3cret')",
        "data:text/html,s3cret",
        "https:///s3cret",
        "https:s3cret",
        "https://:80/s3cret",
        "https://host:port/s3cret",
        "https://[::1/s3cret",
        "https://host/a s3cret",
        "https://ho\nst/s3cret",
        " https://host/s3cret",
        "https:\\\\host\\s3cret",
        "https://user@/s3cret",
    ],
)
def test_a_url_that_is_no_page_is_refused_by_the_rule_and_quoted_nowhere(kit, log_lines, url):
    with pytest.raises(RpcError) as refused:
        kit.open(C2, url=url)
    assert refused.value.message == "url: is no absolute http or https URL with a host"
    assert not any("s3cret" in line for line in log_lines())


@pytest.mark.parametrize(
    "url", ["http://localhost:8080/x", "https://host", "HTTPS://host/x?y#z", "http://[::1]:80/"]
)
def test_a_page_is_shown(host, kit, url):
    assert host.state(kit.open(C2, url=url))["url"] == url


def test_a_canvas_is_its_plugins_alone(host, kit):
    canvas = kit.open(C2)
    words = "was opened by another plugin"
    with pytest.raises(RpcError, match=words):
        kit.open(C2, "other", status="mine")
    with pytest.raises(RpcError, match=words):
        kit.update(canvas, "other", status="mine")
    with pytest.raises(RpcError, match=words):
        kit.canvases.close("other", canvas)
    assert host.state(canvas) == BOARD
    assert kit.listed(C2) == [canvas]


def test_the_three_calls_are_refused_while_canvases_are_off_and_what_is_open_stays(host, kit):
    canvas = kit.open(C2)
    kit.on = False
    for call in (
        lambda: kit.open(C2, instanceId="other"),
        lambda: kit.update(canvas, status="x"),
        lambda: kit.canvases.close("acme", canvas),
        lambda: kit.canvases.close("acme", "ahp-canvas:/x/gone"),
    ):
        with pytest.raises(RpcError) as refused:
            call()
        assert refused.value.message == "Canvases are disabled."
    assert host.state(canvas) == BOARD
    kit.canvases.unloaded("acme")
    assert "canvases" not in host.state(C2)
    assert not host.store.is_open(canvas)


@pytest.mark.parametrize(
    ("chat", "session"),
    [
        ("ahp-chat:/none", "ahp-chat:/none"),
        ("ahp-chat://default/YWhwLXNlc3Npb246L25vbmU", "ahp-session:/none"),
    ],
)
def test_a_chat_no_session_holds_is_refused(kit, chat, session):
    with pytest.raises(RpcError) as refused:
        kit.open(chat)
    words = f"Canvas operation targeted a chat outside session '{session}'"
    assert refused.value.message == words


# -- how long they live --------------------------------------------------------------------


def test_an_unload_takes_what_the_plugin_drew_and_nothing_else(host, kit):
    kit.open(C2)
    kit.open(host.chat())
    other = kit.open(C2, "other", instanceId="board-2")
    kit.canvases.unloaded("acme")
    assert kit.listed(C2) == [other]
    assert kit.listed(host.chat()) == []
    kit.canvases.unloaded("acme")


def test_a_chat_that_is_closed_takes_its_canvases_with_it(host, kit):
    canvas, stays = kit.open(C2), kit.open(host.chat())
    host.wait(host.service.dispose_chat(C2))
    assert not host.store.is_open(canvas)
    assert kit.canvases.of(C2) == []
    assert kit.listed(host.chat()) == [stays]
    kit.canvases.close("acme", canvas)
    with pytest.raises(RpcError, match="no longer available"):
        kit.update(canvas)


def test_a_session_that_is_disposed_of_takes_those_of_all_its_chats(host, kit):
    canvases = [kit.open(C2), kit.open(host.chat())]
    host.wait(host.service.dispose(S1))
    assert not any(host.store.is_open(canvas) for canvas in canvases)
    kit.canvases.unloaded("acme")


def test_a_chat_that_moves_keeps_them(sessions_host):
    agent = ScriptedAgent(abilities=AgentAbilities(reopens=True))
    host = sessions_host(agents={"scripted": agent})
    kit = Kit(host)
    host.store.dispatch(ROOT, {"type": "root/configChanged", "config": {"chatMoves.enabled": True}})
    host.session(workingDirectories=["file:///w"])
    host.service.create_chat({"channel": S1, "chat": C2})
    host.turn(C2)
    canvas = kit.open(C2)
    moved = host.service.move_chat({"channel": C2, "destination": {"kind": "newSession"}})
    assert moved["session"] != S1
    assert kit.listed(C2) == [canvas]
    assert host.state(canvas) == BOARD
    host.wait(host.service.dispose(S1))
    assert host.store.is_open(canvas)


def test_a_session_that_sleeps_keeps_them_and_is_woken_for_a_new_one(host, kit):
    canvas = kit.open(C2)
    host.pass_time(LONG)
    assert not host.store.is_open(C2)
    assert host.state(canvas) == BOARD
    other = kit.open(C2, instanceId="board-2")
    assert host.store.is_open(C2)
    assert kit.listed(C2) == [canvas, other]


def test_one_that_is_closed_while_its_session_sleeps_is_gone_when_it_wakes(host, kit):
    canvas, stays = kit.open(C2), kit.open(C2, instanceId="board-2")
    host.pass_time(LONG)
    host.store._asleep.clear()  # who holds the chat is told, though it sleeps
    kit.canvases.close("acme", canvas)
    assert not host.store.is_open(C2)
    envelopes = list(host.store.replay.after(0, {C2}))
    assert envelopes[-1].action["canvases"] == [{"resource": stays}]
    assert kit.listed(C2) == [stays]


def test_nothing_survives_a_restart_and_nothing_is_kept(host, kit):
    canvas = kit.open(C2)
    host.wait(host.service.drain())
    kept = [
        bytes(part) for record in host.kept.read("s1") for part in (record.head, *record.entries)
    ]
    assert kept
    assert not any(b"boards.acme.example" in part for part in kept)
    host.crash()
    kit.build()
    assert "canvases" not in host.state(C2)
    assert ChannelDirectory(host.store).resolve(canvas) is None
    again = kit.open(C2)
    assert kit.listed(C2) == [again]


def test_a_chat_that_goes_while_it_is_woken_gets_none(host):
    gate = Deferred()

    async def reached(chat):
        await gate
        return await host.service.channels.reach_chat(chat)

    canvases = Canvases(host.store, lambda: True, reached, lambda: "x")
    failures = []
    Deferred.fromCoroutine(canvases.open("acme", C2, BOARD)).addErrback(failures.append)
    host.wait(host.service.dispose_chat(C2))
    gate.callback(None)
    assert "outside session" in failures[0].value.message


def test_one_that_is_opened_and_closed_in_one_delivery_is_said_in_order(host, kit):
    seen = []

    def work():
        canvas = kit.open(C2)
        kit.update(canvas, status="saving")
        kit.canvases.close("acme", canvas)
        seen.append(canvas)

    host.store.behind(work)
    assert host.kinds(seen[0]) == ["canvas/stateChanged"]
    assert not host.store.is_open(seen[0])
    assert host.said(C2)[-1] == {"type": "chat/canvasesChanged"}
