"""A route has its own paths and no other's, however a request spells them."""

import pytest

from ahpd.interfaces import Owned, text_response
from ahpd.transports.head import BadHead, parse_head
from ahpd.transports.http import HostRouter
from ahpd.transports.plugin_routes import PluginRoutes


@pytest.fixture
def router():
    async def handler(request):
        return text_response(200, "here")

    made = HostRouter("here", "1", ["1.0.0"])
    routes = PluginRoutes(made)
    routes.contributed({"a": Owned("a", handler), "ab": Owned("ab", handler)})
    return made


@pytest.mark.parametrize(
    ("target", "prefix"),
    [
        ("/plugins/a", "/plugins/a"),
        ("/plugins/a/", "/plugins/a"),
        ("/plugins/a/x?y=/plugins/ab", "/plugins/a"),
        ("/plugins/%61/x", "/plugins/a"),
        ("/plugins/ab", "/plugins/ab"),
        ("/plugins/abc", "/plugins"),
        ("/plugins/A", "/plugins"),
        ("/plugins//a", "/plugins"),
        ("/plugins/a/../ab", "/plugins/a"),
        ("/plugins/a/%2e%2e/ab", "/plugins/a"),
        ("/plugins/a%2f..%2fab", "/plugins/a"),
        ("/plugins/a/../../version", "/plugins/a"),
        ("/plugins/ab/../../version", "/plugins/ab"),
        ("http://elsewhere.example/plugins/a", "/plugins/a"),
        ("http://elsewhere.example/plugins/a#/version", "/plugins/a"),
        ("//plugins/a", None),
        ("/plugins%00/a", None),
        ("/./plugins/a", None),
        ("/x/../plugins/a", None),
        ("plugins/a", None),
        ("/PLUGINS/a", None),
        ("*", None),
    ],
)
def test_a_path_is_the_routes_as_it_is_spelled_and_is_never_walked(router, target, prefix):
    head = parse_head(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    route = router.match(head.path)
    assert (None if route is None else route.prefix.decode()) == prefix


@pytest.mark.parametrize(
    "head",
    [
        "GET /plugins/a HTTP/1.1\r\nHost: x\r\n\r\nGET /version HTTP/1.1",
        "GET  /plugins/a HTTP/1.1",
        "GET /plugins/a b HTTP/1.1",
        "GET\t/plugins/a HTTP/1.1",
        "GET /plugins/a HTTP/1.1\r\nHost : x",
        "GET /plugins/a HTTP/1.1\r\n Host: x",
        "GET /plugins/a HTTP/1.1\nHost: x",
        "GET /plugins/a HTTP/1.1\r\nA: b\rHost: y",
        "GET /plugins/a HTTP/1.1\r\nA: \0",
        "GET /plugins/a HTTP/2.0",
    ],
)
def test_a_head_that_two_readers_could_read_differently_is_refused(head):
    with pytest.raises(BadHead):
        parse_head(f"{head}\r\n\r\n".encode())
