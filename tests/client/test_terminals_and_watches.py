"""Terminals and watches as a client holds them, and how a probe compares what it holds."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.protocol.text import plain
from ahpd.testing.client import ProbeClient
from ahpd.testing.scrollback import SCROLLBACK

from .conftest import ScriptedHost

TERMINAL = "ahp-terminal:/one"
WATCH = "ahp-resource-watch://r/one"
CLAIM = {"kind": "client", "clientId": "somebody"}


def terminal(*content, **more):
    lifecycle = {"status": "running"}
    return {"title": "t", "content": [*content], "lifecycle": lifecycle, "claim": CLAIM, **more}


def data(text):
    return {"type": "terminal/data", "data": text}


def text(value):
    return {"type": "unclassified", "value": value}


def watching(clock, name="probe"):
    """A probe past its handshake, and its host."""
    probe = ProbeClient(name, clock)
    host = ScriptedHost(probe)
    done = Deferred.fromCoroutine(probe.initialize())
    host.answer("initialize", {"protocolVersion": "1.0.0", "serverSeq": 0, "snapshots": []})
    assert done.called
    return probe, host


def snapshot(channel, state, seq):
    return {"resource": channel, "state": state, "fromSeq": seq}


def subscribe(probe, host, channel, state, seq):
    done = Deferred.fromCoroutine(probe.subscribe(channel))
    host.answer("subscribe", {"snapshot": snapshot(channel, state, seq)})
    assert done.called
    return done.result


def test_a_terminal_is_what_was_said_of_it(clock):
    probe, host = watching(clock)
    subscribe(probe, host, TERMINAL, terminal(text("$ ")), 3)
    executed = {"type": "terminal/commandExecuted", "commandId": "c", "commandLine": "ls"}
    host.act(TERMINAL, 4, {**executed, "timestamp": 5})
    for seq, piece in enumerate(("a.t", "xt\r\n"), 5):
        host.act(TERMINAL, seq, data(piece))
    host.act(TERMINAL, 7, {"type": "terminal/commandFinished", "commandId": "c", "exitCode": 0})
    host.act(TERMINAL, 8, {"type": "terminal/resized", "cols": 7, "rows": 3})
    host.act(TERMINAL, 9, {"type": "terminal/exited", "exitCode": 0})
    ran = {
        "type": "command",
        "commandId": "c",
        "commandLine": "ls",
        "output": "a.txt\r\n",
        "timestamp": 5,
        "isComplete": True,
        "exitCode": 0,
    }
    state = terminal(text("$ "), ran, cols=7, rows=3, supportsCommandDetection=True)
    state["lifecycle"] = {"status": "exited", "exitCode": 0}
    assert probe.plain_state(TERMINAL) == state
    probe.assert_converged(snapshot(TERMINAL, state, 9))
    probe.check()


def test_a_watch_keeps_what_it_watches_and_says_its_batches(clock):
    probe, host = watching(clock)
    state = {"root": "file:///x", "recursive": True}
    subscribe(probe, host, WATCH, state, 3)
    items = [{"uri": "file:///x/a", "type": "added"}, {"uri": "file:///x/b", "type": "deleted"}]
    host.act(WATCH, 4, {"type": "resourceWatch/changed", "changes": {"items": items}})
    assert probe.state(WATCH) == state
    assert [said.action["changes"]["items"] for said in probe.envelopes(WATCH)] == [items]
    probe.assert_converged(snapshot(WATCH, state, 4))
    with pytest.raises(AssertionError, match="recursive is True and False"):
        probe.assert_converged(snapshot(WATCH, {**state, "recursive": False}, 4))
    probe.check()


LONG = "".join(f"{number:07d}\n" for number in range(SCROLLBACK // 4))


@pytest.fixture
def flooded(clock):
    """A probe that was told more than a host keeps, from an empty terminal on."""
    probe, host = watching(clock)
    subscribe(probe, host, TERMINAL, terminal(), 1)
    half = len(LONG) // 2
    host.act(TERMINAL, 2, data(LONG[:half]))
    host.act(TERMINAL, 3, data(LONG[half:]))
    return probe, host


def test_a_late_subscriber_may_read_the_newest_alone(flooded):
    probe, _ = flooded
    probe.assert_converged(snapshot(TERMINAL, terminal(text(LONG[-SCROLLBACK:])), 3))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (LONG, "400000 characters, and at most 200000 are kept"),
        (LONG[-SCROLLBACK - 1 :], "200001 characters"),
        (LONG[:SCROLLBACK], r"content\[0\]\.value"),
        (LONG[-SCROLLBACK:-1], r"content\[0\]\.value"),
        (LONG[-100:], "which left 100 characters"),
        ("", "which left 0 characters"),
    ],
)
def test_a_late_subscriber_that_reads_anything_else_is_found(flooded, content, words):
    probe, _ = flooded
    with pytest.raises(AssertionError, match=words):
        probe.assert_converged(snapshot(TERMINAL, terminal(text(content)), 3))


def test_what_was_short_may_not_be_cut(clock):
    probe, host = watching(clock)
    subscribe(probe, host, TERMINAL, terminal(text("hello ")), 1)
    host.act(TERMINAL, 2, data("world"))
    probe.assert_converged(snapshot(TERMINAL, terminal(text("hello world")), 2))
    with pytest.raises(AssertionError, match="'hello world' and 'world'"):
        probe.assert_converged(snapshot(TERMINAL, terminal(text("world")), 2))


def test_two_clients_agree_whichever_came_first(clock, flooded):
    early, host = flooded
    late, other = watching(clock, "late")
    subscribe(late, other, TERMINAL, terminal(text(LONG[-SCROLLBACK:])), 3)
    host.act(TERMINAL, 4, data("more"))
    with pytest.raises(AssertionError, match="content"):
        early.assert_converged(late, TERMINAL)
    other.act(TERMINAL, 4, data("more"))
    early.assert_converged(late, TERMINAL)
    late.assert_converged(early, TERMINAL)


def test_a_terminal_subscribed_to_again_is_no_other_one(flooded):
    probe, host = flooded
    kept = terminal(text(LONG[-SCROLLBACK:]))
    subscribe(probe, host, TERMINAL, kept, 3)
    assert probe.restarts == []
    assert plain(probe.state(TERMINAL)) == kept
    host.act(TERMINAL, 4, data("more"))
    probe.assert_converged(snapshot(TERMINAL, terminal(text(LONG[4 - SCROLLBACK :] + "more")), 4))
    subscribe(probe, host, TERMINAL, terminal(text("another")), 4)
    assert len(probe.restarts) == 1
