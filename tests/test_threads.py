"""Blocking work is done beside the reactor's thread."""

import threading
import time

import pytest
import pytest_twisted
from twisted.internet.interfaces import IReactorThreads
from twisted.internet.task import Clock
from twisted.python.threadpool import ThreadPool
from zope.interface import implementer

from ahpd import threads as module
from ahpd.threads import OwnThreads, ThreadsStopped, held_for_long_by_none, in_thread, place_of


@pytest_twisted.ensureDeferred
async def test_it_is_done_in_another_thread_and_its_result_or_failure_comes_back():
    from twisted.internet import reactor

    run = in_thread(reactor)
    assert await run(threading.get_ident) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        await run(lambda: 1 / 0)
    assert await run(lambda: 2) == 2


@pytest_twisted.ensureDeferred
async def test_a_clock_has_no_threads_and_does_it_at_once():
    run = in_thread(Clock())
    assert await run(threading.get_ident) == threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        await run(lambda: 1 / 0)


@pytest.fixture
def make_threads():
    """Makes `OwnThreads` of the reactor, started."""
    from twisted.internet import reactor

    made = []

    def make(most):
        made.append(OwnThreads(reactor, "slow work", most))
        made[-1].startService()
        return made[-1]

    yield make
    assert not any(threads.running for threads in made), "each test stops its own"


@pytest_twisted.ensureDeferred
async def test_work_that_does_not_come_back_keeps_nobody_elses_from_being_done(make_threads):
    from twisted.internet import reactor

    threads, come_back = make_threads(3), threading.Event()
    waiting = [threads.run(come_back.wait) for _ in range(20)]
    assert await in_thread(reactor)(lambda: "done") == "done"
    come_back.set()
    assert [await each for each in waiting] == [True] * 20
    await threads.stopService()


@pytest_twisted.ensureDeferred
async def test_threads_of_its_own_are_as_many_as_they_may_be_and_bring_failures_back(make_threads):
    threads = make_threads(2)
    done = [await threads.run(threading.get_ident) for _ in range(10)]
    assert threading.get_ident() not in done
    assert len(set(done)) <= 2
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 / 0)
    await threads.stopService()


@pytest_twisted.ensureDeferred
async def test_a_stop_waits_for_what_is_under_way_and_nothing_is_begun_behind_it(make_threads):
    threads, begun, come_back = make_threads(2), threading.Event(), threading.Event()
    ended = []

    def work():
        begun.set()
        come_back.wait()
        ended.append("whole")

    working = threads.run(work)
    begun.wait(30)
    stopped = threads.stopService()
    stopped.addCallback(lambda _: ended.append("stopped"))
    with pytest.raises(ThreadsStopped):
        threads.run(lambda: 1)
    assert ended == []
    come_back.set()
    await working
    await stopped
    assert ended == ["whole", "stopped"]


@pytest_twisted.ensureDeferred
async def test_what_never_comes_back_is_left_behind(make_threads, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_STOP", 0.05)
    threads, begun, come_back = make_threads(1), threading.Event(), threading.Event()

    def work():
        begun.set()
        come_back.wait()
        return threading.current_thread().daemon

    working = threads.run(work)
    begun.wait(30)
    await threads.stopService()
    come_back.set()
    assert await working is True


@pytest_twisted.ensureDeferred
async def test_what_was_never_started_or_is_stopped_already_stops_at_once(make_threads):
    from twisted.internet import reactor

    await OwnThreads(reactor, "never started", 1).stopService()
    threads = make_threads(1)
    await threads.stopService()
    await threads.stopService()


def test_without_threads_there_is_nothing_to_wait_for():
    threads = OwnThreads(Clock(), "slow work", 1)
    threads.startService()
    done = []
    threads.run(lambda: 2).addCallback(done.append)
    threads.stopService().addCallback(done.append)
    assert done == [2, None]


@implementer(IReactorThreads)
class Reactor:
    """One with a pool of threads of its own."""

    def __init__(self, pool):
        self.pool = pool

    def getThreadPool(self):
        return self.pool


def test_threads_of_the_reactors_pool_that_do_not_come_back_hold_a_stop_for_its_bound_alone(
    monkeypatch, log_lines
):
    monkeypatch.setattr(module, "LONGEST_STOP", 0.1)
    pool, come_back, begun = ThreadPool(0, 3, "some pool"), threading.Event(), []
    held_for_long_by_none(Reactor(pool))
    pool.start()

    def work():
        begun.append(threading.current_thread())
        come_back.wait(60)

    try:
        for _ in range(3):
            pool.callInThread(work)
        while len(begun) < 3:
            time.sleep(0.01)
        before = time.monotonic()
        pool.stop()
        assert time.monotonic() - before < 20
        assert all(thread.is_alive() and thread.daemon for thread in begun)
        said = [line for line in log_lines() if line.startswith("the stop does not wait for ")]
        assert len(said) == 3
        assert all(f" at work in {__file__}:" in line for line in said)
    finally:
        come_back.set()
    for thread in begun:
        thread.join(30)
    assert [place_of(thread.ident) for thread in begun] == ["its end"] * 3
