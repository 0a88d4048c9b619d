"""Whether a restart is needed: a write was made that cannot be applied while the host runs.

The root's configuration says it from then on, and who watches the root is told once. Source:
PLUGINS.txt, "A write the daemon cannot apply while it runs".
"""

from collections.abc import Callable
from typing import Any, Final

from ahpd.channels.store import ChannelStore
from ahpd.protocol import State
from ahpd.protocol.uris import ROOT

KEY: Final = "ahpd.restartNeeded"
NOTIFICATION: Final = "x-ahpd/restartNeeded"
_SCHEMA: Final[State] = {
    "type": "boolean",
    "title": "Restart needed",
    "description": "Something was changed that the next start of the host applies",
    "readOnly": True,
}

#: Has the root's configuration hold a key no client may set: its name, its schema (schema:
#: ConfigPropertySchema) and its value, said as the host's own.
Hold = Callable[[str, State, Any], None]


class RestartNeeded:
    """The mark. Nothing but a new process clears it."""

    def __init__(self, store: ChannelStore, hold: Hold) -> None:
        self._store = store
        self._hold = hold
        self.marked = False

    def mark(self) -> None:
        """A restart is needed. Again is no error, and is told to nobody."""
        if self.marked:
            return
        self.marked = True
        self._hold(KEY, dict(_SCHEMA), True)
        self._store.behind(lambda: self._store.notify(ROOT, NOTIFICATION, {"channel": ROOT}))
