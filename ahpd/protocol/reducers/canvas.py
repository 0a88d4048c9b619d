"""A canvas: one action, which carries the whole state (schema: CanvasState)."""

from ahpd.protocol import Action, State


def reduce(state: State, action: Action) -> State:
    """The state the action carries, copied at the top, where a later owner could change it."""
    if action["type"] == "canvas/stateChanged":
        return dict(action["canvas"])
    return state
