"""A session as it is read back from the store: its own state, its chats', its marks'.

The session's own list of chats decides: a chat it does not list, one that was being made
or disposed of when the process ended, is gone; one that has no record goes from the list.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import attrs
from twisted.logger import Logger

from ahpd.chats.kept import Kept
from ahpd.chats.rows import summary_of
from ahpd.interfaces import ChannelRecord
from ahpd.journal.recovery import (
    INTERRUPTED_TYPE,
    INTERRUPTED_WORDS,
    Recovered,
    ended,
    read_back,
)
from ahpd.journal.table import KEPT_KINDS
from ahpd.protocol import State
from ahpd.protocol.reducers import REDUCERS
from ahpd.protocol.uris import ChannelKind

log = Logger()

_KINDS: Final = frozenset(kind.value for kind in KEPT_KINDS)
_CHAT: Final = ChannelKind.CHAT
_SESSION: Final = ChannelKind.SESSION


@attrs.define(kw_only=True)
class StoredSession:
    """What was read of one session."""

    session: Recovered
    chats: Sequence[Recovered]
    """In the order the session lists them."""
    annotations: Recovered | None
    channels: Sequence[Recovered]
    """All of these."""
    gone: Sequence[str]
    """Channels there is a record of and that are the session's no more."""
    changed: bool
    """Whether the store does not hold the session as it is here."""


def read_session(
    records: Iterable[ChannelRecord], resumable: bool, running_on: bool = False
) -> StoredSession:
    """A session out of its records.

    `resumable` is whether its agent can run an interrupted turn again. `running_on` is
    whether this very process put it to sleep: then it is as it was, for the clients that
    hold its state. Raises `ValueError` for records that make no session.
    """
    itself: list[Recovered] = []
    marks: list[Recovered] = []
    chats: dict[str, Recovered] = {}
    for record in records:
        if record.kind not in _KINDS:
            continue
        channel = read_back(record)
        for words in channel.problems:
            log.warn("{channel}: {words}; passed over", channel=channel.channel, words=words)
        if not running_on:
            ended(channel, resumable and not _runs_command(channel))
        if channel.kind is _CHAT:
            chats[channel.channel] = channel
        else:
            (itself if channel.kind is _SESSION else marks).append(channel)
    if len(itself) != 1:
        raise ValueError("there is no record of the session itself")
    session = itself[0]
    held = _listed(session.state, chats)
    if not running_on:
        _align(session, held)
        _fail_creation(session, held)
    gone = [] if len(held) == len(chats) else _unlisted(held, chats)
    channels = (session, *held, *marks[:1])
    return StoredSession(
        session=session,
        chats=held,
        annotations=marks[0] if marks else None,
        channels=channels,
        gone=gone,
        changed=bool(gone) or any(channel.changed for channel in channels),
    )


def _runs_command(channel: Recovered) -> bool:
    """Whether the turn that ran is a command of the host's own, which no agent runs again."""
    active = channel.state.get("activeTurn")
    return active is not None and Kept(_unwritten, channel.facts).is_command(active["id"])


def _unwritten(facts: Mapping[str, object]) -> None:
    """What is only read is not written."""


def _listed(state: State, chats: Mapping[str, Recovered]) -> list[Recovered]:
    """The chats a session of this state lists and that are kept. Raises `ValueError`."""
    held: dict[str, Recovered] = {}
    for row in state["chats"]:
        uri = row["resource"]
        chat = chats.get(uri)
        if chat is None:
            continue
        if chat.state["resource"] != uri:
            raise ValueError(f"what is kept of {uri} is of {chat.state['resource']}")
        held[uri] = chat
    if not held:
        raise ValueError("there is no record of any of its chats")
    return list(held.values())


def _unlisted(held: Sequence[Recovered], chats: Mapping[str, Recovered]) -> list[str]:
    listed = {chat.channel for chat in held}
    return [uri for uri in chats if uri not in listed]


def _align(session: Recovered, chats: Sequence[Recovered]) -> None:
    """Make the session's list of what the chats are now."""
    state = session.state
    rows = [summary_of(chat.state) for chat in chats]
    if rows != state["chats"]:
        state["chats"] = rows
        session.changed = True
    default = state.get("defaultChat")
    if not any(chat.channel == default for chat in chats):
        state["defaultChat"] = chats[0].channel
        session.changed = True


def _fail_creation(session: Recovered, chats: Sequence[Recovered]) -> None:
    """A first message the process ended before the backend had failed the session's creation."""
    state = session.state
    if state["lifecycle"] != "creating" or not any(chat.state["turns"] for chat in chats):
        return
    error = {"errorType": INTERRUPTED_TYPE, "message": INTERRUPTED_WORDS}
    action = {"type": "session/creationFailed", "error": error}
    session.state = REDUCERS[session.kind](state, action)
    session.changed = True
