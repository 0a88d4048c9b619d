"""The bytes of a journal's entries and heads.

An entry is a JSON object: `{"a": action}`, `{"m": fields}` of an amended state (null takes
one out) or `{"f": facts}`, with `"t"`, the milliseconds since the epoch it was written at,
where that is known. A head is `{"state": ..., "facts": ...}`, a chat's state without its
turns. What is known of a turn alone, the fact `points`, goes with the turn (`POINT`): a head
costs the same however many turns there were.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ahpd.protocol import State
from ahpd.wire.codec import InParts, encode, encode_in_parts

#: What is kept of a channel that no client is shown.
Facts = dict[str, Any]

#: The fact of a chat that is by turn id, and the member that carries a turn's share of it.
POINTS: Final = "points"
POINT: Final = "ahpd.point"


def action_entry(body: bytes, at: int) -> bytes:
    """The entry of an action that is encoded already, written at `at` ms."""
    return b'{"t":%d,"a":%b}' % (at, body)


def amended_entry(fields: Mapping[str, Any]) -> bytes:
    """The entry of fields that were moved without an action."""
    return encode({"m": fields})


def facts_entry(facts: Mapping[str, Any]) -> bytes:
    """The entry of facts that were noted."""
    return encode({"f": facts})


def head_of(state: State, facts: Mapping[str, Any]) -> bytes | InParts:
    """The head of a channel; a chat's turns, and what is known of each, are left out."""
    shown = {key: value for key, value in state.items() if key != "turns"}
    points = facts.get(POINTS)
    if points is not None:
        active = state.get("activeTurn")
        facts = {key: value for key, value in facts.items() if key != POINTS}
        if active is not None and active["id"] in points:
            facts[POINTS] = {active["id"]: points[active["id"]]}
    return encode_in_parts({"state": shown, "facts": facts} if facts else {"state": shown})


def turns_of(turns: Sequence[State], facts: Mapping[str, Any]) -> list[bytes | InParts]:
    """Turns that are over, each with its point where it has one."""
    points = facts.get(POINTS) or {}
    return [
        encode_in_parts({**turn, POINT: points[turn["id"]]} if turn["id"] in points else turn)
        for turn in turns
    ]


def take_points(turns: Sequence[State], facts: Facts) -> None:
    """Have the points that came with turns be the chat's facts again."""
    points = {turn["id"]: turn.pop(POINT) for turn in turns if POINT in turn}
    if points:
        facts[POINTS] = {**points, **facts.get(POINTS, {})}
