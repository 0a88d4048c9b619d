"""The table of state actions: where each belongs, who may send it, since when it is known.

The facts are the protocol's own table of 1.0.0, and one extension that a client of
this host may send (AHP.txt, "What is served outside the protocol").
"""

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

import attrs

from ahpd.protocol.shapes import shape
from ahpd.protocol.uris import ChannelKind


@attrs.frozen
class ActionSpec:
    """One type of action."""

    type: str
    kind: ChannelKind
    """The kind of channel it belongs to. Two of a session's are sent on a chat's channel
    as well: `session/titleChanged` and `session/configChanged`."""
    introduced_in: str | None
    """The version that added it, or None for an extension, which no version has."""
    client_dispatchable: bool
    """Whether a client may send it; what it may not is a "Server-only action"."""
    declared_at: str
    """Where its shape is declared, as `ahpd.protocol.shapes.shape` reads it."""

    @cached_property
    def shape(self) -> Any:
        """What it is checked against."""
        return shape(self.declared_at)

    @property
    def extension(self) -> bool:
        """Whether it is this host's to accept beyond AHP 1.0.0."""
        return self.introduced_in is None


HOST: Final = False
BOTH: Final = True


def _row(
    action_type: str, introduced_in: str | None, client_dispatchable: bool, declared_at: str
) -> ActionSpec:
    kind = ChannelKind(action_type.partition("/")[0])
    return ActionSpec(action_type, kind, introduced_in, client_dispatchable, declared_at)


