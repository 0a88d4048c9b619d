"""Shell lines as a parser that a plugin supplied takes them apart, in place of the reader here.

The parser answers which commands a line runs and where it writes (`CommandParser`). What it
cannot read, what it raises at and what has another shape is all one: nobody knows what the line
runs, and a person is asked. The commands it names are held against the same rules as ever, so one
that sets a variable for itself, or edits in place, is asked about. Source: PLUGINS.txt, "What a
command parser has to answer".
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
from twisted.logger import Logger

from ahpd.interfaces import CommandParser
from ahpd.permissions.shell_reading import (
    MOST_COMMANDS,
    Command,
    Reading,
    Redirect,
    ShellReader,
    checked_line,
)
from ahpd.permissions.shell_tokens import Unreadable, Word, in_bytes

log = Logger()

BASH: Final = "bash"
#: The languages a parser is asked about.
LANGUAGES: Final = frozenset({BASH, "powershell"})

_UNREAD: Final = "its parser cannot read it"
_PARTLY: Final = "its parser cannot read all of it"
_MEMBERS: Final = {
    "sub_commands": "subCommands",
    "write_dests": "writeDests",
    "unanalyzable": "unanalyzable",
}


class SplitReader:
    """Reads lines by `split`; `reader` reads what a bash command it names is made of."""

    def __init__(self, split: CommandParser, reader: ShellReader) -> None:
        self._split = split
        self._reader = reader

    def reading_in(self, shell: str) -> Callable[[str], Reading]:
        """What reads lines of that shell (`LANGUAGES`). It never raises."""

        def read(line: str) -> Reading:
            return self._read(line.strip(" \t\n"), shell)

        return read

    def _read(self, line: str, shell: str) -> Reading:
        try:
            checked_line(line)
            found = _checked(self._split(line, shell))
        except Unreadable as reason:
            return Reading(line=line, whole=False, because=str(reason))
        except Exception as broken:  # a parser that is broken approves nothing
            # Its words may hold the line, and that may hold a secret.
            log.error(
                "the command parser failed on a line of {shell}: {kind}",
                shell=shell,
                kind=type(broken).__name__,
            )
            found = None
        if found is None:
            return Reading(line=line, whole=False, because=_UNREAD)
        return self._made(line, shell, found)

    def _made(self, line: str, shell: str, found: "_Split") -> Reading:
        commands: list[Command] = []
        redirects = [_written(path) for path in found.write_dests]
        settings: list[str] = []
        because = None
        for each in found.sub_commands:
            inner = self._reader.read(each) if shell == BASH else None
            if inner is not None and inner.whole:
                commands += inner.commands
                redirects += inner.redirects
                settings += inner.settings
                because = because or inner.because
            else:
                commands.append(_rough(each))
        if found.unanalyzable:
            because = _PARTLY
        elif len(commands) > MOST_COMMANDS:
            because = f"it runs more than {MOST_COMMANDS} commands"
        return Reading(
            line=line,
            commands=tuple(commands[:MOST_COMMANDS]),
            redirects=tuple(redirects),
            settings=tuple(settings),
            whole=not found.unanalyzable and len(commands) <= MOST_COMMANDS,
            because=because,
        )


@attrs.frozen
class _Split:
    sub_commands: Sequence[str]
    write_dests: Sequence[str]
    unanalyzable: bool


def _checked(answer: Any) -> _Split | None:
    """What a parser answered; None where it read nothing, or answered something else."""
    if answer is None:
        return None
    found: dict[str, Any] = {}
    for name, key in _MEMBERS.items():
        found[name] = (
            answer.get(key) if isinstance(answer, Mapping) else getattr(answer, name, None)
        )
    commands, paths = found["sub_commands"], found["write_dests"]
    right = (
        _are_texts(commands)
        and _are_texts(paths)
        and all(each.strip() for each in commands)
        and isinstance(found["unanalyzable"], bool)
    )
    if not right:
        log.error("the command parser answered something of another shape than it is to")
        return None
    return _Split(tuple(commands), tuple(paths), found["unanalyzable"])


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


def _written(path: str) -> Redirect:
    """A path a line writes to. One that only the shell can know names no file."""
    at_home = path == "~" or path.startswith("~/")
    known = path != "" and not re.search(r"[$`*?\[{\0]", path) and (at_home or path[0] != "~")
    return Redirect(path if known else None, True, at_home)


def _rough(text: str) -> Command:
    """A command that is read by nobody here: its words are what blanks part."""
    raw = in_bytes(text)
    words = [_word(match) for match in re.finditer(r"[^ \t\n]+", raw)]
    return Command(tuple(words))


def _word(match: re.Match[str]) -> Word:
    raw = match[0]
    known = not re.search(r"[$`*?\[{(]", raw)
    text = re.sub(r"[\\'\"]", "", raw)
    return Word(match.start(), match.end(), raw, text, known, "", not known, text != raw)
