"""A chat's older turns, told to clients that were given the newest alone.

The host holds every turn, and no record of who was given which of them; it knows where
the narrowest view begins. Older turns are put in front of what each client has, so what
is told always reaches up to there: no client is left with a gap (AHP.txt, `fetchTurns`;
schema: ChatTurnsLoadedAction).
"""

from collections.abc import Sequence

from ahpd.channels.store import ChannelStore
from ahpd.chats.chat import Chat
from ahpd.protocol import State
from ahpd.protocol.views import cursor_before, older_page


def tell_page(store: ChannelStore, chat: Chat, cursor: str) -> bool:
    """Tell everybody the page of turns before `cursor`; False where that names no turn."""
    state = chat.state
    page = older_page(state, cursor, store.shown_from(chat.uri))
    if page is None:
        return False
    _tell(store, chat, *page)
    return True


def tell_back_to(store: ChannelStore, chat: Chat, turn_id: str) -> None:
    """Tell the turns from `turn_id` on, where somebody may be without it.

    For an action that names that turn: it moves the state of those alone who hold it.
    """
    turns: Sequence[State] = chat.state["turns"]
    narrowest = store.shown_from(chat.uri)
    for index, turn in enumerate(turns[:narrowest]):
        if turn["id"] == turn_id:
            following = cursor_before(turn_id) if index > 0 else None
            _tell(store, chat, list(turns[index:narrowest]), following)
            return


def _tell(store: ChannelStore, chat: Chat, page: list[State], following: str | None) -> None:
    action: State = {"type": "chat/turnsLoaded", "turns": page}
    if following is not None:
        action["turnsNextCursor"] = following
    chat.say(action)
    if page:
        turns: Sequence[State] = chat.state["turns"]
        first = page[0]["id"]
        start = next(index for index, turn in enumerate(turns) if turn["id"] == first)
        store.widened(chat.uri, start)
