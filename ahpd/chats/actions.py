"""What a client may do on a chat's channel (AHP.txt, the `chat/*` table).

An action is accepted by saying it, which is its answer, and refused in words. What
follows from an accepted one is decided where it is observed (`Chat.observe`), so
that it follows whoever said it.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from zope.interface import implementer

from ahpd.channels.envelope import Origin, PluginOrigin
from ahpd.channels.store import ChannelStore
from ahpd.chats.attached import SAYS_A_MESSAGE, as_pinned, kept_first
from ahpd.chats.chat import Chat
from ahpd.chats.grants import check_answer, confirm_call
from ahpd.chats.history import tell_back_to
from ahpd.chats.queue import resumable_error
from ahpd.chats.steering import BEING_PROCESSED
from ahpd.chats.tool_actions import TOOL_ACTIONS
from ahpd.interfaces import IActionHandler, IAttachments, Refusal
from ahpd.protocol import Action, State
from ahpd.protocol.actions import belongs_on
from ahpd.protocol.status import IS_ARCHIVED
from ahpd.protocol.timestamps import instant
from ahpd.protocol.uris import ChannelKind

_NO_STEERING: Final = "The session provider does not support steering messages."
_NO_TURNS: Final = "The chat is read-only and takes no turn while it runs one."
_NO_MESSAGES: Final = "The chat is read-only and takes no message."
_NO_RESUME: Final = "The session provider does not support turn resume."
_NOT_ARCHIVABLE: Final = "Only a known independently manageable non-default chat can be archived."
#: What is refused for a chat nobody here knows; anything else is said back.
_UNKNOWN_CHAT: Final = {
    "chat/isReadChanged": "Only a known chat can change its read state.",
    "chat/isArchivedChanged": _NOT_ARCHIVABLE,
}

#: Kinds of message that a host alone may send; one nobody here knows is passed on.
_NOT_A_CLIENTS: Final = frozenset({"agent", "tool", "automation", "systemNotification"})


def not_served(kind: str) -> Refusal:
    """A client's action this host does not act on so far."""
    return Refusal(f"{kind} is not served by this host yet.")


