"""How much agents may begin of their own accord: what they start may start more."""

from collections import deque
from collections.abc import Callable
from typing import Final

from ahpd.interfaces import ToolFailure

#: How many sessions deep agents make sessions; a person's own is 0 deep.
MOST_DEEP: Final = 3
#: How many of each the sessions that came of one of a person's make in `WINDOW` seconds.
MOST_SESSIONS: Final = 25
MOST_CHATS: Final = 25
MOST_MESSAGES: Final = 50
WINDOW: Final = 3600.0


class Allowance:
    """At most `most` of `what` in `WINDOW` seconds for each root (`Caller.root`)."""

    def __init__(self, seconds: Callable[[], float], most: int, what: str) -> None:
        self._seconds = seconds
        self._most = most
        self._what = what
        self._spent: dict[str, deque[float]] = {}

    def check(self, root: str) -> None:
        """Raise `ToolFailure` where nothing is left."""
        if len(self._left(root)) >= self._most:
            minutes = int(WINDOW // 60)
            raise ToolFailure(
                f"Refusing to {self._what}: the tools of this session and of those it made did so "
                f"{self._most} times in the last {minutes} minutes."
            )

    def spend(self, root: str) -> None:
        """One more."""
        self._left(root)
        self._spent.setdefault(root, deque()).append(self._seconds())

    def _left(self, root: str) -> deque[float]:
        """What was spent lately; what is older is forgotten, of every root."""
        since = self._seconds() - WINDOW
        for each, spent in tuple(self._spent.items()):
            while spent and spent[0] <= since:
                spent.popleft()
            if not spent:
                del self._spent[each]
        return self._spent.get(root) or deque()
