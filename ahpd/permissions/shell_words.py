"""A shell line as bash would take it apart: words, operators, and what is nested in them.

This is the second of two readers. `tree_sitter` knows the grammar; this one knows only how
bash finds where a word ends, and gives up (`Unreadable`) on whatever it does not know for
certain. A line is approved by its parts only where both found the same parts
(`ahpd/permissions/shell_reading.py`).
"""

import re
from typing import Final

from ahpd.permissions.shell_tokens import (
    OPERATORS,
    REDIRECTS,
    Heredoc,
    Level,
    Making,
    Operator,
    Token,
    Unreadable,
    Word,
)

#: How deep substitutions may be nested, and how many tokens a line may have.
MOST_DEPTH: Final = 12
MOST_TOKENS: Final = 1500

_BLANKS: Final = " \t"
_ENDS_WORD: Final = " \t\n;&|<>()"
_PARAMETER: Final = re.compile(
    r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]|\{[A-Za-z_][A-Za-z0-9_]*\}|\{[0-9@*#?]\})"
)
_PLAIN_SUM: Final = re.compile(r"[0-9 +*/%<>=&|^!~?:-]*")
_ESCAPES: Final = {
    "\\": "\\", "'": "'", '"': '"', "?": "?", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b",
    "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
}  # fmt: skip
_NUMBERED: Final = re.compile(r"x([0-9a-fA-F]{1,2})|([0-7]{1,3})")
#: What may follow a `!` that a shell with a history does not take for a command of it.
_NO_EVENT: Final = ' \t\n="'


def scan(text: str) -> list[Level]:
    """The tokens of `text`: the line's own first, then those of each substitution.

    Raises `Unreadable`.
    """
    scanner = _Scanner(text)
    scanner.level(0, len(text), None, 0)
    return scanner.levels


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.levels: list[Level] = []
        self._count = 0
        self._waiting = 0

    def _put(self, tokens: Level, token: Token) -> None:
        self._count += 1
        if self._count > MOST_TOKENS:
            raise Unreadable(f"it has more than {MOST_TOKENS} parts")
        tokens.append(token)

    # -- one level: the line, or the inside of a substitution ------------------------

    def level(self, start: int, limit: int, end: str | None, depth: int) -> None:
        """Read from `start` to `limit`, or past the `end` that closes it."""
        if depth > MOST_DEPTH:
            raise Unreadable(f"it is nested more than {MOST_DEPTH} deep")
        tokens: Level = []
        self.levels.append(tokens)
        self.at = start
        open_groups = 0
        heredocs: list[Heredoc] = []
        while True:
            self._skip_blanks(limit)
            if self.at >= limit:
                if end is not None or open_groups or heredocs:
                    raise Unreadable("something in it is never closed")
                return
            character = self.text[self.at]
            if character == "\n":
                self._newline(tokens, heredocs, limit, depth)
            elif character == "#":
                while self.at < limit and self.text[self.at] != "\n":
                    self.at += 1
            elif character == ")" and not open_groups:
                if end is None or heredocs:
                    raise Unreadable("it closes what it did not open")
                self.at += 1
                return
            elif self.text.startswith(("<(", ">("), self.at) or character not in _ENDS_WORD:
                self._put(tokens, self._word(limit, depth))
                self._delimiter(tokens, heredocs)
            else:
                open_groups += self._operator(tokens, limit)

    def _skip_blanks(self, limit: int) -> None:
        while self.at < limit:
            if self.text[self.at] in _BLANKS:
                self.at += 1
            elif self.text.startswith("\\\n", self.at) and self.at + 2 <= limit:
                self.at += 2
            else:
                return

    def _operator(self, tokens: Level, limit: int) -> int:
        """Take an operator; by how many it moves the count of open groups."""
        text = next(each for each in OPERATORS if self.text.startswith(each, self.at))
        start, self.at = self.at, self.at + len(text)
        if self.at > limit:
            raise Unreadable("something in it is never closed")
        before = tokens[-1] if tokens else None
        if text in REDIRECTS and isinstance(before, Word) and before.end == start:
            if before.raw.isascii() and before.raw.isdigit() and text not in ("&>", "&>>"):
                tokens[-1] = Operator(before.start, before.end, "fd")
            elif before.raw.startswith("{"):
                raise Unreadable("a redirect in it sets a variable")
        if text in (";;", ";&", ";;&"):
            raise Unreadable("it has the end of a case without one")
        if text == "(":
            if self.text.startswith("(", self.at):
                raise Unreadable("it has double parentheses")
            if isinstance(before, Word):
                self._function(tokens, start, limit)
                return 0
        self._put(tokens, Operator(start, self.at, text))
        return {"(": 1, ")": -1}.get(text, 0)

    def _function(self, tokens: Level, start: int, limit: int) -> None:
        """The parentheses of `name ()`; any others behind a word are nothing known."""
        opened = self.at
        self._skip_blanks(limit)
        if self.at >= limit or self.text[self.at] != ")":
            raise Unreadable("it has parentheses behind a word")
        name = tokens[-1]
        assert isinstance(name, Word)
        if not re.fullmatch(r"[\w.:-]+", name.raw):
            raise Unreadable("it has parentheses behind a word")
        self._put(tokens, Operator(start, opened, "()"))
        self._put(tokens, Operator(self.at, self.at + 1, "()"))
        self.at += 1

    # -- here-documents ------------------------------------------------------------

    def _delimiter(self, tokens: Level, heredocs: list[Heredoc]) -> None:
        """The word just read is a here-document's delimiter where one was asked for."""
        before = tokens[-2] if len(tokens) > 1 else None
        if not isinstance(before, Operator) or before.text not in ("<<", "<<-"):
            return
        word = tokens[-1]
        assert isinstance(word, Word)
        if not word.known or not word.text:
            raise Unreadable("a here-document in it has no plain delimiter")
        heredocs.append(Heredoc(word.text, word.quoted, before.text == "<<-"))
        self._waiting += 1

    def _newline(self, tokens: Level, heredocs: list[Heredoc], limit: int, depth: int) -> None:
        self._put(tokens, Operator(self.at, self.at + 1, "\n"))
        self.at += 1
        if self._waiting != len(heredocs):
            raise Unreadable("a here-document in it begins inside of a substitution")
        for heredoc in heredocs:
            self._body(heredoc, limit, depth)
        self._waiting = 0
        heredocs.clear()

    def _body(self, heredoc: Heredoc, limit: int, depth: int) -> None:
        start = self.at
        while self.at < limit:
            line_end = self.text.find("\n", self.at, limit)
            line_end = limit if line_end < 0 else line_end
            line = self.text[self.at : line_end]
            if (line.lstrip("\t") if heredoc.strips else line) == heredoc.delimiter:
                body, after = (start, self.at), min(line_end + 1, limit)
                # The newline behind a delimiter ends the line that began the document.
                if not heredoc.quoted:
                    self._expanded(*body, depth)
                self.at = after
                return
            self.at = min(line_end + 1, limit)
        raise Unreadable("a here-document in it is never closed")

    def _expanded(self, start: int, end: int, depth: int) -> None:
        """The body of a here-document in which bash expands what it finds."""
        self.at = start
        while self.at < end:
            character = self.text[self.at]
            if character == "\\":
                if self.text.startswith("\n", self.at + 1):
                    raise Unreadable("a here-document in it joins lines")
                self.at += 2
            elif character in "$`":
                self._dollar_or_tick(Making(), end, depth, quoted=True)
            else:
                self.at += 1

    # -- words ----------------------------------------------------------------------

    def _word(self, limit: int, depth: int) -> Word:
        start = self.at
        making = Making(start)
        if self.text.startswith(("<(", ">("), start):
            self.level(start + 2, limit, ")", depth + 1)
            making.unknown(self.text[start : self.at], splits=False)
            # What bash puts there is a path, and never an option.
            making.prefix.append("/dev/fd/")
        while self.at < limit and (character := self.text[self.at]) not in _ENDS_WORD:
            self._part(making, character, limit, depth)
        if self.text.startswith(("<(", ">("), self.at) and self.at < limit:
            raise Unreadable("a word in it goes on in a substitution")
        raw = self.text[start : self.at]
        if making.brace and making.choice:
            # Bash makes several words of it, each with what stands before the brace.
            before = "".join(making.prefix).partition("{")[0]
            return Word(start, self.at, raw, raw, False, before, True, making.quoted)
        return Word(
            start=start,
            end=self.at,
            raw=raw,
            text="".join(making.text),
            known=making.known,
            prefix="".join(making.prefix),
            splits=making.splits,
            quoted=making.quoted,
            at_home=making.unknown_parts == 1 and (raw == "~" or raw.startswith("~/")),
        )

    def _part(self, making: Making, character: str, limit: int, depth: int) -> None:
        if character == "\\":
            self._escape(making, limit)
        elif character == "'":
            making.static(self._until_quote(self.at + 1, limit))
            making.quoted = True
        elif character == '"':
            self.at += 1
            making.quoted = True
            self._double_quoted(making, limit, depth)
        elif character in "$`":
            self._dollar_or_tick(making, limit, depth, quoted=False)
        elif character == "~" and (self.at == making.start or self.text[self.at - 1] in "=:"):
            if self.at == making.start:
                # What stands there is a path.
                making.prefix.append("/")
            making.unknown("~", splits=False)
            self.at += 1
        elif character in "*?[" and self._is_pattern(character, limit):
            making.unknown(character, splits=False)
            self.at += 1
        else:
            if character == "!":
                self._check_event(limit)
            making.brace = making.brace or character == "{"
            making.choice = making.choice or character == "," or self.text.startswith("..", self.at)
            making.static(character)
            self.at += 1

    def _is_pattern(self, character: str, limit: int) -> bool:
        """Whether it may match files; a `[` that is a word by itself is the command."""
        if character != "[":
            return True
        alone = self.at + 1 >= limit or self.text[self.at + 1] in _ENDS_WORD
        return not (alone and (self.at == 0 or self.text[self.at - 1] in _ENDS_WORD))

    def _escape(self, making: Making, limit: int) -> None:
        if self.at + 1 >= limit:
            raise Unreadable("it ends in a backslash")
        if self.text[self.at + 1] != "\n":
            making.static(self.text[self.at + 1])
            making.quoted = True
        self.at += 2

    def _until_quote(self, start: int, limit: int) -> str:
        end = self.text.find("'", start, limit)
        if end < 0:
            raise Unreadable("a quote in it is never closed")
        self.at = end + 1
        return self.text[start:end]

    def _double_quoted(self, making: Making, limit: int, depth: int) -> None:
        while self.at < limit:
            character = self.text[self.at]
            if character == '"':
                self.at += 1
                return
            if character == "\\" and self.at + 1 < limit:
                escaped = self.text[self.at + 1]
                if escaped != "\n":
                    making.static(escaped if escaped in '$`"\\' else "\\" + escaped)
                self.at += 2
            elif character in "$`":
                self._dollar_or_tick(making, limit, depth, quoted=True)
            else:
                if character == "!":
                    self._check_event(limit)
                making.static(character)
                self.at += 1
        raise Unreadable("a quote in it is never closed")

    def _check_event(self, limit: int) -> None:
        if self.at + 1 < limit and self.text[self.at + 1] not in _NO_EVENT:
            raise Unreadable("it may name a command of the history")

    # -- what begins with a dollar, or is between backquotes -----------------------------

    def _dollar_or_tick(self, making: Making, limit: int, depth: int, quoted: bool) -> None:
        start, text = self.at, self.text
        if text[start] == "`":
            self._ticks(limit, depth, quoted)
        elif text.startswith("$((", start):
            self._sum(limit)
        elif text.startswith("$(", start):
            self.level(start + 2, limit, ")", depth + 1)
        elif not quoted and text.startswith("$'", start):
            making.static(self._ansi(limit))
            making.quoted = True
            return
        elif text.startswith(("${", "$["), start) or (not quoted and text.startswith('$"', start)):
            found = _PARAMETER.match(text, start, limit)
            if found is None:
                raise Unreadable("it has an expansion that may do more than name a value")
            self.at = found.end()
        elif found := _PARAMETER.match(text, start, limit):
            self.at = found.end()
        else:
            making.static("$")
            self.at += 1
            return
        making.unknown(text[start : self.at], splits=not quoted or "@" in text[start : self.at])

    def _ticks(self, limit: int, depth: int, quoted: bool) -> None:
        start = self.at + 1
        end = self.text.find("`", start, limit)
        if end < 0:
            raise Unreadable("a backquote in it is never closed")
        if "\\" in (inside := self.text[start:end]) or (quoted and '"' in inside):
            raise Unreadable("it has quotes inside of backquotes")
        self.level(start, end, None, depth + 1)
        self.at = end + 1

    def _sum(self, limit: int) -> None:
        end = self.text.find("))", self.at, limit)
        if end < 0 or not _PLAIN_SUM.fullmatch(self.text, self.at + 3, end):
            raise Unreadable("it computes something with names")
        self.at = end + 2

    def _ansi(self, limit: int) -> str:
        """`$'...'` with its escapes."""
        made: list[str] = []
        self.at += 2
        while self.at < limit:
            character = self.text[self.at]
            self.at += 1
            if character == "'":
                return "".join(made)
            if character != "\\":
                made.append(character)
                continue
            if self.text.startswith("'", self.at):
                # A shell that does not know this form ends the quote here.
                raise Unreadable("it has a quote inside of a quoted escape")
            if self.at < limit and (simple := _ESCAPES.get(self.text[self.at])):
                made.append(simple)
                self.at += 1
                continue
            numbered = _NUMBERED.match(self.text, self.at, limit)
            code = (
                0 if numbered is None else int(numbered[1] or numbered[2], 16 if numbered[1] else 8)
            )
            if numbered is None or not 0 < code < 128:
                raise Unreadable("it has a quoted escape nobody here reads")
            made.append(chr(code))
            self.at = numbered.end()
        raise Unreadable("a quote in it is never closed")
