"""What a client asks for when it makes a session or a chat: checked before anything is made."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ahpd.chats.owner import Surroundings
from ahpd.interfaces import IAgent, IPausedAgent
from ahpd.protocol import State
from ahpd.protocol.errors import PROVIDER_NOT_FOUND, RpcError, invalid_params
from ahpd.protocol.status import IDLE, IS_READ
from ahpd.protocol.uris import (
    ChannelKind,
    kind_of,
    opaque_chat,
    scheme,
    session_id,
    session_of_chat,
    session_of_default_chat,
)
from ahpd.protocol.uris import (
    default_chat as derived_chat,
)

#: The keys of a creation's `_meta` a session keeps: made of a workspace of several folders
#: (AHP.txt, `session/workingDirectorySet`).
KEPT_META: Final = frozenset({"multiRoot"})
#: Whose a session is, where this host knows its users.
OWNER_KEY: Final = "ahpd.owner"
#: The keys of a session's `_meta` that this host writes itself, whatever plugins say of it.
HOST_META: Final = KEPT_META | {OWNER_KEY, "agentHost/sessionArtifacts"}


def checked_session_uri(channel: str) -> str:
    """`channel` where it can name a session; `RpcError` -32602 where it cannot."""
    if kind_of(channel) is not ChannelKind.SESSION or not session_id(channel):
        raise invalid_params(
            f"channel: {channel!r} names no session; expected a URI such as ahp-session:/<uuid>"
        )
    return channel


def chosen_agent(agents: Mapping[str, IAgent], provider: str | None, channel: str) -> IAgent:
    """The agent asked for; the one the URI's scheme names, or the first, where none was.

    Raises `RpcError` -32002 for one this host does not have, or has paused.
    """
    if provider is None:
        provider = scheme(channel)
        if provider not in agents:
            working = (name for name in agents if not IPausedAgent.providedBy(agents[name]))
            provider = next(working, next(iter(agents), ""))
    agent = agents.get(provider)
    if agent is None:
        offered = ", ".join(agents) or "none"
        raise RpcError(
            PROVIDER_NOT_FOUND, f"No agent of provider {provider!r} on this host: {offered}"
        )
    if IPausedAgent.providedBy(agent):
        raise RpcError(PROVIDER_NOT_FOUND, agent.refusal)
    return agent


def checked_active_client(entry: Mapping[str, Any] | None, client_id: str) -> None:
    """A client puts itself into the session it makes, and nobody else (-32602)."""
    if entry is not None and entry.get("clientId") != client_id:
        raise invalid_params(
            f"activeClient.clientId: found {entry.get('clientId')!r}, expected the client's own "
            f"id {client_id!r}"
        )


def checked_directories(agent: IAgent, directories: Sequence[str]) -> list[str]:
    """The folders named, each once; -32602 for one that is no `file:` URI.

    An agent that works in one folder works in the first (schema: CreateSessionParams).
    """
    for index, directory in enumerate(directories):
        if scheme(directory) != "file":
            raise invalid_params(f"workingDirectories[{index}]: {directory!r} is no file: URI")
    named = list(dict.fromkeys(directories))
    capabilities: State = agent.info().get("capabilities") or {}
    return named if "multipleWorkingDirectories" in capabilities else named[:1]


def new_session_state(
    agent: IAgent,
    chat: State,
    directories: Sequence[str],
    config: State,
    client: State | None,
    meta: Mapping[str, Any] | None = None,
) -> State:
    """The state a session begins with (schema: SessionState): provisional and unread.

    Of the `_meta` it was asked for with it keeps what says how it was made (`KEPT_META`).
    """
    state: State = {
        "provider": agent.provider,
        "title": "",
        "status": IDLE,
        "lifecycle": "creating",
        "activeClients": [] if client is None else [client],
        "chats": [chat],
        "defaultChat": chat["resource"],
    }
    if directories:
        state["workingDirectories"] = list(directories)
    if config["schema"]["properties"]:
        state["config"] = config
    kept = {key: value for key, value in (meta or {}).items() if key in KEPT_META}
    if kept:
        state["_meta"] = kept
    return state


def new_chat_state(
    world: Surroundings,
    resource: str,
    title: str = "",
    directories: Sequence[str] | None = None,
    read: bool = False,
) -> State:
    """The state a chat a person opened begins with (schema: ChatState)."""
    state: State = {
        "resource": resource,
        "title": title,
        "status": IDLE | IS_READ if read else IDLE,
        "modifiedAt": world.stamp(),
        "origin": {"kind": "user"},
        "turns": [],
    }
    if directories is not None:
        state["workingDirectories"] = list(directories)
    return state


def mint_default_chat(world: Surroundings, session: str, derived: bool) -> str:
    """The URI of a new session's first chat.

    It says nothing of its session, but for a client that computes it from the session's
    (AHP.txt, "Chat URIs").
    """
    return derived_chat(session) if derived else opaque_chat(world.ids())


def checked_title(title: Any) -> str:
    """A chat's title, trimmed. The protocol declares none, so its shape is checked here."""
    if title is not None and not isinstance(title, str):
        raise invalid_params(f"title: found {title!r}, expected a string")
    return (title or "").strip()


def checked_chat_uri(chat: str, session: str, default_chat: str) -> str:
    """`chat` where a new chat of `session` may be called so; -32602 where not.

    A session whose default chat says which session it is of takes no other kind (AHP.txt,
    "Chat URIs").
    """
    if scheme(chat) != "ahp-chat" or not session_id(chat):
        raise invalid_params(f"Chat URI must use the ahp-chat scheme: {chat}")
    if session_of_default_chat(chat) is not None:
        raise invalid_params(f"chat: {chat} is the derived name of a session's default chat")
    named = session_of_chat(chat)
    if named is None and session_of_chat(default_chat) is not None:
        raise invalid_params(
            f"Opaque chat URI is not allowed in a session with a shaped default chat: {chat}"
        )
    if named is not None and session_id(named) != session_id(session):
        raise invalid_params(f"chat: {chat} names a chat of another session: {named}")
    return chat
