"""The word being typed: where it begins, what it says, and what it may become.

Offsets count UTF-16 code units (schema: CompletionsParams), so an emoji is two.
"""

from typing import Final

import attrs

#: What a word to be completed begins with.
TRIGGERS: Final = ("/", "@", "#")

_SPACES: Final = " \t\r\n"
_CHAT: Final = "chat:"


@attrs.frozen
class Word:
    """A word with a trigger in front: `/name`, `@path`, `#chat:title`."""

    trigger: str
    typed: str
    """What stands between the trigger and the cursor."""
    start: int
    """Where the trigger is, in UTF-16 code units."""
    end: int
    """Where what is replaced ends, in UTF-16 code units."""

    @property
    def chat_title(self) -> str | None:
        """What of a chat's title was typed behind `#chat:`; None for a word that is no chat's.

        "" too for one on its way there: `#`, `#ch`, `#chat`.
        """
        if self.trigger != "#":
            return None
        lowered = self.typed.lower()
        if lowered.startswith(_CHAT):
            return self.typed[len(_CHAT) :]
        return "" if _CHAT.startswith(lowered) else None

    @property
    def names_a_chat(self) -> bool:
        """Whether it says `#chat:` already, which no file is offered for."""
        return self.trigger == "#" and self.typed.lower().startswith(_CHAT)


def length(text: str) -> int:
    """The length of `text` in UTF-16 code units."""
    return len(text) + sum(char > "\uffff" for char in text)


def word_at(text: str, offset: int) -> Word | None:
    """The word the cursor at `offset` is in, None where it is in none.

    A `/` counts at the beginning of the text alone, which is where an agent takes a
    command; `@` and `#` at the beginning or behind a space. `offset` is in the text.
    """
    units = text.encode("utf-16-le", "surrogatepass")
    before = units[: 2 * offset].decode("utf-16-le", "surrogatepass")
    begin = 1 + max(before.rfind(space) for space in _SPACES)
    word = before[begin:]
    if not word or word[0] not in TRIGGERS or (word[0] == "/" and begin):
        return None
    end = offset
    if word[0] == "/":
        rest = units[2 * offset :].decode("utf-16-le", "surrogatepass")
        # All of a command's name is replaced, behind the cursor too.
        end += length(rest[: _first_space(rest)])
    return Word(word[0], word[1:], offset - length(word), end)


def _first_space(text: str) -> int:
    found = [at for space in _SPACES if (at := text.find(space)) >= 0]
    return min(found, default=len(text))
