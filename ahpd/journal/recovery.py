"""From what is kept of a channel back to its state. Pure: it reads bytes and no clock.

After a crash a state is what its head and the entries behind it make. What was under way
when the process ended is not under way any more: a turn that ran reads back as one that
was interrupted (`chat/error`), nobody is here, and nothing waits for an answer.
"""

from collections.abc import Sequence
from typing import Any, Final

import attrs

from ahpd.interfaces import ChannelRecord
from ahpd.journal.entries import Facts, take_points
from ahpd.journal.table import SHRINKING
from ahpd.protocol import Action, State
from ahpd.protocol.merge_patch import merge
from ahpd.protocol.reducers import REDUCERS
from ahpd.protocol.status import ACTIVITY_MASK, ERROR, IDLE, IN_PROGRESS, with_activity
from ahpd.protocol.timestamps import instant
from ahpd.protocol.uris import ChannelKind
from ahpd.wire.codec import decode

#: How a turn that ran when the process ended reads back.
INTERRUPTED_TYPE: Final = "executionInterrupted"
INTERRUPTED_WORDS: Final = "The agent was interrupted before this request finished."

_CUT: Final = "chat/truncated"


#: What of a state is about a process that is gone.
_OF_THE_PROCESS: Final = {
    ChannelKind.CHAT: ("activity", "backgroundWork", "canvases", "movable", "turnsNextCursor"),
    ChannelKind.SESSION: ("activity", "inputNeeded"),
    ChannelKind.ANNOTATIONS: (),
}


_CHAT: Final = ChannelKind.CHAT
_SESSION: Final = ChannelKind.SESSION
_KINDS: Final = {kind.value: kind for kind in _OF_THE_PROCESS}


@attrs.define(kw_only=True)
class Recovered:
    """A channel as it reads back."""

    channel: str
    kind: ChannelKind
    state: State
    facts: Facts
    stored: int
    """How many of its turns the store has as they are here."""
    changed: bool
    """Whether the store's head is not this state."""
    cut: Action | None = None
    """The last thing kept of it, where that is a `chat/truncated`: what the process makes of
    one is kept behind it, and may not be."""
    ran: int = 0
    """How long a turn under way ran for certain, in milliseconds."""
    problems: Sequence[str] = ()
    """Entries that could not be applied and were passed over, in words for the log."""


def read_back(record: ChannelRecord) -> Recovered:
    """A channel's state as its head and entries make it.

    Raises `ValueError` for a head or a turn that cannot be read.
    """
    kind = _KINDS.get(record.kind) or ChannelKind(record.kind)
    head = decode(record.head)
    try:
        state: State = head["state"]
        facts: Facts = head.get("facts", {})
    except (TypeError, KeyError, AttributeError):
        raise ValueError(f"the head of {record.channel} is no head") from None
    if kind is _CHAT:
        # One by one: to join them first costs more than it saves, and copies them.
        state["turns"] = [decode(turn) for turn in record.turns]
        take_points(state["turns"], facts)
    read = Recovered(
        channel=record.channel,
        kind=kind,
        state=state,
        facts=facts,
        stored=len(record.turns),
        changed=bool(record.entries),
    )
    if record.entries:
        _fold(read, record.entries)
    return read


def _fold(read: Recovered, entries: Sequence[bytes]) -> None:
    problems: list[str] = []
    written: float | None = None
    for place, entry in enumerate(entries):
        try:
            written = _apply(read, decode(entry), written)
        except Exception as error:
            # One entry nobody can read is no reason to lose what came after it.
            problems.append(f"entry {place}: {type(error).__name__}: {error}")
    read.problems = problems
    active = read.state.get("activeTurn")
    if active is not None and written is not None:
        began = instant(active["startedAt"])
        if began is not None:
            read.ran = max(0, round(written - began * 1000))


def _apply(read: Recovered, entry: Any, written: float | None) -> float | None:
    action = entry.get("a")
    if action is not None:
        read.state = REDUCERS[read.kind](read.state, action)
        if action["type"] in SHRINKING:
            read.stored = min(read.stored, len(read.state["turns"]))
    read.cut = action if action is not None and action["type"] == _CUT else None
    amended = entry.get("m")
    if amended is not None:
        for key, value in amended.items():
            if value is None:
                read.state.pop(key, None)
            else:
                read.state[key] = value
    noted = entry.get("f")
    if noted is not None:
        merge(read.facts, noted)
    at: float | None = entry.get("t", written)
    return at


def ended(read: Recovered, resumable: bool) -> None:
    """Have nothing be under way any more in a state of an earlier process.

    `resumable` is whether the chat's agent can run an interrupted turn again.
    """
    state = read.state
    active = state.get("activeTurn")
    if active is not None:
        _interrupt(read, active, resumable)
    for field in _OF_THE_PROCESS[read.kind]:
        if state.pop(field, None) is not None:
            read.changed = True
    if read.kind is _SESSION:
        _nobody_here(read)
    if read.kind is _CHAT and state["status"] & ACTIVITY_MASK & IN_PROGRESS:
        state["status"] = with_activity(state["status"], IDLE)
        read.changed = True


def _interrupt(read: Recovered, active: State, resumable: bool) -> None:
    part: State = {
        "kind": "error",
        "error": {"errorType": INTERRUPTED_TYPE, "message": INTERRUPTED_WORDS},
    }
    if resumable:
        part["resumable"] = True
    action = {
        "type": "chat/error",
        "turnId": active["id"],
        "duration": read.ran,
        "part": part,
    }
    read.state = REDUCERS[read.kind](read.state, action)
    read.changed = True


def _nobody_here(read: Recovered) -> None:
    state = read.state
    if state["activeClients"]:
        state["activeClients"] = []
        read.changed = True
    if state["status"] & ACTIVITY_MASK not in (IDLE, ERROR):
        state["status"] = with_activity(state["status"], IDLE)
        read.changed = True
    listed = state.get("customizations")
    for server in _servers(listed) if listed else ():
        if server["state"].get("kind") in ("starting", "ready", "authRequired"):
            server["state"] = {"kind": "stopped"}
            read.changed = True


def _servers(customizations: Sequence[State]) -> list[State]:
    """The MCP servers among customizations, those inside of others too."""
    found = []
    for each in customizations:
        if each.get("type") == "mcpServer" and "state" in each:
            found.append(each)
        found += _servers(each.get("children") or ())
    return found
