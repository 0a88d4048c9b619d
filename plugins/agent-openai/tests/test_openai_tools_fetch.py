"""Fetching pages: from a server on loopback that only an allowance of the test's reaches."""

import datetime as dt
import gzip
import tracemalloc
import zlib
from ipaddress import ip_address

import pytest
import pytest_twisted
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.ssl import Certificate, PrivateCertificate, optionsForClientTLS

from ahpd.protocol.check import check_strict
from ahpd.protocol.shapes.tool_calls import ToolCallResult
from ahpd.testing.engines import engine_ports
from ahpd_agent_openai.tools.toolbox import make_toolbox
from ahpd_agent_openai.tools.values import CallContext, ToolProblem
from ahpd_agent_openai.tools.web.asking import Ask
from ahpd_agent_openai.tools.web.bodies import Unpacker
from ahpd_agent_openai.tools.web.requests import Web

ensure = pytest_twisted.ensureDeferred

LOOPBACK = ip_address("127.0.0.1")


class Connection(Protocol):
    def __init__(self, server):
        self.server = server
        self.data = b""
        self.gone = Deferred()

    def connectionMade(self):
        self.server.connections.append(self)

    def dataReceived(self, data):
        self.data += data
        if b"\r\n\r\n" in self.data:
            head, self.data = self.data, b""
            self.server.requests.append(head)
            self.server.answer(self, head)

    def connectionLost(self, reason):
        self.gone.callback(None)


class Server(Factory):
    """Answers each request with what `pages` has for its path: bytes, or a function of the connection."""

    noisy = False

    def __init__(self):
        self.pages = {}
        self.connections = []
        self.requests = []

    def buildProtocol(self, addr):
        return Connection(self)

    def answer(self, connection, head):
        path = head.split(b" ")[1].decode()
        page = self.pages.get(path, response(b"nothing here", status=404))
        if callable(page):
            page(connection)
        else:
            connection.transport.write(page)
            connection.transport.loseConnection()

    def header(self, name, at=-1):
        for line in self.requests[at].split(b"\r\n"):
            key, _, value = line.partition(b": ")
            if key.lower() == name.lower():
                return value
        return None


def response(body, status=200, kind="text/plain", **headers):
    head = [f"HTTP/1.1 {status} OK", f"Content-Length: {len(body)}"]
    if kind:
        head.append(f"Content-Type: {kind}")
    head += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def redirect(location, status=302):
    return response(b"", status, Location=location)


class Bench:
    """A web whose names all lead to the server."""

    def __init__(self, reactor, folder):
        self.reactor = reactor
        self.folder = folder
        self.server = Server()
        self.listening = reactor.listenTCP(0, self.server, interface="127.0.0.1")
        self.port = self.listening.getHost().port
        self.asked = []
        self.names = {}
        self.ports = engine_ports(reactor, folder)

    def web(self, **options):
        options.setdefault(
            "permits", lambda address, port: (address, port) == (LOOPBACK, self.port)
        )
        return Web(self.reactor, self.resolve, "ahpd/0", **options)

    async def resolve(self, name):
        self.asked.append(name)
        found = self.names.get(name, ["127.0.0.1"])
        if found and isinstance(found[0], list):
            return found.pop(0)
        return found

    def url(self, path="/", host="site.test"):
        return f"http://{host}:{self.port}{path}"

    async def fetch(self, path="/", host="site.test", url=None, **options):
        box = make_toolbox(self.ports, folders=[], web=self.web(**options))
        arguments = {"url": url or self.url(path, host)}
        described = box.describe("web_fetch", arguments)
        call = CallContext(
            session="ahp-session:/s", chat="ahp-chat:/c", turn_id="t", tool_call_id="c",
            described=described,
        )  # fmt: skip
        outcome = await box.run("web_fetch", arguments, call)
        check_strict(outcome.result(), ToolCallResult, "result")
        return outcome

    async def all_gone(self):
        for connection in self.server.connections:
            await connection.gone

    async def stop(self):
        await self.all_gone()
        await self.listening.stopListening()
        await self.ports.supervisor.stopService()


@pytest_twisted.async_yield_fixture
async def bench(tmp_path):
    from twisted.internet import reactor

    made = Bench(reactor, tmp_path)
    before = set(reactor.getDelayedCalls())
    yield made
    await made.stop()
    left = [str(call) for call in reactor.getDelayedCalls() if call not in before]
    # What runs this very function is the plugin's of the tests.
    assert not [call for call in left if "in_reactor" not in call], left


# -- pages ----------------------------------------------------------------------------------


