"""Files that came with a chat stay while a chat names them, in whichever session it is now."""

import base64
import json
from pathlib import Path

import pytest

from ahpd.attachments.files import AttachmentFiles
from ahpd.attachments.shared import FILE, SharedFiles
from ahpd.interfaces import AgentAbilities, StoreFailure
from ahpd.protocol.errors import RpcError
from ahpd.protocol.file_uris import path_of
from ahpd.protocol.uris import ROOT
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.host import MemoryHost

S1, S2, S3 = (f"ahp-session:/s{number}" for number in (1, 2, 3))
C2, C3 = "ahp-chat:/c2", "ahp-chat:/c3"


def pasted(data):
    encoded = base64.b64encode(data).decode()
    return {"type": "embeddedResource", "label": "p", "data": encoded, "contentType": "image/png"}


class Life:
    """One life of a host that keeps its sessions under `folder`, with a client that moves chats."""

    def __init__(self, folder, number):
        self.number, self.made = number, 0
        agent = ScriptedAgent(abilities=AgentAbilities(reopens=True))
        self.host = MemoryHost(
            agents={"scripted": agent}, data_directory=folder, ids=self.identifier
        )
        self.ended = False
        self.root = folder / "attachments"
        self.client = self.host.connect("mover", ROOT)
        switch = {"type": "root/configChanged", "config": {"chatMoves.enabled": True}}
        self.client.dispatch(ROOT, switch)
        self.host.settle()

    def stop(self):
        if not self.ended:
            self.ended = True
            self.host.stop()

    def identifier(self):
        self.made += 1
        return f"id-{self.number}-{self.made}"

    def request(self, method, channel, **params):
        return self.host.run(self.client.request(method, channel=channel, **params))

    def session(self, uri):
        self.request("createSession", uri, workingDirectories=["file:///a"])
        self.say(self.host.store.state(uri)["defaultChat"])

    def chat(self, session, chat, *data):
        self.request("createChat", session, chat=chat)
        return self.say(chat, *data)

    def say(self, chat, *data):
        """Run a turn whose message has these bytes; the files they became."""
        message = {"text": "see", "origin": {"kind": "user"}}
        if data:
            message["attachments"] = [pasted(each) for each in data]
        turn = {"type": "chat/turnStarted", "turnId": self.identifier(), "message": message}
        self.client.dispatch(chat, {**turn, "startedAt": "2026-01-02T03:04:05.000Z"})
        self.host.settle()
        said = self.host.store.state(chat)["turns"][-1]["message"]
        return [Path(path_of(each["uri"])) for each in said.get("attachments", ())]

    def move(self, chat, session=None):
        destination = {"kind": "newSession"}
        if session is not None:
            destination = {"kind": "session", "session": session}
        return self.request("moveChat", chat, destination=destination)["session"]

    def dispose(self, session):
        self.request("disposeSession", session)

    def files(self):
        return sorted(path for path in self.root.rglob("*") if path.is_file() and path.name != FILE)

    def shared(self):
        return json.loads((self.root / FILE).read_text())["shared"]


@pytest.fixture
def live(tmp_path):
    lives = []

    def live():
        if lives:
            lives[-1].stop()
        lives.append(Life(tmp_path, len(lives)))
        return lives[-1]

    yield live
    lives[-1].stop()


@pytest.fixture
def life(live):
    life = live()
    life.session(S1)
    life.session(S2)
    return life


@pytest.mark.parametrize("destination", [S2, None])
def test_they_outlive_the_session_they_came_to_and_go_with_the_one_that_names_them(
    life, destination
):
    [other] = life.chat(S1, C3, b"another chat's")
    [named] = life.chat(S1, C2, b"one")
    target = life.move(C2, destination)
    assert life.files() == sorted([other, named])
    life.dispose(S1)
    assert life.files() == [named]
    life.dispose(target)
    assert life.files() == []
    assert life.shared() == {}
    assert [path.name for path in life.root.iterdir()] == [FILE]


def test_the_session_they_came_to_keeps_them_when_the_other_goes(life):
    [named] = life.chat(S1, C2, b"one")
    life.move(C2, S2)
    life.dispose(S2)
    assert life.files() == [named]
    life.dispose(S1)
    assert life.files() == []


def test_a_chat_that_moves_on_takes_its_claim_along(life):
    life.session(S3)
    [named] = life.chat(S1, C2, b"one")
    life.move(C2, S2)
    life.move(C2, S3)
    life.dispose(S1)
    life.dispose(S2)
    assert life.files() == [named]
    life.dispose(S3)
    assert life.files() == []


def test_a_chat_that_moves_back_leaves_no_claim(life):
    life.chat(S1, C2, b"one")
    life.move(C2, S2)
    assert list(life.shared()) == ["s2"]
    life.move(C2, S1)
    assert life.shared() == {}
    life.dispose(S1)
    assert life.files() == []


