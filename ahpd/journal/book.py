"""The journals of a host's sessions: what is written when.

An action is appended to its channel's journal before it is said. Streamed text waits a
moment to be written with more of it, and goes ahead of anything else of its channel. Once a
session has been quiet its channels are *folded*: their heads are written anew, their new
turns behind the ones there are, and the entries go (`ahpd.interfaces.stores`).
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ahpd.channels.store import ChannelStore, Unsaved
from ahpd.interfaces import (
    DropChannel,
    ISessionStore,
    PutChannel,
    PutSession,
    SessionRow,
    StoreFailure,
    Write,
)
from ahpd.journal.channel import ChannelJournal
from ahpd.journal.entries import Facts, action_entry, facts_entry
from ahpd.protocol.merge_patch import merge
from ahpd.protocol.uris import ChannelKind
from ahpd.wire.codec import encode

log = Logger()

#: How long streamed text may wait to be written, in seconds.
BATCH: Final = 0.25
#: How long a session is quiet before its journals are folded, in seconds.
QUIET: Final = 2.0
#: How long after a fold that failed it is tried again, in seconds.
AGAIN: Final = 30.0
#: Sessions folded in one go; the others wait for the next, so that nobody waits for all.
_AT_ONCE: Final = 20
#: How long folding may go on before the others wait, in seconds: somebody is being streamed to.
_AT_ONCE_SECONDS: Final = 0.004
_SOON: Final = 0.02
#: Stands behind a head with a turn in it, so that a start after a crash finds the session
#: among those that have something to read back.
RUNNING: Final = b"{}"


class Journals:
    """The journals of every open channel of a host's sessions.

    `row` answers the row of a session by its id, None for one that has none (any more).
    `now` is the wall clock, in milliseconds since the epoch.
    """

    def __init__(
        self,
        store: ISessionStore,
        channels: ChannelStore,
        clock: IReactorTime,
        now: Callable[[], int],
        row: Callable[[str], SessionRow | None],
    ) -> None:
        self.store = store
        self._channels = channels
        self._clock = clock
        self._now = now
        self._row = row
        self._journals: dict[str, ChannelJournal] = {}
        self._of_session: dict[str, dict[str, ChannelJournal]] = {}
        self._batched: dict[ChannelJournal, None] = {}
        self._batch_due: IDelayedCall | None = None
        self._unfolded: dict[str, float] = {}
        self._fold_due: IDelayedCall | None = None
        self._over = False

    # -- which there are --------------------------------------------------------

    def open(
        self,
        session: str,
        channel: str,
        kind: ChannelKind,
        unsaved: Unsaved | None = None,
        facts: Facts | None = None,
        stored: int | None = None,
    ) -> ChannelJournal:
        """The journal of a channel that is about to be opened, or was expected.

        `stored` is how many turns the store has of it, None for a channel it has not.
        """
        journal = self._journals.get(channel)
        if journal is None:
            journal = ChannelJournal(
                self, session, channel, kind, self._channels.state, unsaved, facts, stored
            )
            self._journals[channel] = journal
            self._of_session.setdefault(session, {})[channel] = journal
        elif unsaved is not None:
            journal.owned_by(unsaved)
        return journal

    def facts(self, channel: str) -> Mapping[str, Any]:
        """The facts kept of an open channel; empty for one that is not open."""
        journal = self._journals.get(channel)
        return {} if journal is None else journal.facts

    def leave(self, channel: str) -> None:
        """Let go of the journal of a channel. Nothing is written; again is no error."""
        journal = self._journals.pop(channel, None)
        if journal is None:
            return
        self._batched.pop(journal, None)
        of_session = self._of_session[journal.session]
        del of_session[channel]
        if not of_session:
            del self._of_session[journal.session]
            self._unfolded.pop(journal.session, None)
        self._cancel_idle()

    # -- writing ------------------------------------------------------------------

    def write(self, journal: ChannelJournal, body: bytes, last: bool = False) -> None:
        """Keep an encoded action of a channel. Raises `StoreFailure`, nothing written."""
        self.write_entry(journal, action_entry(body, self._now()), last)

    def write_entry(self, journal: ChannelJournal, entry: bytes, last: bool = False) -> None:
        """Keep an entry of a channel, its streamed text before it. Raises `StoreFailure`.

        Behind the `last` of a turn comes a fold: however much there is, it is not written
        whole for this one, with somebody waiting.
        """
        if journal.channel not in self._journals:
            return  # it was taken away: nothing is kept of it any more
        whole = [each for each in self._of_session[journal.session].values() if each.dirty]
        if not last and journal.heavy and not journal.dirty:
            whole.append(journal)
        if journal in whole:
            self._apply(journal.session, whole, {journal.channel: (entry,)})
        else:
            if whole:
                self._apply(journal.session, whole)
            self._append(journal, [*self._text(journal), entry])
        self.unfolded(journal)

    def note(self, channel: str, facts: Mapping[str, Any]) -> None:
        """Keep facts of an open channel. Raises `StoreFailure`; `KeyError` for no such channel."""
        journal = self._journals[channel]
        journal.settle()
        self.write_entry(journal, facts_entry(facts), last=True)
        merge(journal.facts, facts)

    def owe(self, channel: str, facts: Mapping[str, Any]) -> None:
        """Facts of an open channel hold though they could not be kept: its next write has them."""
        journal = self._journals.get(channel)
        if journal is not None:
            merge(journal.facts, facts)
            journal.said_unsaved()

    def save(self, *sessions: str) -> None:
        """Write what the store has not of the sessions of these ids, and their rows, in one go.

        Raises `StoreFailure`, nothing written.
        """
        writes: list[Write] = [PutSession(row=row) for row in map(self._row, sessions) if row]
        puts: list[tuple[ChannelJournal, PutChannel]] = []
        for session in sessions:
            behind = self._of_session.get(session, {}).values()
            puts += [(each, self._put(each)) for each in behind if each.dirty]
        writes += [put for _, put in puts]
        self.store.apply(writes)
        for journal, put in puts:
            self._written(journal, put)

    def transfer(
        self,
        channels: Iterable[str],
        source: str,
        target: str,
        following: Mapping[str, Sequence[Mapping[str, Any]]],
        *others: Write,
    ) -> None:
        """Write channels under another session from now on, in one go with what is about to be
        said of it: `following` are those actions, by the channel of each of the two sessions.

        Raises `StoreFailure`, nothing written.
        """
        moved = [self._journals[channel] for channel in channels]
        at = self._now()
        puts: list[tuple[ChannelJournal, PutChannel]] = []
        for channel, actions in following.items():
            entries = tuple(action_entry(encode(action), at) for action in actions)
            puts.append((self._journals[channel], self._journals[channel].put(entries)))
        puts += [(each, attrs.evolve(self._put(each), session=target)) for each in moved]
        rows = [row for row in map(self._row, dict.fromkeys((source, target))) if row is not None]
        writes: list[Write] = [PutSession(row=row) for row in rows]
        self.store.apply([*writes, *(put for _, put in puts), *others])
        for journal, put in puts:
            self._written(journal, put)
            self.unfolded(journal)
        for journal in moved:
            self._rehome(journal, target)

    def drop(
        self, channel: str, session: str, following: Mapping[str, Sequence[Mapping[str, Any]]]
    ) -> None:
        """Take a channel of a session out of the store; for `following` see `transfer`.

        Raises `StoreFailure`, nothing written.
        """
        self.transfer((), session, session, following, DropChannel(channel=channel))
        self.leave(channel)

    def _rehome(self, journal: ChannelJournal, session: str) -> None:
        left = self._of_session[journal.session]
        del left[journal.channel]
        if not left:
            del self._of_session[journal.session]
        journal.session = session
        self._of_session.setdefault(session, {})[journal.channel] = journal

    def apply(self, *writes: Write) -> None:
        """Write what is no journal's. Raises `StoreFailure`, nothing written."""
        self.store.apply(writes)

    def _text(self, journal: ChannelJournal) -> list[bytes]:
        held = journal.held()
        return [action_entry(body, self._now()) for body in held] if held else []

    def _append(self, journal: ChannelJournal, entries: list[bytes]) -> None:
        channel = journal.channel
        self.store.append([(channel, entry) for entry in entries])
        self._appended(journal, entries)

    def _appended(self, journal: ChannelJournal, entries: list[bytes]) -> None:
        journal.forget_held()
        self._batched.pop(journal, None)
        journal.appended(entries)

    def _apply(
        self,
        session: str,
        journals: Iterable[ChannelJournal],
        entries: Mapping[str, tuple[bytes, ...]] | None = None,
    ) -> None:
        """Write channels of a session whole, with its row, and with entries to follow.

        Behind a turn that runs there always is one.
        """
        entries = entries or {}
        puts = [(each, self._put(each, entries.get(each.channel, ()))) for each in journals]
        row = self._row(session)
        writes: list[Write] = [] if row is None else [PutSession(row=row)]
        self.store.apply([*writes, *(put for _, put in puts)])
        for journal, put in puts:
            self._written(journal, put)

    def _put(self, journal: ChannelJournal, entries: tuple[bytes, ...] = ()) -> PutChannel:
        return journal.put(entries or ((RUNNING,) if journal.running else ()))

    def _written(self, journal: ChannelJournal, put: PutChannel) -> None:
        journal.written(put)
        self._batched.pop(journal, None)

    # -- streamed text --------------------------------------------------------------

    def batched(self, journal: ChannelJournal) -> None:
        """A channel has streamed text that waits."""
        self._batched[journal] = None
        if self._batch_due is None and not self._over:
            self._batch_due = self._clock.callLater(BATCH, self._flush_all)

    def _flush_all(self) -> None:
        self._batch_due = None
        if len(self._batched) > 1:
            self._flush_together()
        for journal in list(self._batched):
            self.flush(journal)

    def _flush_together(self) -> None:
        """Write the streamed text of all channels in one go, which costs a share of one each.

        Where that fails it goes on waiting: whose it is shows when each is written by itself.
        """
        texts = [(each, self._text(each)) for each in self._batched if not each.dirty]
        try:
            self.store.append([(each.channel, entry) for each, text in texts for entry in text])
        except StoreFailure:
            return
        for journal, text in texts:
            self._appended(journal, text)
            self.unfolded(journal)

    def flush(self, journal: ChannelJournal) -> None:
        """Write the streamed text of a channel now. Where it cannot be, its owner is told."""
        self._batched.pop(journal, None)
        try:
            if journal.dirty:
                self._apply(journal.session, [journal])
            else:
                text = self._text(journal)
                if text:
                    self._append(journal, text)
        except StoreFailure as failure:
            journal.forget_held()  # the state has it, and is written whole
            journal.said_unsaved()
            log.error(
                "{channel} could not be saved: {words}", channel=journal.channel, words=str(failure)
            )
            journal.tell(None, failure)
        self.unfolded(journal)

    # -- folding ----------------------------------------------------------------------

    def unfolded(self, journal: ChannelJournal) -> None:
        """A channel's head is behind what was said: fold its session once it is quiet."""
        if journal.channel not in self._journals:
            return
        self._unfolded[journal.session] = self._clock.seconds() + QUIET
        if self._fold_due is None and not self._over:
            self._fold_due = self._clock.callLater(QUIET, self._fold_quiet)

    def _fold_quiet(self) -> None:
        self._fold_due = None
        now = self._clock.seconds()
        due = deque(session for session, at in self._unfolded.items() if at <= now)
        folded = 0
        while due and folded < _AT_ONCE and self._clock.seconds() - now <= _AT_ONCE_SECONDS:
            session = due.popleft()
            if self.running(session):
                self._unfolded[session] = now + QUIET
            else:
                self.fold(session)
                folded += 1
        if self._unfolded:
            wait = _SOON if due else min(self._unfolded.values()) - now
            self._fold_due = self._clock.callLater(max(_SOON, wait), self._fold_quiet)

    def running(self, session: str) -> bool:
        """Whether a turn runs in an open chat of the session of this id."""
        return any(journal.running for journal in self._of_session.get(session, {}).values())

    def fold(self, session: str) -> bool:
        """Write every channel of a session that is behind, and its row; whether that could be."""
        behind = [
            journal
            for journal in self._of_session.get(session, {}).values()
            if journal.dirty or journal.passed or journal.weight or journal in self._batched
        ]
        try:
            self._apply(session, behind)
        except StoreFailure as failure:
            log.error(
                "session {session} is not folded: {words}", session=session, words=str(failure)
            )
            self._unfolded[session] = self._clock.seconds() + AGAIN
            return False
        self._unfolded.pop(session, None)
        self._cancel_idle()
        return True

    def fold_all(self) -> None:
        """Write everything that is not written, now: the host is going.

        What is said after that is kept as ever, and folded by the next start.
        """
        self._over = True
        for session in list(self._of_session):
            if session in self._unfolded:
                self.fold(session)
        for due in (self._fold_due, self._batch_due):
            if due is not None and due.active():
                due.cancel()
        self._fold_due = self._batch_due = None

    def _cancel_idle(self) -> None:
        """No timer waits for what is not there any more."""
        if self._fold_due is not None and not self._unfolded:
            if self._fold_due.active():
                self._fold_due.cancel()
            self._fold_due = None
        if self._batch_due is not None and not self._batched:
            if self._batch_due.active():
                self._batch_due.cancel()
            self._batch_due = None
