"""From an action's type to the function that applies it."""

from collections.abc import Callable, Mapping

from ahpd.protocol import Action, State

#: What an action makes of a channel's state.
Reducer = Callable[[State, Action], State]
#: Applies one type of action to a state, in place.
Handler = Callable[[State, Action], None]


def reducer(handlers: Mapping[str, Handler]) -> Reducer:
    """The reducer that applies each action with the handler of its type, and no other."""
    handler_of = handlers.get

    def reduce(state: State, action: Action) -> State:
        handler = handler_of(action["type"])
        if handler is not None:
            handler(state, action)
        return state

    return reduce
