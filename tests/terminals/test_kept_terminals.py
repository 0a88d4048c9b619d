"""Terminals that are gone and still named: read back while somebody looks, and let go of."""

import pytest
from twisted.logger import globalLogPublisher

from ahpd.channels.directory import ChannelDirectory
from ahpd.interfaces import RpcError, StoreFailure
from ahpd.protocol.errors import INTERNAL_ERROR, SESSION_NOT_FOUND
from ahpd.protocol.text import plain
from ahpd.protocol.uris import ChannelKind
from ahpd.terminals.channels import UNWATCHED
from ahpd.wire.codec import decode, encode

URI = "ahp-terminal:/old"
STATE = {
    "title": "Terminal",
    "cwd": "file:///tmp",
    "cols": 80,
    "rows": 24,
    "content": [
        {"type": "unclassified", "value": "$ "},
        {
            "type": "command",
            "commandId": "c1",
            "commandLine": "ls",
            "output": "a\r\n",
            "timestamp": 1,
            "isComplete": True,
            "exitCode": 0,
            "durationMs": 12,
        },
    ],
    "lifecycle": {"status": "exited", "exitCode": 0},
    "claim": {"kind": "session", "session": "ahp-session:/s", "chat": "ahp-chat:/c"},
    "supportsCommandDetection": True,
    "isPty": True,
    "note": "kept as it was",
}


@pytest.fixture
def kept(host):
    host.kept[URI] = encode(STATE)
    host.directory = ChannelDirectory(host.store)
    host.directory.register(ChannelKind.TERMINAL, host.service.channels)
    return host


def opened(host):
    assert host.directory.resolve(URI) == URI
    assert host.directory.ready(URI) is None


def test_it_reads_back_exactly(kept):
    opened(kept)
    snapshot = decode(encode(kept.store.snapshot(URI)))
    assert snapshot["state"] == STATE
    assert kept.lists == [], "no list has it"


def test_nothing_is_said_on_it_and_every_action_is_refused(kept):
    opened(kept)
    reader = kept.reader(URI)
    words = f"Terminal {URI} is gone; what it printed is all that is kept"
    assert kept.dispatch(URI, "input", data="x") == words
    assert kept.dispatch(URI, "cleared") == words
    assert reader.said == []
    assert kept.service.find(URI) is None


def test_it_is_let_go_of_when_the_last_one_stops_looking(kept):
    opened(kept)
    one, two = kept.reader(URI), kept.reader(URI)
    kept.store.unsubscribe(URI, one)
    assert kept.store.is_open(URI)
    kept.store.leave(two)
    assert not kept.store.is_open(URI)
    opened(kept)
    assert plain(kept.store.state(URI)) == STATE


def test_asked_for_and_never_watched_it_is_let_go_of(kept):
    opened(kept)
    kept.clock.advance(UNWATCHED / 2)
    assert kept.store.is_open(URI)
    kept.clock.advance(UNWATCHED)
    assert not kept.store.is_open(URI)


def test_watched_it_stays_for_as_long_as_it_is(kept):
    opened(kept)
    reader = kept.reader(URI)
    kept.clock.advance(10 * UNWATCHED)
    assert kept.store.is_open(URI)
    kept.store.unsubscribe(URI, reader)
    assert kept.clock.getDelayedCalls() == []


def test_whoever_watched_before_it_was_open_holds_it_open(kept):
    class Early:
        def lagging(self):
            return False

    early = Early()
    kept.store.subscribe(URI, early)
    opened(kept)
    kept.clock.advance(UNWATCHED)
    assert kept.store.is_open(URI)
    kept.store.unsubscribe(URI, early)
    assert not kept.store.is_open(URI)


def test_one_nothing_is_kept_of_is_unknown(host):
    host.directory = ChannelDirectory(host.store)
    host.directory.register(ChannelKind.TERMINAL, host.service.channels)
    assert host.directory.resolve(URI) is None
    assert host.directory.sought(URI) is None
    with pytest.raises(RpcError) as failed:
        host.service.channels.ready(URI)
    assert failed.value.code == SESSION_NOT_FOUND


@pytest.mark.logs_failures
def test_what_is_kept_and_cannot_be_read_is_said_in_words(kept):
    kept.kept[URI] = b"{"
    with pytest.raises(RpcError) as failed:
        kept.directory.ready(URI)
    assert (failed.value.code, failed.value.message) == (
        INTERNAL_ERROR,
        f"What is kept of {URI} cannot be read",
    )
    assert not kept.store.is_open(URI)


def test_a_live_terminal_stays_open_when_nobody_looks(host):
    host.create(URI)
    reader = host.reader(URI)
    host.store.unsubscribe(URI, reader)
    assert host.store.is_open(URI)


def test_a_stopped_host_waits_for_nobody_to_look(kept):
    opened(kept)
    kept.stop()


def test_what_is_asked_for_of_a_stopped_host_leaves_nothing_on_its_clock(kept):
    kept.stop()
    opened(kept)
    assert kept.store.is_open(URI)
    assert kept.clock.getDelayedCalls() == []


def test_what_a_broken_store_cannot_read_is_unknown_and_in_the_log(make_host):
    def broken(uri):
        raise StoreFailure("the disk is gone")

    host, events = make_host(kept=broken), []
    directory = ChannelDirectory(host.store)
    directory.register(ChannelKind.TERMINAL, host.service.channels)
    globalLogPublisher.addObserver(events.append)
    try:
        assert directory.resolve(URI) is None
        with pytest.raises(RpcError, match="not found"):
            directory.ready(URI)
        assert host.create(URI) == URI
    finally:
        globalLogPublisher.removeObserver(events.append)
    assert [event["words"] for event in events if "words" in event] == ["the disk is gone"] * 3
