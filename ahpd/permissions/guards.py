"""What the terminal table means and its keys do not say.

The table approves a command for what it does with ordinary arguments. An option that makes it
write, run something or leave the folders can be written in more ways than a key lists:
abbreviated, in a cluster, with its value attached. Here the words bash hands over are looked
at, so however it was written it is asked about. A person's own `Shell(...)` rule is not held
to any of this.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from ahpd.permissions.shell_reading import Command
from ahpd.permissions.shell_tokens import Word, as_written

Inside = Callable[[str], bool]

_FIND_ACTS: Final = frozenset(
    {"-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls"}
)
_BRANCH_LISTS: Final = frozenset(
    {
        "--list", "--all", "--remotes", "--show-current", "--verbose", "--contains",
        "--no-contains", "--merged", "--no-merged", "--points-at", "--sort", "--format",
        "--column", "--no-column", "--color", "--no-color", "--abbrev", "--no-abbrev",
        "--ignore-case",
    }
)  # fmt: skip
_SED_OPTIONS: Final = re.compile(
    r"-[nErsuz]+|--(?:quiet|silent|regexp-extended|posix|debug|sandbox|separate|null-data)"
)
_SED_PLACE: Final = r"(?:\d+(?:~\d+)?|\$|/(?:\\.|[^/\\\n])+/I?)"
_SED_REPLACES: Final = "|".join(
    rf"s{each}(?:\\.|[^{each}\\\n])*{each}(?:\\.|[^{each}\\\n])*{each}[gpiI0-9]*"
    for each in ("/", r"\|", "#", ",", "@", ":", "%")
)
#: Scripts that print, drop and replace, and neither write files nor run anything.
_SED_SCRIPT: Final = re.compile(
    rf"(?:\s*(?:{_SED_PLACE}(?:,\s*(?:\+\d+|{_SED_PLACE}))?\s*!?\s*)?(?:[pdqPD=]|{_SED_REPLACES})?\s*(?:[;\n]|\Z))+"
)
_MOST_SCRIPT: Final = 300


def held_back(command: Command, inside: Inside) -> str | None:
    """Why the table does not approve a command one of its keys names; None where it does."""
    guard = _GUARDS.get(command.name or "")
    return None if guard is None else guard(command.words[1:], inside)


def _unknown(words: Sequence[Word]) -> str | None:
    if any(word.may_be_an_option for word in words):
        return "what it is given may be an option"
    return None


def _options(words: Sequence[Word]) -> Iterator[str]:
    """The words that are options, up to `--`."""
    for word in words:
        if word.known and word.text == "--":
            return
        if word.prefix.startswith("-") and word.prefix != "-":
            yield as_written(word.text)


def _cluster(option: str, takes_value: str) -> str:
    """The letters of a cluster of short options, without the value the last may hold."""
    if option.startswith("--"):
        return ""
    found = ""
    for letter in option[1:]:
        found += letter
        if letter in takes_value:
            break
    return found


def _clusters(
    refused: str, takes_value: str, long: Sequence[str] = ()
) -> Callable[[Sequence[Word], Inside], str | None]:
    """A guard against short options in any cluster, and long ones however abbreviated."""

    def guard(words: Sequence[Word], inside: Inside) -> str | None:
        if unknown := _unknown(words):
            return unknown
        for option in _options(words):
            if set(refused) & set(_cluster(option, takes_value)):
                return f"its option {option}"
            name = option.partition("=")[0]
            if name.startswith("--") and any(
                each.startswith(name) or name == each for each in long
            ):
                return f"its option {option}"
        return None

    return guard


def _find(words: Sequence[Word], inside: Inside) -> str | None:
    if unknown := _unknown(words):
        return unknown
    return next((f"its option {w.text}" for w in words if w.text in _FIND_ACTS), None)


def _cd(words: Sequence[Word], inside: Inside) -> str | None:
    """A shell that is left elsewhere reads and writes elsewhere, in later calls too."""
    plain = len(words) == 1 and words[0].known and not words[0].text.startswith(("-", "~"))
    if plain and inside(as_written(words[0].text)):
        return None
    return "it leads out of the folders, or may"


def _git(words: Sequence[Word], inside: Inside) -> str | None:
    if unknown := _unknown(words):
        return unknown
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        if words[at].text == "-C":
            at += 1
            if at >= len(words) or not words[at].known or not inside(as_written(words[at].text)):
                return "it leads out of the folders, or may"
        elif words[at].text != "--no-pager":
            return f"its option {words[at].text}"
        at += 1
    if at >= len(words):
        return None
    options = list(_options(words[at + 1 :]))
    match words[at].text:
        case "branch":
            lists = (o for o in options if o.partition("=")[0] not in _BRANCH_LISTS)
            refused = next((o for o in lists if not re.fullmatch(r"-[avriq]+", o)), None)
        case "grep":
            refused = next(
                (o for o in options if "O" in _cluster(o, "efABCmO") or o.startswith("--op")), None
            )
        case "diff" | "log" | "show":
            refused = next(
                (
                    o
                    for o in options
                    if re.match(r"--(?:output(?:=|$)|ext-diff|no-index|textconv)", o)
                ),
                None,
            )
        case _:
            refused = None
    return None if refused is None else f"its option {refused}"


def _sed(words: Sequence[Word], inside: Inside) -> str | None:
    if unknown := _unknown(words):
        return unknown
    script: str | None = None
    for word in words:
        text = as_written(word.text)
        if text.startswith("-") and text != "-":
            if not _SED_OPTIONS.fullmatch(text):
                return f"its option {text}"
        elif script is None:
            if not word.known or len(text) > _MOST_SCRIPT or not _SED_SCRIPT.fullmatch(text):
                return "its script may do more than print"
            script = text
    return None if script is not None else "it has no script"


_GUARDS: Final[Mapping[str, Callable[[Sequence[Word], Inside], str | None]]] = {
    "cd": _cd,
    "find": _find,
    "git": _git,
    "sed": _sed,
    "sort": _clusters("oST", "ktoST", ("--output", "--compress-program", "--temporary-directory", "--buffer-size")),
    "tree": _clusters("oR", "LPIo", ("--output",)),
    "date": _clusters("s", "dfrs", ("--set",)),
    "file": _clusters("C", "fFmPe", ("--compile",)),
    "rg": _clusters("", "", ("--pre", "--hostname-bin")),
}  # fmt: skip
