"""One run of an automation (schema: AutomationRunState).

`automationRun/cancelRequested` changes no state: the lifecycle that follows does.
"""

from typing import Final

from ahpd.protocol import Action, State
from ahpd.protocol.reducers.dispatch import Handler, reducer
from ahpd.protocol.reducers.fields import replace


def _session_set(state: State, action: Action) -> None:
    sessions = state["sessions"]
    if action["session"] not in sessions:
        state["sessions"] = [*sessions, action["session"]]


def _session_removed(state: State, action: Action) -> None:
    session = action["session"]
    if session not in state["sessions"]:
        return
    state["sessions"] = [held for held in state["sessions"] if held != session]
    if state.get("primarySession") == session:
        del state["primarySession"]


HANDLERS: Final[dict[str, Handler]] = {
    "automationRun/lifecycleChanged": replace("lifecycle"),
    "automationRun/sessionSet": _session_set,
    "automationRun/sessionRemoved": _session_removed,
    "automationRun/primarySessionChanged": replace("primarySession"),
}

reduce = reducer(HANDLERS)
