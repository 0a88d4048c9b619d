"""What happens on a host, told to whoever listens: in order, one after another, each awaited.

Whoever says something goes on at once. What was said waits in one line, so that a listener hears
events in the order in which they happened, and no two listeners run at once. One that raises is
logged against its plugin; one that never returns holds the line, so it is given `PATIENCE`
seconds and then left behind. Source: PLUGINS.txt, "Events".
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final

import attrs
from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.bounded import Overdue, bounded
from ahpd.calling import awaited
from ahpd.interfaces import EVENTS, IEvents
from ahpd.whose_code import place_words

log = Logger()

#: Seconds one listener may take over one event before the next one is told.
PATIENCE: Final = 30.0
#: Whether what runs is a listener of the log, however long it waits for something.
_HEARS_LOG: Final[ContextVar[bool]] = ContextVar("hears_log", default=False)
#: How many events may wait for a listener that is slow; past it the oldest are dropped.
MOST_WAITING: Final = 10_000


@attrs.frozen(eq=False, repr=False)
class Listener:
    """Somebody who wants to know, and for which plugin."""

    plugin: str
    call: Callable[[Mapping[str, Any]], Any]


@attrs.frozen(eq=False, repr=False)
class _Said:
    event: str
    payload: Mapping[str, Any]
    listeners: Sequence[Listener]
    told: "Deferred[None] | None" = None


@implementer(IEvents)
class Events(Service):
    """Told events, it tells its listeners. `prepared` makes of a payload what they are handed."""

    name = "events"

    def __init__(
        self,
        clock: IReactorTime,
        prepared: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
    ) -> None:
        self._clock = clock
        self._prepared = prepared
        self._listeners: dict[str, list[Listener]] = {}
        self._waiting: deque[_Said] = deque()
        self._telling = False
        self._told_now: tuple[Listener, Deferred[Any]] | None = None
        self._dropped = 0

    # -- listeners -----------------------------------------------------------------

    def listen(self, event: str, listener: Listener) -> None:
        """Tell `listener` of each `event` from now on, behind those there are."""
        if event not in EVENTS:
            raise ValueError(f"there is no event {event!r}; there are {', '.join(EVENTS)}")
        self._listeners.setdefault(event, []).append(listener)

    def forget(self, plugin: str) -> None:
        """Tell a plugin's listeners nothing any more, what waits for them included.

        One that is being told is cancelled: nobody waits for it.
        """
        for event, held in tuple(self._listeners.items()):
            left = [one for one in held if one.plugin != plugin]
            if left:
                self._listeners[event] = left
            else:
                del self._listeners[event]
        kept = [
            attrs.evolve(said, listeners=[one for one in said.listeners if one.plugin != plugin])
            for said in self._waiting
        ]
        self._waiting.clear()
        self._waiting.extend(kept)
        if self._told_now is not None and self._told_now[0].plugin == plugin:
            now, self._told_now = self._told_now, None
            now[1].cancel()

    def listened(self, event: str) -> bool:
        """See `IEvents.listened`."""
        return event in self._listeners

    # -- saying --------------------------------------------------------------------

    def emit(self, event: str, payload: Mapping[str, Any]) -> None:
        """See `IEvents.emit`."""
        listeners = self._listeners.get(event)
        # What a listener of the log logs itself would come back to it for ever.
        if listeners and not (event == "log" and _HEARS_LOG.get()):
            self._said(_Said(event, self._prepared(payload), tuple(listeners)))

    async def tell(self, event: str, payload: Mapping[str, Any], plugin: str | None = None) -> None:
        """Tell, and return when everybody was told: of one plugin alone where one is named."""
        listeners = [one for one in self._listeners.get(event, ()) if plugin in (None, one.plugin)]
        if listeners:
            told: Deferred[None] = Deferred()
            self._said(_Said(event, self._prepared(payload), listeners, told))
            await told

    def _said(self, said: _Said) -> None:
        if len(self._waiting) >= MOST_WAITING:
            self._drop()
        self._waiting.append(said)
        if not self._telling:
            self._telling = True
            # In a turn of its own: what is said is said in the middle of the host's work.
            self._clock.callLater(0, self._begin)

    def _begin(self) -> None:
        telling = Deferred.fromCoroutine(self._tell_all())
        telling.addErrback(lambda failure: log.failure("events are told no more", failure))

    def _drop(self) -> None:
        dropped = self._waiting.popleft()
        self._dropped += 1
        if dropped.told is not None:
            dropped.told.callback(None)
        if self._dropped == 1 or self._dropped % MOST_WAITING == 0:
            log.warn("{count} events were dropped: listeners are too slow", count=self._dropped)

    async def _tell_all(self) -> None:
        try:
            while self._waiting:
                said = self._waiting.popleft()
                for listener in said.listeners:
                    await self._tell_one(said, listener)
                if said.told is not None:
                    said.told.callback(None)
        finally:
            self._telling = False

    async def _tell_one(self, said: _Said, listener: Listener) -> None:
        # Seen by what this listener runs and waits for, and by nobody else.
        _HEARS_LOG.set(said.event == "log")
        try:
            telling = bounded(lambda: listener.call(said.payload), PATIENCE, self._clock)
            self._told_now = (listener, telling)
            await awaited(telling)
        except Overdue as late:
            log.error(
                "plugin {plugin}: its listener of {event} took longer than {bound:g} s and is left "
                "behind{place}",
                plugin=listener.plugin,
                event=said.event,
                bound=PATIENCE,
                place=place_words(late.waits_at),
            )
        except Exception:
            if self._told_now is None:  # it was forgotten, and cancelled for that
                return
            log.failure(
                "plugin {plugin}: its listener of {event} failed",
                plugin=listener.plugin,
                event=said.event,
            )
        finally:
            self._told_now = None
            _HEARS_LOG.set(False)
