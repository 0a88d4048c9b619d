"""A shell line a call asks to run: what it names, what approves it, and where it writes."""

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from ahpd.permissions.edits import always_checked, is_hidden_at_home, patterns_approve
from ahpd.permissions.guards import held_back
from ahpd.permissions.paths import Links, PathSubject, is_within
from ahpd.permissions.patience import ENDLESS, Patience
from ahpd.permissions.rules import EDIT, Named, Rule
from ahpd.permissions.shell_reading import Command, Reading, Redirect
from ahpd.permissions.shell_rules import allowances, names_line
from ahpd.permissions.shell_runners import Reached, reached
from ahpd.permissions.shell_tokens import as_written
from ahpd.permissions.terminal_rules import TerminalRules, approved_parts

#: Where a redirect writes no file.
_SINKS: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
#: Paths bash opens a connection for.
_NETWORK: Final = re.compile(r"/dev/(?:tcp|udp)(?:/|$)")
#: How many folders a line may run in before nobody looks where it does.
_MOST_PLACES: Final = 16
#: Commands behind which a relative path may be somewhere else.
_MOVES: Final = frozenset(
    {"cd", "pushd", "popd", "eval", "source", ".", "builtin", "command", "exec", "trap"}
)


_UNKNOWN: Final[Sequence[str]] = ()


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
    links: Links
    directory: str | None = None
    """Where its relative paths begin; None where that is not known."""
    patience: Patience = ENDLESS
    unapproved: Sequence[Command] = ()
    """The commands nothing approved when it was last asked."""
    _reading: Reading | None = None
    _reached: Reached | None = None
    _places: Sequence[str] | None = _UNKNOWN

    @property
    def reading(self) -> Reading:
        if self._reading is None:
            self._reading = self.read(self.line)
        return self._reading

    # -- rules that refuse or ask -------------------------------------------------------

    def named_by(self, rule: Rule) -> Named:
        if self._reached is None:
            self._reached = reached(self.reading, self.read, self.patience)
        return names_line(rule, self.reading, self._reached, self.patience)

    # -- rules that approve -------------------------------------------------------------

    def allowed_by(self, rules: Iterable[Rule]) -> str | None:
        """What the rules and the table together approve, redirects included."""
        allowed = allowances(rules, self.patience)
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
            {}
            if self.table is None
            else approved_parts(self.table, self.reading, self, self.patience)
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
        held = held_back(command, self) is not None
        return held or self.table.asks_about(command, self.patience) is not Named.NO

    @property
    def _is_foreign(self) -> bool:
        """A line of another language: a rule may approve the whole of it, as it is written."""
        return self.reading.because == rough_reading("").because

    # -- where it runs ------------------------------------------------------------------

    def inside(self, path: str) -> bool:
        """Whether a path a command is given is in the folders."""
        if self.directory is None:
            return False
        found = self.links.candidates(posixpath.join(self.directory, path))
        return found is not None and self.links.in_one_of(found, self.folders)

    def runs_what_lies_there(self, path: str) -> bool:
        """Whether git may take a folder for its repository that has no `.git` of its own.

        Such a folder is made of plain files, which are written unasked, and its settings name
        programs.
        """
        if self._places is _UNKNOWN:
            self._places = self._where_it_may_be()
        places = self._places
        return places is None or any(self._is_bare(posixpath.join(each, path)) for each in places)

    def _where_it_may_be(self) -> list[str] | None:
        """The folders a command of the line may run in: where it begins, and behind each `cd`.

        None where they are not known, or too many.
        """
        if self.directory is None:
            return None
        found = [self.directory]
        for command in self.reading.commands:
            if command.name == "cd" and len(command.words) > 1:
                target = as_written(command.words[-1].text)
                found += [posixpath.join(each, target) for each in found]
            if len(found) > _MOST_PLACES:
                return None
        return found

    def _is_bare(self, folder: str) -> bool:
        """Whether git finds such a repository from a folder up, ahead of one in a `.git`."""
        known = self.links.candidates(folder)
        return known is None or self.links.finds_bare_repository(known[-1])

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
                if any(_is_sensitive(each, location, self.links) for each in paths):
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
        file = PathSubject(paths, self.home, self.folders, self.patience)
        if self.links.touches(paths, self.snapshots):
            return "a redirect writes into what came with a message"
        if any(file.named_by(rule) is not Named.NO for rule in self.edit_rules if rule.argument):
            return "a rule is about what a redirect writes"
        if file.allowed_exactly(self.edit_allowed) is not None:
            return None
        if always_checked(paths) is not None:
            return f"a redirect writes {redirect.path}, which is always asked about"
        if file.allowed_by(self.edit_allowed) is not None:
            return None
        if not self.links.in_one_of(paths, self.folders):
            return f"a redirect writes {redirect.path}, outside of the folders"
        if is_hidden_at_home(paths, self.home, self.links) or not patterns_approve(
            paths, self.edit_patterns, self.patience
        ):
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
            if moved or self.directory is None:
                return None
            path = posixpath.join(self.directory, path)
        return self.links.candidates(path)


def _is_sensitive(path: str, location: Mapping[str, Any], links: Links) -> bool:
    places = links.candidates(location["path"]) or (location["path"],)
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
