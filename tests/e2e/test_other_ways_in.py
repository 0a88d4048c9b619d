"""The same host over standard input and output, TLS, a UNIX socket, a socket handed over, twistd."""

import json
import os
import shutil
import socket
import ssl
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import pytest_twisted

from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import AHPD

TWISTD = shutil.which("twistd", path=str(Path(sys.executable).parent)) or shutil.which("twistd")


@pytest.fixture
def main_job(talk, text_of):
    """A turn that is streamed, broken off by a lost connection, and read to its end."""

    async def main_job(daemon):
        ann = await talk(await daemon.connect("ann", ROOT))
        turn = await ann.say("/think hm\n/tool look around\nHello there\n/usage 1 2")
        assert turn["state"] == "complete"
        assert text_of(turn) == "You said: Hello there"
        turn_id = await ann.begin(" ".join(["word"] * 40))
        await ann.grown(30)
        ann.probe.abort()
        await daemon.attach(ann.probe)
        assert (await ann.probe.reconnect()).type == "replay"
        assert (await ann.finished(turn_id))["state"] == "complete"
        return ann

    return main_job


# -- standard input and output -------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_over_stdio_the_main_job_is_done_and_the_end_of_input_ends_it(serve, talk, text_of):
    daemon = await serve("--stdio")
    probe = await daemon.pipe("parent")
    await probe.initialize(subscriptions=[ROOT])
    ann = await talk(probe)
    turn = await ann.say("/think hm\n/tool look around\nHello there\n/stream 2000 100")
    assert turn["state"] == "complete"
    assert len(text_of(turn)) == len("You said: Hello there") + 200_000
    assert len(daemon.children()) == 2
    probe.close()
    assert await daemon.ended() == 0
    await daemon.judge()
    assert "stdio" in daemon.log
    assert not (daemon.config / "token").exists()


@pytest_twisted.ensureDeferred
async def test_over_stdio_a_turn_that_runs_at_the_end_of_input_does_not_hold_it(serve, talk):
    daemon = await serve("--stdio")
    probe = await daemon.pipe("parent")
    await probe.initialize()
    ann = await talk(probe)
    await ann.begin("/stream 10000000 100")
    await ann.grown(1000)
    probe.close()
    assert await daemon.ended() == 0


@pytest_twisted.ensureDeferred
async def test_over_stdio_a_signal_drains_and_the_parent_reads_to_the_end(serve, talk):
    daemon = await serve("--stdio")
    probe = await daemon.pipe("parent")
    await probe.initialize()
    ann = await talk(probe)
    turn_id = await ann.begin("/say so far\n/sleep 3600000")
    await ann.grown(6)
    daemon.signal()
    assert (await ann.finished(turn_id))["state"] == "error"
    assert await daemon.ended() == 0


@pytest_twisted.ensureDeferred
async def test_over_stdio_a_parent_that_dies_leaves_nothing(serve, talk):
    daemon = await serve("--stdio")
    probe = await daemon.pipe("parent")
    await probe.initialize()
    ann = await talk(probe)
    await ann.begin("/stream 10000000 100")
    await ann.grown(1000)
    probe.abort()
    assert await daemon.ended() == 0


@pytest_twisted.ensureDeferred
async def test_standard_output_is_the_protocols_to_the_last_byte(make_daemon):
    """A plain pipe with a line too many: nothing but one JSON value a line comes back."""
    daemon = make_daemon("--stdio")
    daemon.spawn()
    process = daemon.process
    process.stdin.write(
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}\n'
        b"nonsense\n\xff\xfe\n\n[]\n"
        b'{"jsonrpc":"2.0","id":"two","method":"ping","params":{}}\n'
    )
    process.stdin.close()
    await daemon.ended()
    lines = process.stdout.read().splitlines(keepends=True)
    assert all(line.endswith(b"\n") for line in lines)
    answers = [json.loads(line) for line in lines]
    assert [answer["id"] for answer in answers if "result" in answer] == [1, "two"]
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)


