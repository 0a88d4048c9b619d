"""The catalogue: which sessions there are, in which order, and what clients hear of them.

Sources: AHP.txt, `listSessions`, the `root/session*` notifications and
`root/activeSessionsChanged`.
"""

from bisect import bisect_left
from typing import Any, Final, Generic, Protocol, TypeVar

from twisted.internet.interfaces import IDelayedCall

from ahpd.chats.owner import Surroundings
from ahpd.protocol import State
from ahpd.protocol.errors import invalid_params
from ahpd.protocol.timestamps import instant
from ahpd.protocol.uris import ROOT, session_id
from ahpd.sessions.summary import changes_between, summary_of
from ahpd.wire.codec import Encoded, encode

#: How long a session's row is quiet before its moves are said, in seconds.
QUIET: Final = 0.1


class Listed(Protocol):
    """What the catalogue reads of a session."""

    uri: str
    created_at: str

    @property
    def state(self) -> State:
        """The session's state (schema: SessionState)."""


S = TypeVar("S", bound=Listed)


class Entry(Generic[S]):
    """A session's place in the catalogue."""

    __slots__ = ("_encoded", "_moved", "_summary", "active", "flush", "ordinal", "said", "session")

    def __init__(self, session: S, ordinal: int) -> None:
        self.session = session
        self.ordinal = ordinal
        """Counts up with every session made, so that two moved at one time have an order."""
        self.said: State | None = None
        """The row as clients were last told it; None before the session is announced."""
        self.active = False
        self.flush: IDelayedCall | None = None
        self._summary: State | None = None
        self._encoded: Encoded | None = None
        self._moved = 0.0

    @property
    def summary(self) -> State:
        """The row now (schema: SessionSummary), made again only after the session moved."""
        return self._make() if self._summary is None else self._summary

    @property
    def encoded(self) -> Encoded:
        """The row as JSON bytes, which a listing of thousands is put together from."""
        if self._encoded is None:
            self._encoded = Encoded(encode(self.summary))
        return self._encoded

    def _make(self) -> State:
        session = self.session
        made = summary_of(session.uri, session.created_at, session.state)
        self._moved = instant(made["modifiedAt"]) or 0.0
        # An unchanged row is kept once, however often it was looked at.
        self._summary = self.said if self.said is not None and made == self.said else made
        return self._summary

    def forget(self) -> None:
        """The session moved: its row is made again when it is next read."""
        self._summary = None
        self._encoded = None

    @property
    def place(self) -> tuple[float, int]:
        """Sorts the newest modified first, and of two the one made later."""
        if self._summary is None:
            self._make()
        return (-self._moved, -self.ordinal)


class Catalogue(Generic[S]):
    """Every session of the host, provisional ones among them, and what is said of them."""

    def __init__(self, world: Surroundings) -> None:
        self._world = world
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
        """All of them, in the order they were made."""
        return [entry.session for entry in self._entries.values()]

    def get(self, identifier: str) -> S | None:
        """The session held under the id every spelling of its URI shares."""
        entry = self._entries.get(identifier)
        return None if entry is None else entry.session

    def add(self, session: S) -> None:
        """Hold a session nobody is told of so far."""
        self._made += 1
        self._entries[session_id(session.uri)] = Entry(session, self._made)

    def remove(self, session: S) -> None:
        """Let go of a session, and say so where it was announced."""
        entry = self._entries.pop(session_id(session.uri))
        self._order = None
        if entry.flush is not None:
            entry.flush.cancel()
            entry.flush = None
        if entry.said is not None:
            self._notify("root/sessionRemoved", {"session": session.uri})
        if entry.active:
            self._count(-1)

    # -- what is said -------------------------------------------------------------

    def announce(self, session: S) -> None:
        """Tell the clients of the root of a session, once."""
        entry = self._entries.get(session_id(session.uri))
        if entry is None or entry.said is not None:
            return
        self._order = None
        entry.said = entry.summary
        self._notify("root/sessionAdded", {"summary": entry.said})

    def moved(self, session: S) -> None:
        """A session's state moved: its row is said again once it has been quiet."""
        entry = self._entries.get(session_id(session.uri))
        if entry is None:
            return
        entry.forget()
        self._order = None
        if entry.said is None:
            return
        if entry.flush is not None:
            entry.flush.reset(QUIET)
        else:
            entry.flush = self._world.clock.callLater(QUIET, self._flush, entry)

    def flush_all(self) -> None:
        """Say now every move that waits for its quiet."""
        for entry in self._entries.values():
            if entry.flush is not None:
                entry.flush.cancel()
                self._flush(entry)

    def _flush(self, entry: Entry[S]) -> None:
        entry.flush = None
        before, after = entry.said, entry.summary
        if before is None:
            return
        entry.said = after
        changes = changes_between(before, after)
        if changes:
            self._notify(
                "root/sessionSummaryChanged", {"session": entry.session.uri, "changes": changes}
            )

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

    def listing(self, limit: Any = None, cursor: str | None = None) -> State:
        """The announced sessions, newest modified first (schema: ListSessionsResult).

        Its items are encoded already. All of them where `limit` is None. Raises
        `RpcError` -32602 for a limit that is no positive whole number and for a cursor
        this host did not give out.
        """
        entries = self._ordered()
        count = len(entries) if limit is None else _positive(limit)
        start = 0 if cursor is None else self._after(entries, cursor)
        page = entries[start : start + count]
        result: State = {"items": [entry.encoded for entry in page]}
        if page and start + len(page) < len(entries):
            result["nextCursor"] = self._cursor(page[-1])
        return result

    def _ordered(self) -> list[Entry[S]]:
        if self._order is None:
            announced = [entry for entry in self._entries.values() if entry.said is not None]
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