@ensure
async def test_a_page_is_fetched_as_text(bench):
    bench.server.pages["/a"] = response("caf\u00e9".encode(), kind="text/plain; charset=utf-8")
    outcome = await bench.fetch("/a#part")
    assert outcome.success
    assert outcome.text == f"{bench.url('/a')}\n\ncaf\u00e9"
    assert bench.server.header(b"Host") == f"site.test:{bench.port}".encode()
    assert bench.server.header(b"User-Agent") == b"ahpd/0"
    assert bench.server.header(b"Accept-Encoding") == b"gzip"
    for name in (b"Cookie", b"Authorization", b"Referer", b"Proxy-Authorization"):
        assert bench.server.header(name) is None
    assert bench.asked == ["site.test"]


@ensure
async def test_an_html_page_is_read(bench):
    page = (
        b"<html><title>T &amp; t</title><body><h1>Head</h1><p>One <a href='/x'>two</a></p></body>"
    )
    bench.server.pages["/"] = response(page, kind="text/html")
    outcome = await bench.fetch()
    assert outcome.text == f"{bench.url()}\nT & t\n\n# Head\n\nOne [two]({bench.url('/x')})"


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("application/json", b'{"a": 1}', '{"a": 1}'),
        ("application/problem+json", b"{}", "{}"),
        ("text/html; charset=iso-8859-1", b"<p>caf\xe9 \x93q\x94", "café “q”"),
        ("text/html", b"<meta charset='windows-1251'><p>\xcf\xf0", "Пр"),
        ("text/plain; charset=zip", b"plain", "plain"),
        ("text/plain; charset=unicode_escape", b"\\x41", "\\x41"),
        ("text/plain; charset=utf-16", "wide".encode("utf-16"), "wide"),
        ("", b"<!DOCTYPE html><p>sniffed", "sniffed"),
        ("", b"bare", "bare"),
        ("text/plain", b"", "[there is no text]"),
    ],
)
@ensure
async def test_text_of_many_kinds_is_read(bench, kind, body, text):
    bench.server.pages["/"] = response(body, kind=kind)
    outcome = await bench.fetch()
    assert outcome.success
    assert outcome.text == f"{bench.url()}\n\n{text}"


@pytest.mark.parametrize(
    ("kind", "body", "words"),
    [
        ("image/png", b"\x89PNG", "is image/png, which is no text"),
        ("application/pdf", b"%PDF", "is application/pdf, which is no text"),
        ("application/octet-stream", b"x", "application/octet-stream"),
        ("text/plain", b"a\0b", "is binary content"),
        ("", b"\0\1", "is binary content"),
    ],
)
@ensure
async def test_what_is_no_text_is_refused_in_words(bench, kind, body, words):
    bench.server.pages["/"] = response(body, kind=kind)
    outcome = await bench.fetch()
    assert not outcome.success
    assert words in outcome.text


@ensure
async def test_an_error_of_the_servers_is_told_with_its_page(bench):
    outcome = await bench.fetch("/none")
    assert not outcome.success
    assert outcome.text.startswith(f"HTTP 404 from {bench.url('/none')}\n")
    assert "nothing here" in outcome.text


@ensure
async def test_a_body_without_a_length_ends_with_its_connection(bench):
    bench.server.pages["/"] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nsome"
    assert (await bench.fetch()).text.endswith("\n\nsome")


@ensure
async def test_a_body_that_breaks_off_is_told_so(bench):
    bench.server.pages["/"] = response(b"some")[:-2]
    assert (await bench.fetch()).text.endswith("so\n[not all of it came]")


# -- bounds -----------------------------------------------------------------------------------


@ensure
async def test_a_packed_body_is_unpacked(bench):
    bench.server.pages["/"] = response(gzip.compress(b"packed"), Content_Encoding="gzip")
    assert (await bench.fetch()).text.endswith("\n\npacked")
    bench.server.pages["/"] = response(zlib.compress(b"packed"), Content_Encoding="deflate")
    assert (await bench.fetch()).text.endswith("\n\npacked")
    bench.server.pages["/"] = response(b"x", Content_Encoding="br")
    assert "packed as 'br', which was not asked for" in (await bench.fetch()).text
    bench.server.pages["/"] = response(b"not gzip", Content_Encoding="gzip")
    assert "not packed as it says" in (await bench.fetch()).text


@ensure
async def test_a_body_made_to_burst_is_cut_off(bench):
    bench.server.pages["/"] = response(gzip.compress(b"x" * 200_000_000), Content_Encoding="gzip")
    outcome = await bench.fetch()
    assert outcome.success
    assert outcome.text.endswith("[cut off after 60000 characters]")


