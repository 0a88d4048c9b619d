"""What a client may do on a session's channel (AHP.txt, the `session/*` table)."""

from collections.abc import Callable, Mapping
from typing import Final

from zope.interface import implementer

from ahpd.channels.envelope import Origin
from ahpd.channels.store import ChannelStore
from ahpd.chats.actions import not_served
from ahpd.interfaces import IActionHandler, Refusal
from ahpd.protocol import Action
from ahpd.sessions.session import Session

#: What a client holds nothing pending for: dropped where the session is not known.
_DROPPED: Final = frozenset({"session/isReadChanged", "session/isArchivedChanged"})
_OF_CLIENTS: Final = frozenset({"session/activeClientSet", "session/activeClientRemoved"})
_OF_FOLDERS: Final = frozenset(
    {
        "session/workingDirectorySet",
        "session/workingDirectoryRemoved",
        "session/workingDirectoryReplaced",
    }
)
#: What this host has no customizations to do with so far.
_NOT_SERVED: Final = frozenset(
    {
        "session/customizationToggled",
        "session/mcpServerStartRequested",
        "session/mcpServerStopRequested",
        "session/mcpServerBackgroundRequested",
    }
)


@implementer(IActionHandler)
class SessionActions:
    """The handler of every session's channel. `find` knows a session by any of its URIs."""

    def __init__(self, store: ChannelStore, find: Callable[[str], Session | None]) -> None:
        self._store = store
        self._find = find
        self._acts: Mapping[str, Callable[[Session, Action, Origin], None]] = {
            "session/titleChanged": self._say,
            "session/activeClientSet": self._say,
            "session/activeClientRemoved": self._say,
            "session/isArchivedChanged": self._say,
            "session/isReadChanged": self._read,
            "session/configChanged": self._config,
        }

    def handle(self, channel: str, action: Action, origin: Origin) -> None:
        """See `IActionHandler.handle`. Never raises anything but `Refusal`."""
        kind = action["type"]
        session = self._find(channel)
        if session is None:
            if kind in _DROPPED:
                return
            words = "No agent for session" if kind in _OF_CLIENTS else "Session not found"
            raise Refusal(f"{words}: {channel}")
        act = self._acts.get(kind)
        if act is not None:
            act(session, action, origin)
        elif kind in _OF_FOLDERS:
            raise Refusal(
                f"Session does not support dynamic working-directory changes: {session.uri}"
            )
        elif kind in _NOT_SERVED:
            raise not_served(kind)
        else:
            raise Refusal(f"{kind} is no action of a session's channel: {channel}")

    def _say(self, session: Session, action: Action, origin: Origin) -> None:
        self._store.dispatch(session.uri, action, origin)

    def _read(self, session: Session, action: Action, origin: Origin) -> None:
        """A session stays unread while one of its chats is, and the answer says so."""
        if action["isRead"] and session.any_unread():
            action = {**action, "isRead": False}
        self._say(session, action, origin)

    def _config(self, session: Session, action: Action, origin: Origin) -> None:
        refused = session.config_refused(action)
        if refused is not None:
            raise Refusal(refused)
        self._say(session, action, origin)
