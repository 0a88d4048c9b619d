"""A session as it is read back from the store: its own state, its chats', its marks'.

The session's own list of chats decides: a chat it does not list, one that was being made
or disposed of when the process ended, is gone; one that has no record goes from the list.
"""

from collections.abc import Iterable, Mapping, Sequence

import attrs
from twisted.logger import Logger

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

_KINDS = {kind.value: kind for kind in KEPT_KINDS}


@attrs.define(kw_only=True)
class StoredSession:
    """What was read of one session."""

    session: Recovered
    chats: Sequence[Recovered]
    """In the order the session lists them."""
    annotations: Recovered | None
    gone: Sequence[str]
    """Channels there is a record of and that are the session's no more."""

    @property
    def channels(self) -> tuple[Recovered, ...]:
        """All of them."""
        marks = () if self.annotations is None else (self.annotations,)
        return (self.session, *self.chats, *marks)

    @property
    def changed(self) -> bool:
        """Whether the store does not hold the session as it is here."""
        return bool(self.gone) or any(channel.changed for channel in self.channels)


def read_session(
    records: Iterable[ChannelRecord], resumable: bool, running_on: bool = False
) -> StoredSession:
    """A session out of its records.

    `resumable` is whether its agent can run an interrupted turn again. `running_on` is
    whether this very process put it to sleep: then it is as it was, for the clients that
    hold its state. Raises `ValueError` for records that make no session.
    """
    read = [read_back(record) for record in records if record.kind in _KINDS]
    for channel in read:
        for words in channel.problems:
            log.warn("{channel}: {words}; passed over", channel=channel.channel, words=words)
        if not running_on:
            ended(channel, resumable)
    by_kind: Mapping[ChannelKind, list[Recovered]] = {kind: [] for kind in _KINDS.values()}
    for channel in read:
        by_kind[channel.kind].append(channel)
    if len(by_kind[ChannelKind.SESSION]) != 1:
        raise ValueError("there is no record of the session itself")
    [session] = by_kind[ChannelKind.SESSION]
    marks = by_kind[ChannelKind.ANNOTATIONS]
    chats = {chat.channel: chat for chat in by_kind[ChannelKind.CHAT]}
    state = session.state
    listed = [row["resource"] for row in state["chats"] if row["resource"] in chats]
    if not listed:
        raise ValueError("there is no record of any of its chats")
    for uri in listed:
        if chats[uri].state["resource"] != uri:
            raise ValueError(f"what is kept of {uri} is of {chats[uri].state['resource']}")
    if not running_on:
        _align(session, [chats[uri].state for uri in listed])
        _fail_creation(session, [chats[uri].state for uri in listed])
    return StoredSession(
        session=session,
        chats=[chats[uri] for uri in listed],
        annotations=marks[0] if marks else None,
        gone=[uri for uri in chats if uri not in listed],
    )


def _align(session: Recovered, chats: Sequence[State]) -> None:
    """Make the session's list of what the chats are now."""
    state = session.state
    rows = [summary_of(chat) for chat in chats]
    if rows != state["chats"]:
        state["chats"] = rows
        session.changed = True
    if state.get("defaultChat") not in {row["resource"] for row in rows}:
        state["defaultChat"] = rows[0]["resource"]
        session.changed = True


def _fail_creation(session: Recovered, chats: Sequence[State]) -> None:
    """A first message the process ended before the backend had failed the session's creation."""
    state = session.state
    if state["lifecycle"] != "creating" or not any(chat["turns"] for chat in chats):
        return
    error = {"errorType": INTERRUPTED_TYPE, "message": INTERRUPTED_WORDS}
    action = {"type": "session/creationFailed", "error": error}
    session.state = REDUCERS[session.kind](state, action)
    session.changed = True
