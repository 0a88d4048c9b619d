"""What a session, or a chat of it, chooses: the settings offered, and how they are read.

Source: PLUGINS.txt, "A session still chooses for itself".
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ahpd.interfaces import AgentFailure
from ahpd.protocol import State
from ahpd_agent_openai.approvals import MODES, UNNAMED
from ahpd_agent_openai.catalogue import THINKING
from ahpd_agent_openai.settings import LEVELS, Settings

INVALID: Final = "invalidConfig"

_LABELS: Final = {"off": "Off", "low": "Low", "medium": "Medium", "high": "High"}
_MODE_LABELS: Final = {
    "default": "Ask",
    "acceptEdits": "Accept Edits",
    "plan": "Plan",
    "auto": "Auto",
    "bypassPermissions": "Bypass Permissions",
    "dontAsk": "Don't Ask",
}


def reasoning_key(provider: str) -> str:
    """The agent's own setting of how much every turn reasons."""
    return f"{provider}.reasoning"


def config_schema(provider: str, settings: Settings) -> State:
    """The settings a session takes (schema: SessionConfigSchema)."""
    level: State = {
        "type": "string",
        "enum": list(LEVELS),
        "enumLabels": [_LABELS[one] for one in LEVELS],
        "sessionMutable": True,
        "chatMutable": True,
    }
    instructions: State = {
        "type": "string",
        "title": "Instructions",
        "description": "What the model is told it is, in this session",
        "sessionMutable": True,
    }
    if settings.instructions is not None:
        instructions["default"] = settings.instructions
    return {
        "type": "object",
        "properties": {
            "permissionMode": {
                "type": "string",
                "title": "Approvals",
                "description": "How tool approvals are handled",
                "enum": list(MODES),
                "enumLabels": [_MODE_LABELS.get(mode, mode) for mode in MODES],
                "enumDescriptions": list(MODES.values()),
                "default": UNNAMED,
                "sessionMutable": True,
            },
            "effortLevel": {
                **level,
                "title": "Effort",
                "description": "How hard the model is asked to think, over the agent's reasoning",
            },
            reasoning_key(provider): {
                **level,
                "title": "Reasoning",
                "description": "How much every turn has the model reason",
                "default": "off",
            },
            "instructions": instructions,
        },
    }


@attrs.frozen(kw_only=True)
class Choices:
    """What is in force for a chat."""

    values: Mapping[str, Any]
    mode: str
    instructions: str | None
    effort: str
    """The thinking level of a turn whose model selection names none."""


def choices(provider: str, settings: Settings, values: Mapping[str, Any]) -> Choices:
    """The choices in `values`. Raises `AgentFailure` for one that cannot be taken."""
    key = reasoning_key(provider)
    mode = values.get("permissionMode") or UNNAMED
    if not isinstance(mode, str) or mode not in MODES:
        raise AgentFailure(f"permissionMode is one of {', '.join(MODES)}, not {mode!r}", INVALID)
    instructions = values.get("instructions", settings.instructions)
    if instructions is not None and not isinstance(instructions, str):
        raise AgentFailure("instructions must be text", INVALID)
    for name in ("effortLevel", key):
        if values.get(name) is not None and values[name] not in LEVELS:
            raise AgentFailure(
                f"{name} is one of {', '.join(LEVELS)}, not {values[name]!r}", INVALID
            )
    return Choices(
        values=dict(values),
        mode=mode,
        instructions=instructions,
        effort=values.get("effortLevel") or values.get(key) or "off",
    )


def level_of(selection: Mapping[str, Any] | None, chosen: Choices) -> str:
    """The thinking level of a turn. Raises `AgentFailure` for a selection with no such level."""
    level = ((selection or {}).get("config") or {}).get(THINKING)
    if level is None:
        return chosen.effort
    if level not in LEVELS:
        raise AgentFailure(f"{THINKING} is one of {', '.join(LEVELS)}, not {level!r}", INVALID)
    return str(level)
