"""What a client may do on a session's channel (AHP.txt, the `session/*` table)."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from zope.interface import implementer

from ahpd.channels.envelope import Origin
from ahpd.channels.store import ChannelStore
from ahpd.interfaces import IActionHandler, Refusal
from ahpd.protocol import Action
from ahpd.sessions.company import SessionCompany
from ahpd.sessions.folders import FOLDER_ACTIONS
from ahpd.sessions.mcp_servers import SERVER_ACTIONS
from ahpd.sessions.read_state import any_unread
from ahpd.sessions.session import Session

#: What a client holds nothing pending for: dropped where the session is not known.
_DROPPED: Final = frozenset({"session/isReadChanged", "session/isArchivedChanged"})
_OF_CLIENTS: Final = frozenset({"session/activeClientSet", "session/activeClientRemoved"})


@implementer(IActionHandler)
class SessionActions:
    """The handler of every session's channel. `find` knows a session by any of its URIs."""

    def __init__(
        self,
        store: ChannelStore,
        find: Callable[[str], Session | None],
        company: SessionCompany,
    ) -> None:
        self._store = store
        self._find = find
        self._acts: Mapping[str, Callable[[Session, Action, Origin], Awaitable[None] | None]] = {
            "session/titleChanged": self._say,
            "session/activeClientSet": self._say,
            "session/activeClientRemoved": self._say,
            "session/isArchivedChanged": self._say,
            "session/isReadChanged": self._read,
            "session/configChanged": self._config,
            "session/customizationToggled": company.customizations.toggled,
            **dict.fromkeys(SERVER_ACTIONS, company.servers.requested),
            **dict.fromkeys(FOLDER_ACTIONS, company.folders.handle),
        }

    def handle(self, channel: str, action: Action, origin: Origin) -> Awaitable[None] | None:
        """See `IActionHandler.handle`. Never raises anything but `Refusal`."""
        kind = action["type"]
        session = self._find(channel)
        if session is None:
            if kind in _DROPPED:
                return None
            words = "No agent for session" if kind in _OF_CLIENTS else "Session not found"
            raise Refusal(f"{words}: {channel}")
        act = self._acts.get(kind)
        if act is None:
            raise Refusal(f"{kind} is no action of a session's channel: {channel}")
        return act(session, action, origin)

    def _say(self, session: Session, action: Action, origin: Origin) -> None:
        self._store.dispatch(session.uri, action, origin)

    def _read(self, session: Session, action: Action, origin: Origin) -> None:
        """A session stays unread while one of its chats is, and the answer says so."""
        if action["isRead"] and any_unread(session):
            action = {**action, "isRead": False}
        self._say(session, action, origin)

    def _config(self, session: Session, action: Action, origin: Origin) -> None:
        refused = session.config_refused(action)
        if refused is not None:
            raise Refusal(refused)
        self._say(session, action, origin)
