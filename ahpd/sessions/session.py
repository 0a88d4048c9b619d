"""One session: its chats, and what moves in it when something moves in one of them.

It is the owner its chats see (`ahpd.chats.owner.ChatOwner`). Everything here follows
from an action that was applied, so it is the same whoever said it: a client, the
host, or a backend.
"""

from collections.abc import Mapping
from typing import Any, Final

from ahpd.channels.envelope import Envelope
from ahpd.chats.chat import Chat
from ahpd.chats.owner import Surroundings, TurnFailure
from ahpd.chats.rows import moved, remembered, row_of, summary_of
from ahpd.chats.titles import title_from
from ahpd.interfaces import IAgent
from ahpd.protocol import Action, State
from ahpd.protocol.status import IS_ARCHIVED, IS_READ
from ahpd.protocol.uris import ChannelKind
from ahpd.sessions.annotations import annotations_of
from ahpd.sessions.catalogue import Catalogue
from ahpd.sessions.config import change_refused
from ahpd.sessions.summary import driving_chat

#: What the host says again of a change of the configuration that came on a chat.
_CONFIG_KEYS: Final = ("type", "config", "replace")


class Session:
    """A session held here; its state is the store's, under `uri`."""

    __slots__ = (
        "_catalogue",
        "_world",
        "agent",
        "chats",
        "created_at",
        "default_chat",
        "ready",
        "uri",
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
        self.default_chat: str = state["defaultChat"]
        self.ready = False
        """Whether a first turn was handed to a backend; the session is provisional until then."""
        world.store.open(uri, ChannelKind.SESSION, state, self.observe)

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
    def working_directories(self) -> tuple[str, ...]:
        """See `ChatOwner.working_directories`."""
        return tuple(self.state.get("workingDirectories", ()))

    @property
    def config_values(self) -> Mapping[str, Any]:
        """See `ChatOwner.config_values`."""
        config: State = self.state.get("config") or {"values": {}}
        values: State = config["values"]
        return values

    def config_refused(self, action: Action) -> str | None:
        """See `ChatOwner.config_refused`."""
        return change_refused(self.state.get("config"), action, fresh=not self.ready)

    def turn_refused(self, chat_archived: bool) -> TurnFailure | None:
        """See `ChatOwner.turn_refused`."""
        if self.closing:
            return TurnFailure("hostClosing", "The host is shutting down and starts no new turn.")
        if self.archived:
            return TurnFailure("sessionArchived", "The session is archived: restore it first.")
        if chat_archived:
            return TurnFailure("chatArchived", "The chat is archived: restore it first.")
        return None

    def turn_admitted(self, chat: str, message: State) -> None:
        """Name what has no name after its first message.

        A default chat alone in its session leaves its own title empty: it is read as
        the session's (AHP.txt, `session/titleChanged`).
        """
        is_default = chat == self.default_chat
        session_untitled = is_default and not self.state["title"]
        chat_untitled = (not is_default or len(self.chats) > 1) and not self.chats[chat].state[
            "title"
        ]
        if not session_untitled and not chat_untitled:
            return
        title = title_from(message["text"])
        if not title:
            return
        if chat_untitled:
            self._retitle(self.chats[chat], title)
        if session_untitled:
            self.say({"type": "session/titleChanged", "title": title})

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

    def activity_moved(self) -> None:
        """See `ChatOwner.activity_moved`."""
        self._catalogue.set_active(
            self, any(chat.current is not None for chat in self.chats.values())
        )

    def chat_moved(self, chat: str, envelope: Envelope) -> None:
        """Keep the chat's row, its session's read bit and the session's activity in step."""
        held = self.chats[chat]
        kind, before = envelope.type, held.row
        if kind == "session/configChanged":
            # Sent on the chat, it is the session's all the same.
            self.say({key: envelope.action[key] for key in _CONFIG_KEYS if key in envelope.action})
            return
        self._sync_row(held)
        if kind == "session/titleChanged":
            if chat == self.default_chat:
                self.say({"type": "session/titleChanged", "title": envelope.action["title"]})
            return
        status = held.state["status"]
        if kind == "chat/isReadChanged":
            was_read = bool(before[1] & IS_READ)
            self._couple_read(held, was_read, bool(status & IS_READ))
        elif kind == "chat/isArchivedChanged" and status & IS_ARCHIVED and not status & IS_READ:
            # Nobody comes back to a chat filed away for what is new in it.
            held.say({"type": "chat/isReadChanged", "isRead": True})
        self._sync_activity()

    # -- what follows an action on the session's own channel --------------------

    def observe(self, envelope: Envelope) -> None:
        """What follows from an action that was applied here; the store calls it."""
        kind, by_client = envelope.type, envelope.origin is not None
        if kind == "session/titleChanged" and by_client:
            if len(self.counted_chats()) <= 1:
                self._retitle(self.chats[self.default_chat], envelope.action["title"])
        elif kind == "session/isReadChanged" and by_client:
            self._couple_only_chat(envelope.action["isRead"])
        elif kind == "session/configChanged":
            for chat in self.chats.values():
                chat.refresh_backend()
        self._catalogue.moved(self)

    def counted_chats(self) -> list[Chat]:
        """The chats the session's read state is made of: all but a tool's and a hidden one."""
        return [chat for chat in self.chats.values() if _counts(chat.state)]

    def any_unread(self) -> bool:
        """Whether the session has peers and one of them is unread."""
        counted = self.counted_chats()
        return len(counted) > 1 and any(not chat.state["status"] & IS_READ for chat in counted)

    def _couple_only_chat(self, is_read: bool) -> None:
        counted = self.counted_chats()
        if len(counted) == 1 and bool(counted[0].state["status"] & IS_READ) != is_read:
            counted[0].say({"type": "chat/isReadChanged", "isRead": is_read})

    def _couple_read(self, chat: Chat, was_read: bool, is_read: bool) -> None:
        """Move the session's bit after a chat's (AHP.txt, `chat/isReadChanged`)."""
        if not _counts(chat.state):
            return
        session_read = bool(self.state["status"] & IS_READ)
        if not is_read:
            if session_read:
                self.say({"type": "session/isReadChanged", "isRead": False})
            return
        counted = self.counted_chats()
        if session_read or (was_read and len(counted) > 1):
            return
        if all(other.state["status"] & IS_READ for other in counted):
            self.say({"type": "session/isReadChanged", "isRead": True})

    # -- chats -------------------------------------------------------------------

    def open_chat(self, state: State) -> Chat:
        """Hold a chat whose row the session's state has already or is told next."""
        uri = state["resource"]
        chat = self.chats[uri] = Chat(self._world, self, uri, row_of(state))
        self._world.store.open(uri, ChannelKind.CHAT, state, chat.observe)
        return chat

    def add_chat(self, state: State) -> Chat:
        """Open a chat beside the ones there are, and say its row.

        The default chat takes the session's title of this moment as its own.
        """
        chat = self.open_chat(state)
        self.say({"type": "session/chatAdded", "summary": summary_of(state)})
        lead = self.chats[self.default_chat]
        title = self.state["title"]
        if title and not lead.state["title"]:
            self._retitle(lead, title)
        return chat

    def drop_chat(self, chat: Chat) -> None:
        """Say that a chat is gone and let go of its channel. Its turn's end was said."""
        del self.chats[chat.uri]
        self.say({"type": "session/chatRemoved", "chat": chat.uri})
        self._world.store.close(chat.uri)
        self.activity_moved()
        self._sync_activity()

    # -- beside the chats ----------------------------------------------------------

    @property
    def annotations(self) -> str:
        """The channel its marks are on."""
        return annotations_of(self.uri)

    def open_annotations(self) -> None:
        """Hold the marks' channel from now on, empty at first."""
        if not self._world.store.is_open(self.annotations):
            self._world.store.open(self.annotations, ChannelKind.ANNOTATIONS, {"annotations": []})

    def close(self) -> None:
        """Let go of its own channels; its chats are closed by whoever closes it."""
        self._world.store.close(self.annotations)
        self._world.store.close(self.uri)

    def _retitle(self, chat: Chat, title: str) -> None:
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
        lead = driving_chat(
            {
                "chats": [chat.state for chat in self.chats.values()],
                "defaultChat": self.default_chat,
            }
        )
        activity = None if lead is None else lead.get("activity")
        if self.state.get("activity") != activity:
            self._world.store.amend(self.uri, {"activity": activity})
            self._catalogue.moved(self)


def _counts(chat: State) -> bool:
    origin: State = chat.get("origin") or {}
    return origin.get("kind") != "tool" and chat.get("interactivity") != "hidden"
