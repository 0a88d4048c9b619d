"""Sessions that nothing happens in are let go of; they are woken by whoever asks for them.

One timer looks at all that are awake. A session stays while anybody watches one of its
channels or is in it, while a turn runs or its agent is open, while a person is asked about
its folders, and for a while after that.
"""

from typing import Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ahpd.chats.chat import Chat
from ahpd.sessions.entry import Entry
from ahpd.sessions.registry import SessionRegistry
from ahpd.sessions.session import Session
from ahpd.sessions.waking import sleep

#: How long a session is left alone before it is let go of, in seconds.
SLEEP_AFTER: Final = 300.0
#: How often the sessions are looked at, as a share of the time they are left alone.
_SHARE: Final = 0.2
_LEAST: Final = 1.0


class Sleeping:
    """Puts the sessions of `registry` to sleep that were quiet for `after` seconds; 0 for none."""

    def __init__(self, registry: SessionRegistry, clock: IReactorTime, after: float) -> None:
        self._registry = registry
        self._clock = clock
        self._after = after
        self._due: IDelayedCall | None = None
        registry.woken = self.watch

    def watch(self) -> None:
        """A session is awake: look at it in time."""
        if self._due is None and self._after > 0:
            self._due = self._clock.callLater(max(_LEAST, self._after * _SHARE), self._look)

    def stop(self) -> None:
        """Look no more."""
        self._after = 0
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _look(self) -> None:
        self._due = None
        awake = False
        for entry in self._registry.catalogue.entries():
            session = entry.session
            if session is None:
                continue
            quiet_for = self._registry.world.clock.seconds() - entry.touched
            if quiet_for >= self._after and self._may_sleep(entry, session):
                sleep(self._registry, entry)
            else:
                awake = True
        if awake:
            self.watch()

    def _may_sleep(self, entry: Entry[Session], session: Session) -> bool:
        store = self._registry.world.store
        if session.state["activeClients"] or entry.active or session.movable.changing:
            return False
        if any(_works(chat) for chat in session.chats.values()):
            return False
        channels = (session.uri, session.annotations, *session.chats)
        if any(store.watchers(channel) for channel in channels):
            return False
        return self._registry.journals.fold(entry.identifier)


def _works(chat: Chat) -> bool:
    """Whether something of the chat's ends with the process, or is under way."""
    return chat.runs or chat.is_open or chat.in_use
