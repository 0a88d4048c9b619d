"""A history that is cut, and the conversation that is cut with it.

Source: CHATS.txt, "Compacted context, and a rewind"; AHP.txt, `chat/truncated`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ahpd.protocol import State

if TYPE_CHECKING:
    from ahpd.chats.chat import Chat


def rewind(chat: "Chat", turn_id: str | None) -> bool:
    """Have the conversation be cut as the history was, behind a turn or whole.

    Of what is left the backend never saw the host's own commands: it is cut behind the newest
    turn that it did see, and starts over where there is none. False for a turn the chat does
    not hold: nothing was dropped, nothing is cut.
    """
    turns: Sequence[State] = chat.state["turns"]
    if turn_id is not None and (not turns or turns[-1]["id"] != turn_id):
        return False
    chat.forget_turns()
    seen = None if turn_id is None else chat.kept.newest_seen(turns)
    if seen is None:
        chat.conversation.start_over(chat.known_turns())
    else:
        chat.conversation.rewind(seen, chat.known_turns())
    return True


def truncated(chat: "Chat", turn_id: str | None) -> None:
    """A truncation was applied. A turn it dropped while it ran is over."""
    if not rewind(chat, turn_id):
        return
    kill = chat.commands.halting()  # the turn of each was under way, and was dropped
    if chat.current is not None and chat.current.said and "activeTurn" not in chat.state:
        turn = chat.current
        chat.drop_turn(turn)
        chat.conversation.halt()
        if turn.elsewhere is not None:
            turn.output.end()
            turn.elsewhere()
    kill()
    if chat.current is None and chat.conversation.running is not None:
        chat.conversation.halt()  # so was the one a command took the place of
    chat.conversation.settle()
