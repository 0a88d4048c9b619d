"""What the daemon keeps: through an orderly restart, a full disk, and files it cannot use."""

import resource
import stat

import pytest
import pytest_twisted

from ahpd.client import ActionRefused
from ahpd.protocol.uris import ROOT


def data_of(daemon):
    return daemon.home / "data" / "ahpd"


def sizes(daemon):
    return {path.name: path.stat().st_size for path in data_of(daemon).iterdir()}


@pytest_twisted.ensureDeferred
async def test_an_orderly_restart_brings_everything_back(serve, talk):
    daemon = await serve()
    probe = await daemon.connect("ann", ROOT)
    ann = await talk(probe, workingDirectories=[daemon.work.as_uri()])
    await ann.say("/say the first")
    running = await ann.begin("/say so far\n/sleep 3600000")
    await ann.grown(6)
    draft = {"text": "half a thought", "origin": {"kind": "user"}}
    await probe.perform(ann.chat, {"type": "chat/draftChanged", "draft": draft})
    await probe.perform(ann.session, {"type": "session/titleChanged", "title": "Renamed"})
    await daemon.stop()
    await daemon.start()
    bob = await daemon.connect("bob", ROOT)
    [row] = (await bob.request("listSessions"))["items"]
    assert (row["resource"], row["title"]) == (ann.session, "Renamed")
    await bob.subscribe(ann.session)
    await bob.subscribe(ann.chat)
    state = bob.plain_state(ann.chat)
    assert [turn["state"] for turn in state["turns"]] == ["complete", "error"]
    assert state["turns"][1]["id"] == running
    assert state["draft"] == draft
    again = await ann.with_client(bob)
    assert (await again.say("/say on it goes"))["state"] == "complete"


@pytest_twisted.ensureDeferred
async def test_a_second_daemon_on_the_same_folder_is_told_why_not(serve, talk):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    await ann.say("/say kept")
    second = daemon.run("--port", "0")
    assert second.returncode == 1
    assert "Traceback" not in second.stderr
    assert str(data_of(daemon)) in second.stderr
    assert (await ann.say("/say still here"))["state"] == "complete"


@pytest_twisted.ensureDeferred
async def test_a_damaged_file_stops_the_start_with_words_and_is_left_as_it_is(make_daemon):
    daemon = make_daemon("--port", "0")
    data_of(daemon).mkdir(parents=True)
    file = data_of(daemon) / "sessions.sqlite"
    file.write_bytes(b"no database at all, and somebody's only copy of it" * 100)
    before = file.read_bytes()
    ended = daemon.run("--port", "0")
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert str(file) in ended.stderr
    assert file.read_bytes() == before


@pytest_twisted.ensureDeferred
async def test_memory_keeps_nothing_on_disk(serve, talk):
    daemon = await serve("--port", "0", "--sessions", "memory")
    ann = await talk(await daemon.connect("ann", ROOT))
    await ann.say("/say gone soon")
    assert not (data_of(daemon) / "sessions.sqlite").exists()
    await daemon.stop()
    await daemon.start()
    bob = await daemon.connect("bob", ROOT)
    assert (await bob.request("listSessions"))["items"] == []


@pytest_twisted.ensureDeferred
async def test_on_a_full_disk_turns_fail_in_words_and_the_daemon_lives(serve, talk):
    daemon = await serve()
    probe = await daemon.connect("ann", ROOT)
    ann = await talk(probe)
    await ann.say("/say before")
    running = await ann.begin("/stream 300000 20")
    await ann.grown(100)
    # What no file can grow by is what a full disk is, for one process.
    room = max(sizes(daemon).values()) + 4096
    _, hard = resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (room, hard))
    turn = await ann.finished(running)
    assert turn["state"] == "error"
    error = turn["responseParts"][-1]["error"]
    assert error["errorType"] == "storeFailed"
    assert str(data_of(daemon)) in error["message"]
    draft = {"text": "x" * 10_000, "origin": {"kind": "user"}}
    with pytest.raises(ActionRefused, match="could not be saved"):
        await probe.perform(ann.chat, {"type": "chat/draftChanged", "draft": draft})
    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (hard, hard))
    assert (await ann.say("/say after"))["state"] == "complete"
    told = probe.plain_state(ann.chat)["turns"]
    await daemon.check()
    await daemon.kill()
    await daemon.start()
    bob = await daemon.connect("bob", ROOT)
    await bob.subscribe(ann.chat)
    assert bob.plain_state(ann.chat)["turns"] == told


@pytest_twisted.ensureDeferred
async def test_what_is_kept_is_its_owners_alone(serve, talk):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    await ann.say("/say kept")
    assert stat.S_IMODE(data_of(daemon).stat().st_mode) == 0o700
    assert stat.S_IMODE((data_of(daemon) / "sessions.sqlite").stat().st_mode) == 0o600
