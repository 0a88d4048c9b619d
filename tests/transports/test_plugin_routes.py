"""Routes of plugins on a listener: whole paths, whole segments, failures that tell nothing."""

import json

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET

from ahpd.interfaces import Owned, Response, json_response
from ahpd.transports.plugin_routes import PluginRoutes


def body(answer):
    return bytes(answer.partition(b"\r\n\r\n")[2])


def status(answer):
    return int(answer.split(b" ", 2)[1])


async def echoed(request):
    return json_response(
        200,
        {
            "method": request.method,
            "path": request.path,
            "query": request.query,
            "body": request.body.decode(),
            "signature": request.header("X-Signature"),
            "authorization": request.header("authorization"),
        },
    )


@pytest.fixture
def routed(listening):
    async def start(**handlers):
        host = await listening()
        routes = PluginRoutes(host.router)
        routes.contributed({name: Owned(name, handler) for name, handler in handlers.items()})
        return host, routes

    return start


@pytest_twisted.ensureDeferred
async def test_the_path_and_the_query_arrive_as_they_were_sent(routed, kit):
    host, _ = await routed(webhooks=echoed)
    asked = kit.request(
        b"/plugins/webhooks/git%20hub/hook?a=1&b=%2F", headers=b"X-Signature: s1\r\n"
    )
    answer = await host.answer(asked)
    assert json.loads(body(answer)) == {
        "method": "GET",
        "path": "/plugins/webhooks/git%20hub/hook",
        "query": "a=1&b=%2F",
        "body": "",
        "signature": "s1",
        "authorization": None,
    }


@pytest_twisted.ensureDeferred
async def test_a_route_needs_no_token_and_the_host_header_is_checked(routed, kit):
    host, _ = await routed(webhooks=echoed)
    assert status(await host.answer(kit.request(b"/plugins/webhooks/x"))) == 200
    refused = await host.answer(kit.request(b"/plugins/webhooks/x", host=b"evil.example"))
    assert status(refused) == 403


@pytest_twisted.ensureDeferred
async def test_a_callers_own_bearer_token_reaches_the_handler_and_ours_does_not(routed, kit):
    host, _ = await routed(webhooks=echoed)
    theirs = kit.request(b"/plugins/webhooks/x", headers=b"Authorization: Bearer theirs\r\n")
    assert json.loads(body(await host.answer(theirs)))["authorization"] == "Bearer theirs"
    ours = kit.request(b"/plugins/webhooks/x", headers=b"Authorization: Bearer secret\r\n")
    assert json.loads(body(await host.answer(ours)))["authorization"] is None


@pytest_twisted.ensureDeferred
async def test_a_prefix_is_whole_segments(routed, kit):
    host, _ = await routed(webhooks=echoed)
    for path in (b"/plugins/webhooksy/hook", b"/plugins/webhook", b"/plugins/", b"/plugins"):
        assert status(await host.answer(kit.request(path))) == 404
    assert status(await host.answer(kit.request(b"/plugins/webhooks"))) == 200


@pytest_twisted.ensureDeferred
async def test_every_method_reaches_the_handler(routed, kit):
    host, _ = await routed(webhooks=echoed)
    for method in (b"GET", b"POST", b"PUT", b"DELETE", b"PATCH", b"OPTIONS"):
        length = b"Content-Length: 2\r\n" if method in {b"POST", b"PUT", b"PATCH"} else b""
        sent = method + b" /plugins/webhooks/x HTTP/1.1\r\nHost: localhost\r\n" + length + b"\r\n"
        answer = await host.answer(sent + (b"hi" if length else b""))
        told = json.loads(body(answer))
        assert (told["method"], told["body"]) == (method.decode(), "hi" if length else "")


@pytest.mark.logs_failures
@pytest_twisted.ensureDeferred
async def test_a_handler_that_raises_is_a_500_that_tells_nothing(routed, kit):
    async def broken(request):
        raise RuntimeError("the password is hunter2")

    host, _ = await routed(webhooks=broken)
    answer = await host.answer(kit.request(b"/plugins/webhooks/x"))
    assert status(answer) == 500
    assert body(answer) == b"the plugin that serves this failed\n"
    assert status(await host.answer(kit.request(b"/health"))) == 200


@pytest.mark.logs_failures
@pytest_twisted.ensureDeferred
async def test_an_answer_that_is_no_response_is_a_500(routed, kit):
    async def wrong(request):
        return {"ok": True}

    host, _ = await routed(webhooks=wrong)
    assert status(await host.answer(kit.request(b"/plugins/webhooks/x"))) == 500


