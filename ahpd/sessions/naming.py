"""The titles of a session and its default chat, which flow between the two.

Source: AHP.txt, `session/titleChanged`.
"""

from typing import TYPE_CHECKING

from ahpd.chats.chat import Chat
from ahpd.chats.titles import title_from
from ahpd.protocol import State

if TYPE_CHECKING:
    from ahpd.sessions.session import Session


def name_untitled(session: "Session", chat: Chat, message: State) -> None:
    """Name what has no name after its first message.

    A default chat alone in its session leaves its own title empty: it is read as the
    session's.
    """
    is_default = chat.uri == session.default_chat
    session_untitled = is_default and not session.state["title"]
    chat_untitled = (not is_default or len(session.chats) > 1) and not chat.state["title"]
    if not session_untitled and not chat_untitled:
        return
    title = title_from(message["text"])
    if not title:
        return
    if chat_untitled:
        session.retitle(chat, title)
    if session_untitled:
        session.say({"type": "session/titleChanged", "title": title})


def take_own_title(session: "Session") -> None:
    """Another chat is here: the default chat takes the session's title as its own."""
    lead = session.chats[session.default_chat]
    title = session.state["title"]
    if title and not lead.state["title"]:
        session.retitle(lead, title)
