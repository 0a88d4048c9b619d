"""What a shell line runs and where it writes, as far as that can be known beforehand.

Two readers take it apart: the grammar (`tree_sitter`), and one that knows only where bash
ends a word (`ahpd/permissions/shell_words.py`). Where they do not find the same tokens and the
same commands the line counts as unreadable (`Reading.whole` is False): nothing that is in it
is approved by its parts, and a rule that refuses may be about any of it.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import attrs

from ahpd.permissions.shell_tokens import (
    REDIRECTS,
    Level,
    Operator,
    Unreadable,
    Word,
    as_written,
    in_bytes,
)
from ahpd.permissions.shell_words import MOST_TOKENS, scan

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

#: The longest line that is read, in bytes.
MOST_BYTES: Final = 8192
#: How many commands a line may run: each is compared with every key of the table.
MOST_COMMANDS: Final = 100

_STRUCTURE: Final = frozenset(
    {"if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!"}
)
_LOOPS: Final = frozenset({"for", "select"})
_RESERVED: Final = _STRUCTURE | _LOOPS | {"case", "esac", "function", "in", "]]"}
_SEPARATORS: Final = frozenset({"\n", ";", "&", "&&", "||", "|", "|&", "(", ")", "()"})
_COMMANDS: Final = frozenset({"command", "test_command", "declaration_command", "unset_command"})
_NESTS: Final = frozenset({"command_substitution", "process_substitution"})
#: Named nodes that are one word, whatever is in them.
_WORDS: Final = frozenset(
    {
        "command_name", "word", "string", "raw_string", "ansi_c_string", "translated_string",
        "concatenation", "number", "simple_expansion", "expansion", "arithmetic_expansion",
        "brace_expression", "regex", "extglob_pattern", "variable_assignment", "variable_name",
        "special_variable_name", "file_descriptor", "heredoc_start", "test_operator",
    }
    | _NESTS
)  # fmt: skip
_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[.*\])?\+?=", re.DOTALL)
#: Commands whose words are a command too, which bash itself reads that way.
_RUNS_ITS_WORDS: Final = frozenset({"time", "coproc"})
_SETS_VARIABLES: Final = frozenset({"export", "declare", "typeset", "local", "readonly", "unset"})


@attrs.frozen
class Command:
    """A simple command: its name and arguments, without assignments and redirects."""

    words: tuple[Word, ...]

    @cached_property
    def raw(self) -> str:
        """As it is written, one space between words."""
        return as_written(" ".join(word.raw for word in self.words))

    @cached_property
    def text(self) -> str:
        """Without its quotes, one space between words."""
        return as_written(" ".join(word.text for word in self.words))

    @cached_property
    def name(self) -> str | None:
        """What is run; None where only bash can know."""
        first = self.words[0]
        return as_written(first.text) if first.known or first.at_home else None

    @property
    def known(self) -> bool:
        """Whether every word of it is known beforehand."""
        return all(word.known for word in self.words)

    @property
    def fixed(self) -> str:
        """What its text begins with, as far as it is known."""
        found: list[str] = []
        for word in self.words:
            if not word.known:
                found.append(word.prefix)
                return as_written(" ".join(found))
            found.append(word.text)
        return as_written(" ".join(found))


@attrs.frozen
class Redirect:
    """A redirect from or to a file."""

    path: str | None
    """The file; None where only bash can know."""
    writes: bool
    home: bool
    """Whether `path` begins with a `~` that bash replaces."""


@attrs.frozen(kw_only=True)
class Reading:
    """A line, taken apart."""

    line: str
    """As it was given, without blanks around it."""
    commands: tuple[Command, ...] = ()
    """What it runs, substitutions included. Of a line that is not `whole`, what was found."""
    redirects: tuple[Redirect, ...] = ()
    settings: tuple[str, ...] = ()
    """The variables it sets, as `NAME=value`."""
    whole: bool = True
    """Whether all it runs was found."""
    because: str | None = None
    """Why its commands do not say all it does; None where they do."""


class ShellReader:
    """Reads lines. The grammar is loaded with the first one."""

    def __init__(self) -> None:
        self._parser: Parser | None = None

    def read(self, line: str) -> Reading:
        """Never raises: a line that cannot be read says so."""
        line = line.strip(" \t\n")
        found: tuple[Command, ...] = ()
        try:
            checked_line(line)
            text = in_bytes(line)
            root = self._parse(text)
            found = tuple(_rough(root, text))
            if root.has_error:
                raise Unreadable("the grammar cannot read it")
            return _agreed(line, text, root)
        except Unreadable as reason:
            return Reading(line=line, commands=found, whole=False, because=str(reason))

    def load(self) -> None:
        """Have the grammar ready: it takes longer to load than many lines to read."""
        if self._parser is None:
            # Loaded with the first line: a host whose agents run no commands never needs it.
            import tree_sitter_bash  # noqa: PLC0415
            from tree_sitter import Language, Parser  # noqa: PLC0415

            self._parser = Parser(Language(tree_sitter_bash.language()))

    def _parse(self, text: str) -> "Node":
        self.load()
        assert self._parser is not None
        return self._parser.parse(text.encode("latin-1")).root_node


def checked_line(line: str) -> None:
    """Raises `Unreadable` for a line that is too long, or that a person reads otherwise."""
    if len(line) > MOST_BYTES or len(line.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise Unreadable(f"it has more than {MOST_BYTES} bytes")
    # Blanks and marks that are not seen, or that somebody else takes for blanks.
    if _UNSEEN.search(line) or not (line.isascii() or all(map(_is_seen, line))):
        raise Unreadable("it has characters that are not seen")


def _is_seen(character: str) -> bool:
    return character in " \t\n" or unicodedata.category(character)[0] not in "CZ"


# -- what the grammar found --------------------------------------------------------------


def _rough(root: "Node", text: str) -> Iterator[Command]:
    """The commands the grammar names, whatever else it could not read; of a long line the first."""
    waiting, left = [root], MOST_TOKENS
    while waiting and left > 0:
        node = waiting.pop()
        if node.type in _COMMANDS:
            words = tuple(
                _plain_word(text, child.start_byte, child.end_byte)
                for child in node.children[:left]
                if not child.type.endswith("redirect") and child.type != "variable_assignment"
            )
            left -= len(words)
            if words:
                yield Command(words)
        waiting.extend(reversed(node.children))


def _plain_word(text: str, start: int, end: int) -> Word:
    """A word of a line that is not read: what it would be if nothing in it meant anything."""
    raw = text[start:end]
    return Word(
        start,
        end,
        raw,
        re.sub(r"[\\'\"]", "", raw),
        not re.search(r"[$`*?\[{]", raw),
        "",
        True,
        False,
    )


def _tokens(root: "Node") -> tuple[list[tuple[int, int]], list[tuple[int, ...]], set[int]]:
    """Where the grammar sees tokens, the words of its commands, and words it takes for grammar."""
    tokens: list[tuple[int, int]] = []
    commands: list[tuple[int, ...]] = []
    structure: set[int] = set()
    waiting: list[tuple[Node, bool]] = [(root, False)]
    while waiting:
        node, inside_word = waiting.pop()
        kind = node.type
        if kind in _NESTS or (kind == "heredoc_body"):
            if kind in _NESTS and not inside_word:
                tokens.append((node.start_byte, node.end_byte))
            inner = node.children if kind == "heredoc_body" else node.children[1:-1]
            waiting.extend((child, kind == "heredoc_body") for child in inner)
            continue
        if kind in ("comment", "heredoc_end", "heredoc_content") or (kind == "\n"):
            continue
        if not inside_word and (kind in _WORDS or not node.children):
            if node.start_byte != node.end_byte:
                tokens.append((node.start_byte, node.end_byte))
            if not node.is_named and (kind in _STRUCTURE or kind in _LOOPS or kind == "in"):
                structure.add(node.start_byte)
            waiting.extend((child, True) for child in node.children)
            continue
        if kind in _COMMANDS and not inside_word:
            commands.append(
                tuple(
                    child.start_byte
                    for child in _flat(node)
                    if not child.type.endswith("redirect")
                    and not (child.type == "variable_assignment" and kind == "command")
                )
            )
        waiting.extend((child, inside_word) for child in node.children)
    return sorted(tokens), sorted(each for each in commands if each), structure


def _flat(node: "Node") -> Iterator["Node"]:
    """The words below a command, those of a test's expressions too."""
    for child in node.children:
        if child.children and child.type not in _WORDS and not child.type.endswith("redirect"):
            yield from _flat(child)
        else:
            yield child


