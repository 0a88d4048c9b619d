"""What the terminal table means and its keys do not say.

The table approves a command for what it does with ordinary arguments. An option that makes it
write, run something or leave the folders can be written in more ways than a key lists:
abbreviated, in a cluster, with its value attached. Here the words bash hands over are looked
at, so however it was written it is asked about. A person's own `Shell(...)` rule is not held
to any of this.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from ahpd.permissions.shell_reading import Command
from ahpd.permissions.shell_tokens import Word, as_written


class Places(Protocol):
    """What is known of where a line runs."""

    def inside(self, path: str) -> bool:
        """Whether a path a command is given is in the folders."""

    def runs_what_lies_there(self, path: str) -> bool:
        """Whether git, begun in `path` ("" is where the line begins), may take its settings
        from files that anybody writes, so that it runs what stands in them."""


_Guard = Callable[[Sequence[Word], Places], str | None]

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
#: With one of these it lists, whatever names it is given.
_BRANCH_FILTERS: Final = frozenset(
    {"--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"}
)
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


def held_back(command: Command, places: Places) -> str | None:
    """Why the table does not approve a command one of its keys names; None where it does."""
    guard = _GUARDS.get(command.name or "")
    return None if guard is None else guard(command.words[1:], places)


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


def _clusters(refused: str, takes_value: str, long: Sequence[str] = ()) -> _Guard:
    """A guard against short options in any cluster, and long ones however abbreviated."""

    def guard(words: Sequence[Word], places: Places) -> str | None:
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


def _find(words: Sequence[Word], places: Places) -> str | None:
    if unknown := _unknown(words):
        return unknown
    return next((f"its option {w.text}" for w in words if w.text in _FIND_ACTS), None)


def _cd(words: Sequence[Word], places: Places) -> str | None:
    """A shell that is left elsewhere reads and writes elsewhere, in later calls too."""
    plain = len(words) == 1 and words[0].known and not words[0].text.startswith(("-", "~"))
    if plain and places.inside(as_written(words[0].text)):
        return None
    return "it leads out of the folders, or may"


def _git(words: Sequence[Word], places: Places) -> str | None:
    if unknown := _unknown(words):
        return unknown
    at, folder = 0, ""
    while at < len(words) and words[at].text.startswith("-"):
        if words[at].text == "-C":
            at += 1
            if at >= len(words) or not words[at].known:
                return "it leads out of the folders, or may"
            folder = posixpath.join(folder, as_written(words[at].text))
            if not places.inside(folder):
                return "it leads out of the folders, or may"
        elif words[at].text != "--no-pager":
            return f"its option {words[at].text}"
        at += 1
    if places.runs_what_lies_there(folder):
        return "a repository it may find has its settings where anybody writes"
    if at >= len(words):
        return None
    asked = _OF_GIT.get(words[at].text)
    refused = None if asked is None else asked(words[at + 1 :])
    return None if refused is None else f"its option {refused}"


def _branch(words: Sequence[Word]) -> str | None:
    """What of a `git branch` does more than list; a name it is given, where it makes one."""
    options = list(_options(words))
    names = {option.partition("=")[0] for option in options}
    for option in options:
        listed = option.partition("=")[0] in _BRANCH_LISTS or re.fullmatch(r"-[avriq]+", option)
        if not listed:
            return option
    if names & _BRANCH_FILTERS:
        return None
    return next((w.text for w in words if not w.text.startswith("-")), None)


def _grep(words: Sequence[Word]) -> str | None:
    opens = (o for o in _options(words) if "O" in _cluster(o, "efABCmO") or o.startswith("--op"))
    return next(opens, None)


def _shows(words: Sequence[Word]) -> str | None:
    return next((option for option in _options(words) if _WRITES_OR_RUNS.match(option)), None)


#: What git takes for an abbreviation as well.
_WRITES_OR_RUNS: Final = re.compile(r"--(?:output(?:=|$)|ext-d|no-ind|textc)")
_OF_GIT: Final[Mapping[str, Callable[[Sequence[Word]], str | None]]] = {
    "branch": _branch,
    "grep": _grep,
    "diff": _shows,
    "log": _shows,
    "show": _shows,
}


def _sed(words: Sequence[Word], places: Places) -> str | None:
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


def _date(words: Sequence[Word], places: Places) -> str | None:
    """What it is given and does not print by is the time to set."""
    if found := _SETS_DATE(words, places):
        return found
    is_value = False
    for word in words:
        text = as_written(word.text)
        if is_value or text.startswith(("-", "+")):
            is_value = not is_value and _TAKES_DATE.fullmatch(text) is not None
        else:
            return "it may set the time"
    return None


def _xxd(words: Sequence[Word], places: Places) -> str | None:
    """The second file it is given is written."""
    if not all(word.known for word in words):
        return "it may be given a file to write"
    return None


def _packages(reads: frozenset[str]) -> _Guard:
    """A guard of a package manager: what only reads, with options that change nothing else.

    Any setting is an option to these, the program that opens a page among them.
    """

    def guard(words: Sequence[Word], places: Places) -> str | None:
        if not words or as_written(words[0].text) not in reads:
            return None
        if unknown := _unknown(words):
            return unknown
        for option in _options(words):
            if option.partition("=")[0] not in _OF_LISTS:
                return f"its option {option}"
        return None

    return guard


_OF_LISTS: Final = frozenset(
    {
        "--json", "--long", "-l", "--all", "-a", "--depth", "--parseable", "-p", "--global", "-g",
        "--prod", "--production", "--dev", "-P", "-D", "--omit", "--include", "--workspaces", "--workspace", "-w",
        "--silent", "-s", "--color", "--no-color", "--unicode", "--link", "--recursive", "-r", "--pattern",
        "--no-optional", "--only", "--version", "-v", "--help", "-h", "--audit-level", "--no-fund",
    }
)  # fmt: skip
_NPM: Final = frozenset(
    {
        "ls", "list", "outdated", "view", "info", "show", "explain", "why", "root", "prefix", "bin",
        "search", "doctor", "fund", "repo", "bugs", "docs", "home", "help", "help-search", "config",
        "pkg", "audit", "cache",
    }
)  # fmt: skip
_YARN: Final = frozenset(
    {
        "list", "outdated", "info", "why", "bin", "help", "versions", "licenses", "audit",
        "config", "cache",
    }
)  # fmt: skip
_PNPM: Final = frozenset(
    {"ls", "list", "outdated", "why", "root", "bin", "doctor", "licenses", "audit", "config"}
)
_TAKES_DATE: Final = re.compile(r"-[a-zA-Z]*[dfr]|--(?:da|f|ref)[a-z]*")
_SETS_DATE: Final = _clusters("s", "dfrsI", ("--set",))

_GUARDS: Final[Mapping[str, _Guard]] = {
    "cd": _cd,
    "find": _find,
    "git": _git,
    "sed": _sed,
    "sort": _clusters("oST", "ktoST", ("--output", "--compress-program", "--temporary-directory", "--buffer-size")),
    "tree": _clusters("oR", "", ("--output",)),  # a value is never attached there
    "date": _date,
    "docker": _clusters("o", "n", ("--output",)),
    "file": _clusters("C", "fFmPe", ("--compile",)),
    "npm": _packages(_NPM),
    "pnpm": _packages(_PNPM),
    "rg": _clusters("", "", ("--pre", "--hostname-bin")),
    "xxd": _xxd,
    "yarn": _packages(_YARN),
}  # fmt: skip
