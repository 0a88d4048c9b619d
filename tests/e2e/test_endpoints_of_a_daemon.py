"""A real daemon's MCP endpoints, as a program it started reaches them, and how they end."""

import json
import sys
import threading
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_twisted
from twisted.internet.threads import deferToThread

from ahpd.protocol.uris import ROOT

PROGRAM = Path(__file__).parents[2] / "plugins" / "agent-acp" / "tests" / "scripted_agent.py"


def settings():
    """An agent that says which servers it was given."""
    config = {
        "command": sys.executable,
        "args": [
            "-I",
            "-S",
            str(PROGRAM),
            json.dumps({"can": {"mcpCapabilities": {"http": True}}}),
        ],
    }
    return {"agents": [{"id": "acp", "engine": "acp", "name": "Scripted", "config": config}]}


class Given:
    """The endpoint a program was given."""

    def __init__(self, server):
        self.url = server["url"]
        parts = urlsplit(server["url"])
        self.where = parts.hostname, parts.port
        self.path = parts.path
        self.headers = {each["name"]: each["value"] for each in server["headers"]}

    def open(self, method, body=None):
        """A connection that asked, and nothing read of it yet."""
        connection = HTTPConnection(*self.where, timeout=30)
        connection.request(method, self.path, body, self.headers)
        return connection

    def ask(self, method, params=None):
        """The status and the answer of one request."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        connection = self.open("POST", json.dumps(message))
        answered = connection.getresponse()
        said = answered.read()
        connection.close()
        return answered.status, json.loads(said) if said.startswith(b"{") else said


async def given(talk, probe, text_of):
    """A chat on the agent, and the endpoint its program was given; None where it was given none."""
    one = await talk(probe, provider="acp")
    await one.say("hello")  # which comes behind what it is told of the host's tools
    turn = await one.say("told servers")
    servers = json.loads(text_of(turn))
    return one, Given(servers[-1]) if servers else None


@pytest.mark.parametrize(
    "listen",
    ["tcp:0:interface=127.0.0.1", "tcp:0:interface=0.0.0.0", "tcp6:0:interface=\\:\\:"],
)
@pytest_twisted.ensureDeferred
async def test_a_program_reaches_its_session_wherever_the_host_listens(
    serve, talk, text_of, listen
):
    daemon = await serve("--listen", listen, settings=settings())
    ann = await daemon.connect("ann", ROOT)
    one, endpoint = await given(talk, ann, text_of)
    status, said = await deferToThread(endpoint.ask, "tools/list")
    assert status == 200
    assert "get_current_session" in {tool["name"] for tool in said["result"]["tools"]}
    call = {"name": "get_current_session"}
    _, said = await deferToThread(endpoint.ask, "tools/call", call)
    assert json.loads(said["result"]["content"][0]["text"])["session"] == one.session
    _, other = await given(talk, ann, text_of)
    assert other.url != endpoint.url
    endpoint.headers = other.headers
    assert (await deferToThread(endpoint.ask, "tools/list"))[0] == 401


@pytest_twisted.ensureDeferred
async def test_a_host_on_a_socket_file_gives_no_endpoint(serve, talk, text_of, tmp_path):
    daemon = await serve("--listen", f"unix:{tmp_path / 's'}:mode=600", settings=settings())
    ann = await daemon.connect("ann", ROOT)
    assert (await given(talk, ann, text_of))[1] is None


@pytest_twisted.ensureDeferred
async def test_an_endpoint_ends_with_its_session_and_a_stop_waits_for_no_stream(
    serve, talk, text_of
):
    daemon = await serve(settings=settings())
    ann = await daemon.connect("ann", ROOT)
    one, endpoint = await given(talk, ann, text_of)
    stream = await deferToThread(endpoint.open, "GET")
    answer = await deferToThread(stream.getresponse)  # it is open before its session ends
    assert answer.status == 200
    await ann.request("disposeSession", channel=one.session)
    assert (await deferToThread(answer.read)).startswith(b": ")
    assert (await deferToThread(endpoint.ask, "tools/list"))[0] == 404
    streams = []
    for _ in range(3):
        _, endpoint = await given(talk, ann, text_of)
        streams.append(await deferToThread(endpoint.open, "GET"))
        assert (await deferToThread(streams[-1].getresponse)).status == 200
    before = time.monotonic()
    daemon.signal()
    assert await daemon.ended() == 0
    assert time.monotonic() - before < 6
    for each in streams:
        each.close()


@pytest_twisted.ensureDeferred
async def test_a_flood_of_strangers_and_of_calls_leaves_the_host_as_it_was(serve, talk, text_of):
    daemon = await serve(settings=settings())
    ann = await daemon.connect("ann", ROOT)
    one, endpoint = await given(talk, ann, text_of)
    before = daemon.descriptors()

    def flood():
        statuses = []
        wrong = Given({"url": endpoint.url, "headers": []})
        for number in range(150):
            wrong.headers = {"Authorization": f"Bearer {'x' * number}"}
            statuses.append(wrong.ask("tools/list")[0])
            statuses.append(endpoint.ask("tools/call", {"name": "list_sessions"})[0])
        return statuses

    found = []
    threads = [threading.Thread(target=lambda: found.append(flood())) for _ in range(4)]

    def run():
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    await deferToThread(run)
    assert [sorted(set(statuses)) for statuses in found] == [[200, 401]] * 4
    turn = await one.say("still here")
    assert text_of(turn) == "still here"
    assert daemon.descriptors() <= before + 2
