"""What an answer of many megabytes costs in memory: itself, and little more."""

import tracemalloc

import pytest
from twisted.internet.task import Clock

from ahpd.channels.store import ChannelStore
from ahpd.interfaces import SessionRow
from ahpd.journal.book import BATCH, QUIET, Journals
from ahpd.journal.recovery import read_back
from ahpd.protocol.text import plain
from ahpd.protocol.uris import ChannelKind
from ahpd.stores.sqlite import SqliteSessionStore
from ahpd.testing.store_samples import a_row

CHAT = "ahp-chat:/c"
MIB = 1024 * 1024
ANSWER = 8 * MIB
DELTA = 4096


class Kept:
    """A chat whose turns are kept in a file."""

    def __init__(self, folder):
        self.store = SqliteSessionStore(folder)
        self.store.open()
        self.clock = Clock()
        self.channels = ChannelStore(replay_bytes=MIB // 16)
        self.journals = Journals(self.store, self.channels, self.clock, lambda: 1000, self._row)
        state = {
            "resource": CHAT,
            "title": "",
            "status": 1,
            "modifiedAt": "2026-01-01T00:00:00.000Z",
            "turns": [],
        }
        self.open(state, None)
        self.journals.save("s")

    def _row(self, identifier) -> SessionRow:
        return a_row(identifier)

    def open(self, state, stored):
        journal = self.journals.open("s", CHAT, ChannelKind.CHAT, stored=stored)
        self.channels.open(CHAT, ChannelKind.CHAT, state, None, journal)

    def say(self, action_type, **fields):
        self.channels.dispatch(CHAT, {"type": action_type, "turnId": "t", **fields})

    def stream(self, size):
        """A turn that is not over, of that many characters."""
        self.say(
            "chat/turnStarted",
            startedAt="2026-01-01T00:00:00.000Z",
            message={"text": "ask", "origin": {"kind": "user"}},
        )
        self.say("chat/responsePart", part={"kind": "markdown", "id": "p", "content": ""})
        for number in range(size // DELTA):
            content = str(number).ljust(DELTA, ".")
            self.say("chat/delta", partId="p", content=content)
            if number % 100 == 0:
                self.clock.advance(BATCH)

    def end(self):
        self.say("chat/turnComplete", duration=5)
        self.clock.advance(2 * QUIET)


@pytest.fixture
def kept(tmp_path):
    made = Kept(tmp_path / "data")
    made.stream(DELTA)
    made.end()
    tracemalloc.start()
    yield made
    tracemalloc.stop()
    made.store.close()


def now():
    return tracemalloc.get_traced_memory()[0]


def most(act):
    """The most memory `act` took beside what was taken already, and what it gave."""
    before = now()
    tracemalloc.reset_peak()
    given = act()
    return tracemalloc.get_traced_memory()[1] - before, given


def test_a_long_answer_is_held_once_and_kept_without_a_copy_of_it(kept):
    streaming, _ = most(lambda: kept.stream(ANSWER))
    assert streaming < ANSWER + 2 * MIB
    folding, _ = most(kept.end)
    assert folding < 2 * MIB
    [record] = kept.store.read("s")
    assert record.entries == ()
    assert plain(read_back(record).state) == plain(kept.channels.state(CHAT))


def test_a_running_answer_is_written_whole_without_a_copy_of_it(kept):
    kept.stream(ANSWER)
    journal = kept.journals.open("s", CHAT, ChannelKind.CHAT)
    journal.said_unsaved()
    writing, _ = most(lambda: kept.journals.save("s"))
    assert writing < 2 * MIB
    assert ANSWER < journal.head_size < ANSWER + MIB
    [record] = kept.store.read("s")
    assert plain(read_back(record).state) == plain(kept.channels.state(CHAT))


def test_what_is_asleep_costs_nothing_and_waking_it_twice_its_size(kept):
    before = now()
    for _ in range(4):
        kept.stream(ANSWER // 4)
        kept.end()
    kept.channels.release(CHAT)
    assert now() - before < MIB
    waking, read = most(lambda: read_back(kept.store.read("s")[0]))
    assert len(read.state["turns"]) == 5
    assert waking < 2 * ANSWER + 2 * MIB
    assert now() - before < ANSWER + 2 * MIB
