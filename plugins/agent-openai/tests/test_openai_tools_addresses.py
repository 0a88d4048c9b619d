"""Which hosts and addresses a fetch may reach, however they are written."""

# ruff: noqa: RUF001, SIM905 - names that look alike are meant to; addresses read best in a block

from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address

import pytest
import pytest_twisted
from hypothesis import given
from hypothesis import strategies as st

from ahpd_agent_openai.tools.values import ToolProblem
from ahpd_agent_openai.tools.web.addresses import refusal
from ahpd_agent_openai.tools.web.connecting import addresses_of, nothing_else
from ahpd_agent_openai.tools.web.urls import followed, target

ensure = pytest_twisted.ensureDeferred

#: Addresses nothing may be fetched from: at both ends of each network, and some between.
CLOSED_V4 = """
0.0.0.0 0.0.0.1 0.255.255.255 10.0.0.0 10.0.0.1 10.1.2.3 10.255.255.255 100.64.0.0 100.64.0.1
100.100.100.200 100.127.255.255 127.0.0.0 127.0.0.1 127.0.1.1 127.1.2.3 127.255.255.255
169.254.0.0 169.254.169.254 169.254.170.2 169.254.255.255 172.16.0.0 172.16.0.1 172.20.10.5
172.31.255.255 192.0.0.0 192.0.0.1 192.0.0.192 192.0.0.255 192.0.2.0 192.0.2.255 192.88.99.1
192.168.0.0 192.168.0.1 192.168.1.254 192.168.255.255 198.18.0.0 198.18.0.1 198.19.255.255
198.51.100.1 203.0.113.1 203.0.113.255 224.0.0.0 224.0.0.1 239.255.255.250 239.255.255.255
240.0.0.0 240.0.0.1 250.1.2.3 255.255.255.254 255.255.255.255
""".split()
OPEN_V4 = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 93.184.215.14 100.63.255.255 100.128.0.0 126.255.255.255
128.0.0.0 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.167.255.255
192.169.0.0 198.17.255.255 198.20.0.0 203.0.112.255 203.0.114.0 223.255.255.255
""".split()
CLOSED_V6 = """
:: ::1 ::2 ::7f00:1 ::127.0.0.1 ::10.0.0.1 ::8.8.8.8 ::ffff:0:8.8.8.8 64:ff9b:1::1 64:ff9b:1::8.8.8.8
100::1 1000::1 fc00:: fc00::1 fd00::1 fd12:3456:789a::1 fdff:ffff::1 fe80:: fe80::1 fe80::a:b:c:d
febf::1 fec0::1 feff::1 ff00::1 ff02::1 ff02::fb ff05::2 ffff::1 2001::1 2001:0:4136:e378::1
2001:2::1 2001:10::1 2001:20::1 2001:1ff:ffff::1 2001:db8::1 2001:db8:ffff::1 3fff::1 3fff:fff::1
4000::1 8000::1 c000::1 e000::1 f000::1 f800::1 fe00::1
""".split()
OPEN_V6 = """
2001:200::1 2001:4860:4860::8888 2606:4700:4700::1111 2620:fe::fe 2a00:1450:4001:81b::200e
2c0f:fb50:4003::1 2400:cb00::1 3000::1 2001:67c:2e8:22::c100:68b 3ffe:ffff::1
""".split()


def carried(v4):
    """The ways an IPv4 address travels in an IPv6 one."""
    number = int(IPv4Address(v4))
    high, low = number >> 16, number & 0xFFFF
    return [
        f"::ffff:{v4}",
        f"::ffff:{high:x}:{low:x}",
        f"0:0:0:0:0:ffff:{high:x}:{low:x}",
        f"64:ff9b::{v4}",
        f"64:ff9b::{high:x}:{low:x}",
        f"2002:{high:x}:{low:x}::",
        f"2002:{high:x}:{low:x}::1",
        f"2002:{high:x}:{low:x}:1:2:3:4:5",
        f"2606:4700::5efe:{v4}",
        f"2606:4700::200:5efe:{high:x}:{low:x}",
    ]


@pytest.mark.parametrize("text", [*CLOSED_V4, *CLOSED_V6])
def test_what_is_not_public_is_refused(text):
    assert refusal(ip_address(text))


@pytest.mark.parametrize("text", [*OPEN_V4, *OPEN_V6])
def test_what_is_public_is_not(text):
    assert refusal(ip_address(text)) is None


@pytest.mark.parametrize("v4", CLOSED_V4)
def test_an_address_in_another_is_what_it_is(v4):
    for text in carried(v4):
        assert refusal(ip_address(text)), text


@pytest.mark.parametrize("v4", OPEN_V4)
def test_a_public_address_in_another_is_public(v4):
    for text in carried(v4):
        assert refusal(ip_address(text)) is None, text


def test_an_address_of_one_link_is_refused():
    assert refusal(IPv6Address("2606:4700::1%eth0"))


@given(st.integers(min_value=0, max_value=2**32 - 1))
def test_the_standard_library_knows_no_closed_address_that_is_open_here(number):
    address = IPv4Address(number)
    if not address.is_global and address not in IPv4Network("192.88.99.0/24"):
        assert refusal(address), address


@given(st.integers(min_value=0, max_value=2**128 - 1))
def test_nor_of_the_larger_family(number):
    address = IPv6Address(number)
    if address.is_private or address.is_link_local or address.is_multicast or address.is_reserved:
        assert refusal(address), address


# -- spellings ---------------------------------------------------------------------------


def spellings(v4):
    """Ways in which some program or other reads this IPv4 address as a host."""
    number = int(IPv4Address(v4))
    a, b, c, d = v4.split(".")
    octets = [int(part) for part in (a, b, c, d)]
    low16, low24 = number & 0xFFFF, number & 0xFFFFFF
    plain = [
        v4, f"{v4}.", str(number), f"{number:#x}", f"0X{number:X}", f"0{number:o}", f"00{number:o}",
        f"{number:#010x}", ".".join(f"0{octet:o}" for octet in octets),
        ".".join(f"{octet:#x}" for octet in octets), ".".join(f"0x{octet:02X}" for octet in octets),
        ".".join(f"{octet:03}" for octet in octets), ".".join(f"000{octet:o}" for octet in octets),
        f"{a}.{b}.{low16}", f"{a}.{low24}", f"{a}.{b}.{low16:#x}", f"{a}.{low24:#x}",
        f"{octets[0]:#x}.{b}.0{octets[2]:o}.{d}", f"{a}.{b}.{c}.{octets[3]:#x}", f"{a}.{b}.{c}.0{d}",
        f"{number + 2**32}", f"{a}.{b}.{c}.{octets[3] + 256}", f"{v4}.{d}", f".{v4}", f"{a}..{c}.{d}",
    ]  # fmt: skip
    other = [
        "".join(chr(ord(x) + 0xFEE0) if x != "." else "." for x in v4),  # full width
        "".join(chr(ord(x) + 0xFEE0) if x != "." else "。" for x in v4),
        v4.replace(".", "。"), v4.replace(".", "．"), v4.replace(".", "｡"),
        "".join(chr(0x2460 + int(x) - 1) if x in "123456789" else x for x in v4),  # circled
        "".join(chr(0x1D7CE + int(x)) if x.isdigit() else x for x in v4),  # bold
        v4.replace("0", "%30"), "%".join(("", *(f"{ord(x):02x}" for x in v4))), v4.replace(".", "%2e"),
        f"{v4}%00", f"{v4}\u200b", f"\u00ad{v4}", f"{v4}%20", f"{v4}\\@example.com",
        f"example.com@{v4}", f"example.com:pw@{v4}", f"{v4}#@example.com", f"{v4}?@example.com",
    ]  # fmt: skip
    return plain + other


def bracketed(v4):
    return [f"[{text}]" for text in carried(v4)] + [
        f"[::{v4}]", f"[{v4}]", f"[::ffff:{v4}%25eth0]", f"[::ffff:{v4}%eth0]", f"[v1.{v4}]", "[]",
        f"[::ffff:{v4}", f"::ffff:{v4}", f"[::ffff:{v4}].example.com",
    ]  # fmt: skip


SPELLED = [
    spelled
    for v4 in (
        "127.0.0.1",
        "10.20.30.40",
        "169.254.169.254",
        "192.168.0.1",
        "100.64.8.9",
        "0.0.0.0",
    )
    for spelled in (*spellings(v4), *bracketed(v4))
]


def test_there_are_hundreds_of_spellings():
    assert len(set(SPELLED)) > 300


async def reached(url):
    """Where a fetch of this URL would connect, with a resolver that reads as much as it can."""

    async def resolve(name):
        # As `inet_aton` does, which reads octal, hexadecimal and short addresses.
        import socket

        try:
            return [socket.inet_ntoa(socket.inet_aton(name))]
        except OSError:
            return ["127.0.0.1"]

    found = target(url)
    return await addresses_of(found, resolve, nothing_else)


@pytest.mark.parametrize("spelled", SPELLED)
@ensure
async def test_no_spelling_reaches_a_closed_address(spelled):
    for url in (f"http://{spelled}/", f"https://{spelled}:8443/x?y", f"http://{spelled}"):
        with pytest.raises(ToolProblem):
            await reached(url)


NAMES = """
localhost LOCALHOST localhost. localhost.localdomain ip6-localhost metadata.google.internal
metadata printer.local x.internal 127.0.0.1.nip.io xn--lcalhost-hya LOCALHOST%00 localhost%2e
ⓛocalhost ｌｏｃａｌｈｏｓｔ loc­alhost
""".split()


@pytest.mark.parametrize("name", NAMES)
@ensure
async def test_a_name_is_what_it_resolves_to(name):
    async def resolve(asked):
        assert asked.isascii()
        return ["10.0.0.1"]

    with pytest.raises(ToolProblem):
        await addresses_of(target(f"http://{name}/"), resolve, nothing_else)


@pytest.mark.parametrize(
    "answer",
    [["8.8.8.8", "127.0.0.1"], ["127.0.0.1", "8.8.8.8"], ["::ffff:127.0.0.1"], ["fe80::1%eth0"], [],
     ["not an address"], ["8.8.8.8", "2002:7f00:1::"]],
)  # fmt: skip
@ensure
async def test_one_closed_address_among_several_refuses_the_name(answer):
    async def resolve(name):
        return answer

    with pytest.raises(ToolProblem):
        await addresses_of(target("http://a.test/"), resolve, nothing_else)


@ensure
async def test_public_addresses_are_told_once_each():
    async def resolve(name):
        assert name == "a.test"
        return ["8.8.8.8", "8.8.8.8", "2606:4700:4700::1111"]

    found = await addresses_of(target("http://A.test./"), resolve, nothing_else)
    assert [str(address) for address in found] == ["8.8.8.8", "2606:4700:4700::1111"]


# -- URLs ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("http://Example.COM", "http://example.com/"),
        ("HTTPS://example.com:443/a?b=c#d", "https://example.com/a?b=c"),
        ("http://example.com:8080/", "http://example.com:8080/"),
        ("http://bücher.example/ä?ö=ü", "http://xn--bcher-kva.example/%C3%A4?%C3%B6=%C3%BC"),
        ("http://example.com/a%20b%2Fc", "http://example.com/a%20b%2Fc"),
        ("  http://example.com/  ", "http://example.com/"),
        ("http://[2606:4700::1111]:81/x", "http://[2606:4700::1111]:81/x"),
        ("http://8.8.8.8", "http://8.8.8.8/"),
        ("http://a_b.example/", "http://a_b.example/"),
    ],
)  # fmt: skip
def test_a_url_is_taken_as_it_is_asked_for(url, taken):
    assert target(url).url == taken


@pytest.mark.parametrize(
    "url",
    ["", "example.com", "//example.com/", "ftp://example.com/", "file:///etc/passwd", "http:/x",
     "http:example.com", "javascript:alert(1)", "data:text/plain,x", "gopher://x/", "http://",
     "http:///x", "http://user@example.com/", "http://user:pw@example.com/", "http://@example.com/",
     "http://exa mple.com/", "http://example.com\\@evil.example/", "http://example.com/\r\nX: y",
     "http://example.com/\tx", "http://example.com\n.evil.example/", "http://example.com:0/",
     "http://example.com:22/", "http://example.com:25/", "http://example.com:6667/",
     "http://example.com:99999/", "http://example.com:-1/", "http://example.com:abc/",
     "http://a..b/", "http://-a.example/", "http://" + "a" * 64 + ".example/", "http://x/" + "a" * 5000,
     "http://exam%70le.com/", "view-source:http://example.com/", "http://[::1/", "http://ex<ample>.com/"],
)  # fmt: skip
def test_what_is_no_url_of_a_page_is_refused(url):
    with pytest.raises(ToolProblem):
        target(url)


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/b", "https://example.com/b"),
        ("c?d", "https://example.com/a/c?d"),
        ("//other.example/x", "https://other.example/x"),
        ("http://other.example", "http://other.example/"),
        ("?q", "https://example.com/a/b?q"),
    ],
)
def test_a_redirect_is_read_from_where_it_is(location, url):
    assert followed(target("https://example.com/a/b"), location).url == url


@pytest.mark.parametrize(
    "location", ["file:///x", "ftp://x/", "http://u@x/", "//[::1", "http://x:22/"]
)
def test_a_redirect_is_checked_as_a_url_is(location):
    with pytest.raises(ToolProblem):
        followed(target("https://example.com/"), location)


@pytest.mark.parametrize(
    ("there", "here", "same"),
    [
        ("http://a.test/x", "http://a.test/y", True),
        ("https://a.test/", "http://a.test/", True),
        ("http://a.test/", "https://a.test/", False),
        ("http://a.test:81/", "http://a.test/", False),
        ("https://a.test:81/", "http://a.test:81/", False),
        ("http://A.test.:80/", "http://a.test/", True),
        ("http://b.a.test/", "http://a.test/", False),
        ("http://a.test.b.test/", "http://a.test/", False),
    ],
)
def test_a_redirect_stays_with_its_host_and_takes_no_protection_away(there, here, same):
    assert target(there).is_of(target(here)) is same


@given(st.text(max_size=40))
def test_any_text_is_a_url_or_a_problem_in_words(text):
    for url in (text, f"http://{text}", f"http://example.com/{text}"):
        try:
            found = target(url)
        except ToolProblem:
            continue
        assert found.url.isascii()
        assert " " not in found.url
        assert target(found.url) == found
