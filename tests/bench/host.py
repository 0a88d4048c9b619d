"""The host as its users have it: a daemon process, and a plain blocking client of it."""

import contextlib
import itertools
import re
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import rawsocket
from processes import HERE, Program, program
from report import NotMeasured

_LISTENING = re.compile(r"ws://([\d.]+):(\d+)")
#: Loopback, a free port, no token, and each delta sent as it comes.
PLAIN = ("--port", "0", "--without-connection-token", "--delta-window-ms", "0")
DAEMON = (sys.executable, "-m", "ahpd", *PLAIN)
#: The host of bench_host.py: the same tree of services around an agent inside the process.
HARNESS = (sys.executable, str(HERE / "bench_host.py"))
VERSION = "1.0.0"


class Host:
    """A running host: its process and where it listens."""

    def __init__(self, running: Program, address: tuple[str, int]) -> None:
        self.program = running
        self.address = address

    @property
    def pid(self) -> int:
        """The process id of the host."""
        return self.program.pid


def listening(running: Program, timeout: float = 30.0) -> tuple[str, int]:
    """Where a host that is starting listens, once it says so."""
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        found = _LISTENING.search(running.line(timeout))
        if found:
            return found[1], int(found[2])
    raise NotMeasured(f"{running.name} never said where it listens")


@contextlib.contextmanager
def home() -> Iterator[dict[str, str]]:
    """An environment whose configuration and state are in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="ahpd-bench-") as folder:
        places = {
            "HOME": folder,
            "XDG_CONFIG_HOME": str(Path(folder) / "config"),
            "XDG_STATE_HOME": str(Path(folder) / "state"),
            "XDG_DATA_HOME": str(Path(folder) / "data"),
            "XDG_CACHE_HOME": str(Path(folder) / "cache"),
            "XDG_RUNTIME_DIR": str(Path(folder) / "run"),
        }
        for place in places.values():
            Path(place).mkdir(mode=0o700, exist_ok=True)
        yield places


@contextlib.contextmanager
def host(command: Sequence[str] = DAEMON, **more: str) -> Iterator[Host]:
    """A host with a home of its own, gone at the end of the block."""
    with home() as env, program(command, {**env, **more}, cwd=Path(env["HOME"])) as running:
        yield Host(running, listening(running))


class Client:
    """One blocking connection to a host, past its handshake."""

    def __init__(
        self,
        address: tuple[str, int],
        subscriptions: Sequence[str] = (),
        client_id: str | None = None,
    ) -> None:
        self.client_id = client_id or f"bench-{uuid.uuid4()}"
        self._sock = rawsocket.connect(address, timeout=120.0)
        self._frames = rawsocket.FrameReader()
        self._inbox: list[bytes] = []
        self._ids = itertools.count(1)
        self._sequence = itertools.count(1)
        self.welcome: dict[str, Any] = {}
        if client_id is None:
            self.welcome = self.request("initialize", initialize(self.client_id, subscriptions))

    def send(self, message: dict[str, Any]) -> None:
        """One message, as it is."""
        self._sock.sendall(rawsocket.client_frame(msgspec.json.encode(message)))

    def message(self) -> bytes:
        """The next message that comes, undecoded; pings are answered on the way."""
        while not self._inbox:
            data = self._sock.recv(1 << 20)
            if not data:
                raise NotMeasured("the host closed the connection")
            for opcode, payload in self._frames.feed(data):
                if opcode == rawsocket.PING:
                    self._sock.sendall(rawsocket.client_frame(payload, rawsocket.PONG))
                elif opcode == rawsocket.CLOSE:
                    raise NotMeasured(f"the host closed the connection: {payload[2:]!r}")
                else:
                    self._inbox.append(payload)
        return self._inbox.pop(0)

    def ask(self, method: str, params: dict[str, Any]) -> bytes:
        """A request's answer, undecoded; what else comes meanwhile is dropped.

        The id stands where it can be told apart without decoding: no action has one.
        """
        number = next(self._ids)
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        mark = b'"id":%d' % number
        while True:
            message = self.message()
            if mark in message[:64]:
                return message

    def request(self, method: str, params: dict[str, Any]) -> Any:
        """A request's result. Raises `NotMeasured` for an error."""
        answer = msgspec.json.decode(self.ask(method, params))
        if "error" in answer:
            raise NotMeasured(f"{method} was refused: {answer['error']}")
        return answer["result"]

    def until(self, action_type: str) -> dict[str, Any]:
        """The next envelope of this type. Raises `NotMeasured` for a failed turn or a refusal."""
        while True:
            message = msgspec.json.decode(self.message())
            if message.get("method") != "action":
                continue
            envelope: dict[str, Any] = message["params"]
            if "rejectionReason" in envelope or envelope["action"]["type"] == "chat/error":
                raise NotMeasured(f"the host said {envelope}")
            if envelope["action"]["type"] == action_type:
                return envelope

    def new_chat(self, provider: str) -> str:
        """The default chat of a session made for it."""
        session = f"ahp-session:/{uuid.uuid4()}"
        self.request("createSession", {"channel": session, "provider": provider})
        answer = self.request("subscribe", {"channel": session})
        self.send({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": session}})
        chat: str = answer["snapshot"]["state"]["defaultChat"]
        return chat

    def start_turn(self, chat: str, text: str) -> None:
        """A turn that begins with `text`."""
        self.send(dispatched(chat, turn_started(text), next(self._sequence)))

    def close(self) -> None:
        """Hang up."""
        self._sock.close()


def turn_started(text: str) -> dict[str, Any]:
    """The action that begins a turn."""
    return {
        "type": "chat/turnStarted",
        "turnId": str(uuid.uuid4()),
        "startedAt": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
        "message": {"text": text, "origin": {"kind": "user"}},
    }


def dispatched(channel: str, action: dict[str, Any], sequence: int) -> dict[str, Any]:
    """The notification a client sends an action in."""
    params = {"channel": channel, "clientSeq": sequence, "action": action}
    return {"jsonrpc": "2.0", "method": "dispatchAction", "params": params}


def initialize(client_id: str, subscriptions: Sequence[str]) -> dict[str, Any]:
    """The params of the handshake."""
    return {
        "channel": "ahp-root://",
        "protocolVersions": [VERSION],
        "clientId": client_id,
        "initialSubscriptions": list(subscriptions),
    }


def hello(chat: str) -> str:
    """What a reader says when it opens; `{n}` is filled in with its number."""
    params = initialize("reader-{n}", [chat])
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    return msgspec.json.encode(message).decode()


#: What the answer to `hello` holds.
ANSWERED = '"id":1'


def begin(chat: str, text: str) -> str:
    """What a reader says to start a turn of `text`."""
    return msgspec.json.encode(dispatched(chat, turn_started(text), 1)).decode()
