"""Who may write now: one at a time to one file, in the order they asked."""

import threading
from collections.abc import AsyncIterator, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager

from twisted.internet.defer import DeferredLock


class Turns:
    """Turns at a key, given in the order they were asked for; for the reactor's thread.

    Two writes a client sends one after the other are done one after the other, though each
    is done in a thread of its own.
    """

    def __init__(self) -> None:
        self._locks: dict[Hashable, DeferredLock] = {}

    @asynccontextmanager
    async def at(self, key: Hashable) -> AsyncIterator[None]:
        """Inside, nobody else has a turn at `key`."""
        lock = self._locks.setdefault(key, DeferredLock())
        turn = lock.acquire()
        try:
            await turn
        except BaseException:
            self._forget(key, lock)
            raise
        try:
            yield
        finally:
            lock.release()
            self._forget(key, lock)

    def _forget(self, key: Hashable, lock: DeferredLock) -> None:
        if not lock.locked and self._locks.get(key) is lock:
            del self._locks[key]


class Locks:
    """Locks by key, for threads: one file is not written to under two of its names at once."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held: dict[Hashable, tuple[threading.Lock, int]] = {}

    @contextmanager
    def at(self, key: Hashable) -> Iterator[None]:
        """Inside, no other thread is at `key`."""
        with self._guard:
            lock, users = self._held.get(key, (None, 0))
            lock = lock or threading.Lock()
            self._held[key] = lock, users + 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._held.pop(key)
                if users > 1:
                    self._held[key] = lock, users - 1
