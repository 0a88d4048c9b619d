"""The wire log: what it holds, who may read it, and what it costs a connection."""

import json
import os
import stat

import pytest
from twisted.internet.task import Clock
from twisted.logger import globalLogPublisher
from zope.interface.verify import verifyObject

from ahpd.interfaces import IConnection, IMessageHandler
from ahpd.transports.memory import pair
from ahpd.transports.recorder import WireLog
from ahpd.wire.codec import Frame, encode

AT = 1_767_323_045.123


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "wire.jsonl"


def lines(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def started(path, clock, **options):
    wire = WireLog(path, clock, lambda: AT, **options)
    wire.startService()
    return wire


def test_every_message_both_ways_is_a_line_with_its_log_beside_it(path, clock, kit):
    wire = started(path, clock)
    made = pair(clock, wire.wrap(kit.peers()), kit.peers(), name='odd "name"\n')
    inner = made.server._handler
    assert verifyObject(IConnection, inner.connection)
    assert verifyObject(IMessageHandler, made.server)
    made.client.connection.send(Frame(b'{"id":1,"method":"ping"}'))
    clock.advance(0)
    inner.connection.send(Frame(b'{"id":1,"result":null}'))
    clock.advance(0)
    clock.advance(1)
    assert made.client.messages == [b'{"id":1,"result":null}']
    about = {"ts": "2026-01-02T03:04:05.123Z", "connection": 'odd "name"\n'}
    assert lines(path) == [
        {"id": 1, "method": "ping", "_ahpLog": {**about, "direction": "in", "bytes": 24}},
        {"id": 1, "result": None, "_ahpLog": {**about, "direction": "out", "bytes": 22}},
    ]
    inner.connection.close(1000, "bye")
    clock.advance(0)
    clock.advance(0)
    assert inner.lost == ["closed: 1000 bye"]


def test_only_its_owner_may_read_it(path, clock):
    path.write_text("")
    path.chmod(0o644)
    wire = started(path, clock)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    wire.stopService()


def test_a_symbolic_link_is_not_followed(path, clock, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    victim.chmod(0o644)
    path.symlink_to(victim)
    wire = started(path, clock)
    wire.record("out", b'"c"', b"{}")
    wire.stopService()
    assert victim.read_text() == "mine"
    assert stat.S_IMODE(victim.stat().st_mode) == 0o644


def test_lines_are_written_together_a_moment_later_and_at_stop(path, clock):
    wire = started(path, clock)
    wire.record("out", b'"c"', b'{"n":1}')
    wire.record("out", b'"c"', b'{"n":2}')
    assert path.read_bytes() == b""
    clock.advance(0.25)
    assert [line["n"] for line in lines(path)] == [1, 2]
    wire.record("out", b'"c"', b'{"n":3}')
    wire.stopService()
    assert len(lines(path)) == 3
    assert not clock.getDelayedCalls()


@pytest.mark.parametrize(
    ("payload", "kept"),
    [
        (b"{}", {}),
        (b' {"a"\r\n:\n1} ', {"a": 1}),
        (b"null", {"raw": "null"}),
        (b"[1]", {"raw": "[1]"}),
        (b'{"a":', {"raw": '{"a":'}),
        (b'{"a":1}{"b":2}', {"raw": '{"a":1}{"b":2}'}),
        (b"\xff\n", {"raw": "\ufffd\n"}),
        (b"", {"raw": ""}),
    ],
)
def test_whatever_comes_in_is_one_line_of_json(path, clock, payload, kept):
    wire = started(path, clock)
    wire.record("in", b'"c"', payload)
    wire.stopService()
    (line,) = lines(path)
    assert line.pop("_ahpLog")["bytes"] == len(payload)
    assert line == kept


def test_a_pushed_token_is_not_written_down(path, clock):
    wire = started(path, clock)
    message = {"id": 1, "method": "authenticate", "params": {"token": "sk-1", "resource": "r"}}
    wire.record("in", b'"c"', json.dumps(message).encode())
    wire.stopService()
    assert b"sk-1" not in path.read_bytes()
    assert lines(path)[0]["params"] == {"token": "***", "resource": "r"}


@pytest.mark.parametrize("pad", [0, 2_000_000])
def test_the_page_of_a_canvas_is_not_written_down(path, clock, pad):
    canvas = {"instanceId": "i", "url": 'https://boards.example/"s3cret', "title": "p" * pad}
    action = {"type": "canvas/stateChanged", "canvas": canvas}
    params = {"channel": "ahp-canvas:/Y2hhdA/1", "action": action}
    wire = started(path, clock)
    wire.record("out", b'"c"', encode({"method": "action", "params": params}))
    snapshot = {"resource": "ahp-canvas:/Y2hhdA/1", "state": canvas, "fromSeq": 1}
    wire.record("out", b'"c"', encode({"id": 1, "result": {"snapshot": snapshot}}))
    wire.stopService()
    assert b"s3cret" not in path.read_bytes()
    assert len(lines(path)) == 2


@pytest.mark.parametrize(
    "payload",
    [
        b'{"method":"authenticate","params":{"token":"sk-1","x":',
        b'{"method":"authenticate","params":{"token" : "sk-1',
        b'[{"method":"authenticate","params":{"token":"a\\"sk-1"}}]',
        b'{"method":"authenticate","params":{"token":"sk-1","pad":"' + b"p" * 20_000 + b'"}}',
    ],
)
def test_a_token_in_what_is_no_message_is_not_written_down_either(path, clock, payload):
    wire = started(path, clock, max_line=10_000)
    wire.record("in", b'"c"', payload)
    wire.stopService()
    assert b"sk-1" not in path.read_bytes()
    assert "***" in lines(path)[0]["raw"]


@pytest.mark.logs_failures
def test_a_pipe_in_the_files_place_is_refused_and_holds_nobody_up(path, clock):
    os.mkfifo(path)
    said = []
    globalLogPublisher.addObserver(said.append)
    try:
        wire = started(path, clock)
        wire.record("in", b'"c"', b"{}")
        wire.stopService()
    finally:
        globalLogPublisher.removeObserver(said.append)
    assert len([event for event in said if "cannot be written" in event.get("log_format", "")]) == 1


@pytest.mark.parametrize("char", ["a", '"', "\u2603", "\x01"])
def test_a_long_line_is_cut_and_says_so(path, clock, char):
    wire = started(path, clock, max_line=10_000)
    payload = json.dumps({"text": char * 20_000}, ensure_ascii=False).encode()
    wire.record("out", b'"c"', payload)
    wire.stopService()
    (line,) = lines(path)
    assert line["_ahpLog"]["truncated"] is True
    assert line["_ahpLog"]["bytes"] == len(payload)
    assert line["raw"].startswith('{"text": "')
    assert len(path.read_bytes()) <= 10_001


def test_it_is_rolled_and_five_are_kept(path, clock):
    wire = started(path, clock, roll_bytes=1000)
    for number in range(100):
        wire.record("out", b'"c"', b'{"n":%d}' % number)
    wire.stopService()
    names = sorted(p.name for p in path.parent.iterdir())
    assert names == ["wire.jsonl", *(f"wire.jsonl.{n}" for n in range(1, 6))]
    kept = []
    for name in ["wire.jsonl.5", "wire.jsonl.4", "wire.jsonl.3", "wire.jsonl.2", "wire.jsonl.1"]:
        part = path.with_name(name)
        assert stat.S_IMODE(part.stat().st_mode) == 0o600
        assert part.stat().st_size <= 1000
        kept += [line["n"] for line in lines(part)]
    kept += [line["n"] for line in lines(path)]
    assert kept == list(range(100 - len(kept), 100))


def test_a_start_appends_to_what_is_there(path, clock):
    for _ in range(2):
        wire = started(path, clock)
        wire.record("out", b'"c"', b"{}")
        wire.stopService()
    assert len(lines(path)) == 2


def test_a_disk_that_fails_is_said_once_and_hurts_no_connection(tmp_path, clock, kit):
    said = []
    globalLogPublisher.addObserver(said.append)
    try:
        path = tmp_path / "missing" / "wire.jsonl"
        wire = started(path, clock)
        made = pair(clock, wire.wrap(kit.peers()), kit.peers())
        for _ in range(5):
            made.client.connection.send(Frame(b"{}"))
            clock.advance(0)
            clock.advance(1)
        assert len(made.server._handler.messages) == 5
        assert len([e for e in said if "wire log" in (e.get("log_format") or "")]) == 1
        path.parent.mkdir()
        made.client.connection.send(Frame(b'{"back":1}'))
        clock.advance(0)
        clock.advance(1)
        assert lines(path)[0]["back"] == 1
        wire.stopService()
    finally:
        globalLogPublisher.removeObserver(said.append)
