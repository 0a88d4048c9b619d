"""Real shells of a real daemon, over its socket."""

import itertools
from pathlib import Path

import pytest
import pytest_twisted

from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import PATIENCE, Daemon
from ahpd.testing.processes import fields_of

MIB = 1024 * 1024
_numbers = itertools.count(1)


@pytest_twisted.async_yield_fixture
async def daemon(tmp_path):
    from twisted.internet import reactor

    daemon = Daemon(
        reactor,
        tmp_path / "daemon",
        "--port",
        "0",
        settings={"clientQueueBytes": 4 * MIB, "replayBytes": MIB},
        preset={"SHELL": "/bin/bash"},
    )
    async with daemon:
        yield daemon


@pytest.fixture
def shell(daemon):
    """Opens a shell for a client, which watches it; its URI."""

    async def shell(client, **params):
        uri = f"ahp-terminal:/{next(_numbers)}"
        claim = {"kind": "client", "clientId": client.client_id}
        await client.call("createTerminal", {"channel": uri, "claim": claim, **params})
        await client.subscribe(uri)
        return uri

    return shell


def types(client, uri, text):
    client.dispatch(uri, {"type": "terminal/input", "data": text})


async def prints(client, uri, words):
    """Wait until what the terminal printed ends with a line of these words."""

    def text():
        content = client.plain_state(uri)["content"]
        return "".join(part.get("output", part.get("value")) for part in content)

    await client.wait_for(lambda: words in text(), PATIENCE, f"{words!r} in {uri}")


async def disposes(client, uri):
    client.unsubscribe(uri)
    await client.call("disposeTerminal", {"channel": uri})


async def ended(client, uri):
    def lifecycle():
        held = client.state(uri)["lifecycle"]
        return held if held["status"] == "exited" else None

    return await client.wait_for(lifecycle, PATIENCE, f"the end of {uri}")


@pytest_twisted.ensureDeferred
async def test_a_person_works_in_a_shell(daemon, shell, tmp_path):
    ann, bob = await daemon.connect("ann", ROOT), await daemon.connect("bob", ROOT)
    folder = tmp_path / "a folder"
    folder.mkdir()
    uri = await shell(ann, cwd=folder.as_uri(), cols=100, rows=30)
    await bob.subscribe(uri)
    await ann.wait_for(
        lambda: ann.state(uri).get("supportsCommandDetection"), PATIENCE, "the shell's marks"
    )
    types(ann, uri, "stty size; pwd -P; false\r")
    await bob.wait_for(
        lambda: [p for p in bob.state(uri)["content"] if p.get("isComplete")], PATIENCE, "a command"
    )
    command = next(p for p in bob.plain_state(uri)["content"] if p["type"] == "command")
    assert command["commandLine"] == "stty size; pwd -P; false"
    assert command["output"].split("\r\n")[:2] == ["30 100", str(folder.resolve())]
    assert command["exitCode"] == 1
    types(bob, uri, "cd /usr && echo $((6*7))\r")
    await prints(ann, uri, "42")
    await ann.wait_for(lambda: ann.state(uri)["cwd"] == "file:///usr", PATIENCE, "the folder")
    ann.dispatch(uri, {"type": "terminal/resized", "cols": 60, "rows": 20})
    types(ann, uri, "stty size\r")
    await prints(ann, uri, "20 60")
    types(ann, uri, "exit 5\r")
    assert await ended(bob, uri) == {"status": "exited", "exitCode": 5}
    bob.unsubscribe(uri)
    await disposes(ann, uri)
    await bob.wait_for(lambda: bob.state(ROOT)["terminals"] == [], PATIENCE, "an empty list")


@pytest_twisted.ensureDeferred
async def test_what_a_shell_left_running_goes_with_its_terminal(daemon, shell, tmp_path):
    ann = await daemon.connect("ann", ROOT)
    uri = await shell(ann)
    note = tmp_path / "pids"
    types(ann, uri, f"sleep 1000 & (setsid sleep 1000 & echo $! >> {note}); echo $! >> {note}\r")
    await daemon.until(lambda: note.exists() and len(note.read_text().split()) == 2, "two pids")
    pids = [int(pid) for pid in note.read_text().split()]
    assert all(fields_of(pid) for pid in pids)
    await disposes(ann, uri)
    assert not any(fields_of(pid) for pid in pids)


@pytest_twisted.ensureDeferred
async def test_a_flood_slows_nobody_for_a_client_that_stopped_reading(daemon, shell):
    ann, deaf = await daemon.connect("ann", ROOT), await daemon.connect("deaf", ROOT)
    uri = await shell(ann, cwd=Path("/").as_uri())
    await deaf.subscribe(uri)
    before = daemon.memory()
    deaf._link.connection.transport.pauseProducing()
    types(ann, uri, "head -c 12000000 /dev/zero | tr '\\\\0' x | fold -w 99; exit 3\r")
    assert await ended(ann, uri) == {"status": "exited", "exitCode": 3}
    other = await shell(ann)
    types(ann, other, "echo $((6*7))\r")
    await prints(ann, other, "42")
    # Held are a queue of 4 MiB each, the replay's share and what a terminal keeps.
    assert daemon.memory("VmHWM") - before < 48 * MIB
    deaf.abort()