@pytest_twisted.ensureDeferred
async def test_over_stdio_with_a_port_both_are_served_and_the_parent_may_leave(serve, talk):
    daemon = await serve("--stdio", "--port", "0")
    probe = await daemon.pipe("parent")
    await probe.initialize(subscriptions=[ROOT])
    line = await daemon.logged("listening on ws://")
    daemon.url = line.rpartition(" ")[2]
    ann = await talk(await daemon.connect("ann", ROOT))
    bob = await ann.with_client(probe)
    turn_id = await ann.begin("/say both\n/sleep 50")
    assert await ann.finished(turn_id) == await bob.finished(turn_id)
    await daemon.check()
    probe.close()
    await daemon.logged("disconnected")
    assert (await ann.say("/say still here"))["state"] == "complete"


# -- other endpoints -----------------------------------------------------------------------


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


@pytest_twisted.ensureDeferred
async def test_over_tls(serve, main_job, raw, tmp_path):
    key, made = certificate(tmp_path)
    endpoint = f"ssl:0:privateKey={key}:certKey={made}:interface=127.0.0.1"
    daemon = await serve("--listen", endpoint, trust=made)
    assert daemon.url.startswith("wss://127.0.0.1:")
    ann = await main_job(daemon)
    assert (await ann.say("/stream 3000 1000"))["state"] == "complete"
    # A client that speaks no TLS costs nobody anything.
    plain = raw(daemon)
    plain.socket.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    plain.rest()
    context = ssl.create_default_context()
    with pytest.raises(ssl.SSLCertVerificationError):
        context.wrap_socket(raw(daemon).socket, server_hostname="localhost")
    assert (await ann.say("/say fine"))["state"] == "complete"


@pytest_twisted.ensureDeferred
async def test_over_a_unix_socket(serve, main_job, tmp_path_factory):
    # A socket's path may have some hundred characters, which a test's directory can use up.
    path = tmp_path_factory.mktemp("s") / "ahpd"
    daemon = await serve("--listen", f"unix:{path}:mode=600")
    assert daemon.url == f"ws+unix:{path}"
    assert path.stat().st_mode & 0o777 == 0o600
    await main_job(daemon)
    await daemon.stop()
    assert not path.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")
@pytest_twisted.ensureDeferred
async def test_over_a_socket_that_systemd_hands_over(serve, main_job):
    # The descriptor is 3, and the variable names the process itself.
    handing_over = (
        "import os, sys; os.dup2(int(sys.argv[1]), 3);"
        "os.environ['LISTEN_PID'] = str(os.getpid()); os.execv(sys.argv[2], sys.argv[2:])"
    )
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        number = listening.fileno()
        daemon = await serve(
            "--listen",
            "systemd:domain=INET:index=0",
            program=(sys.executable, "-c", handing_over, str(number), *AHPD),
            preset={"LISTEN_FDS": "1", "LISTEN_FDNAMES": "ahpd.socket"},
            pass_fds=[number],
        )
        assert daemon.url == "ws://{}:{}".format(*listening.getsockname())
    await main_job(daemon)
    for child in daemon.children():
        assert not [one for one in daemon.environment_of(child) if one.startswith(b"LISTEN_")]


@pytest.mark.skipif(not TWISTD, reason="twistd is not beside this interpreter")
@pytest_twisted.ensureDeferred
async def test_under_twistd(serve, main_job):
    daemon = await serve("ahpd", "--port", "0", program=(TWISTD, "--pidfile=", "-n"))
    await main_job(daemon)
    await daemon.stop()
    assert "draining" in daemon.output


def read(path):
    return Path(path).read_text()


@pytest_twisted.ensureDeferred
async def test_a_background_daemon_does_the_main_job(make_daemon, main_job):
    daemon = make_daemon("start", "--port", "0", "--json")
    daemon.spawn()
    await daemon.until(lambda: not daemon.running, "the end of `ahpd start`")
    answer = json.loads(daemon.output)
    daemon.url = answer["url"]
    assert os.getsid(answer["pid"]) == answer["pid"]
    try:
        ann = await main_job(daemon)
        await ann.probe.ping()
        late = await daemon.connect("late")
        await ann.probe.assert_late_subscriber_agrees(late)
    finally:
        stopped = daemon.run("stop", "--json")
    assert stopped.returncode == 0, stopped.stderr
    log = read(answer["log"])
    assert "stopped" in log
    assert "Traceback" not in log
    assert daemon.token not in log
    assert answer["pid"] not in daemon.left()