def test_what_bursts_is_never_unpacked_whole():
    packed = gzip.compress(b"\0" * 50_000_000)
    unpacker = Unpacker("gzip", 1000)
    tracemalloc.start()
    unpacker.feed(packed)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1_000_000
    assert unpacker.full
    assert len(unpacker.data) == 1000
    inner = Unpacker("gzip", 10**6)
    inner.feed(gzip.compress(b"a") + gzip.compress(b"b") + b"\0\0padding")
    inner.feed(b"more")
    assert bytes(inner.data) == b"ab"


@pytest.mark.parametrize("size", [1, 2, 7, 4096])
def test_packed_pieces_may_come_in_any_size(size):
    packed = gzip.compress(b"one ") + gzip.compress(b"two")
    unpacker = Unpacker("gzip", 100)
    for at in range(0, len(packed), size):
        unpacker.feed(packed[at : at + size])
    assert bytes(unpacker.data) == b"one two"


@ensure
async def test_an_endless_body_is_cut_off_and_its_connection_closed(bench):
    def endless(connection):
        connection.transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        connection.transport.registerProducer(Pouring(connection.transport), False)

    class Pouring:
        def __init__(self, transport):
            self.transport = transport

        def resumeProducing(self):
            self.transport.write(b"y" * 65536)

        def stopProducing(self):
            pass

    bench.server.pages["/"] = endless
    outcome = await bench.fetch()
    assert outcome.text.endswith("[cut off after 60000 characters]")


@ensure
async def test_endless_headers_are_cut_off(bench):
    def endless(connection):
        connection.transport.write(b"HTTP/1.1 200 OK\r\n")

        class Pouring:
            def resumeProducing(self):
                connection.transport.write(b"X-Y: " + b"y" * 1000 + b"\r\n")

            def stopProducing(self):
                pass

        connection.transport.registerProducer(Pouring(), False)

    bench.server.pages["/"] = endless
    outcome = await bench.fetch(largest=100_000)
    assert not outcome.success
    assert "more than is taken of any page" in outcome.text


@ensure
async def test_a_server_that_says_nothing_is_given_up(bench):
    bench.server.pages["/"] = lambda connection: None
    outcome = await bench.fetch(longest=0.3)
    assert outcome.text == "there was no whole answer within 0.3 s"


@ensure
async def test_a_server_that_drips_is_given_up(bench):
    def drip(connection):
        connection.transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nx")

    bench.server.pages["/"] = drip
    outcome = await bench.fetch(longest=0.3)
    assert outcome.text == "there was no whole answer within 0.3 s"


@ensure
async def test_a_name_that_is_not_found_in_time_is_given_up(bench):
    web = Web(bench.reactor, lambda name: Deferred(), "ahpd/0", longest=0.2)
    with pytest.raises(ToolProblem, match="no whole answer"):
        await web.ask(Ask(url="http://site.test/"))


@pytest.mark.parametrize("at", ["head", "body", "name"])
@ensure
async def test_a_cancelled_fetch_leaves_no_connection(bench, at):
    reached = Deferred()

    def answer(connection):
        if at == "body":
            connection.transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nx")
        bench.reactor.callLater(0.05, reached.callback, None)

    bench.server.pages["/"] = answer
    web = bench.web()
    if at == "name":
        web = Web(bench.reactor, lambda name: Deferred(), "ahpd/0")
        bench.reactor.callLater(0.05, reached.callback, None)
    work = Deferred.fromCoroutine(web.ask(Ask(url=bench.url())))
    await reached
    work.cancel()
    with pytest.raises((CancelledError, ToolProblem)):
        await work
    await bench.all_gone()


# -- where it leads ------------------------------------------------------------------------


@ensure
async def test_nothing_on_this_machine_is_reached_without_the_allowance(bench):
    from ahpd_agent_openai.tools.web.connecting import nothing_else

    for host in ("127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "site.test"):
        outcome = await bench.fetch(host=host, permits=nothing_else)
        assert not outcome.success
        assert "loopback address" in outcome.text
    assert bench.server.connections == []


@ensure
async def test_a_name_is_resolved_once_and_the_connection_goes_where_was_checked(bench):
    """The second answer would be another machine's: nobody asks for it."""
    bench.names["site.test"] = [["127.0.0.1"], ["10.0.0.1"], ["10.0.0.1"]]
    bench.server.pages["/"] = response(b"here")
    assert (await bench.fetch()).success
    assert bench.asked == ["site.test"]


@ensure
async def test_every_hop_is_checked(bench):
    """A host that is checked at the first hop and leads inside at the second is not followed."""
    bench.server.pages["/"] = redirect("/next")
    bench.server.pages["/next"] = response(b"secret")
    bench.names["site.test"] = [["127.0.0.1"], ["10.0.0.1"]]
    outcome = await bench.fetch()
    assert not outcome.success
    assert "10.0.0.1 is a private address" in outcome.text
    assert len(bench.server.requests) == 1
    assert bench.asked == ["site.test", "site.test"]


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "ftp://site.test/",
        "http://u:p@site.test/",
        "gopher://x",
        "http://site.test:22/",
    ],
)
@ensure
async def test_a_redirect_to_what_is_no_page_is_refused(bench, location):
    bench.server.pages["/"] = redirect(location)
    outcome = await bench.fetch()
    assert not outcome.success
    assert len(bench.server.requests) == 1


