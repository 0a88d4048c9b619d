"""Names the plugin that holds up the whole host: one that blocks the reactor's thread.

Nobody can be served meanwhile, and nothing in that thread could say why. So a thread of its own
asks the reactor for a sign of life, and looks at what runs there when none comes. A plugin is named
when two looks one after another see it, and for the time between them: what else ran since the last
answer is not its fault. What is nobody's is said without a name.
"""

import sys
import threading
import time
from collections.abc import Sequence
from functools import partial
from traceback import walk_stack
from types import FrameType
from typing import Any, Final

import attrs
from twisted.internet import base
from twisted.logger import Logger

from ahpd.plugins.belongings import Belongings
from ahpd.plugins.found import Found
from ahpd.plugins.own_frames import Owner, running_in
from ahpd.plugins.whose import Whose, words_for
from ahpd.threads import place_of

log = Logger(namespace="ahpd.plugin")

#: Seconds between two questions to a reactor that answers.
PERIOD: Final = 1.0
#: Seconds after which one that has not answered is looked at.
PROMPT: Final = 0.1
#: Seconds between two looks at it. What is seen in two is said.
LIMIT: Final = 1.0


class StallWatch:
    """Watches the thread that begins it, as long as there is a plugin to be named.

    `reactor` has `callFromThread`; one that has no threads, as those of tests, is not watched.
    `begin` and `end` are called in its thread.
    """

    def __init__(self, reactor: Any) -> None:
        self._ask = getattr(reactor, "callFromThread", None)
        self._watched: dict[Found, Owner] = {}
        self._ended: threading.Event | None = None

    def begin(self, found: Found) -> None:
        """The code of a plugin runs from here on."""
        self._watched[found] = Owner(found)
        if self._ask is None or self._ended is not None:
            return
        self._ended = threading.Event()
        threading.Thread(
            target=self._watch,
            args=(threading.get_ident(), self._ended),
            name="ahpd-plugin-stalls",
            daemon=True,
        ).start()

    def knows(self, found: Found, belongs: Belongings) -> None:
        """A plugin that began was imported: what its own modules are."""
        self._watched[found].belongs = belongs

    def end(self, found: Found) -> None:
        """It is gone. The last one takes the thread with it."""
        self._watched.pop(found, None)
        if not self._watched and self._ended is not None:
            self._ended.set()
            self._ended = None

    # -- in its thread -------------------------------------------------------------------

    def _watch(self, watched: int, ended: threading.Event) -> None:
        assert self._ask is not None
        while not ended.wait(PERIOD):
            answered = threading.Event()
            self._ask(answered.set)
            if answered.wait(PROMPT):
                continue
            stall = _Stall(self._look(watched))
            while not answered.wait(LIMIT):
                if ended.is_set():
                    return
                stall.saw(self._look(watched))
            stall.over()

    def _look(self, watched: int) -> "_Look":
        """What that thread is at: the plugin whose code it is in, if any, and its line."""
        frame = sys._current_frames().get(watched)
        if frame is None:
            return _Look("", "nothing")
        owners = tuple(self._watched.values())  # in one step: the other thread may change them
        if (running := running_in(frame, owners)) is not None:
            return _Look(running[0].found.id, running[1])
        if (call := _call_of(frame)) is None:
            return _Look("", place_of(watched))
        # What the reactor calls may be a library's, made for a plugin's sake.
        for owner in owners:
            others = tuple(one for one in owners if one is not owner)
            of = Whose(owner, partial(_is_of, others))
            if (code := of(call)) is not None:
                return _Look(owner.found.id, f"{code.name} of {code.module}")
        return _Look("", f"{words_for(call)}, in {place_of(watched)}")


def _is_of(owners: Sequence[Owner], module: str) -> bool:
    return any(module in one for one in owners)


@attrs.frozen
class _Look:
    plugin: str
    """Its id, empty for nobody's code."""
    place: str


class _Stall:
    """What was seen while the reactor did not answer: whose it was, and since when without a
    break."""

    def __init__(self, look: _Look) -> None:
        self._look = look
        self._since = self._last = time.monotonic()
        self._said = self._said_nobodys = False

    def saw(self, look: _Look) -> None:
        """Look again."""
        now = time.monotonic()
        if look.plugin != self._look.plugin:
            self.over()
            self._since, self._said = now, False
        elif not self._said:
            self._say(look, now - self._since)
        self._look, self._last = look, now

    def _say(self, look: _Look, seconds: float) -> None:
        if look.plugin:
            self._said = True
            log.warn(
                "plugin {plugin}: it has held up this host, and everybody on it, for at least"
                " {seconds:.1f} s now, at {place}: long work belongs in a thread",
                plugin=look.plugin,
                place=look.place,
                seconds=seconds,
            )
        elif not self._said_nobodys:
            self._said_nobodys = True
            log.info(
                "this host, and everybody on it, is held up for at least {seconds:.1f} s now, by"
                " {place}: it cannot be told whose that is",
                place=look.place,
                seconds=seconds,
            )

    def over(self) -> None:
        """What was seen is no more; how long it was."""
        if self._said:
            log.warn(
                "plugin {plugin}: it held up this host for at least {seconds:.1f} s, and does no more",
                plugin=self._look.plugin,
                seconds=self._last - self._since,
            )


_TURN: Final = base.ReactorBase.runUntilCurrent.__code__


def _call_of(frame: FrameType) -> Any:
    """What the reactor calls just now: a timer, or what another thread asked for."""
    for one, _ in walk_stack(frame):
        if one.f_code is _TURN:
            held = one.f_locals
            if "call" in held:
                return held["call"]
            return partial(held["f"], *held["a"], **held["kw"]) if "kw" in held else None
    return None
