"""What an agent said it can do, and how it is signed in to.

Source: ACP, "Initialization" and "Authentication"; what it leaves out it cannot do.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from ahpd.interfaces import AgentFailure
from ahpd_agent_acp.rows import SignIn

#: The version of ACP spoken here.
PROTOCOL_VERSION: Final = 1

#: VS Code's word for a turn that could not be sent, and for one that was cut off.
SEND_FAILED: Final = "sendFailed"
#: The agent wants to be signed in first.
AUTH_REQUIRED: Final = "authRequired"


@attrs.frozen(kw_only=True)
class Capabilities:
    """What one agent can do (ACP: AgentCapabilities), and the sign-ins it offers."""

    load: bool = False
    resume: bool = False
    list: bool = False
    fork: bool = False
    close: bool = False
    delete: bool = False
    more_directories: bool = False
    image: bool = False
    audio: bool = False
    embedded: bool = False
    mcp_http: bool = False
    sign_ins: Sequence[str] = ()
    """Ids of its sign-in methods."""
    name: str = ""
    version: str = ""
    greeted: bool = False
    """Whether it has answered the handshake."""

    @property
    def reopens(self) -> bool:
        """Whether a conversation it keeps can be opened again."""
        return self.load or self.resume


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def read_capabilities(answer: Any, what: str) -> Capabilities:
    """What the answer to `initialize` says. Raises `AgentFailure` where it speaks no ACP 1."""
    said = _object(answer)
    version = said.get("protocolVersion")
    if version != PROTOCOL_VERSION or isinstance(version, bool):
        raise AgentFailure(
            f"{what} speaks version {version!r} of the Agent Client Protocol; "
            f"this host speaks {PROTOCOL_VERSION}",
            SEND_FAILED,
        )
    can = _object(said.get("agentCapabilities"))
    prompt = _object(can.get("promptCapabilities"))
    session = _object(can.get("sessionCapabilities"))
    mcp = _object(can.get("mcpCapabilities")) or _object(can.get("mcp"))
    itself = _object(said.get("agentInfo"))
    methods = said.get("authMethods")
    return Capabilities(
        greeted=True,
        load=can.get("loadSession") is True,
        image=prompt.get("image") is True,
        audio=prompt.get("audio") is True,
        embedded=prompt.get("embeddedContext") is True,
        mcp_http=mcp.get("http") is True,
        sign_ins=tuple(
            method["id"]
            for method in (methods if isinstance(methods, list) else ())
            if isinstance(method, Mapping) and isinstance(method.get("id"), str)
        ),
        name=str(itself.get("title") or itself.get("name") or ""),
        version=str(itself.get("version") or ""),
        **{name: _has(session, wire) for name, wire in _SESSION.items()},
    )


_SESSION: Final = {
    "resume": "resume",
    "list": "list",
    "fork": "fork",
    "close": "close",
    "delete": "delete",
    "more_directories": "additionalDirectories",
}


def _has(session: Mapping[str, Any], name: str) -> bool:
    # Present is supported; an agent that writes a truth value means what it says.
    value = session.get(name)
    return value is not None and value is not False


def offered(capabilities: Capabilities) -> str:
    """The sign-ins it offers, in words."""
    return ", ".join(capabilities.sign_ins) if capabilities.sign_ins else "none"


def check_sign_in(sign_in: SignIn, capabilities: Capabilities, what: str) -> None:
    """Raises `AgentFailure` for a sign-in the agent did not offer, naming those it did."""
    if sign_in.method not in capabilities.sign_ins:
        raise AgentFailure(
            f"{what} does not offer the sign-in {sign_in.method!r}; it offers "
            f"{offered(capabilities)}",
            SEND_FAILED,
        )


def must_sign_in(capabilities: Capabilities, what: str, why: str = "") -> AgentFailure:
    """The failure of a request the agent refused until it is signed in to."""
    said = f": {why}" if why else ""
    return AgentFailure(
        f"{what} wants to be signed in to{said}. Set authenticate to one of its sign-ins: "
        f"{offered(capabilities)}",
        AUTH_REQUIRED,
    )
