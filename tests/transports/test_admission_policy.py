"""The decisions on a head, without a socket: names, origins, tokens, and what is logged."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.transports.admission import Guard, Policy, Refused, redact
from ahpd.transports.head import BadHead, RequestHead, could_begin, parse_head

LOCAL = Policy(token="secret").bound_to("127.0.0.1", 9187, frozenset({"machine"}))


def head(host=b"localhost:9187", target=b"/?tkn=secret", **headers):
    named = tuple(
        (name.replace("_", "-").encode(), value)
        for name, values in headers.items()
        for value in (values if isinstance(values, list) else [values])
    )
    return RequestHead(b"GET", target, b"HTTP/1.1", (*((b"host", h) for h in [host] if h), *named))


def status(policy, request, guard=Guard.TOKEN):
    refused = policy.check(request, guard)
    return None if refused is None else refused.status


@pytest.mark.parametrize(
    ("host", "admitted"),
    [
        (b"localhost", True),
        (b"LocalHost.", True),
        (b"localhost:1234", True),
        (b"127.0.0.1:9187", True),
        (b"127.8.9.1", True),
        (b"[::1]:9187", True),
        (b"[::ffff:127.0.0.1]", True),
        (b"machine", False),
        (b"10.0.0.5", False),
        (b"evil.example", False),
        (b"localhost.evil.example", False),
        (b"localhost:99999", False),
        (b"localhost:", False),
        (b"user@localhost", False),
        (b"localhost,evil.example", False),
        (b"[localhost]", False),
        (b"[127.0.0.1]x", False),
        (b".", False),
        (b"127.0.0.1\xff", False),
        (b"localhost\x00", False),
    ],
)
def test_on_loopback_only_loopback_names_are_this_host(host, admitted):
    assert status(LOCAL, head(host)) == (None if admitted else 403)


def test_a_bound_address_and_configured_names_are_this_host():
    policy = Policy(token=None, hosts=frozenset({"agents.example"})).bound_to(
        "192.168.1.5", 80, frozenset({"machine"})
    )
    assert status(policy, head(b"192.168.1.5")) is None
    assert status(policy, head(b"agents.example:443")) is None
    assert status(policy, head(b"localhost")) is None
    assert status(policy, head(b"192.168.1.6")) == 403
    assert status(policy, head(b"machine")) == 403


@pytest.mark.parametrize("wildcard", ["0.0.0.0", "::"])
def test_on_every_address_any_address_and_the_machines_name_are_this_host(wildcard):
    policy = Policy(token=None).bound_to(wildcard, 9187, frozenset({"machine"}))
    assert status(policy, head(b"203.0.113.7:9187")) is None
    assert status(policy, head(b"[2001:db8::1]:9187")) is None
    assert status(policy, head(b"machine:9187")) is None
    assert status(policy, head(b"evil.example")) == 403
    # Another machine's page is not this host's own, though its address could be.
    foreign = head(b"192.168.1.5:9187", origin=b"http://203.0.113.7:9187")
    assert status(policy, foreign) == 403
    own = head(b"203.0.113.7:9187", origin=b"http://203.0.113.7:9187")
    assert status(policy, own) is None


def test_a_request_names_one_host():
    assert status(LOCAL, head(host=None)) == 403
    assert status(LOCAL, head(b"localhost", host2=b"x")) is None
    twice = RequestHead(b"GET", b"/", b"HTTP/1.1", ((b"host", b"localhost"),) * 2)
    assert status(LOCAL, twice) == 403


@pytest.mark.parametrize(
    ("origin", "admitted"),
    [
        (b"vscode-file://vscode-app", True),
        (b"VSCODE-FILE://vscode-app", True),
        (b"http://localhost:9187", True),
        (b"http://127.0.0.1:9187", True),
        (b"https://localhost:9187", True),
        (b"http://[::1]:9187", True),
        (b"https://added.example", True),
        (b"http://localhost", False),
        (b"http://localhost:3000", False),
        (b"https://added.example:8443", False),
        (b"https://added.example.evil", False),
        (b"ftp://localhost:9187", False),
        (b"null", False),
        (b"", False),
        (b"http://", False),
        (b"http://localhost:9187@evil.example", False),
        (b"http://evil.example/?http://localhost:9187", False),
        (b"\xff\x00", False),
    ],
)
def test_who_may_ask(origin, admitted):
    policy = attrs.evolve(LOCAL, origins=frozenset({"https://Added.example/"}))
    assert status(policy, head(origin=origin)) == (None if admitted else 403)


def test_through_a_tunnel_a_page_of_this_hosts_own_is_known_by_the_mapped_port():
    assert status(LOCAL, head(b"localhost:8000", origin=b"http://localhost:8000")) is None
    assert status(LOCAL, head(b"localhost:8000", origin=b"http://localhost:8001")) == 403


def test_a_route_open_to_any_caller_still_checks_the_name():
    anyone = head(target=b"/", origin=b"https://github.example")
    assert status(LOCAL, anyone, Guard.HOST) is None
    assert status(LOCAL, head(b"evil.example"), Guard.HOST) == 403


def test_the_token_is_in_no_representation():
    assert "secret" not in repr(LOCAL)
    assert "secret" not in str(LOCAL.check(head(target=b"/?tkn=secre")))


def test_no_token_admits_without_one():
    assert status(attrs.evolve(LOCAL, token=None), head(target=b"/")) is None


@pytest.mark.parametrize(
    ("url", "logged"),
    [
        ("ws://h:1/?tkn=abc", "ws://h:1/?tkn=***"),
        (b"/p?a=1&tkn=abc&b=2", "/p?a=1&tkn=***&b=2"),
        ("/?%74kn=abc", "/?%74kn=***"),
        ("/?TKN=abc#tkn=abc", "/?TKN=***#tkn=***"),
        ("/?tkn=a=b=c", "/?tkn=***"),
        ("/?tkn=", "/?tkn=***"),
        ("/?tknx=abc&x=tkn", "/?tknx=abc&x=tkn"),
        ("wss://user:pass@h/", "wss://***@h/"),
        (b"/\r\nforged line\x1b[31m\xff", "/\\x0d\\x0aforged line\\x1b[31m\u00ff"),
    ],
)
def test_a_url_in_the_log_holds_no_token(url, logged):
    assert redact(url) == logged


def test_a_url_in_the_log_is_bounded():
    assert len(redact("/" + "a" * 1_000_000)) <= 2048


@given(st.binary(max_size=200))
def test_any_bytes_are_a_head_or_a_refusal(data):
    could_begin(data)
    try:
        parsed = parse_head(data + b"\r\n\r\n")
    except BadHead as bad:
        outcome = bad.status
    else:
        outcome = LOCAL.check(parsed)
    assert outcome in {400, 431, 505} or isinstance(outcome, Refused | None)


hostile = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b"localhost", b"[::1]:80", b"http://localhost:9187", b"Bearer secret", b"["]),
)


@given(hostile, hostile, hostile, hostile)
def test_any_header_values_are_admitted_or_refused(host, origin, bearer, query):
    request = head(host or None, b"/?tkn=" + query, origin=origin, authorization=bearer)
    refused = LOCAL.check(request)
    assert refused is None or refused.status in {401, 403}
    if refused is None:
        assert bearer.split()[-1:] == [b"secret"] or query == b"secret"
