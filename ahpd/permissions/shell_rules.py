"""`Shell(...)` rules over a line that was read.

`Shell(<command>)` is compared with each command of the line, `Shell(commandLine:<pattern>)`
with the line. In an allow list a command means itself and no more, unless it ends in ` *`;
where it refuses or asks it means the command with any arguments, and the line as well; and
whatever may run it is asked about (`ahpd/permissions/shell_runners.py`).
"""

import re
from collections.abc import Iterable
from typing import Final

import attrs

from ahpd.permissions.patience import ENDLESS, Patience
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
from ahpd.permissions.shell_runners import Reached, is_embedded, may_run, named_words, program_of
from ahpd.permissions.shell_tokens import as_written

LINE: Final = "commandLine:"
_NOTHING: Final = Reached()
_QUOTES: Final = frozenset("'\"\\")


def names_line(
    rule: Rule, reading: Reading, reached: Reached = _NOTHING, patience: Patience = ENDLESS
) -> Named:
    """Whether a rule that refuses or asks names the line, or what it runs.

    `reached` is what shells inside of the line are given to run.
    """
    argument = rule.argument or ""
    if argument.startswith(LINE):
        return _names_whole(argument[len(LINE) :], reading.line, patience)
    if len(reading.line) <= MOST_MATCHED and starred(argument, True).fullmatch(reading.line):
        return Named.YES
    found = Named.NO if reading.whole and reached.whole else Named.MAYBE
    if any(is_embedded(named_words(argument), setting) for setting in reading.settings):
        found = Named.MAYBE  # what a variable holds is run where it stands
    for command in (*reading.commands, *reached.commands):
        patience.left()
        one = _names(argument, command)
        if one is Named.YES:
            return one
        if one is Named.MAYBE or (found is Named.NO and may_run(argument, command)):
            found = Named.MAYBE
    return found


def _names_whole(pattern: str, line: str, patience: Patience) -> Named:
    if line == pattern.strip():
        return Named.YES
    if len(line) > MOST_MATCHED:
        return Named.MAYBE
    if is_expression(pattern):
        expression = javascript(pattern, True)
        found = None if expression is None else expression.found_in(line, patience)
        return Named.MAYBE if found is None else Named.YES if found else Named.NO
    return Named.YES if starred(pattern.strip(), False).fullmatch(line) else Named.NO


def _names(pattern: str, command: Command) -> Named:
    texts, name = {command.raw, command.text}, command.name
    if name is not None and program_of(name) != name:
        # What a path leads to is the program of its last name.
        texts.add(program_of(name) + command.text[len(name) :])
    if any(len(text) > MOST_MATCHED for text in texts):
        return Named.MAYBE
    compiled = starred(pattern, True)
    if any(compiled.fullmatch(text) for text in texts):
        return Named.YES
    if command.known:
        return Named.NO
    theirs = fixed_part(pattern)
    for ours in _beginnings(command):
        if ours.startswith(theirs) or theirs.startswith(ours):
            return Named.MAYBE
    return Named.NO


def _beginnings(command: Command) -> set[str]:
    """What the texts a command could be begin with, as far as they are known."""
    found, name = {command.fixed}, command.name
    if name is not None:
        found.add(program_of(name) + command.fixed[len(name) :])
    elif re.search(r"[/~$`]", as_written(command.words[0].raw)):
        found.add("")  # a path, or anything at all: any program may be behind it
    return found


@attrs.frozen
class ShellAllowances:
    """The allow rules of the family, as they are asked about commands."""

    rules: tuple[Rule, ...]
    patience: Patience = ENDLESS

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
                self.patience.left()
                expression = javascript(pattern, False)
                if expression is not None and expression.found_in(line, self.patience):
                    return rule.text
            elif pattern.strip() == line:
                return rule.text
        return None

    def command(self, command: Command) -> str | None:
        """The rule that approves one command."""
        for rule in self.rules:
            argument = rule.argument or ""
            if argument.startswith(LINE):
                continue
            self.patience.left()
            if _approves(argument, command):
                return rule.text
        return None


def _approves(pattern: str, command: Command) -> bool:
    raw = command.raw
    if not raw.startswith(fixed_part(pattern)):
        return False
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


def allowances(rules: Iterable[Rule], patience: Patience = ENDLESS) -> ShellAllowances:
    """The allow rules that are about command lines."""
    return ShellAllowances(tuple(rules), patience)
