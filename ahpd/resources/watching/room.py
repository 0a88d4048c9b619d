"""How much the watches of one host may hold together."""

import threading
from typing import Final

#: Files and folders all watches may know, some 200 bytes each.
MOST_TOGETHER: Final = 2_000_000


class Room:
    """Room for `most` files and folders. For any thread: each watch is read in one of its own."""

    def __init__(self, most: int = MOST_TOGETHER) -> None:
        self.most = most
        self._left = most
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Take room for one more; False where there is none."""
        with self._lock:
            if self._left <= 0:
                return False
            self._left -= 1
            return True

    def give_back(self, count: int) -> None:
        """`count` of them are known no more."""
        with self._lock:
            self._left += count
