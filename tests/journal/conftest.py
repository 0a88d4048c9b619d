"""One session with one chat, journaled into a store that fails on demand."""

import pytest
from twisted.internet.task import Clock

from ahpd.channels.store import ChannelStore
from ahpd.interfaces import SessionRow, StoreFailure
from ahpd.journal.book import Journals
from ahpd.protocol.uris import ChannelKind
from ahpd.testing.failing_store import FailingStore


class Store(FailingStore):
    """One that may refuse a channel's entries, and take its time over what is written whole."""

    def __init__(self, clock):
        super().__init__()
        self.clock = clock
        self.refused = None
        self.takes = 0.0

    def append(self, entries):
        taken = list(entries)
        if any(channel == self.refused for channel, _ in taken):
            raise StoreFailure(self.words)
        super().append(taken)

    def apply(self, writes):
        super().apply(writes)
        self.clock.rightNow += self.takes


class Book:
    """One session with one chat, journaled into `store`."""

    session, chat = "ahp-session:/s", "ahp-chat:/c"

    def __init__(self):
        self.clock = Clock()
        self.store = Store(self.clock)
        self.channels = ChannelStore()
        self.journals = Journals(self.store, self.channels, self.clock, lambda: 1000, self._row)
        self.unsaved = []
        self.open(self.session, ChannelKind.SESSION, {"title": "", "status": 1, "chats": []}, None)
        self.another(self.chat)

    def another(self, chat, session="s"):
        """An empty chat more, of that session."""
        state = {
            "resource": chat,
            "title": "",
            "status": 1,
            "modifiedAt": "2026-01-01T00:00:00.000Z",
            "turns": [],
        }
        self.open(chat, ChannelKind.CHAT, state, lambda env, why: self.unsaved.append(env), session)
        self.journals.save(session)
        self.store.calls.clear()

    def open(self, channel, kind, state, unsaved, session="s"):
        journal = self.journals.open(session, channel, kind, unsaved)
        self.channels.open(channel, kind, state, None, journal)

    def _row(self, identifier):
        return SessionRow(
            id=identifier,
            uri=self.session,
            provider="p",
            created_at="2026-01-01T00:00:00.000Z",
            modified_at="2026-01-01T00:00:00.000Z",
            ordinal=1,
            announced=True,
            summary=b"{}",
        )

    def say(self, action_type, origin=None, channel=None, **fields):
        self.channels.dispatch(channel or self.chat, {"type": action_type, **fields}, origin)

    def turn(self, turn_id, text="hello", channel=None):
        """A turn's start and its part `p`."""
        self.say(
            "chat/turnStarted",
            channel=channel,
            turnId=turn_id,
            startedAt="2026-01-01T00:00:00.000Z",
            message={"text": text, "origin": {"kind": "user"}},
        )
        part = {"kind": "markdown", "id": "p", "content": ""}
        self.say("chat/responsePart", channel=channel, turnId=turn_id, part=part)

    def delta(self, turn_id, content, kind="chat/delta", part="p"):
        self.say(kind, turnId=turn_id, partId=part, content=content)

    def end(self, turn_id):
        self.say("chat/turnComplete", turnId=turn_id, duration=5)

    def is_behind(self):
        """The chat's head is no longer what was said: it is written with the next action."""
        self.journals.open("s", self.chat, ChannelKind.CHAT).said_unsaved()

    def record(self, channel=None):
        [found] = [each for each in self.store.read("s") if each.channel == (channel or self.chat)]
        return found

    def entries(self):
        return [entry for kind, entries in self.appends() for entry in entries]

    def appends(self):
        return [call for call in self.store.calls if call[0] == "append"]


@pytest.fixture
def book():
    return Book()
