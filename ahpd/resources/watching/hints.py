"""Where something was touched, as the kernel tells it: one inotify instance for the host.

A hint is no more than a place and a name. It may come late, twice, out of order, for what is
gone already or, when the kernel's queue runs over, not at all; what happened is found out by
looking (`ahpd/resources/watching/tree.py`). The same folder under two watches, or under two
names, is one kernel watch with several listeners.
"""

import errno
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, Final, Protocol

from inotify_simple import INotify, flags, parse_events
from twisted.internet.interfaces import IReactorFDSet, IReadDescriptor
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

log = Logger()

#: Bytes of events taken at once: what a storm may put before everybody else, some 1300 events.
READ_SIZE: Final = 64 * 1024

_MASK: Final = int(
    flags.MODIFY
    | flags.ATTRIB
    | flags.CLOSE_WRITE  # what was written through a mapping is told of by nothing else
    | flags.MOVED_FROM
    | flags.MOVED_TO
    | flags.CREATE
    | flags.DELETE
    | flags.DELETE_SELF
    | flags.MOVE_SELF
    | flags.EXCL_UNLINK
)
_ANEW: Final = int(
    flags.CREATE | flags.MOVED_TO | flags.DELETE_SELF | flags.MOVE_SELF | flags.UNMOUNT
)
_IGNORED: Final = int(flags.IGNORED)
_OVERFLOW: Final = int(flags.Q_OVERFLOW)
_NO_LINK: Final = int(flags.DONT_FOLLOW | flags.ONLYDIR)


class Place(Protocol):
    """Somewhere that is listened to: a folder, or the one file that is watched."""

    descriptor: int
    """What the kernel calls it; -1 where it is not listened to. The `Hints` set it."""

    def touched(self, name: str, anew: bool) -> None:
        """Something happened to `name` in it, or to itself for "". Called in the reactor's thread.

        `anew` where another thing may be under that name now.
        """


class Hints(Protocol):
    """Whoever tells where something was touched. Both methods may be called in any thread."""

    def add(self, path: str, place: Place, *, follow: bool = False) -> None:
        """Listen to what is at `path` now, and no more to what was when this was last called.

        A link is listened through with `follow`, and refused without. Raises `OSError`:
        `ENOSPC` where the machine's limit is met, `ENOTSUP` where nobody tells anything.
        """

    def drop(self, place: Place) -> None:
        """Listen no more. One that is not listened to is no error."""


class NoHints:
    """For a machine, or a reactor, that tells of no file: everything has to be looked at."""

    def add(self, path: str, place: Place, *, follow: bool = False) -> None:
        """See `Hints.add`."""
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    def drop(self, place: Place) -> None:
        """See `Hints.drop`."""


def tells(reactor: Any) -> bool:
    """Whether `Inotify` works with this reactor, on this machine."""
    return sys.platform == "linux" and IReactorFDSet.providedBy(reactor)


@implementer(IReadDescriptor)
class Inotify:
    """The kernel's hints. `overflowed` is told when some were lost: anything may have changed.

    Making one may block, and raises `OSError` (`EMFILE` where the machine's limit of
    instances, or this process's of open files, is met). It hears nothing before `start`.
    """

    def __init__(self, reactor: Any, overflowed: Callable[[], None]) -> None:
        self._reactor = reactor
        self._overflowed = overflowed
        self._inotify = INotify(nonblocking=True)
        #: Held only while this is changed, never during a call that may wait for a disk.
        self._lock = threading.Lock()
        self._places: dict[int, tuple[Place, ...]] = {}
        self._deaf = False

    def start(self) -> None:
        """Hear what happens from now on, in the reactor's thread."""
        self._reactor.addReader(self)

    def close(self) -> None:
        """Give the instance back, and every place with it."""
        self._reactor.removeReader(self)
        self._inotify.close()

    # -- places, from any thread -----------------------------------------------

    def add(self, path: str, place: Place, *, follow: bool = False) -> None:
        """See `Hints.add`."""
        if self._deaf:
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
        descriptor = self._inotify.add_watch(path, _MASK if follow else _MASK | _NO_LINK)
        if place.descriptor == descriptor and place in self._places.get(descriptor, ()):
            return
        self.drop(place)
        with self._lock:
            self._places[descriptor] = (*self._places.get(descriptor, ()), place)
        place.descriptor = descriptor

    def drop(self, place: Place) -> None:
        """See `Hints.drop`."""
        descriptor, place.descriptor = place.descriptor, -1
        with self._lock:
            left = tuple(each for each in self._places.pop(descriptor, ()) if each is not place)
            if left:
                self._places[descriptor] = left
                return
        if descriptor >= 0:
            # Where another thread took the place meanwhile, it is told that this is ignored.
            try:
                self._inotify.rm_watch(descriptor)
            except OSError:  # what was listened to is gone, and the kernel let go of it
                return

    # -- the reactor's side ------------------------------------------------------

    def doRead(self) -> None:
        """Pass on what the kernel has to tell, a bounded piece at a time."""
        try:
            data = os.read(self._inotify.fileno(), READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            self._reactor.removeReader(self)
            self.connectionLost(Failure())
            return
        places = self._places
        for event in parse_events(data):
            mask = event.mask
            if mask & _OVERFLOW:
                self._overflowed()
            elif mask & _IGNORED:
                # A number is not given out again: nobody can have come to listen under it.
                with self._lock:
                    ignored = places.pop(event.wd, ())
                for place in ignored:
                    place.touched("", True)
            else:
                for place in places.get(event.wd, ()):
                    place.touched(event.name, bool(mask & _ANEW))

    def connectionLost(self, reason: Failure) -> None:
        """The reactor hears this no more: it stops, or reading failed."""
        if not self._inotify.closed:
            log.warn("no more is heard of files: {why}", why=reason.getErrorMessage())
            self._deaf = True
            self._overflowed()

    def fileno(self) -> int:
        """The instance; -1 once closed."""
        return -1 if self._inotify.closed else self._inotify.fileno()

    def logPrefix(self) -> str:
        """What the reactor calls this in its log."""
        return "inotify"
