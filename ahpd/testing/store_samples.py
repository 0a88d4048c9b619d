"""Rows and channels to write into a session store, and all of a store to compare."""

import attrs

from ahpd.interfaces.stores import (
    ChannelRecord,
    ISessionStore,
    PutChannel,
    PutTerminal,
    SessionRow,
)
from ahpd.wire.codec import encode


def a_summary(uri: str, title: str) -> bytes:
    """What a row holds for clients (SessionSummary)."""
    times = {"createdAt": "2026-01-02T03:04:05.000Z", "modifiedAt": "2026-01-02T03:04:06.000Z"}
    return encode({"resource": uri, "provider": "demo", "title": title, "status": 1, **times})


def a_row(identifier: str, ordinal: int = 1, **changed: object) -> SessionRow:
    """A session's row."""
    uri = f"ahp-session:/{identifier}"
    row = SessionRow(
        id=identifier,
        uri=uri,
        provider="demo",
        created_at="2026-01-02T03:04:05.000Z",
        modified_at="2026-01-02T03:04:06.000Z",
        ordinal=ordinal,
        announced=True,
        summary=a_summary(uri, str(ordinal)),
    )
    return attrs.evolve(row, **changed)  # type: ignore[arg-type]


def a_chat(session: str, channel: str, **changed: object) -> PutChannel:
    """The write of a chat without turns."""
    put = PutChannel(session=session, channel=channel, kind="chat", head=b"{}")
    return attrs.evolve(put, **changed)  # type: ignore[arg-type]


def a_terminal(chat: str, terminal: str, state: bytes | None = None) -> PutTerminal:
    """The write of a terminal a chat names, by default of one that printed its URI."""
    if state is None:
        content = [{"type": "unclassified", "value": terminal}]
        claim = {"kind": "client", "clientId": "c"}
        lifecycle = {"status": "exited", "exitCode": 0}
        state = encode({"title": "", "content": content, "lifecycle": lifecycle, "claim": claim})
    return PutTerminal(chat=chat, terminal=terminal, state=state)


def everything(store: ISessionStore) -> list[tuple[SessionRow, list[ChannelRecord]]]:
    """All that a store holds but for terminals, to be compared: every row with its channels."""
    return [(row, records(store, row.id)) for row in store.sessions()]


def named(store: ISessionStore, session: str) -> set[tuple[str, str]]:
    """Which chats of a session name which terminals; each pair is told once."""
    pairs = list(store.terminals(session))
    assert len(pairs) == len(set(pairs)), f"a pair is told twice: {pairs}"
    return set(pairs)


def records(store: ISessionStore, session: str) -> list[ChannelRecord]:
    """What a store reads of a session, with tuples for whatever sequences it uses."""
    return [
        attrs.evolve(record, turns=tuple(record.turns), entries=tuple(record.entries))
        for record in store.read(session)
    ]
