"""The terminal table: which commands run unasked, as a window pushes it or by default.

A key names a command by what it begins with, or is `/expression/flags`; a value is True to
approve, False to ask, None for no rule, or `{"approve", "matchCommandLine"}`. What a key
approves has to be approved as it is written and as bash reads it; what it asks about is asked
about in either, and where it cannot be found out in time. Source: AHP.txt, `root/configChanged`.
"""

import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from ahpd.permissions.guards import Places, held_back
from ahpd.permissions.patience import ENDLESS, Patience
from ahpd.permissions.patterns import MOST_MATCHED, is_expression, javascript
from ahpd.permissions.rules import Named
from ahpd.permissions.shell_reading import Command, Reading
from ahpd.permissions.terminal_table import DEFAULT_TERMINAL_RULES

#: How many keys a pushed table may have to be read; a window's default has about 140.
_MOST_KEYS: Final = 2000
_MOST_TABLES: Final = 8
#: Keys of the default table that take forever on a text made for it. What they are about is
#: settled by the words bash hands over, and more strictly (`ahpd/permissions/guards.py`).
_SED_KEYS: Final = frozenset(
    key
    for key, approve in DEFAULT_TERMINAL_RULES.items()
    if not approve and key.startswith("/^sed")
)
_NAME: Final = re.compile(r"\\A([A-Za-z0-9_-]+)")


#: Whether a text is one a key means; None where that would take too long to find out.
_Meets = Callable[[str, Patience], bool | None]


@attrs.frozen
class _Key:
    text: str
    met_by: _Meets
    fixed: str
    """What it begins with where that is plain; "" is about every command."""


@attrs.frozen
class TerminalRules:
    """A table, compiled."""

    approving: tuple[_Key, ...] = ()
    asking: tuple[_Key, ...] = ()
    approving_lines: tuple[_Key, ...] = ()
    asking_lines: tuple[_Key, ...] = ()
    unreadable: str | None = None
    """A key that asks, and that nobody here can read: what it is about is not known."""

    def asks_about_line(self, line: str, patience: Patience = ENDLESS) -> str | None:
        """The key that has the whole line asked about."""
        if self.unreadable is not None:
            return self.unreadable
        for key in self.asking_lines:
            patience.left()
            if key.met_by(line, patience) is not False:
                return key.text
        return None

    def approves_line(self, line: str, patience: Patience = ENDLESS) -> str | None:
        """The key that approves the whole line."""
        for key in self.approving_lines:
            patience.left()
            if key.met_by(line, patience):
                return key.text
        return None

    def asks_about(self, command: Command, patience: Patience = ENDLESS) -> Named:
        """Whether a key has the command asked about."""
        raw, text = command.raw, command.text
        if len(raw) > MOST_MATCHED:
            return Named.MAYBE
        for key in self.asking:
            patience.left()
            if key.met_by(raw, patience) is not False:
                return Named.YES
            if raw != text and key.met_by(text, patience) is not False:
                return Named.YES
        if command.known or not any(word.may_be_an_option for word in command.words):
            return Named.NO
        name = command.name or ""
        about = any(not key.fixed or key.fixed.partition(" ")[0] == name for key in self.asking)
        return Named.MAYBE if about else Named.NO

    def approves(self, command: Command, patience: Patience = ENDLESS) -> str | None:
        """The key that approves the command, where none has it asked about."""
        raw, text, name = command.raw, command.text, command.name
        if name is None or len(raw) > MOST_MATCHED:
            return None
        for key in self.approving:
            patience.left()
            if "/" in name and "/" not in key.text.strip("/"):
                continue  # a name with a slash is a program somewhere else
            if key.met_by(raw, patience) and (raw == text or key.met_by(text, patience)):
                return key.text
        return None


def approved_parts(
    table: TerminalRules, reading: Reading, places: Places, patience: Patience = ENDLESS
) -> Mapping[int, str]:
    """The commands of a line the table approves, by their place in `Reading.commands`."""
    if reading.because is not None or table.asks_about_line(reading.line, patience) is not None:
        return {}
    asked = [
        table.asks_about(each, patience) is not Named.NO or held_back(each, places) is not None
        for each in reading.commands
    ]
    line = None if any(asked) else table.approves_line(reading.line, patience)
    found: dict[int, str] = {}
    for place, command in enumerate(reading.commands):
        if line is not None:
            found[place] = line
        elif not asked[place]:
            key = table.approves(command, patience)
            if key is not None:
                found[place] = key
    return found


