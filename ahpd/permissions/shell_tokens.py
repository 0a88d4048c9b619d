"""What a shell line is taken apart into: words, operators, and levels of them.

A text here has one character per byte of the line's UTF-8 (`in_bytes`), so that places in it
are the ones the grammar names.
"""

from typing import Final

import attrs

#: Longer ones first, so that the first that fits is the one bash reads.
OPERATORS: Final = (
    ";;&", "&>>", "<<<", "<<-", ">&-", "<&-",
    "&&", "||", ";;", ";&", "|&", "&>", "<<", "<>", "<&", ">>", ">|", ">&",
    "<", ">", "|", "&", ";", "(", ")",
)  # fmt: skip
#: What bash takes for a redirect.
REDIRECTS: Final = frozenset(
    {"&>>", "<<<", "<<-", ">&-", "<&-", "&>", "<<", "<>", "<&", ">>", ">|", ">&", "<", ">"}
)


class Unreadable(Exception):
    """The line is not taken apart; its words say what stood in the way."""


@attrs.frozen
class Word:
    """One word, and what is known of what bash makes of it."""

    start: int
    end: int
    raw: str
    """As it is written."""
    text: str
    """Without its quotes; what only bash can know stays as it is written."""
    known: bool
    """Whether `text` is what the command is given."""
    prefix: str
    """What its text begins with, as far as it is known."""
    splits: bool
    """Whether bash may make several words of it, with anything in them."""
    quoted: bool
    """Whether any of it is quoted."""
    at_home: bool = False
    """Whether all that is not known of it is the folder its `~` stands for."""

    @property
    def may_be_an_option(self) -> bool:
        """Whether something nobody wrote down could reach the command as an option."""
        return not self.known and (self.splits or not self.prefix or self.prefix[0] == "-")


@attrs.frozen
class Operator:
    """An operator, a newline, or the number in front of a redirect."""

    start: int
    end: int
    text: str
    """As it is written; `fd` for a number in front of a redirect."""


Token = Word | Operator
Level = list[Token]


def in_bytes(line: str) -> str:
    """`line` with one character for each byte of its UTF-8."""
    return line.encode("utf-8", "surrogatepass").decode("latin-1")


def as_written(text: str) -> str:
    """What `in_bytes` was made of."""
    return text.encode("latin-1").decode("utf-8", "replace")


@attrs.define
class Heredoc:
    """A here-document whose body comes behind the next newline."""

    delimiter: str
    quoted: bool
    strips: bool


@attrs.define
class Making:
    """A word that is being read."""

    start: int = -1
    text: list[str] = attrs.field(factory=list)
    prefix: list[str] = attrs.field(factory=list)
    known: bool = True
    unknown_parts: int = 0
    splits: bool = False
    quoted: bool = False
    brace: bool = False
    choice: bool = False

    def static(self, text: str) -> None:
        self.text.append(text)
        if self.known:
            self.prefix.append(text)

    def unknown(self, raw: str, splits: bool) -> None:
        self.text.append(raw)
        self.known = False
        self.unknown_parts += 1
        self.splits = self.splits or splits
