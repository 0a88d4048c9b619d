"""The listener on every kind of endpoint, and what it says where it listens."""

import datetime as dt
import os
import socket
import subprocess
import sys

import pytest
import pytest_twisted
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from twisted.internet import reactor, tcp
from twisted.internet.endpoints import clientFromString, wrapClientTLS
from twisted.internet.ssl import Certificate, optionsForClientTLS
from twisted.internet.threads import deferToThread
from twisted.internet.utils import getProcessOutputAndValue
from twisted.logger import LogLevel, formatEvent, globalLogPublisher

from ahpd.transports import websocket
from ahpd.transports.admission import Policy
from ahpd.transports.http import HostRouter
from ahpd.transports.websocket import ListenError, WebSocketListener
from ahpd.transports.websocket_client import connect
from ahpd.wire.codec import Frame

#: Twisted hands pyOpenSSL its own objects still.
TLS_WARNINGS = pytest.mark.filterwarnings("ignore:Passing pyOpenSSL:DeprecationWarning")


@pytest.fixture
def certificate(tmp_path):
    """A key and a self-made certificate for localhost, as PEM files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    key_file, cert_file = tmp_path / "key.pem", tmp_path / "cert.pem"
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    cert_file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return key_file, cert_file


@TLS_WARNINGS
@pytest.mark.parametrize("offered", [None, [b"http/1.1"], [b"h2", b"http/1.1"]])
@pytest_twisted.ensureDeferred
async def test_tls_by_its_endpoint_string(listening, kit, certificate, offered):
    key, cert = certificate
    host = await listening(endpoint=f"ssl:0:interface=127.0.0.1:privateKey={key}:certKey={cert}")
    assert host.url.startswith("wss://127.0.0.1:")
    port = host.address.port
    authority = Certificate.loadPEM(cert.read_bytes())
    trust = optionsForClientTLS("localhost", authority, acceptableProtocols=offered)
    endpoint = wrapClientTLS(trust, clientFromString(reactor, f"tcp:127.0.0.1:{port}"))
    client = await connect(
        reactor, f"wss://localhost:{port}", kit.peers(), token="secret", endpoint=endpoint
    )
    (server,) = await host.peers.at_least(1)
    assert server.connection.transport.getTcpNoDelay()
    for _ in range(20):
        server.connection.send(Frame(b"x" * 300_000))
        client.connection.send(Frame(b"y" * 300_000))
    await client.until(lambda h: len(h.messages) == 20)
    await server.until(lambda h: len(h.messages) == 20)
    server.connection.send(Frame(b"z" * 3_000_000))
    server.connection.close(1000, "done")
    await client.gone()
    await server.gone()
    assert client.messages[20:] == [b"z" * 3_000_000]


@TLS_WARNINGS
@pytest_twisted.ensureDeferred
async def test_a_plain_client_on_a_tls_port_is_dropped(listening, kit, certificate):
    key, cert = certificate
    host = await listening(endpoint=f"ssl:0:interface=127.0.0.1:privateKey={key}:certKey={cert}")
    answer = await host.answer(kit.request(upgrade=True))
    assert b"101" not in answer


@pytest_twisted.ensureDeferred
async def test_a_unix_socket_answers_whatever_host_is_said(listening, kit, tmp_path):
    path = tmp_path / "ahpd.sock"
    host = await listening(endpoint=f"unix:{path}:mode=600")
    assert host.url == f"ws+unix:{path}"
    endpoint = clientFromString(reactor, f"unix:{path}")
    client = await connect(
        reactor, "ws://whatever.example", kit.peers(), token="secret", endpoint=endpoint
    )
    (server,) = await host.peers.at_least(1)
    client.connection.send(Frame(b"{}"))
    await server.until(lambda h: h.messages)
    assert server.connection.name == "unix"
    for number in range(20):
        server.connection.send(Frame(b"%d" % number))
        server.connection.send(Frame(b"x" * 300_000, b"y" * 100_000))
    assert server.connection.pending_bytes() > 1_000_000, "a UNIX socket takes little at once"
    server.connection.close(1000, "done")
    await client.gone()
    await server.gone()
    large = b"x" * 300_000 + b"y" * 100_000
    assert client.messages == [part for n in range(20) for part in (b"%d" % n, large)]


@pytest_twisted.ensureDeferred
async def test_a_listener_on_every_address_gives_a_url_that_connects(listening, kit):
    host = await listening(endpoint="tcp:0")
    assert host.url == f"ws://127.0.0.1:{host.address.port}"
    await connect(reactor, host.url, kit.peers(), token="secret")
    named = kit.request(host=socket.gethostname().encode(), upgrade=True, path=b"/?tkn=secret")
    client = await host.raw(named)
    await client.until(lambda c: b" 101 " in c.received)
    evil = kit.request(host=b"evil.example", upgrade=True, path=b"/?tkn=secret")
    assert (await host.answer(evil)).startswith(b"HTTP/1.1 403 ")


@pytest_twisted.ensureDeferred
async def test_ipv6_loopback(listening, kit):
    try:
        host = await listening(endpoint=r"tcp:0:interface=\:\:1")
    except ListenError as error:
        pytest.skip(f"no IPv6 here: {error}")
    assert host.url == f"ws://[::1]:{host.address.port}"
    await connect(reactor, host.url, kit.peers(), token="secret")


def listener(kit, endpoint):
    return WebSocketListener(reactor, endpoint, kit.peers(), Policy(), HostRouter("n", "v", []))


@pytest_twisted.ensureDeferred
async def test_a_taken_port_is_an_error_that_names_the_endpoint(listening, kit):
    host = await listening()
    endpoint = f"tcp:{host.address.port}:interface=127.0.0.1"
    second = listener(kit, endpoint)
    second.startService()
    with pytest.raises(ListenError, match=f"{endpoint}.*in use"):
        await second.when_listening()
    assert second.url is None
    await second.stopService()


@pytest.mark.parametrize(
    "endpoint",
    ["nonsense:1", "tcp:notaport", "", "ssl:0:privateKey=/no/such", "systemd:domain=INET:index=0"],
)
@pytest_twisted.ensureDeferred
async def test_a_wrong_endpoint_string_is_an_error_in_words(kit, endpoint):
    wrong = listener(kit, endpoint)
    wrong.startService()
    with pytest.raises(ListenError, match=r"no endpoint|cannot listen"):
        await wrong.when_listening()
    await wrong.stopService()


# systemd passes sockets from descriptor 3 on, to the process it names.
SYSTEMD = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()), LISTEN_FDNAMES="ahpd.socket")
from twisted.internet.defer import Deferred
from twisted.internet import reactor
from ahpd.transports import websocket
from ahpd.transports.admission import Policy
from ahpd.transports.http import HostRouter
from ahpd.transports.websocket import WebSocketListener
listener = WebSocketListener(reactor, "systemd:domain=INET:index=0", None, Policy(),
                             HostRouter("n", "v", []))

async def run():
    try:
        listener.startService()
        print(await listener.when_listening())
        await listener.stopService()
    finally:
        reactor.stop()

reactor.callWhenRunning(lambda: Deferred.fromCoroutine(run()).addErrback(
    lambda failure: failure.printTraceback(sys.stderr)))
reactor.run()
"""


