"""The one setting of the demo agent: how fast it answers."""

from collections.abc import Mapping
from typing import Any, Final

from ahpd.interfaces import AgentFailure
from ahpd.protocol import State

PACE: Final = "pace"
#: How often the usual pause before a word each takes, and what people are shown.
_PACES: Final = {"slow": 10.0, "normal": 1.0, "instant": 0.0}
_DEFAULT: Final = "normal"

INVALID_CONFIG: Final = "invalidConfig"


def config_schema() -> State:
    """What a session can set (schema: SessionConfigSchema), and a chat for itself."""
    return {
        "type": "object",
        "properties": {
            PACE: {
                "type": "string",
                "title": "Pace",
                "description": "How fast the demo agent says the words of an answer",
                "enum": list(_PACES),
                "enumLabels": [name.capitalize() for name in _PACES],
                "default": _DEFAULT,
                "sessionMutable": True,
                "chatMutable": True,
            }
        },
    }


def pace_of(values: Mapping[str, Any]) -> float:
    """The factor of the usual pause. Raises `AgentFailure` for a pace there is none of."""
    name = values.get(PACE, _DEFAULT)
    if not isinstance(name, str) or name not in _PACES:
        raise AgentFailure(f"{PACE} is one of {', '.join(_PACES)}, not {name!r}", INVALID_CONFIG)
    return _PACES[name]
