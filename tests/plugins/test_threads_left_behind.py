"""Threads an unloaded plugin's code runs in: each is said, once, and none is ended."""

import asyncio
import threading
import types
from functools import partial
from weakref import WeakKeyDictionary

import pytest
from pytest_twisted import ensureDeferred
from twisted.internet.task import Clock
from twisted.internet.threads import deferToThread

from ahpd.plugins.left_behind import end_left_behind
from ahpd.plugins.whose import Whose

NAME = "left_here"
CODE = """
def work(*given):
    begun.release()
    stop.wait(30)

class T(Thread):
    def run(self):
        begun.release()
        stop.wait(30)

async def waits():
    begun.release()
    await asyncio.sleep(3600)
"""


@pytest.fixture
def module():
    """A plugin's module whose functions wait until the test is over."""
    made = types.ModuleType(NAME)
    made.stop, made.begun = threading.Event(), threading.Semaphore(0)
    vars(made).update(Thread=threading.Thread, asyncio=asyncio)
    exec(CODE, vars(made))
    yield made
    made.stop.set()


def said_of(said=None, modules=(NAME,)):
    return end_left_behind(Clock(), Whose(frozenset(modules)), said)


def line(name):
    return f"it left a thread of {NAME} running, which nothing can end ({name})"


@ensureDeferred
async def test_a_thread_is_said_and_goes_on(module):
    threads = [
        threading.Thread(target=module.work, daemon=True),
        threading.Thread(target=partial(map, module.work), args=([],), daemon=True),
        module.T(daemon=True),
    ]
    for thread in threads:
        thread.start()
    for _ in range(2):
        assert module.begun.acquire(timeout=30)
    assert sorted(await said_of()) == [line("run"), line("work")]
    assert await said_of(modules=["another"]) == []
    module.stop.set()
    for thread in threads:
        thread.join(30)
    assert await said_of() == []


@ensureDeferred
async def test_work_in_the_reactors_pool_is_said_once(module):
    said = WeakKeyDictionary()
    working = deferToThread(module.work)
    assert module.begun.acquire(timeout=30)
    assert await said_of(said) == [line("work")]
    assert await said_of(said) == []
    module.stop.set()
    await working
    assert await said_of(said) == []
    # The next work is another, in the same thread too.
    module.stop.clear()
    working = deferToThread(module.work)
    assert module.begun.acquire(timeout=30)
    assert await said_of() == [line("work")]
    module.stop.set()
    await working


@ensureDeferred
async def test_a_timer_of_a_thread_is_cancelled(module):
    timer = threading.Timer(3600, module.work)
    timer.start()
    assert await said_of(modules=["another"]) == []
    assert await said_of() == [f"it left a timer of {NAME} running (work)"]
    timer.join(30)
    assert not timer.is_alive()


@ensureDeferred
async def test_what_a_loop_of_asyncio_runs_in_a_thread_is_said(module):
    loop = asyncio.new_event_loop()
    task = loop.create_task(module.waits())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    assert module.begun.acquire(timeout=30)
    try:
        assert await said_of(modules=["another"]) == []
        assert await said_of() == [line("waits")]
    finally:
        loop.call_soon_threadsafe(task.cancel)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
        loop.close()