# -- where both agree --------------------------------------------------------------------


def _agreed(line: str, text: str, root: "Node") -> Reading:
    levels = scan(text)
    seen, grammar_commands, structure = _tokens(root)
    own = sorted(
        (token.start, token.end)
        for level in levels
        for token in level
        if not (isinstance(token, Operator) and token.text == "\n")
    )
    if own != seen:
        raise Unreadable("it can be read in more than one way")
    parts = _Parts(structure)
    for level in levels:
        for segment in _segments(level):
            parts.take(segment)
    if len(parts.commands) > MOST_COMMANDS:
        raise Unreadable(f"it runs more than {MOST_COMMANDS} commands")
    own_commands = sorted(tuple(word.start for word in each.words) for each in parts.commands)
    if own_commands != grammar_commands:
        raise Unreadable("it can be read in more than one way")
    return Reading(
        line=line,
        commands=tuple(parts.commands + parts.inner),
        redirects=tuple(parts.redirects),
        settings=tuple(parts.settings),
        because=parts.because,
    )


def _segments(level: Level) -> Iterator[Sequence[Word | Operator]]:
    """The runs of tokens between what separates commands."""
    run: list[Word | Operator] = []
    for token in level:
        if isinstance(token, Operator) and token.text in _SEPARATORS:
            if token.text == "()" and run:
                run = [attrs.evolve(token, text="function")]
                continue
            if run:
                yield run
            run = []
        else:
            run.append(token)
    if run:
        yield run


