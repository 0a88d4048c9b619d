"""What a terminal's program prints, said on its channel: the host's other hot path.

Text is gathered into few actions. A mark of the shell is said where it stood, so what was
printed before it goes out before it (AHP.txt, `terminal/commandFinished`).
"""

from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import Any, Final

import attrs
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ahpd.channels.store import ChannelStore
from ahpd.terminals.gather import Gatherer
from ahpd.terminals.marks import CommandFinished, CommandStarted, CwdChanged
from ahpd.terminals.output import Event, OutputReader
from ahpd.terminals.scrollback import Scrollback

#: How long output waits that may yet be the beginning of a mark, in seconds.
_PATIENCE: Final = 0.05

#: What changes a terminal's content, and so how much is kept of it.
GROWS: Final = frozenset(
    {
        "terminal/data",
        "terminal/cleared",
        "terminal/commandExecuted",
        "terminal/commandFinished",
    }
)


@attrs.frozen
class _Running:
    """The command whose output is printed now."""

    id: str
    since: float


class Voice:
    """Says what one terminal prints, on `channel`, which must be open.

    `now` is the wall clock, `ids` names commands, `hosts` are the names of this machine.
    """

    def __init__(
        self,
        store: ChannelStore,
        clock: IReactorTime,
        channel: str,
        now: Callable[[], datetime],
        ids: Callable[[], str],
        hosts: Collection[str],
    ) -> None:
        self._store = store
        self._clock = clock
        self._channel = channel
        self._now = now
        self._ids = ids
        self._reader = OutputReader(hosts)
        self._gatherer = Gatherer(clock, self._say_data)
        self._scrollback = Scrollback()
        self._timer: IDelayedCall | None = None
        self._detects = False
        self._command: _Running | None = None
        #: Whether marks are said. There are none on pipes, whatever is printed there.
        self.marked = True

    def heard(self, data: bytes) -> None:
        """The program printed `data`."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._follow(self._reader.feed(data))
        if self._reader.held:
            self._timer = self._clock.callLater(_PATIENCE, self._give_up_waiting)

    def say(self, text: str) -> None:
        """Say words of the host's own as if the program had printed them."""
        self._gatherer.add(text)

    def flush(self) -> None:
        """Say now what is gathered."""
        self._gatherer.flush()

    def finish(self) -> None:
        """The output is over: say all that is left of it, and leave nothing on the clock."""
        self._follow(self._reader.finish())
        self.stop()

    def stop(self) -> None:
        """Say what is gathered, and leave nothing on the clock."""
        self._gatherer.stop()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def bound(self) -> None:
        """One of `GROWS` was applied: let go of what is too much of the content."""
        content = self._store.state(self._channel)["content"]
        parts = len(content)
        if self._scrollback.trim(content) or len(content) != parts:
            self._store.amend(self._channel, {"content": content})

    # -- what the reader made of it -----------------------------------------------

    def _follow(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, str):
                self._gatherer.add(event)
            elif self.marked:
                self._mark(event)

    def _mark(self, mark: Event) -> None:
        if isinstance(mark, CwdChanged):
            if mark.uri != self._store.state(self._channel).get("cwd"):
                self._say("terminal/cwdChanged", cwd=mark.uri)
            return
        if not self._detects:
            self._detects = True
            self._say("terminal/commandDetectionAvailable")
        if isinstance(mark, CommandStarted):
            self._command = _Running(self._ids(), self._clock.seconds())
            self._say(
                "terminal/commandExecuted",
                commandId=self._command.id,
                commandLine=mark.line or "",
                timestamp=int(self._now().timestamp() * 1000),
            )
        elif isinstance(mark, CommandFinished) and self._command is not None:
            lasted = self._clock.seconds() - self._command.since
            code = {} if mark.code is None else {"exitCode": mark.code}
            self._say(
                "terminal/commandFinished",
                commandId=self._command.id,
                **code,
                durationMs=max(0, round(lasted * 1000)),
            )
            self._command = None

    def _say(self, kind: str, **fields: Any) -> None:
        self._gatherer.flush()
        self._store.dispatch(self._channel, {"type": kind, **fields})

    def _say_data(self, text: str) -> None:
        self._store.dispatch(self._channel, {"type": "terminal/data", "data": text})

    def _give_up_waiting(self) -> None:
        self._timer = None
        self._follow(self._reader.flush())
