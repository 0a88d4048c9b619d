"""Opening a connection, coming back, and watching channels."""

from typing import Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.automations import AutomationCapabilities
from ahpd.protocol.shapes.common import URI, BaseParams, Implementation, Presence, RootParams
from ahpd.protocol.shapes.envelopes import ActionEnvelope, Snapshot
from ahpd.protocol.shapes.notation import Meta
from ahpd.protocol.shapes.telemetry import TelemetryCapabilities


class ClientCapabilities(TypedDict):
    mcpApps: NotRequired[Presence]


class InitializeParams(RootParams):
    """The first request of a connection."""

    protocolVersions: list[str]
    clientId: str
    clientInfo: NotRequired[Implementation]
    initialSubscriptions: NotRequired[list[URI]]
    locale: NotRequired[str]
    capabilities: NotRequired[ClientCapabilities]


class InitializeResult(TypedDict):
    protocolVersion: str
    serverSeq: float
    serverInfo: NotRequired[Implementation]
    _meta: NotRequired[Meta]
    snapshots: list[Snapshot]
    defaultDirectory: NotRequired[URI]
    completionTriggerCharacters: NotRequired[list[str]]
    terminalCommandPrefix: NotRequired[str]
    telemetry: NotRequired[TelemetryCapabilities]
    automations: NotRequired[AutomationCapabilities]


class PingParams(RootParams):
    """Is anybody there?"""


class ReconnectParams(RootParams):
    clientId: str
    lastSeenServerSeq: float
    subscriptions: list[URI]


class ReconnectReplayResult(TypedDict):
    """What was missed, and the channels that are not here any more."""

    type: Literal["replay"]
    actions: list[ActionEnvelope]
    missing: list[URI]


class ReconnectSnapshotResult(TypedDict):
    """Whole states, where replaying is not possible."""

    type: Literal["snapshot"]
    snapshots: list[Snapshot]


ReconnectResult = ReconnectReplayResult | ReconnectSnapshotResult


class SubscribeView(TypedDict):
    """How much of a chat is wanted: the newest `turns` turns."""

    turns: NotRequired[float]


class SubscriptionDeliveryOptions(TypedDict):
    """How long deltas may be held back to be merged, in milliseconds."""

    maxLatencyMs: NotRequired[float]


class SubscribeParams(BaseParams):
    delivery: NotRequired[SubscriptionDeliveryOptions]
    view: NotRequired[SubscribeView]


class SubscribeResult(TypedDict):
    snapshot: NotRequired[Snapshot]


class UnsubscribeParams(TypedDict):
    channel: URI
