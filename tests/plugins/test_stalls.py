"""Who is said to hold up the whole host, and who is not."""

import sys
import threading
import time

import attrs
import pytest

from ahpd.plugins import stalls
from ahpd.plugins.manifest import Manifest
from ahpd.plugins.own_frames import running_in
from ahpd.plugins.stalls import StallWatch
from tests.plugins.made import entry, found_as

NAME = "ahpd-plugin-stalls"


class Reactor:
    """Answers what it is asked only when it is turned."""

    def __init__(self):
        self.asked = []

    def callFromThread(self, call, *arguments):
        self.asked.append((call, arguments))

    def turn(self):
        asked, self.asked = self.asked, []
        for call, arguments in asked:
            call(*arguments)


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(stalls, "PERIOD", 0.02)
    monkeypatch.setattr(stalls, "LIMIT", 0.02)


@pytest.fixture
def plugin(tmp_path):
    """Makes a plugin whose one function calls what it is given, on its second line."""

    def make(name):
        folder = tmp_path / name
        folder.mkdir()
        file = folder / "main.py"
        file.write_text("def run(what):\n    return what()\n")
        space = {}
        exec(compile(file.read_text(), str(file), "exec"), space)
        found = found_as(entry(folder), Manifest(id=name, place="plugin.yaml"))
        return attrs.evolve(found, file=file, folder=folder, root=folder.parent), space["run"]

    return make


@pytest.fixture
def watching():
    """Watches plugins on a reactor until the test is over."""
    begun = []

    def begin(reactor, *plugins):
        watch = StallWatch(reactor)
        for found in plugins:
            watch.begin(found)
            begun.append((watch, found))
        return watch

    yield begin
    for watch, found in begun:
        watch.end(found)
    until(lambda: not watchers())


def until(condition, turn=lambda: None):
    last = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < last, "it never came about"
        turn()
        time.sleep(0.005)


def watchers():
    return [one for one in threading.enumerate() if one.name == NAME]


def said_of(lines):
    return [line for line in lines() if line.startswith("plugin ")]


def test_what_blocks_is_named_while_it_does_and_when_it_goes_on(plugin, watching, log_lines):
    reactor = Reactor()
    found, run = plugin("slow")
    other, _ = plugin("other")
    watching(reactor, other, found)
    run(lambda: until(lambda: said_of(log_lines)))
    (line,) = said_of(log_lines)
    assert line.startswith(
        "plugin slow: it has held up this host, and everybody on it, for about 0."
    )
    assert line.endswith(" s now, at main.py:2: long work belongs in a thread")
    until(lambda: len(said_of(log_lines)) == 2, reactor.turn)
    assert said_of(log_lines)[1].startswith("plugin slow: it held up this host for about 0.")


def test_of_two_it_is_the_one_that_was_called_last(plugin, watching, log_lines):
    (first, calls), (second, blocks) = plugin("first"), plugin("second")
    watching(Reactor(), first, second)
    calls(lambda: blocks(lambda: until(lambda: said_of(log_lines))))
    assert said_of(log_lines)[0].startswith("plugin second: ")


def test_one_that_answers_is_not_looked_at(plugin, watching, log_lines, monkeypatch):
    reactor, rounds = Reactor(), []

    def turn():
        rounds.extend(reactor.asked)
        reactor.turn()

    found, run = plugin("busy")
    monkeypatch.setattr(stalls, "LIMIT", 30)  # a machine may be busy too
    watching(reactor, found)
    run(lambda: until(lambda: len(rounds) >= 5, turn))
    assert said_of(log_lines) == []


def test_what_is_the_hosts_own_is_not_said(plugin, watching, log_lines):
    found, _ = plugin("innocent")
    watch = watching(Reactor(), found)
    looks = []
    look = watch._running
    watch._running = lambda watched: looks.append(watched) or look(watched)
    until(lambda: len(looks) >= 3)
    assert set(looks) == {threading.get_ident()}
    assert said_of(log_lines) == []


def test_the_last_plugin_that_goes_takes_the_thread_with_it(plugin, watching):
    first, _ = plugin("first")
    second, _ = plugin("second")
    watch = watching(Reactor(), first, second)
    assert len(watchers()) == 1
    watch.end(first)
    (thread,) = watchers()
    watch.end(second)
    thread.join(30)
    assert watchers() == []
    watch.begin(first)
    assert len(watchers()) == 1


def test_it_goes_while_it_waits_for_an_answer_that_never_comes(plugin, watching, log_lines):
    found, run = plugin("stuck")
    watch = watching(Reactor(), found)
    run(lambda: until(lambda: said_of(log_lines)))
    watch.end(found)
    until(lambda: not watchers())


def test_a_reactor_without_threads_is_not_watched(plugin, watching):
    found, _ = plugin("calm")
    watching(object(), found)
    assert watchers() == []


def test_a_frame_of_nobodys_is_nobodys(plugin):
    found, run = plugin("one")
    assert running_in(sys._getframe(), [found]) is None
    assert run(lambda: running_in(sys._getframe(), [found])) == (found, "main.py:2")
