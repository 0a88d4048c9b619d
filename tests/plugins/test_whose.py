"""Whose code something runs: who would be called, and that nobody's code is run to find out."""

import shelve
import sys
import types
import weakref
from collections.abc import Mapping
from functools import partial
from typing import ClassVar

import pytest
from twisted.internet.base import DelayedCall
from twisted.internet.defer import Deferred
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import Clock, CooperativeTask, Cooperator, LoopingCall, deferLater
from twisted.web.client import HTTPConnectionPool
from twisted.web.resource import Resource
from twisted.web.server import Site

from ahpd.bounded import bounded
from ahpd.client import Client
from ahpd.plugins.whose import Code, Whose

MINE, THEIRS, LIBRARY = "mine.main", "theirs.main", "some_library"


def code(module, text, **given):
    """What a module of that name holds."""
    made = types.ModuleType(module)
    vars(made).update(given)
    exec(text, vars(made))
    return made


def whose(thing, **options):
    """The name of the code of mine that a thing runs, while theirs runs on."""
    found = Whose(frozenset({MINE}), frozenset({THEIRS}).__contains__, main=MINE, **options)(thing)
    assert found is None or found.module == MINE
    return found and found.name


def called(function, *args, **keywords):
    return DelayedCall(0, function, args, keywords, lambda call: None, lambda call: None)


def repeated(function, *args):
    return LoopingCall(function, *args)


BOTH = """
class Page(Resource):
    isLeaf = True
class Talk(Protocol): pass
def job(*args): pass
"""


@pytest.fixture
def mine():
    return code(MINE, BOTH, Resource=Resource, Protocol=Protocol)


@pytest.fixture
def theirs():
    return code(THEIRS, BOTH, Resource=Resource, Protocol=Protocol)


TICKS = """
def ticks(jobs):
    def tick():
        for job in jobs: job()
    return tick

def runs(job):
    return lambda: job()

class Poller:
    def __init__(self, **held):
        self.__dict__.update(held)
    def poll(self): pass
"""


# -- what is only referred to ----------------------------------------------------------


@pytest.mark.parametrize("owner", [THEIRS, LIBRARY])
def test_a_list_of_calls_that_somebody_else_goes_through_is_theirs(mine, owner):
    ticks = code(owner, TICKS)
    for jobs in ([mine.job], (mine.job,), {"a": mine.job}, [lambda: 1, mine.job]):
        assert whose(called(ticks.ticks(jobs))) is None
        assert whose(repeated(ticks.ticks(jobs))) is None
        assert whose(called(ticks.Poller(children=jobs).poll)) is None
        assert whose(called(ticks.ticks, jobs)) is None
        assert whose(called(partial(ticks.ticks, jobs))) is None


def test_what_another_plugin_calls_is_that_ones_however_it_holds_it(mine, theirs):
    runs = code(THEIRS, TICKS)
    assert whose(called(runs.runs(mine.job))) is None
    assert whose(called(runs.Poller(factory=mine.job).poll)) is None
    assert whose(called(theirs.job, mine.job)) is None
    assert whose(called(map, theirs.job, mine.job)) is None


def test_what_a_library_calls_is_whose_it_was_given(mine):
    runs = code(LIBRARY, TICKS)
    assert whose(called(runs.runs(mine.job))) == "job"
    assert whose(called(runs.Poller(protocol=mine.Talk).poll)) == "Talk"
    # What it is only told of is not called.
    assert whose(called(runs.ticks, mine.job)) is None


def test_what_only_calls_what_it_is_given_is_whose_that_is(mine):
    assert whose(called(map, mine.job, [])) == "job"
    assert whose(called(partial(map, mine.job))) == "job"
    assert whose(repeated(map, mine.job)) == "job"
    assert whose(called(print, [mine.job])) is None


def test_a_method_is_whose_object_it_is_on(mine):
    base = code(LIBRARY, "class Base:\n    def inherited(self): pass").Base
    child = code(MINE, "class Child(Base): pass", Base=base).Child
    assert whose(called(child().inherited)) == "inherited"
    assert whose(called(base().inherited)) is None


