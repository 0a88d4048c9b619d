"""Names the plugin that holds up the whole host: one that blocks the reactor's thread.

Nobody can be served meanwhile, and nothing in that thread could say why. So a thread of its own
asks the reactor for a sign of life, and looks at what runs there when none comes. What is the
host's own or a library's is nobody's fault here, and is not said.
"""

import sys
import threading
import time
from typing import Any, Final

from twisted.logger import Logger

from ahpd.plugins.found import Found
from ahpd.plugins.own_frames import running_in

log = Logger(namespace="ahpd.plugin")

#: Seconds between two questions to a reactor that answers.
PERIOD: Final = 1.0
#: Seconds an answer may take. What blocks for both is said for certain.
LIMIT: Final = 1.0


class StallWatch:
    """Watches the thread that begins it, as long as there is a plugin to be named.

    `reactor` has `callFromThread`; one that has no threads, as those of tests, is not watched.
    `begin` and `end` are called in its thread.
    """

    def __init__(self, reactor: Any) -> None:
        self._ask = getattr(reactor, "callFromThread", None)
        self._watched: tuple[Found, ...] = ()
        self._ended: threading.Event | None = None

    def begin(self, found: Found) -> None:
        """The code of a plugin runs from here on."""
        self._watched = (*self._watched, found)
        if self._ask is None or self._ended is not None:
            return
        self._ended = threading.Event()
        threading.Thread(
            target=self._watch,
            args=(threading.get_ident(), self._ended),
            name="ahpd-plugin-stalls",
            daemon=True,
        ).start()

    def end(self, found: Found) -> None:
        """It is gone. The last one takes the thread with it."""
        self._watched = tuple(one for one in self._watched if one is not found)
        if not self._watched and self._ended is not None:
            self._ended.set()
            self._ended = None

    # -- in its thread -------------------------------------------------------------------

    def _watch(self, watched: int, ended: threading.Event) -> None:
        assert self._ask is not None
        alive = time.monotonic()
        while not ended.wait(PERIOD):
            answered = threading.Event()
            asked = time.monotonic()
            self._ask(answered.set)
            if not answered.wait(LIMIT):
                # It began after the last answer and before the question.
                self._stalled(watched, ended, answered, (alive + asked) / 2)
            alive = time.monotonic()

    def _stalled(
        self, watched: int, ended: threading.Event, answered: threading.Event, began: float
    ) -> None:
        """Say whose it is as soon as that is seen, and once it goes on, how long it was."""
        said: tuple[Found, str] | None = None
        while True:
            if said is None and (said := self._running(watched)) is not None:
                log.warn(
                    "plugin {plugin}: it has held up this host, and everybody on it, for about"
                    " {seconds:.1f} s now, at {place}: long work belongs in a thread",
                    plugin=said[0].id,
                    place=said[1],
                    seconds=time.monotonic() - began,
                )
            if answered.wait(PERIOD):
                break
            if ended.is_set():
                return
        if said is not None:
            log.warn(
                "plugin {plugin}: it held up this host for about {seconds:.1f} s; all goes on now",
                plugin=said[0].id,
                seconds=time.monotonic() - began,
            )

    def _running(self, watched: int) -> tuple[Found, str] | None:
        """The plugin whose code that thread is in, and its line."""
        frame = sys._current_frames().get(watched)
        return None if frame is None else running_in(frame, self._watched)
