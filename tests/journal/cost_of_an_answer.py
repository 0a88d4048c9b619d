"""A program that measures what an answer of many megabytes costs in memory.

It is a process of its own, because what is traced is all that a process allocates: in one
that ran other tests, what they left to threads, to collections and to tables that grow would
be counted too. Called with the name of what is measured and an empty folder; it prints its
figures, in bytes, as JSON.
"""

import json
import sys
import tracemalloc
from pathlib import Path

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


def now():
    return tracemalloc.get_traced_memory()[0]


def most(act):
    """The most memory `act` took beside what was taken already, and what it gave."""
    before = now()
    tracemalloc.reset_peak()
    given = act()
    return tracemalloc.get_traced_memory()[1] - before, given


def reads_back(kept):
    """Assert that what is kept is the chat as it is; the record it was read from."""
    [record] = kept.store.read("s")
    assert plain(read_back(record).state) == plain(kept.channels.state(CHAT))
    return record


def streamed_and_ended(kept):
    streaming, _ = most(lambda: kept.stream(ANSWER))
    folding, _ = most(kept.end)
    assert reads_back(kept).entries == ()
    return {"streaming": streaming, "folding": folding}


def written_while_it_runs(kept):
    kept.stream(ANSWER)
    journal = kept.journals.open("s", CHAT, ChannelKind.CHAT)
    journal.said_unsaved()
    writing, _ = most(lambda: kept.journals.save("s"))
    reads_back(kept)
    return {"writing": writing, "written": journal.head_size}


def asleep_and_woken(kept):
    before = now()
    for _ in range(4):
        kept.stream(ANSWER // 4)
        kept.end()
    kept.channels.release(CHAT)
    asleep = now() - before
    waking, read = most(lambda: read_back(kept.store.read("s")[0]))
    assert len(read.state["turns"]) == 5
    return {"asleep": asleep, "waking": waking, "awake": now() - before}


MEASURED = {
    act.__name__: act for act in (streamed_and_ended, written_while_it_runs, asleep_and_woken)
}


def main(name, folder):
    kept = Kept(Path(folder))
    kept.stream(DELTA)
    kept.end()
    tracemalloc.start()
    figures = MEASURED[name](kept)
    tracemalloc.stop()
    kept.store.close()
    print(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
