"""A transcript on a terminal: steps, labelled text that streams, and quiet colour.

Colour is used on a terminal alone, and not where NO_COLOR is set or TERM is `dumb`.
What is shown came over a wire, so control characters are taken out of it.
"""

import io
import os
import shutil
import unicodedata
from collections.abc import Mapping
from typing import Final, TextIO

#: The text of a part begins here, after its label.
LABEL: Final = 13
_INDENT: Final = 3
_NARROWEST: Final = 40
_WIDEST: Final = 92

_STYLES: Final = {
    "title": "1",
    "step": "1;34",
    "quiet": "2",
    "thinking": "2;3",
    "tool": "36",
    "replayed": "32",
    "cut": "33",
    "good": "32",
    "bad": "1;31",
}


def columns(text: str) -> int:
    """How many cells `text` takes on a terminal."""
    return sum(
        0
        if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}
        else 2
        if unicodedata.east_asian_width(character) in {"W", "F"}
        else 1
        for character in text
    )


def printable(text: str) -> str:
    """`text` without what a terminal would obey: control characters but line breaks."""
    return "".join(
        character
        if character == "\n" or unicodedata.category(character) not in {"Cc", "Cs"}
        else " "
        for character in text
    )


class Page:
    """Where a transcript is written. `width` and colour are found out once, here."""

    def __init__(self, out: TextIO, environ: Mapping[str, str] = os.environ) -> None:
        self._out = out
        self._column = 0
        self._run: list[str] = []
        self._run_style = ""
        if isinstance(out, io.TextIOWrapper):
            out.reconfigure(errors="replace")  # a line drawn as `?` beats no line
        terminal = out.isatty()
        self.is_terminal = terminal
        self.colour = terminal and "NO_COLOR" not in environ and environ.get("TERM") != "dumb"
        found = shutil.get_terminal_size((80, 24)).columns if terminal else 80
        self.width = max(_NARROWEST, min(found, _WIDEST))

    # -- whole lines ------------------------------------------------------------------

    def line(self, text: str = "", style: str = "") -> None:
        """One line as it is, never wrapped: an address or a setting is to be copied."""
        self.fresh_line()
        self._write(self._styled(text, style) + "\n")

    def title(self, text: str) -> None:
        """The heading of the whole."""
        self.line(text, "title")

    def step(self, number: int, text: str) -> None:
        """The heading of one step."""
        self.line()
        self.fresh_line()
        self._write(f"{self._styled(f'{number}', 'step')}  {self._styled(text, 'title')}\n")

    def note(self, text: str, style: str = "") -> None:
        """What came of a step, wrapped below its heading."""
        self.fresh_line()
        block = Block(self, _INDENT, style)
        block.write(text)
        block.end()

    def mark(self, text: str, style: str) -> None:
        """A line across the transcript: something happened to the connection."""
        self.fresh_line()
        room = self.width - _INDENT - columns(text) - 4
        rule = f"── {text} " + "─" * max(2, room)
        self.line(" " * _INDENT + rule, style)

    def block(self, label: str, style: str = "", label_style: str = "quiet") -> "Block":
        """Text under a label, written as it comes."""
        self.fresh_line()
        head = f"{label:<{LABEL - _INDENT - 1}} "
        self._write(" " * _INDENT + self._styled(head, label_style))
        self._column = LABEL
        return Block(self, LABEL, style)

    # -- pieces -----------------------------------------------------------------------

    def fresh_line(self) -> None:
        """Be at the beginning of a line."""
        if self._column:
            self._write("\n")

    def end_line(self) -> None:
        """End the current line, an empty one too."""
        self._write("\n")

    def put(self, text: str, style: str, cells: int) -> None:
        """A piece of the current line, `cells` wide; on the screen after `flush`."""
        if style != self._run_style:
            self.flush()
            self._run_style = style
        self._run.append(text)
        self._column += cells

    def flush(self) -> None:
        """Show what was put."""
        run, self._run = self._run, []
        if run:
            self._write(self._styled("".join(run), self._run_style))

    @property
    def column(self) -> int:
        """Where the next character goes, from 0."""
        return self._column

    def _styled(self, text: str, style: str) -> str:
        if not self.colour or not style or not text.strip():
            return text
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"

    def _write(self, text: str) -> None:
        if self._run:
            self.flush()
        self._out.write(text)
        self._out.flush()
        if text.endswith("\n"):
            self._column = 0


class Block:
    """Text that streams, wrapped between words to the page's width.

    A word is shown when it is known to be whole: at the space after it, or at the end.
    """

    def __init__(self, page: Page, indent: int, style: str) -> None:
        self._page = page
        self._indent = indent
        self._style = style
        self._word = ""
        self._gap = ""

    def write(self, text: str) -> None:
        """More of the text."""
        for character in printable(text):
            if character == "\n":
                self._show_word()
                self._gap = ""
                self._page.end_line()
            elif character == " ":
                self._show_word()
                self._gap += " "
            else:
                self._word += character
        self._page.flush()

    def end(self) -> None:
        """There is no more."""
        self._show_word()
        self._gap = ""
        self._page.flush()
        self._page.fresh_line()

    def _show_word(self) -> None:
        word, self._word = self._word, ""
        while word:
            page = self._page
            if not page.column:
                page.put(" " * self._indent, "", self._indent)
            begun = page.column > self._indent
            gap = self._gap if begun else ""
            room = page.width - page.column - len(gap)
            if columns(word) <= room:
                page.put(gap + word, self._style, len(gap) + columns(word))
                self._gap = ""
                return
            self._gap = ""
            if begun:
                page.fresh_line()
                continue
            fits = _fitting(word, room)
            page.put(word[:fits], self._style, columns(word[:fits]))
            page.fresh_line()
            word = word[fits:]


def _fitting(word: str, room: int) -> int:
    """How many characters of a word longer than a line go onto one; at least one."""
    taken = 0
    for index, character in enumerate(word):
        taken += columns(character)
        if taken > room:
            return max(1, index)
    return len(word)
