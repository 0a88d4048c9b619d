"""Who is in a session: `session_opened`, once for each client and session.

Whoever made a session is named in its `session_start`; this names whoever subscribed to it, or to a
chat of it, its maker too once it does. What was told is remembered as long as the session is, so a
client that comes back to it is not told of again.
"""

from collections.abc import Callable
from typing import Any, Final

from ahpd.interfaces import IEvents
from ahpd.protocol.uris import ChannelKind, kind_of

_KINDS: Final = frozenset({ChannelKind.SESSION, ChannelKind.CHAT})
_EVENT: Final = "session_opened"


class Opened:
    """Told of subscriptions. `session_of` answers the URI of the session that a session's or a
    chat's channel belongs to, asleep or not, and None where nobody here has it."""

    def __init__(self, events: IEvents, session_of: Callable[[str], str | None]) -> None:
        self._events = events
        self._session_of = session_of
        self._told: dict[str, set[str]] = {}

    def watching(self, channel: str, subscriber: Any, began: bool) -> None:
        """See `ahpd.channels.store.WatchingHook`. Whoever is no client opens nothing."""
        if not began or not self._events.listened(_EVENT):
            return
        record = getattr(subscriber, "record", None)
        if record is None or kind_of(channel) not in _KINDS:
            return
        session = self._session_of(channel)
        if session is None:
            return
        client = record.client_id
        told = self._told.setdefault(session, set())
        if client not in told:
            told.add(client)
            self._events.emit(_EVENT, {"session": session, "client": client})

    def session_over(self, session: str) -> None:
        """A session is gone; another may come under its URI."""
        self._told.pop(session, None)
