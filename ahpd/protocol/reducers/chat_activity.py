"""What a chat's status says of its active turn."""

from typing import Final

from ahpd.protocol import Action, State
from ahpd.protocol.status import IDLE, IN_PROGRESS, INPUT_NEEDED, with_activity

#: Tool calls that wait for somebody outside the turn.
_WAITING: Final = frozenset(
    {"pending-confirmation", "pending-result-confirmation", "auth-required"}
)


def active_turn(state: State, action: Action) -> State | None:
    """The active turn, if the action is about that one."""
    active: State | None = state.get("activeTurn")
    if active is None or active["id"] != action["turnId"]:
        return None
    return active


def _waits(part: State) -> bool:
    kind = part["kind"]
    if kind == "toolCall":
        return part["toolCall"]["status"] in _WAITING
    return kind == "inputRequest" and part.get("response") is None


def refresh_activity(state: State) -> None:
    """Derive the status's activity from the active turn and what in it waits for somebody."""
    active = state.get("activeTurn")
    if active is None:
        activity = IDLE
    elif any(_waits(part) for part in active["responseParts"]):
        activity = INPUT_NEEDED
    else:
        activity = IN_PROGRESS
    state["status"] = with_activity(state["status"], activity)
