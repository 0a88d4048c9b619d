"""What happens in chats and sessions, told in the step in which it happened.

Whoever composes the host says who is told. A turn is told of when it is handed on and when its end
was said on the wire; what is told of a start that waits to be said waits with it, so that it is
heard in the order clients see. Source: PLUGINS.txt, "Events".
"""

from typing import Final, Protocol

from ahpd.chats.owner import ChatOwner, Surroundings, TurnFailure
from ahpd.chats.turn import Turn
from ahpd.protocol import Action

_ERROR: Final = "chat/error"


class Beginning(Protocol):
    """A chat turns begin in."""

    uri: str
    owner: ChatOwner


class Ending(Beginning, Protocol):
    """A chat turns end in."""

    ending: dict[str, Turn] | None


def begun(world: Surroundings, chat: Beginning, turn: Turn) -> None:
    """`turn` is handed on: to the chat's backend, or to the host's own terminals."""
    told = world.happenings.told
    if told is None:
        return
    message = turn.request.message

    def tell() -> None:
        if not turn.lost:
            told.turn_begun(
                chat.owner.uri,
                chat.uri,
                turn.turn_id,
                message,
                queued=turn.queued_id,
                resumed=turn.resumed,
            )

    world.store.behind(tell)


def ending(world: Surroundings, chat: Ending, turn: Turn) -> None:
    """The end of `turn` is about to be said; `ended` tells of it once it was."""
    if world.happenings.told is not None:
        chat.ending = chat.ending or {}
        chat.ending[turn.turn_id] = turn


def ended(world: Surroundings, chat: Ending, action: Action) -> None:
    """An end was applied on the chat: that of a turn the host ended, or one that ends nothing."""
    told, waiting = world.happenings.told, chat.ending
    turn = None if waiting is None else waiting.pop(action["turnId"], None)
    if told is None or turn is None:
        return
    chat.ending = waiting or None
    # The queue's drain ends what it could not hand on itself.
    its_own = turn.drained and not turn.handed and turn.elsewhere is None
    told.turn_over(
        chat.owner.uri,
        chat.uri,
        turn.turn_id,
        turn.request.message,
        action,
        rejected=turn.rejected,
        command=turn.command,
        queued=turn.queued_id if its_own and action["type"] == _ERROR else None,
    )


def dropped(world: Surroundings, chat: Beginning, turn: Turn) -> None:
    """`turn` was handed on, is let go of, and has no end that is said: another took its place."""
    told = world.happenings.told
    if told is None or turn.over:
        return
    said: Action = {"type": "chat/turnCancelled", "turnId": turn.turn_id}

    def tell() -> None:
        told.turn_over(
            chat.owner.uri,
            chat.uri,
            turn.turn_id,
            turn.request.message,
            said,
            rejected=False,
            command=False,
            queued=None,
        )

    world.store.behind(tell)


def not_kept(world: Surroundings, chat: Ending, turn: Turn, failure: TurnFailure) -> None:
    """The start of `turn` could not be kept: it is in nobody's state."""
    turn.lost = True
    told = world.happenings.told
    if told is not None:
        told.turn_refused(
            chat.owner.uri,
            chat.uri,
            turn.turn_id,
            turn.request.message,
            failure.info(),
            queued=turn.queued_id if turn.drained else None,
        )
