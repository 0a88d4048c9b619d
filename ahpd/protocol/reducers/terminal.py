"""A terminal: what it printed, part by part, and who holds it (schema: TerminalState).

The last part of `content` grows in place, in constant time; a part that another one
follows, or whose command is over, is a plain string. `terminal/input` changes nothing:
what the program answers is `terminal/data`.
"""

from typing import Final

from ahpd.protocol import Action, State
from ahpd.protocol.reducers.dispatch import Handler, reducer
from ahpd.protocol.reducers.fields import assign, present, replace
from ahpd.protocol.text import GrowingText, appended


def _data(state: State, action: Action) -> None:
    content = state["content"]
    if content:
        last = content[-1]
        kind = last["type"]
        if kind == "unclassified":
            last["value"] = appended(last["value"], action["data"])
            return
        if kind == "command" and not last["isComplete"]:
            last["output"] = appended(last["output"], action["data"])
            return
    content.append({"type": "unclassified", "value": action["data"]})


def _settle(part: State) -> None:
    """Let the part's text be a plain string: it is said out."""
    for field in ("value", "output"):
        if isinstance(part.get(field), GrowingText):
            part[field] = str(part[field])


def _resized(state: State, action: Action) -> None:
    state["cols"] = action["cols"]
    state["rows"] = action["rows"]


def _exited(state: State, action: Action) -> None:
    """A process that was killed has no exit code."""
    state["lifecycle"] = {"status": "exited", **present(action, ("exitCode",))}


def _cleared(state: State, action: Action) -> None:
    state["content"] = []


def _command_detection_available(state: State, action: Action) -> None:
    state["supportsCommandDetection"] = True


def _command_executed(state: State, action: Action) -> None:
    content = state["content"]
    if content:
        _settle(content[-1])
    content.append(
        {
            "type": "command",
            "commandId": action["commandId"],
            "commandLine": action["commandLine"],
            "output": "",
            "timestamp": action["timestamp"],
            "isComplete": False,
        }
    )
    state["supportsCommandDetection"] = True


def _command_finished(state: State, action: Action) -> None:
    command = action["commandId"]
    for part in reversed(state["content"]):
        if part["type"] == "command" and part["commandId"] == command:
            _settle(part)
            part["isComplete"] = True
            assign(part, "exitCode", action.get("exitCode"))
            assign(part, "durationMs", action.get("durationMs"))
            return


HANDLERS: Final[dict[str, Handler]] = {
    "terminal/data": _data,
    "terminal/resized": _resized,
    "terminal/claimed": replace("claim"),
    "terminal/titleChanged": replace("title"),
    "terminal/cwdChanged": replace("cwd"),
    "terminal/exited": _exited,
    "terminal/cleared": _cleared,
    "terminal/commandDetectionAvailable": _command_detection_available,
    "terminal/commandExecuted": _command_executed,
    "terminal/commandFinished": _command_finished,
}

reduce = reducer(HANDLERS)
