"""What a chat keeps of its backend's conversation: facts no client is shown.

What moves of them is written alone, and is on disk before what follows from it is said
(`Surroundings.note`, which merges objects), so that a turn's end costs the same behind ten
thousand others:

    conversation    the backend's own id of the conversation (`IChatHost.kept_as`)
    points          {turn id: the backend's name for where it ended} (`ITurnOutput.ended_at`);
                    of a turn the backend never sees, the host's own command, `COMMAND`
    cut             the point the conversation is cut back to when it is opened next
    over            true: the conversation is to be deleted, and a new one begun
    fork            {conversation, point?}: what the conversation is copied from
    preamble        what the first prompt is told ahead of its message
    folders         the folders it works in though its session works in others: it was moved
    provisional     the title it took from a command, until its first message names it
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from ahpd.interfaces import ConversationPoint
from ahpd.protocol import State
from ahpd.protocol.merge_patch import merge
from ahpd.protocol.text import plain

#: Writes facts: on disk when it returns; one that is None is taken out, one that is an
#: object is merged. Raises `StoreFailure`.
Note = Callable[[Mapping[str, Any]], None]

#: What is known of a turn that is the host's own command, in place of a point.
COMMAND: Final[Mapping[str, bool]] = {"command": True}
#: What is known of a turn: the backend's name for where it ended, or `COMMAND`.
Point = str | Mapping[str, bool]


def facts_of(
    conversation: str | None = None,
    points: Mapping[str, Point] | None = None,
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
    def points(self) -> Mapping[str, Point]:
        """What is known of turns by their ids; of most where they ended."""
        known: Mapping[str, Point] = self.facts.get("points") or {}
        return known

    def point_of(self, turn_id: str) -> str | None:
        """The backend's name for where a turn ended; None for one it named none for."""
        point = self.points.get(turn_id)
        return point if isinstance(point, str) else None

    def is_command(self, turn_id: str) -> bool:
        """Whether a turn is the host's own command, which the backend never saw."""
        return self.points.get(turn_id) == COMMAND

    def newest_seen(self, turns: Sequence[State]) -> str | None:
        """The id of the newest of `turns` (schema: Turn) that is no command; None for none."""
        for turn in reversed(turns):
            identifier: str = turn["id"]
            if not self.is_command(identifier):
                return identifier
        return None

    @property
    def provisional(self) -> str | None:
        """The title it took from a command, and no message has replaced so far."""
        title: str | None = self.facts.get("provisional")
        return title

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
        point = self.point_of(turn_id)
        if point is not None:
            changes["cut"] = point
        self._change(changes)

    def end_conversation(self, left: Collection[str] = ()) -> None:
        """Every turn it had is gone: the conversation is to be deleted.

        `left` are the ids of the chat's turns that are not gone. With such a chat goes on,
        and a first prompt that was never sent is still told what it was to be told.
        """
        changes: dict[str, Any] = {"over": True, "cut": None, "fork": None, "points": None}
        stay = [turn for turn in left if self.is_command(turn)]
        if stay:
            changes["points"] = {turn: None for turn in self.points if turn not in stay}
        else:
            changes["preamble"] = None
        self._change(changes)

    def command_begins(self, turn_id: str) -> None:
        """A turn about to start is the host's own command."""
        self._change({"points": {turn_id: COMMAND}})

    def command_undone(self, turn_id: str) -> None:
        """It did not start after all."""
        self._change({"points": {turn_id: None}})

    def entitle(self, title: str | None) -> None:
        """It took this title from a command; None once a message has named it."""
        self._change({"provisional": title})

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
