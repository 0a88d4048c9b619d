"""A plugin in a daemon of its own: installed as people install it, and used as they use it."""

import http.client
import itertools
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import attrs
from twisted.internet.threads import deferToThreadPool

from ahpd.testing.client import ProbeClient
from ahpd.testing.daemon import PATIENCE, Daemon

#: What an `IAgent` for tests is: `ahpd.testing.agents.calling`.
_CALLER: Final = """\
from ahpd.testing.agents.calling import CallingAgent

def apply(host, options):
    host.register_agent(CallingAgent())
"""
_NAMES: Final = itertools.count(1)


def install_plugin(source: Path, target: Path) -> Path:
    """Build the wheel of the distribution in `source` and have pip install it into `target`.

    What it depends on is not installed, and nothing is looked for on the network. `target`, for
    `PYTHONPATH`, is answered. Raises `AssertionError` with pip's own words.
    """
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--no-warn-conflicts"]
    done = subprocess.run(  # noqa: S603 - the interpreter's own pip
        [*pip, *offline, "--target", str(target), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def tool_caller(folder: Path) -> str:
    """Write a plugin into the empty `folder` that offers an agent calling the host's tools.

    Its source, for the `plugins` of a configuration; the agent is `caller`.
    """
    folder.mkdir(parents=True)
    (folder / "plugin.yaml").write_text("id: tool-caller\nmain: caller.py\n")
    (folder / "caller.py").write_text(_CALLER)
    return str(folder)


@attrs.frozen(kw_only=True)
class Answered:
    """What a daemon answered a plain HTTP request."""

    status: int
    headers: Mapping[str, str]
    """By name in lower case."""
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


async def ask(
    daemon: Daemon,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answered:
    """Ask a daemon that listens on TCP something over plain HTTP, without its token."""
    assert daemon.url is not None, "it listens nowhere"
    parts = urlsplit(daemon.url)

    def asked() -> Answered:
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            held = {name.lower(): value for name, value in answer.getheaders()}
            return Answered(status=answer.status, headers=held, body=answer.read())
        finally:
            connection.close()

    answered: Answered = await deferToThreadPool(
        daemon.reactor, daemon.reactor.getThreadPool(), asked
    )
    return answered


@attrs.frozen(kw_only=True)
class CallerChat:
    """A chat with the agent `caller`, in a session of its own."""

    probe: ProbeClient
    session: str
    chat: str

    @classmethod
    async def begin(cls, probe: ProbeClient) -> "CallerChat":
        """Make the session, and watch both."""
        session = f"ahp-session:/caller-{next(_NAMES)}"
        await probe.request("createSession", channel=session, provider="caller")
        await probe.subscribe(session)
        chat: str = probe.state(session)["defaultChat"]
        await probe.subscribe(chat)
        return cls(probe=probe, session=session, chat=chat)

    async def say(self, text: str) -> str:
        """Send one message; what was said to it."""
        turn = f"turn-{next(_NAMES)}"
        await self.probe.perform(
            self.chat,
            {
                "type": "chat/turnStarted",
                "turnId": turn,
                "startedAt": "2026-01-02T03:04:05.000Z",
                "message": {"text": text, "origin": {"kind": "user"}},
            },
        )

        def ended() -> Any:
            turns = self.probe.state(self.chat)["turns"]
            return next((one for one in turns if one["id"] == turn), None)

        found = await self.probe.wait_for(ended, PATIENCE, f"the end of {turn}")
        assert found["state"] == "complete", found
        parts = self.probe.plain_state(self.chat)["turns"][-1]["responseParts"]
        return "".join(one["content"] for one in parts if one["kind"] == "markdown")

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Have the agent call a tool; its result (schema: ToolCallResult)."""
        return json.loads(await self.say(json.dumps({"tool": tool, "arguments": arguments})))
