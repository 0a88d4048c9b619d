"""The demo agent's two models."""

from collections.abc import Mapping
from typing import Any, Final

from ahpd.interfaces import AgentFailure
from ahpd.protocol import State

PROVIDER: Final = "demo"

PLAIN: Final = "demo-plain"
THINKING: Final = "demo-thinking"

#: The key a client's picker writes into a model selection (AHP.txt, `SessionModelInfo`).
_LEVEL: Final = "thinkingLevel"
_LEVELS: Final = {"low": "Low", "medium": "Medium", "high": "High"}
_DEFAULT_LEVEL: Final = "medium"

INVALID_MODEL: Final = "invalidModel"


def model_infos() -> list[State]:
    """The models as clients are shown them (schema: SessionModelInfo), the default first."""
    return [
        {"id": PLAIN, "provider": PROVIDER, "name": "Demo", "maxContextWindow": 100_000},
        {
            "id": THINKING,
            "provider": PROVIDER,
            "name": "Demo Thinking",
            "maxContextWindow": 100_000,
            "configSchema": {
                "type": "object",
                "properties": {
                    _LEVEL: {
                        "type": "string",
                        "title": "Thinking level",
                        "description": "How long the demo agent thinks before it answers",
                        "enum": list(_LEVELS),
                        "enumLabels": list(_LEVELS.values()),
                        "default": _DEFAULT_LEVEL,
                    }
                },
            },
        },
    ]


def model_of(selection: Mapping[str, Any] | None) -> tuple[str, str | None]:
    """The model and the thinking level a turn runs with; no level for a model that has none.

    `selection` is a ModelSelection or None. Raises `AgentFailure` for one that is not
    offered, in words that name what is.
    """
    if selection is None or selection["id"] == PLAIN:
        return PLAIN, None
    if selection["id"] != THINKING:
        raise AgentFailure(
            f"The demo agent has no model {selection['id']!r}; it has {PLAIN} and {THINKING}",
            INVALID_MODEL,
        )
    level = (selection.get("config") or {}).get(_LEVEL, _DEFAULT_LEVEL)
    if level not in _LEVELS:
        raise AgentFailure(
            f"{_LEVEL} of {THINKING} is one of {', '.join(_LEVELS)}, not {level!r}", INVALID_MODEL
        )
    return THINKING, level
