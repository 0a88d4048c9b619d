"""How a model names a session or a chat, and how it is told of one.

A link is `agent-host-session://<provider>/<session's id>`, with `?chat=<id>` for a chat that is
not its session's default one and `&turn=<id>` for a turn to read up to; VS Code's window opens
it. A model may name a session by its URI and a chat by its own, too: that is what a message's
attached chat points with (CHATS.txt, "Attachments").
"""

import re
from typing import Final
from urllib.parse import parse_qs, quote, unquote

import attrs

from ahpd.protocol import State
from ahpd.protocol.uris import ChannelKind, kind_of, scheme, session_id

SCHEME: Final = "agent-host-session"
_LINK: Final = re.compile(
    rf"{SCHEME}://(?P<provider>[^/?#]+)/(?P<id>[^?#]+)(?:\?(?P<query>[^#]*))?(?:#.*)?",
    re.IGNORECASE | re.DOTALL,
)
_SHAPED: Final = re.compile(r"ahp-chat://(?P<id>[^/]+)/[^/]+", re.DOTALL)
_OPAQUE: Final = re.compile(r"ahp-chat:/(?P<id>[^/].*)", re.DOTALL)
#: The id of a default chat that is derived from its session's: it is named by no id.
_DEFAULT: Final = "default"


@attrs.frozen(kw_only=True)
class Named:
    """What a model named."""

    session: str | None = None
    """The session's URI, in one of its spellings; None where a chat's own names it."""
    provider: str | None = None
    """The agent's id a link says the session is on."""
    chat: str | None = None
    """A chat's id or URI; None for the session's default chat."""
    turn: str | None = None
    """The turn to read up to."""


def parsed(text: str) -> Named | None:
    """What `text` names; None for a text that names no session and no chat."""
    text = text.strip()
    link = _LINK.fullmatch(text)
    if link is not None:
        query = parse_qs(link["query"] or "")
        chat = query.get("chat", [""])[0]
        return Named(
            session=f"ahp-session:/{quote(unquote(link['id']), safe='')}",
            provider=unquote(link["provider"]),
            chat=None if chat in ("", _DEFAULT) else chat,
            turn=query.get("turn", [None])[0],
        )
    if scheme(text) == SCHEME:
        return None
    kind = kind_of(text)
    if kind is ChannelKind.CHAT:
        return Named(chat=text)
    return Named(session=text) if kind is ChannelKind.SESSION else None


def link_to(row: State, chat: str | None = None) -> str:
    """The link to a session of this row (schema: SessionSummary), or to a chat of it (its URI)."""
    link = f"{SCHEME}://{quote(row['provider'], safe='')}/{quote(session_id(row['resource']), safe='')}"
    if chat is None or chat == row.get("defaultChat"):
        return link
    return f"{link}?chat={quote(chat_id(chat), safe='')}"


def chat_id(chat: str) -> str:
    """What tells a chat apart in its session's links: its id, or its URI where that has none."""
    match = _SHAPED.fullmatch(chat) or _OPAQUE.fullmatch(chat)
    return chat if match is None or match["id"] == _DEFAULT else match["id"]
