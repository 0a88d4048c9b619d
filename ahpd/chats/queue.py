"""What waits behind a chat's turn, and when it may go (CHATS.txt, Turns)."""

from ahpd.protocol import State


def next_pending(state: State) -> State | None:
    """The message that runs next (schema: PendingMessage): steering first, then the queue's head.

    None while nothing waits, and while the chat's latest turn ended in an error a
    client can resume.
    """
    if _resumable(state):
        return None
    steering: State | None = state.get("steeringMessage")
    if steering is not None:
        return steering
    queued: list[State] = state.get("queuedMessages") or []
    return queued[0] if queued else None


def _resumable(state: State) -> bool:
    turns: list[State] = state["turns"]
    if not turns or turns[-1].get("state") != "error":
        return False
    return resumable_error(turns[-1])


def resumable_error(turn: State) -> bool:
    """Whether the last error a turn (schema: Turn) holds can be resumed."""
    for part in reversed(turn["responseParts"]):
        if part.get("kind") == "error":
            return part.get("resumable") is True
    return False