def test_they_go_with_the_last_chat_that_names_them(life):
    life.chat(S1, C2, b"one")
    life.chat(S1, C3, b"two")
    for chat in (C2, C3):
        life.move(chat, S2)
    life.dispose(S1)
    assert len(life.files()) == 2
    life.request("disposeChat", C2)
    assert [path.read_bytes() for path in life.files()] == [b"two"]
    life.request("disposeChat", C3)
    assert life.files() == []


def test_every_message_of_a_chat_names_its_files(tmp_path):
    def message(place, **fields):
        uri = (tmp_path / "s1" / place / "p.png").as_uri()
        attachment = {"type": "resource", "label": "p", "uri": uri, **fields}
        return {"text": "", "origin": {"kind": "user"}, "attachments": [attachment]}

    elsewhere = message("x")
    elsewhere["attachments"][0]["uri"] = (tmp_path.parent / "s1" / "x" / "p.png").as_uri()
    chat = {
        "turns": [{"message": message("turn")}, {"message": {"text": ""}}, {"message": elsewhere}],
        "activeTurn": {"message": message("active")},
        "queuedMessages": [{"id": "1", "message": message("queued")}],
        "steeringMessage": {"id": "2", "message": message("steering")},
        "draft": message("draft"),
    }
    shared = SharedFiles(tmp_path)
    places = ("turn", "active", "queued", "steering", "draft")
    assert shared.names([chat], "s2") == {f"s1/{place}" for place in places}
    assert shared.names([chat], "s1") == frozenset()
    assert shared.names([{"turns": []}], "s2") == frozenset()
    for uri in (
        "http://host/s1/turn/p.png",
        (tmp_path / "s1" / "p.png").as_uri(),
        f"{tmp_path.as_uri()}/s1/../p.png",
        f"{tmp_path.as_uri()}/..%2Fs1/turn/p.png",
        f"{tmp_path.as_uri()}x/s1/turn/p.png",
        f"{tmp_path.as_uri()}//home/p.png",
        f"{tmp_path.as_uri()}/s1//p.png",
        f"{tmp_path.as_uri()}/./turn/p.png",
        f"{tmp_path.as_uri()}/s1/turn/",
        f"{tmp_path.as_uri()}/s1/turn/..",
        f"{tmp_path.as_uri()}/s1/turn/folder/p.png",
    ):
        assert shared.name(uri) is None


