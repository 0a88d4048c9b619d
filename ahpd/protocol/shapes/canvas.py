"""The canvas channel."""

from typing import Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.common import URI


class CanvasState(TypedDict):
    instanceId: str
    extensionId: str
    extensionName: NotRequired[str]
    canvasId: str
    title: NotRequired[str]
    status: NotRequired[str]
    url: NotRequired[URI]


class CanvasStateChangedAction(TypedDict):
    type: Literal["canvas/stateChanged"]
    canvas: CanvasState
