"""The root configuration: one value per key for the whole host, as clients push them.

Every key a client pushes is kept and read back, declared or not; the declared ones
this host acts on are checked (AHP.txt, `root/configChanged` and "A client that stops
reading").
"""

from collections.abc import Mapping
from typing import Any, Final

from ahpd.interfaces import Refusal
from ahpd.protocol import State
from ahpd.protocol.approval_keys import (
    EDIT_PATTERNS,
    GLOBAL_AUTO_APPROVE,
    POLICY_RESTRICTED,
    TERMINAL_ENABLED,
    TERMINAL_RULES,
)
from ahpd.protocol.permission_rules import KEY as PERMISSIONS
from ahpd.protocol.permission_rules import declared as rules_declared

#: The least a byte bound may be pushed down to, unless it is 0 for no limit.
MIN_BYTES: Final = 1024 * 1024

CLIENT_QUEUE_BYTES: Final = "clientQueueBytes"
REPLAY_BYTES: Final = "replayBytes"
#: Whether chats may be moved at all (AHP.txt, `moveChat`).
CHAT_MOVES: Final = "chatMoves.enabled"
#: Which folders a window vouches for (AHP.txt, `session/workingDirectorySet`).
WORKSPACE_TRUST: Final = "workspaceTrust"
#: The shell a client's terminal opens, as an absolute path (AHP.txt, `root/configChanged`).
DEFAULT_SHELL: Final = "defaultShell"
#: Whether plugins may draw pages on chats (PLUGINS.txt, "Showing a canvas on a chat").
CANVASES: Final = "canvasesEnabled"
_BYTE_KEYS: Final = frozenset({CLIENT_QUEUE_BYTES, REPLAY_BYTES})


_OF_TERMINALS: Final = {
    DEFAULT_SHELL: {
        "type": "string",
        "title": "Shell of terminals",
        "description": "The path of the shell a terminal opens; the host's own where unset",
    },
}


_OF_QUESTIONS: Final = {
    GLOBAL_AUTO_APPROVE: {
        "type": "boolean",
        "title": "Approve everything",
        "description": "Nobody is asked before something is done",
    },
    POLICY_RESTRICTED: {
        "type": "boolean",
        "title": "Approving everything is not allowed",
        "description": "No session is run with everything in it approved",
    },
    PERMISSIONS: rules_declared("Which tools run, are refused, or ask in every session"),
    TERMINAL_ENABLED: {
        "type": "boolean",
        "title": "Approve commands by rules",
        "description": "Commands that the rules for terminals approve run without a question",
        "default": True,
    },
    TERMINAL_RULES: {
        "type": "object",
        "title": "Rules for terminals",
        "description": "By a command's beginning or a /pattern/: whether it runs unasked",
        "additionalProperties": {
            "type": "boolean",
            "title": "Approved",
            "description": "null sets no rule; approve and matchCommandLine say it of a whole line",
        },
    },
    EDIT_PATTERNS: {
        "type": "object",
        "title": "Files that may be edited",
        "description": "By a glob: whether a file it names is written without a question",
        "additionalProperties": {"type": "boolean", "title": "Approved"},
    },
}


def schema(terminals: bool = False) -> State:
    """The keys this host acts on (schema: ConfigSchema), those of `terminals` where it has any."""
    return {
        "type": "object",
        "properties": {
            CLIENT_QUEUE_BYTES: {
                "type": "number",
                "title": "Unread bytes that close a client",
                "description": "0 sets no limit; otherwise at least 1048576",
            },
            REPLAY_BYTES: {
                "type": "number",
                "title": "Bytes held for clients that reconnect",
                "description": "0 sets no limit; otherwise at least 1048576",
            },
            CHAT_MOVES: {
                "type": "boolean",
                "title": "Move chats",
                "description": "Chats may be moved in their session and to another one",
            },
            CANVASES: {
                "type": "boolean",
                "title": "Canvases",
                "description": "Plugins may draw pages on chats",
                "default": False,
            },
            WORKSPACE_TRUST: {
                "type": "object",
                "title": "Workspace trust",
                "description": "The folders agents may be sent into without a question",
                "properties": {
                    "enabled": {"type": "boolean", "title": "Untrusted folders are asked about"},
                    "trustedUris": {
                        "type": "array",
                        "title": "Trusted folders",
                        "items": {"type": "string", "title": "Folder"},
                    },
                },
            },
            **_OF_QUESTIONS,
            **(_OF_TERMINALS if terminals else {}),
        },
    }


def check_push(pushed: Mapping[str, Any]) -> None:
    """Raises `Refusal` naming the key whose value this host cannot act on."""
    for key in sorted(_BYTE_KEYS & pushed.keys()):
        value = pushed[key]
        whole = (
            isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value)
        )
        if not whole or (value != 0 and value < MIN_BYTES):
            raise Refusal(
                f"config.{key}: {value!r} is not allowed; give 0 for no limit or a whole number of "
                f"at least {MIN_BYTES}"
            )
