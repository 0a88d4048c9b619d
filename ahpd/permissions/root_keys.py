"""The keys of the root configuration that questions are judged by.

For the root's schema, whose `globalAutoApproveEnabled` is declared there already. A value that
is not of its key's shape counts as not set.
"""

from collections.abc import Mapping
from typing import Final

from ahpd.permissions.rules import PERMISSIONS
from ahpd.protocol import State

GLOBAL_AUTO_APPROVE: Final = "globalAutoApproveEnabled"
POLICY_RESTRICTED: Final = "autoApprovePolicyRestricted"
TERMINAL_ENABLED: Final = "terminalAutoApproveEnabled"
TERMINAL_RULES: Final = "terminalAutoApproveRules"
EDIT_PATTERNS: Final = "editAutoApprovePatterns"


def _rules(title: str) -> State:
    return {"type": "array", "title": title, "items": {"type": "string", "title": "Rule"}}


#: By key, its property (schema: ConfigPropertySchema).
ROOT_KEYS: Final[Mapping[str, State]] = {
    PERMISSIONS: {
        "type": "object",
        "title": "Permissions",
        "description": "Which tools run, are refused, or ask in every session of this host",
        "properties": {
            "allow": _rules("Allowed"),
            "deny": _rules("Refused"),
            "ask": _rules("Asked about"),
        },
        "default": {"allow": [], "deny": []},
    },
    POLICY_RESTRICTED: {
        "type": "boolean",
        "title": "Approving everything is restricted",
        "description": "A policy keeps sessions from running everything without a question",
        "default": False,
    },
    TERMINAL_ENABLED: {
        "type": "boolean",
        "title": "Approve shell commands by the table",
        "description": "Commands the table names run without a question",
        "default": True,
    },
    TERMINAL_RULES: {
        "type": "object",
        "title": "Table of shell commands",
        "description": "By command or /expression/: true runs it, false asks about it",
    },
    EDIT_PATTERNS: {
        "type": "object",
        "title": "Files written without a question",
        "description": "By path pattern: true writes in the session's folders, false asks; the last that applies decides",
    },
}
