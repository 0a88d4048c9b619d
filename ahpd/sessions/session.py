"""One session: its chats, and what moves in it when something moves in one of them.

It is the owner its chats see (`ahpd.chats.owner.ChatOwner`). Everything here follows
from an action that was applied, so it is the same whoever said it: a client, the
host, or a backend.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ahpd.channels.envelope import Envelope
from ahpd.chats.chat import Chat
from ahpd.chats.owner import Surroundings, TurnFailure
from ahpd.chats.rows import moved, remembered, row_of, summary_of
from ahpd.interfaces import (
    Grant,
    IAgent,
    IPausedAgent,
    IWorkerOutput,
    StoreFailure,
    TurnRequest,
)
from ahpd.protocol import Action, State
from ahpd.protocol.status import IS_ARCHIVED, IS_READ
from ahpd.protocol.uris import ChannelKind
from ahpd.sessions.annotations import annotations_of, marks_of
from ahpd.sessions.blockers import Blockers
from ahpd.sessions.catalogue import Catalogue
from ahpd.sessions.chat_config import refused, values_of
from ahpd.sessions.client_tools import client_ids, fail_calls, fail_orphan, tools_of
from ahpd.sessions.config import change_refused
from ahpd.sessions.grants import keep, server_name
from ahpd.sessions.in_force import IN_FORCE, InForce, handed_on, in_force_of
from ahpd.sessions.missing import MissingAgent
from ahpd.sessions.movable import DECIDES_MOVABLE, MovableChats
from ahpd.sessions.naming import name_meanwhile, name_untitled, take_own_title
from ahpd.sessions.read_state import counts, couple_only_chat, couple_session
from ahpd.sessions.summary import driving_chat

if TYPE_CHECKING:
    from ahpd.sessions.workers import Workers

#: What the host says again of a change of the configuration that came on a chat.
_CONFIG_KEYS: Final = ("type", "config", "replace")


class Session:
    """A session held here; its state is the store's, under `uri`."""

    __slots__ = (
        "_catalogue",
        "_words",
        "_world",
        "agent",
        "blockers",
        "chats",
        "created_at",
        "decided",
        "default_chat",
        "found",
        "in_force",
        "movable",
        "ready",
        "uri",
        "workers",
    )

    def __init__(
        self,
        world: Surroundings,
        catalogue: "Catalogue[Session]",
        agent: IAgent,
        state: State,
        uri: str,
        created_at: str,
    ) -> None:
        self._world = world
        self._catalogue = catalogue
        self.agent = agent
        self.uri = uri
        self.created_at = created_at
        self.chats: dict[str, Chat] = {}
        self.movable = MovableChats(world.store)
        self._words: str | None = None
        self.in_force: InForce = in_force_of(state)
        """What its conversations were told of last."""
        self.found: Sequence[Mapping[str, Any]] | None = None
        """The customizations its agent or a conversation listed last, where that is known."""
        self.decided: dict[str, Sequence[Mapping[str, Any]]] = {}
        """Its own decisions about customizations, by their ids."""
        self.default_chat: str = state["defaultChat"]
        self.workers: Workers
        """What opens the worker chats of its chats' calls; whoever holds the session gives it."""
        self.ready = False
        """Whether a first turn was handed to a backend; the session is provisional until then."""
        self.blockers = Blockers(self.say, state)
        journal = world.journal(uri, uri, ChannelKind.SESSION, None, None)
        world.store.open(uri, ChannelKind.SESSION, state, self.observe, journal)

    @property
    def state(self) -> State:
        """The session's state (schema: SessionState), to read."""
        return self._world.store.state(self.uri)

    def say(self, action: Action) -> None:
        """Say an action of the host's own on the session's channel."""
        self._world.store.dispatch(self.uri, action)

    # -- what a chat asks (ChatOwner) -----------------------------------------

    @property
    def closing(self) -> bool:
        """See `ChatOwner.closing`."""
        return self._catalogue.closing

    @property
    def archived(self) -> bool:
        """See `ChatOwner.archived`."""
        return bool(self.state["status"] & IS_ARCHIVED)

    @property
    def paused(self) -> bool:
        """See `ChatOwner.paused`."""
        return IPausedAgent.providedBy(self.agent) or isinstance(self.agent, MissingAgent)

    @property
    def working_directories(self) -> tuple[str, ...]:
        """See `ChatOwner.working_directories`."""
        return tuple(self.state.get("workingDirectories", ()))

    @property
    def config_values(self) -> Mapping[str, Any]:
        """See `ChatOwner.config_values`."""
        config: State = self.state.get("config") or {"values": {}}
        values: State = config["values"]
        return values

    @property
    def client_tools(self) -> tuple[State, ...]:
        """The tools of its active clients (see `ChatStart.client_tools`)."""
        return tools_of(self.state)

    @property
    def server_tools(self) -> tuple[State, ...]:
        """See `ChatOwner.server_tools`."""
        return tuple(self.state.get("serverTools") or ())

    def chat_config(self, chat: str) -> Mapping[str, Any]:
        """See `ChatOwner.chat_config`."""
        return values_of(self.chats[chat], self.config_values, self._world.from_plugins)

    def mcp_server(self, customization_id: str) -> str | None:
        """See `ChatOwner.mcp_server`."""
        return server_name(self.state, customization_id)

    def granted(self, grant: Grant) -> None:
        """See `ChatOwner.granted`."""
        keep(self, grant, self._world.offers)

    async def prepare_turn(self, chat: str, request: TurnRequest) -> TurnRequest:
        """See `ChatOwner.prepare_turn`."""
        company = self._world.company()
        if company is not None:
            company.turn_coming(self)
        return request

    def config_refused(self, action: Action) -> str | None:
        """See `ChatOwner.config_refused`."""
        return change_refused(self.agent, self.state.get("config"), action, fresh=not self.ready)

    def chat_config_refused(self, chat: str, action: Action) -> str | None:
        """See `ChatOwner.chat_config_refused`."""
        config, folder = self.state.get("config"), next(iter(self.working_directories), None)
        return refused(self.chats[chat], config, folder, action, self._world.from_plugins)

    def session_activity(self, words: str | None) -> None:
        """See `ChatOwner.session_activity`."""
        if words != self._words:
            said: Action = {"type": "session/activityChanged"}
            self.say(said if words is None else {**said, "activity": words})

    def customizations_found(self, chat: str, found: Sequence[Mapping[str, Any]]) -> None:
        """See `ChatOwner.customizations_found`."""
        company = self._world.company()
        if company is not None:
            company.found(self, self.chats[chat], found)

    def mcp_server_moved(self, server_id: str, state: Mapping[str, Any]) -> None:
        """See `ChatOwner.mcp_server_moved`."""
        company = self._world.company()
        if company is not None:
            company.server_moved(self, server_id, state)

    def turn_refused(self, chat_archived: bool) -> TurnFailure | None:
        """See `ChatOwner.turn_refused`."""
        if self.closing:
            return TurnFailure("hostClosing", "The host is shutting down and starts no new turn.")
        if self.archived:
            return TurnFailure("sessionArchived", "The session is archived: restore it first.")
        if chat_archived:
            return TurnFailure("chatArchived", "The chat is archived: restore it first.")
        if IPausedAgent.providedBy(self.agent):
            return TurnFailure("agentPaused", self.agent.refusal)
        return None

    def turn_admitted(self, chat: str, message: State) -> None:
        """See `ChatOwner.turn_admitted`."""
        name_untitled(self, self.chats[chat], message)

    def command_admitted(self, chat: str, command: str) -> None:
        """See `ChatOwner.command_admitted`."""
        name_meanwhile(self, self.chats[chat], command)

    def turn_handed(self) -> None:
        """The first one makes the session known, and then ready (AHP.txt, `session/ready`)."""
        if not self.ready:
            self.ready = True
            self._announce()
            self.say({"type": "session/ready"})

    def turn_unhanded(self, failure: TurnFailure) -> None:
        """A first one fails the creation; a message sent again tries again."""
        if not self.ready:
            self.say({"type": "session/creationFailed", "error": failure.info()})
            self._announce()

    def _announce(self) -> None:
        """In the place it has among what is said: a row is shown as it is by then."""
        self._world.store.behind(lambda: self._catalogue.announce(self))

    def open_worker(
        self, chat: str, turn_id: str, tool_call_id: str, message: Mapping[str, Any], title: str
    ) -> IWorkerOutput:
        """See `ChatOwner.open_worker`."""
        return self.workers.open(self, chat, turn_id, tool_call_id, message, title)

    def linked(self, chat: str, action: Action) -> Action:
        """See `ChatOwner.linked`."""
        return self.workers.linked(self, chat, action)

    def workers_over(self, chat: str, turn_id: str | None) -> None:
        """See `ChatOwner.workers_over`."""
        self.workers.over(chat, turn_id)

    def workers_run(self, chat: str) -> bool:
        """See `ChatOwner.workers_run`."""
        return self.workers.busy(chat)

    def activity_moved(self) -> None:
        """See `ChatOwner.activity_moved`."""
        self._catalogue.set_active(
            self, any(chat.current is not None for chat in self.chats.values())
        )

    def chat_moved(self, chat: str, envelope: Envelope) -> None:
        """Keep the chat's row, its session's read bit and the session's activity in step."""
        held, offers = self.chats[chat], self._world.offers
        kind, before = envelope.type, held.row
        if offers is not None:
            offers.chat_moved(self.uri, chat, envelope.action, envelope.origin)
        if self._world.happenings.told is not None:
            self._world.happenings.told.chat_moved(self, held, envelope.action)
        if kind == "session/configChanged":
            # Sent on the chat, it is the session's all the same.
            self.say({key: envelope.action[key] for key in _CONFIG_KEYS if key in envelope.action})
            return
        self._sync_row(held)
        self.movable.sync(self, held)
        clients = client_ids(self.state)
        self.blockers.moved(chat, held.state, envelope.action, clients)
        fail_orphan(held, envelope.action, clients)
        self.workers.moved(self, held, envelope.action)
        if kind == "session/titleChanged":
            if chat == self.default_chat:
                self.say({"type": "session/titleChanged", "title": envelope.action["title"]})
            return
        status = held.state["status"]
        if kind == "chat/isReadChanged":
            couple_session(self, held, was_read=bool(before[1] & IS_READ))
        elif kind == "chat/isArchivedChanged":
            archived = bool(status & IS_ARCHIVED & ~before[1])
            # Nobody comes back to a chat filed away for what is new in it.
            if archived and not status & IS_READ:
                held.say({"type": "chat/isReadChanged", "isRead": True})
        self._sync_activity()

    # -- what follows an action on the session's own channel --------------------

    def observe(self, envelope: Envelope) -> None:
        """What follows from an action that was applied here; the store calls it."""
        kind, by_client = envelope.type, envelope.origin is not None
        if kind == "session/titleChanged" and by_client:
            if len(self.counted_chats()) <= 1:
                self.retitle(self.chats[self.default_chat], envelope.action["title"])
        elif kind == "session/isReadChanged" and by_client:
            couple_only_chat(self, envelope.action["isRead"])
        elif kind == "session/activeClientRemoved":
            for chat in tuple(self.chats.values()):
                fail_calls(chat, envelope.action["clientId"])
        elif kind in IN_FORCE:
            self.in_force = handed_on(self, self.in_force, self._world.from_plugins.settings())
        if kind in DECIDES_MOVABLE:
            self.movable.sync_all(self)
        elif kind == "session/activityChanged":
            self._words = envelope.action.get("activity")
            self._sync_activity()
        company = self._world.company()
        if company is not None:
            company.moved(self, envelope)
        self._catalogue.moved(self)

    def counted_chats(self) -> list[Chat]:
        """The chats the session's read state is made of: all but a tool's and a hidden one."""
        return [chat for chat in self.chats.values() if counts(chat.state)]

    # -- chats -------------------------------------------------------------------

    def open_chat(self, state: State, facts: Mapping[str, Any] | None = None) -> Chat:
        """Hold a chat whose row the session's state has already or is told next."""
        uri = state["resource"]
        self.movable.opened(state)
        canvases = list(self._world.from_plugins.canvases(uri))
        if canvases:  # they outlive the sleep of the session
            state["canvases"] = canvases
        chat = self.chats[uri] = Chat(self._world, self, uri, row_of(state), facts)
        chat.provider = state.get("provider")
        journal = self._world.journal(self.uri, uri, ChannelKind.CHAT, chat.unsaved, facts)
        self._world.store.open(uri, ChannelKind.CHAT, state, chat.observe, journal)
        return chat

    def add_chat(self, state: State, facts: Mapping[str, Any] | None = None) -> Chat:
        """Open a chat beside the ones there are, and say its row.

        The default chat takes the session's title of this moment as its own. `facts` are
        kept with it (`ahpd.chats.kept`). Raises `StoreFailure`, and there is no chat then.
        """
        chat = self.open_chat(state, facts)
        try:
            self._world.save(self.uri)
        except StoreFailure:
            del self.chats[chat.uri]
            self._world.store.close(chat.uri)
            raise
        self.say({"type": "session/chatAdded", "summary": summary_of(state)})
        take_own_title(self)
        return chat

    def chats_moved(self) -> None:
        """Other chats are here than before: what the session shows of them follows."""
        self.activity_moved()
        self._sync_activity()
        self.movable.sync_all(self)

    def workspace_changing(self, by: int) -> None:
        """One more change of its folders waits for a person, or one less."""
        self.movable.changing += by
        self.movable.sync_all(self)

    def drop_chat(self, chat: Chat) -> None:
        """Say that a chat is gone and let go of its channel. Its turn's end was said."""
        del self.chats[chat.uri]
        self.say({"type": "session/chatRemoved", "chat": chat.uri})
        self.blockers.drop(chat.uri)
        self._world.store.close(chat.uri)
        self.chats_moved()

    # -- beside the chats ----------------------------------------------------------

    @property
    def annotations(self) -> str:
        """The channel its marks are on."""
        return annotations_of(self.uri)

    def open_annotations(self, state: State | None = None) -> None:
        """Hold the marks' channel from now on, empty at first or as it was."""
        world, uri = self._world, self.annotations
        if not world.store.is_open(uri):
            held = {"annotations": []} if state is None else state
            journal = world.journal(self.uri, uri, ChannelKind.ANNOTATIONS, None, None)
            world.store.open(uri, ChannelKind.ANNOTATIONS, held, self._marked, journal)

    def _marked(self, envelope: Envelope) -> None:
        self._catalogue.moved(self)

    @property
    def marks(self) -> State | None:
        """See `ahpd.sessions.entry.Listed.marks`."""
        state = self._world.store.find(self.annotations)
        return None if state is None else marks_of(self.annotations, state)

    @property
    def at_rest(self) -> bool:
        """See `ahpd.sessions.entry.Listed.at_rest`."""
        return not any(chat.is_open or chat.runs for chat in self.chats.values())

    def close(self) -> None:
        """Let go of its own channels; its chats are closed by whoever closes it."""
        company = self._world.company()
        if company is not None:
            company.let_go(self)
        self._world.store.close(self.annotations)
        self._world.store.close(self.uri)

    def retitle(self, chat: Chat, title: str) -> None:
        """Have a chat hold a title, which no action of a chat carries, and say its row."""
        self._world.store.amend(chat.uri, {"title": title})
        self._sync_row(chat)

    def _sync_row(self, chat: Chat) -> None:
        before, after = chat.row, row_of(chat.state)
        if before == after:
            return
        chat.row = remembered(before, after)
        changes = moved(before, after)
        if changes:
            self.say({"type": "session/chatUpdated", "chat": chat.uri, "changes": changes})

    def _sync_activity(self) -> None:
        """Show what the chat that drives the session is doing as the session's activity."""
        chats = [chat.state for chat in self.chats.values()]
        lead = driving_chat({"chats": chats, "defaultChat": self.default_chat})
        activity = (None if lead is None else lead.get("activity")) or self._words
        if self.state.get("activity") != activity:
            self._world.store.amend(self.uri, {"activity": activity})
            self._catalogue.moved(self)
