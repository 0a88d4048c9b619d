"""`Shell(...)` rules over a line that was read.

`Shell(<command>)` is compared with each command of the line, `Shell(commandLine:<pattern>)`
with the line. In an allow list a command means itself and no more, unless it ends in ` *`;
where it refuses or asks it means the command with any arguments, and the line as well.
"""

import posixpath
from collections.abc import Iterable
from typing import Final

import attrs

from ahpd.permissions.patterns import (
    MOST_MATCHED,
    fixed_part,
    is_expression,
    javascript,
    literal,
    starred,
)
from ahpd.permissions.rules import Named, Rule
from ahpd.permissions.shell_reading import Command, Reading

LINE: Final = "commandLine:"
_QUOTES: Final = frozenset("'\"\\")


def names_line(rule: Rule, reading: Reading) -> Named:
    """Whether a rule that refuses or asks names the line, or a command of it."""
    argument = rule.argument or ""
    if argument.startswith(LINE):
        return _names_whole(argument[len(LINE) :], reading.line)
    if len(reading.line) <= MOST_MATCHED and starred(argument, True).fullmatch(reading.line):
        return Named.YES
    found = [_names(argument, command) for command in reading.commands]
    if Named.YES in found:
        return Named.YES
    return Named.MAYBE if Named.MAYBE in found or not reading.whole else Named.NO


def _names_whole(pattern: str, line: str) -> Named:
    if line == pattern.strip():
        return Named.YES
    if len(line) > MOST_MATCHED:
        return Named.MAYBE
    if is_expression(pattern):
        compiled = javascript(pattern, True)
        if compiled is None:
            return Named.MAYBE
        return Named.YES if compiled.search(line) else Named.NO
    return Named.YES if starred(pattern.strip(), False).fullmatch(line) else Named.NO


def _names(pattern: str, command: Command) -> Named:
    texts = {command.raw, command.text}
    if command.name is not None and "/" in command.name:
        # What a path leads to is the program of its last name.
        texts.add(posixpath.basename(command.name) + command.text[len(command.name) :])
    if any(len(text) > MOST_MATCHED for text in texts):
        return Named.MAYBE
    compiled = starred(pattern, True)
    if any(compiled.fullmatch(text) for text in texts):
        return Named.YES
    if command.known:
        return Named.NO
    ours, theirs = command.fixed, fixed_part(pattern)
    return Named.MAYBE if ours.startswith(theirs) or theirs.startswith(ours) else Named.NO


@attrs.frozen
class ShellAllowances:
    """The allow rules of the family, as they are asked about commands."""

    rules: tuple[Rule, ...]

    def whole_line(self, line: str) -> str | None:
        """The rule that approves the line as it stands."""
        for rule in self.rules:
            argument = rule.argument or ""
            if not argument.startswith(LINE):
                if literal(argument) == line:
                    return rule.text
                continue
            pattern = argument[len(LINE) :]
            if is_expression(pattern):
                compiled = javascript(pattern, False)
                if compiled is not None and len(line) <= MOST_MATCHED and compiled.search(line):
                    return rule.text
            elif pattern.strip() == line:
                return rule.text
        return None

    def command(self, command: Command) -> str | None:
        """The rule that approves one command."""
        for rule in self.rules:
            argument = rule.argument or ""
            if not argument.startswith(LINE) and _approves(argument, command):
                return rule.text
        return None


def _approves(pattern: str, command: Command) -> bool:
    raw = command.raw
    if command.name is None or len(raw) > MOST_MATCHED:
        return literal(pattern) == raw
    compiled = starred(pattern, False)
    if not compiled.fullmatch(raw):
        return False
    # What matches as it is written has to match as bash will read it.
    return (
        literal(pattern) is not None
        or bool(_QUOTES & set(pattern))
        or compiled.fullmatch(command.text) is not None
    )


def allowances(rules: Iterable[Rule]) -> ShellAllowances:
    """The allow rules that are about command lines."""
    return ShellAllowances(tuple(rules))
