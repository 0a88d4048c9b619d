"""Real daemons for the tests here, each held to the promises of the wire at its end."""

import base64
import itertools
import json
import os
import socket
from urllib.parse import urlsplit

import pytest
import pytest_twisted

from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import PATIENCE, Daemon

_numbers = itertools.count(1)


class Talk:
    """One client in one chat."""

    def __init__(self, probe, session, chat):
        self.probe = probe
        self.session = session
        self.chat = chat

    async def begin(self, text, **fields):
        """Start a turn and wait for its echo; its id."""
        turn_id = f"turn-{next(_numbers)}"
        await self.probe.perform(self.chat, started(turn_id, text, **fields))
        return turn_id

    async def finished(self, turn_id):
        """The turn, once it has ended."""
        return await self.probe.wait_for(lambda: self.turn(turn_id), PATIENCE, f"{turn_id}'s end")

    async def say(self, text, **fields):
        """Run a turn to its end; the turn."""
        return await self.finished(await self.begin(text, **fields))

    async def grown(self, length):
        """Wait until the running turn has answered `length` characters."""
        await self.probe.wait_for(
            lambda: self.answered() >= length, PATIENCE, f"{length} characters"
        )

    def answered(self):
        """How many characters the running turn has answered."""
        turn = self.probe.state(self.chat).get("activeTurn") or {"responseParts": []}
        return sum(
            len(part["content"]) for part in turn["responseParts"] if part["kind"] == "markdown"
        )

    def turn(self, turn_id):
        """A turn that has ended, or None."""
        turns = self.probe.state(self.chat)["turns"]
        if not any(turn["id"] == turn_id for turn in turns):
            return None
        turns = self.probe.plain_state(self.chat)["turns"]
        return next(turn for turn in turns if turn["id"] == turn_id)

    def pause(self):
        """Read nothing more from the socket for now."""
        self.probe._link.connection.transport.pauseProducing()

    def resume(self):
        """Read again."""
        self.probe._link.connection.transport.resumeProducing()

    async def with_client(self, probe):
        """The same chat, watched by another client."""
        for channel in (self.session, self.chat):
            if channel not in probe.subscriptions:
                await probe.subscribe(channel)
        return Talk(probe, self.session, self.chat)


def started(turn_id, text, **fields):
    return {
        "type": "chat/turnStarted",
        "turnId": turn_id,
        "startedAt": "2026-01-02T03:04:05.000Z",
        "message": {"text": text, "origin": {"kind": "user"}, **fields},
    }


@pytest.fixture
def turn_started():
    """Makes `chat/turnStarted` actions."""
    return started


@pytest.fixture
def text_of():
    """The text of a turn's parts of one kind."""

    def text_of(turn, kind="markdown"):
        return "".join(part["content"] for part in turn["responseParts"] if part["kind"] == kind)

    return text_of


@pytest.fixture(scope="session")
def talk():
    """Makes a session and a chat for a client, both watched by it."""

    async def talk(probe, **params):
        session = f"ahp-session:/e2e-{next(_numbers)}"
        params.setdefault("provider", "demo")
        await probe.request("createSession", channel=session, **params)
        await probe.subscribe(session)
        await probe.wait_for(lambda: probe.state(session).get("defaultChat"), what="a chat")
        chat = probe.state(session)["defaultChat"]
        await probe.subscribe(chat)
        return Talk(probe, session, chat)

    return talk


@pytest_twisted.async_yield_fixture
async def make_daemon(tmp_path):
    """Makes daemons that are not started yet. Each that was is checked and stopped at the end."""
    from twisted.internet import reactor

    made = []

    def make(*arguments, **options):
        where = tmp_path / f"daemon-{len(made)}"
        made.append(Daemon(reactor, where, *(arguments or ("--port", "0")), **options))
        return made[-1]

    yield make
    problems = []
    for daemon in made:
        try:
            await daemon.leave()
        except AssertionError as error:
            problems.append(str(error))
    assert not problems, "\n".join(problems)


@pytest.fixture
def serve(make_daemon):
    """Starts daemons."""

    async def serve(*arguments, **options):
        return await make_daemon(*arguments, **options).start()

    return serve


class RawClient:
    """A socket and what is sent over it; nothing is read that is not asked for."""

    def __init__(self, daemon, receive_buffer=None):
        parts = urlsplit(daemon.url)
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect((parts.hostname, parts.port))
        self.host = parts.netloc

    def request(self, target="/", *headers, method="GET", host=None):
        """Send one HTTP request and read the head of its answer: its status and its headers."""
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host or self.host}", *headers, "", ""]
        self.socket.sendall("\r\n".join(lines).encode())
        return self.head()

    def head(self):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = self.socket.recv(1)
            assert byte, f"it closed in its answer: {head!r}"
            head += byte
        status, *lines = head.decode("latin-1").strip().split("\r\n")
        fields = (line.partition(":") for line in lines)
        return int(status.split()[1]), {name.lower(): text.strip() for name, _, text in fields}

    def upgrade(self, target="/", *headers, **more):
        """Ask for a WebSocket."""
        return self.request(
            target,
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
            *headers,
            **more,
        )

    def send(self, message, opcode=1):
        """Send one masked frame: an object as JSON, bytes as they are."""
        payload = message if isinstance(message, bytes) else json.dumps(message).encode()
        length = len(payload)
        assert length < 65536
        head = bytes([0x80 | opcode])
        head += bytes([0x80 | length]) if length < 126 else b"\xfe" + length.to_bytes(2, "big")
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        self.socket.sendall(head + mask + masked)

    def initialize(self, client_id, *subscriptions):
        params = {"channel": ROOT, "clientId": client_id, "protocolVersions": ["1.0.0"]}
        params["initialSubscriptions"] = list(subscriptions)
        self.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})

    def rest(self):
        """All that comes until it is closed."""
        data = b""
        while piece := self.socket.recv(65536):
            data += piece
        return data

    def close(self):
        self.socket.close()


@pytest.fixture
def raw():
    """Opens sockets to a daemon."""
    opened = []

    def raw(daemon, **options):
        opened.append(RawClient(daemon, **options))
        return opened[-1]

    yield raw
    for client in opened:
        client.close()