# -- listeners -------------------------------------------------------------------------


def port(factory):
    return types.SimpleNamespace(factory=factory)


def test_a_site_is_whose_all_its_pages_are(mine, theirs):
    def site(**pages):
        above = Resource()
        for name, page in pages.items():
            above.putChild(name.encode(), page)
        return port(Site(above))

    library = code(LIBRARY, BOTH, Resource=Resource, Protocol=Protocol)
    assert whose(site(a=mine.Page())) == "Page"
    assert whose(site(a=Resource(), b=mine.Page())) == "Page"
    for other in (theirs, library):
        assert whose(site(a=mine.Page(), b=other.Page())) is None
        assert whose(site(a=other.Page(), b=mine.Page())) is None
    assert whose(port(Site(theirs.Page()))) is None


def test_a_page_of_another_plugin_with_one_of_this_below_is_that_ones(mine, theirs):
    above = theirs.Page()
    above.putChild(b"below", mine.Page())
    assert whose(port(Site(above))) is None


def test_what_twisted_and_a_library_wrap_around_a_protocol_is_looked_through(mine):
    library = code(LIBRARY, "class Wraps(Factory): pass", Factory=Factory)
    factory = library.Wraps()
    factory.protocol = mine.Talk
    assert whose(port(factory)) == "Talk"
    assert whose(types.SimpleNamespace(_protocol=mine.Talk())) == "Talk"
    assert whose(types.SimpleNamespace(_protocolFactory=port(mine.Talk))) == "Talk"
    body = types.SimpleNamespace(_bodyProtocol=mine.Talk())
    connection = types.SimpleNamespace(_parser=types.SimpleNamespace(response=body))
    assert whose(types.SimpleNamespace(_wrappedProtocol=connection)) == "Talk"


# -- the host and ahpd -----------------------------------------------------------------


def test_what_the_plugin_was_handed_is_its_own_and_what_another_was_is_not(mine):
    handed = code("ahpd.somewhere", "class Host:\n    def log(self, line): pass").Host
    own, others = handed(), handed()
    assert whose(repeated(own.log, "tick"), handed=[own]) == "log"
    assert whose(called(own.log, "tick"), handed=[own]) == "log"
    assert whose(repeated(others.log, "tick"), handed=[own]) is None
    assert whose(called(others.log, mine.job), handed=[own]) is None


def test_a_connection_of_a_client_is_whose_it_tells_what_it_hears(mine, theirs):
    def connection(*hooks):
        client = Client("some", Clock())
        handler = client.accept(types.SimpleNamespace())
        for hook in hooks:
            client.on_action(hook)
        made = code("ahpd.transports.websocket_client", "class Made: pass").Made()
        made._handler = handler
        return types.SimpleNamespace(protocol=made)

    assert whose(connection(mine.job)) == "job"
    assert whose(connection(theirs.job)) is None
    assert whose(connection(mine.job, theirs.job)) is None
    assert whose(connection()) is None


SWALLOWS = """
async def swallows():
    while True:
        try:
            await deferLater(clock, 1)
        except Exception:
            pass
"""


def test_what_swallows_the_end_of_its_bound_is_the_plugins_once_nobody_waits(mine):
    clock = Clock()
    run = code(MINE, SWALLOWS, deferLater=deferLater, clock=clock).swallows
    waiting = bounded(run, 5, clock)
    waiting.addErrback(lambda failure: None)
    assert {whose(call) for call in clock.getDelayedCalls()} == {None}
    clock.pump([1] * 20)
    (call,) = clock.getDelayedCalls()
    assert whose(call) == "swallows"


def test_the_same_of_another_plugin_and_of_what_was_cancelled_in_time_is_not(mine):
    clock = Clock()
    run = code(THEIRS, SWALLOWS, deferLater=deferLater, clock=clock).swallows
    bounded(run, 5, clock).addErrback(lambda failure: None)
    clock.pump([1] * 20)
    (call,) = clock.getDelayedCalls()
    assert whose(call) is None


