"""Ends the process when its stop takes too long, whatever any of its threads does.

What the reactor could do about it, it cannot while its own thread is held up: by a plugin that
blocks it, or by the end of the interpreter, which waits for each thread that is no daemon.
"""

import _thread
import os
import threading
import time
from collections.abc import Callable
from typing import Final

from twisted.logger import Logger

from ahpd.threads import place_of

log = Logger()

#: Seconds a process that has nothing left to do is given to be gone.
AFTER: Final = 5.0
_STANDARD_ERROR: Final = 2
#: How many threads are named.
_NAMED: Final = 5


class Leaving:
    """Calls `leave` with an exit status, `seconds` after a stop has begun at the latest."""

    def __init__(self, seconds: float, leave: Callable[[int], object]) -> None:
        self._seconds = seconds
        self._leave = leave
        self._begun = False
        self._main = threading.get_ident()
        self._drained = threading.Event()
        self._status = 1

    def begin(self) -> None:
        """A stop begins. Again is no error. It may be called in a handler of a signal."""
        if not self._begun:
            self._begun = True
            # Nothing of `threading`, whose locks the code that was interrupted may hold.
            _thread.start_new_thread(self._wait, ())

    def drained(self, status: int) -> None:
        """All that was to be done at a stop is done: what still runs may be left behind, and the
        exit status is `status` then."""
        self._status = status
        self._drained.set()

    def _wait(self) -> None:
        begun = time.monotonic()
        try:
            if self._drained.wait(self._seconds):
                time.sleep(max(0.0, min(AFTER, begun + self._seconds - time.monotonic())))
            words = (
                f"not gone {time.monotonic() - begun:.1f} seconds after the stop began; leaving all "
                f"the same: {', '.join(self._held()[:_NAMED]) or 'nothing is known to run'}"
            )
            if self._drained.is_set():  # there is no log any more
                os.write(_STANDARD_ERROR, f"ahpd: {words}\n".encode(errors="backslashreplace"))
            else:
                log.critical("{words}", words=words)
        finally:
            self._leave(self._status)

    def _held(self) -> list[str]:
        """What runs that holds the process, in words; the reactor's own thread first, until it
        is done."""
        threads = sorted(threading.enumerate(), key=lambda one: one.ident != self._main)
        return [
            f"thread {one.name} is at {place_of(one.ident)}"
            for one in threads
            if not one.daemon and not (self._drained.is_set() and one.ident == self._main)
        ]