_ROWS: Final = (
    _row("root/agentsChanged", "0.1.0", HOST, "root.RootAgentsChangedAction"),
    _row("root/activeSessionsChanged", "0.1.0", HOST, "root.RootActiveSessionsChangedAction"),
    _row("root/terminalsChanged", "0.1.0", HOST, "root.RootTerminalsChangedAction"),
    _row("root/configChanged", "0.1.0", BOTH, "root.RootConfigChangedAction"),
    _row("session/ready", "0.1.0", HOST, "session_actions.SessionReadyAction"),
    _row("session/creationFailed", "0.1.0", HOST, "session_actions.SessionCreationFailedAction"),
    _row("session/chatAdded", "0.4.0", HOST, "session_actions.SessionChatAddedAction"),
    _row("session/chatRemoved", "0.4.0", HOST, "session_actions.SessionChatRemovedAction"),
    _row("session/chatUpdated", "0.4.0", HOST, "session_actions.SessionChatUpdatedAction"),
    _row("session/chatsReordered", "0.9.0", HOST, "session_actions.SessionChatsReorderedAction"),
    _row(
        "session/defaultChatChanged",
        "0.4.0",
        HOST,
        "session_actions.SessionDefaultChatChangedAction",
    ),
    _row("session/titleChanged", "0.1.0", BOTH, "session_actions.SessionTitleChangedAction"),
    _row(
        "session/serverToolsChanged",
        "0.1.0",
        HOST,
        "session_actions.SessionServerToolsChangedAction",
    ),
    _row("session/activeClientSet", "0.5.0", BOTH, "session_actions.SessionActiveClientSetAction"),
    _row(
        "session/activeClientRemoved",
        "0.5.0",
        BOTH,
        "session_actions.SessionActiveClientRemovedAction",
    ),
    _row(
        "session/workingDirectorySet",
        "0.7.0",
        BOTH,
        "session_actions.SessionWorkingDirectorySetAction",
    ),
    _row(
        "session/workingDirectoryRemoved",
        "0.7.0",
        BOTH,
        "session_actions.SessionWorkingDirectoryRemovedAction",
    ),
    _row(
        "session/workingDirectoryReplaced",
        "0.8.0",
        BOTH,
        "session_actions.SessionWorkingDirectoryReplacedAction",
    ),
    _row("session/inputNeededSet", "0.5.1", HOST, "session_actions.SessionInputNeededSetAction"),
    _row(
        "session/inputNeededRemoved",
        "0.5.1",
        HOST,
        "session_actions.SessionInputNeededRemovedAction",
    ),
    _row(
        "session/customizationsChanged",
        "0.1.0",
        HOST,
        "session_actions.SessionCustomizationsChangedAction",
    ),
    _row(
        "session/customizationToggled",
        "0.1.0",
        BOTH,
        "session_actions.SessionCustomizationToggledAction",
    ),
    _row(
        "session/customizationUpdated",
        "0.1.0",
        HOST,
        "session_actions.SessionCustomizationUpdatedAction",
    ),
    _row(
        "session/customizationRemoved",
        "0.2.0",
        HOST,
        "session_actions.SessionCustomizationRemovedAction",
    ),
    _row(
        "session/mcpServerStateChanged",
        "0.3.0",
        HOST,
        "session_actions.SessionMcpServerStateChangedAction",
    ),
    _row(
        "session/mcpServerStartRequested",
        "0.5.2",
        BOTH,
        "session_actions.SessionMcpServerStartRequestedAction",
    ),
    _row(
        "session/mcpServerStopRequested",
        "0.5.2",
        BOTH,
        "session_actions.SessionMcpServerStopRequestedAction",
    ),
    _row(
        "session/mcpServerBackgroundRequested",
        "0.9.0",
        BOTH,
        "session_actions.SessionMcpServerBackgroundRequestedAction",
    ),
    _row("session/isReadChanged", "0.1.0", BOTH, "session_actions.SessionIsReadChangedAction"),
    _row(
        "session/isArchivedChanged", "0.1.0", BOTH, "session_actions.SessionIsArchivedChangedAction"
    ),
    _row("session/activityChanged", "0.1.0", HOST, "session_actions.SessionActivityChangedAction"),
    _row(
        "session/changesetsChanged", "0.2.0", HOST, "session_actions.SessionChangesetsChangedAction"
    ),
    _row("session/configChanged", "0.1.0", BOTH, "session_actions.SessionConfigChangedAction"),
    _row("session/metaChanged", "0.1.0", HOST, "session_actions.SessionMetaChangedAction"),
    _row("chat/turnStarted", "0.4.0", BOTH, "chat_actions.ChatTurnStartedAction"),
    _row("chat/delta", "0.4.0", HOST, "chat_actions.ChatDeltaAction"),
    _row("chat/responsePart", "0.4.0", HOST, "chat_actions.ChatResponsePartAction"),
    _row("chat/toolCallStart", "0.4.0", HOST, "chat_actions.ChatToolCallStartAction"),
    _row("chat/toolCallDelta", "0.4.0", HOST, "chat_actions.ChatToolCallDeltaAction"),
    _row("chat/toolCallReady", "0.4.0", HOST, "chat_actions.ChatToolCallReadyAction"),
    _row("chat/toolCallConfirmed", "0.4.0", BOTH, "chat_actions.ChatToolCallConfirmedAction"),
    _row("chat/toolCallComplete", "0.4.0", BOTH, "chat_actions.ChatToolCallCompleteAction"),
    _row(
        "chat/toolCallResultConfirmed",
        "0.4.0",
        BOTH,
        "chat_actions.ChatToolCallResultConfirmedAction",
    ),
    _row(
        "chat/toolCallContentChanged",
        "0.4.0",
        BOTH,
        "chat_actions.ChatToolCallContentChangedAction",
    ),
    _row("chat/toolCallAuthRequired", "0.6.0", HOST, "chat_actions.ChatToolCallAuthRequiredAction"),
    _row("chat/toolCallAuthResolved", "0.6.0", HOST, "chat_actions.ChatToolCallAuthResolvedAction"),
    _row("chat/turnComplete", "0.4.0", HOST, "chat_actions.ChatTurnCompleteAction"),
    _row("chat/turnCancelled", "0.4.0", BOTH, "chat_actions.ChatTurnCancelledAction"),
    _row("chat/error", "0.4.0", HOST, "chat_actions.ChatErrorAction"),
    _row("chat/turnResume", "0.9.0", BOTH, "chat_actions.ChatTurnResumeAction"),
    _row("chat/activityChanged", "0.5.0", HOST, "chat_actions.ChatActivityChangedAction"),
    _row("chat/backgroundWorkSet", "0.9.0", HOST, "chat_actions.ChatBackgroundWorkSetAction"),
    _row(
        "chat/backgroundWorkRemoved", "0.9.0", HOST, "chat_actions.ChatBackgroundWorkRemovedAction"
    ),
    _row("chat/movableChanged", "0.9.0", HOST, "chat_actions.ChatMovableChangedAction"),
    _row("chat/changesetsChanged", "0.9.0", HOST, "chat_actions.ChatChangesetsChangedAction"),
    _row("chat/canvasesChanged", "0.10.0", HOST, "chat_actions.ChatCanvasesChangedAction"),
    _row("canvas/stateChanged", "0.10.0", HOST, "canvas.CanvasStateChangedAction"),
    _row("chat/workingDirectorySet", "0.7.0", BOTH, "chat_actions.ChatWorkingDirectorySetAction"),
    _row(
        "chat/workingDirectoryRemoved",
        "0.7.0",
        BOTH,
        "chat_actions.ChatWorkingDirectoryRemovedAction",
    ),
    _row("chat/configChanged", None, BOTH, "chat_actions.ChatConfigChangedAction"),
    _row("chat/usage", "0.4.0", HOST, "chat_actions.ChatUsageAction"),
    _row("chat/reasoning", "0.4.0", HOST, "chat_actions.ChatReasoningAction"),
    _row("chat/pendingMessageSet", "0.4.0", BOTH, "chat_actions.ChatPendingMessageSetAction"),
    _row(
        "chat/pendingMessageRemoved", "0.4.0", BOTH, "chat_actions.ChatPendingMessageRemovedAction"
    ),
    _row(
        "chat/queuedMessagesReordered",
        "0.4.0",
        BOTH,
        "chat_actions.ChatQueuedMessagesReorderedAction",
    ),
    _row("chat/draftChanged", "0.5.0", BOTH, "chat_actions.ChatDraftChangedAction"),
    _row("chat/isReadChanged", "0.9.0", BOTH, "chat_actions.ChatIsReadChangedAction"),
    _row("chat/isArchivedChanged", "0.9.0", BOTH, "chat_actions.ChatIsArchivedChangedAction"),
    _row("chat/inputRequested", "0.4.0", HOST, "chat_actions.ChatInputRequestedAction"),
    _row("chat/inputAnswerChanged", "0.4.0", BOTH, "chat_actions.ChatInputAnswerChangedAction"),
    _row("chat/inputCompleted", "0.4.0", BOTH, "chat_actions.ChatInputCompletedAction"),
    _row("chat/truncated", "0.4.0", BOTH, "chat_actions.ChatTruncatedAction"),
    _row("chat/turnsLoaded", "0.5.1", HOST, "chat_actions.ChatTurnsLoadedAction"),
    _row("changeset/statusChanged", "0.2.0", HOST, "changesets.ChangesetStatusChangedAction"),
    _row("changeset/fileSet", "0.2.0", HOST, "changesets.ChangesetFileSetAction"),
    _row("changeset/fileRemoved", "0.2.0", HOST, "changesets.ChangesetFileRemovedAction"),
    _row(
        "changeset/filesReviewChanged",
        "0.6.0",
        BOTH,
        "changesets.ChangesetFilesReviewChangedAction",
    ),
    _row("changeset/contentChanged", "0.4.0", HOST, "changesets.ChangesetContentChangedAction"),
    _row(
        "changeset/operationsChanged", "0.2.0", HOST, "changesets.ChangesetOperationsChangedAction"
    ),
    _row(
        "changeset/operationStatusChanged",
        "0.3.0",
        HOST,
        "changesets.ChangesetOperationStatusChangedAction",
    ),
    _row("changeset/cleared", "0.2.0", HOST, "changesets.ChangesetClearedAction"),
    _row("annotations/set", "0.4.0", BOTH, "annotations.AnnotationsSetAction"),
    _row("annotations/updated", "0.4.0", BOTH, "annotations.AnnotationsUpdatedAction"),
    _row("annotations/removed", "0.4.0", BOTH, "annotations.AnnotationsRemovedAction"),
    _row("annotations/entrySet", "0.4.0", BOTH, "annotations.AnnotationsEntrySetAction"),
    _row("annotations/entryRemoved", "0.4.0", BOTH, "annotations.AnnotationsEntryRemovedAction"),
    _row("terminal/data", "0.1.0", HOST, "terminals.TerminalDataAction"),
    _row("terminal/input", "0.1.0", BOTH, "terminals.TerminalInputAction"),
    _row("terminal/resized", "0.1.0", BOTH, "terminals.TerminalResizedAction"),
    _row("terminal/claimed", "0.1.0", BOTH, "terminals.TerminalClaimedAction"),
    _row("terminal/titleChanged", "0.1.0", BOTH, "terminals.TerminalTitleChangedAction"),
    _row("terminal/cwdChanged", "0.1.0", HOST, "terminals.TerminalCwdChangedAction"),
    _row("terminal/exited", "0.1.0", HOST, "terminals.TerminalExitedAction"),
    _row("terminal/cleared", "0.1.0", BOTH, "terminals.TerminalClearedAction"),
    _row(
        "terminal/commandDetectionAvailable",
        "0.1.0",
        HOST,
        "terminals.TerminalCommandDetectionAvailableAction",
    ),
    _row("terminal/commandExecuted", "0.1.0", HOST, "terminals.TerminalCommandExecutedAction"),
    _row("terminal/commandFinished", "0.1.0", HOST, "terminals.TerminalCommandFinishedAction"),
    _row("resourceWatch/changed", "0.2.0", HOST, "resources.ResourceWatchChangedAction"),
    _row(
        "automation/createRequested", "0.8.0", BOTH, "automations.AutomationCreateRequestedAction"
    ),
    _row(
        "automation/updateRequested", "0.8.0", BOTH, "automations.AutomationUpdateRequestedAction"
    ),
    _row("automation/set", "0.8.0", HOST, "automations.AutomationSetAction"),
    _row("automation/removed", "0.8.0", BOTH, "automations.AutomationRemovedAction"),
    _row(
        "automationRun/lifecycleChanged",
        "0.8.0",
        HOST,
        "automations.AutomationRunLifecycleChangedAction",
    ),
    _row("automationRun/sessionSet", "0.8.0", HOST, "automations.AutomationRunSessionSetAction"),
    _row(
        "automationRun/sessionRemoved",
        "0.8.0",
        HOST,
        "automations.AutomationRunSessionRemovedAction",
    ),
    _row(
        "automationRun/primarySessionChanged",
        "0.8.0",
        HOST,
        "automations.AutomationRunPrimarySessionChangedAction",
    ),
    _row(
        "automationRun/cancelRequested",
        "0.8.0",
        BOTH,
        "automations.AutomationRunCancelRequestedAction",
    ),
)

