"""Looking at the file system without waiting for it for ever.

A path a call names may be on a disk that does not answer, one of another machine for example,
and whoever looks at it waits as long. So that is done by a thread that may be left behind.
"""

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final, Protocol, TypeVar
from weakref import finalize

from ahpd.permissions.patience import OutOfTime

T = TypeVar("T")

#: Seconds for which a disk is waited for.
MOST_SECONDS: Final = 0.03
#: How many threads may be left waiting for disks before nobody looks any more.
_MOST_LEFT: Final = 4


class Look(Protocol):
    """Does something that looks at the file system."""

    def __call__(self, work: Callable[[], T]) -> T:
        """What `work` answers or raises. Raises `OutOfTime` where that takes too long."""


def directly(work: Callable[[], T]) -> T:
    """Look here and now, however long it takes."""
    return work()


class _Thread:
    """One thread that looks, until it is left behind."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        self._answers: SimpleQueue[tuple[bool, Any]] = SimpleQueue()
        self._thread = Thread(target=self._run, name="permissions-looking", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def ask(self, work: Callable[[], Any], seconds: float) -> Any:
        """Raises `Empty` where no answer comes in time; it is not to be asked again then."""
        self._asked.put(work)
        done, answer = self._answers.get(timeout=seconds)
        if done:
            return answer
        raise answer

    def leave(self) -> None:
        """Nothing more is asked: it ends when the disk answers."""
        self._asked.put(None)

    def _run(self) -> None:
        while (work := self._asked.get()) is not None:
            try:
                self._answers.put((True, work()))
            except Exception as error:
                self._answers.put((False, error))


class Beside:
    """A `Look` that waits no longer than `seconds`. To be called by one thread."""

    def __init__(self, seconds: float = MOST_SECONDS) -> None:
        self._seconds = seconds
        self._thread: _Thread | None = None
        self._left: list[_Thread] = []

    def __call__(self, work: Callable[[], T]) -> T:
        """See `Look`."""
        if self._thread is None:
            self._left = [thread for thread in self._left if thread.is_alive]
            if len(self._left) >= _MOST_LEFT:
                raise OutOfTime("the disks that were asked do not answer")
            self._thread = _Thread()
            finalize(self, self._thread.leave)  # a judge that is gone leaves no thread
        try:
            answer: T = self._thread.ask(work, self._seconds)
        except Empty:
            self._thread.leave()
            self._left.append(self._thread)
            self._thread = None
            raise OutOfTime("the disk it is about does not answer") from None
        return answer

    def close(self) -> None:
        """Have the thread end; another question begins another one."""
        if self._thread is not None:
            self._thread.leave()
            self._thread = None
