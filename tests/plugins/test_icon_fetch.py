"""Fetching an icon: over HTTPS alone, bounded in bytes and in time, redirects included."""

from datetime import UTC, datetime, timedelta

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.ssl import Certificate, PrivateCertificate
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.web.client import Agent, BrowserLikePolicyForHTTPS, ResponseDone
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgent
from zope.interface import implementer

from ahpd.plugins.icon_fetch import icon_fetch
from ahpd.plugins.icons import Fetched, IconUnread


class Transport:
    def __init__(self):
        self.hung_up = False

    def loseConnection(self):
        self.hung_up = True


class Answer:
    """A response whose body comes in pieces, and ends unless it is `open`."""

    def __init__(self, code=200, pieces=(b"pic",), kind="image/png", location=None, *, open=False):  # noqa: A002
        self.code = code
        self.headers = Headers()
        if kind is not None:
            self.headers.setRawHeaders("Content-Type", [kind])
        if location is not None:
            self.headers.setRawHeaders("Location", [location])
        self.pieces = pieces
        self.open = open
        self.transport = Transport()

    def deliverBody(self, protocol):
        protocol.makeConnection(self.transport)
        for piece in self.pieces:
            protocol.dataReceived(piece)
        if not self.open:
            protocol.connectionLost(Failure(ResponseDone()))


@implementer(IAgent)
class Answers:
    """Answers what a test put under each URL."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = []

    def request(self, method, uri, headers=None, bodyProducer=None):
        self.asked.append((method, uri.decode()))
        answer = self.answers[uri.decode()]
        if isinstance(answer, Exception):
            raise answer
        done = Deferred()
        if answer is not None:
            done.callback(answer)
        return done


def fetched(answers, url="https://example.com/a", limit=100, timeout=10, seconds=0):
    """What comes of a fetch, once `seconds` have passed; and who answered."""
    clock, agent, results = Clock(), Answers(answers), []
    fetch = icon_fetch(clock, agent)
    Deferred.fromCoroutine(fetch(url, limit, timeout)).addBoth(results.append)
    clock.advance(seconds)
    assert results, "not done yet"
    assert clock.getDelayedCalls() == []
    if isinstance(results[0], Failure):
        results[0].raiseException()
    return results[0], agent


URL = "https://example.com/a"


def test_a_picture_is_fetched_with_its_type():
    answer, agent = fetched({URL: Answer(kind="image/svg+xml; charset=utf-8", pieces=(b"a", b"b"))})
    assert answer == Fetched("image/svg+xml", b"ab")
    assert agent.asked == [(b"GET", URL)]
    assert fetched({URL: Answer(kind=None)})[0] == Fetched("", b"pic")


def test_a_redirect_is_followed_to_https_alone():
    answers = {URL: Answer(302, location="/b"), "https://example.com/b": Answer(308, location="https://cdn.example/c"), "https://cdn.example/c": Answer()}  # fmt: skip
    answer, agent = fetched(answers)
    assert answer.body == b"pic"
    assert [url for _, url in agent.asked] == list(answers)
    for location in ("http://example.com/b", "//example.com:1/x", "file:///etc/passwd", "", None):
        answers = {URL: Answer(301, location=location), "https://example.com:1/x": Answer(301, location="ftp://x/")}  # fmt: skip
        with pytest.raises(IconUnread, match=r"not https:|sends on more than"):
            fetched(answers)


def test_redirects_end():
    first = Answer(302, location=URL)
    with pytest.raises(IconUnread, match="sends on more than 5 times"):
        fetched({URL: first})
    assert first.transport.hung_up


@pytest.mark.parametrize("code", [204, 304, 404, 500])
def test_any_other_status_is_none(code):
    answer = Answer(code, open=True)
    with pytest.raises(IconUnread, match=f"its server answered {code}"):
        fetched({URL: answer})
    assert answer.transport.hung_up


def test_what_is_larger_is_hung_up_on():
    answer = Answer(pieces=(b"x" * 60, b"x" * 41, b"x" * 1000), open=True)
    with pytest.raises(IconUnread, match="it is larger than 100 bytes"):
        fetched({URL: answer})
    assert answer.transport.hung_up
    assert len(fetched({URL: Answer(pieces=(b"x" * 100,))})[0].body) == 100
    assert len(fetched({URL: Answer(pieces=(b"x" * 5000,))}, limit=0)[0].body) == 5000


def test_what_takes_too_long_is_given_up():
    with pytest.raises(IconUnread, match="longer than 10 s"):
        fetched({URL: None}, seconds=10)
    answer = Answer(open=True)
    with pytest.raises(IconUnread, match="longer than 10 s"):
        fetched({URL: answer}, seconds=10)
    assert answer.transport.hung_up


def test_what_the_client_raises_is_told_without_the_url():
    with pytest.raises(IconUnread) as unread:
        fetched({URL: ConnectionError("https://user:planted-secret-hunter2@example.com/")})
    assert str(unread.value) == "it cannot be fetched (ConnectionError)"


@pytest.mark.parametrize(
    "url", ["http://example.com/a", "https://exämple.com/a", "file:///etc/passwd"]
)
def test_what_is_no_https_url_is_not_asked(url):
    with pytest.raises(IconUnread):
        fetched({}, url)


def certificate():
    """A self-made certificate for localhost, with its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    today = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM), key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


class Says(Protocol):
    """An HTTP server of one answer."""

    def dataReceived(self, data):
        if b"\r\n\r\n" not in data:
            return
        path = data.split()[1]
        body = b"x" * (2_000_000 if path == b"/large" else 5)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: %d\r\n\r\n"
        self.transport.write(head % len(body) + body)


@pytest.mark.filterwarnings("ignore:Passing pyOpenSSL:DeprecationWarning")
@pytest_twisted.ensureDeferred
async def test_a_real_server_is_asked_over_tls():
    from twisted.internet import reactor

    cert, key = certificate()
    options = PrivateCertificate.loadPEM(cert + key).options()
    port = reactor.listenSSL(0, Factory.forProtocol(Says), options, interface="127.0.0.1")
    trusting = BrowserLikePolicyForHTTPS(trustRoot=Certificate.loadPEM(cert))
    url = f"https://localhost:{port.getHost().port}"
    try:
        fetch = icon_fetch(reactor, Agent(reactor, trusting))
        assert await fetch(f"{url}/icon.png#part", 100, 20) == Fetched("image/png", b"xxxxx")
        with pytest.raises(IconUnread, match="larger than 1000 bytes"):
            await fetch(f"{url}/large", 1000, 20)
        with pytest.raises(IconUnread, match="it cannot be fetched"):
            await icon_fetch(reactor)(f"{url}/icon.png", 100, 20)
    finally:
        await port.stopListening()