#: Every action this host knows, by its type, in the order of the protocol's table.
ACTIONS: Final[Mapping[str, ActionSpec]] = MappingProxyType({row.type: row for row in _ROWS})

#: A session's actions that are also sent on the channel of one of its chats
#: (AHP.txt, `session/titleChanged` and `session/configChanged`).
ON_CHATS_TOO: Final = frozenset({"session/titleChanged", "session/configChanged"})

#: What a backend may say of its turn; the turn's start and its end are the host's.
TURN_ACTIONS: Final = frozenset(
    {
        "chat/activityChanged",
        "chat/delta",
        "chat/inputCompleted",
        "chat/inputRequested",
        "chat/reasoning",
        "chat/responsePart",
        "chat/toolCallAuthRequired",
        "chat/toolCallAuthResolved",
        "chat/toolCallComplete",
        "chat/toolCallConfirmed",
        "chat/toolCallContentChanged",
        "chat/toolCallDelta",
        "chat/toolCallReady",
        "chat/toolCallResultConfirmed",
        "chat/toolCallStart",
        "chat/usage",
    }
)


def introduced_in(action_type: str) -> str | None:
    """The version that added an action, or None for a type no version has."""
    spec = ACTIONS.get(action_type)
    return spec.introduced_in if spec is not None else None


def belongs_on(action_type: str, kind: ChannelKind) -> bool:
    """Whether a channel of `kind` takes an action of this type; False for an unknown type."""
    spec = ACTIONS.get(action_type)
    if spec is None:
        return False
    return spec.kind is kind or (kind is ChannelKind.CHAT and action_type in ON_CHATS_TOO)
