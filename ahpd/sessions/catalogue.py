"""The catalogue: which sessions there are, in which order, and what clients hear of them.

A session that is awake has its row made of its state. One that is asleep is its row, the
bytes of it, and nothing else: a host starts with thousands of those and decodes none.

Sources: AHP.txt, `listSessions`, the `root/session*` notifications and
`root/activeSessionsChanged`.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar

from twisted.logger import Logger

from ahpd.chats.owner import Surroundings
from ahpd.interfaces import SessionRow, StoreFailure
from ahpd.protocol import State
from ahpd.protocol.errors import invalid_params
from ahpd.protocol.uris import ROOT, session_id
from ahpd.sessions.entry import Entry, Listed
from ahpd.sessions.summary import changes_between
from ahpd.wire.codec import decode

log = Logger()

#: How long a session's row is quiet before its moves are said, in seconds.
QUIET: Final = 0.1

S = TypeVar("S", bound=Listed)


class Catalogue(Generic[S]):
    """Every session of the host, provisional ones among them, and what is said of them.

    `keep` has the store know the row of the session of an id; it may raise `StoreFailure`.
    """

    def __init__(
        self, world: Surroundings, keep: Callable[[str], None] = lambda identifier: None
    ) -> None:
        self._world = world
        self._keep = keep
        self._entries: dict[str, Entry[S]] = {}
        self._made = 0
        self._order: list[Entry[S]] | None = None
        self._tag = world.ids()
        self._active = 0
        self.closing = False
        """The host is going: no turn starts any more."""

    # -- which there are --------------------------------------------------------

    def __len__(self) -> int:
        return len(self._entries)

    def sessions(self) -> list[S]:
        """Those that are awake, in the order they were made or woken."""
        return [entry.session for entry in self._entries.values() if entry.session is not None]

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The ids of all of them."""
        return tuple(self._entries)

    def entries(self) -> Iterator[Entry[S]]:
        """All of them."""
        return iter(tuple(self._entries.values()))

    def get(self, identifier: str) -> S | None:
        """The session held awake under the id every spelling of its URI shares."""
        entry = self._entries.get(identifier)
        return None if entry is None else entry.session

    def entry(self, identifier: str) -> Entry[S] | None:
        """The place of the session of this id, awake or asleep."""
        return self._entries.get(identifier)

    def add(self, session: S) -> None:
        """Hold a session nobody is told of so far."""
        self._made += 1
        identifier = session_id(session.uri)
        entry = Entry[S](identifier, session.uri, session.created_at, self._made)
        entry.session = session
        entry.touched = self._world.clock.seconds()
        self._entries[identifier] = entry
        self._held(session)

    def add_row(self, row: SessionRow) -> Entry[S]:
        """Hold a session that is asleep, as it was last told."""
        self._made = max(self._made, row.ordinal)
        entry = Entry[S](row.id, row.uri, row.created_at, row.ordinal)
        entry.lie_down(row)
        self._entries[row.id] = entry
        self._order = None
        return entry

    def add_surfaced(
        self, identifier: str, uri: str, summary: State, provider: str, conversation: str
    ) -> None:
        """Hold a conversation a backend lists as a session, and say it."""
        self._made += 1
        entry = Entry[S](identifier, uri, summary["createdAt"], self._made)
        entry.surface(summary, provider, conversation)
        self._entries[identifier] = entry
        self._order = None
        self._notify("root/sessionAdded", {"summary": summary})

    def surfaced_moved(self, entry: Entry[S], summary: State) -> None:
        """A backend lists a conversation otherwise than before: what moved is said at once."""
        changes = changes_between(entry.summary, summary)
        if not changes:
            return
        entry.surface(summary, entry.provider, entry.conversation or "")
        self._order = None
        self._notify("root/sessionSummaryChanged", {"session": entry.uri, "changes": changes})

    def wake(self, entry: Entry[S], session: S) -> None:
        """A session is held again, under the place it has."""
        entry.session = session
        entry.touched = self._world.clock.seconds()
        self._held(session)

    def _held(self, session: S) -> None:
        company = self._world.company()
        if company is not None:
            company.held(session)

    def sleep(self, entry: Entry[S]) -> None:
        """A session is let go of; its row stays as it is."""
        if entry.flush is not None:
            entry.flush.cancel()
            self._flush(entry)
        entry.fall_asleep()

    def remove(self, entry: Entry[S]) -> None:
        """Let go of a session, and say so where it was announced."""
        if self._entries.get(entry.identifier) is not entry:
            return
        self._order = None
        if entry.flush is not None:
            entry.flush.cancel()
            entry.flush = None
        if entry.announced:
            # While it is known: who is told depends on what it was.
            self._notify("root/sessionRemoved", {"session": entry.uri})
        del self._entries[entry.identifier]
        if entry.active:
            self._count(-1)

    # -- what is said -------------------------------------------------------------

    def announce(self, session: S) -> None:
        """Tell the clients of the root of a session, once."""
        entry = self._entries.get(session_id(session.uri))
        if entry is None or entry.announced:
            return
        self._order = None
        entry.announce()
        try:
            self._keep(entry.identifier)
        except StoreFailure as failure:
            log.error("{session} is not saved: {words}", session=session.uri, words=str(failure))
        self._notify("root/sessionAdded", {"summary": entry.said})

    def moved(self, session: S) -> None:
        """A session's state moved: its row is said again once it has been quiet.

        One nothing runs is said at once (AHP.txt, `root/sessionSummaryChanged`).
        """
        entry = self._entries.get(session_id(session.uri))
        if entry is None:
            return
        entry.touched = self._world.clock.seconds()
        entry.forget()
        self._order = None
        if not entry.announced:
            return
        quiet = 0.0 if session.at_rest else QUIET
        if entry.flush is not None:
            entry.flush.reset(quiet)
        else:
            entry.flush = self._world.clock.callLater(quiet, self._flush, entry)

    def reread(self, entry: Entry[S]) -> None:
        """Read the row of a session that is asleep anew, where that is due, and say what moved."""
        before = entry.reread()
        if before is None or not entry.announced:
            return
        changes = changes_between(decode(bytes(before)), entry.summary)
        if changes:
            self._notify("root/sessionSummaryChanged", {"session": entry.uri, "changes": changes})

    def flush_all(self) -> None:
        """Say now every move that waits for its quiet."""
        for entry in self._entries.values():
            self._flush_now(entry)

    def _flush_now(self, entry: Entry[S]) -> None:
        if entry.flush is not None:
            entry.flush.cancel()
            self._flush(entry)

    def _flush(self, entry: Entry[S]) -> None:
        entry.flush = None
        if not entry.announced:
            return
        changes = changes_between(entry.said, entry.summary)
        entry.said = entry.summary
        if changes:
            self._notify("root/sessionSummaryChanged", {"session": entry.uri, "changes": changes})

    def _notify(self, method: str, params: State) -> None:
        self._world.store.notify(ROOT, method, {"channel": ROOT, **params})

    def set_active(self, session: S, active: bool) -> None:
        """Whether a turn runs in any chat of `session`."""
        entry = self._entries.get(session_id(session.uri))
        if entry is not None and entry.active != active:
            entry.active = active
            self._count(1 if active else -1)

    def _count(self, by: int) -> None:
        self._active += by
        store = self._world.store
        if store.is_open(ROOT):
            store.dispatch(
                ROOT, {"type": "root/activeSessionsChanged", "activeSessions": self._active}
            )

    # -- listing ------------------------------------------------------------------

    def listing(
        self,
        limit: Any = None,
        cursor: str | None = None,
        shown: Callable[[State], State | None] | None = None,
    ) -> State:
        """The announced sessions, newest modified first (schema: ListSessionsResult).

        Its items are encoded already. All of them where `limit` is None. Raises
        `RpcError` -32602 for a limit that is no positive whole number and for a cursor
        this host did not give out. `shown` answers a row as its reader is shown it, None
        for one that is not; without it every row is listed as it is.
        """
        entries = self._ordered()
        if shown is not None:
            entries = [entry for entry in entries if shown(entry.summary) is not None]
        count = len(entries) if limit is None else _positive(limit)
        start = 0 if cursor is None else self._after(entries, cursor)
        page = entries[start : start + count]
        if shown is None:
            result: State = {"items": [entry.encoded for entry in page]}
        else:
            result = {"items": [shown(entry.summary) for entry in page]}
        if page and start + len(page) < len(entries):
            result["nextCursor"] = self._cursor(page[-1])
        return result

    def _ordered(self) -> list[Entry[S]]:
        if self._order is None:
            announced = [entry for entry in self._entries.values() if entry.announced]
            self._order = sorted(announced, key=lambda entry: entry.place)
        return self._order

    def _cursor(self, last: Entry[S]) -> str:
        moved, ordinal = last.place
        return f"{self._tag}:{-moved!r}:{-ordinal}"

    def _after(self, entries: list[Entry[S]], cursor: str) -> int:
        """Where the rows behind `cursor` begin, moved and removed ones regardless."""
        tag, _, rest = cursor.partition(":")
        moved, _, ordinal = rest.partition(":")
        try:
            if tag != self._tag:
                raise ValueError
            last = (-float(moved), -int(ordinal))
        except ValueError:
            raise invalid_params(f"cursor: {cursor!r} is none this host gave out") from None
        return bisect_left(entries, True, key=lambda entry: entry.place > last)


def _positive(limit: Any) -> int:
    if isinstance(limit, float) and limit.is_integer():
        limit = int(limit)
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise invalid_params(f"limit: {limit!r} is no positive whole number")
    return limit
