"""Blocking work done beside the reactor's thread."""

from collections.abc import Awaitable, Callable
from typing import Any

from twisted.internet.defer import succeed
from twisted.internet.interfaces import IReactorThreads
from twisted.internet.threads import deferToThreadPool

#: Does blocking work elsewhere: `run(work)` is its result, later.
InThread = Callable[[Callable[[], Any]], Awaitable[Any]]


def in_thread(reactor: Any) -> InThread:
    """`run(work)` does `work` in the reactor's thread pool and is its result.

    A reactor that has no threads, a test's clock, has it done at once. What `work` raises
    is raised where it is awaited.
    """
    if IReactorThreads.providedBy(reactor):
        return lambda work: deferToThreadPool(reactor, reactor.getThreadPool(), work)
    return lambda work: succeed(None).addCallback(lambda _: work())
