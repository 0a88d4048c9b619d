"""Sessions kept for as long as the host runs, and no longer."""

from collections.abc import Iterable, Sequence
from typing import Final

import attrs
from zope.interface import implementer

from ahpd.interfaces.stores import (
    Body,
    ChannelRecord,
    DropChannel,
    DropSession,
    ISessionStore,
    PutChannel,
    PutSession,
    PutTerminal,
    SessionRow,
    ShareTerminals,
    StoreFailure,
    Write,
)

_NAME: Final = "the session store in memory"


@attrs.define
class _Channel:
    """What is held of one channel."""

    session: str
    kind: str
    head: bytes
    age: int
    """Counts up with every channel that is written for the first time."""
    turns: list[bytes] = attrs.Factory(list)
    entries: list[bytes] = attrs.Factory(list)


class _Terminals:
    """What is kept of terminals, each once, and which chats name them."""

    def __init__(self) -> None:
        self._states: dict[str, bytes] = {}
        self._of_chat: dict[str, set[str]] = {}
        self._chats_of: dict[str, set[str]] = {}

    def state(self, uri: str) -> bytes | None:
        """What is kept of one."""
        return self._states.get(uri)

    def named(self, chat: str) -> set[str]:
        """The terminals a chat names."""
        return self._of_chat.get(chat, set())

    def put(self, chat: str, uri: str, state: bytes) -> None:
        """Keep one that a chat names."""
        self._states[uri] = state
        self._name(chat, uri)

    def share(self, source: str, chat: str) -> None:
        """Have a chat name what another one does."""
        for uri in tuple(self.named(source)):
            self._name(chat, uri)

    def _name(self, chat: str, uri: str) -> None:
        self._of_chat.setdefault(chat, set()).add(uri)
        self._chats_of.setdefault(uri, set()).add(chat)

    def forget(self, chat: str) -> None:
        """Have a chat name nothing; what nobody names any more goes."""
        for uri in self._of_chat.pop(chat, set()):
            chats = self._chats_of[uri]
            chats.discard(chat)
            if not chats:
                del self._chats_of[uri], self._states[uri]


