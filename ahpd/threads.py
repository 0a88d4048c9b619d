"""Blocking work done beside the reactor's thread."""

import sys
import sysconfig
import time
from collections.abc import Awaitable, Callable
from functools import partial
from threading import Thread, get_ident
from traceback import walk_stack
from typing import Any, Final

from twisted.application.service import Service
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorThreads
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.python.threadpool import ThreadPool

log = Logger()

#: Does blocking work elsewhere: `run(work)` is its result, later.
InThread = Callable[[Callable[[], Any]], Awaitable[Any]]

#: Seconds for which a stop waits for what is under way.
LONGEST_STOP: Final = 5.0

_LIBRARY: Final = sysconfig.get_path("stdlib")


def in_thread(reactor: Any) -> InThread:
    """`run(work)` does `work` in the reactor's thread pool and is its result.

    A reactor that has no threads, a test's clock, has it done at once. What `work` raises
    is raised where it is awaited.
    """
    if IReactorThreads.providedBy(reactor):
        return lambda work: deferToThreadPool(reactor, reactor.getThreadPool(), work)
    return _at_once


def _at_once(work: Callable[[], Any]) -> Awaitable[Any]:
    return succeed(None).addCallback(lambda _: work())


class ThreadsStopped(Exception):
    """Work was asked for when its threads were gone."""


class OwnThreads(Service):
    """Threads of some work alone, `most` of them; `run` is an `InThread`.

    For work that may wait for as long as a disk does, one on another machine for example:
    it keeps nobody waiting who needs the reactor's few threads, names looked up among them.
    A thread that never comes back does not hold the process.
    """

    def __init__(self, reactor: Any, name: str, most: int) -> None:
        self.name = name
        self._reactor = reactor
        self._pool: ThreadPool | None = None
        self._stopped = False
        if IReactorThreads.providedBy(reactor):
            self._pool = ThreadPool(0, most, name)
            self._pool.threadFactory = partial(Thread, daemon=True)  # type: ignore[assignment]

    def run(self, work: Callable[[], Any]) -> Awaitable[Any]:
        """Do `work` in one of the threads. `ThreadsStopped` once they are no more.

        What is asked for before the start is done after it.
        """
        if self._pool is None:
            return _at_once(work)
        if self._stopped:
            raise ThreadsStopped(f"the threads of {self.name} are gone")
        return deferToThreadPool(self._reactor, self._pool, work)

    def startService(self) -> None:
        """Threads are there from now on."""
        super().startService()  # type: ignore[no-untyped-call]
        if self._pool is not None:
            self._pool.start()

    def stopService(self) -> "Deferred[None]":
        """Take no more work. Fires when all is done, or has been waited for long enough."""
        super().stopService()  # type: ignore[no-untyped-call]
        again, self._stopped = self._stopped, True
        if self._pool is None or again:
            return succeed(None)
        gone: Deferred[None] = Deferred()
        late = self._reactor.callLater(LONGEST_STOP, self._left_behind, gone)

        def done() -> None:
            if not gone.called:
                late.cancel()
                gone.callback(None)

        def wait(pool: ThreadPool) -> None:
            pool.stop()
            self._reactor.callFromThread(done)

        Thread(target=wait, args=(self._pool,), name=f"{self.name}-end", daemon=True).start()
        return gone

    def _left_behind(self, gone: "Deferred[None]") -> None:
        log.error("some work of {name} does not come back and is left behind", name=self.name)
        gone.callback(None)


def held_for_long_by_none(reactor: Any) -> None:
    """Have the threads of the reactor's own pool hold no stop for longer than `LONGEST_STOP`.

    A stop waits for them in the reactor's thread, where nothing can bound it then. To be called
    before the first of them is made.
    """
    if IReactorThreads.providedBy(reactor):
        waiting = _Waiting()
        reactor.getThreadPool().threadFactory = partial(  # type: ignore[assignment]
            _PoolThread, waiting, daemon=True
        )


class _Waiting:
    """What a stop still waits for all threads of a pool together."""

    def __init__(self) -> None:
        self._until: float | None = None

    def left(self) -> float:
        if self._until is None:
            self._until = time.monotonic() + LONGEST_STOP
        return max(0.0, self._until - time.monotonic())


class _PoolThread(Thread):
    """A thread whose end is waited for no longer than is left of a stop."""

    def __init__(self, waiting: _Waiting, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._waiting = waiting

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end, and say it where it does not come."""
        super().join(self._waiting.left() if timeout is None else timeout)
        if timeout is None and self.is_alive():
            log.warn(
                "the stop does not wait for thread {name}, at {place}",
                name=self.name,
                place=place_of(self.ident),
            )


def place_of(ident: int | None) -> str:
    """What a thread is at just now, as words: `work in /there/main.py:6`.

    It is the innermost line that is not of Python's own library, if there is one.
    """
    frame = sys._current_frames().get(get_ident() if ident is None else ident)
    if frame is None:
        return "its end"
    lines = [(one.f_code, line) for one, line in walk_stack(frame)]
    own = (one for one in lines if not one[0].co_filename.startswith((_LIBRARY, "<")))
    code, line = next(own, lines[0])
    return f"{code.co_name} in {code.co_filename}:{line}"
