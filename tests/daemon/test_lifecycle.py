"""Readiness, failure, signals and the bound of a stop."""

import gc
import os
import signal

import pytest
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import CannotListenError
from twisted.internet.testing import MemoryReactorClock

from ahpd.daemon import lifecycle
from ahpd.daemon.lifecycle import Lifecycle, StartError


class Reactor(MemoryReactorClock):
    """A reactor whose start, stop and triggers are the test's to make."""

    def __init__(self):
        super().__init__()
        self.running = False
        self.waiting = []
        self.triggers = []
        self.stops = 0

    def callWhenRunning(self, function, *args):
        self.waiting.append((function, args))

    def callFromThread(self, function, *args):
        function(*args)

    def addSystemEventTrigger(self, phase, event, function):
        self.triggers.append((phase, event, function))

    def start(self):
        self.running = True
        waiting, self.waiting = self.waiting, []
        for function, args in waiting:
            function(*args)

    def stop(self):
        self.stops += 1


class Started:
    """A lifecycle that was started, and what it said."""

    def __init__(self, ready, ended=None, announce=None, **options):
        self.reactor = Reactor()
        self.said = []
        self.service = Lifecycle(
            self.reactor,
            ready,
            Deferred() if ended is None else ended,
            announce=announce or (lambda url: self.said.append(("listening", url))),
            failed=lambda words: self.said.append(("failed", words)),
            tell=lambda *lines: self.said.append(lines),
            leave=lambda status: self.said.append(("left", status)),
            stop_seconds=20.0,
            **options,
        )

    def start(self):
        self.service.startService()
        return self


class Leaving:
    """What ends the process beside the reactor, and what it was told."""

    made = None

    def __init__(self, seconds, leave):
        self.seconds, self.told = seconds, []
        Leaving.made = self

    def begin(self):
        self.told.append("begin")

    def drained(self, status):
        self.told.append(status)


@pytest.fixture(autouse=True)
def _leaving(monkeypatch):
    monkeypatch.setattr(lifecycle, "Leaving", Leaving)


@pytest.fixture(autouse=True)
def _own_signals():
    kept = {number: signal.getsignal(number) for number in (1, 2, 15)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def test_a_host_that_listens_is_announced_and_then_told_to_the_service_manager():
    ready = Deferred()
    started = Started(ready).start()
    assert started.said == []
    ready.callback("ws://127.0.0.1:1")
    assert started.said == [], "nobody is told before signals are caught"
    started.reactor.start()
    assert started.said == [
        ("listening", "ws://127.0.0.1:1"),
        ("READY=1", "STATUS=listening on ws://127.0.0.1:1"),
    ]


def test_a_host_over_stdio_is_ready_without_a_url():
    started = Started(succeed(None)).start()
    started.reactor.start()
    assert started.said == [("listening", None), ("READY=1", "STATUS=serving stdio")]


def test_one_that_cannot_listen_says_so_and_stops_once_the_reactor_runs():
    in_use = CannotListenError("127.0.0.1", 80, OSError(98, "Address already in use"))
    started = Started(fail(in_use)).start()
    ((kind, words),) = started.said
    assert kind == "failed"
    assert words.startswith("cannot listen on 127.0.0.1:80: the port is in use")
    assert started.reactor.stops == 0
    started.reactor.start()
    assert started.reactor.stops == 1


def test_a_failure_known_at_the_start_is_raised_where_that_is_asked_for():
    started = Started(fail(OSError(13, "Permission denied")), raises=True)
    with pytest.raises(StartError, match="Permission denied"):
        started.start()


def test_an_announcement_that_fails_is_a_failed_start():
    def announce(url):
        raise OSError(28, "No space left on device", "/x/daemon.json")

    started = Started(succeed("ws://x"), announce=announce)
    started.start()
    started.reactor.start()
    assert started.said == [("failed", "/x/daemon.json: No space left on device")]
    assert started.reactor.stops == 1


def test_a_host_with_nobody_left_to_serve_stops():
    ended = Deferred()
    started = Started(succeed(None), ended).start()
    started.reactor.start()
    assert started.reactor.stops == 0
    ended.callback("the client is gone")
    assert started.reactor.stops == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_stops_the_reactor_once(number):
    started = Started(succeed("ws://x")).start()
    started.reactor.start()
    os.kill(os.getpid(), number)
    assert started.reactor.stops == 1
    if number is not signal.SIGINT:
        os.kill(os.getpid(), number)
        assert started.reactor.stops == 1
    # A second SIGINT is the system's own, which ends the process.
    assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL


def test_a_signal_that_was_ignored_at_the_start_stays_so():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    started = Started(succeed("ws://x")).start()
    started.reactor.start()
    os.kill(os.getpid(), signal.SIGHUP)
    assert started.reactor.stops == 0


def test_a_stop_that_ends_in_time_leaves_by_itself():
    started = Started(succeed("ws://x")).start()
    started.service.stopService()
    assert started.said[-1] == ("STOPPING=1",)
    (begin, done) = started.reactor.triggers
    assert begin[:2] == ("before", "shutdown")
    assert done[:2] == ("after", "shutdown")
    started.reactor.advance(19)
    done[2]()
    started.reactor.advance(60)
    assert ("left", 1) not in started.said
    assert not started.reactor.getDelayedCalls()


def test_a_stop_that_hangs_is_left_at_its_bound():
    started = Started(succeed("ws://x")).start()
    started.service.stopService()
    started.reactor.advance(19.9)
    assert ("left", 1) not in started.said
    started.reactor.advance(0.2)
    assert started.said[-1] == ("left", 1)


def test_what_becomes_ready_while_it_stops_is_not_announced():
    ready = Deferred()
    started = Started(ready).start()
    started.service.stopService()
    ready.callback("ws://x")
    assert started.said == [("STOPPING=1",)]


def test_what_can_wait_is_done_in_small_steps_once_it_listens():
    done = []
    started = Started(succeed(None), prepare=(done.append(step) for step in range(3))).start()
    started.reactor.start()
    assert done == []
    started.reactor.advance(0.001)
    assert done == [0]
    for _ in range(5):
        started.reactor.advance(0.001)
    assert done == [0, 1, 2]
    assert gc.get_freeze_count() > 0
    gc.unfreeze()


def test_nothing_more_is_prepared_once_it_stops():
    done = []
    started = Started(succeed(None), prepare=(done.append(step) for step in range(3))).start()
    started.reactor.start()
    started.reactor.advance(0.001)
    started.service.stopService()
    started.reactor.advance(0.001)
    assert done == [0]


@pytest.mark.parametrize("ready", [succeed("ws://x"), fail(OSError(13, "Permission denied"))])
def test_a_stop_is_bounded_beside_the_reactor_too(ready):
    started = Started(ready).start()
    started.reactor.start()
    assert (Leaving.made.seconds, Leaving.made.told) == (22.0, [])
    # From its signal on, which a reactor that is held up never hears of; or from its shutdown on.
    os.kill(os.getpid(), signal.SIGTERM)
    assert Leaving.made.told == ["begin"]
    started.service.stopService()
    for _, _, function in started.reactor.triggers:
        function()
    status = 0 if ("listening", "ws://x") in started.said else 1
    assert Leaving.made.told == ["begin", "begin", status]
