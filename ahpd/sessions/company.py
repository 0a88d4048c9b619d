"""What the sessions of a host have in common: its clients, its tools, what people decided.

Each session tells it what happens in it (`ahpd.chats.owner.Company`); it says what follows
from that in the others.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from ahpd.channels.envelope import Envelope
from ahpd.chats.chat import Chat
from ahpd.chats.owner import Surroundings
from ahpd.interfaces import IClients, IHostRecord
from ahpd.protocol import State
from ahpd.sessions.customizations import Customizations
from ahpd.sessions.decisions import FACT, Decisions
from ahpd.sessions.folders import FOLDER_ACTIONS, Folders
from ahpd.sessions.mcp_servers import SERVER_ACTIONS, McpServers
from ahpd.sessions.presence import Presence
from ahpd.sessions.server_tools import ServerTools

#: What moves who is in a session, and with it the plugins they brought.
_CLIENTS: Final = frozenset({"session/activeClientSet", "session/activeClientRemoved"})
#: What moves the tools a session's agents are offered.
_TOOLS: Final = _CLIENTS | {"session/serverToolsChanged"}


class SessionCompany:
    """`sessions` are those that are awake, `awake` the one a channel belongs to, if it is;
    `find` wakes the one a URI names.

    `clients` says who is connected, None for nobody; `record` keeps what is decided for more
    than one session.
    """

    def __init__(
        self,
        world: Surroundings,
        find: Callable[[str], Any],
        awake: Callable[[str], Any],
        sessions: Callable[[], Iterable[Any]],
        clients: IClients | None,
        record: IHostRecord,
    ) -> None:
        self.presence = Presence(world.store, world.clock, clients, awake)
        self.folders = Folders(world.store, clients, find)
        self.customizations = Customizations(world, Decisions(record), sessions)
        self.servers = McpServers(world)
        self.tools = ServerTools(sessions)
        self._facts = world.facts
        self._offers = world.offers
        self._happenings = world.happenings

    def stop(self) -> None:
        """The host is going."""
        self.presence.stop()

    # -- what sessions tell (see `ahpd.chats.owner.Company`) ---------------------------------

    def held(self, session: Any) -> None:
        """See `Company.held`."""
        session.decided = dict(self._facts(session.uri).get(FACT) or {})
        self.presence.entered(session)
        self.tools.refresh(session)
        self.customizations.woken(session)

    def let_go(self, session: Any) -> None:
        """See `Company.let_go`."""
        self.presence.left(session)

    def moved(self, session: Any, envelope: Envelope) -> None:
        """See `Company.moved`."""
        kind = envelope.type
        if self._happenings.told is not None:
            self._happenings.told.session_moved(session.uri, envelope.action)
        self.presence.observe(session, envelope)
        if kind in _TOOLS and self._offers is not None:
            self._offers.tools_moved(session.uri)
        if kind in _CLIENTS or kind in FOLDER_ACTIONS:
            self.customizations.refresh(session)
        elif kind in SERVER_ACTIONS or kind == "session/mcpServerStateChanged":
            self.customizations.servers_moved(session)
        elif kind == "session/configChanged":
            self.tools.refresh(session)
        elif kind == "session/serverToolsChanged":
            for chat in tuple(session.chats.values()):
                chat.refresh_backend()

    def found(self, session: Any, chat: Chat, found: Sequence[Mapping[str, Any]]) -> None:
        """See `Company.found`."""
        self.customizations.found(session, chat, found)

    def server_moved(self, session: Any, server_id: str, state: Mapping[str, Any]) -> None:
        """See `Company.server_moved`."""
        self.servers.moved(session, server_id, state)

    # -- a new session -------------------------------------------------------------------------

    @staticmethod
    def inherited(state: State) -> State:
        """What a session made out of one of this state begins with, but for its clients'."""
        found = [entry for entry in state.get("customizations") or () if "clientId" not in entry]
        fields: State = {"serverTools": state.get("serverTools"), "customizations": found}
        return {name: list(value) for name, value in fields.items() if value}

    def turn_coming(self, session: Any) -> None:
        """See `Company.turn_coming`. What it may use is looked at anew, whoever decides it."""
        self.tools.refresh(session)

    def seed(self, uri: str, state: State, found: Sequence[Mapping[str, Any]]) -> None:
        """Put into a new session's state what every session has; `found` is its agent's list."""
        tools = self.tools.of(uri, state)
        if tools:
            state["serverTools"] = tools
        folders = state.get("workingDirectories") or ()
        listed = self.customizations.listed(found, folders, state["activeClients"], {})
        if listed:
            state["customizations"] = listed
