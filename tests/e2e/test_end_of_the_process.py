"""How a daemon ends: draining at a signal, or all at once."""

import json
import signal
import socket

import pytest
import pytest_twisted

from ahpd.client import ConnectionGone, RpcError
from ahpd.protocol.uris import ROOT

#: Seconds a drain may take before the process leaves all the same (docs/deploy.md).
BOUND = 25


def error_of(turn):
    (part,) = [part for part in turn["responseParts"] if part["kind"] == "error"]
    return part["error"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest_twisted.ensureDeferred
async def test_a_running_turn_ends_as_interrupted_and_its_clients_are_told(
    serve, talk, text_of, number
):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    bob = await ann.with_client(await daemon.connect("bob", ROOT))
    turn_id = await ann.begin("/say so far\n/sleep 3600000\n/say never")
    await bob.grown(6)
    children = daemon.children()
    assert len(children) == 2
    await daemon.check()
    closed = ann.probe.closed, bob.probe.closed
    daemon.signal(number)
    turns = await ann.finished(turn_id), await bob.finished(turn_id)
    for turn in turns:
        assert turn["state"] == "error"
        assert text_of(turn) == "so far"
        assert error_of(turn)["errorType"] == "executionInterrupted"
    for reason in closed:
        assert "1001" in await reason
    assert await daemon.ended(BOUND) == 0
    assert f"{number.name}: draining" in daemon.log


@pytest_twisted.ensureDeferred
async def test_while_it_drains_it_says_so_and_begins_nothing(serve, talk, raw):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    bob = await talk(await daemon.connect("bob", ROOT))
    await bob.say("/say ready")
    turn_id = await ann.begin("/say so far\n/sleep 3600000")
    await ann.grown(6)
    # An agent that does not hear what it is told keeps the drain waiting for its grace.
    for child in daemon.children():
        if b"program.py" in daemon.command_line(child):
            daemon.send_signal_to(child, signal.SIGSTOP)
    daemon.signal()
    assert (await ann.finished(turn_id))["state"] == "error"
    status, headers = raw(daemon).request("/health")
    assert status == 503
    assert headers["access-control-allow-origin"] == "*"
    refused = await bob.say("/say too late")
    assert refused["state"] == "error"
    assert error_of(refused)["errorType"] == "hostClosing"
    with pytest.raises(RpcError, match="shutting down"):
        await bob.probe.request("createSession", channel="ahp-session:/late", provider="demo")
    assert await daemon.ended(BOUND) == 0


@pytest_twisted.ensureDeferred
async def test_a_stream_at_full_speed_drains_too(serve, talk):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    turn_id = await ann.begin("/stream 10000000 1000")
    await ann.grown(1_000_000)
    daemon.signal()
    assert (await ann.finished(turn_id))["state"] == "error"
    assert await daemon.ended(BOUND) == 0


@pytest_twisted.ensureDeferred
async def test_a_client_that_reads_nothing_does_not_hold_up_the_end(serve, talk, raw):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    deaf = raw(daemon, receive_buffer=4096)
    assert deaf.upgrade("/", f"Authorization: Bearer {daemon.token}")[0] == 101
    deaf.initialize("deaf", ann.session, ann.chat)
    await ann.say("/stream 100 100000")
    half_open = raw(daemon)
    half_open.socket.sendall(b"GET / HTTP/1.1\r\n")
    daemon.signal()
    assert await daemon.ended(BOUND) == 0


@pytest_twisted.ensureDeferred
async def test_a_second_interrupt_ends_it_at_once(serve, talk):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    turn_id = await ann.begin("/say so far\n/sleep 3600000")
    await ann.grown(6)
    for child in daemon.children():
        if b"program.py" in daemon.command_line(child):
            daemon.send_signal_to(child, signal.SIGSTOP)
    daemon.signal(signal.SIGINT)
    await ann.finished(turn_id)
    daemon.signal(signal.SIGINT)
    assert await daemon.ended(BOUND) in (-signal.SIGINT, 0)
    await daemon.judge(daemon.process.returncode)


@pytest_twisted.ensureDeferred
async def test_killed_it_leaves_no_process_and_no_port(make_daemon, talk):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    first = await make_daemon("--port", port).start()
    talks = [await talk(await first.connect(f"c{number}", ROOT)) for number in range(3)]
    for one in talks:
        await one.begin("/stream 10000000 10\n/sleep 3600000")
        await one.grown(10)
    assert len(first.children()) == 4
    await first.kill()
    for one in talks:
        if one.probe.connected:
            with pytest.raises(ConnectionGone):
                await one.probe.wait_for(lambda: False, what="anything")
    second = await make_daemon("--port", port).start()
    assert second.url == first.url
    again = await talk(await second.connect("c0", ROOT))
    assert (await again.say("/say alive"))["state"] == "complete"


@pytest_twisted.ensureDeferred
async def test_what_an_agent_left_running_goes_with_it(serve, talk):
    """A crash of the agent's process leaves nothing, and neither does the host's end."""
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    assert (await ann.say("/crash"))["state"] == "error"
    await daemon.until(lambda: len(daemon.children()) <= 1, "the end of the crashed process")
    await ann.say("/say again")
    assert len(daemon.children()) == 2


@pytest_twisted.ensureDeferred
async def test_a_service_manager_is_told(make_daemon, tmp_path):
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.setblocking(False)
        daemon = make_daemon("--port", "0", preset={"NOTIFY_SOCKET": path})

        def told():
            try:
                return manager.recv(4096).decode()
            except BlockingIOError:
                return None

        daemon.spawn()
        words = await daemon.until(told, "readiness")
        assert words.splitlines()[0] == "READY=1"
        daemon.url = words.rpartition("listening on ")[2]
        probe = await daemon.connect("ann", ROOT)
        assert probe.state(ROOT)["agents"]
        daemon.signal()
        assert await daemon.until(told, "the stop") == "STOPPING=1"
        assert await daemon.ended(BOUND) == 0


@pytest_twisted.ensureDeferred
async def test_everything_is_flushed_to_the_wire_log(serve, talk, tmp_path):
    path = tmp_path / "wire.jsonl"
    daemon = await serve("--port", "0", "--wire", str(path))
    ann = await talk(await daemon.connect("ann", ROOT))
    turn_id = await ann.begin("/say so far\n/sleep 3600000")
    await ann.grown(6)
    daemon.signal()
    await ann.finished(turn_id)
    await ann.probe.closed
    assert await daemon.ended(BOUND) == 0
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    sent = [line for line in lines if line.pop("_ahpLog")["direction"] == "out"]
    assert sent == [message for who, message in ann.probe.frames if who == "host"]
