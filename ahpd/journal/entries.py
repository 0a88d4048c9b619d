"""The bytes of a journal's entries and heads.

An entry is a JSON object: `{"a": action}`, `{"m": fields}` of an amended state (null takes
one out) or `{"f": facts}`, with `"t"`, the milliseconds since the epoch it was written at,
where that is known. A head is `{"state": ..., "facts": ...}`, a chat's state without its
turns.
"""

from collections.abc import Mapping
from typing import Any

from ahpd.protocol import State
from ahpd.wire.codec import InParts, encode, encode_in_parts

#: What is kept of a channel that no client is shown.
Facts = dict[str, Any]


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
    """The head of a channel; a chat's turns are left out."""
    shown = {key: value for key, value in state.items() if key != "turns"}
    return encode_in_parts({"state": shown, "facts": facts} if facts else {"state": shown})
