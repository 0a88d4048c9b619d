"""What comes with a message is a file before the message is said."""

import base64
import itertools
import os
import stat
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred, succeed
from twisted.logger import formatEvent, globalLogPublisher
from zope.interface import implementer

from ahpd.attachments.contents import BECAME, LARGEST_IMAGE, LONGEST_TEXT, SNAPSHOT
from ahpd.attachments.files import AttachmentFiles
from ahpd.attachments.service import Attachments
from ahpd.interfaces import IClientResources, RpcError
from ahpd.protocol.check import check_strict
from ahpd.protocol.file_uris import file_uri, path_of
from ahpd.protocol.shapes.messages import Message, MessageAttachment

S1 = "ahp-session:/s1"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@implementer(IClientResources)
class Client:
    """A client that has some resources."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []

    async def read(self, client_id, uri):
        self.asked.append((client_id, uri))
        if uri not in self.answers:
            raise RpcError(-32008, "no such resource")
        return self.answers[uri]


def sync(work):
    return succeed(None).addCallback(lambda _: work())


class Kit:
    def __init__(self, root, **options):
        numbers = itertools.count(1)
        self.root = root
        self.chats = {}
        self.files = AttachmentFiles(root, lambda: f"uuid-{next(numbers)}")
        self.client = Client()
        options.setdefault("resources", self.client)
        self.attachments = Attachments(self.files, sync, self.chats.get, **options)

    def prepare(self, *attachments, session=S1, client="client-1"):
        message = {"text": "see", "origin": {"kind": "user"}, "attachments": list(attachments)}
        made = self.attachments.prepare(session, message, client)
        if not isinstance(made, dict):
            made = wait(made)
            assert made is not message
        check_strict(made, Message, "message")
        return made

    def one(self, attachment, **options):
        return self.prepare(attachment, **options)["attachments"][0]

    def backend(self, *attachments):
        message = {"text": "see", "origin": {"kind": "user"}, "attachments": list(attachments)}
        taken = wait(self.attachments.for_backend(message))
        for one in taken:
            check_strict(one, MessageAttachment, "attachment")
        return taken

    def written(self):
        return sorted(str(p.relative_to(self.root)) for p in self.root.rglob("*") if p.is_file())


def wait(work):
    results = []
    Deferred.fromCoroutine(work).addBoth(results.append)
    if hasattr(results[0], "raiseException"):
        results[0].raiseException()
    return results[0]


def pasted(data=PNG, label="shot.png", kind="image/png", **fields):
    encoded = base64.b64encode(data).decode()
    return {
        "type": "embeddedResource",
        "label": label,
        "data": encoded,
        "contentType": kind,
    } | fields


def resource(uri, **fields):
    return {"type": "resource", "label": "r", "uri": uri} | fields


@pytest.fixture
def kit(tmp_path):
    return Kit(tmp_path / "attachments")


@pytest.fixture
def lines():
    said = []
    observe = lambda event: said.append(formatEvent(event))  # noqa: E731
    globalLogPublisher.addObserver(observe)
    yield said
    globalLogPublisher.removeObserver(observe)


# -- bytes ---------------------------------------------------------------------------


def test_inline_bytes_become_a_file_of_the_session(kit):
    meta = {"theirs": 1}
    made = kit.one(pasted(displayKind="image", _meta=meta, selection=_selection()))
    path = kit.root / "s1" / "uuid-1" / "shot.png"
    assert made == {
        "type": "resource",
        "label": "shot.png",
        "uri": path.as_uri(),
        "contentType": "image/png",
        "sizeHint": len(PNG),
        "displayKind": "image",
        "selection": _selection(),
        "_meta": {"theirs": 1, SNAPSHOT: {"isSnapshot": True, "contentType": "image/png"}},
    }
    assert path.read_bytes() == PNG
    assert stat.S_IMODE(path.stat().st_mode) == 0o400
    for folder in (path.parent, path.parent.parent, kit.root):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert kit.written() == ["s1/uuid-1/shot.png"]
    assert meta == {"theirs": 1}


def _selection():
    place = {"line": 0, "character": 0}
    return {"range": {"start": place, "end": place}}


def test_the_message_sent_is_left_as_it_is(kit):
    sent = pasted()
    before = dict(sent)
    kit.one(sent)
    assert sent == before


@pytest.mark.parametrize("label", ["../../up.png", "/etc/passwd", "..", "a\0b", "x/y/../../../z"])
def test_no_label_and_no_id_leads_out_of_the_folder(kit, label, tmp_path):
    for session in ("ahp-session:/..", "ahp-session:/a%2F..%2F..", "x:/", S1):
        path = path_of(kit.one(pasted(label=label), session=session)["uri"])
        assert os.path.realpath(path).startswith(str(kit.root) + "/")
        assert len(os.path.relpath(path, kit.root).split("/")) == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["attachments"]


def test_nothing_to_write_is_done_at_once_and_is_the_message_itself(kit):
    plain = {"text": "x", "origin": {"kind": "user"}}
    assert kit.attachments.prepare(S1, plain, "c") is plain
    others = [
        {"type": "simple", "label": "a", "modelRepresentation": "x"},
        {"type": "annotations", "label": "b", "resource": "ahp-session:/s1/annotations"},
        {"type": "resource", "label": "d", "uri": "file:///work", "displayKind": "directory"},
        {"type": "resource", "label": "d", "uri": "file:///work/"},
        {"type": "resource", "label": "c", "uri": "ahp-session:/s1/changeset/x"},
        {"type": "somethingNew", "label": "e"},
    ]
    message = plain | {"attachments": others}
    assert kit.attachments.prepare(S1, message, "c") is message
    assert not kit.root.exists()


def test_bytes_that_are_no_base64_are_left_and_logged(kit, lines):
    bad = pasted() | {"data": "not base64!"}
    good = pasted(label="good.png")
    made = kit.prepare(bad, good)["attachments"]
    assert made[0] == bad
    assert made[1]["type"] == "resource"
    assert any("stays as it was sent" in line and "no base64" in line for line in lines)


def test_a_write_that_fails_is_a_log_line_and_leaves_nothing(kit, lines, tmp_path):
    kit.root.write_text("a file where the folder should be")
    sent = pasted()
    assert kit.one(sent) == sent
    assert any("stays as it was sent" in line for line in lines)
    kit.root.unlink()
    kit.root.mkdir(0o500)
    if os.geteuid() != 0:
        assert kit.one(sent) == sent


def test_a_disk_that_fills_up_leaves_no_part_behind(kit, monkeypatch, lines):
    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    sent = pasted()
    assert kit.one(sent) == sent
    assert kit.written() == []
    assert list((kit.root / "s1").iterdir()) == []
    assert any("No space left on device" in line for line in lines)


@pytest.mark.parametrize("power", [True, False])
def test_a_power_cut_costs_no_file_where_it_is_to_cost_none(tmp_path, monkeypatch, power):
    synced = []
    fsync = os.fsync

    def noted(descriptor):
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    path = AttachmentFiles(tmp_path, lambda: "id", power=power).write("s:/s", "p", "", b"x")
    assert path.read_bytes() == b"x"
    on_the_way = [path.parent / ".part", path.parent, path.parent.parent, tmp_path]
    assert synced == (on_the_way if power else [])


def test_a_disk_that_fails_behind_the_writing_leaves_nothing(tmp_path, monkeypatch):
    def fails(folder):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("ahpd.attachments.files.keep_names", fails)
    with pytest.raises(OSError, match="Input/output"):
        AttachmentFiles(tmp_path, lambda: "id", power=True).write("s:/s", "p", "", b"x")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_message_sent_again_is_not_written_again(kit):
    first, again = kit.one(pasted()), kit.one(pasted())
    assert first == again
    assert kit.one(pasted(label="other.png"))["uri"] != first["uri"]
    assert kit.one(pasted(), session="ahp-session:/s2")["uri"] != first["uri"]
    assert len(kit.written()) == 3


def test_a_file_that_went_is_written_again(kit):
    first = kit.one(pasted())
    Path(path_of(first["uri"])).unlink()
    again = kit.one(pasted())
    assert again["uri"] != first["uri"]
    assert Path(path_of(again["uri"])).read_bytes() == PNG


def test_a_message_sent_back_with_its_file_keeps_it(kit):
    made = kit.one(pasted())
    assert kit.one(made) == made
    untagged = {key: value for key, value in made.items() if key != "_meta"}
    assert kit.one(untagged)["_meta"] == made["_meta"]
    assert len(kit.written()) == 1
    assert kit.client.asked == []


# -- taken back ------------------------------------------------------------------------


def discard(kit, sent, made):
    before = {"text": "", "attachments": [sent]}
    wait(kit.attachments.discard(before, {"text": "", "attachments": [made]}))


def test_what_was_written_for_a_message_that_was_not_said_is_taken_away(kit):
    sent = pasted()
    made = kit.one(sent)
    discard(kit, sent, made)
    assert kit.written() == []


def test_what_an_earlier_message_carries_stays(kit):
    sent = pasted()
    made = kit.one(sent)
    kit.one(sent)
    discard(kit, sent, made)
    assert len(kit.written()) == 1
    discard(kit, made, made)
    mine = resource(file_uri(str(kit.root)))
    discard(kit, mine, mine)
    assert len(kit.written()) == 1


def test_a_session_that_goes_takes_its_folder(kit):
    kit.one(pasted())
    kit.one(pasted(), session="ahp-session:/s2")
    wait(kit.attachments.forget("other-scheme:/s1"))
    assert [path.split("/")[0] for path in kit.written()] == ["s2"]
    wait(kit.attachments.forget(S1))
    wait(kit.attachments.forget("ahp-session:/.."))
    assert len(kit.written()) == 1


def test_a_folder_that_is_a_link_is_not_followed(kit, tmp_path, lines):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "x").write_text("x")
    kit.root.mkdir()
    (kit.root / "s1").symlink_to(theirs)
    wait(kit.attachments.forget(S1))
    assert (theirs / "x").exists()
    assert any("could not be removed" in line for line in lines)


# -- resources ---------------------------------------------------------------------------


def test_somebodys_own_file_is_left_where_it_stands(kit, tmp_path):
    theirs = tmp_path / "mine.txt"
    theirs.write_text("x")
    for path in (theirs, tmp_path):
        sent = resource(file_uri(str(path)))
        assert kit.one(sent) == sent
    assert kit.client.asked == []


@pytest.mark.parametrize(
    "uri", ["file:///no/such/file", "file://laptop/x", "file:///c%3A/x.txt", "vscode-userdata:/x"]
)
def test_what_this_host_has_no_copy_of_is_read_through_its_client(kit, uri):
    kit.client.answers[uri] = {"data": "héllo", "encoding": "utf-8", "contentType": "text/x-y"}
    made = kit.one(resource(uri, label="x.txt", nonce="n"))
    assert kit.client.asked == [("client-1", uri)]
    assert made["uri"] == (kit.root / "s1" / "uuid-1" / "x.txt").as_uri()
    assert made["_meta"][SNAPSHOT] == {"isSnapshot": True, "contentType": "text/x-y"}
    assert "nonce" not in made
    assert (kit.root / "s1" / "uuid-1" / "x.txt").read_text() == "héllo"


def test_bytes_come_as_base64_and_the_type_the_client_gave_serves(kit):
    kit.client.answers["x:/p"] = {"data": base64.b64encode(PNG).decode(), "encoding": "base64"}
    made = kit.one(resource("x:/p", label="p.png", contentType="image/png"))
    assert made["_meta"][SNAPSHOT]["contentType"] == "image/png"
    assert Path(path_of(made["uri"])).read_bytes() == PNG


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        {"data": 5, "encoding": "base64"},
        {"data": "!", "encoding": "base64"},
        {"data": "x", "encoding": "rot13"},
    ],
)
def test_a_client_that_has_no_answer_leaves_it_as_it_was_sent(kit, answer):
    if answer is not None:
        kit.client.answers["x:/p"] = answer
    sent = resource("x:/p")
    assert kit.one(sent) == sent
    assert len(kit.client.asked) == 1
    assert kit.one(sent, client=None) == sent
    assert len(kit.client.asked) == 1


def test_what_says_it_is_too_large_is_not_asked_for(tmp_path):
    kit = Kit(tmp_path, fetch_limit=100)
    kit.client.answers["x:/p"] = {"data": "x", "encoding": "utf-8"}
    sent = resource("x:/p", sizeHint=101)
    assert kit.one(sent) == sent
    assert kit.client.asked == []
    assert kit.one(resource("x:/p", sizeHint=100))["uri"] != "x:/p"
    any_size = Kit(tmp_path / "any", fetch_limit=0)
    any_size.client.answers = kit.client.answers
    assert any_size.one(resource("x:/p", sizeHint=10**12))["uri"] != "x:/p"


# -- for a backend --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["image/jpeg", "image/png", "image/gif", "image/webp"])
def test_a_pasted_picture_is_handed_on_as_a_picture(kit, kind):
    made = kit.one(pasted(kind=kind, displayKind="image"))
    [taken] = kit.backend(made)
    assert base64.b64decode(taken["data"]) == PNG
    assert (taken["type"], taken["contentType"]) == ("embeddedResource", kind)
    assert taken["displayKind"] == "image"
    facts = taken["_meta"][BECAME]
    assert facts == {"as": "image", "name": "shot.png", "path": path_of(made["uri"])}


@pytest.mark.parametrize(
    ("kind", "size", "became"),
    [
        ("image/png", LARGEST_IMAGE, "image"),
        ("image/png", LARGEST_IMAGE + 1, "path"),
        ("image/bmp", 10, "path"),
        ("application/pdf", 10, "path"),
        ("text/plain", LONGEST_TEXT, "text"),
        ("text/plain;charset=utf-8", 10, "text"),
        ("text/plain", LONGEST_TEXT + 1, "path"),
        ("application/json", 10, "text"),
        ("", 10, "text"),
    ],
)
def test_type_and_size_decide_what_it_becomes(kit, kind, size, became):
    made = kit.one(pasted(b"x" * size, label="f", kind=kind))
    [taken] = kit.backend(made)
    assert taken["_meta"][BECAME]["as"] == became
    if became == "text":
        assert taken["modelRepresentation"] == "x" * size
    if became == "path":
        assert taken["uri"] == made["uri"]
        assert taken["type"] == "resource"


def test_text_that_is_none_is_named_by_its_path(kit):
    for data, kind in ((b"\xff\xfe", "text/plain"), (b"a\0b", "")):
        [taken] = kit.backend(kit.one(pasted(data, label="f", kind=kind)))
        assert taken["_meta"][BECAME]["as"] == "path"


def test_a_file_somebody_works_in_is_named_by_its_path(kit, tmp_path):
    theirs = tmp_path / "mine.txt"
    theirs.write_text("secret")
    tag = {SNAPSHOT: {"isSnapshot": True, "contentType": "text/plain"}}
    for sent in (resource(theirs.as_uri()), resource(theirs.as_uri(), _meta=tag)):
        [taken] = kit.backend(kit.one(sent))
        assert taken["uri"] == theirs.as_uri()
        assert taken["_meta"][BECAME] == {"as": "path", "name": "r", "path": str(theirs)}
        assert "secret" not in repr(taken)


def test_a_snapshot_that_went_is_named_by_its_path(kit):
    made = kit.one(pasted())
    Path(path_of(made["uri"])).unlink()
    [taken] = kit.backend(made)
    assert taken["_meta"][BECAME]["as"] == "path"


def test_bytes_that_could_not_be_written_are_still_handed_on(kit):
    picture, text, other = pasted(), pasted(b"hi", kind="text/plain"), pasted(kind="x/y")
    broken = pasted() | {"data": "!"}
    taken = kit.backend(picture, text, other, broken)
    assert base64.b64decode(taken[0]["data"]) == PNG
    assert taken[0]["_meta"][BECAME] == {"as": "image", "name": "shot.png"}
    assert taken[1]["modelRepresentation"] == "hi"
    assert taken[2:] == [other, broken]


def test_what_is_no_file_goes_on_as_it_is(kit):
    others = [
        {"type": "simple", "label": "a", "modelRepresentation": "x"},
        {"type": "annotations", "label": "b", "resource": "ahp-session:/s1/annotations"},
        resource("https://example.org/x"),
    ]
    assert kit.backend(*others) == others