def test_a_uri_a_client_made_up_costs_nobody_a_folder(life, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("somebody's")
    life.request("createChat", S1, chat=C2)
    for uri in (
        f"{life.root.as_uri()}/{precious}/x",
        f"{life.root.as_uri()}/%2F{precious}/x",
        f"{life.root.as_uri()}/../precious/x",
    ):
        attachment = {"type": "resource", "label": "p", "uri": uri}
        message = {"text": "", "origin": {"kind": "user"}, "attachments": [attachment]}
        turn = {"type": "chat/turnStarted", "turnId": uri, "message": message}
        life.client.dispatch(C2, {**turn, "startedAt": "2026-01-02T03:04:05.000Z"})
        life.host.settle()
    assert len(life.host.store.state(C2)["turns"]) == 3
    life.move(C2, S2)
    life.dispose(S1)
    life.dispose(S2)
    assert (precious / "file").exists()


@pytest.mark.parametrize("name", ["//home", "../precious", "/etc", "s1/..", "s1", "s1/a/b"])
def test_a_list_of_claims_that_leads_out_is_damaged(tmp_path, name):
    (tmp_path / FILE).write_text(json.dumps({"shared": {"s2": [name]}, "left": []}))
    shared = SharedFiles(tmp_path)
    assert shared.of("s2") == frozenset()
    assert shared.damaged


def test_it_holds_after_the_host_began_again(live, life):
    [named] = life.chat(S1, C2, b"one")
    life.move(C2, S2)
    life.dispose(S1)
    life = live()
    assert life.files() == [named]
    assert read(life, C2) == b"one"
    life.dispose(S2)
    assert life.files() == []


def read(life, chat):
    life.host.run(life.client.subscribe(chat))
    [attachment] = life.client.plain_state(chat)["turns"][0]["message"]["attachments"]
    return Path(path_of(attachment["uri"])).read_bytes()


# -- what goes wrong ---------------------------------------------------------------------


def test_a_move_whose_files_cannot_be_claimed_is_refused_and_changes_nothing(life, monkeypatch):
    [named] = life.chat(S1, C2, b"one")

    def full(self, held, left):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(SharedFiles, "_write", full)
        with pytest.raises(RpcError, match=r"\.shared: No space left on device"):
            life.move(C2, S2)
    assert C2 in [row["resource"] for row in life.host.store.state(S1)["chats"]]
    assert life.move(C2, S2) == S2
    life.dispose(S1)
    assert life.files() == [named]


def test_a_move_that_is_not_kept_leaves_no_claim(life, monkeypatch):
    life.chat(S1, C2, b"one")
    claimed = []

    def fails(*arguments):
        claimed.append(life.shared())
        raise StoreFailure("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(life.host.host.sessions.journals, "transfer", fails)
        with pytest.raises(RpcError, match="the disk is full"):
            life.move(C2, S2)
    assert list(claimed[0]) == ["s2"], "it was on disk before the move was"
    assert life.shared() == {}
    life.dispose(S1)
    assert life.files() == []


def test_a_list_of_claims_nobody_can_read_keeps_every_file(live, life):
    life.chat(S1, C2, b"one")
    life.move(C2, S2)
    life.stop()
    (life.root / FILE).write_text('{"shared": [')
    life = live()
    life.dispose(S1)
    life.dispose(S2)
    assert len(life.files()) == 1
    assert (life.root / FILE).read_text() == '{"shared": ['


# -- what a crash left --------------------------------------------------------------------


def left_behind(root, name, data=b"x"):
    numbers = iter(["left-1", "left-2"])
    files = AttachmentFiles(root, lambda: next(numbers))
    return files.write(f"ahp-session:/{name}", "p.png", "image/png", data)


def test_what_a_crash_left_of_a_session_that_is_gone_goes_at_the_start(live, life):
    [kept] = life.chat(S1, C3, b"kept")
    [named] = life.chat(S1, C2, b"one")
    life.move(C2, S2)
    life.dispose(S1)
    left_behind(life.root, "gone")
    left_behind(life.root, "s1")
    life.stop()
    life = live()
    assert life.files() == [named]
    assert not kept.exists()
    assert not (life.root / "gone").exists()


def test_what_is_none_of_ours_stays(live, life, tmp_path):
    ours = left_behind(life.root, "gone")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("somebody's")
    for link in (life.root / "link", life.root / "gone" / "link"):
        link.symlink_to(elsewhere)
    strange = [
        life.root / "a file",
        life.root / "photos" / "holiday" / "beach.jpg",
        life.root / "gone" / "place" / "writable",
        life.root / "gone" / "notes.txt",
        life.root / "with space" / "one" / "file",
        elsewhere / "file",
    ]
    for path in strange[:-1]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("somebody's")
    live()
    assert not ours.exists()
    assert all(path.exists() for path in strange)
    assert (life.root / "link").is_symlink()


def test_a_store_that_was_put_aside_costs_nobody_a_file(live, life, tmp_path):
    [named] = life.chat(S1, C2, b"one")
    life.stop()
    stored = sorted(tmp_path.glob("sessions.sqlite*"))
    aside = tmp_path / "aside"
    aside.mkdir()
    for path in stored:
        path.rename(aside / path.name)
    life = live()
    assert named.exists()
    life.session(S3)
    life = live()
    assert named.exists(), "nor later, when there are sessions again"
    life.stop()
    for path in tmp_path.glob("sessions.sqlite*"):
        path.unlink()
    for path in aside.iterdir():
        path.rename(tmp_path / path.name)
    life = live()
    assert read(life, C2) == b"one"
    life.dispose(S1)
    assert not named.exists()


def test_a_session_that_is_written_to_while_it_is_swept_keeps_its_files(tmp_path):
    files = AttachmentFiles(tmp_path, iter(["one"]).__next__)
    path = files.write("ahp-session:/s1", "p", "", b"x")
    assert files.sweep("s1", ()) is False
    assert path.exists()
    assert AttachmentFiles(tmp_path, str).sweep("s1", ["one"]) is False
    assert AttachmentFiles(tmp_path, str).sweep("s1", ()) is True
    assert not path.parent.parent.exists()


# -- from one host to another -----------------------------------------------------------


@pytest.mark.parametrize("wanted", [("s2",), ("s1", "s2"), ("s2", "s1")])
def test_an_export_carries_what_its_chats_name(live, life, tmp_path, wanted):
    from click.testing import CliRunner

    from ahpd.cli.main import root as command

    life.chat(S1, C3, b"another chat's")
    [named] = life.chat(S1, C2, b"one")
    life.move(C2, S2)
    life.stop()

    def run(*arguments):
        done = CliRunner().invoke(command, ["sessions", *arguments])
        assert done.exit_code == 0, done.output

    only = [part for name in wanted for part in ("--session", name)]
    run("export", str(tmp_path / "all"), "--data-directory", str(tmp_path), *only)
    second = tmp_path / "second"
    run("import", str(tmp_path / "all"), "--data-directory", str(second))
    life = Life(second, 9)
    arrived = second / "attachments" / named.relative_to(tmp_path / "attachments")
    assert len(life.files()) == len(wanted)
    assert arrived in life.files()
    assert read(life, C2) == b"one"
    if "s1" in wanted:
        life.dispose(S1)
    assert life.files() == [arrived]
    life.dispose(S2)
    assert life.files() == []
    life.stop()