@implementer(ISessionStore)
class MemorySessionStore:
    """`ISessionStore` in dicts. What it holds outlasts `close`: it may be opened again."""

    def __init__(self) -> None:
        self._rows: dict[str, SessionRow] = {}
        self._channels: dict[str, _Channel] = {}
        self._of_session: dict[str, set[str]] = {}
        self._terminals = _Terminals()
        self._age = 0
        self._is_open = False

    def open(self) -> None:
        """Take calls."""
        if self._is_open:
            raise StoreFailure(f"{_NAME} is open already")
        self._is_open = True

    def close(self) -> None:
        """Take no more calls until it is opened again."""
        self._is_open = False

    # -- reading ------------------------------------------------------------------------

    def sessions(self) -> Sequence[SessionRow]:
        self._check_open()
        return sorted(self._rows.values(), key=lambda row: row.ordinal)

    def unfolded(self) -> Sequence[str]:
        self._check_open()
        return list({each.session for each in self._channels.values() if each.entries})

    def session_of(self, channel: str) -> str | None:
        self._check_open()
        held = self._channels.get(channel)
        return None if held is None else held.session

    def read(self, session: str) -> Sequence[ChannelRecord]:
        self._check_open()
        names = self._of_session.get(session, ())
        return [
            ChannelRecord(
                channel=name,
                kind=held.kind,
                head=held.head,
                turns=tuple(held.turns),
                entries=tuple(held.entries),
            )
            for name, held in sorted(
                ((name, self._channels[name]) for name in names), key=lambda pair: pair[1].age
            )
        ]

    def terminal(self, uri: str) -> bytes | None:
        self._check_open()
        return self._terminals.state(uri)

    def terminals(self, session: str) -> Sequence[tuple[str, str]]:
        self._check_open()
        chats = self._of_session.get(session, ())
        return [(chat, uri) for chat in chats for uri in self._terminals.named(chat)]

    # -- writing ------------------------------------------------------------------------

    def append(self, entries: Iterable[tuple[str, bytes]]) -> None:
        self._check_open()
        found = []
        for channel, entry in entries:
            held = self._channels.get(channel)
            if held is None:
                raise StoreFailure(f"{_NAME} holds no channel {channel}")
            found.append((held.entries, entry))
        for journal, entry in found:
            journal.append(entry)

    def apply(self, writes: Iterable[Write]) -> None:
        self._check_open()
        # All or none: whatever can fail is found out before anything is done.
        listed = [_joined(write) for write in writes]
        self._check(listed)
        for write in listed:
            match write:
                case PutSession(row=row):
                    self._rows[row.id] = row
                    self._of_session.setdefault(row.id, set())
                case PutChannel():
                    self._put(write)
                case DropChannel(channel=channel):
                    self._drop(channel)
                case PutTerminal(chat=chat, terminal=uri, state=state):
                    self._terminals.put(chat, uri, state)
                case ShareTerminals(source=source, chat=chat):
                    self._terminals.share(source, chat)
                case DropSession(id=session):
                    self._rows.pop(session, None)
                    for channel in self._of_session.pop(session, ()):
                        del self._channels[channel]
                        self._terminals.forget(channel)

    def wants_compaction(self) -> bool:
        """Never: a dict has nothing to give back."""
        return False

    async def compact(self) -> None:
        """Nothing to do."""

    def _check_open(self) -> None:
        if not self._is_open:
            raise StoreFailure(f"{_NAME} is closed")

    def _check(self, writes: Sequence[Write]) -> None:
        """Raise `StoreFailure` for the first of the writes that could not be done in its turn."""
        sessions: dict[str, bool] = {}
        turns: dict[str, tuple[str, int] | None] = {}
        for write in writes:
            match write:
                case PutSession(row=row):
                    sessions[row.id] = True
                case PutChannel():
                    if not sessions.get(write.session, write.session in self._rows):
                        raise StoreFailure(f"{_NAME} holds no session {write.session}")
                    held = self._turns_held(write.channel, turns)
                    if write.keep_turns > held:
                        raise StoreFailure(
                            f"{_NAME} holds {held} turns of {write.channel}, not {write.keep_turns}"
                        )
                    count = write.keep_turns + len(write.turns)
                    turns[write.channel] = (write.session, count)
                case DropChannel(channel=channel):
                    turns[channel] = None
                case PutTerminal(chat=chat):
                    self._check_held((chat,), turns)
                case ShareTerminals(source=source, chat=chat):
                    self._check_held((source, chat), turns)
                case DropSession(id=session):
                    sessions[session] = False
                    for channel, place in turns.items():
                        if place is not None and place[0] == session:
                            turns[channel] = None
                    turns |= dict.fromkeys(
                        channel
                        for channel in self._of_session.get(session, ())
                        if channel not in turns
                    )

    def _check_held(
        self, channels: Iterable[str], turns: dict[str, tuple[str, int] | None]
    ) -> None:
        """Raise `StoreFailure` for a channel that is not there at this point of a check."""
        for channel in channels:
            held = turns[channel] if channel in turns else self._channels.get(channel)
            if held is None:
                raise StoreFailure(f"{_NAME} holds no channel {channel}")

    def _turns_held(self, channel: str, turns: dict[str, tuple[str, int] | None]) -> int:
        """How many turns of a channel there are at this point of a check."""
        if channel in turns:
            place = turns[channel]
            return 0 if place is None else place[1]
        held = self._channels.get(channel)
        return 0 if held is None else len(held.turns)

    def _put(self, write: PutChannel) -> None:
        held = self._channels.get(write.channel)
        if held is None:
            self._age += 1
            held = _Channel(write.session, write.kind, b"", self._age)
            self._channels[write.channel] = held
        elif held.session != write.session:
            self._of_session[held.session].discard(write.channel)
        self._of_session[write.session].add(write.channel)
        held.session, held.kind, held.head = write.session, write.kind, _whole(write.head)
        held.turns[write.keep_turns :] = map(_whole, write.turns)
        held.entries = list(write.entries)

    def _drop(self, channel: str) -> None:
        held = self._channels.pop(channel, None)
        if held is not None:
            self._of_session[held.session].discard(channel)
            self._terminals.forget(channel)


def _joined(write: Write) -> Write:
    """A write with nothing left in parts: making them may fail."""
    if not isinstance(write, PutChannel):
        return write
    return attrs.evolve(write, head=_whole(write.head), turns=[*map(_whole, write.turns)])


def _whole(body: Body) -> bytes:
    return body if isinstance(body, bytes) else b"".join(body)
