"""Plugins, skills, prompts, rules, hooks and MCP servers, as a session shows them."""

from typing import Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.common import URI, ErrorInfo, Icon, Presence, TextRange
from ahpd.protocol.shapes.notation import Meta, Open
from ahpd.protocol.shapes.tool_calls import McpAuthRequirement


class CustomizationBase(TypedDict):
    id: str
    uri: URI
    name: str
    icons: NotRequired[list[Icon]]
    range: NotRequired[TextRange]
    _meta: NotRequired[Meta]


class ChildCustomizationBase(CustomizationBase):
    enabled: NotRequired[bool]


class AgentCustomization(ChildCustomizationBase):
    type: Literal["agent"]
    description: NotRequired[str]
    model: NotRequired[str]
    tools: NotRequired[list[str]]
    disableModelInvocation: NotRequired[bool]
    disableUserInvocation: NotRequired[bool]


class ListChangedCapability(TypedDict):
    listChanged: NotRequired[bool]


class SamplingCapability(TypedDict):
    tools: NotRequired[Presence]


class AhpMcpUiHostCapabilities(TypedDict):
    serverTools: NotRequired[ListChangedCapability]
    serverResources: NotRequired[ListChangedCapability]
    logging: NotRequired[Presence]
    sampling: NotRequired[SamplingCapability]


class HookCustomization(ChildCustomizationBase):
    type: Literal["hook"]


class GlobalEnablement(TypedDict):
    kind: Literal["global"]
    enabled: bool


class WorkspaceEnablement(TypedDict):
    kind: Literal["workspace"]
    uri: URI
    enabled: bool


class SessionEnablement(TypedDict):
    kind: Literal["session"]
    enabled: bool


CustomizationEnablement = Open[GlobalEnablement | WorkspaceEnablement | SessionEnablement]


class McpServerCustomizationApps(TypedDict):
    capabilities: AhpMcpUiHostCapabilities


class McpServerAuthRequiredState(McpAuthRequirement):
    kind: Literal["authRequired"]


class McpServerErrorState(TypedDict):
    kind: Literal["error"]
    error: ErrorInfo


class McpServerReadyState(TypedDict):
    kind: Literal["ready"]


class McpServerStartingState(TypedDict):
    kind: Literal["starting"]
    blocking: NotRequired[bool]


class McpServerStoppedState(TypedDict):
    kind: Literal["stopped"]


McpServerState = Open[
    McpServerStartingState
    | McpServerReadyState
    | McpServerAuthRequiredState
    | McpServerErrorState
    | McpServerStoppedState
]


class McpServerCustomization(CustomizationBase):
    type: Literal["mcpServer"]
    enablement: NotRequired[list[CustomizationEnablement]]
    state: McpServerState
    channel: NotRequired[URI]
    mcpApp: NotRequired[McpServerCustomizationApps]


class PromptCustomization(ChildCustomizationBase):
    type: Literal["prompt"]
    description: NotRequired[str]


class RuleCustomization(ChildCustomizationBase):
    type: Literal["rule"]
    description: NotRequired[str]
    alwaysApply: NotRequired[bool]
    globs: NotRequired[list[str]]


class SkillCustomization(ChildCustomizationBase):
    type: Literal["skill"]
    description: NotRequired[str]
    disableModelInvocation: NotRequired[bool]
    disableUserInvocation: NotRequired[bool]


ChildCustomization = Open[
    AgentCustomization
    | SkillCustomization
    | PromptCustomization
    | RuleCustomization
    | HookCustomization
    | McpServerCustomization
]


ChildCustomizationType = Literal["agent", "skill", "prompt", "rule", "hook", "mcpServer"]


class CustomizationDegradedState(TypedDict):
    kind: Literal["degraded"]
    message: str


class CustomizationErrorState(TypedDict):
    kind: Literal["error"]
    message: str


class CustomizationLoadedState(TypedDict):
    kind: Literal["loaded"]


class CustomizationLoadingState(TypedDict):
    kind: Literal["loading"]


CustomizationLoadState = (
    CustomizationLoadingState
    | CustomizationLoadedState
    | CustomizationDegradedState
    | CustomizationErrorState
)


class ContainerCustomizationBase(CustomizationBase):
    clientId: NotRequired[str]
    load: NotRequired[CustomizationLoadState]
    children: NotRequired[list[ChildCustomization]]


class PluginCustomization(ContainerCustomizationBase):
    type: Literal["plugin"]
    enablement: NotRequired[list[CustomizationEnablement]]
    version: NotRequired[str]


class ClientPluginCustomization(PluginCustomization):
    nonce: NotRequired[str]
    childEnablement: NotRequired[dict[str, list[CustomizationEnablement]]]


class DirectoryCustomization(ContainerCustomizationBase):
    type: Literal["directory"]
    enabled: bool
    contents: ChildCustomizationType
    writable: bool


Customization = Open[PluginCustomization | DirectoryCustomization | McpServerCustomization]
