"""One watch of files: hints are gathered while they come, and answered with one batch."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import attrs
from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.interfaces import Changed, IResourceWatcher, RpcError
from ahpd.protocol import State
from ahpd.protocol.file_uris import shown
from ahpd.resources.watching.tree import Folder, Tree
from ahpd.threads import InThread

log = Logger()

#: How many changes one batch holds at most; more are several, one right after the other.
MOST_IN_A_BATCH: Final = 50_000


@attrs.frozen(kw_only=True)
class Pace:
    """When a watch looks, in seconds."""

    quiet: float = 0.1
    """A burst is over when nothing was touched for so long."""
    longest: float = 0.5
    """How long a burst is gathered that does not end."""
    between: float = 2.0
    """How often the root's own place, and folders nobody can listen to, are looked at."""
    share: float = 0.1
    """The part of the time that this may take, where it takes long."""


@implementer(IResourceWatcher)
class FileWatch:
    """Drives a tree that was started: looks when it should, and says what changed.

    `released` is called once, when nothing is listened to any more.
    """

    def __init__(
        self,
        tree: Tree,
        changed: Changed,
        in_thread: InThread,
        clock: IReactorTime,
        pace: Pace,
        released: Callable[["FileWatch"], Awaitable[None]],
    ) -> None:
        self._tree = tree
        self._changed = changed
        self._in_thread = in_thread
        self._clock = clock
        self._pace = pace
        self._when_released = released
        self._touched: dict[Folder, dict[str, bool]] = {}
        self._everything = False
        #: When the first and the last hint came that wait.
        self._first = self._last = 0.0
        #: Before this time no burst is answered: the last answer took long.
        self._not_before = 0.0
        self._due: IDelayedCall | None = None
        self._beat: IDelayedCall | None = None
        #: Held by whoever is in the tree.
        self._looking = DeferredLock()
        self._started = self._released = False
        tree.touched = self._hint

    def start(self) -> None:
        """The tree is read: say from now on what changes in it, what was hinted at included."""
        self._started = True
        self._beat_later(0.0)
        if self._touched or self._everything:
            self._arm()

    def lost_hints(self) -> None:
        """Hints were lost: anything may have changed."""
        self._everything = True
        self._note()

    def _hint(self, folder: Folder, name: str, anew: bool) -> None:
        names = self._touched.get(folder)
        if names is None:
            names = self._touched[folder] = {}
        names[name] = anew or names.get(name, False)
        self._note()

    def _note(self) -> None:
        self._last = self._clock.seconds()
        if self._due is None:
            self._first = self._last
            self._arm()

    # -- when ----------------------------------------------------------------------

    def _arm(self) -> None:
        """Look once the burst is over that is being gathered."""
        if not self._started or self._released or self._looking.locked:
            return
        if self._due is None:
            now = self._clock.seconds()
            at = min(self._last + self._pace.quiet, self._first + self._pace.longest)
            self._due = self._clock.callLater(max(at, self._not_before, now) - now, self._is_due)

    def _is_due(self) -> None:
        self._due = None
        at = min(self._last + self._pace.quiet, self._first + self._pace.longest)
        if at > self._clock.seconds():  # more came meanwhile
            self._arm()
        else:
            self._look(unheard=False)

    def _beat_later(self, took: float) -> None:
        delay = max(self._pace.between, took / self._pace.share)
        self._beat = self._clock.callLater(delay, self._beats)

    def _beats(self) -> None:
        self._beat = None
        if self._looking.locked:
            self._beat_later(0.0)
        else:
            self._look(unheard=True)

    # -- looking ---------------------------------------------------------------------

    def _look(self, *, unheard: bool) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
        Deferred.fromCoroutine(self._look_now(unheard))

    async def _look_now(self, unheard: bool) -> None:
        await self._looking.acquire()
        touched, self._touched = self._touched, {}
        everything, self._everything = self._everything, False
        began = self._clock.seconds()
        changes: Sequence[State] = ()
        failed = False
        try:
            changes = await self._in_thread(
                lambda: self._tree.look(touched, everything=everything, unheard=unheard)
            )
        except RpcError:  # the host stops
            failed = True
        except Exception:
            log.failure("looking for changes under {root} failed", root=shown(self._tree.root))
            failed = True
        took = self._clock.seconds() - began
        self._not_before = self._clock.seconds() + took
        self._looking.release()
        self._say(changes)
        if self._released:
            return
        if unheard:
            self._beat_later(took)
        if self._touched or self._everything:
            self._arm()
        self._everything = self._everything or failed  # the next look makes up for this one

    def _say(self, changes: Sequence[State]) -> None:
        for start in range(0, len(changes), MOST_IN_A_BATCH):
            if self._released:
                return
            try:
                self._changed(changes[start : start + MOST_IN_A_BATCH])
            except Exception:
                log.failure("telling of changes under {root} failed", root=shown(self._tree.root))

    # -- the end -----------------------------------------------------------------------

    def release(self) -> Awaitable[None]:
        """See `IResourceWatcher.release`. It is done when nothing is listened to any more."""
        first, self._released = not self._released, True
        for call in (self._due, self._beat):
            if call is not None:
                call.cancel()
        self._due = self._beat = None
        return Deferred.fromCoroutine(self._let_go(first))

    async def _let_go(self, first: bool) -> None:
        await self._looking.acquire()
        try:
            if first:
                await self._in_thread(self._tree.close)
                self._touched.clear()
        except Exception:
            log.failure("letting go of {root} failed", root=shown(self._tree.root))
        finally:
            self._looking.release()
            if first:
                await self._when_released(self)
