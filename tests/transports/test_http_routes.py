"""Plain HTTP on the listener's port: the routes it ships, and those that are registered."""

import json

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.web.resource import Resource

from ahpd.interfaces.http import Response, json_response
from ahpd.transports.admission import Guard
from ahpd.transports.http import HostRouter
from ahpd.transports.websocket_settings import WebSocketSettings

GOOD = b"Authorization: Bearer secret\r\n"


def body(answer):
    return bytes(answer.partition(b"\r\n\r\n")[2])


@pytest_twisted.ensureDeferred
async def test_health_is_open_and_says_when_the_host_drains(listening, kit):
    host = await listening()
    answer = await host.answer(kit.request(b"/health"))
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert body(answer) == b'{"status":"ok"}'
    host.router.draining = True
    answer = await host.answer(kit.request(b"/health"))
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert body(answer) == b'{"status":"draining"}'


@pytest_twisted.ensureDeferred
async def test_version_needs_the_token(listening, kit):
    host = await listening()
    assert (await host.answer(kit.request(b"/version"))).startswith(b"HTTP/1.1 401 ")
    answer = await host.answer(kit.request(b"/version", headers=GOOD))
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert json.loads(body(answer)) == {
        "name": "ahpd",
        "version": "1.2.3",
        "protocolVersions": ["1.0.0", "0.10.0"],
    }
    assert b"\r\nAccess-Control-Allow-Origin: *\r\n" in answer
    assert b"wisted" not in answer
    by_query = await host.answer(kit.request(b"/version?tkn=secret"))
    assert by_query.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest_twisted.ensureDeferred
async def test_a_rebound_name_reaches_no_route(listening, kit):
    host = await listening()
    answer = await host.answer(kit.request(b"/health", host=b"evil.example"))
    assert answer.startswith(b"HTTP/1.1 403 ")


@pytest_twisted.ensureDeferred
async def test_a_head_request_gets_the_headers_alone(listening, kit):
    host = await listening()
    answer = await host.answer(kit.request(b"/health", method=b"HEAD"))
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"ontent-Length: 15\r\n" in answer
    assert body(answer) == b""


@pytest_twisted.ensureDeferred
async def test_another_method_is_not_allowed(listening, kit):
    host = await listening()
    answer = await host.answer(kit.request(b"/health", method=b"DELETE"))
    assert answer.startswith(b"HTTP/1.1 405 ")
    assert b"\r\nAllow: GET, HEAD\r\n" in answer


@pytest_twisted.ensureDeferred
async def test_options_says_what_a_route_takes(listening, kit):
    host = await listening()
    answer = await host.answer(kit.request(b"/version", method=b"OPTIONS"))
    assert answer.startswith(b"HTTP/1.1 204 ")
    assert b"\r\nAllow: GET, HEAD, OPTIONS\r\n" in answer


@pytest_twisted.ensureDeferred
async def test_a_handler_reads_its_body_and_answers(listening, kit):
    host = await listening()
    seen = []

    async def hook(request):
        seen.append((request.method, request.path, request.content.read()))
        return json_response(201, {"took": True})

    take_back = host.router.register("/hooks", hook)
    data = kit.request(b"/hooks/a?b=c", method=b"POST", headers=b"Content-Length: 5\r\n") + b"hello"
    answer = await host.answer(data)
    assert answer.startswith(b"HTTP/1.1 201 Created\r\n")
    assert seen == [(b"POST", b"/hooks/a", b"hello")]
    chunked = kit.request(b"/hooks", method=b"POST", headers=b"Transfer-Encoding: chunked\r\n")
    await host.answer(chunked + b"3\r\nabc\r\n0\r\n\r\n")
    assert seen[1] == (b"POST", b"/hooks", b"abc")
    take_back()
    assert (await host.answer(data)).startswith(b"HTTP/1.1 401 ")


