"""The agent of docs/writing-an-agent.md: taken from the page, installed, checked and talked to."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import pytest_twisted
import yaml

from ahpd.testing.daemon import Daemon

PAGE = Path(__file__).parent.parent.parent / "docs" / "writing-an-agent.md"
_EXAMPLE = re.compile(r"<!-- example: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def examples():
    found = dict(_EXAMPLE.findall(PAGE.read_text()))
    assert set(found) == {"ahpd_parrot.py", "pyproject.toml", "config.yaml", "test_parrot.py"}
    return found


@pytest.fixture(scope="module")
def installed(examples, tmp_path_factory):
    """A folder with the page's distribution in it, as pip leaves one, to be put on a path."""
    folder = tmp_path_factory.mktemp("parrot")
    source, target = folder / "source", folder / "target"
    source.mkdir()
    for name, text in examples.items():
        (source / name).write_text(text)
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation", "-q"]
    done = subprocess.run(
        [*pip, "--target", str(target), str(source)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return target


def test_the_test_on_the_page_passes(examples, installed, tmp_path):
    (tmp_path / "test_parrot.py").write_text(examples["test_parrot.py"])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_parrot.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@pytest_twisted.ensureDeferred
async def test_a_daemon_serves_it(reactor, examples, installed, tmp_path):
    settings = yaml.safe_load(examples["config.yaml"])
    path = {"PYTHONPATH": str(installed)}
    where = tmp_path / "daemon"
    daemon = Daemon(reactor, where, "--port", "0", settings=settings, preset=path)
    async with daemon:
        client = await daemon.connect("ann", "ahp-root://")
        [agent] = client.state("ahp-root://")["agents"]
        assert (agent["provider"], agent["displayName"]) == ("polly", "Polly")
        session = "ahp-session:/polly"
        await client.call("createSession", {"channel": session, "provider": "polly"})
        await client.subscribe(session)
        chat = client.state(session)["defaultChat"]
        await client.subscribe(chat)
        await client.perform(chat, started("one", "hello to you"))
        await client.wait_for(lambda: client.state(chat)["turns"], what="the parrot's answer")
        [turn] = client.state(chat)["turns"]
        assert turn["state"] == "complete"
        assert "".join(part["content"] for part in turn["responseParts"]) == "hello to you "


def started(turn_id, text):
    return {
        "type": "chat/turnStarted",
        "turnId": turn_id,
        "startedAt": "2026-01-02T03:04:05.000Z",
        "message": {"text": text, "origin": {"kind": "user"}},
    }
