"""Who is said to hold up the whole host, and who is not."""

import copyreg
import sys
import threading
import time
import types

import attrs
import pytest
from twisted.internet.base import DelayedCall, ReactorBase

from ahpd.plugins import stalls
from ahpd.plugins.belongings import Belongings
from ahpd.plugins.manifest import Manifest
from ahpd.plugins.own_frames import Owner, running_in
from ahpd.plugins.stalls import StallWatch, _Look
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
    monkeypatch.setattr(stalls, "PROMPT", 0.02)
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
        "plugin slow: it has held up this host, and everybody on it, for at least 0."
    )
    assert line.endswith(" s now, at main.py:2: long work belongs in a thread")
    until(lambda: len(said_of(log_lines)) == 2, reactor.turn)
    assert said_of(log_lines)[1].startswith("plugin slow: it held up this host for at least 0.")


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
    monkeypatch.setattr(stalls, "PROMPT", 30)  # a machine may be busy too
    watching(reactor, found)
    run(lambda: until(lambda: len(rounds) >= 5, turn))
    assert said_of(log_lines) == []


def test_what_is_the_hosts_own_is_said_once_without_a_name(plugin, watching, log_lines):
    found, _ = plugin("innocent")
    watch = watching(Reactor(), found)
    looks = []
    look = watch._look
    watch._look = lambda watched: looks.append(watched) or look(watched)
    until(lambda: len(looks) >= 6)
    assert set(looks) == {threading.get_ident()}
    assert said_of(log_lines) == []
    (line,) = [line for line in log_lines() if line.startswith("this host, and everybody on it")]
    assert f" in {__file__}:" in line
    assert line.endswith(": it cannot be told whose that is")


class Looks(StallWatch):
    """One that sees what it is told, a look after the other."""

    def __init__(self, reactor, *plugins):
        super().__init__(reactor)
        self._left = [_Look(plugin, f"{plugin}.py:1" if plugin else "there") for plugin in plugins]
        self.done = False

    def _look(self, watched):
        if len(self._left) > 1:
            return self._left.pop(0)
        self.done = True
        return self._left[0]


@pytest.mark.parametrize(
    ("looks", "named"),
    [
        (["", "innocent", "other", ""], []),
        (["innocent", "other", "innocent", "other", "innocent", ""], []),
        (["innocent", "culprit", "culprit", "innocent", ""], ["culprit"]),
        (["a", "a", "b", "b", "b", ""], ["a", "b"]),
    ],
)
def test_a_plugin_that_two_looks_in_a_row_see_is_named_and_no_other(
    plugin, log_lines, looks, named
):
    found, _ = plugin("any")
    watch = Looks(Reactor(), *looks)
    watch.begin(found)
    until(lambda: watch.done)
    watch.end(found)
    until(lambda: not watchers())
    said = [line.partition(":")[0].split()[1] for line in said_of(log_lines)]
    assert said == [one for one in named for _ in range(2)]


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
    owner = Owner(found)
    assert running_in(sys._getframe(), [owner]) is None
    assert run(lambda: running_in(sys._getframe(), [owner])) == (owner, "main.py:2")


class Turns(ReactorBase):
    """A reactor that only runs what is due."""

    def installWaker(self):
        """It waits for nothing."""

    def seconds(self):
        return 1.0


def test_what_a_timer_calls_for_a_plugin_is_that_ones_and_else_nobodys(
    plugin, watching, monkeypatch
):
    found, run = plugin("slow")
    watch = watching(Reactor(), found)
    run.__globals__["__name__"] = "slow.main"
    monkeypatch.setitem(sys.modules, "slow.main", types.ModuleType("slow.main"))
    watch.knows(found, Belongings(package="slow", private=True))
    looks = []

    def look(*given):
        looks.append(watch._look(threading.get_ident()))

    # What is called is Python's own, and `run` what it was given.
    for given in (run, print):
        reactor = Turns()
        call = DelayedCall(0, copyreg.__newobj__, (_Looks, look, given), {}, id, id)
        reactor._pendingTimedCalls.append(call)
        reactor.runUntilCurrent()
    assert [look.plugin for look in looks] == ["slow", ""]
    assert looks[0].place == "run of slow.main"
    assert looks[1].place.startswith("copyreg.__newobj__, in ")


class _Looks:
    """Has the watch look while it is made."""

    def __new__(cls, look, given):
        look()


def test_another_package_of_a_plugins_tree_is_its_own(plugin, watching, tmp_path, monkeypatch):
    found, _ = plugin("slow")
    folder = tmp_path / "helps"
    folder.mkdir()
    file = folder / "__init__.py"
    space = {"__name__": "helps"}
    exec(compile("def run(what):\n    return what()\n", str(file), "exec"), space)
    module = types.ModuleType("helps")
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, "helps", module)
    watch = watching(Reactor(), found)

    def look():
        return watch._look(threading.get_ident())

    assert space["run"](look).plugin == ""
    watch.knows(found, Belongings(package="slow", root=str(tmp_path), tree=True))
    seen = space["run"](look)
    assert (seen.plugin, seen.place) == ("slow", "helps/__init__.py:2")