@pytest_twisted.ensureDeferred
async def test_a_route_never_sees_the_hosts_token(listening, kit):
    host = await listening()
    seen = []

    async def hook(request):
        seen.append((request.uri, request.getHeader("authorization")))
        return json_response(200, {})

    host.router.register("/hooks", hook)
    await host.answer(kit.request(b"/hooks?a=1&tkn=secret&b=2"))
    await host.answer(kit.request(b"/hooks", headers=GOOD))
    await host.answer(kit.request(b"/hooks", headers=b"Authorization: Bearer the-routes-own\r\n"))
    assert seen == [
        (b"/hooks?a=1&b=2", None),
        (b"/hooks", None),
        (b"/hooks", "Bearer the-routes-own"),
    ]


@pytest_twisted.ensureDeferred
async def test_a_resource_gets_the_path_below_its_prefix(listening, kit):
    host = await listening()

    class Leaf(Resource):
        isLeaf = True

        def render_GET(self, request):
            return b"|".join([*request.prepath, b"-", *request.postpath])

    host.router.register("/ui/files", Leaf())
    answer = await host.answer(kit.request(b"/ui/files/a/b"))
    assert body(answer) == b"ui|files|-|a|b"
    assert (await host.answer(kit.request(b"/ui/filesystem"))).startswith(b"HTTP/1.1 401 ")


@pytest_twisted.ensureDeferred
async def test_the_connection_closes_after_one_answer(listening, kit):
    host = await listening()
    answer = await host.answer(kit.request(b"/health") * 3)
    assert answer.count(b"HTTP/1.1 200 OK") == 1
    assert b"onnection: close\r\n" in answer


@pytest_twisted.ensureDeferred
async def test_an_upgrade_hidden_behind_a_first_request_is_never_served(listening, kit):
    host = await listening()
    answer = await host.answer(kit.request(b"/health") + kit.request(headers=GOOD, upgrade=True))
    assert b"101" not in answer
    assert not host.peers.handlers


@pytest.mark.logs_failures
@pytest_twisted.ensureDeferred
async def test_a_handler_that_fails_is_a_500_without_its_words(listening, kit):
    host = await listening()

    async def broken(request):
        raise RuntimeError("a secret trace")

    host.router.register("/broken", broken)
    answer = await host.answer(kit.request(b"/broken"))
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert b"secret" not in answer
    assert b"Traceback" not in answer


@pytest_twisted.ensureDeferred
async def test_a_body_past_the_bound_is_refused_413(listening, kit):
    host = await listening(settings=WebSocketSettings(max_body=1000, linger=0.1))
    served = []

    async def hook(request):
        served.append(request)
        return Response(200)

    host.router.register("/hooks", hook)
    declared = kit.request(b"/hooks", method=b"POST", headers=b"Content-Length: 1001\r\n")
    answer = await host.answer(declared + b"x" * 1001)
    assert answer.startswith(b"HTTP/1.1 413 ")
    chunked = kit.request(b"/hooks", method=b"POST", headers=b"Transfer-Encoding: chunked\r\n")
    answer = await host.answer(chunked + b"1000\r\n" + b"x" * 2000)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert not served


@pytest_twisted.ensureDeferred
async def test_a_body_that_does_not_come_is_timed_out(listening, kit):
    host = await listening(settings=WebSocketSettings(request_timeout=0.05, linger=0.05))

    async def hook(request):
        return Response(200)

    host.router.register("/hooks", hook)
    data = kit.request(b"/hooks", method=b"POST", headers=b"Content-Length: 5\r\n") + b"he"
    assert (await host.answer(data)).startswith(b"HTTP/1.1 408 ")


@pytest_twisted.ensureDeferred
async def test_a_handler_is_cancelled_when_its_caller_leaves(listening, kit):
    host = await listening()
    began, ended = Deferred(), Deferred()

    async def slow(request):
        began.callback(None)
        try:
            await Deferred()
        except BaseException as error:
            ended.callback(type(error).__name__)
            raise

    host.router.register("/slow", slow)
    client = await host.raw(kit.request(b"/slow"))
    await began
    client.transport.abortConnection()
    assert await ended == "CancelledError"