@pytest_twisted.ensureDeferred
async def test_a_socket_systemd_passes_is_listened_on():
    given = socket.socket()
    given.bind(("127.0.0.1", 0))
    given.listen()
    done = await deferToThread(
        subprocess.run,
        [sys.executable, "-c", SYSTEMD, str(given.fileno())],
        capture_output=True,
        text=True,
        timeout=60,
        pass_fds=[given.fileno()],
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"ws://127.0.0.1:{given.getsockname()[1]}"
    given.close()


@pytest_twisted.ensureDeferred
async def test_importing_the_transports_installs_no_reactor():
    code = (
        "import sys, ahpd.transports.websocket, ahpd.transports.websocket_client, "
        "ahpd.transports.stdio, ahpd.transports.memory, ahpd.transports.recorder; "
        "print('twisted.internet.reactor' in sys.modules)"
    )
    out, err, status = await getProcessOutputAndValue(sys.executable, ["-c", code], os.environ)
    assert (status, out.strip()) == (0, b"False"), err


@pytest.fixture
def warnings_said():
    """The warnings the transports log."""
    events = []
    globalLogPublisher.addObserver(events.append)
    yield lambda: [formatEvent(e) for e in events if e["log_level"] is LogLevel.warn]
    globalLogPublisher.removeObserver(events.append)


@pytest.mark.parametrize("used", [True, False])
@pytest_twisted.ensureDeferred
async def test_without_autobahns_native_code_it_listens_and_says_so(
    listening, monkeypatch, warnings_said, used
):
    monkeypatch.setattr(websocket, "USES_NVX", used)
    await listening()
    said = warnings_said()
    assert len(said) == (0 if used else 1)
    assert all("NVX" in words for words in said)


def swallowed(transport, enabled):
    """What Twisted does of an error: nothing a caller would see."""


def refused(transport, enabled):
    raise OSError("not here")


@pytest.mark.parametrize("fails", [swallowed, refused])
@pytest_twisted.ensureDeferred
async def test_where_nagles_algorithm_stays_on_it_serves_and_says_so(
    listening, monkeypatch, warnings_said, fails
):
    host = await listening(token=None)
    await host.opened()
    assert warnings_said() == []
    monkeypatch.setattr(tcp.Connection, "setTcpNoDelay", fails)
    client, handler = await host.opened()
    handler.connection.send(Frame(b"{}"))
    await client.until(lambda c: c.received)
    (said,) = warnings_said()
    assert "Nagle" in said


@pytest_twisted.ensureDeferred
async def test_a_listener_can_be_stopped_and_started_again(listening, kit):
    host = await listening()
    await host.listener.stopService()
    assert host.url is None
    host.listener.startService()
    url = await host.listener.when_listening()
    await connect(reactor, url, kit.peers(), token="secret")