class _Compiling:
    """A table that is being compiled, over as many questions as it takes."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._left = deque(
            (key, *_meaning(value)) for key, value in table.items() if isinstance(key, str) and key
        )
        self._made: dict[tuple[bool, bool], list[_Key]] = {
            (True, False): [], (False, False): [], (True, True): [], (False, True): [],
        }  # fmt: skip
        self._unreadable: str | None = None
        self._done: TerminalRules | None = None

    def done(self, patience: Patience) -> TerminalRules:
        """The table. Raises `OutOfTime` where there is more to do, which the next call goes on with."""
        while self._left:
            patience.left()
            self._take(*self._left.popleft())
        if self._done is None:
            made = self._made
            self._done = TerminalRules(
                tuple(made[True, False]), tuple(made[False, False]),
                tuple(made[True, True]), tuple(made[False, True]), self._unreadable,
            )  # fmt: skip
        return self._done

    def _take(self, key: str, approve: bool | None, whole: bool) -> None:
        if approve is None or (not approve and not whole and key in _SED_KEYS):
            return
        found = _key(key, approve)
        if found is not None:
            self._made[approve, whole].append(found)
        elif not approve:
            self._unreadable = self._unreadable or key


def compiled(table: Mapping[str, Any], patience: Patience = ENDLESS) -> TerminalRules:
    """A table as it was pushed. A value that is none of those above is no rule."""
    return _Compiling(table).done(patience)


def _meaning(value: Any) -> tuple[bool | None, bool]:
    """Whether a value approves, None for no rule, and whether it is about the whole line."""
    if isinstance(value, bool):
        return value, False
    if isinstance(value, Mapping) and isinstance(value.get("approve"), bool):
        return value["approve"], value.get("matchCommandLine") is True
    return None, False


def _key(key: str, approve: bool) -> _Key | None:
    if is_expression(key):
        known = key in DEFAULT_TERMINAL_RULES
        written = key
        if known and approve and key.endswith(r"\b/"):
            # `git log-x` is another command than `git log`.
            written = key.removesuffix(r"\b/") + r"(?=\s|$)/"
        found = javascript(written, not approve, known)
        if found is None:
            return None
        return _Key(key, found.found_in, _plain_name(found.source))
    written = re.escape(key)
    if "/" in key or "\\" in key:
        written = r"(?:\./)?" + re.sub(r"/|\\\\", lambda _: r"[/\\]", written)
    word = key[-1].isalnum() or key[-1] == "_"
    # A command that only begins like the key is approved by nothing.
    end = (r"(?=\s|\Z)" if approve else r"\b") if word else ""
    return _Key(key, _plainly(re.compile(rf"\A{written}{end}", re.ASCII)), key)


def _plainly(pattern: re.Pattern[str]) -> _Meets:
    def met_by(text: str, patience: Patience) -> bool | None:
        return pattern.match(text) is not None if len(text) <= MOST_MATCHED else None

    return met_by


def _plain_name(expression: str) -> str:
    """The name all that an expression matches begins with; "" where there may be others."""
    name = _NAME.match(expression)
    if name is None or expression[name.end() : name.end() + 1] in ("?", "*", "{"):
        return ""
    left, before = re.sub(r"\\.|\[[^\]]*\]", "", expression), ""
    while left != before:
        left, before = re.sub(r"\([^()]*\)", "", left), left
    return "" if "|" in left else name[1]


_DEFAULT: Final = "default"


class TerminalTables:
    """The tables that were asked for lately, compiled."""

    def __init__(self, defaults: bool) -> None:
        """Where no window pushed a table: the default one, or with `defaults` off none."""
        self._defaults = DEFAULT_TERMINAL_RULES if defaults else {}
        self._held: dict[Any, _Compiling] = {}

    def table(self, pushed: Any, patience: Patience = ENDLESS) -> TerminalRules:
        """`pushed` is the value of `terminalAutoApproveRules`, None where there is none.

        Raises `OutOfTime` while one that was just pushed is not compiled yet.
        """
        if pushed is None:
            return self._kept(_DEFAULT, self._defaults).done(ENDLESS)
        if not isinstance(pushed, Mapping):
            return TerminalRules()
        if len(pushed) > _MOST_KEYS:
            return TerminalRules(unreadable=f"a table of more than {_MOST_KEYS} keys")
        # Compared by what is in it: a state is changed in place.
        key = tuple((each, _meaning(value)) for each, value in pushed.items())
        return self._kept(key, pushed).done(patience)

    def _kept(self, key: Any, source: Mapping[str, Any]) -> _Compiling:
        held = self._held.get(key)
        if held is None:
            if len(self._held) > _MOST_TABLES:
                self._held.clear()
            held = self._held[key] = _Compiling(source)
        return held