# -- nobody's code is run --------------------------------------------------------------


class Thing:
    """Something that weak references lead to."""


class Lazy(Mapping):
    """A mapping of a database that is closed."""

    def __getitem__(self, key):
        raise RuntimeError("closed")

    __iter__ = __len__ = __hash__ = __getitem__


class Listens(dict):
    """A plain mapping that is not one."""

    def values(self):
        raise RuntimeError("values")

    get = keys = items = __iter__ = __contains__ = values


class Spy:
    """Says a class it is not, and whatever it is asked for."""

    asked: ClassVar = []

    def __getattribute__(self, name):
        Spy.asked.append(name)
        raise RuntimeError(name)

    def __eq__(self, other):
        Spy.asked.append("__eq__")
        return True

    __hash__ = None


def hostile(tmp_path):
    thing = Thing()
    dead = weakref.proxy(thing)
    del thing
    shelf = shelve.open(str(tmp_path / "shelf"))  # noqa: SIM115 - it is closed
    shelf.close()
    return [dead, shelf, Lazy(), Listens(a=1), Spy(), partial(Spy), Spy]


def test_no_code_of_anybodys_is_run_whatever_something_holds(mine, tmp_path):
    Spy.asked.clear()
    plain = hostile(tmp_path)
    for one in plain:
        assert whose(one) is None
        assert whose(called(print, one)) is None
        assert whose(called(print, key=one)) is None
        assert whose(called(one)) is None
        assert whose(repeated(print, one)) is None
        assert whose(types.SimpleNamespace(protocol=one, children=one)) is None
        assert whose(called(code(LIBRARY, TICKS).runs(one))) is None
        waiting = Deferred()
        waiting.addCallback(print, one)
        assert whose(called(waiting.callback, None)) is None
        # And what it stands beside is found all the same.
        assert whose(called(print, one, mine.job)) == "job"
        assert whose(types.SimpleNamespace(protocol=one, factory=mine.job)) == "job"
    assert Spy.asked == []


def test_a_class_whose_own_attributes_raise_is_nobodys(mine):
    class Broken:
        @property
        def __dict__(self):
            raise SystemError("no")

        @property
        def __module__(self):
            raise SystemError("no")

    assert whose(Broken()) is None
    assert whose(called(print, Broken(), mine.job)) == "job"


def test_what_leads_to_itself_is_looked_at_once(mine):
    first, second = types.SimpleNamespace(), types.SimpleNamespace()
    first.protocol, second.factory = second, first
    assert whose(first) is None
    second.proto = mine.job
    assert whose(first) == "job"


def test_tasks_of_a_cooperator_are_whose_generator_they_are(mine):
    generate = code(MINE, "def steps():\n    yield None").steps
    cooperator = Cooperator(scheduler=called)
    task = cooperator.cooperate(generate())
    assert isinstance(task, CooperativeTask)
    assert whose(task) == "steps"
    assert whose(called(cooperator._tick)) == "steps"
    cooperator.cooperate(code(THEIRS, "def steps():\n    yield None").steps())
    assert whose(called(cooperator._tick)) is None


def test_frames_of_a_thread_are_whose_it_was_begun_for(mine):
    seen = []
    look = Whose(frozenset({MINE}), frozenset({THEIRS}).__contains__)

    def inner():
        seen.append(look.runs(sys._getframe()))

    run = code(MINE, "def work(call): call()").work
    other = code(THEIRS, "def serves(call, *args): call(*args)").serves
    run(inner)
    run(partial(other, inner))
    other(run, inner)
    inner()
    assert [found and found[0] for found in seen] == [
        Code(MINE, "work"),
        Code(MINE, "work"),
        None,
        None,
    ]


def test_an_idle_pool_of_connections_is_nobodys():
    assert whose(HTTPConnectionPool(Clock())) is None
