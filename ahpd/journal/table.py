"""Which actions are kept, which may be kept a moment later, and which are not kept at all.

An action that is kept is on disk before it is said. Streamed text is gathered and written
in batches, and always before anything else of its channel. What is not kept ends with the
process, or is read off something that is kept; each says which.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

import attrs

from ahpd.protocol.uris import ChannelKind


class Keeping(Enum):
    """What becomes of an action."""

    KEPT = "kept"
    BATCHED = "batched"
    PASSING = "passing"


@attrs.frozen
class Decision:
    """What becomes of one type of action, and why where it is not simply kept."""

    keeping: Keeping
    reason: str = ""
    always_said: bool = False
    """Whether it is said even where it cannot be kept."""


_KEPT: Final = Decision(Keeping.KEPT)
_BATCHED: Final = Decision(Keeping.BATCHED, "streamed text")
_STOP: Final = Decision(Keeping.KEPT, "a stop must stop, whatever the disk does", always_said=True)


def _passing(reason: str) -> Decision:
    return Decision(Keeping.PASSING, reason)


_DOING: Final = _passing("what is being done ends with the process")
_PRESENCE: Final = _passing("who is here is found out anew")
_MIRROR: Final = _passing("read off the chats' own states")
_SERVER: Final = _passing("a server's process ends with the host's")

#: What becomes of each action on a channel that is kept, by its type.
DECISIONS: Final[Mapping[str, Decision]] = MappingProxyType(
    {
        "session/ready": _KEPT,
        "session/creationFailed": _KEPT,
        "session/chatAdded": _KEPT,
        "session/chatRemoved": _KEPT,
        "session/chatUpdated": _MIRROR,
        "session/chatsReordered": _KEPT,
        "session/defaultChatChanged": _KEPT,
        "session/titleChanged": _KEPT,
        "session/serverToolsChanged": _KEPT,
        "session/activeClientSet": _PRESENCE,
        "session/activeClientRemoved": _PRESENCE,
        "session/workingDirectorySet": _KEPT,
        "session/workingDirectoryRemoved": _KEPT,
        "session/workingDirectoryReplaced": _KEPT,
        "session/inputNeededSet": _MIRROR,
        "session/inputNeededRemoved": _MIRROR,
        "session/customizationsChanged": _KEPT,
        "session/customizationToggled": _KEPT,
        "session/customizationUpdated": _KEPT,
        "session/customizationRemoved": _KEPT,
        "session/mcpServerStateChanged": _SERVER,
        "session/mcpServerStartRequested": _SERVER,
        "session/mcpServerStopRequested": _SERVER,
        "session/mcpServerBackgroundRequested": _SERVER,
        "session/isReadChanged": _KEPT,
        "session/isArchivedChanged": _KEPT,
        "session/activityChanged": _DOING,
        "session/changesetsChanged": _KEPT,
        "session/configChanged": _KEPT,
        "session/metaChanged": _KEPT,
        "chat/turnStarted": _KEPT,
        "chat/delta": _BATCHED,
        "chat/responsePart": _KEPT,
        "chat/toolCallStart": _KEPT,
        "chat/toolCallDelta": _BATCHED,
        "chat/toolCallReady": _KEPT,
        "chat/toolCallConfirmed": _KEPT,
        "chat/toolCallComplete": _KEPT,
        "chat/toolCallResultConfirmed": _KEPT,
        "chat/toolCallContentChanged": _KEPT,
        "chat/toolCallAuthRequired": _KEPT,
        "chat/toolCallAuthResolved": _KEPT,
        "chat/turnComplete": _KEPT,
        "chat/turnCancelled": _STOP,
        "chat/error": _KEPT,
        "chat/turnResume": _KEPT,
        "chat/activityChanged": _DOING,
        "chat/backgroundWorkSet": _DOING,
        "chat/backgroundWorkRemoved": _DOING,
        "chat/movableChanged": _passing("who may be moved is found out anew"),
        "chat/changesetsChanged": _KEPT,
        "chat/canvasesChanged": _passing("a canvas's URL is not used again"),
        "chat/workingDirectorySet": _KEPT,
        "chat/workingDirectoryRemoved": _KEPT,
        "chat/configChanged": _KEPT,
        "chat/usage": _KEPT,
        "chat/reasoning": _BATCHED,
        "chat/pendingMessageSet": _KEPT,
        "chat/pendingMessageRemoved": _KEPT,
        "chat/queuedMessagesReordered": _KEPT,
        "chat/draftChanged": _KEPT,
        "chat/isReadChanged": _KEPT,
        "chat/isArchivedChanged": _KEPT,
        "chat/inputRequested": _KEPT,
        "chat/inputAnswerChanged": _KEPT,
        "chat/inputCompleted": _KEPT,
        "chat/truncated": _KEPT,
        "chat/turnsLoaded": _passing("a view of turns the host has"),
        "annotations/set": _KEPT,
        "annotations/updated": _KEPT,
        "annotations/removed": _KEPT,
        "annotations/entrySet": _KEPT,
        "annotations/entryRemoved": _KEPT,
    }
)

#: The kinds of channel a session consists of. No other is kept here.
KEPT_KINDS: Final = frozenset({ChannelKind.SESSION, ChannelKind.CHAT, ChannelKind.ANNOTATIONS})

#: What `ChannelStore.amend` moves and is kept; an activity ends with the process.
AMENDED: Final = frozenset({"title"})

#: For each batched action, the field that names what its `content` is appended to.
APPENDED_TO: Final = MappingProxyType(
    {"chat/delta": "partId", "chat/reasoning": "partId", "chat/toolCallDelta": "toolCallId"}
)

#: The actions a chat's history gets shorter by.
SHRINKING: Final = frozenset({"chat/truncated", "chat/turnResume"})

#: The actions a turn is over with, after which a chat mostly rests.
TURN_ENDS: Final = frozenset({"chat/turnComplete", "chat/turnCancelled", "chat/error"})
