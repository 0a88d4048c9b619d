"""Events reach their listeners in order, each awaited, and no listener costs another one."""

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import globalLogPublisher

from ahpd.events.bus import PATIENCE, Events, Listener
from ahpd.interfaces import EVENTS


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def events(clock):
    return Events(clock)


def test_listeners_are_told_in_the_order_they_came_and_events_in_the_order_they_were_said(
    events, clock
):
    heard = []
    for name in ("a", "b"):
        events.listen("message", Listener(name, lambda p, name=name: heard.append((name, p["n"]))))
    events.emit("message", {"n": 1})
    events.emit("message", {"n": 2})
    assert heard == []  # whoever said it goes on first
    clock.advance(0)
    assert heard == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]


def test_a_listener_that_waits_holds_the_next_one_and_the_next_event(events, clock):
    heard, waiting = [], Deferred()

    async def slow(payload):
        await waiting
        heard.append(("slow", payload["n"]))

    events.listen("message", Listener("a", slow))
    events.listen("message", Listener("b", lambda p: heard.append(("b", p["n"]))))
    events.listen("terminal_open", Listener("b", lambda p: heard.append("terminal")))
    events.emit("message", {"n": 1})
    events.emit("terminal_open", {})
    clock.advance(1)
    assert heard == []
    waiting.callback(None)
    assert heard == [("slow", 1), ("b", 1), "terminal"]


@pytest.mark.logs_failures
def test_a_listener_that_raises_costs_nobody_else(events, clock):
    heard = []

    def broken(payload):
        raise RuntimeError("no")

    async def broken_later(payload):
        raise RuntimeError("no")

    events.listen("message", Listener("a", broken))
    events.listen("message", Listener("b", broken_later))
    events.listen("message", Listener("c", heard.append))
    events.emit("message", {"n": 1})
    clock.advance(0)
    assert heard == [{"n": 1}]


@pytest.mark.logs_failures
def test_a_listener_that_never_returns_is_left_behind(events, clock):
    heard, ended = [], []

    async def forever(payload):
        try:
            await Deferred()
        finally:
            ended.append(True)

    events.listen("message", Listener("a", forever))
    events.listen("message", Listener("b", heard.append))
    events.emit("message", {"n": 1})
    clock.advance(0)
    clock.advance(PATIENCE - 1)
    assert heard == []
    clock.advance(1)
    assert (heard, ended) == ([{"n": 1}], [True])
    assert clock.getDelayedCalls() == []


def test_tell_returns_when_everybody_was_told_and_can_name_one_plugin(events, clock):
    heard, waiting, done = [], Deferred(), []

    async def slow(payload):
        await waiting
        heard.append("slow")

    events.listen("listening", Listener("a", slow))
    events.listen("listening", Listener("b", lambda p: heard.append("b")))
    telling = Deferred.fromCoroutine(events.tell("listening", {}, "a"))
    telling.addCallback(done.append)
    clock.advance(0)
    assert done == []
    waiting.callback(None)
    assert (heard, done) == (["slow"], [None])


def test_what_waits_for_a_plugin_that_goes_is_not_told_to_it(events, clock):
    heard, waiting = [], Deferred()
    events.listen("message", Listener("a", lambda p: waiting))
    events.listen("terminal_open", Listener("gone", heard.append))
    events.emit("message", {})
    events.emit("terminal_open", {})
    clock.advance(0)
    events.forget("gone")
    waiting.callback(None)
    assert heard == []
    assert not events.listened("terminal_open")
    assert events.listened("message")


def test_an_event_nobody_has_is_refused(events):
    with pytest.raises(ValueError, match="there is no event 'sesion_start'"):
        events.listen("sesion_start", Listener("a", print))
    for name in EVENTS:
        events.listen(name, Listener("a", print))


def test_what_a_listener_of_the_log_logs_does_not_come_back_to_it(events, clock):
    heard = []

    def hear(payload):
        heard.append(payload["line"])
        events.emit("log", {"line": "again"})

    events.listen("log", Listener("a", hear))
    events.emit("log", {"line": "once"})
    clock.advance(0)
    clock.advance(0)
    assert heard == ["once"]


def test_what_others_log_meanwhile_reaches_a_listener_of_the_log_that_waits(events, clock):
    heard, waiting = [], Deferred()

    async def hear(payload):
        heard.append(payload["line"])
        if len(heard) == 1:
            await waiting
            events.emit("log", {"line": "its own"})

    events.listen("log", Listener("a", hear))
    events.emit("log", {"line": "first"})
    clock.advance(0)
    events.emit("log", {"line": "another's"})
    waiting.callback(None)
    clock.advance(0)
    assert heard == ["first", "another's"]


def test_what_nobody_listens_to_costs_no_payload_and_no_turn(clock):
    prepared = []
    events = Events(clock, lambda payload: prepared.append(payload) or payload)
    events.emit("message", {"n": 1})
    assert (prepared, clock.getDelayedCalls()) == ([], [])


def test_events_waiting_for_a_listener_that_is_slow_are_bounded(events, clock, monkeypatch):
    monkeypatch.setattr("ahpd.events.bus.MOST_WAITING", 3)
    logged, heard, waiting = [], [], Deferred()
    globalLogPublisher.addObserver(logged.append)
    try:
        events.listen("message", Listener("a", lambda p: heard.append(p["n"]) or waiting))
        events.emit("message", {"n": 0})
        clock.advance(0)
        for n in range(1, 6):
            events.emit("message", {"n": n})
        waiting.callback(None)
        clock.advance(0)
    finally:
        globalLogPublisher.removeObserver(logged.append)
    assert heard == [0, 3, 4, 5]
    assert any("dropped" in str(one.get("log_format")) for one in logged)


@pytest.mark.logs_failures
def test_a_listener_that_is_told_while_its_plugin_goes_is_cancelled_and_the_next_one_heard(
    events, clock, log_lines
):
    heard = []

    async def waits(payload):
        try:
            await Deferred()
        except BaseException as error:
            heard.append(type(error).__name__)
            raise

    events.listen("message", Listener("a", waits))
    events.listen("message", Listener("b", lambda p: heard.append("b")))
    events.emit("message", {"n": 1})
    clock.advance(0)
    events.forget("c")
    assert heard == []
    events.forget("a")
    assert heard == ["CancelledError", "b"]
    assert clock.getDelayedCalls() == []
    assert not [line for line in log_lines() if "listener" in line]
    # One that fails afterwards is said as ever.
    events.listen("message", Listener("d", lambda p: 1 / 0))
    events.emit("message", {"n": 2})
    clock.advance(0)
    assert heard == ["CancelledError", "b", "b"]
    assert [line for line in log_lines() if "plugin d: its listener of message failed" in line]
