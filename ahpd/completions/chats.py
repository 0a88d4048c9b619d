"""The chats a `#chat:` may name (AHP.txt, `completions`)."""

from collections.abc import Callable
from typing import Final

from ahpd.completions.tokens import Word
from ahpd.protocol import State
from ahpd.protocol.timestamps import instant

#: The most that are offered.
MOST: Final = 20


def chats(
    word: Word,
    session: State,
    typed_in: str,
    state_of: Callable[[str], State | None],
) -> list[State]:
    """Completion items (schema: CompletionItem) for the other chats of `session`, newest first.

    `typed_in` is the chat the text is typed in, as the session's rows name it; `state_of`
    answers a chat's state. A chat that finished no turn is left out, a tool's and a hidden
    one too. Each goes by the name the session's rows give it, and is pinned to the last
    turn it finished.
    """
    title_typed = word.chat_title
    if title_typed is None:
        return []
    wanted = _one_line(title_typed).casefold()
    found: list[tuple[float, str, str, str]] = []
    for row in session["chats"]:
        uri = row["resource"]
        kind = (row.get("origin") or {}).get("kind")
        if uri == typed_in or kind == "tool" or row.get("interactivity") == "hidden":
            continue
        title = _title(row, session)
        end = _last_finished(state_of(uri))
        if end is not None and wanted in title.casefold():
            found.append((-(instant(row["modifiedAt"]) or 0.0), uri, title, end))
    # Of two moved in one moment the session's own order decides.
    found.sort(key=lambda chat: chat[0])
    return [
        {
            "insertText": f"#chat:{title} ",
            "rangeStart": word.start,
            "rangeEnd": word.end,
            "attachment": {
                "type": "chat",
                "label": title,
                "resource": uri,
                "endTurn": end,
            },
        }
        for _, uri, title, end in found[:MOST]
    ]


def _title(row: State, session: State) -> str:
    """A default chat that holds no title of its own goes by its session's."""
    title = _one_line(row["title"])
    if not title and row["resource"] == session["defaultChat"]:
        title = _one_line(session["title"])
    return title or "Chat"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _last_finished(chat: State | None) -> str | None:
    turns: list[State] = [] if chat is None else chat["turns"]
    return str(turns[-1]["id"]) if turns else None
