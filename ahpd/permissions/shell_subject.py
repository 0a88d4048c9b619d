"""A shell line a call asks to run: what it names, what approves it, and where it writes."""

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from ahpd.permissions.edits import always_checked, is_hidden_at_home, patterns_approve
from ahpd.permissions.guards import held_back
from ahpd.permissions.paths import PathSubject, candidates, in_one_of, is_within, touches
from ahpd.permissions.rules import EDIT, Named, Rule
from ahpd.permissions.shell_reading import Command, Reading, Redirect
from ahpd.permissions.shell_rules import allowances, names_line
from ahpd.permissions.terminal_rules import TerminalRules, approved_parts

#: Where a redirect writes no file.
_SINKS: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
#: Paths bash opens a connection for.
_NETWORK: Final = re.compile(r"/dev/(?:tcp|udp)(?:/|$)")
#: Commands behind which a relative path may be somewhere else.
_MOVES: Final = frozenset(
    {"cd", "pushd", "popd", "eval", "source", ".", "builtin", "command", "exec", "trap"}
)


def rough_reading(line: str) -> Reading:
    """A line in a language nobody here reads: no command of it is known."""
    return Reading(line=line.strip(), whole=False, because="nothing here reads its language")


@attrs.define
class ShellSubject:
    """One line, and what its session knows of files."""

    line: str
    read: Callable[[str], Reading]
    """Asked when something first depends on what the line runs."""
    home: str
    folders: Sequence[str]
    snapshots: Sequence[str]
    sensitive: Sequence[Mapping[str, Any]]
    edit_patterns: Any
    edit_rules: tuple[Rule, ...]
    """`Edit(...)` rules that refuse or ask: a redirect is a write."""
    edit_allowed: tuple[Rule, ...]
    table: TerminalRules | None
    """None where the table is turned off."""
    unapproved: Sequence[Command] = ()
    """The commands nothing approved when it was last asked."""
    _reading: Reading | None = None

    @property
    def reading(self) -> Reading:
        if self._reading is None:
            self._reading = self.read(self.line)
        return self._reading

    # -- rules that refuse or ask -------------------------------------------------------

    def named_by(self, rule: Rule) -> Named:
        return names_line(rule, self.reading)

    # -- rules that approve -------------------------------------------------------------

    def allowed_by(self, rules: Iterable[Rule]) -> str | None:
        """What the rules and the table together approve, redirects included."""
        allowed = allowances(rules)
        self.unapproved = self.reading.commands
        line = allowed.whole_line(self.reading.line)
        if not self.reading.whole:
            return line if self._is_foreign else None
        if self.redirect_asks() is not None:
            return None
        if line is not None:
            self.unapproved = ()
            return line
        if self.reading.because is not None:
            return None
        by_table = (
            {} if self.table is None else approved_parts(self.table, self.reading, self._inside)
        )
        reasons: list[str] = []
        left: list[Command] = []
        for place, command in enumerate(self.reading.commands):
            reason = allowed.command(command) or by_table.get(place)
            if reason is None:
                left.append(command)
            else:
                reasons.append(reason)
        self.unapproved = left
        return None if left or not reasons else ", ".join(dict.fromkeys(reasons))

    def why_asked(self) -> str:
        """Why nothing approved the line, in words."""
        names = ", ".join(each.name or each.raw for each in self.unapproved[:5])
        return self.reading.because or self.redirect_asks() or f"nothing approves {names or 'it'}"

    def asked_about(self, command: Command) -> bool:
        """Whether the table asks about a command, rather than not knowing it."""
        if self.table is None:
            return False
        held = held_back(command, self._inside) is not None
        return held or self.table.asks_about(command) is not Named.NO

    @property
    def _is_foreign(self) -> bool:
        """A line of another language: a rule may approve the whole of it, as it is written."""
        return self.reading.because == rough_reading("").because

    def _inside(self, path: str) -> bool:
        """Whether a path a command is given is in the folders. Relative ones begin in the first."""
        if not self.folders:
            return False
        found = candidates(posixpath.join(self.folders[0], path))
        return found is not None and in_one_of(found, self.folders)

    # -- redirects --------------------------------------------------------------------

    def sensitive_write(self) -> str | None:
        """The sensitive location a redirect writes into, or may."""
        if not self.sensitive:
            return None
        if not self.reading.whole:
            return "it cannot be told whether it writes into a sensitive location"
        for redirect in self.reading.redirects:
            if not redirect.writes or redirect.path in _SINKS:
                continue
            paths = self._paths(redirect)
            if paths is None:
                return "a redirect may write into a sensitive location"
            for location in self.sensitive:
                if any(_is_sensitive(each, location) for each in paths):
                    return f"a redirect writes into {location['path']}"
        return None

    def redirect_asks(self) -> str | None:
        """Why a redirect of the line has it asked about; None where none does."""
        for redirect in self.reading.redirects:
            found = self._asks(redirect)
            if found is not None:
                return found
        return None

    def _asks(self, redirect: Redirect) -> str | None:
        if redirect.path in _SINKS:
            return None
        if not redirect.writes:
            if redirect.path is None or _NETWORK.match(posixpath.normpath(redirect.path)):
                return "a redirect may open a connection"
            return None
        paths = self._paths(redirect)
        if paths is None:
            return "it cannot be told where a redirect writes"
        file = PathSubject(paths, self.home, self.folders)
        if touches(paths, self.snapshots):
            return "a redirect writes into what came with a message"
        if any(file.named_by(rule) is not Named.NO for rule in self.edit_rules if rule.argument):
            return "a rule is about what a redirect writes"
        if file.allowed_exactly(self.edit_allowed) is not None:
            return None
        if always_checked(paths) is not None:
            return f"a redirect writes {redirect.path}, which is always asked about"
        if file.allowed_by(self.edit_allowed) is not None:
            return None
        if not in_one_of(paths, self.folders):
            return f"a redirect writes {redirect.path}, outside of the folders"
        if is_hidden_at_home(paths, self.home) or not patterns_approve(paths, self.edit_patterns):
            return f"a redirect writes {redirect.path}, which the edit patterns ask about"
        return None

    def _paths(self, redirect: Redirect) -> tuple[str, ...] | None:
        """Where a redirect leads; None where that cannot be told."""
        path = redirect.path
        if not path:
            return None
        if redirect.home:
            path = self.home + path[1:]
        if not path.startswith("/"):
            moved = any(each.name is None or each.name in _MOVES for each in self.reading.commands)
            if moved or not self.folders:
                return None
            path = posixpath.join(self.folders[0], path)
        return candidates(path)


def _is_sensitive(path: str, location: Mapping[str, Any]) -> bool:
    places = candidates(location["path"]) or (location["path"],)
    if location["isDirectory"]:
        return any(is_within(path, place) for place in places)
    return path in places


def sensitive_locations(values: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """`sensitiveEditLocations`, read whole: one wrong entry and there are none."""
    found = values.get("sensitiveEditLocations")
    if not isinstance(found, list | tuple):
        return []
    for each in found:
        if not (
            isinstance(each, Mapping)
            and isinstance(each.get("path"), str)
            and isinstance(each.get("isDirectory"), bool)
        ):
            return []
    return list(found)


def edit_rules(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Those of `rules` that are about writing a path."""
    return tuple(rule for rule in rules if rule.family == EDIT)
