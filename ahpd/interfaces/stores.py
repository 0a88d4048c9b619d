"""The session store: what is kept of sessions between two lives of the host.

A session is its channels: its own, one per chat, its annotations. Of each the store keeps
a *head*, its state in one piece but for a chat's turns, which are rows of their own, and
an ordered journal of *entries* that came after. Heads, turns and entries are bytes the
store does not look into (docs/architecture.md, "What is kept"). A long head or turn may be
written in parts, so that nobody needs to hold all of it; it is read as one.

Every call is synchronous and is done when it returns: what it wrote survives the end of
this process however it comes. A call that fails raises `StoreFailure` and has done nothing;
the store stays usable, and does what is asked again once the reason is gone.
"""

from collections.abc import Iterable, Sequence

import attrs
from zope.interface import Interface

from ahpd.protocol import State

#: What a head or a turn is written as: its bytes, or the parts that make them, in order. A
#: store takes the parts once, within the call.
Body = bytes | Iterable[bytes]


class StoreFailure(Exception):
    """The store could not do it; the words name the file and the reason, for a person."""


@attrs.frozen(kw_only=True)
class SessionRow:
    """A session as the catalogue reads it."""

    id: str
    """The id that every spelling of its URI shares. Empty for what the host keeps of no
    session: such a row is not exported."""
    uri: str
    provider: str
    created_at: str
    """ISO 8601."""
    modified_at: str
    """ISO 8601; what the catalogue is sorted by."""
    ordinal: int
    """Counts up with every session made on this host."""
    announced: bool
    """False while it is provisional."""
    summary: bytes
    """The encoded row clients are shown (schema: SessionSummary)."""


@attrs.frozen(kw_only=True)
class ChannelRecord:
    """All that is kept of one channel."""

    channel: str
    kind: str
    """`session`, `chat` or `annotations`."""
    head: bytes
    turns: Sequence[bytes] = ()
    """A chat's turns, oldest first."""
    entries: Sequence[bytes] = ()
    """What came after the head was written, oldest first."""


@attrs.frozen(kw_only=True)
class PutSession:
    """Write a session's row, new or not."""

    row: SessionRow


@attrs.frozen(kw_only=True)
class PutChannel:
    """Write a channel's head, and take its entries away: the head has them."""

    session: str
    """The id of a session that is held, by an earlier write of the same call at the latest. A
    channel that was another session's moves to this one, turns and all."""
    channel: str
    kind: str
    head: Body
    keep_turns: int = 0
    """How many of the turns held stay, at most as many as there are; the later ones are
    taken away. What stays is not written again and costs nothing."""
    turns: Sequence[Body] = ()
    """Turns to write behind those."""
    entries: Sequence[bytes] = ()
    """Entries to begin anew with, in place of those taken away."""


@attrs.frozen(kw_only=True)
class DropChannel:
    """Take a channel away; one that is not there is no error."""

    channel: str


@attrs.frozen(kw_only=True)
class PutTerminal:
    """Keep what is left of a terminal that a call of a chat names; again replaces it.

    It is kept once, however many chats name it, and stays for as long as the store holds one
    that does: a chat that moves to another session goes on naming it, one that is dropped no
    longer does, and it goes with the last.
    """

    chat: str
    """A chat's channel the store holds."""
    terminal: str
    """The terminal's URI."""
    state: bytes
    """The encoded state it is shown in (schema: TerminalState)."""


@attrs.frozen(kw_only=True)
class ShareTerminals:
    """What terminals `source` names, `chat` names too: it was made out of it."""

    source: str
    chat: str
    """Both are chats' channels the store holds."""


@attrs.frozen(kw_only=True)
class DropSession:
    """Take a session and all its channels away; one that is not there is no error."""

    id: str


Write = PutSession | PutChannel | DropChannel | PutTerminal | ShareTerminals | DropSession


class ISessionStore(Interface):
    """Where sessions are kept. `ahpd.testing.store_contract` says it as tests."""

    def open() -> None:
        """Make ready; the first call. Raises `StoreFailure`, nothing touched, where what is
        there is locked, damaged, or of a newer version."""

    def close() -> None:
        """The last call; again is no error."""

    def sessions() -> Sequence[SessionRow]:
        """Every session's row, in the order of their ordinals."""

    def unfolded() -> Sequence[str]:
        """The ids of the sessions with entries that no head has, in no order."""

    def session_of(channel: str) -> str | None:
        """The id of the session a channel is kept for, None for one that is not."""

    def read(session: str) -> Sequence[ChannelRecord]:
        """All channels of a session, in the order they were first written, wherever that was;
        empty for none. What is kept of terminals is not looked at."""

    def terminal(uri: str) -> bytes | None:
        """What is kept of a terminal (`PutTerminal.state`); None for one nothing is kept of."""

    def terminals(session: str) -> Sequence[tuple[str, str]]:
        """Which terminals the chats of a session name, `(chat, terminal)` each, in no order."""

    def append(entries: Iterable[tuple[str, bytes]]) -> None:
        """Write entries, each behind those of its channel, all of them or none.

        `(channel, entry)` in order. `StoreFailure` too for a channel the store does not hold.
        """

    def apply(writes: Iterable[Write]) -> None:
        """Write all of these or none, in order.

        `StoreFailure` too for a channel of a session that is not held, for a `keep_turns`
        beyond the turns held and for a terminal of a chat that is not held. What making the
        writes or their parts raises comes through, nothing written; so both may be made while
        they are taken, however much it is.
        """

    def wants_compaction() -> bool:
        """Whether enough was written since the last `compact` to call it; cheap to ask."""

    async def compact() -> None:
        """Give back what deleted and folded data took. The other calls go on meanwhile, and
        one that runs already is enough: a second returns at once."""


class IHostRecord(Interface):
    """A few small facts of the host's own that outlive it, by name."""

    def read(name: str) -> State:
        """The fact, an empty object for one that was never written. Not to be changed."""

    def write(name: str, value: State) -> None:
        """Keep the fact; on disk when it returns. Raises `StoreFailure`, nothing changed."""
