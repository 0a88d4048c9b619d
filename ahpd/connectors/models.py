"""What a connector serves: its list of models, read when it opens and again each hour.

Source: PLUGINS.txt, "An adapter of your own" (`models`), `x-ahpd/connectors/models`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ahpd.calling import asked
from ahpd.extensions.waiting import Background, within
from ahpd.protocol import State
from ahpd.protocol.characters import is_whole_json
from ahpd.protocol.timestamps import stamp

log = Logger()

#: Seconds between two readings.
HOUR: Final = 3600.0
#: Seconds a service has to answer one.
PATIENCE: Final = 60.0


class ModelList:
    """The models of one open connector. `read()` asks its adapter, `named` is it, for the log.

    A list that cannot be read keeps the one it had.
    """

    def __init__(
        self,
        named: str,
        read: Callable[[], Awaitable[Any] | Any],
        clock: IReactorTime,
        now: Callable[[], datetime],
        background: Background,
    ) -> None:
        self._named = named
        self._read = read
        self._clock = clock
        self._now = now
        self._background = background
        self._timer: IDelayedCall | None = None
        self._reading: Deferred[Any] | None = None
        self._stopped = False
        self.models: Sequence[State] = ()
        self.at: str | None = None
        """When the list was last read (ISO 8601); None for one that never was."""

    def start(self) -> None:
        """Read it now, and each hour until `stop`."""
        self._timer = self._clock.callLater(HOUR, self.start)
        self._reading = self._background.spawn(
            f"reading the models of {self._named}", self._again()
        )

    def stop(self) -> None:
        """Read it no more."""
        self._stopped = True
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        if self._reading is not None:
            self._reading.cancel()

    async def settled(self) -> None:
        """Wait for the first reading, where it has not come yet."""
        if self.at is None and self._reading is not None and not self._reading.called:
            waiting: Deferred[None] = Deferred()

            def over(result: Any) -> Any:
                if not waiting.called:
                    waiting.callback(None)
                return result

            self._reading.addBoth(over)
            await waiting

    async def _again(self) -> None:
        try:
            rows = _rows(await within(self._clock, PATIENCE, asked(self._read)))
        except Exception as failed:
            if not self._stopped:
                log.warn(
                    "the models of {named} could not be read ({kind}); those it had are kept",
                    named=self._named,
                    kind=type(failed).__name__,
                )
            return
        if not self._stopped:
            self.models, self.at = rows, stamp(self._now())


def _rows(answered: Any) -> Sequence[State]:
    if isinstance(answered, str | bytes | Mapping) or not isinstance(answered, Sequence):
        raise TypeError("the models are no list")
    rows = (dict(row) for row in answered if isinstance(row, Mapping))
    return [row for row in rows if isinstance(row.get("id"), str) and is_whole_json(row)]
