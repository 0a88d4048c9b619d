"""The terminal table: which commands run unasked, as a window pushes it or by default.

A key names a command by what it begins with, or is `/expression/flags`; a value is True to
approve, False to ask, None for no rule, or `{"approve", "matchCommandLine"}`. What a key
approves has to be approved as it is written and as bash reads it; what it asks about is asked
about in either. Source: AHP.txt, `root/configChanged`.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from ahpd.permissions.guards import held_back
from ahpd.permissions.patterns import MOST_MATCHED, is_expression, javascript
from ahpd.permissions.rules import Named
from ahpd.permissions.shell_reading import Command, Reading
from ahpd.permissions.terminal_table import DEFAULT_TERMINAL_RULES

#: How many keys of a pushed table are read; a window's default has about 140.
_MOST_KEYS: Final = 2000
#: The longest text that an expression with more than two open repetitions is tried on.
_MOST_LOOPED: Final = 160
#: Keys of the default table that take forever on a text made for it. What they are about is
#: settled by the words bash hands over, and more strictly (`ahpd/permissions/guards.py`).
_SED_KEYS: Final = frozenset(
    key
    for key, approve in DEFAULT_TERMINAL_RULES.items()
    if not approve and key.startswith("/^sed")
)
_NAME: Final = re.compile(r"\\A([A-Za-z0-9_-]+)")


@attrs.frozen
class _Key:
    text: str
    pattern: re.Pattern[str]
    fixed: str
    """What it begins with where that is plain; "" is about every command."""
    most: int = MOST_MATCHED
    """The longest text it is tried on."""

    def met_by(self, text: str) -> bool | None:
        """Whether it matches; None where that would take too long to find out."""
        return self.pattern.search(text) is not None if len(text) <= self.most else None


@attrs.frozen
class TerminalRules:
    """A table, compiled."""

    approving: tuple[_Key, ...] = ()
    asking: tuple[_Key, ...] = ()
    approving_lines: tuple[_Key, ...] = ()
    asking_lines: tuple[_Key, ...] = ()
    unreadable: str | None = None
    """A key that asks, and that nobody here can read: what it is about is not known."""

    def asks_about_line(self, line: str) -> str | None:
        """The key that has the whole line asked about."""
        if self.unreadable is not None:
            return self.unreadable
        return next((key.text for key in self.asking_lines if key.met_by(line) is not False), None)

    def approves_line(self, line: str) -> str | None:
        """The key that approves the whole line."""
        return next((key.text for key in self.approving_lines if key.met_by(line)), None)

    def asks_about(self, command: Command) -> Named:
        """Whether a key has the command asked about."""
        raw, text = command.raw, command.text
        if len(raw) > MOST_MATCHED:
            return Named.MAYBE
        for key in self.asking:
            if key.met_by(raw) is not False or (raw != text and key.met_by(text) is not False):
                return Named.YES
        if command.known or not any(word.may_be_an_option for word in command.words):
            return Named.NO
        name = command.name or ""
        about = any(not key.fixed or key.fixed.partition(" ")[0] == name for key in self.asking)
        return Named.MAYBE if about else Named.NO

    def approves(self, command: Command) -> str | None:
        """The key that approves the command, where none has it asked about."""
        raw, text, name = command.raw, command.text, command.name
        if name is None or len(raw) > MOST_MATCHED:
            return None
        for key in self.approving:
            if "/" in name and "/" not in key.text.strip("/"):
                continue  # a name with a slash is a program somewhere else
            if key.met_by(raw) and (raw == text or key.met_by(text)):
                return key.text
        return None


def approved_parts(
    table: TerminalRules, reading: Reading, inside: Callable[[str], bool]
) -> Mapping[int, str]:
    """The commands of a line the table approves, by their place in `Reading.commands`."""
    if reading.because is not None or table.asks_about_line(reading.line) is not None:
        return {}
    asked = [
        table.asks_about(each) is not Named.NO or held_back(each, inside) is not None
        for each in reading.commands
    ]
    line = None if any(asked) else table.approves_line(reading.line)
    found: dict[int, str] = {}
    for place, command in enumerate(reading.commands):
        if line is not None:
            found[place] = line
        elif not asked[place]:
            key = table.approves(command)
            if key is not None:
                found[place] = key
    return found


def compiled(table: Mapping[str, Any]) -> TerminalRules:
    """A table as it was pushed. A value that is none of those above is no rule."""
    made: dict[tuple[bool, bool], list[_Key]] = {
        (True, False): [], (False, False): [], (True, True): [], (False, True): [],
    }  # fmt: skip
    unreadable: str | None = None
    for place, (key, value) in enumerate(table.items()):
        approve, whole = _meaning(value)
        if approve is None or not isinstance(key, str) or not key:
            continue
        if not approve and not whole and key in _SED_KEYS:
            continue
        found = _key(key, approve) if place < _MOST_KEYS else None
        if found is not None:
            made[approve, whole].append(found)
        elif not approve:
            unreadable = unreadable or key
    return TerminalRules(
        tuple(made[True, False]), tuple(made[False, False]),
        tuple(made[True, True]), tuple(made[False, True]), unreadable,
    )  # fmt: skip


def _meaning(value: Any) -> tuple[bool | None, bool]:
    """Whether a value approves, None for no rule, and whether it is about the whole line."""
    if isinstance(value, bool):
        return value, False
    if isinstance(value, Mapping) and isinstance(value.get("approve"), bool):
        return value["approve"], value.get("matchCommandLine") is True
    return None, False


def _key(key: str, approve: bool) -> _Key | None:
    if is_expression(key):
        pattern = javascript(key, dotall=not approve)
        if pattern is None:
            return None
        # What a window wrote itself may take the cube of a text's length, and more.
        known = key in DEFAULT_TERMINAL_RULES
        loops = len(re.findall(r"[*+]|,\}", re.sub(r"\\.|\[[^\]]*\]", "", pattern.pattern)))
        most = MOST_MATCHED if known or loops <= 2 else _MOST_LOOPED
        return _Key(key, pattern, _plain_name(pattern.pattern), most)
    written = re.escape(key)
    if "/" in key or "\\" in key:
        written = r"(?:\./)?" + re.sub(r"/|\\\\", lambda _: r"[/\\]", written)
    word = key[-1].isalnum() or key[-1] == "_"
    # A command that only begins like the key is approved by nothing.
    end = (r"(?=\s|\Z)" if approve else r"\b") if word else ""
    return _Key(key, re.compile(rf"\A{written}{end}", re.ASCII), key)


def _plain_name(expression: str) -> str:
    """The name all that an expression matches begins with; "" where there may be others."""
    name = _NAME.match(expression)
    if name is None or expression[name.end() : name.end() + 1] in ("?", "*", "{"):
        return ""
    left, before = re.sub(r"\\.|\[[^\]]*\]", "", expression), ""
    while left != before:
        left, before = re.sub(r"\([^()]*\)", "", left), left
    return "" if "|" in left else name[1]


DEFAULT: Final = "default"


class TerminalTables:
    """The tables that were asked for lately, compiled."""

    def __init__(self, defaults: bool) -> None:
        """Where no window pushed a table: the default one, or with `defaults` off none."""
        self._defaults = defaults
        self._held: dict[Any, TerminalRules] = {}

    def table(self, pushed: Any) -> TerminalRules:
        """`pushed` is the value of `terminalAutoApproveRules`, None where there is none."""
        if pushed is None:
            key: Any = DEFAULT
            source: Mapping[str, Any] = DEFAULT_TERMINAL_RULES if self._defaults else {}
        elif isinstance(pushed, Mapping):
            # Compared by what is in it: a state is changed in place.
            key = tuple((each, _meaning(value)) for each, value in pushed.items())
            source = pushed
        else:
            return TerminalRules()
        held = self._held.get(key)
        if held is None:
            if len(self._held) > 8:
                self._held.clear()
            held = self._held[key] = compiled(source)
        return held