@ensure
async def test_redirects_of_one_host_are_followed_and_counted(bench):
    bench.server.pages.update({f"/{n}": redirect(f"/{n + 1}") for n in range(10)})
    bench.server.pages["/5"] = response(b"there")
    assert (await bench.fetch("/0")).text == f"{bench.url('/5')}\n\nthere"
    bench.server.pages["/5"] = redirect("/6")
    assert "redirects more than 5 times" in (await bench.fetch("/0")).text
    bench.server.pages["/"] = redirect("/")
    assert "redirects more than 5 times" in (await bench.fetch("/")).text
    bench.server.pages["/"] = response(b"", 302)
    assert "does not say where to" in (await bench.fetch("/")).text


@pytest.mark.parametrize(
    "location", ["http://other.test/", "http://10.0.0.1/", "http://sub.site.test/"]
)
@ensure
async def test_a_redirect_to_another_host_is_told_and_not_followed(bench, location):
    """A person, or a rule, allowed this host; the other one is another question."""
    bench.server.pages["/"] = redirect(location)
    outcome = await bench.fetch()
    assert outcome.success
    assert f"redirects to another host, {location} ." in outcome.text
    assert bench.asked == ["site.test"]
    assert len(bench.server.requests) == 1


@ensure
async def test_a_host_without_an_address_is_told(bench):
    bench.names["site.test"] = []
    assert "there is no such host" in (await bench.fetch()).text


@ensure
async def test_a_host_that_does_not_answer_is_told_and_the_next_address_is_tried(bench):
    bench.server.pages["/"] = response(b"here")
    bench.names["site.test"] = ["127.0.0.2", "127.0.0.1"]
    outcome = await bench.fetch(permits=lambda address, port: address.is_loopback)
    assert outcome.success
    bench.names["site.test"] = ["127.0.0.2"]
    outcome = await bench.fetch(permits=lambda address, port: address.is_loopback)
    assert "site.test did not answer" in outcome.text
    assert "Traceback" not in outcome.text


@ensure
async def test_the_environments_proxies_are_not_used(bench, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    bench.server.pages["/"] = response(b"direct")
    assert (await bench.fetch()).success


@ensure
async def test_a_url_with_credentials_is_a_problem_before_anybody_is_asked(bench):
    box = make_toolbox(bench.ports, folders=[], web=bench.web())
    described = box.describe("web_fetch", {"url": "http://me:secret@site.test/"})
    assert "without credentials" in described.problem
    assert "secret" not in described.problem


def test_a_fetch_asks_for_the_url_that_is_fetched(tmp_path):
    from twisted.internet.task import Clock

    box = make_toolbox(engine_ports(Clock(), tmp_path), folders=[])
    described = box.describe("web_fetch", {"url": "HTTP://Example.com:80/a b".replace(" ", "%20")})
    assert described.permission.kind == "url"
    assert described.permission.url == "http://example.com/a%20b"


# -- TLS -----------------------------------------------------------------------------------


def certificate(name):
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = made.public_bytes(serialization.Encoding.PEM)
    return PrivateCertificate.loadPEM(public + pem), Certificate.loadPEM(public)


@pytest.mark.parametrize(("name", "good"), [("site.test", True), ("other.test", False)])
@ensure
async def test_the_certificate_is_the_names_though_the_connection_goes_to_an_address(
    bench, name, good
):
    private, public = certificate(name)
    served = []
    options = private.options()
    context = options.getContext()
    context.set_tlsext_servername_callback(lambda each: served.append(each.get_servername()))
    listening = bench.reactor.listenSSL(0, bench.server, options, interface="127.0.0.1")
    port = listening.getHost().port
    bench.server.pages["/"] = response(b"sealed")
    try:
        outcome = await bench.fetch(
            url=f"https://site.test:{port}/",
            permits=lambda address, asked: address == LOOPBACK,
            make_tls=lambda host: optionsForClientTLS(host, trustRoot=public),
        )
        await bench.all_gone()
    finally:
        await listening.stopListening()
    assert outcome.success is good
    assert served == [b"site.test"]
    if good:
        assert outcome.text.endswith("\n\nsealed")
        assert bench.server.header(b"Host") == f"site.test:{port}".encode()
    else:
        assert bench.server.requests == []