@pytest.mark.logs_failures
@pytest.mark.parametrize(
    "response",
    [
        Response(200, b"", (("X-Title", "\ud800"),)),
        Response(200, b"", (("X Title", "a"),)),
        Response(200, b"", (("X-Title", 5),)),
        Response(200, b"", ("X-Title",)),
        Response(200, "a text"),
        Response("200"),
        Response(99),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_response_that_cannot_be_sent_is_a_500_at_once(routed, kit, response):
    async def wrong(request):
        return response

    host, _ = await routed(webhooks=wrong)
    answer = await host.answer(kit.request(b"/plugins/webhooks/x"))
    assert status(answer) == 500
    assert body(answer) == b"the plugin that serves this failed\n"


@pytest_twisted.ensureDeferred
async def test_a_resource_serves_what_is_under_its_prefix(routed, kit):
    class Page(Resource):
        isLeaf = True

        def render_GET(self, request):
            return b"/".join(request.postpath)

    host, _ = await routed(pages=Page())
    answer = await host.answer(kit.request(b"/plugins/pages/a/b"))
    assert (status(answer), body(answer)) == (200, b"a/b")


@pytest_twisted.ensureDeferred
async def test_routes_come_and_go_while_the_host_listens(routed, kit):
    async def second(request):
        return Response(204)

    host, routes = await routed(webhooks=echoed)
    routes.contributed({"webhooks": Owned("webhooks", second), "more": Owned("more", echoed)})
    assert status(await host.answer(kit.request(b"/plugins/webhooks/x"))) == 204
    assert status(await host.answer(kit.request(b"/plugins/more/x"))) == 200
    routes.contributed({})
    assert status(await host.answer(kit.request(b"/plugins/webhooks/x"))) == 404


@pytest.mark.parametrize("stubborn", [False, True])
@pytest_twisted.ensureDeferred
async def test_a_request_whose_plugin_goes_is_answered(routed, kit, stubborn):
    begun, ended = Deferred(), []

    async def waiting(request):
        reactor.callLater(0, begun.callback, None)
        try:
            await Deferred()
        finally:
            ended.append(True)
            if stubborn:
                await Deferred()

    host, routes = await routed(slow=waiting)
    client = await host.raw(kit.request(b"/plugins/slow/x"))
    await begun
    routes.contributed({})
    assert status(await client.all()) == 503
    assert ended == [True]


class Later(Resource):
    """It answers later; `begins` is what it says at once of a request."""

    isLeaf = True

    def __init__(self, begins):
        super().__init__()
        self.begins = begins
        self.begun = Deferred()

    def render_GET(self, request):
        self.begins(request)
        reactor.callLater(0, self.begun.callback, None)
        return NOT_DONE_YET


@pytest_twisted.ensureDeferred
async def test_a_request_a_resource_is_at_when_its_plugin_goes_is_answered(routed, kit):
    later = Later(lambda request: request.setHeader(b"content-length", b"7"))
    host, routes = await routed(pages=later)
    client = await host.raw(kit.request(b"/plugins/pages/x"))
    await later.begun
    routes.contributed({})
    answer = await client.all()
    assert status(answer) == 503
    assert body(answer) == b"the plugin that serves this is on its way out\n"


@pytest_twisted.ensureDeferred
async def test_an_answer_a_resource_is_at_when_its_plugin_goes_is_cut_off(routed, kit):
    later = Later(lambda request: request.write(b"a part"))
    host, routes = await routed(pages=later)
    client = await host.raw(kit.request(b"/plugins/pages/x"))
    await later.begun
    routes.contributed({})
    answer = await client.all()
    assert b"a part" in answer
    assert not answer.endswith(b"0\r\n\r\n")


@pytest_twisted.ensureDeferred
async def test_a_resource_that_has_answered_is_left_alone_when_its_plugin_goes(routed, kit):
    later = Later(lambda request: (request.write(b"all"), request.finish()))
    host, routes = await routed(pages=later)
    assert b"all" in await host.answer(kit.request(b"/plugins/pages/x"))
    routes.contributed({})
    assert status(await host.answer(kit.request(b"/plugins/pages/x"))) == 404


@pytest_twisted.ensureDeferred
async def test_a_listener_for_routes_serves_nothing_else(listening, kit):
    from ahpd.transports.admission import Policy
    from ahpd.transports.http import RoutesRouter
    from ahpd.transports.websocket import WebSocketListener
    from ahpd.transports.websocket_settings import WebSocketSettings

    host = await listening()
    router = RoutesRouter()
    PluginRoutes(router).contributed({"webhooks": Owned("webhooks", echoed)})
    listener = WebSocketListener(
        reactor,
        "tcp:0:interface=127.0.0.1",
        kit.peers(),
        Policy(token="secret"),
        router,
        WebSocketSettings(close_timeout=1.0, linger=0.2),
    )
    listener.startService()
    await listener.when_listening()
    there = type(host)(listener, host.peers, router)
    try:
        assert status(await there.answer(kit.request(b"/plugins/webhooks/x"))) == 200
        for asked in (
            kit.request(b"/"),
            kit.request(b"/health"),
            kit.request(b"/version", headers=b"Authorization: Bearer secret\r\n"),
            kit.request(b"/", headers=b"Authorization: Bearer secret\r\n", upgrade=True),
            kit.request(b"/ahp-mcp/1"),
        ):
            assert status(await there.answer(asked)) == 404
        assert status(await there.answer(kit.request(b"/x", host=b"evil.example"))) == 403
        upgraded = kit.request(b"/plugins/webhooks/x", upgrade=True)
        assert status(await there.answer(upgraded)) in (200, 404)
    finally:
        await listener.stopService()
