"""How a session that is asleep is held again, and how one is let go of.

A host starts with its sessions asleep. Whoever asks for one wakes it, in the call itself:
its record is read, and it is what it was. One that nobody watches and nothing runs in goes
to sleep again (`ahpd.sessions.sleeping`).
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from ahpd.chats.rewinding import rewind
from ahpd.interfaces import DropChannel, DropSession, IAgent, StoreFailure
from ahpd.protocol.errors import RpcError, internal_error
from ahpd.protocol.timestamps import instant
from ahpd.sessions.entry import Asleep, Entry
from ahpd.sessions.session import Session
from ahpd.sessions.session_meta import refresh_meta
from ahpd.sessions.stored import StoredSession, read_session

if TYPE_CHECKING:
    from ahpd.sessions.registry import SessionRegistry

log = Logger()

#: How long a session that was never sent a message is kept for its client to come back.
KEPT_FOR: Final = timedelta(days=1)


def is_overdue(modified_at: str, now: datetime) -> bool:
    """Whether such a session, moved last then (ISO 8601), was left alone for its time."""
    return (instant(modified_at) or 0.0) < (now - KEPT_FOR).timestamp()


def load(registry: "SessionRegistry") -> None:
    """Know every session the store has, asleep. Those a crash left behind are mended.

    One that was never sent a message goes once nobody came back to it for a day. Raises
    `StoreFailure`.
    """
    store = registry.journals.store
    mended = set(store.unfolded())
    left: list[DropSession] = []
    now = registry.world.now()
    for row in store.sessions():
        if not row.id:
            continue
        left_alone = not row.announced and row.id not in mended
        if left_alone and is_overdue(row.modified_at, now):
            left.append(DropSession(id=row.id))
        else:
            registry.catalogue.add_row(row)
    _take_away(registry, left)
    open_ones = [entry for entry in map(registry.catalogue.entry, mended) if entry is not None]
    for entry in open_ones:
        _mend(registry, entry)
    if open_ones:
        words = "put in order what the last run had left unfinished; sessions: {count}"
        log.info(words, count=len(open_ones))


def _take_away(registry: "SessionRegistry", left: Sequence[DropSession]) -> None:
    """Drop the sessions nobody came back to; where that fails the next start does."""
    try:
        if left:
            registry.journals.apply(*left)
    except StoreFailure as failure:
        log.warn("sessions nobody came back to stay: {words}", words=str(failure))


def _mend(registry: "SessionRegistry", entry: Entry[Session]) -> None:
    """Bring the record of a session to what its entries make of it."""
    try:
        wake(registry, entry)
    except RpcError:
        return  # it was said, and the record stays as it is
    registry.journals.fold(entry.identifier)
    sleep(registry, entry)
    entry.known = False


def wake(registry: "SessionRegistry", entry: Entry[Session]) -> Session:
    """Hold a session that is asleep. Raises `RpcError` -32603 where it cannot be read."""
    agent = registry.agent_of(entry.provider)
    asleep, stored = entry.asleep, None
    try:
        records = registry.journals.store.read(entry.identifier)
        stored = read_session(records, agent.abilities.resume, entry.known)
        session = _held(registry, entry, agent, stored)
    except (StoreFailure, ValueError) as failure:
        _let_go(registry, entry, asleep, stored)
        log.error("{uri} cannot be read: {words}", uri=entry.uri, words=str(failure))
        raise internal_error(f"{entry.uri} cannot be read: {failure}") from None
    except Exception as broken:  # a record of something else: no reason for a host not to start
        _let_go(registry, entry, asleep, stored)
        kind = type(broken).__name__
        log.error("{uri} cannot be read: {kind}: {error}", uri=entry.uri, kind=kind, error=broken)
        raise internal_error(f"{entry.uri} cannot be read; the host's log says why") from None
    registry.woken()
    return session


def _held(
    registry: "SessionRegistry", entry: Entry[Session], agent: IAgent, stored: StoredSession
) -> Session:
    """The session that was read, held. Raises whatever a record of something else makes of it."""
    state = stored.session.state
    if state["provider"] != entry.provider:
        raise ValueError(f"it is of agent {state['provider']}, its row of {entry.provider}")
    _expect(registry, entry, stored)
    session = Session(registry.world, registry.catalogue, agent, state, entry.uri, entry.created_at)
    session.ready = state["lifecycle"] == "ready"
    session.workers = registry.workers
    for chat in stored.chats:
        registry.open_chats[chat.channel] = session.open_chat(chat.state, chat.facts)
    if stored.annotations is not None:
        session.open_annotations(stored.annotations.state)
    for chat in stored.chats:
        if chat.cut is not None:
            rewind(registry.open_chats[chat.channel], chat.cut.get("turnId"))
    registry.catalogue.wake(entry, session)
    entry.announced = entry.announced or state["lifecycle"] != "creating"
    if stored.changed:
        _drop(registry, *stored.gone)
        registry.catalogue.moved(session)
    session.movable.sync_all(session)  # moves may have been turned on or off since
    entry.settle()
    refresh_meta(registry.world, session)  # what plugins say of it may have moved since
    return session


def _let_go(
    registry: "SessionRegistry",
    entry: Entry[Session],
    asleep: Asleep,
    stored: StoredSession | None,
) -> None:
    """Hold nothing of a session whose record makes none: it stays asleep, as its row says."""
    company = registry.world.company()
    if entry.session is not None and company is not None:
        company.let_go(entry.session)
    entry.session = None
    if entry.flush is not None:
        entry.flush.cancel()
        entry.flush = None
    entry.lie_back(asleep)
    for channel in () if stored is None else stored.channels:
        registry.open_chats.pop(channel.channel, None)
        registry.world.store.release(channel.channel)
        registry.journals.leave(channel.channel)


def _expect(registry: "SessionRegistry", entry: Entry[Session], stored: StoredSession) -> None:
    """Have the journals of what was read go on where they were."""
    identifier, expect = entry.identifier, registry.journals.open
    for channel in stored.channels:
        journal = expect(
            identifier, channel.channel, channel.kind, None, channel.facts, channel.stored
        )
        if channel.changed:
            journal.said_unsaved()


def _drop(registry: "SessionRegistry", *channels: str) -> None:
    """Take channels nobody lists out of the store; they do no harm where that fails."""
    if not channels:
        return
    try:
        registry.journals.apply(*(DropChannel(channel=channel) for channel in channels))
    except StoreFailure as failure:
        log.warn("what is left of {channels} stays: {words}", channels=channels, words=str(failure))


def sleep(registry: "SessionRegistry", entry: Entry[Session]) -> None:
    """Let go of a session that is folded; nobody watches it and nothing of it runs."""
    session = entry.session
    if session is None:
        return
    registry.catalogue.sleep(entry)
    for chat in session.chats.values():
        chat.closed = True
        del registry.open_chats[chat.uri]
        registry.world.store.release(chat.uri)
    registry.world.store.release(session.annotations)
    registry.world.store.release(session.uri)
