"""The automations catalogue and the channel of one run."""

from typing import Annotated, Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.common import (
    URI,
    AgentSelection,
    ErrorInfo,
    ModelSelection,
    RootParams,
    UsageInfo,
)
from ahpd.protocol.shapes.config import ConfigSchema
from ahpd.protocol.shapes.customizations import ClientPluginCustomization, PluginCustomization
from ahpd.protocol.shapes.messages import Message
from ahpd.protocol.shapes.notation import JsonObject, Meta, Minimum, OncePerKind, Open


class AutomationAfterDateCondition(TypedDict):
    kind: Literal["afterDate"]
    date: str


class AutomationAfterRunsCondition(TypedDict):
    kind: Literal["afterRuns"]
    max: Annotated[int, Minimum(1)]


class AutomationCancelledRunLifecycle(TypedDict):
    status: Literal["cancelled"]
    createdAt: str
    startedAt: NotRequired[str]
    completedAt: str


class AutomationCreateCapability(TypedDict):
    """Automations may be created here."""


class AutomationCustomizationsCapability(TypedDict):
    """A template may name the client's plugins."""


class AutomationRunCancellationCapability(TypedDict):
    """A run may be cancelled."""


class AutomationScheduleCapabilities(TypedDict):
    minIntervalMinutes: NotRequired[float]


class AutomationCapabilities(TypedDict):
    create: NotRequired[AutomationCreateCapability]
    schedules: NotRequired[AutomationScheduleCapabilities]
    runCancellation: NotRequired[AutomationRunCancellationCapability]
    runHistoryLimit: NotRequired[float]
    customizations: NotRequired[AutomationCustomizationsCapability]


class AutomationCompletedRunLifecycle(TypedDict):
    status: Literal["completed"]
    createdAt: str
    startedAt: str
    completedAt: str
    usage: NotRequired[UsageInfo]


class AutomationSessionTemplate(TypedDict):
    provider: NotRequired[str]
    model: NotRequired[ModelSelection]
    agent: NotRequired[AgentSelection]
    workingDirectories: NotRequired[list[URI]]
    config: NotRequired[JsonObject]
    customizations: NotRequired[list[ClientPluginCustomization]]


class AutomationTriggerEventDefinition(TypedDict):
    id: str
    title: str
    description: NotRequired[str]


class AutomationEventTrigger(TypedDict):
    id: str
    kind: Literal["event"]
    type: str
    title: str
    description: NotRequired[str]
    events: list[AutomationTriggerEventDefinition]
    config: NotRequired[JsonObject]


AutomationMisfirePolicy = Open[Literal["skip", "runOnce"]]


class AutomationSchedule(TypedDict):
    expression: str
    timeZone: str


class AutomationScheduleTrigger(TypedDict):
    id: str
    kind: Literal["schedule"]
    schedule: AutomationSchedule
    misfirePolicy: NotRequired[AutomationMisfirePolicy]


AutomationTrigger = AutomationScheduleTrigger | AutomationEventTrigger


AutomationDisableCondition = AutomationAfterRunsCondition | AutomationAfterDateCondition


AutomationDisableConditions = Annotated[list[AutomationDisableCondition], OncePerKind()]


class AutomationDefinition(TypedDict):
    title: str
    message: Message
    session: AutomationSessionTemplate
    enabled: bool
    triggers: list[AutomationTrigger]
    disableConditions: NotRequired[AutomationDisableConditions]
    _meta: NotRequired[Meta]


class AutomationCreateRequestedAction(TypedDict):
    type: Literal["automation/createRequested"]
    resource: URI
    definition: AutomationDefinition


class AutomationDefinitionPatch(TypedDict):
    title: NotRequired[str]
    message: NotRequired[Message]
    session: NotRequired[AutomationSessionTemplate]
    enabled: NotRequired[bool]
    triggers: NotRequired[list[AutomationTrigger]]
    disableConditions: NotRequired[AutomationDisableConditions]
    _meta: NotRequired[Meta]


AutomationOperation = Open[Literal["update", "remove", "run"]]


class AutomationFailedRunLifecycle(TypedDict):
    status: Literal["failed"]
    createdAt: str
    startedAt: NotRequired[str]
    completedAt: str
    error: ErrorInfo