class _Parts:
    """Commands and redirects of a line's segments."""

    def __init__(self, structure: set[int]) -> None:
        self.commands: list[Command] = []
        self.inner: list[Command] = []
        self.redirects: list[Redirect] = []
        self.settings: list[str] = []
        self.because: str | None = None
        self._structure = structure

    def _does_more(self, because: str) -> None:
        self.because = self.because or because

    def take(self, segment: Sequence[Word | Operator]) -> None:
        words: list[Word] = []
        at = 0
        while at < len(segment):
            token = segment[at]
            if isinstance(token, Operator):
                at += self._redirect(token, segment, at)
                continue
            if token.start in self._structure and not words:
                if token.raw in _LOOPS:
                    self._does_more("it has a loop that sets a variable")
                    return
                at += 1
                continue
            if not words and token.raw in _RESERVED:
                raise Unreadable("a word of the grammar in it is where a command is")
            if not words and not token.raw.startswith(("'", '"')) and _ASSIGNMENT.match(token.raw):
                self._does_more("it sets variables")
                self.settings.append(as_written(token.text))
            else:
                words.append(token)
            at += 1
        if words:
            self._command(Command(tuple(words)))

    def _redirect(self, token: Operator, segment: Sequence[Word | Operator], at: int) -> int:
        """Take what is at `at`; how many tokens that is."""
        if token.text == "function":
            self._does_more("it defines a function")
            return 1
        if token.text == "fd" or token.text in (">&-", "<&-"):
            return 1
        target = segment[at + 1] if at + 1 < len(segment) else None
        if token.text not in REDIRECTS or not isinstance(target, Word):
            raise Unreadable("a redirect in it leads nowhere")
        if token.text in ("<<", "<<-", "<<<"):
            return 2
        if target.raw.startswith("!"):
            # zsh takes it for a part of the operator, and the next word for the file.
            raise Unreadable("it can be read in more than one way")
        duplicates = token.text in (">&", "<&") and re.fullmatch(r"[0-9]+-?|-", target.raw)
        if not duplicates:
            path = as_written(target.text) if target.known or target.at_home else None
            self.redirects.append(Redirect(path, token.text not in ("<", "<&"), target.at_home))
        return 2

    def _command(self, command: Command) -> None:
        self.commands.append(command)
        name = command.name
        if name is None:
            self._does_more("only bash can know what it runs")
        elif name in _SETS_VARIABLES:
            self._does_more("it sets variables")
        rest = command
        while len(rest.words) > 1 and rest.name in _RUNS_ITS_WORDS:
            rest = Command(rest.words[1:])
            self.inner.append(rest)
            self._does_more("it times or couples what it runs")
