"""An agent's plan, which AHP has no part for: a tool call with the list as its result.

ACP sends the whole plan each time it moves. Each one that differs is a row of its own, as a
tool that writes a plan makes one: a turn that is stopped keeps them, and where in the turn
the plan moved can be seen.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from ahpd.protocol import State
from ahpd_agent_acp.content import object_in, objects_in, text_in

#: The call's names.
TOOL: Final = "update_plan"
TITLE: Final = "Plan"

_DONE: Final = "completed"
_MARKS: Final = {_DONE: "x", "in_progress": "~"}


@attrs.frozen
class ShownPlan:
    """A plan as a row shows it."""

    words: str
    content: State
    """Schema: ToolResultContent."""
    entries: Sequence[State] = ()
    """The same for programs, each `{content, status?, priority?}`; none of a plan that is prose."""

    def result(self) -> State:
        """What the row's call came to (schema: ToolCallResult)."""
        said: State = {"success": True, "pastTenseMessage": self.words, "content": [self.content]}
        if self.entries:
            said["structuredContent"] = {"entries": list(self.entries)}
        return said


def plan_of(update: Mapping[str, Any]) -> ShownPlan | None:
    """The plan of a `plan` or `plan_update`; None where it says none."""
    plan = object_in(update, "plan") if "plan" in update else update
    if text_in(plan, "type") == "markdown":
        text = text_in(plan, "content")
        return None if text is None else ShownPlan(TITLE, {"type": "text", "text": text})
    if text_in(plan, "type") == "file":
        uri = text_in(plan, "uri")
        return None if uri is None else ShownPlan(TITLE, {"type": "resource", "uri": uri})
    entries = [each for each in objects_in(plan, "entries") if text_in(each, "content")]
    if not entries:
        return None
    text = "\n".join(map(_line, entries))
    return ShownPlan(_words(entries), {"type": "text", "text": text}, [*map(_entry, entries)])


def _entry(entry: Mapping[str, Any]) -> State:
    said = {key: text_in(entry, key) for key in ("content", "status", "priority")}
    return {key: value for key, value in said.items() if value is not None}


def _line(entry: Mapping[str, Any]) -> str:
    mark = _MARKS.get(text_in(entry, "status") or "", " ")
    return f"- [{mark}] {entry['content']}"


def _words(entries: Sequence[Mapping[str, Any]]) -> str:
    done = sum(entry.get("status") == _DONE for entry in entries)
    return f"{TITLE}: {done} of {len(entries)} done"
