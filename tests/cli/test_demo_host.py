"""The host `ahpd demo` starts: a process of its own, in a place of its own, gone at the end."""

import stat
import subprocess
import sys

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.task import deferLater

from ahpd.cli.demo_host import DemoHost, DemoPlace, HostFailure

LISTENS = """
import json, os, signal, sys, time
print("a line before", flush=True)
print(json.dumps({k: v for k, v in os.environ.items() if k.startswith(("XDG", "NOTIFY"))}),
      os.getsid(0) == os.getpid(), sys.argv[1:], file=sys.stderr, flush=True)
print("listening on ws://127.0.0.1:1", flush=True)
time.sleep(60)
"""


@pytest.fixture
def place():
    place = DemoPlace()
    yield place
    place.remove()
    assert not place.path.exists()


def host(place, script):
    return DemoHost(reactor, place, (sys.executable, "-c", script))


def is_running(pid):
    """Whether there is such a process, one that only waits to be reaped left out."""
    seen = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], check=False, capture_output=True, text=True
    )
    return seen.stdout.strip()[:1] not in {"", "Z"}


@pytest_twisted.ensureDeferred
async def test_it_runs_in_its_own_session_with_its_own_directories(place, monkeypatch):
    monkeypatch.setenv("NOTIFY_SOCKET", "/somebody/elses")
    started = host(place, LISTENS)
    assert await started.start() == "ws://127.0.0.1:1"
    pid = started.pid
    await started.stop()
    assert started.ended == "was ended by SIGTERM"
    assert not is_running(pid)
    said = "\n".join(started.log)
    assert "a line before" in said
    assert "NOTIFY" not in said
    assert f'"XDG_CONFIG_HOME": "{place.path}/config"' in said
    assert f'"XDG_STATE_HOME": "{place.path}/state"' in said
    assert "} True [" in said
    assert "'--port', '0'" in said
    assert f'"XDG_DATA_HOME": "{place.path}/data"' in said
    assert f"'--connection-token-file', '{place.token_file}'" in said
    assert "'--sessions', 'memory'" in said


@pytest_twisted.ensureDeferred
async def test_a_host_that_ends_before_it_listens_is_a_failure_in_words(place):
    started = host(place, "import sys; print('wrong port', file=sys.stderr); sys.exit(3)")
    with pytest.raises(HostFailure, match="the host ended with exit code 3 before it listened"):
        await started.start()
    assert list(started.log) == ["wrong port"]
    await started.stop()


@pytest_twisted.ensureDeferred
async def test_a_program_that_is_not_there_is_a_failure_in_words(place):
    started = DemoHost(reactor, place, ("/no/such/program",))
    with pytest.raises(HostFailure, match="before it listened"):
        await started.start()
    assert "No such file" in "\n".join(started.log)


@pytest_twisted.ensureDeferred
async def test_killing_ends_its_children_too(place):
    script = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print('listening on', child.pid, flush=True)\n"
        "child.wait()\n"
    )
    started = host(place, script)
    child = int(await started.start())
    ended = started.when_ended()
    started.kill()
    assert await ended == "was ended by SIGKILL"
    for _ in range(200):
        if not is_running(child):
            break
        await deferLater(reactor, 0.01)
    assert not is_running(child)
    started.kill()
    await started.stop()


@pytest_twisted.ensureDeferred
async def test_a_host_that_was_never_started_is_stopped_at_once(place):
    never = host(place, "")
    never.kill()
    await never.stop()


def test_the_place_is_its_owners_alone_and_so_is_the_token(place):
    assert stat.S_IMODE(place.path.stat().st_mode) == 0o700
    with pytest.raises(HostFailure, match="cannot be read"):
        place.token()
    place.token_file.write_text("secret\n")
    place.token_file.chmod(0o640)
    with pytest.raises(HostFailure, match="mode 0640, expected 0600"):
        place.token()
    place.token_file.chmod(0o600)
    assert place.token() == "secret"
