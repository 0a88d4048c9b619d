"""What part of a chat's turns a client is shown, and how it asks for the rest.

Sources: AHP.txt, `subscribe` and `fetchTurns`. The host's own state holds every
turn; a view is a shallow copy with the newest of them and a cursor for the others.
"""

from typing import Any, Final

from ahpd.protocol import State

#: Turns in a page, and in a view whose count is no positive integer.
PAGE: Final = 50

_CURSOR: Final = "before:"


def cursor_before(turn_id: str) -> str:
    """The cursor that asks for the turns older than `turn_id`."""
    return _CURSOR + turn_id


def chat_view(state: State, turns: int | None) -> State:
    """`state` with its newest `turns` turns; all of them, and no cursor, for None."""
    shown = {key: value for key, value in state.items() if key != "turnsNextCursor"}
    held: list[Any] = state["turns"]
    if turns is None or turns >= len(held):
        return shown
    newest = held[-turns:]
    shown["turns"] = newest
    shown["turnsNextCursor"] = cursor_before(newest[0]["id"])
    return shown


def requested_turns(view: Any) -> int | None:
    """How many turns a subscribe's `view` asks for; None where it names no count."""
    count = view.get("turns") if isinstance(view, dict) else None
    if count is None:
        return None
    if isinstance(count, float) and count.is_integer():
        count = int(count)
    if isinstance(count, int) and not isinstance(count, bool) and count > 0:
        return count
    return PAGE


def older_page(
    state: State, cursor: str, shown_from: int = 0
) -> tuple[list[Any], str | None] | None:
    """The page of turns before `cursor`, oldest first, and the cursor after it.

    It reaches up to index `shown_from` where the cursor names an older turn than that: a
    page is put in front of the turns each client has, and must leave no gap in any of
    them. None for a cursor that names no turn the chat holds.
    """
    if not cursor.startswith(_CURSOR):
        return None
    wanted = cursor[len(_CURSOR) :]
    held: list[Any] = state["turns"]
    for index in range(len(held) - 1, -1, -1):
        if held[index]["id"] == wanted:
            start = max(0, index - PAGE)
            page = held[start : max(index, shown_from)]
            return page, cursor_before(held[start]["id"]) if start > 0 else None
    return None
