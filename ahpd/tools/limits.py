"""How much agents may begin of their own accord: what they start may start more."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ahpd.interfaces import RpcError, ToolFailure

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

    @contextmanager
    def one(self, root: str) -> Iterator[None]:
        """One more, taken before it is begun, because calls run beside each other.

        What is refused is given back. Raises `ToolFailure` where nothing is left.
        """
        if len(self._left(root)) >= self._most:
            minutes = int(WINDOW // 60)
            raise ToolFailure(
                f"Refusing to {self._what}: the tools of this session and of those it made did so "
                f"{self._most} times in the last {minutes} minutes."
            )
        moment = self._seconds()
        self._spent.setdefault(root, deque()).append(moment)
        try:
            yield
        except (ToolFailure, RpcError):
            spent = self._spent.get(root)
            if spent is not None and moment in spent:
                spent.remove(moment)
            raise

    def _left(self, root: str) -> deque[float]:
        """What was spent lately; what is older is forgotten, of every root."""
        since = self._seconds() - WINDOW
        for each, spent in tuple(self._spent.items()):
            while spent and spent[0] <= since:
                spent.popleft()
            if not spent:
                del self._spent[each]
        return self._spent.get(root) or deque()
