"""What a client may do to a session's working directories, and in which words it may not.

A change is taken from an editor window alone, for a session it made of a workspace of
several folders that works in those folders and has its default chat alone, on an agent that
works in several. The conditions are checked in the order of the reference's row, and a
window is asked about a folder that is new to the session before it is added.

Sources: AHP.txt, `session/workingDirectorySet`, `session/workingDirectoryRemoved` and
`session/workingDirectoryReplaced`; schema: MultipleWorkingDirectoriesCapability.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

from ahpd.channels.envelope import Origin
from ahpd.channels.store import ChannelStore
from ahpd.interfaces import EDITOR_WINDOW, IAgent, IClients, Refusal
from ahpd.protocol import Action, State
from ahpd.protocol.uris import ROOT, scheme
from ahpd.sessions.trust import granted, trusted

SET: Final = "session/workingDirectorySet"
REMOVED: Final = "session/workingDirectoryRemoved"
REPLACED: Final = "session/workingDirectoryReplaced"
FOLDER_ACTIONS: Final = frozenset({SET, REMOVED, REPLACED})

NO_EDITOR: Final = "Session working-directory actions require an Editor Window client."
NO_SESSION_CHANNEL: Final = "Session working-directory actions require a session channel."

#: The configuration key that says where a session works, and its value for a tree of its own.
_ISOLATION: Final = "isolation"
_WORKTREE: Final = "worktree"


class Housed(Protocol):
    """A session, as its folders are seen."""

    uri: str
    default_chat: str

    @property
    def chats(self) -> Mapping[str, Any]:
        """Its chats by their URIs."""

    @property
    def agent(self) -> IAgent:
        """The agent its chats run on."""

    @property
    def state(self) -> State:
        """The session's state (schema: SessionState)."""

    @property
    def working_directories(self) -> tuple[str, ...]:
        """`file:` URIs, the primary first."""

    @property
    def config_values(self) -> Mapping[str, Any]:
        """The configuration in force."""

    def say(self, action: Action) -> None:
        """Say an action of the host's own on the session's channel."""

    def workspace_changing(self, by: int) -> None:
        """One more change of its folders waits for a person, or one less."""


def is_editor_window(info: Mapping[str, Any] | None) -> bool:
    """Whether `clientInfo` is that of the one window that manages a session's folders."""
    return info is not None and info.get("name") == EDITOR_WINDOW


class Folders:
    """Decides on the folder actions of every session. Nobody is connected without `clients`.

    `find` knows the session of a URI now.
    """

    def __init__(
        self,
        store: ChannelStore,
        clients: IClients | None,
        find: Callable[[str], Housed | None],
    ) -> None:
        self._store = store
        self._clients = clients
        self._find = find

    def handle(self, session: Housed, action: Action, origin: Origin) -> Awaitable[None] | None:
        """Say the action, or raise `Refusal`. An awaitable while a window is asked."""
        windows = () if self._clients is None else self._clients.connections(origin["clientId"])
        window = windows[-1] if windows else None
        if window is None or not is_editor_window(window.record.info):
            raise Refusal(NO_EDITOR)
        _check(session, action)
        added = _added(session, action)
        if added is None or trusted(added, self._root_values()):
            self._accept(session, action, origin)
            return None

        async def ask() -> None:
            session.workspace_changing(1)
            try:
                trust = await granted(window, added)
            finally:
                # A person took their time over it: the session may be another by now, or gone.
                now = self._find(session.uri)
                if now is session:
                    session.workspace_changing(-1)
            if not trust:
                raise Refusal(f"Workspace trust was not granted for '{added}'")
            if now is None:
                raise Refusal(f"Session not found: {session.uri}")
            _check(now, action)
            self._accept(now, action, origin)

        return ask()

    def _root_values(self) -> Mapping[str, Any]:
        root = self._store.find(ROOT) or {}
        config: State = root.get("config") or {}
        values: Mapping[str, Any] = config.get("values") or {}
        return values

    def _accept(self, session: Housed, action: Action, origin: Origin) -> None:
        moved = action["type"] == REPLACED and action["directory"] != action["replacement"]
        if moved and _primary(session) == action["directory"]:
            # A new first folder is a move of the session, which is the host's to say.
            session.say(
                {
                    "type": REPLACED,
                    "directory": action["directory"],
                    "replacement": action["replacement"],
                }
            )
        self._store.dispatch(session.uri, action, origin)


def _primary(session: Housed) -> str | None:
    return next(iter(session.working_directories), None)


def _added(session: Housed, action: Action) -> str | None:
    """The folder that is new to the session with the action, where one is."""
    held = session.working_directories
    if action["type"] == SET and action["directory"] not in held:
        return str(action["directory"])
    if action["type"] == REPLACED and action["directory"] in held:
        replacement: str = action["replacement"]
        return None if replacement in held else replacement
    return None


def _check(session: Housed, action: Action) -> None:
    """Raise `Refusal` for the first condition that does not hold."""
    state, uri = session.state, session.uri
    if state["lifecycle"] != "ready" or not session.working_directories:
        raise Refusal(f"Session is not ready for working-directory changes: {uri}")
    meta: State = state.get("_meta") or {}
    alone = list(session.chats) == [session.default_chat]
    if not meta.get("multiRoot") or session.config_values.get(_ISOLATION) == _WORKTREE or not alone:
        raise Refusal(f"Session does not support dynamic working-directory changes: {uri}")
    capability = _capability(session.agent)
    if capability is None:
        raise Refusal(
            f"Provider does not support dynamic working-directory changes: {session.agent.provider}"
        )
    for field in ("directory", "replacement"):
        named = action.get(field)
        if named is not None and scheme(named) != "file":
            raise Refusal(f"Working directory must be a file URI: {named}")
    if action["type"] != SET:
        _check_leaving(session, action, capability)


def _check_leaving(session: Housed, action: Action, capability: Mapping[str, Any]) -> None:
    """Whether the folder an action takes out, or swaps for another, may go."""
    directory = action["directory"]
    if directory == _primary(session):
        replaceable = bool(capability.get("primaryReplacement"))
        pinned = bool(capability.get("immutablePrimary")) or replaceable
        if action["type"] == REMOVED and pinned:
            raise Refusal("The primary working directory cannot be removed.")
        if action["type"] == REPLACED and pinned and not replaceable:
            raise Refusal("The primary working directory cannot be replaced.")
    for chat in session.chats.values():
        if directory in (chat.state.get("workingDirectories") or ()):
            raise Refusal(
                f"Cannot remove working directory {directory} because chat {chat.uri} is scoped "
                "to it."
            )


def _capability(agent: IAgent) -> Mapping[str, Any] | None:
    capabilities: State = agent.info().get("capabilities") or {}
    found: Mapping[str, Any] | None = capabilities.get("multipleWorkingDirectories")
    return found
