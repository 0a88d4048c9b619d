"""The errors a peer answers with: JSON-RPC 2.0 codes and the AHP 1.0.0 family.

A domain raises `RpcError` (or one of the constructors below) and the peer turns
it into a wire error at one edge. The message is words for a person; it never
holds a stack trace or a secret.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

SESSION_NOT_FOUND: Final = -32001
PROVIDER_NOT_FOUND: Final = -32002
SESSION_ALREADY_EXISTS: Final = -32003
TURN_IN_PROGRESS: Final = -32004
UNSUPPORTED_PROTOCOL_VERSION: Final = -32005
AUTH_REQUIRED: Final = -32007
NOT_FOUND: Final = -32008
PERMISSION_DENIED: Final = -32009
ALREADY_EXISTS: Final = -32010
CONFLICT: Final = -32011

#: How much of a client's list is repeated to it.
_SHOWN: Final = 10

#: The longest words a client is told. They may repeat what it sent, which may be megabytes.
LONGEST_WORDS: Final = 2000
_HEAD: Final = 1500


def shortened(words: str) -> str:
    """The words, their middle left out where they are longer than `LONGEST_WORDS`."""
    if len(words) <= LONGEST_WORDS:
        return words
    return f"{words[:_HEAD]} … {words[_HEAD + 3 - LONGEST_WORDS :]}"


class RpcError(Exception):
    """A failure with a JSON-RPC error code, words for a person, and optional data.

    `data` is any JSON value, or None for an error that carries none.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def to_wire(self) -> dict[str, Any]:
        """The `error` member of a JSON-RPC response."""
        error: dict[str, Any] = {"code": self.code, "message": shortened(self.message)}
        if self.data is not None:
            error["data"] = self.data
        return error

    def __repr__(self) -> str:
        return f"RpcError({self.code}, {self.message!r})"


def invalid_params(message: str, data: Any = None) -> RpcError:
    """-32602; `message` names the parameter's path, what was found and what is allowed."""
    return RpcError(INVALID_PARAMS, message, data)


def method_not_found(method: str) -> RpcError:
    """-32601 for a method this host does not serve (AHP.txt, Commands)."""
    return RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")


def internal_error(message: str) -> RpcError:
    """-32603 with words that are safe to show."""
    return RpcError(INTERNAL_ERROR, message)


def session_not_found(session: str) -> RpcError:
    """-32001 in the reference host's words."""
    return RpcError(SESSION_NOT_FOUND, f"Session not found: {session}")


def resource_not_found(channel: str) -> RpcError:
    """-32001 for a channel nobody here owns (AHP.txt, Session URIs)."""
    return RpcError(SESSION_NOT_FOUND, f"Resource not found: {channel}")


def unsupported_versions(offered: Sequence[str], supported: Sequence[str]) -> RpcError:
    """-32005; its data lists the versions this host speaks, newest first."""
    shown = ", ".join(offered[:_SHOWN]) + (", …" if len(offered) > _SHOWN else "")
    return RpcError(
        UNSUPPORTED_PROTOCOL_VERSION,
        f"None of the offered protocol versions is supported: {shown or 'none offered'}",
        {"supportedVersions": list(supported)},
    )


def auth_required(message: str, resources: Sequence[Mapping[str, Any]]) -> RpcError:
    """-32007; its data is what to sign in to (schema: ProtectedResourceMetadata)."""
    return RpcError(AUTH_REQUIRED, message, {"resources": list(resources)})


def permission_denied(message: str, request: Mapping[str, Any] | None = None) -> RpcError:
    """-32009; `request` is the `resourceRequest` that would help, where one would."""
    return RpcError(PERMISSION_DENIED, message, {} if request is None else {"request": request})
