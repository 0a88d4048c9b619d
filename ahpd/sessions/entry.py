"""A session's place in the catalogue: its row, whether the session is awake or asleep."""

from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from twisted.internet.interfaces import IDelayedCall

from ahpd.interfaces import SessionRow
from ahpd.protocol import State
from ahpd.protocol.timestamps import instant
from ahpd.sessions.summary import interrupted, summary_of
from ahpd.wire.codec import Encoded, decode, encode

_NO_ORIGIN: Final[State] = {}


class Listed(Protocol):
    """What the catalogue reads of a session that is awake."""

    uri: str
    created_at: str

    @property
    def state(self) -> State:
        """The session's state (schema: SessionState)."""

    @property
    def marks(self) -> State | None:
        """How many annotations it has (schema: AnnotationsSummary); None for one without."""

    @property
    def at_rest(self) -> bool:
        """Whether nothing is open for it on its agent."""


S = TypeVar("S", bound=Listed)

#: Answers a row as it is to be by the session's URI and the row it has; None where it is that.
Reread = Callable[[str, Encoded], State | None]

#: What a session that is asleep is told by: announced, agent, when it moved, its row.
Asleep = tuple[bool, str, str, Encoded | None]


class Entry(Generic[S]):
    """One session: `session` is None while it is asleep, and the row is bytes then."""

    __slots__ = (
        "_encoded",
        "_modified_at",
        "_moved",
        "_provider",
        "_said",
        "_summary",
        "active",
        "announced",
        "conversation",
        "created_at",
        "flush",
        "identifier",
        "known",
        "ordinal",
        "reread_by",
        "session",
        "touched",
        "uri",
    )

    def __init__(self, identifier: str, uri: str, created_at: str, ordinal: int) -> None:
        self.identifier = identifier
        self.uri = uri
        self.created_at = created_at
        self.ordinal = ordinal
        """Counts up with every session made, so that two moved at one time have an order."""
        self.session: S | None = None
        self.announced = False
        self.active = False
        self.flush: IDelayedCall | None = None
        self.touched = 0.0
        """When something last moved in it, in the clock's seconds."""
        self.known = False
        """Whether clients of this process may hold its state: it was awake here before."""
        self.conversation: str | None = None
        """The backend's id of a conversation that is listed and that no record is kept of."""
        self.reread_by: Reread | None = None
        """What the row of a session that is asleep is to be read by, before it is next."""
        self._provider = ""
        self._said: State | None = None
        self._summary: State | None = None
        self._encoded: Encoded | None = None
        self._modified_at = ""
        self._moved: float | None = None

    # -- the row ------------------------------------------------------------------

    @property
    def provider(self) -> str:
        """The agent's id."""
        return self._provider if self.session is None else self.session.state["provider"]

    @property
    def summary(self) -> State:
        """The row now (schema: SessionSummary), made again only after the session moved."""
        if self._summary is not None:
            return self._summary
        session = self.session
        if session is None:
            made: State = decode(bytes(self.encoded))
            return made
        made = summary_of(session.uri, session.created_at, session.state, session.marks)
        # An unchanged row is kept once, however often it was looked at.
        self._summary = self._said if self._said is not None and made == self._said else made
        return self._summary

    @property
    def encoded(self) -> Encoded:
        """The row as JSON bytes, which a listing of thousands is put together from."""
        if self.reread_by is not None:
            self.reread()
        if self._encoded is None:
            self._encoded = Encoded(encode(self.summary))
        return self._encoded

    def reread(self) -> Encoded | None:
        """Read the row of a session that is asleep anew: the one it had, where that was another."""
        by, self.reread_by = self.reread_by, None
        before = self._encoded
        if by is None or self.session is not None or before is None:
            return None
        row = by(self.uri, before)
        if row is None:
            return None
        self._encoded = Encoded(encode(row))
        return before

    @property
    def said(self) -> State:
        """The row as clients were last told it; of one asleep, as it is."""
        if self._said is None:
            told = self._encoded
            self._said = self.summary if told is None else decode(bytes(told))
        return self._said

    @said.setter
    def said(self, row: State) -> None:
        self._said = row

    @property
    def modified_at(self) -> str:
        """When the session moved last (ISO 8601)."""
        if self.session is None:
            return self._modified_at
        moved: str = self.summary["modifiedAt"]
        return moved

    @property
    def place(self) -> tuple[float, int]:
        """Sorts the newest modified first, and of two the one made later."""
        if self._moved is None:
            self._moved = instant(self.modified_at) or 0.0
        return (-self._moved, -self.ordinal)

    def row(self) -> SessionRow:
        """The row as it is stored: as the session reads back, its running turns interrupted."""
        session = self.session
        summary = kept = None
        announced = self.announced
        if session is not None:
            summary = self.summary
            kept = interrupted(summary)
            announced = announced or session.state["lifecycle"] != "creating"
        return SessionRow(
            id=self.identifier,
            uri=self.uri,
            provider=self.provider,
            created_at=self.created_at,
            modified_at=self.modified_at,
            ordinal=self.ordinal,
            announced=announced,
            summary=bytes(self.encoded) if kept is summary else encode(kept),
        )

    def settle(self) -> None:
        """Know of a session that was woken that it has a row; raises where none can be made.

        One that is told as it was makes it when it is next read.
        """
        session = self.session
        if session is None:
            return
        if self._encoded is None or session.marks is not None or not _has_row(session.state):
            self.row()

    # -- what becomes of it -----------------------------------------------------------

    def forget(self) -> None:
        """The session moved: its row is made again when it is next read."""
        if self._said is None and self.announced and self._encoded is not None:
            self._said = decode(bytes(self._encoded))  # woken, and told as its stored row so far
        self._summary = self._encoded = self._moved = None

    def announce(self) -> None:
        """Clients are told the row as it is now."""
        self.announced = True
        self._said = self.summary

    def lie_down(self, row: SessionRow) -> None:
        """The session is asleep, and this is its row."""
        self.announced = row.announced
        self._provider = row.provider
        self._modified_at = row.modified_at
        self._encoded = Encoded(row.summary)

    @property
    def asleep(self) -> Asleep:
        """What it is told by, while it is asleep; see `lie_back`."""
        return (self.announced, self._provider, self._modified_at, self._encoded)

    def lie_back(self, asleep: Asleep) -> None:
        """The session is asleep as it was before somebody tried to wake it."""
        self.announced, self._provider, self._modified_at, self._encoded = asleep

    def surface(self, summary: State, provider: str, conversation: str) -> None:
        """The session is a conversation a backend lists."""
        self.announced = True
        self.conversation = conversation
        self._provider = provider
        self._modified_at = summary["modifiedAt"]
        self._moved = None
        self._encoded = Encoded(encode(summary))

    def fall_asleep(self) -> None:
        """The session is let go of; the row stays, as bytes."""
        row = self.row()
        self.session = None
        self.known = True
        self._summary = self._said = None
        self.lie_down(row)


def _has_row(state: State) -> bool:
    """Whether a row can be made of a session's state for certain (`summary_of`)."""
    for chat in state["chats"]:
        if not (
            isinstance(chat["status"], int)
            and isinstance(chat["modifiedAt"], str)
            and isinstance(chat.get("origin", _NO_ORIGIN), dict)
        ):
            return False
    return "title" in state and isinstance(state["status"], int)
