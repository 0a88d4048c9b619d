"""How a call says that it wrote the agent's plan, which AHP has no part for.

A backend shows a plan as a completed call of `update_plan`, and says it for programs in the call's
`structuredContent`: `{"entries": [...]}` is the whole list, each `{content, status, priority?}`,
and `{"change": {...}}` one change to it, with the `id` its harness gave the entry where it did.
A model's own tool may be called so too: what has neither is no plan.
"""

from collections.abc import Mapping
from typing import Any, Final

from ahpd.protocol import State

#: What a call that shows a plan is of.
TOOL: Final = "update_plan"


def plan_of(tool: str, result: Mapping[str, Any]) -> State | None:
    """`{"entries": ...}` or `{"change": ...}` of a call's result (schema: ToolCallResult)."""
    structured = result.get("structuredContent")
    if tool != TOOL or not isinstance(structured, dict):
        return None
    entries, change = structured.get("entries"), structured.get("change")
    if isinstance(entries, list):
        return {"entries": entries}
    return {"change": change} if isinstance(change, dict) else None
