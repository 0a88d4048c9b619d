"""What an older VS Code window is shown: the sessions and chats it can address.

A window that names itself and does not declare `vscode.ahpSessionUris` cannot address an
`ahp-session:` session; one that does not declare `vscode.ahpChatUris` knows a chat only by
a URI that names its session. Every other client is shown everything and has no
`OlderWindow` at all.

Source: AHP.txt, "An older VS Code window" and "Chat URIs".
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ahpd.channels.envelope import Envelope
from ahpd.interfaces import AGENTS_WINDOW, EDITOR_WINDOW, IAddresses
from ahpd.protocol import Action, State
from ahpd.protocol.uris import ChannelKind, kind_of, scheme, session_of_chat
from ahpd.wire.codec import Frame, decode, encode

SESSION_URIS: Final = "vscode.ahpSessionUris"
CHAT_URIS: Final = "vscode.ahpChatUris"

_HANGS_OFF_A_SESSION: Final = frozenset(
    {ChannelKind.SESSION, ChannelKind.CHAT, ChannelKind.ANNOTATIONS, ChannelKind.CHANGESET}
)
#: The actions that name one chat of a session, and the field that does.
_OF_ONE_CHAT: Final = {
    "session/chatRemoved": "chat",
    "session/chatUpdated": "chat",
    "session/defaultChatChanged": "defaultChat",
}


@attrs.frozen(kw_only=True)
class OlderWindow:
    """The eyes of one connection of an older window."""

    addresses: IAddresses
    session_uris: bool
    """Whether it can address an `ahp-session:` session."""
    chat_uris: bool
    """Whether it can address a chat that does not name its session."""

    # -- what it sees -----------------------------------------------------------------

    def sees(self, channel: str) -> bool:
        """Whether it is shown `channel`, spelled as the host holds it."""
        kind = kind_of(channel)
        if kind not in _HANGS_OFF_A_SESSION:
            return True
        found = self.addresses.session_of(channel)
        if found is None:
            return self._sees_by_spelling(kind, channel)
        session, default_chat = found
        if not self._sees_session(session, default_chat):
            return False
        return kind is not ChannelKind.CHAT or self._sees_chat(session, channel)

    def _sees_by_spelling(self, kind: ChannelKind, channel: str) -> bool:
        """For what belongs to no session here: one that is gone, or never was."""
        session: str | None = channel
        if kind is ChannelKind.CHAT:
            session = session_of_chat(channel)
            if session is None:
                return self.chat_uris
        return self.session_uris or scheme(session or "") != "ahp-session"

    def _sees_session(self, session: str, default_chat: str | None) -> bool:
        if not self.session_uris and scheme(session) == "ahp-session":
            return False
        return default_chat is None or self._sees_chat(session, default_chat)

    def _sees_chat(self, session: str, chat: str) -> bool:
        return self.chat_uris or session_of_chat(chat) == session

    # -- what it is shown -------------------------------------------------------------

    def shown_row(self, summary: State) -> State | None:
        """A session's row (schema: SessionSummary) with the chats it can address.

        None for a session it is not shown.
        """
        if not self._sees_session(summary["resource"], summary.get("defaultChat")):
            return None
        return self._with_chats(summary["resource"], summary)

    def shown_state(self, session: str, state: State) -> State:
        """A session's state (schema: SessionState) with the chats it can address."""
        return self._with_chats(session, state)

    def _with_chats(self, session: str, holder: State) -> State:
        if self.chat_uris or "chats" not in holder:
            return holder
        shown = [chat for chat in holder["chats"] if self._sees_chat(session, chat["resource"])]
        return {**holder, "chats": shown}

    def projected(self, envelope: Envelope) -> Envelope | None:
        """The envelope as this window gets it; None for one it does not get."""
        if not self.sees(envelope.channel):
            return None
        if self.chat_uris:
            return envelope
        action = self._listed(envelope.channel, envelope.action)
        if action is envelope.action:
            return envelope
        if action is None:
            return None
        return Envelope(envelope.channel, action, envelope.seq, envelope.origin, envelope.rejection)

    def _listed(self, session: str, action: Action) -> Action | None:
        """A chat list action with the chats it can address; any other as it is."""
        kind = action["type"]
        if kind == "session/chatsReordered":
            chats = [chat for chat in action["chats"] if self._sees_chat(session, chat)]
            return {**action, "chats": chats}
        if kind == "session/chatAdded":
            chat = action["summary"]["resource"]
        elif kind in _OF_ONE_CHAT:
            chat = action.get(_OF_ONE_CHAT[kind])
        else:
            return action
        return action if chat is None or self._sees_chat(session, chat) else None

    def notified(self, method: str, frame: Frame) -> Frame | None:
        """A notification's frame as this window gets it; None for one it does not get."""
        if not method.startswith("root/session"):
            return frame
        message = decode(frame.payload)
        params: State = message["params"]
        if method == "root/sessionAdded":
            row = self.shown_row(params["summary"])
            if row is None:
                return None
            shown: State = {"summary": row}
        elif not self.sees(params["session"]):
            return None
        elif method == "root/sessionSummaryChanged":
            shown = {"changes": self._with_chats(params["session"], params["changes"])}
        else:
            return frame
        return Frame(encode({**message, "params": {**params, **shown}}))


def older_window(
    info: Mapping[str, Any] | None, meta: Mapping[str, Any] | None, addresses: IAddresses
) -> OlderWindow | None:
    """The eyes of a window that says `info` and `meta` at its handshake; None for all others.

    `info` is its `clientInfo`, `meta` the `_meta` of its `initialize` or `reconnect`.
    """
    if info is None or info.get("name") not in (EDITOR_WINDOW, AGENTS_WINDOW):
        return None
    declared = meta or {}
    session_uris, chat_uris = bool(declared.get(SESSION_URIS)), bool(declared.get(CHAT_URIS))
    if session_uris and chat_uris:
        return None
    return OlderWindow(addresses=addresses, session_uris=session_uris, chat_uris=chat_uris)
