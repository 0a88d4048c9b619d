"""`log`: each line of the daemon's log, to whoever listens.

While nobody does, an event of the log costs one question. What a listener logs itself while it is
told of a line is left out by who tells (`ahpd.events.bus`); what is logged by saying a line is left
out here.
"""

from collections.abc import Callable
from threading import get_ident
from typing import Any, Final

from twisted.logger import ILogObserver, LogEvent
from zope.interface import implementer

from ahpd.interfaces import IEvents

_EVENT: Final = "log"

#: Has a function called with its arguments in the reactor's thread.
FromThread = Callable[..., Any]


@implementer(ILogObserver)
class LogLines:
    """An observer of the log, made in the reactor's thread.

    `line_of` answers the line the log has for an event, None where it has none. `from_thread` brings
    what other threads log into the reactor's; without it that is left out.
    """

    def __init__(
        self,
        events: IEvents,
        line_of: Callable[[LogEvent], str | None],
        from_thread: FromThread | None = None,
    ) -> None:
        self._events = events
        self._line_of = line_of
        self._from_thread = from_thread
        self._thread = get_ident()
        self._saying = False

    def __call__(self, event: LogEvent) -> None:
        """See `ILogObserver`."""
        if not self._events.listened(_EVENT):
            return
        if get_ident() == self._thread:
            self._say(event)
        elif self._from_thread is not None:
            self._from_thread(self._say, event)

    def _say(self, event: LogEvent) -> None:
        if self._saying:
            return
        self._saying = True
        try:
            line = self._line_of(event)
            if line is not None:
                self._events.emit(_EVENT, {"line": line})
        finally:
            self._saying = False
