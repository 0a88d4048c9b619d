"""How long one question may be judged.

Rules, tables and lines come from clients and models, and the judge runs where everything else
waits for it. What takes longer than it may is given up and asked about.
"""

import gc
from collections.abc import Callable
from typing import Final

#: Seconds of work one question may cost.
MOST_SECONDS: Final = 0.025
#: Seconds one expression that somebody wrote may be tried on one text.
MOST_SECONDS_EACH: Final = 0.008


class OutOfTime(Exception):
    """A question took longer to judge than it may."""


class Patience:
    """What is left of the time for one question."""

    __slots__ = ("_seconds", "_until")

    def __init__(self, seconds: Callable[[], float], most: float = MOST_SECONDS) -> None:
        """`seconds` is a clock of work done, so that a busy machine makes nothing be asked."""
        self._seconds = seconds
        self._until = seconds() + most

    def left(self) -> float:
        """Seconds that are left. Raises `OutOfTime` where none are."""
        left = self._until - self._seconds()
        if left <= 0:
            raise OutOfTime("its rules take too long to be held against it")
        return left


def full_collections() -> int:
    """How often Python looked through everything it holds, so far.

    That is work of whichever thread it falls to, and of a large host takes longer than a question
    may: one that fell into a question says nothing of its rules, and it is judged once more.
    """
    return int(gc.get_stats()[-1]["collections"])


#: For what is judged outside of any question.
ENDLESS: Final = Patience(lambda: 0.0)