@implementer(IActionHandler)
class ChatActions:
    """The handler of every chat's channel.

    `find` knows a chat by any URI it answers to; `is_default` says whether a chat
    has its session's default role.
    """

    def __init__(
        self,
        store: ChannelStore,
        find: Callable[[str], Chat | None],
        is_default: Callable[[Chat], bool],
        attachments: IAttachments | None = None,
    ) -> None:
        self._store = store
        self._find = find
        self._is_default = is_default
        self._attachments = attachments
        self._acts: Mapping[str, Callable[[Chat, Action, Origin], None]] = {
            "chat/turnStarted": self._turn_started,
            "chat/turnCancelled": lambda chat, action, origin: chat.stop(action, origin),
            "chat/turnResume": self._turn_resume,
            "chat/pendingMessageSet": self._pending_message_set,
            "chat/pendingMessageRemoved": self._pending_message_removed,
            "chat/queuedMessagesReordered": _say,
            "chat/draftChanged": _say,
            "chat/isReadChanged": _say,
            "chat/isArchivedChanged": self._archived,
            **TOOL_ACTIONS,
            "chat/toolCallConfirmed": self._call_confirmed,
            "chat/truncated": self._truncated,
            "session/titleChanged": _say,
            "session/configChanged": self._session_config,
            "chat/configChanged": self._chat_config,
        }

    def handle(self, channel: str, action: Action, origin: Origin) -> Awaitable[None] | None:
        """See `IActionHandler.handle`. Never raises anything but `Refusal`."""
        chat = self._find(channel) if action["type"] in SAYS_A_MESSAGE else None
        if chat is None:
            self._act(channel, action, origin)
            return None

        def act(kept: Action) -> None:
            self._act(channel, kept, origin)

        if action.get("kind") == "steering":
            before = chat.steering.message(action["id"])
            action = {**action, "message": as_pinned(action["message"], before)}
        client_id = origin["clientId"]
        return kept_first(self._attachments, lambda: chat.owner.uri, action, client_id, act)

    def _act(self, channel: str, action: Action, origin: Origin) -> None:
        kind = action["type"]
        if kind in ("chat/workingDirectorySet", "chat/workingDirectoryRemoved"):
            raise Refusal(f"Unsupported action: {kind}")
        chat = self._find(channel)
        if chat is None:
            self._unknown(channel, action, origin)
            return
        act = self._acts.get(kind)
        if act is not None:
            act(chat, action, origin)
        elif kind.startswith("chat/"):
            raise not_served(kind)
        else:
            raise Refusal(f"{kind} is no action of a chat's channel: {channel}")

    def _unknown(self, channel: str, action: Action, origin: Origin) -> None:
        """AHP.txt, "An action naming nothing here"."""
        kind = action["type"]
        words = _UNKNOWN_CHAT.get(kind)
        if words is not None:
            raise Refusal(words)
        if not belongs_on(kind, ChannelKind.CHAT):
            raise Refusal(f"{kind} is no action of a chat's channel: {channel}")
        self._store.dispatch(channel, action, origin)

    def _turn_started(self, chat: Chat, action: Action, origin: Origin) -> None:
        if chat.read_only and chat.current is not None:
            raise Refusal(_NO_TURNS)  # its start would take the running turn's place
        turn_id, started = action["turnId"], action["startedAt"]
        _check_sender(action["message"], origin)
        if instant(started) is None:
            raise Refusal(f"startedAt is no ISO 8601 time: {started!r}")
        if chat.holds_turn(turn_id):
            # Said again it would empty the turn in every client's state.
            raise Refusal(f"The chat has a turn of this id already: {turn_id}")
        chat.start_turn(action, origin)

    def _turn_resume(self, chat: Chat, action: Action, origin: Origin) -> None:
        state = chat.state
        if chat.current is not None:
            raise Refusal("Cannot resume while a turn is active.")
        if chat.read_only or state["status"] & IS_ARCHIVED or chat.owner.archived:
            raise Refusal("Cannot resume a read-only or archived chat.")
        turns: list[State] = state["turns"]
        latest = turns[-1] if turns else None
        if (
            latest is None
            or latest["id"] != action["turnId"]
            or latest.get("state") != "error"
            or not resumable_error(latest)
        ):
            raise Refusal("The requested turn is not the latest resumable errored turn.")
        if not chat.agent.abilities.resume:
            raise Refusal(_NO_RESUME)
        chat.resume_turn(action, origin)

    def _pending_message_set(self, chat: Chat, action: Action, origin: Origin) -> None:
        if chat.read_only:
            raise Refusal(_NO_MESSAGES)
        steering = action["kind"] == "steering"
        if steering and not chat.can_steer:
            raise Refusal(_NO_STEERING)
        _check_sender(action["message"], origin)
        refused = chat.steering.refused(action["id"], action["message"]) if steering else None
        if refused is not None:
            raise Refusal(refused)
        chat.say(action, origin)

    def _pending_message_removed(self, chat: Chat, action: Action, origin: Origin) -> None:
        if action["kind"] == "steering" and not chat.steering.withdrawn(action["id"]):
            raise Refusal(BEING_PROCESSED)
        chat.say(action, origin)

    def _archived(self, chat: Chat, action: Action, origin: Origin) -> None:
        if self._is_default(chat):
            raise Refusal(_NOT_ARCHIVABLE)
        chat.say(action, origin)

    def _call_confirmed(self, chat: Chat, action: Action, origin: Origin) -> None:
        """In one go, so that nothing moves the question between what it grants and its answer."""
        check_answer(chat, action)

        def confirm() -> None:
            try:
                confirm_call(chat, action, origin)
            except Refusal as refused:  # the question moved while this waited
                self._store.refuse(chat.uri, action, origin, refused.reason)

        self._store.behind(confirm)

    def _truncated(self, chat: Chat, action: Action, origin: Origin) -> None:
        turn_id = action.get("turnId")
        if turn_id is not None:
            tell_back_to(self._store, chat, turn_id)
        chat.say(action, origin)

    def _session_config(self, chat: Chat, action: Action, origin: Origin) -> None:
        """A change of the session's, sent on one of its chats, is answered there."""
        refused = chat.owner.config_refused(action)
        if refused is not None:
            raise Refusal(refused)
        chat.say(action, origin)

    def _chat_config(self, chat: Chat, action: Action, origin: Origin) -> None:
        """A value the chat sets for itself: kept with it, and handed to its backend alone."""
        refused = chat.owner.chat_config_refused(chat.uri, action)
        if refused is not None:
            raise Refusal(refused)
        before = chat.owner.chat_config(chat.uri)
        chat.say(action, origin)
        if chat.owner.chat_config(chat.uri) != before:
            chat.config_moved()


def _say(chat: Chat, action: Action, origin: Origin) -> None:
    chat.say(action, origin)


def _check_sender(message: State, origin: Origin) -> None:
    """A client speaks for its user alone (schema: ChatTurnStartedAction).

    A plugin has no user, and what it tells an agent is a notification of the system's (PLUGINS.txt,
    "A plugin is a client of its own host").
    """
    kind = message["origin"]["kind"]
    if kind == "systemNotification" and isinstance(origin, PluginOrigin):
        return
    if kind in _NOT_A_CLIENTS:
        raise Refusal(f"message.origin.kind: found {kind!r}, a client sends 'user'")
