"""The journal of one channel: what of it is not on disk yet, and how much came after its head."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ahpd.channels.envelope import Envelope
from ahpd.channels.store import Unsaved
from ahpd.interfaces import PutChannel, StoreFailure
from ahpd.journal.entries import Facts, amended_entry, head_of, turns_of
from ahpd.journal.table import (
    AMENDED,
    APPENDED_TO,
    DECISIONS,
    SHRINKING,
    TURN_ENDS,
    Keeping,
)
from ahpd.protocol import State
from ahpd.protocol.uris import ChannelKind
from ahpd.wire.codec import InParts, encode

if TYPE_CHECKING:
    from ahpd.journal.book import Journals

#: Characters of streamed text that are written at once, whatever the time.
MOST_HELD: Final = 64 * 1024
#: What an entry weighs beside its bytes: it is read, decoded and applied one by one.
_ENTRY: Final = 64
#: What may come after a head before the channel is written whole, at the least.
_LIGHT: Final = 256 * 1024
#: A head from which on a running turn is not written whole any more, in bytes: somebody waits
#: for that, and reading the entries back costs less than writing it again.
_HEAVIEST: Final = 4 * 1024 * 1024

#: Members of a delta that is text alone: its type, turn, target and content.
_MEMBERS: Final = 4
_PASSING: Final = Keeping.PASSING
_KEEPING: Final = {kind: decision.keeping for kind, decision in DECISIONS.items()}
_TARGETS: Final = dict(APPENDED_TO)
#: What an idle channel holds of streamed text; never appended to.
_NO_PIECES: Final[list[str]] = []


class ChannelJournal:
    """See `ahpd.channels.store.Journal`. `book` writes what is recorded here."""

    __slots__ = (
        "_book",
        "_held",
        "_held_at",
        "_held_length",
        "_pieces",
        "_shrunk",
        "_state",
        "_unsaved",
        "channel",
        "dirty",
        "facts",
        "head_size",
        "kind",
        "passed",
        "session",
        "stored",
        "weight",
    )

    def __init__(
        self,
        book: "Journals",
        session: str,
        channel: str,
        kind: ChannelKind,
        state: Callable[[str], State],
        unsaved: Unsaved | None,
        facts: Facts | None = None,
        stored: int | None = None,
    ) -> None:
        self._book = book
        self._state = state
        self._unsaved = unsaved
        self.session = session
        """The id of the session it is written under."""
        self.channel = channel
        self.kind = kind
        self.facts: Facts = {} if facts is None else facts
        self.dirty = stored is None
        """Whether what the store has is not what was said: the next write is of all of it."""
        self.passed = False
        """Whether the state has moved by what is not kept since it was written."""
        self.stored = stored or 0
        """How many of a chat's turns the store has as they are."""
        self.weight = 0
        """What reading back what came after the head costs, in bytes and then some."""
        self.head_size = 0
        self._shrunk = False
        self._held: list[tuple[str, str, str, list[str]]] = []
        self._held_length = 0
        self._held_at: tuple[str, str, str] | None = None
        self._pieces = _NO_PIECES

    def owned_by(self, unsaved: Unsaved) -> None:
        """The channel's owner is to be told of what could not be saved."""
        self._unsaved = unsaved

    # -- what is said (ahpd.channels.store.Journal) -------------------------------

    def record(self, envelope: Envelope) -> None:
        """See `Journal.record`."""
        kind, action = envelope.type, envelope.action
        target = _TARGETS.get(kind)
        if target is not None and len(action) == _MEMBERS:
            # Text alone, to be written with more of it: what follows is done for every delta.
            if self._held_length >= MOST_HELD:
                self._book.flush(self)
            content, at = action["content"], (kind, action["turnId"], action[target])
            if at != self._held_at:
                self._hold(at)
            self._pieces.append(content)
            self._held_length += len(content)
        elif _KEEPING.get(kind) is _PASSING:
            self.passed = True
        else:
            self.settle()
            try:
                self._book.write(self, envelope.action_body, kind in TURN_ENDS)
            finally:
                # Not before: a head that is written with the action has the turns it drops.
                self._shrunk = kind in SHRINKING

    def lost(self, envelope: Envelope, failure: StoreFailure) -> bool:
        """See `Journal.lost`. What follows on a channel with no owner to tell is said."""
        decision = DECISIONS.get(envelope.type)
        if decision is not None and decision.always_said:
            return True
        if self._unsaved is None and envelope.origin is None:
            return True
        self.tell(envelope, failure)
        return False

    def tell(self, envelope: Envelope | None, failure: StoreFailure) -> None:
        """Tell the owner of the channel that something was not saved."""
        if self._unsaved is not None:
            self._unsaved(envelope, failure)

    def said_unsaved(self) -> None:
        """See `Journal.said_unsaved`."""
        self.dirty = True
        self._book.unfolded(self)

    def amended(self, fields: Mapping[str, object]) -> None:
        """See `Journal.amended`."""
        kept = {key: value for key, value in fields.items() if key in AMENDED}
        if not kept:
            return
        try:
            self.settle()
            self._book.write_entry(self, amended_entry(kept))
        except StoreFailure:
            self.said_unsaved()

    def closed(self) -> None:
        """See `Journal.closed`."""
        self._book.leave(self.channel)

    # -- streamed text --------------------------------------------------------------

    def _hold(self, at: tuple[str, str, str]) -> None:
        """What is streamed from here on is appended to something else than before."""
        if not self._held:
            self._book.batched(self)
        self._pieces = []
        self._held.append((*at, self._pieces))
        self._held_at = at

    def held(self) -> list[bytes]:
        """The actions of the text that waits, encoded; it goes on waiting until `forget_held`."""
        return [
            encode(
                {
                    "type": kind,
                    "turnId": turn,
                    APPENDED_TO[kind]: target,
                    "content": "".join(pieces),
                }
            )
            for kind, turn, target, pieces in self._held
        ]

    def forget_held(self) -> None:
        """What was held is written."""
        if self._held:
            self._held, self._pieces = [], _NO_PIECES
            self._held_length = 0
            self._held_at = None

    # -- writing it whole -------------------------------------------------------------

    @property
    def state(self) -> State:
        """The channel's state as it is now."""
        return self._state(self.channel)

    @property
    def running(self) -> bool:
        """Whether a turn runs."""
        return self.kind is ChannelKind.CHAT and "activeTurn" in self.state

    @property
    def heavy(self) -> bool:
        """Whether so much came after the head that a new one is worth its bytes.

        The bound grows with the head, so what a long answer costs to write again and again
        stays in proportion to what it has; one that is very long is left to its end.
        """
        return self.weight > max(_LIGHT, 2 * self.head_size) and self.head_size < _HEAVIEST

    def settle(self) -> None:
        """Reckon with a history that got shorter since something was last recorded."""
        if self._shrunk:
            self._shrunk = False
            self.stored = min(self.stored, len(self.state["turns"]))

    def put(self, entries: tuple[bytes, ...] = ()) -> PutChannel:
        """The whole of the channel as it is now, and entries to follow."""
        self.settle()
        state = self.state
        turns = state.get("turns", ())[self.stored :]
        return PutChannel(
            session=self.session,
            channel=self.channel,
            kind=self.kind.value,
            head=head_of(state, self.facts),
            keep_turns=self.stored,
            turns=turns_of(turns, self.facts),
            entries=entries,
        )

    def written(self, put: PutChannel) -> None:
        """`put` is in the store."""
        self.dirty = self.passed = False
        self.stored = put.keep_turns + len(put.turns)
        head = put.head
        assert isinstance(head, bytes | InParts), "no other is made by put"
        self.head_size = len(head) if isinstance(head, bytes) else head.size
        self.weight = 0
        self.forget_held()
        self.appended(put.entries)

    def appended(self, entries: Sequence[bytes]) -> None:
        """`entries` are in the store, behind the head."""
        for entry in entries:
            self.weight += len(entry) + _ENTRY
