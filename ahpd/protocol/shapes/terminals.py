"""The terminal channel: state, actions and commands."""

from typing import Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.common import URI, BaseParams
from ahpd.protocol.shapes.notation import Open


class TerminalClientClaim(TypedDict):
    kind: Literal["client"]
    clientId: str


class TerminalSessionClaim(TypedDict):
    kind: Literal["session"]
    session: URI
    chat: URI
    turnId: NotRequired[str]
    toolCallId: NotRequired[str]


TerminalClaim = Open[TerminalClientClaim | TerminalSessionClaim]


class CreateTerminalParams(BaseParams):
    claim: TerminalClaim
    name: NotRequired[str]
    cwd: NotRequired[URI]
    cols: NotRequired[float]
    rows: NotRequired[float]


class DisposeTerminalParams(BaseParams):
    """Ends the terminal `channel` names."""


class TerminalClaimedAction(TypedDict):
    type: Literal["terminal/claimed"]
    claim: TerminalClaim


class TerminalClearedAction(TypedDict):
    """The screen is empty."""

    type: Literal["terminal/cleared"]


class TerminalCommandDetectionAvailableAction(TypedDict):
    """From here on, commands are told apart."""

    type: Literal["terminal/commandDetectionAvailable"]


class TerminalCommandExecutedAction(TypedDict):
    type: Literal["terminal/commandExecuted"]
    commandId: str
    commandLine: str
    timestamp: float


class TerminalCommandFinishedAction(TypedDict):
    type: Literal["terminal/commandFinished"]
    commandId: str
    exitCode: NotRequired[float]
    durationMs: NotRequired[float]


class TerminalCommandPart(TypedDict):
    type: Literal["command"]
    commandId: str
    commandLine: str
    output: str
    timestamp: float
    isComplete: bool
    exitCode: NotRequired[float]
    durationMs: NotRequired[float]


class TerminalUnclassifiedPart(TypedDict):
    type: Literal["unclassified"]
    value: str


TerminalContentPart = TerminalUnclassifiedPart | TerminalCommandPart


class TerminalCwdChangedAction(TypedDict):
    type: Literal["terminal/cwdChanged"]
    cwd: URI


class TerminalDataAction(TypedDict):
    type: Literal["terminal/data"]
    data: str


class TerminalExitedAction(TypedDict):
    type: Literal["terminal/exited"]
    exitCode: NotRequired[float]


class TerminalExitedLifecycleState(TypedDict):
    """The program ended; no `exitCode` where a signal ended it."""

    status: Literal["exited"]
    exitCode: NotRequired[float]


class TerminalRunningLifecycleState(TypedDict):
    status: Literal["running"]


TerminalLifecycleState = TerminalRunningLifecycleState | TerminalExitedLifecycleState


class TerminalInfo(TypedDict):
    resource: URI
    title: str
    claim: TerminalClaim
    lifecycle: TerminalLifecycleState


class TerminalInputAction(TypedDict):
    type: Literal["terminal/input"]
    data: str


class TerminalResizedAction(TypedDict):
    type: Literal["terminal/resized"]
    cols: float
    rows: float


class TerminalState(TypedDict):
    title: str
    cwd: NotRequired[URI]
    cols: NotRequired[float]
    rows: NotRequired[float]
    content: list[TerminalContentPart]
    lifecycle: TerminalLifecycleState
    claim: TerminalClaim
    supportsCommandDetection: NotRequired[bool]
    isPty: NotRequired[bool]


class TerminalTitleChangedAction(TypedDict):
    type: Literal["terminal/titleChanged"]
    title: str
