"""What people are offered where a question is asked, and what is kept of their answer.

Ids, labels, kinds and groups of `allow-once`, `allow-session` and `skip` are VS Code's. A
grant's id says what it is about and for how long. Which rules it keeps is told beside the
options (`Offer.grants`), so nothing is read out of an id. Source: PLUGINS.txt, "A question
about a tool call".
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from ahpd.interfaces.permissions import Grant
from ahpd.permissions.patterns import escaped
from ahpd.permissions.rules import parsed
from ahpd.permissions.shell_reading import Command
from ahpd.permissions.shell_rules import LINE
from ahpd.permissions.shell_runners import program_of, runs_anything
from ahpd.protocol import State

ALLOW_ONCE: Final = "allow-once"
ALLOW_SESSION: Final = "allow-session"
SKIP: Final = "skip"
SANDBOX_BYPASS: Final = "agentHost.sandboxBypass"

#: Programs that run whatever they are given, beside those that are known to run others.
_RUNS_ANYTHING: Final = frozenset(
    {
        "pwsh", "powershell", "powershell.exe", "cmd", "cmd.exe", "curl", "wget",
        "invoke-restmethod", "invoke-webrequest", "irm", "iwr",
    }
)  # fmt: skip
_HAS_SUBCOMMANDS: Final = frozenset(
    {"git", "npm", "npx", "yarn", "docker", "kubectl", "cargo", "dotnet", "mvn", "gradle"}
)
_HAS_SCRIPTS: Final = frozenset({"npm run", "yarn run"})
_MOST_LISTED: Final = 5
_MOST_SHOWN: Final = 60


@attrs.frozen
class Offer:
    """The options of a question, and what each keeps."""

    options: Sequence[State]
    grants: Mapping[str, Grant] = attrs.field(factory=dict)
    meta: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class Wish:
    """Rules that would have answered a question, and how they are called."""

    about: str
    """For the option's id: `commands`, `line`, `host`, `read` or `write`."""
    what: str
    """What is allowed, as it stands behind "Allow"."""
    rules: tuple[str, ...]


def _option(id: str, label: str, kind: str = "approve", group: int | None = None) -> State:  # noqa: A002
    option: State = {"id": id, "label": label, "kind": kind}
    if group is not None:
        option["group"] = group
    return option


def _once(label: str = "Allow Once") -> State:
    return _option(ALLOW_ONCE, label)


def _skip() -> State:
    return _option(SKIP, "Skip", "deny", 2)


def once_alone() -> Offer:
    """What a managed ask offers."""
    return Offer((_once(), _skip()))


def leaving_the_sandbox() -> Offer:
    """What a call that asks to leave its sandbox offers; nothing is kept of the answer."""
    return Offer((_once("Allow"), _skip()), meta={SANDBOX_BYPASS: True})


def for_the_tool(tool: str, given: Sequence[State]) -> Offer:
    """A backend's own options where it put some, else the three of every tool.

    A tool that is called like a rule for more than itself (`Edit`, `Shell(rm *)`) is allowed
    once alone: its name kept as a rule would be that one.
    """
    if parsed(tool).family is not None:
        return (
            Offer(tuple(each for each in given if each.get("id") != ALLOW_SESSION))
            if given
            else once_alone()
        )
    options = tuple(given) or (
        _option(ALLOW_SESSION, "Allow in this Session", group=1), _once(), _skip(),
    )  # fmt: skip
    kept = any(option.get("id") == ALLOW_SESSION for option in options)
    grants = {ALLOW_SESSION: Grant(scope="session", rules=(tool,))} if kept and tool else {}
    return Offer(options, grants)


def with_wishes(wishes: Sequence[Wish], fulfilled: Callable[[Sequence[str]], bool]) -> Offer:
    """The grants that would have answered the question, between once and not at all."""
    options: list[State] = [_once()]
    grants: dict[str, Grant] = {}
    for wish in wishes:
        if not fulfilled(wish.rules):
            continue
        for scope, ends, label in (
            ("session", "session", f"Allow {wish.what} in this Session"),
            ("host", "always", f"Always Allow {wish.what}"),
        ):
            id = f"allow-{wish.about}-{ends}"  # noqa: A001
            options.append(_option(id, label, group=1))
            grants[id] = Grant(scope=scope, rules=wish.rules)
    return Offer((*options, _skip()), grants)


# -- what is wished for -----------------------------------------------------------------


def for_commands(
    unapproved: Sequence[Command], asked_about: Callable[[Command], bool]
) -> list[Wish]:
    """Wishes for a line whose commands say all it does: by their prefixes, and exactly.

    A command the table asks about, `asked_about`, is offered with these arguments alone.
    """
    wishes: list[Wish] = []
    prefixes = [None if asked_about(command) else _prefix(command) for command in unapproved]
    if prefixes and all(prefixes):
        names = list(dict.fromkeys(each for each in prefixes if each))
        if len(names) <= _MOST_LISTED:
            listed = ", ".join(f"`{_shown(each)} …`" for each in names)
            rules = tuple(f"Shell({escaped(each)} *)" for each in names)
            wishes.append(
                Wish("commands", listed if len(names) == 1 else f"Commands {listed}", rules)
            )
    exact = tuple(dict.fromkeys(f"Shell({escaped(command.raw)})" for command in unapproved))
    if exact and not any(rule.startswith(f"Shell({LINE}") for rule in exact):
        words = "Exact Command Line" if len(exact) == 1 else "Exactly These Commands"
        wishes.append(Wish("exact", words, exact))
    return wishes


def for_line(line: str) -> list[Wish]:
    """The wish for a line that does more than its commands say: itself."""
    # One that looks like an expression would be read as one.
    pattern = f" {line}" if line.startswith("/") else line
    return [Wish("line", "Exact Command Line", (f"Shell({LINE}{pattern})",))]


def _prefix(command: Command) -> str | None:
    """What a rule for the command with any arguments begins with; None where none is offered."""
    words = command.words
    if command.name is None or words[0].quoted:
        return None
    if runs_anything(command.name) and command.name not in _HAS_SUBCOMMANDS:
        return None
    if program_of(command.name).lower() in _RUNS_ANYTHING:
        return None
    if command.name not in _HAS_SUBCOMMANDS:
        return command.name
    at = _next_plain(command, 1)
    if at is not None and f"{command.name} {words[at].raw}" in _HAS_SCRIPTS:
        at = _next_plain(command, at + 1)
    if at is None or not all(word.known and not word.quoted for word in words[: at + 1]):
        return None
    return " ".join(command.raw.split(" ")[: at + 1])


def _next_plain(command: Command, start: int) -> int | None:
    """The first word from `start` on that is no option."""
    places = range(start, len(command.words))
    return next((at for at in places if not command.words[at].raw.startswith("-")), None)


def _shown(text: str) -> str:
    text = text.replace("`", "'").replace("\n", " ")
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"


def for_host(origin: str, host: str) -> list[Wish]:
    """The wish for a fetch: everything of its host, by the scheme it was asked with."""
    return [Wish("host", f"Fetching from {_shown(host)}", (f"WebFetch({origin})",))]


def for_path(kind: str, shown: str, others: int, globs: Sequence[str]) -> list[Wish]:
    """The wish for a read or a write: the file, or the folder and what is in it.

    `others` is of how many paths it is beside the one that is `shown`.
    """
    verb, family = ("Reading", "Read") if kind == "read" else ("Writing", "Edit")
    rules = tuple(f"{family}({glob})" for glob in globs)
    more = f" and {others} more" if others else ""
    return [Wish(kind, f"{verb} `{_shown(shown)}`{more}", rules)]