class AutomationPendingRunLifecycle(TypedDict):
    status: Literal["pending"]
    createdAt: str


class AutomationRunningRunLifecycle(TypedDict):
    status: Literal["running"]
    createdAt: str
    startedAt: str


AutomationRunLifecycle = (
    AutomationPendingRunLifecycle
    | AutomationRunningRunLifecycle
    | AutomationCompletedRunLifecycle
    | AutomationFailedRunLifecycle
    | AutomationCancelledRunLifecycle
)


class AutomationManualRunOrigin(TypedDict):
    kind: Literal["manual"]


class AutomationTriggeredRunOrigin(TypedDict):
    kind: Literal["trigger"]
    triggerId: str
    scheduledFor: NotRequired[str]
    catchUp: NotRequired[bool]
    event: NotRequired[JsonObject]


AutomationRunOrigin = AutomationManualRunOrigin | AutomationTriggeredRunOrigin


class AutomationRunSummary(TypedDict):
    resource: URI
    automation: URI
    origin: AutomationRunOrigin
    lifecycle: AutomationRunLifecycle
    primarySession: NotRequired[URI]
    sessionCount: float
    _meta: NotRequired[Meta]


class AutomationEntry(TypedDict):
    resource: URI
    definition: AutomationDefinition
    nextRunAt: NotRequired[str]
    runCount: NotRequired[float]
    runs: list[AutomationRunSummary]
    runsNextCursor: NotRequired[str]
    operations: list[AutomationOperation]
    customizations: NotRequired[list[PluginCustomization]]
    createdAt: str
    modifiedAt: str
    _meta: NotRequired[Meta]


class AutomationRemovedAction(TypedDict):
    type: Literal["automation/removed"]
    resource: URI


class AutomationRunCancelRequestedAction(TypedDict):
    """A client wants the run to end."""

    type: Literal["automationRun/cancelRequested"]


class AutomationRunLifecycleChangedAction(TypedDict):
    type: Literal["automationRun/lifecycleChanged"]
    lifecycle: AutomationRunLifecycle


class AutomationRunPrimarySessionChangedAction(TypedDict):
    type: Literal["automationRun/primarySessionChanged"]
    primarySession: NotRequired[URI]


class AutomationRunSessionRemovedAction(TypedDict):
    type: Literal["automationRun/sessionRemoved"]
    session: URI


class AutomationRunSessionSetAction(TypedDict):
    type: Literal["automationRun/sessionSet"]
    session: URI


class AutomationRunState(TypedDict):
    resource: URI
    automation: URI
    origin: AutomationRunOrigin
    lifecycle: AutomationRunLifecycle
    sessions: list[URI]
    primarySession: NotRequired[URI]
    _meta: NotRequired[Meta]


class AutomationSetAction(TypedDict):
    type: Literal["automation/set"]
    automation: AutomationEntry


class AutomationState(TypedDict):
    entries: list[AutomationEntry]
    _meta: NotRequired[Meta]


class AutomationTriggerDefinition(TypedDict):
    type: str
    title: str
    description: NotRequired[str]
    events: list[AutomationTriggerEventDefinition]
    configSchema: NotRequired[ConfigSchema]


class AutomationUpdateRequestedAction(TypedDict):
    type: Literal["automation/updateRequested"]
    resource: URI
    changes: AutomationDefinitionPatch


class AutomationsParams(TypedDict):
    """The params of a command that names the automations catalogue."""

    channel: Literal["ahp-automations://"]
    _meta: NotRequired[Meta]


class FetchAutomationRunsParams(AutomationsParams):
    automation: URI
    cursor: NotRequired[str]


class FetchAutomationRunsResult(TypedDict):
    """Nothing: the runs arrive as `automation/set`."""


class ListAutomationTriggerDefinitionsParams(RootParams):
    provider: NotRequired[str]
    workingDirectories: NotRequired[list[URI]]
    sessionConfig: NotRequired[JsonObject]


class ListAutomationTriggerDefinitionsResult(TypedDict):
    items: list[AutomationTriggerDefinition]


class RunAutomationParams(AutomationsParams):
    automation: URI
    requestId: str


class RunAutomationResult(TypedDict):
    resource: URI
