"""The root channel: agents, configuration, notifications and signing in."""

from typing import Annotated, Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.common import URI, ProtectedResourceMetadata, RootParams
from ahpd.protocol.shapes.config import ConfigSchema
from ahpd.protocol.shapes.customizations import Customization
from ahpd.protocol.shapes.notation import JsonObject, Meta, Minimum, Open, open_keys
from ahpd.protocol.shapes.terminals import TerminalInfo


class MultipleChatsCapability(TypedDict):
    fork: NotRequired[bool]
    sideChat: NotRequired[bool]


class MultipleWorkingDirectoriesCapability(TypedDict):
    immutablePrimary: NotRequired[bool]
    primaryReplacement: NotRequired[bool]


class AgentCapabilities(TypedDict):
    multipleChats: NotRequired[MultipleChatsCapability]
    multipleWorkingDirectories: NotRequired[MultipleWorkingDirectoriesCapability]


PolicyState = Literal["enabled", "disabled", "unconfigured"]


class SessionModelInfo(TypedDict):
    id: str
    provider: str
    name: str
    maxContextWindow: NotRequired[float]
    maxOutputTokens: NotRequired[float]
    maxPromptTokens: NotRequired[float]
    supportsVision: NotRequired[bool]
    policyState: NotRequired[PolicyState]
    configSchema: NotRequired[ConfigSchema]
    _meta: NotRequired[Meta]


class AgentInfo(TypedDict):
    provider: str
    displayName: str
    description: str
    models: list[SessionModelInfo]
    protectedResources: NotRequired[list[ProtectedResourceMetadata]]
    customizations: NotRequired[list[Customization]]
    capabilities: NotRequired[AgentCapabilities]


class AuthRequiredErrorData(TypedDict):
    """What to sign in to."""

    resources: list[ProtectedResourceMetadata]


AuthRequiredReason = Open[Literal["required", "expired"]]


class AuthRequiredParams(TypedDict):
    channel: URI
    resource: ProtectedResourceMetadata
    reason: NotRequired[AuthRequiredReason]


@open_keys
class AuthenticationTarget(TypedDict):
    """The one thing a token is for. An extension, of which `kind` alone is fixed."""

    kind: str


class AuthenticateParams(RootParams):
    """A token for a resource; an empty one takes it back. `target` is an extension."""

    resource: str
    token: str
    expiresIn: NotRequired[Annotated[int, Minimum(1)]]
    scopes: NotRequired[list[str]]
    target: NotRequired[AuthenticationTarget]


class AuthenticateResult(TypedDict):
    """Nothing but that it was taken."""


class ProgressParams(TypedDict):
    channel: URI
    progressToken: str
    progress: float
    total: NotRequired[float]
    message: NotRequired[str]


class RootActiveSessionsChangedAction(TypedDict):
    type: Literal["root/activeSessionsChanged"]
    activeSessions: float


class RootAgentsChangedAction(TypedDict):
    type: Literal["root/agentsChanged"]
    agents: list[AgentInfo]


class RootConfigChangedAction(TypedDict):
    type: Literal["root/configChanged"]
    config: JsonObject
    replace: NotRequired[bool]


class RootConfigState(TypedDict):
    schema: ConfigSchema
    values: JsonObject


class RootState(TypedDict):
    agents: list[AgentInfo]
    activeSessions: NotRequired[float]
    terminals: NotRequired[list[TerminalInfo]]
    config: NotRequired[RootConfigState]
    _meta: NotRequired[Meta]


class RootTerminalsChangedAction(TypedDict):
    type: Literal["root/terminalsChanged"]
    terminals: list[TerminalInfo]
