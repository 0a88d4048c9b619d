"""The automations catalogue (schema: AutomationState).

`automation/createRequested` and `automation/updateRequested` ask the host for something
and change no state; what came of them arrives as `automation/set`.
"""

from typing import Final

from ahpd.protocol import Action, State, keyed
from ahpd.protocol.reducers.dispatch import Handler, reducer


def _set(state: State, action: Action) -> None:
    keyed.upsert(state, "entries", "resource", action["automation"])


def _removed(state: State, action: Action) -> None:
    keyed.remove(state, "entries", "resource", action["resource"])


HANDLERS: Final[dict[str, Handler]] = {
    "automation/set": _set,
    "automation/removed": _removed,
}

reduce = reducer(HANDLERS)
