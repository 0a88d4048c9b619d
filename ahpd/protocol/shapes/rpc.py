"""JSON-RPC 2.0 itself, and the data its errors carry."""

from collections.abc import Mapping
from typing import Any, Final, Literal, NotRequired, TypedDict

from ahpd.protocol.errors import AUTH_REQUIRED, PERMISSION_DENIED, UNSUPPORTED_PROTOCOL_VERSION
from ahpd.protocol.shapes.resources import ResourceRequestParams
from ahpd.protocol.shapes.root import AuthRequiredErrorData


class RpcErrorObject(TypedDict):
    """The `error` of a response; the code decides what `data` is (`ERROR_DATA`)."""

    code: float
    message: str
    data: NotRequired[Any]


class JsonRpcErrorResponse(TypedDict):
    """A request's failure; `id` is null where the request could not be read."""

    jsonrpc: Literal["2.0"]
    id: str | float | None
    error: RpcErrorObject


class JsonRpcNotification(TypedDict):
    jsonrpc: Literal["2.0"]
    method: str
    params: NotRequired[Any]


class JsonRpcRequest(TypedDict):
    jsonrpc: Literal["2.0"]
    id: str | float
    method: str
    params: NotRequired[Any]


class JsonRpcSuccessResponse(TypedDict):
    jsonrpc: Literal["2.0"]
    id: str | float
    result: Any


class PermissionDeniedErrorData(TypedDict):
    """What to ask for, where asking would help."""

    request: NotRequired[ResourceRequestParams]


class UnsupportedProtocolVersionErrorData(TypedDict):
    """What this host speaks, newest first."""

    supportedVersions: list[str]


#: The shape of `data` under the codes that cannot do without it; any JSON under the others.
ERROR_DATA: Final[Mapping[int, Any]] = {
    UNSUPPORTED_PROTOCOL_VERSION: UnsupportedProtocolVersionErrorData,
    AUTH_REQUIRED: AuthRequiredErrorData,
    PERMISSION_DENIED: PermissionDeniedErrorData,
}
