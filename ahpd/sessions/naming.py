"""The titles of a session and its default chat, which flow between the two.

Source: AHP.txt, `session/titleChanged`.
"""

from contextlib import suppress
from typing import TYPE_CHECKING

from ahpd.chats.chat import Chat
from ahpd.chats.titles import title_from
from ahpd.interfaces import StoreFailure
from ahpd.protocol import State

if TYPE_CHECKING:
    from ahpd.sessions.session import Session


def name_untitled(session: "Session", chat: Chat, message: State) -> None:
    """Name what has no name after its first message.

    A default chat alone in its session leaves its own title empty: it is read as the
    session's.
    """
    taken = chat.kept.provisional
    if _name(session, chat, message["text"], taken) and taken is not None:
        _entitle(chat, None)


def name_meanwhile(session: "Session", chat: Chat, command: str) -> None:
    """Name what has no name after a `!` command; its first message names it for good.

    Source: CHATS.txt, "A chat a ! command opened".
    """
    if _name(session, chat, command):
        _entitle(chat, title_from(command))


def _name(session: "Session", chat: Chat, text: str, taken: str | None = None) -> bool:
    """Name after `text` what has no name but the one `taken`; whether it did."""
    names = ("", taken)
    is_default = chat.uri == session.default_chat
    session_untitled = is_default and session.state["title"] in names
    chat_untitled = (not is_default or len(session.chats) > 1) and chat.state["title"] in names
    if not session_untitled and not chat_untitled:
        return False
    title = title_from(text)
    if not title:
        return False
    if chat_untitled:
        session.retitle(chat, title)
    if session_untitled:
        session.say({"type": "session/titleChanged", "title": title})
    return True


def _entitle(chat: Chat, title: str | None) -> None:
    with suppress(StoreFailure):  # it holds all the same, and goes with the next thing kept
        chat.kept.entitle(title)


def take_own_title(session: "Session") -> None:
    """Another chat is here: the default chat takes the session's title as its own."""
    lead = session.chats[session.default_chat]
    title = session.state["title"]
    if title and not lead.state["title"]:
        session.retitle(lead, title)
