"""A title for an untitled conversation, taken from its first message."""

from typing import Final

#: A title is drawn in a list: longer than this it would be cut there anyway.
LONGEST: Final = 60


def title_from(text: str) -> str:
    """The first line of `text` that says something, its spaces run together, cut at a word.

    "" for a text that says nothing, an attachment sent on its own for one.
    """
    for line in text.splitlines():
        words = " ".join(line.split())
        if not words:
            continue
        if len(words) <= LONGEST:
            return words
        head = words[: LONGEST - 1]
        cut = head.rfind(" ")
        return (head[:cut] if cut > LONGEST // 2 else head).rstrip() + "…"
    return ""
