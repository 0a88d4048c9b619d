"""Kept records as turns a client reads (schema: Turn)."""

from collections.abc import Sequence
from typing import Any

from ahpd.interfaces import ReadConversation
from ahpd.protocol import State


def turns_of(records: Sequence[State]) -> ReadConversation:
    """The turns of a conversation's records, and their points, which are their own ids."""
    turns: list[State] = []
    for record in records:
        kind = record["k"]
        if kind == "turn":
            turns.append(
                {
                    "id": record["turn"],
                    "message": record["message"],
                    "responseParts": [],
                    "state": "cancelled",  # until its end is read: a crash writes none
                    **({"startedAt": record["at"]} if record["at"] else {}),
                }
            )
        elif turns:
            _say(turns[-1], record)
    return ReadConversation(turns=turns, points={turn["id"]: turn["id"] for turn in turns})


def _say(turn: State, record: State) -> None:
    parts: list[Any] = turn["responseParts"]
    kind = record["k"]
    number = f"{turn['id']}:{len(parts) + 1}"
    if kind == "assistant":
        if record.get("reasoning"):
            parts.append({"kind": "reasoning", "id": f"{number}r", "content": record["reasoning"]})
        if record["text"]:
            parts.append({"kind": "markdown", "id": number, "content": record["text"]})
    elif kind == "tool":
        if record.get("call"):
            parts.append({"kind": "toolCall", "toolCall": record["call"]})
    elif kind == "summary":
        parts.append({"kind": "systemNotification", "content": "The conversation was compacted."})
    elif kind == "end":
        turn["state"] = record["state"]
        turn["duration"] = record["ms"]
        if record.get("usage"):
            turn["usage"] = record["usage"]
