"""URLs and hosts as rules look at them."""

import time

import pytest

from ahpd.permissions.rules import Named, Rule, parsed
from ahpd.permissions.urls import UrlSubject, normal_host, read_url


def approves(pattern, url):
    return UrlSubject(read_url(url)).allowed_by([parsed(f"WebFetch({pattern})")]) is not None


def refuses(pattern, url):
    return UrlSubject(read_url(url)).named_by(parsed(f"WebFetch({pattern})"))


@pytest.mark.parametrize(
    ("pattern", "url", "expected"),
    [
        ("https://a.com", "https://a.com/x/y?q#f", True), ("https://a.com/", "https://a.com/x", True),
        ("https://a.com", "http://a.com", False), ("a.com", "http://a.com/x", True), ("a.com", "ftp://a.com", False),
        ("*", "https://a.com/x", True), ("https://*.a.com", "https://a.com", True), ("*.a.com", "https://x.y.a.com", True),
        ("*.a.com", "https://evila.com", False), ("*.a.com", "https://a.com.evil.org", False),
        ("https://a.com/x", "https://a.com/xy", False), ("https://a.com/x", "https://a.com/x/y", True),
        ("https://a.com/x/*", "https://a.com/x/y/z", True), ("https://a.com/x/*", "https://a.com/x", False),
        ("https://a.com/*/z", "https://a.com/x/y/z", True), ("https://a.com:8080", "https://a.com:8080/x", True),
        ("https://a.com", "https://a.com:8080/x", False), ("https://a.com:*", "https://a.com:8080/x", True),
        ("https://a.com:*", "https://a.com/x", True), ("https://a.com/x", "https://a.com/x/../y", False),
        ("https://a.com/x", "https://a.com/x/%2e%2E/y", False), ("https://a.com/x", "https://a.com/x/y/../z", True),
        ("https://a.com/y", "https://a.com/x/../y", False), ("https://A.com/X", "https://a.COM/X", True),
        ("https://a.com/X", "https://a.com/x", False), ("https://github.com/A", "https://github.com/a/b", True),
        ("https://a.com", "https://a.com@b.com/", False), ("https://a.com", "https://b.com\\@a.com", False),
        ("https://a.com", "https://a.com\t.b.com", False), ("https://a.com", "https://\u0430.com", False),
        ("https://a.com", "https://a%2ecom", False), ("https://a.com", "https://a.com:x", False),
        ("*", "https://0x7f.1/", False), ("*", "https://2130706433/", False), ("127.0.0.1", "http://127.0.0.1/x", True),
        ("http://[::1]", "http://[0:0::1]/x", True), ("https://a.com", "//a.com", False), ("https://a.com", "a.com", False),
        ("https://a.com/x", "https://a.com/x/..%2fy", False), ("https://a.com/x", "https://a.com/x/%2e%2e%2fy", False),
        ("https://a.com/x", "https://a.com/x/..%5cy", False), ("https://a.com/x", "https://a.com/x/%252e%252e/y", False),
        ("https://a.com/x", "https://a.com/x/a%20b", True), ("https://a.com/x", "https://a.com//x", False),
        ("https://a.com/a%20b", "https://a.com/a%20b/c", True), ("https://a.com/%2a", "https://a.com/x", False),
        ("https://a.com/x/*", "https://a.com/x/y%2f..%2f..%2fz", False), ("https://a.com", "https://a.com/%2e%2e/x", True),
        ("https://a.com?x", "https://a.com/y", True), ("https://a.com*", "https://a.com", False),
    ],
)  # fmt: skip
def test_what_a_pattern_approves(pattern, url, expected):
    assert approves(pattern, url) is expected


@pytest.mark.parametrize(
    ("pattern", "url", "expected"),
    [
        ("https://a.com", "https://a.com:443/x", Named.YES), ("https://a.com:443", "https://a.com/x", Named.YES),
        ("https://a.com", "https://a.com./x", Named.YES), ("https://a.com/y", "https://a.com/x/../y", Named.YES),
        ("https://a.com/secret", "https://a.com/%73ecret", Named.YES), ("https://a.com/secret", "https://a.com/%2573ecret/x", Named.YES),
        ("https://a.com/a/b", "https://a.com/a%2fb", Named.YES), ("https://a.com/secret", "https://a.com//secret", Named.YES),
        ("https://a.com/secret", "https://a.com/x/..%2fsecret", Named.YES), ("https://a.com/secret", "https://a.com/%2e/secret", Named.YES),
        ("https://a.com/%73ecret", "https://a.com/secret", Named.YES), ("https://a.com/secret", "https://a.com/secrets", Named.NO),
        ("https://a.com", "https://b.com/", Named.NO), ("https://a.com", "https://x@a.com/", Named.MAYBE),
        ("https://a.com", "https://a\\.com/", Named.MAYBE), ("https://" + "*" * 9, "https://a.com", Named.MAYBE),
    ],
)  # fmt: skip
def test_what_a_pattern_refuses(pattern, url, expected):
    assert refuses(pattern, url) is expected


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("Example.COM", "example.com"), ("example.com:80", "example.com"), ("example.com.", "example.com"),
        ("*.example.com", "*.example.com"), ("*", "*"), ("[::1]", "[::1]"), ("10.0.0.1", "10.0.0.1"),
        ("user@example.com", "example.com"), ("exa mple.com", None), ("*.*.com", None), ("-a.com", None), ("", None),
        ("a_b.com", None), ("a/b", None), ("*.[::1]", None),
    ],
)  # fmt: skip
def test_hosts_are_compared_as_the_network_filter_writes_them(text, host):
    assert normal_host(text) == host


@pytest.mark.parametrize(
    ("argument", "url", "expected"),
    [
        ("example.com", "ftp://example.com:81/x", Named.YES), ("example.com", "https://a.example.com", Named.NO),
        ("*.example.com", "https://a.example.com", Named.YES), ("*.example.com", "https://example.com", Named.YES),
        ("example.com", "https://x@example.com", Named.MAYBE),
        ("https://example.com/x", "https://example.com/y", Named.YES), ("http://Example.com:81", "https://example.com", Named.YES),
        ("https://*.example.com/*", "https://a.example.com/y", Named.YES), ("https://example.com/x", "https://a.example", Named.NO),
        ("https://[::1]/x", "http://[0::1]:8080/", Named.YES), ("https://", "https://example.com", Named.NO),
    ],
)  # fmt: skip
def test_a_domain_rule_is_about_the_host_alone(argument, url, expected):
    assert UrlSubject(read_url(url)).named_by(Rule("", "Domain", argument)) is expected


def test_no_pattern_takes_a_url_long():
    began = time.process_time()
    url = "https://" + "a." * 100 + "com/" + "ab" * 900
    for pattern in (
        "*a*a*a",
        "https://*a*a*a.b/",
        "a.com/*a*a*a*a*a*c",
        "https://*.com/*a*b*a*b*b*",
    ):
        approves(pattern, url)
        refuses(pattern, url)
    assert time.process_time() - began < 1
