"""What is kept of terminals, on its way from one host to another.

A record is one terminal as the chats of one session name it: `session`, `chats`, `terminal`
(its URI) and `state`. One that chats of several sessions name is carried with each of them,
so that any of these can be taken alone.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ahpd.interfaces.stores import ISessionStore, PutTerminal
from ahpd.protocol.check import check
from ahpd.protocol.shapes.terminals import TerminalState
from ahpd.stores.records import text_of
from ahpd.wire.codec import encode


def terminals_of(store: ISessionStore, session: str) -> Iterator[tuple[str, list[str], bytes]]:
    """Each terminal that chats of a session name, once: its URI, those chats, its state."""
    chats: dict[str, list[str]] = {}
    for chat, terminal in store.terminals(session):
        chats.setdefault(terminal, []).append(chat)
    for terminal in sorted(chats):
        state = store.terminal(terminal)
        if state is not None:
            yield terminal, sorted(chats[terminal]), state


def terminal_writes(
    store: ISessionStore, record: Mapping[str, Any], is_imported: Callable[[str], bool]
) -> Iterator[PutTerminal]:
    """The writes a record asks for. Raises `ValueError` for one that is no such record.

    What the store holds of the terminal already stays as it is: an import changes nothing
    that is there. `is_imported` tells the channels that are this import's.
    """
    terminal, chats, state = text_of(record, "terminal"), record.get("chats"), record.get("state")
    if not isinstance(chats, list) or not chats:
        raise ValueError("chats is no list of the chats that name the terminal")
    # It is shown to clients as it is, so it is checked before it is taken.
    check(state, TerminalState, "state")
    held = store.terminal(terminal)
    body = encode(state) if held is None else held
    for chat in chats:
        if not isinstance(chat, str) or not is_imported(chat):
            raise ValueError(f"the chat {chat!r} of the terminal {terminal} is not there before it")
        yield PutTerminal(chat=chat, terminal=terminal, state=body)
