"""Blocking work is done beside the reactor's thread."""

import threading

import pytest
import pytest_twisted
from twisted.internet.task import Clock

from ahpd.threads import in_thread


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
