"""A real daemon whose folder is full, read-only, damaged or somebody else's; and one that moves."""

import base64
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest
import pytest_twisted
from twisted.internet.task import deferLater

from ahpd.client import ActionRefused, RpcError
from ahpd.protocol.file_uris import path_of
from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import Daemon

PICTURE = b"\x89PNG\r\n\x1a\n picture"


def data_of(daemon):
    return daemon.home / "data" / "ahpd"


def store_of(daemon):
    return data_of(daemon) / "sessions.sqlite"


def contents(folder):
    """Every file under a folder, by what is in it; but who has it and SQLite's scratch file."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-shm", ".lock"))
    }


def picture_at(uri):
    return Path(path_of(uri)).read_bytes()


def user(text):
    return {"text": text, "origin": {"kind": "user"}}


async def all_states(probe):
    """Every session, chat and annotation of a host, by channel."""
    found = {}
    for row in (await probe.request("listSessions"))["items"]:
        session = row["resource"]
        await probe.subscribe(session)
        await probe.subscribe(session + "/annotations")
        chats = [chat["resource"] for chat in probe.plain_state(session)["chats"]]
        for chat in chats:
            await probe.subscribe(chat)
        for channel in (session, session + "/annotations", *chats):
            found[channel] = probe.plain_state(channel)
    return found


@pytest_twisted.async_yield_fixture(scope="module")
async def left(tmp_path_factory, talk):
    """The folder of a daemon that was killed; it holds a session with some turns."""
    from twisted.internet import reactor

    daemon = Daemon(reactor, tmp_path_factory.mktemp("left") / "daemon", "--port", "0")
    await daemon.start()
    ann = await talk(await daemon.connect("ann", ROOT))
    for number in range(2):
        await ann.say(f"/stream 100 100\n/say {number}")
    await daemon.kill()
    yield data_of(daemon)
    await daemon.leave()


# -- files that cannot be used ----------------------------------------------------------


def cut_short(file):
    # Folded first, or what is cut off would be in its log still.
    with sqlite3.connect(file) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size // 2)


def scribbled_on(file):
    with sqlite3.connect(file) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    with file.open("r+b") as opened:
        for page in range(1, file.stat().st_size // 4096):
            opened.seek(page * 4096)
            opened.write(b"scribble" * 12)


def made_newer(file):
    with sqlite3.connect(file) as database:
        [found] = database.execute("PRAGMA user_version").fetchone()
        database.execute(f"PRAGMA user_version = {found + 1}")
    database.close()


def emptied_but_for_its_log(file):
    assert file.with_name(file.name + "-wal").stat().st_size > 0
    file.write_bytes(b"")


def somebody_elses(file):
    file.unlink()
    for scratch in file.parent.glob(file.name + "-*"):
        scratch.unlink()
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE music (title TEXT)")
    database.close()


@pytest.mark.parametrize(
    ("hurt", "words"),
    [
        (cut_short, "it is damaged"),
        (scribbled_on, "it is damaged"),
        (made_newer, "it was written by a newer ahpd"),
        (emptied_but_for_its_log, "the file is gone or empty while"),
        (somebody_elses, "it is a database of another program"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_store_that_cannot_be_used_stops_the_start_and_is_left_as_it_is(
    make_daemon, left, hurt, words
):
    daemon = make_daemon()
    shutil.copytree(left, data_of(daemon))
    hurt(store_of(daemon))
    before = contents(data_of(daemon))
    ended = daemon.run("--port", "0")
    assert ended.returncode == 1
    assert f"{store_of(daemon)}: " in ended.stderr
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr + ended.stdout
    assert len(ended.stderr.strip().splitlines()) == 1, ended.stderr
    assert contents(data_of(daemon)) == before


# -- folders without room ---------------------------------------------------------------


@pytest.fixture
def disk():
    """Puts a disk of its own at a path, in so many bytes; made read-only and back by its `ro`."""
    mounted = []

    def mount(path, size):
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        options = f"size={size},mode=0700"
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
        tried = shutil.which("mount") and os.geteuid() == 0
        if not tried or subprocess.run(command, check=False, capture_output=True).returncode:
            pytest.skip("only where a file system can be mounted: NOT TESTED here")
        mounted.append(path)

    yield mount
    for path in mounted:
        subprocess.run(["umount", "-l", str(path)], check=True)


def fill(path):
    """Take all the room there is; the file that has it."""
    filler = path / "filler"
    with filler.open("wb", buffering=0) as opened:
        for size in (65536, 4096, 512, 1):
            try:
                while True:
                    opened.write(b"x" * size)
            except OSError:
                continue
    return filler


@pytest_twisted.ensureDeferred
async def test_a_disk_that_is_full_fails_turns_and_refuses_the_rest_until_there_is_room(
    disk, make_daemon, talk, text_of
):
    daemon = make_daemon()
    disk(daemon.home / "data", 4 * 1024 * 1024)
    await daemon.start()
    probe = await daemon.connect("ann", ROOT)
    ann = await talk(probe)
    await ann.say("/say before")
    running = await ann.begin("/stream 2000000 30")
    await ann.grown(1000)
    filler = fill(daemon.home / "data")
    turn = await ann.finished(running)
    assert turn["state"] == "error"
    error = turn["responseParts"][-1]["error"]
    assert error["errorType"] == "storeFailed"
    assert "the disk is full" in error["message"]
    refused = {
        "chat/draftChanged": {"draft": user("d" * 9000)},
        "chat/pendingMessageSet": {"kind": "queued", "id": "q", "message": user("q" * 9000)},
    }
    for kind, fields in refused.items():
        with pytest.raises(ActionRefused, match="the disk is full"):
            await probe.perform(ann.chat, {"type": kind, **fields})
    title = {"type": "session/titleChanged", "title": "t" * 9000}
    with pytest.raises(ActionRefused, match="the disk is full"):
        await probe.perform(ann.session, title)
    for request, params in {
        "createSession": {"channel": "ahp-session:/no-room", "provider": "demo"},
        "createChat": {"channel": ann.session, "chat": "ahp-chat:/no-room"},
    }.items():
        with pytest.raises(RpcError, match="the disk is full"):
            await probe.request(request, **params)
    await probe.ping()
    filler.unlink()
    # What could not be written comes with the next that can.
    again = await ann.say("/say after")
    assert (again["state"], text_of(again)) == ("complete", "after")
    told = {channel: probe.plain_state(channel) for channel in (ann.session, ann.chat)}
    await daemon.check()
    await daemon.kill()
    assert "the disk is full" in daemon.log
    await daemon.start()
    read = await all_states(await daemon.connect("bob", ROOT))
    assert read[ann.chat]["turns"] == told[ann.chat]["turns"]
    assert read[ann.session]["title"] == told[ann.session]["title"]
    assert len(read) == 3


@pytest_twisted.ensureDeferred
async def test_a_folder_that_turns_read_only_is_said_and_the_daemon_lives(disk, make_daemon, talk):
    daemon = make_daemon()
    disk(daemon.home / "data", 16 * 1024 * 1024)
    await daemon.start()
    probe = await daemon.connect("ann", ROOT)
    ann = await talk(probe)
    await ann.say("/say before")
    await deferLater(daemon.reactor, 2.5, lambda: None)  # what waited to be written is
    await daemon.kill()
    remount(daemon, "ro")
    before = contents(data_of(daemon))
    ended = daemon.run("--port", "0")
    assert ended.returncode == 1
    assert str(data_of(daemon)) in ended.stderr
    assert "read-only" in ended.stderr.lower()
    assert "Traceback" not in ended.stderr
    assert contents(data_of(daemon)) == before
    remount(daemon, "rw")
    await daemon.start()
    read = await all_states(await daemon.connect("bob", ROOT))
    assert [turn["message"]["text"] for turn in read[ann.chat]["turns"]] == ["/say before"]


def remount(daemon, how):
    command = ["mount", "-o", f"remount,{how}", str(daemon.home / "data")]
    subprocess.run(command, check=True)


# -- two at once ------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_a_second_daemon_and_an_export_are_refused_while_the_first_goes_on(serve, talk):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    running = await ann.begin("/stream 3000 20\n/sleep 800\n/say the end")
    for command in (
        ("--port", "0"),
        ("sessions", "export", str(daemon.work / "out.jsonl")),
        ("sessions", "import", str(daemon.work / "in.jsonl")),
    ):
        (daemon.work / "in.jsonl").write_text("{}\n")
        ended = daemon.run(*command)
        assert ended.returncode == 1, command
        assert str(data_of(daemon)) in ended.stderr, ended.stderr
        assert str(daemon.pid) in ended.stderr, ended.stderr
        assert "Traceback" not in ended.stderr
    assert (await ann.finished(running))["state"] == "complete"
    assert (await ann.say("/say on"))["state"] == "complete"


# -- moving -----------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_what_is_exported_reads_the_same_in_another_home(make_daemon, talk):
    old, new = make_daemon(), make_daemon()
    await old.start()
    probe = await old.connect("ann", ROOT)
    ann = await talk(probe, workingDirectories=[old.work.as_uri()], config={"pace": "instant"})
    encoded = base64.b64encode(PICTURE).decode()
    picture = {"type": "embeddedResource", "label": "p.png", "contentType": "image/png"}
    begun = await ann.begin("look", attachments=[{**picture, "data": encoded}])
    await ann.finished(begun)
    await ann.say("/tool list_files here\n/say done\n/usage 3 4")
    fork = {"kind": "fork", "chat": ann.chat, "turnId": begun}
    await probe.request("createChat", channel=ann.session, chat="ahp-chat:/fork", source=fork)
    await probe.perform(ann.chat, {"type": "chat/draftChanged", "draft": user("half")})
    await probe.perform(ann.session, {"type": "session/titleChanged", "title": "Moved"})
    marks = ann.session + "/annotations"
    await probe.subscribe(marks)
    mark = {"id": "m", "origin": {"session": ann.session}, "resource": "file:///f"}
    mark.update(resolved=False, entries=[{"id": "e", "text": "so"}])
    await probe.perform(marks, {"type": "annotations/set", "annotation": mark})
    await ann.begin("/say so far\n/sleep 3600000")
    await ann.grown(6)
    waiting = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q"}
    await probe.perform(ann.chat, {**waiting, "message": user("/say next")})
    await old.kill()
    await old.start()
    before = await all_states(await old.connect("bob", ROOT))
    await old.stop()
    out = old.work / "sessions.jsonl"
    exported = old.run("sessions", "export", str(out))
    assert exported.returncode == 0, exported.stderr
    imported = new.run("sessions", "import", str(out))
    assert imported.returncode == 0, imported.stderr
    await new.start()
    cid = await new.connect("cid", ROOT)
    after = await all_states(cid)
    there = json.dumps(after)
    assert str(data_of(old)) not in there
    assert json.loads(json.dumps(before).replace(str(data_of(old)), str(data_of(new)))) == after
    [attached] = after[ann.chat]["turns"][0]["message"]["attachments"]
    assert Path(path_of(attached["uri"])).is_relative_to(data_of(new))
    assert picture_at(attached["uri"]) == PICTURE
    again = await ann.with_client(cid)
    resumed = after[ann.chat]["turns"][-1]["id"]
    await cid.perform(ann.chat, {"type": "chat/turnResume", "turnId": resumed})
    stop = {"type": "chat/turnCancelled", "turnId": resumed, "duration": 1}
    await cid.perform(ann.chat, stop)
    assert (await again.finished(resumed))["state"] == "cancelled"
