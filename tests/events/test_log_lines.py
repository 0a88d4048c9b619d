"""Each line of the log is an event, at no cost while nobody listens."""

import threading

import pytest
from twisted.internet.task import Clock
from twisted.logger import Logger, globalLogPublisher

from ahpd.daemon.log import log_line
from ahpd.events.bus import Events, Listener
from ahpd.events.log_lines import LogLines

log = Logger(namespace="ahpd.tests")


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def events(clock):
    return Events(clock)


@pytest.fixture
def observe(events):
    added = []

    def observe(line_of, from_thread=None):
        lines = LogLines(events, line_of, from_thread)
        globalLogPublisher.addObserver(lines)
        added.append(lines)

    yield observe
    for lines in added:
        globalLogPublisher.removeObserver(lines)


def listen(events, call=None):
    heard = []

    def hear(payload):
        heard.append(payload["line"])
        if call is not None:
            call()

    events.listen("log", Listener("p", hear))
    return heard


def test_a_line_is_the_one_the_daemon_logs_without_its_secrets(events, clock, observe):
    observe(log_line(("s3cret",)))
    heard = listen(events)
    log.info("opened ws://127.0.0.1/?tkn=abc with {secret}", secret="s3cret")
    log.debug("of no interest")
    Logger(namespace="twisted.web").info("chatter")
    Logger(namespace="twisted.web").warn("trouble")
    clock.advance(0)
    assert [line.split(" ", 2)[1:] for line in heard] == [
        ["info", "opened ws://127.0.0.1/?tkn=<token> with <secret>"],
        ["warn", "trouble"],
    ]


def test_no_line_is_made_while_nobody_listens(events, clock, observe):
    made = []
    observe(made.append)
    log.info("one")
    assert made == []
    listen(events)
    log.info("two")
    assert [event["log_format"] for event in made] == ["two"]


def test_a_listener_that_logs_does_not_hear_itself(events, clock, observe):
    observe(log_line(()))
    heard = listen(events, lambda: log.info("heard it"))
    log.info("one")
    for _ in range(5):
        clock.advance(0)
    assert len(heard) == 1


def test_making_a_line_may_log(events, clock, observe):
    def chatty(event):
        log.info("making {what}", what=event["log_format"])
        return event["log_format"]

    observe(chatty)
    heard = listen(events)
    log.info("one")
    clock.advance(0)
    assert heard == ["one"]


def test_what_another_thread_logs_is_said_in_the_reactors(events, clock, observe):
    def elsewhere(words):
        thread = threading.Thread(target=lambda: log.info(words))
        thread.start()
        thread.join()

    brought = []
    observe(log_line(()), lambda call, *arguments: brought.append((call, arguments)))
    heard = listen(events)
    elsewhere("from a thread")
    clock.advance(0)
    assert heard == []
    [(call, arguments)] = brought
    call(*arguments)
    clock.advance(0)
    assert [line.split(" ", 2)[2] for line in heard] == ["from a thread"]


def test_without_a_way_into_the_reactors_thread_it_is_left_out(events, clock, observe):
    observe(log_line(()))
    heard = listen(events)
    thread = threading.Thread(target=lambda: log.info("from a thread"))
    thread.start()
    thread.join()
    clock.advance(0)
    assert heard == []
