"""`ahpd` in the foreground: what it says, how it ends, and why it does not start."""

import json
import re
import signal
import socket
import ssl
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest

FREE = ("--port", "0")


def handshake(url, token=None, context=None):
    """The status line of a WebSocket handshake."""
    parts = urlsplit(url)
    query = f"?tkn={token}" if token else ""
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as connection:
        if context is None:
            wire = connection
        else:
            wire = context.wrap_socket(connection, server_hostname="localhost")
        wire.sendall(
            (
                f"GET /{query} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\n"
                "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
            ).encode()
        )
        return wire.recv(4096).decode().partition("\r\n")[0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_says_where_it_listens_and_nothing_else_and_drains_at_a_signal(command, number):
    host = command.serve(*FREE)
    url = host.url()
    assert re.fullmatch(r"ws://127\.0\.0\.1:[1-9][0-9]*", url)
    status, out, err = host.end(number)
    assert (status, out) == (0, "")
    assert f"{number.name}: draining" in err
    assert all(re.match(r"\d{4}-\d\d-\d\dT[\d:]+[+-]\d{4} \w+ ", line) for line in err.splitlines())


def test_the_token_it_made_lets_a_client_in_and_is_never_said(command):
    host = command.serve(*FREE)
    url = host.url()
    path = command.config / "token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    token = path.read_text().strip()
    assert " 401 " in handshake(url)
    assert " 401 " in handshake(url, "wrong-token")
    assert " 101 " in handshake(url, token)
    status, out, err = host.end()
    assert status == 0
    assert token not in out + err
    assert "wrong-token" not in out + err


def test_with_json_it_says_so_as_json(command):
    host = command.serve(*FREE, "--json")
    assert json.loads(host.line())["listening"].startswith("ws://127.0.0.1:")
    assert host.end()[:2] == (0, "")


def test_a_warning_is_said_and_does_not_stop_the_start(command):
    command.write("prot: 1\n")
    host = command.serve(*FREE)
    host.url()
    assert "warning: " in host.end()[2]


def test_a_port_in_use_is_one_line(command, taken_port):
    done = command.run("--port", str(taken_port), status=1)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"ahpd: cannot listen on 127.0.0.1:{taken_port}: the port is in use")
    assert "in use" in command.answer("--port", str(taken_port), status=1)["error"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--host", "0.0.0.0", "--without-connection-token"), "allowed: no token on loopback"),
        (("--listen", "nonsense:1"), "ahpd: --listen: found nonsense:1, allowed: an endpoint"),
        (("--listen", "ssl:0:privateKey=/no/such"), "ahpd: --listen: found ssl:0"),
        (("--listen", "systemd:domain=INET:index=0"), "it says: no socket of that index"),
        (("--wire", "no/such/place"), '--wire: found "no/such/place", allowed: the path of a file'),
        (("--connection-token-file", "/proc/token"), "the token file /proc/token cannot be used"),
    ],
)
def test_what_cannot_start_says_why(command, arguments, words):
    done = command.run(*arguments, status=2)
    (line,) = done.stderr.splitlines()
    assert words in line


def test_an_endpoint_of_the_file_that_is_none_names_the_file(command):
    command.write("listen: nonsense:1\n")
    done = command.run(status=2)
    assert done.stderr.startswith(
        f"ahpd: {command.config / 'config.yaml'}: listen: found nonsense:1, allowed: an endpoint"
    )


def test_an_address_this_machine_does_not_have_is_one_line(command):
    done = command.run("--host", "192.0.2.1", *FREE, status=1)
    assert done.stderr == "ahpd: cannot listen on 192.0.2.1:0: this machine has no such address\n"


def test_a_service_manager_is_told_when_it_listens_and_when_it_stops(command, tmp_path):
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(20)
        host = command.serve(*FREE, environ={"NOTIFY_SOCKET": path})
        url = host.url()
        assert manager.recv(1024).decode() == f"READY=1\nSTATUS=listening on {url}"
        host.popen.send_signal(signal.SIGTERM)
        assert manager.recv(1024) == b"STOPPING=1"
        assert host.end(None)[0] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")
def test_a_socket_from_systemd_is_taken_over(command):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        # The file descriptor must be 3, and the variable names the process itself.
        handing_over = (
            "import os, sys; os.dup2(int(sys.argv[1]), 3);"
            "os.environ['LISTEN_PID'] = str(os.getpid()); os.execv(sys.argv[2], sys.argv[2:])"
        )
        host = command.serve(
            "--listen",
            "systemd:domain=INET:index=0",
            program=(sys.executable, "-c", handing_over, str(listening.fileno()), *command.program),
            environ={"LISTEN_FDS": "1", "LISTEN_FDNAMES": "ahpd.socket"},
            pass_fds=[listening.fileno()],
        )
        url = host.url()
        assert urlsplit(url).port == listening.getsockname()[1]
    assert " 101 " in handshake(url, (command.config / "token").read_text().strip())
    assert host.end()[0] == 0


def certificate(directory):
    """A key and a certificate for localhost, signed by itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = directory / "key.pem", directory / "certificate.pem"
    paths[0].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    paths[1].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return paths


def test_a_tls_endpoint_is_served(command, tmp_path):
    key, made = certificate(tmp_path)
    host = command.serve("--listen", f"ssl:0:privateKey={key}:certKey={made}:interface=127.0.0.1")
    url = host.url()
    assert url.startswith("wss://127.0.0.1:")
    context = ssl.create_default_context(cafile=made)
    token = (command.config / "token").read_text().strip()
    assert " 101 " in handshake(url, token, context)
    assert host.end()[0] == 0


def test_over_stdio_standard_output_is_the_protocols_alone(command):
    host = command.serve("--stdio", stdin=subprocess.PIPE)
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"channel": "ahp-root://"}}
    host.popen.stdin.write(json.dumps(ping).encode() + b"\n")
    host.popen.stdin.flush()
    assert json.loads(host.line())["id"] == 1
    out, _ = host.popen.communicate(timeout=30)
    assert out == b""
    assert host.popen.returncode == 0, "it ends with its parent's last word"
    assert not (command.config / "token").exists()


def test_over_stdio_with_a_port_it_listens_too_and_says_so_on_standard_error(command):
    host = command.serve("--stdio", *FREE, stdin=subprocess.PIPE)
    lines = iter(host.popen.stderr.readline, b"")
    assert any(line.startswith(b"listening on ws://127.0.0.1:") for line in lines)
    status, out, _ = host.end()
    assert (status, out) == (0, "")
