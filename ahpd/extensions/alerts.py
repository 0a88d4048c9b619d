"""The alerts of one row: what a person should know of it, kept in memory alone.

Source: PLUGINS.txt, "An alert is kept by its ref".
"""

from collections.abc import Callable
from datetime import datetime

import attrs

from ahpd.interfaces import Alert
from ahpd.protocol import State
from ahpd.protocol.timestamps import stamp

#: How many alerts a row shows at most; the oldest of more goes.
MOST = 50


class Alerts:
    """Alerts in the order they were raised.

    `now` is the wall clock (aware); `moved` is called after anything here changed.
    """

    def __init__(
        self, now: Callable[[], datetime], moved: Callable[[], None], most: int = MOST
    ) -> None:
        self._now = now
        self._moved = moved
        self._most = most
        self._held: list[Alert] = []

    def raise_(self, alert: Alert) -> None:
        """Show `alert`, in place of another with its ref; the host says when it was raised."""
        if alert.at is None:
            alert = attrs.evolve(alert, at=stamp(self._now()))
        if alert.ref is not None:
            self._held = [held for held in self._held if held.ref != alert.ref]
        self._held.append(alert)
        del self._held[: -self._most]
        self._moved()

    def clear(self, ref: str) -> None:
        """Take away the alert with this ref; one that is not shown is no error."""
        self._keep(lambda held: held.ref != ref)

    def clear_where(self, prefix: str) -> None:
        """Take away every alert whose ref begins with `prefix`; an empty one takes all of them."""
        self._keep(lambda held: bool(prefix) and not (held.ref or "").startswith(prefix))

    def _keep(self, kept: Callable[[Alert], bool]) -> None:
        left = [alert for alert in self._held if kept(alert)]
        if len(left) != len(self._held):
            self._held = left
            self._moved()

    @property
    def shown(self) -> list[State]:
        """The alerts as a row carries them, the oldest first (`{level, text, ref?, at}`)."""
        return [
            {
                "level": alert.level,
                "text": alert.text,
                **({} if alert.ref is None else {"ref": alert.ref}),
                "at": alert.at,
            }
            for alert in self._held
        ]