@pytest_twisted.ensureDeferred
async def test_a_handler_may_take_longer_than_the_request_timeout(listening, kit):
    host = await listening(settings=WebSocketSettings(request_timeout=0.05))

    async def slow(request):
        await deferLater(reactor, 0.15, lambda: None)
        return Response(200, b"late")

    host.router.register("/slow", slow)
    assert body(await host.answer(kit.request(b"/slow"))) == b"late"


@pytest_twisted.ensureDeferred
async def test_stopping_cuts_a_request_that_is_never_answered(listening, kit):
    host = await listening(settings=WebSocketSettings(close_timeout=0.05))

    async def never(request):
        await Deferred()

    host.router.register("/never", never)
    client = await host.raw(kit.request(b"/never"))
    await deferLater(reactor, 0.02, lambda: None)
    await host.listener.stopService()
    await client.all()


def test_the_longest_prefix_takes_a_path():
    router = HostRouter("n", "v", [])

    async def handler(request):
        return Response(200)

    router.register("/a", handler)
    router.register("/a/b", handler, guard=Guard.TOKEN)
    router.register("/", handler)
    assert router.match(b"/a/b/c").prefix == b"/a/b"
    assert router.match(b"/a/bc").prefix == b"/a"
    assert router.match(b"/%61/b").prefix == b"/a/b"
    assert router.match(b"/x").prefix == b""
    assert router.match(b"*").prefix == b""


@pytest.mark.parametrize("prefix", ["hooks", "", "/a//b", "/a?b", "/health"])
def test_a_prefix_that_is_no_path_or_is_taken_is_refused(prefix):
    router = HostRouter("n", "v", [])
    with pytest.raises(ValueError, match="route"):
        router.register(prefix, Resource())


@pytest_twisted.ensureDeferred
async def test_requests_that_are_served_count_for_themselves_and_have_a_bound(listening, kit):
    """They are no strangers: those that still say what they want have a bound of their own."""
    host = await listening(settings=WebSocketSettings(max_arriving=2, max_requests=5))
    gate = Deferred()

    async def waits(request):
        await gate
        return json_response(200, {})

    host.router.register("/slow", waits)
    served, held = host.listener._requests, []
    for number in range(1, 6):
        held.append(await host.raw(kit.request(b"/slow")))
        for _ in range(200):
            if len(served) == number:
                break
            await deferLater(reactor, 0.01)
    assert len(served) == 5
    assert (await host.answer(kit.request(b"/health"))).startswith(b"HTTP/1.1 503 ")
    await host.opened(headers=GOOD)
    gate.callback(None)
    for each in held:
        assert (await each.all()).startswith(b"HTTP/1.1 200 ")
    assert (await host.answer(kit.request(b"/health"))).startswith(b"HTTP/1.1 200 ")


@pytest_twisted.ensureDeferred
async def test_a_route_for_programs_invites_no_page(listening, kit):
    host = await listening()

    async def served(request):
        return json_response(200, {})

    host.router.register(
        "/programs", served, Guard.ORIGIN, ("GET", "POST"), admit=lambda head: None
    )
    assert (await host.answer(kit.request(b"/programs"))).startswith(b"HTTP/1.1 200 ")
    page = b"Origin: http://evil.example\r\n"
    for method in (b"GET", b"OPTIONS"):
        answer = await host.answer(kit.request(b"/programs", method=method, headers=page))
        assert answer.startswith(b"HTTP/1.1 403 ")
    asked = await host.answer(kit.request(b"/programs", method=b"OPTIONS"))
    assert asked.startswith(b"HTTP/1.1 405 ")
    assert b"ccess-control" not in asked.lower()
