"""How an action and a state travel."""

from collections.abc import Mapping
from typing import Any, Final, NotRequired, TypedDict

from ahpd.protocol.shapes.annotations import AnnotationsState
from ahpd.protocol.shapes.automations import AutomationRunState, AutomationState
from ahpd.protocol.shapes.canvas import CanvasState
from ahpd.protocol.shapes.changesets import ChangesetState
from ahpd.protocol.shapes.chats import ChatState
from ahpd.protocol.shapes.common import URI
from ahpd.protocol.shapes.notation import open_keys
from ahpd.protocol.shapes.resources import ResourceWatchState
from ahpd.protocol.shapes.root import RootState
from ahpd.protocol.shapes.sessions import SessionState
from ahpd.protocol.shapes.terminals import TerminalState
from ahpd.protocol.uris import ChannelKind


class ActionOrigin(TypedDict):
    """Which client sent an action, and the number that client gave it."""

    clientId: str
    clientSeq: float


@open_keys
class StateAction(TypedDict):
    """Any action. Its whole shape is the one `ahpd.protocol.actions.ACTIONS` has for its type."""

    type: str


class ActionEnvelope(TypedDict):
    """One action as every subscriber reads it.

    `origin` is there on a client's action alone, `rejectionReason` on one that was
    refused.
    """

    channel: URI
    action: StateAction
    serverSeq: float
    origin: NotRequired[ActionOrigin]
    rejectionReason: NotRequired[str]


class DispatchActionParams(TypedDict):
    """A client's action and the number the client knows it by."""

    channel: URI
    clientSeq: float
    action: StateAction


class Snapshot(TypedDict):
    """A channel's state as it was at `fromSeq`; every later action has a greater number."""

    resource: URI
    state: (
        RootState
        | SessionState
        | TerminalState
        | ChangesetState
        | ResourceWatchState
        | AnnotationsState
        | ChatState
        | CanvasState
        | AutomationState
        | AutomationRunState
    )
    fromSeq: float


#: The state each kind of channel holds.
STATES: Final[Mapping[ChannelKind, Any]] = {
    ChannelKind.ROOT: RootState,
    ChannelKind.SESSION: SessionState,
    ChannelKind.CHAT: ChatState,
    ChannelKind.TERMINAL: TerminalState,
    ChannelKind.CHANGESET: ChangesetState,
    ChannelKind.ANNOTATIONS: AnnotationsState,
    ChannelKind.CANVAS: CanvasState,
    ChannelKind.AUTOMATIONS: AutomationState,
    ChannelKind.AUTOMATION_RUN: AutomationRunState,
    ChannelKind.RESOURCE_WATCH: ResourceWatchState,
}
