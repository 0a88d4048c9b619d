"""A session that is to work in another folder once the turn that asked for it is complete.

An agent is begun again in its new folder, and begun again within a turn it would never finish
that turn. So the move waits for the turn's end, and the chat goes on with a message that says
where it is now. Source: AHP.txt, `session/workingDirectoryReplaced`; a turn that is stopped or
fails moves nothing.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from twisted.logger import Logger
from zope.interface import implementer

from ahpd.channels.envelope import Envelope
from ahpd.channels.store import ChannelStore
from ahpd.chats.admission import refused
from ahpd.chats.chat import Chat
from ahpd.chats.turn import ENDS
from ahpd.interfaces import ISubscriber, StoreFailure, ToolFailure
from ahpd.protocol import State
from ahpd.sessions.registry import session_of
from ahpd.sessions.session import Session
from ahpd.wire.codec import Frame

log = Logger()

_COMPLETE: Final = "chat/turnComplete"


class WorkspaceMoves:
    """The moves that wait, one a chat at most. `find_chat` knows a chat that is held."""

    def __init__(self, store: ChannelStore, find_chat: Callable[[str], Chat | None]) -> None:
        self._store = store
        self._find_chat = find_chat
        self._waiting: dict[str, _TurnEnd] = {}

    def ask(self, chat: Chat, folder: str, notice: State) -> None:
        """Move the chat's session once the turn that runs is complete; one asked for before is not.

        Raises `ToolFailure` where it cannot be moved.
        """
        turn = chat.current
        if turn is None:
            raise ToolFailure("No turn runs in this chat.")
        _check(session_of(chat), chat, folder)
        self._forget(chat.uri)
        end = _TurnEnd(turn.turn_id, partial(self._over, chat.uri, folder, notice))
        self._waiting[chat.uri] = end
        self._store.subscribe(chat.uri, end)

    def _forget(self, uri: str) -> None:
        """Whoever waits in that chat, or in one that is gone, waits no more."""
        for chat, end in tuple(self._waiting.items()):
            if chat == uri or not self._store.is_watching(chat, end):
                del self._waiting[chat]
                self._store.unsubscribe(chat, end)

    def _over(self, uri: str, folder: str, notice: State, complete: bool) -> None:
        """The turn is over; its end is being said."""
        self._forget(uri)
        if complete:
            self._store.behind(lambda: self._move(uri, folder, notice))

    def _move(self, uri: str, folder: str, notice: State) -> None:
        chat = self._find_chat(uri)
        if chat is None or chat.closed or refused(chat) is not None:
            return
        session = session_of(chat)
        try:
            _check(session, chat, folder)
        except ToolFailure as failed:  # it was otherwise when it was asked for
            log.warn("{session} stays where it is: {words}", session=session.uri, words=str(failed))
            return
        folders = session.working_directories
        if not folders:
            session.say({"type": "session/workingDirectorySet", "directory": folder})
        elif folder not in folders:
            replaced = {"directory": folders[0], "replacement": folder}
            session.say({"type": "session/workingDirectoryReplaced", **replaced})
        if chat.kept.folders is not None:
            with suppress(StoreFailure):  # it holds all the same, and goes with the next thing kept
                chat.kept.work_in(None)
        # Behind what follows from the move: the agent is begun again by then.
        self._store.behind(lambda: self._go_on(chat, notice))

    def _go_on(self, chat: Chat, notice: State) -> None:
        """Have the chat go on, unless somebody else has it do something already."""
        if chat.closed or chat.current is not None or refused(chat) is not None:
            return
        chat.refresh_backend()
        chat.start_message(notice)


def _check(session: Session, chat: Chat, folder: str) -> None:
    """Raise `ToolFailure` for a session whose folder cannot be another one."""
    folders = session.working_directories
    if folders and folder == folders[0]:
        return
    if folder in folders:
        raise ToolFailure(f"{folder} is a folder of this session already, beside its first.")
    for each in session.chats.values():
        if each is not chat and each.runs:
            raise ToolFailure("Another chat of this session runs a turn; wait for it to end.")
        if "workingDirectories" in each.state:
            raise ToolFailure(
                f"The chat {each.uri} of this session works in folders of its own: they would not "
                "move with it."
            )


@implementer(ISubscriber)
class _TurnEnd:
    """Watches a chat until a turn of it is over, and tells whether it was completed."""

    def __init__(self, turn_id: str, over: Callable[[bool], None]) -> None:
        self._turn_id = turn_id
        self._over = over

    def deliver(self, envelope: Envelope) -> None:
        """See `ISubscriber.deliver`."""
        if envelope.type not in ENDS or envelope.rejection is not None:
            return
        if envelope.action.get("turnId") == self._turn_id:
            self._over(envelope.type == _COMPLETE)

    def notify(self, channel: str, method: str, frame: Frame) -> None:
        """See `ISubscriber.notify`."""

    def lagging(self) -> bool:
        """See `ISubscriber.lagging`."""
        return False
