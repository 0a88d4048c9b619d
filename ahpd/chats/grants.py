"""A client's answer to a call's question, and the rules it grants.

Only the answer that counts grants anything: the first that finds its question standing. What
it grants is kept before the call is said to run, so that no crash leaves a call that ran for
a rule nobody has. Source: PLUGINS.txt, "A question about a tool call".
"""

from typing import Protocol

from twisted.logger import Logger

from ahpd.channels.envelope import Origin
from ahpd.chats.owner import ChatOwner
from ahpd.chats.tool_actions import Said
from ahpd.chats.turn import Turn
from ahpd.interfaces import Refusal
from ahpd.protocol import Action

log = Logger()


class Answered(Said, Protocol):
    """The chat whose question is answered."""

    uri: str
    owner: ChatOwner
    current: Turn | None


def check_answer(chat: Answered, action: Action) -> None:
    """Raises `Refusal` for an answer that contradicts its question, which stands on."""
    turn = chat.current
    refused = None if turn is None else turn.output.contradiction(action, chat.state)
    if refused is not None:
        raise Refusal(refused)


def confirm_call(chat: Answered, action: Action, origin: Origin) -> None:
    """A client's `chat/toolCallConfirmed`: what it grants is kept, and it is said as it was sent.

    Questions that stand meanwhile stay with the person they were put to, whatever was granted.
    Raises as `check_answer` does.
    """
    check_answer(chat, action)
    turn = chat.current
    grant = None if turn is None else turn.output.granted(action, chat.state)
    if grant is not None:
        try:
            chat.owner.granted(grant)
        except Exception:  # the answer is for this call all the same
            log.failure("what an answer in {chat} granted was not kept", chat=chat.uri)
    chat.say(action, origin)
