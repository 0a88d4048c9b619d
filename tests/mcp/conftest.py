"""A listener on loopback that serves the endpoints of sessions, and a client of it."""

import itertools
import json

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import clientFromString, connectProtocol
from twisted.internet.protocol import Protocol

from ahpd.app.agent_side import http_origin, serve_tools
from ahpd.mcp.servers import ToolsServers
from ahpd.transports.admission import Policy
from ahpd.transports.http import HostRouter
from ahpd.transports.websocket import WebSocketListener

PATIENCE = 10


class Tools:
    """What two sessions have of tools; `ran` is what was run of the host's."""

    def __init__(self):
        self.host = {"ahp-session:/a": [{"name": "greet", "description": "Greets"}]}
        self.clients = {}
        self.ran = []
        self.answer = {
            "success": True,
            "pastTenseMessage": "Greeted",
            "content": [{"type": "text", "text": "hello"}],
        }
        self.gate = None
        self.cancelled = 0

    def host_tools(self, session):
        return self.host.get(session, [])

    def client_tools(self, session):
        return self.clients.get(session, [])

    async def run(self, name, arguments, context):
        self.ran.append((name, dict(arguments), context))
        if self.gate is not None:
            try:
                await self.gate
            except BaseException:
                self.cancelled += 1
                raise
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class _Reader(Protocol):
    def __init__(self):
        self.data = b""
        self.waiting = []
        self.lost = False

    def dataReceived(self, data):
        self.data += data
        self._look()

    def connectionLost(self, reason=None):
        self.lost = True
        self._look()

    def _look(self):
        for wanted, done in list(self.waiting):
            if wanted(self):
                self.waiting.remove((wanted, done))
                done.callback(None)

    async def until(self, wanted):
        if not wanted(self):
            done = Deferred()
            self.waiting.append((wanted, done))
            done.addTimeout(PATIENCE, reactor)
            await done


class Served:
    """A listener with endpoints, and requests to it."""

    def __init__(self):
        self.tools = Tools()
        numbers = itertools.count(1)
        self.servers = ToolsServers(
            self.tools, lambda: http_origin(self.listener.url), lambda: f"id-{next(numbers)}"
        )

    async def start(self):
        router = HostRouter("ahpd", "1.2.3", ["1.0.0"])

        class Ground:
            scheduler = reactor

        serve_tools(router, self.servers, Ground, "ahpd")
        policy = Policy(token="the host's own", hosts=frozenset(), origins=frozenset())
        self.listener = WebSocketListener(
            reactor, "tcp:0:interface=127.0.0.1", None, policy, router
        )
        self.listener.startService()
        await self.listener.when_listening()

    async def connect(self):
        port = self.listener.address.port
        return await connectProtocol(clientFromString(reactor, f"tcp:127.0.0.1:{port}"), _Reader())

    async def raw(self, method, path, token=None, body=b"", headers=""):
        reader = await self.connect()
        reader.transport.write(request(method, path, token, body, headers))
        return reader

    async def ask(self, method, path, token=None, body=b"", headers=""):
        reader = await self.raw(method, path, token, body, headers)
        await reader.until(lambda one: one.lost)
        head, _, answered = reader.data.partition(b"\r\n\r\n")
        return int(head.split()[1]), head.decode(), answered

    async def call(self, endpoint, method, params=None, identifier=1):
        message = {"jsonrpc": "2.0", "id": identifier, "method": method}
        if params is not None:
            message["params"] = params
        status, _, body = await self.ask(
            "POST", path_of(endpoint), endpoint.token, json.dumps(message).encode()
        )
        assert status == 200, body
        answered = json.loads(body)
        assert answered["jsonrpc"] == "2.0"
        assert answered["id"] == identifier
        return answered


def path_of(endpoint):
    return "/" + endpoint.url.split("/", 3)[3]


def request(method, path, token, body, headers):
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}"]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}")
    return ("\r\n".join([*lines, ""]) + headers + "\r\n").encode() + body


@pytest.fixture
def served():
    held = Served()
    pytest_twisted.blockon(Deferred.fromCoroutine(held.start()))
    yield held
    pytest_twisted.blockon(held.listener.stopService())


@pytest.fixture
def endpoint(served):
    return served.servers.open("ahp-session:/a", "ahp-chat:/a1", None, True)
