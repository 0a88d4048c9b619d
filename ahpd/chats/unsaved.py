"""What becomes of a turn whose words cannot be kept: it fails in words, and the host lives.

A turn of which anything is lost fails, and its backend is stopped. Of a start that is
lost clients see nothing, and an end that is lost is said as an error in its place. Any
other action of the host's was not said; a client's was refused.
"""

from typing import Final, Protocol

from ahpd.channels.envelope import Envelope
from ahpd.chats.conversation import Conversation, store_failed
from ahpd.chats.owner import TurnFailure
from ahpd.chats.turn import ENDS, STARTS, Turn
from ahpd.interfaces import StoreFailure
from ahpd.protocol import Action
from ahpd.protocol.actions import TURN_ACTIONS

_ERROR: Final = "chat/error"


class Losing(Protocol):
    """The chat whose words cannot be kept."""

    current: Turn | None
    conversation: Conversation

    def say(self, action: Action, *, unsaved: bool = False) -> None:
        """Say an action of the host's own; `unsaved` although it cannot be kept."""

    def fail(self, turn: Turn, failure: TurnFailure, unsaved: bool = False) -> None:
        """Say that a turn failed."""

    def not_started(self, turn: Turn, failure: TurnFailure) -> None:
        """The start of `turn` was not said after all, for `failure`."""


def lost(chat: Losing, envelope: Envelope | None, failure: StoreFailure) -> None:
    """`envelope` could not be kept and was not said; None is streamed text that was said."""
    if envelope is None:
        _fail_turn(chat, failure)
    elif envelope.type in STARTS:
        turn = chat.current
        if turn is not None and not turn.said and turn.turn_id == envelope.action["turnId"]:
            chat.not_started(turn, store_failed(failure))
    elif envelope.type in ENDS:
        chat.say(_error_for(envelope.action, failure), unsaved=True)
    elif envelope.type in TURN_ACTIONS and envelope.origin is None:
        _fail_turn(chat, failure)


def _error_for(end: Action, failure: StoreFailure) -> Action:
    """What is said in place of an end that was lost: an error's own words, or why it was."""
    if end["type"] == _ERROR:
        return end
    part = store_failed(failure).part()
    return {"type": _ERROR, "turnId": end["turnId"], "duration": end["duration"], "part": part}


def _fail_turn(chat: Losing, failure: StoreFailure) -> None:
    turn = chat.current
    if turn is not None:
        chat.fail(turn, store_failed(failure), unsaved=True)
        if turn.elsewhere is not None:
            turn.elsewhere()
        chat.conversation.halt()
