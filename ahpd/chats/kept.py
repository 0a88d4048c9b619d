"""What a chat keeps of its backend's conversation: facts no client is shown.

What moves of them is written alone, and is on disk before what follows from it is said
(`Surroundings.note`, which merges objects), so that a turn's end costs the same behind ten
thousand others:

    conversation    the backend's own id of the conversation (`IChatHost.kept_as`)
    points          {turn id: the backend's name for where it ended} (`ITurnOutput.ended_at`)
    cut             the point the conversation is cut back to when it is opened next
    over            true: the conversation is to be deleted, and a new one begun
    fork            {conversation, point?}: what the conversation is copied from
    preamble        what the first prompt is told ahead of its message
    folders         the folders it works in though its session works in others: it was moved
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ahpd.interfaces import ConversationPoint
from ahpd.protocol.merge_patch import merge
from ahpd.protocol.text import plain

#: Writes facts: on disk when it returns; one that is None is taken out, one that is an
#: object is merged. Raises `StoreFailure`.
Note = Callable[[Mapping[str, Any]], None]


def facts_of(
    conversation: str | None = None,
    points: Mapping[str, str] | None = None,
    fork: ConversationPoint | None = None,
    preamble: str | None = None,
) -> dict[str, Any]:
    """The facts of a chat that goes on with `conversation`, or is made out of another one."""
    facts: dict[str, Any] = {}
    if points:
        facts["points"] = dict(points)
    if conversation is not None:
        facts["conversation"] = conversation
    if fork is not None:
        facts["fork"] = {"conversation": fork.conversation}
        if fork.point is not None:
            facts["fork"]["point"] = fork.point
    if preamble is not None:
        facts["preamble"] = preamble
    return facts


class Kept:
    """A chat's facts, read here and written through `note`."""

    __slots__ = ("_facts", "_note", "_owed")

    def __init__(self, note: Note, facts: Mapping[str, Any] | None = None) -> None:
        self._note = note
        self._owed = False
        """Whether something that holds could not be written: the next note is made in any case."""
        self._facts: dict[str, Any] | None = plain(facts) if facts else None

    @property
    def facts(self) -> Mapping[str, Any]:
        """All of them, to read."""
        return self._facts or {}

    @property
    def conversation(self) -> str | None:
        """The backend's id of the conversation; None while it has none."""
        named: str | None = self.facts.get("conversation")
        return named

    @property
    def over(self) -> bool:
        """Whether the conversation is to be deleted before anything else runs."""
        return "over" in self.facts

    @property
    def preamble(self) -> str | None:
        """What the first prompt is still to be told ahead of its message."""
        words: str | None = self.facts.get("preamble")
        return words

    @property
    def points(self) -> Mapping[str, str]:
        """Where turns ended, in the backend's names, by turn id; those it named alone."""
        named: Mapping[str, str] = self.facts.get("points") or {}
        return named

    @property
    def folders(self) -> tuple[str, ...] | None:
        """The folders it brought along from another session; None where it brought none."""
        brought: Sequence[str] | None = self.facts.get("folders")
        return None if brought is None else tuple(brought)

    def resumed(self) -> ConversationPoint | None:
        """The conversation to go on with, cut where it is to be cut; None begins a new one."""
        named = self.conversation
        if named is None:
            return None
        return ConversationPoint(conversation=named, point=self.facts.get("cut"))

    def forked(self) -> ConversationPoint | None:
        """The conversation to copy; None once there is one of the chat's own."""
        source: Mapping[str, str] | None = self.facts.get("fork")
        if source is None or self.conversation is not None:
            return None
        point = self.facts.get("cut", source.get("point"))
        return ConversationPoint(conversation=source["conversation"], point=point)

    # -- what happens to it: each raises `StoreFailure` where it could not be written -----

    def kept_as(self, conversation: str) -> None:
        """The backend keeps the conversation under this id from now on."""
        if self.conversation != conversation:
            self._change({"conversation": conversation, "fork": None})

    def ended(self, turn_id: str, point: str | None) -> None:
        """A turn the backend was handed is over: it stands behind any cut now."""
        changes: dict[str, Any] = {"cut": None, "preamble": None}
        if point is not None:
            changes["points"] = {turn_id: point}
        self._change(changes)

    def cut(self, turn_id: str, left: Collection[str]) -> None:
        """The turns behind `turn_id` are gone; `left` are the ids of those that are not.

        Where that turn has no point the conversation cannot be cut there, and stays.
        """
        changes: dict[str, Any] = {}
        dropped = {turn: None for turn in self.points if turn not in left}
        if dropped:
            changes["points"] = dropped
        point = self.points.get(turn_id)
        if point is not None:
            changes["cut"] = point
        self._change(changes)

    def end_conversation(self) -> None:
        """Every turn is gone: the conversation is to be deleted."""
        changes: dict[str, Any] = {"over": True, "cut": None, "preamble": None, "fork": None}
        changes["points"] = None
        self._change(changes)

    def work_in(self, folders: Sequence[str] | None) -> None:
        """It works in these folders from now on; None in its own or its session's."""
        self._change({"folders": None if folders is None else list(folders)})

    def begun_anew(self) -> None:
        """The conversation is deleted, or let go of: the next one has nothing to resume."""
        self._change({"over": None, "conversation": None})

    def come_back(self) -> None:
        """The conversation could not be deleted and goes on."""
        self._change({"over": None})

    def _change(self, changes: Mapping[str, Any]) -> None:
        facts = self._facts if self._facts is not None else {}
        moved = {key: value for key, value in changes.items() if facts.get(key) != value}
        if not moved and not self._owed:
            return
        self._owed = True
        try:
            self._note(moved)
            self._owed = False
        finally:  # true whether or not it could be written
            merge(facts, moved)
            self._facts = facts
