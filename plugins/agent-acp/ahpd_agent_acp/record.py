"""The fields of a record: what they may hold, and what they make of an agent.

`SCHEMA` is their shape (JSON Schema); `read_record` lays a record over the row it takes and
says in one line what cannot be built. Source: PLUGINS.txt, "A record of the engine".
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from ahpd.interfaces import AgentRecord, InvalidRecord, RecordFailure
from ahpd_agent_acp.machine import check_machine
from ahpd_agent_acp.rows import ROWS, Mode, Row, SignIn

#: A value kept elsewhere, and where.
REFERENCES: Final = ("fromEnv", "$env", "$secret")


@attrs.frozen(kw_only=True)
class Defaults:
    """What is set for every record that does not set its own."""

    host_tools: bool = True
    tools_changed: str = "notify"


@attrs.frozen(kw_only=True)
class Options:
    """A record as an agent works by it. Durations are in seconds."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = attrs.field(repr=False)
    cwd: str | None
    sign_in: SignIn | None
    host_tools: bool
    honours_trust: bool
    tools_changed: str
    cut_turns: str
    modes: str
    unreported_client_calls: str
    find_fresh: float
    listing_idle: float
    max_pages: int
    exit_grace: float
    stderr_bytes: int
    kill_grace: float
    close_grace: float
    stderr_tail: str
    preset_modes: tuple[Mode, ...]
    install: tuple[str, ...]
    page: str | None

    @property
    def program(self) -> tuple[Any, ...]:
        """What a running agent was started with: one that differs is started again."""
        return (
            *(self.command, self.args, dict(self.env), self.cwd, self.sign_in),
            *(self.host_tools, self.tools_changed),
        )

    @property
    def argv(self) -> tuple[str, ...]:
        """The program and its arguments."""
        return (self.command, *self.args)


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "description": description, **more}


def _choice(description: str, first: str, *others: str) -> dict[str, Any]:
    return {
        "type": "string",
        "enum": [first, *others],
        "default": first,
        "description": description,
    }


def _number(description: str, default: int, least: int = 0) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "default": default, "description": description}


_LINES: Final = {"type": "array", "items": {"type": "string", "minLength": 1}}

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "base": _text("The shipped row this record takes, for an id that is not itself one"),
        "command": _text("The program to start"),
        "args": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Its arguments, in place of the row's own",
        },
        "env": {
            "type": "object",
            "description": "Variables laid over the daemon's own; an empty one changes nothing",
            "additionalProperties": {
                "anyOf": [
                    {"type": "string", "writeOnly": True},
                    {
                        "type": "object",
                        "minProperties": 1,
                        "maxProperties": 1,
                        "propertyNames": {"enum": list(REFERENCES)},
                        "additionalProperties": {"type": "string", "minLength": 1},
                    },
                ]
            },
        },
        "cwd": _text("The directory it starts in where a session names none"),
        "authenticate": {
            "type": "object",
            "description": "The sign-in sent after the handshake",
            "additionalProperties": False,
            "properties": {
                "methodId": _text("One of the ids the agent offers"),
                "fromEnv": {
                    "description": "Sent only where this variable, or one of these, is set",
                    "anyOf": [{"type": "string", "minLength": 1}, _LINES],
                },
            },
        },
        "hostTools": {"type": "boolean", "description": "Offer the host's tools to sessions"},
        "honoursTrust": {
            "type": "boolean",
            "default": False,
            "description": "It asks before it loads a project's own settings and hooks",
        },
        "toolsChanged": _choice(
            "How it hears that the tools it listed have moved", "notify", "list"
        ),
        "cutTurns": _choice("How a turn the agent cut short ends", "error", "complete"),
        "modes": _choice("Where its modes come from", "refreshed", "preset"),
        "unreportedClientCalls": _choice(
            "What a request for a client's tool that no reported call matched gets", "row", "error"
        ),
        "findFreshMs": _number("How long one listing answers the finds after it", 2000),
        "listingIdleMs": _number("How long a program started for a listing stays", 0),
        "sessionListMaxPages": _number("How many pages of its sessions are read", 50, 1),
        "exitGraceMs": _number("How long a failed call waits for the exit code", 1000),
        "stderrBytes": _number("How much of its standard error a failure carries", 8192),
        "killGraceMs": _number("How long its process group has to end at SIGTERM", 5000),
        "closeGraceMs": _number("How long it has to close a session", 1000),
        "stderrTail": _choice(
            "Where the last of a failed agent's standard error goes", "sentence", "log"
        ),
        "install": {
            "description": "What installs it, by system",
            "anyOf": [
                _LINES,
                {
                    "type": "object",
                    "propertyNames": {"enum": ["linux", "macos", "windows"]},
                    "additionalProperties": {"anyOf": [_text("A command"), _LINES]},
                },
            ],
        },
        "page": _text("Where its vendor says how to install it"),
        "machine": {"type": "object", "description": "What a machine needs to run it"},
    },
}

#: Fields only the host's owner may set.
HOST_ONLY: Final = ("base", "command", "args", "cwd", "install", "page", "machine")

#: Fields whose references are left as they are: a machine's are read when one is made.
LEFT_WRITTEN: Final = ("machine",)

#: Fields whose value is what the field's schema has as its default.
_PLAIN: Final = (
    "cutTurns",
    "modes",
    "unreportedClientCalls",
    "findFreshMs",
    "listingIdleMs",
    "sessionListMaxPages",
    "exitGraceMs",
    "stderrBytes",
    "killGraceMs",
    "closeGraceMs",
    "stderrTail",
)


def read_record(
    record: AgentRecord, environ: Mapping[str, str], defaults: Defaults, system: str = "linux"
) -> Options:
    """What a record makes of an agent.

    Raises `InvalidRecord` in one line that names its field, `RecordFailure` for what is missing.
    """
    config = record.config
    row = _row_of(record)
    command = config.get("command") or (None if row is None else row.command)
    if not command:
        raise InvalidRecord(
            f"command: {record.id} names no program and is no shipped row; "
            f"set command, or base to one of {', '.join(ROWS)}"
        )
    if "/" in command and not command.startswith("/"):
        # It would be looked for in the folder of each session, which may hold anybody's files.
        raise InvalidRecord(
            f"command: found {command!r}; give the whole path, or a name that is on PATH"
        )
    check_machine(config.get("machine"), environ)
    plain = {name: config.get(name, SCHEMA["properties"][name]["default"]) for name in _PLAIN}
    return Options(
        command=command,
        args=tuple(config.get("args", () if row is None else row.args)),
        env=_environment(config.get("env") or {}, environ),
        cwd=config.get("cwd"),
        sign_in=_sign_in(config, row),
        host_tools=config.get("hostTools", defaults.host_tools),
        honours_trust=config.get("honoursTrust", False if row is None else row.honours_trust),
        tools_changed=config.get("toolsChanged", defaults.tools_changed),
        cut_turns=plain["cutTurns"],
        modes=plain["modes"],
        unreported_client_calls=plain["unreportedClientCalls"],
        find_fresh=plain["findFreshMs"] / 1000,
        listing_idle=plain["listingIdleMs"] / 1000,
        max_pages=plain["sessionListMaxPages"],
        exit_grace=plain["exitGraceMs"] / 1000,
        stderr_bytes=plain["stderrBytes"],
        kill_grace=plain["killGraceMs"] / 1000,
        close_grace=plain["closeGraceMs"] / 1000,
        stderr_tail=plain["stderrTail"],
        preset_modes=() if row is None else tuple(row.modes),
        install=_install(config, row, system),
        page=config.get("page") or (None if row is None else row.page),
    )


def _row_of(record: AgentRecord) -> Row | None:
    base = record.config.get("base")
    if base is None:
        return ROWS.get(record.id)
    if base not in ROWS:
        raise InvalidRecord(f"base: found {base!r}, expected one of {', '.join(ROWS)}")
    return ROWS[base]


def _environment(written: Mapping[str, Any], environ: Mapping[str, str]) -> Mapping[str, str]:
    """The variables that are set: an empty one is a place for a key nobody filled in."""
    found = {}
    for name, value in written.items():
        if isinstance(value, Mapping):
            value = _referenced(f"env.{name}", value, environ)  # noqa: PLW2901
        if not isinstance(value, str):
            raise InvalidRecord(f"env.{name}: expected a text, or a reference to one")
        if value:
            found[name] = value
    return found


def _referenced(at: str, value: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    kind, name = next(iter(value.items())) if len(value) == 1 else (None, None)
    if kind in ("fromEnv", "$env") and isinstance(name, str):
        if environ.get(name):
            return environ[name]
        raise RecordFailure(f"{at}: the daemon's environment has no variable {name}")
    if kind == "$secret":
        raise RecordFailure(f"{at}: the secret {name!r} is not in this host's vault")
    raise InvalidRecord(f"{at}: expected a text, or a reference to one")


def _sign_in(config: Mapping[str, Any], row: Row | None) -> SignIn | None:
    written = config.get("authenticate")
    if written is None:
        return None if row is None else row.sign_in
    if not isinstance(written, Mapping) or not written.get("methodId"):
        raise InvalidRecord("authenticate.methodId: is missing")
    variables = written.get("fromEnv") or ()
    if isinstance(variables, str):
        variables = (variables,)
    return SignIn(method=written["methodId"], from_env=tuple(variables))


def _install(config: Mapping[str, Any], row: Row | None, system: str) -> tuple[str, ...]:
    written = config.get("install")
    if written is None:
        if row is None:
            return ()
        return tuple(row.windows if system == "windows" and row.windows else row.install)
    if isinstance(written, Mapping):
        written = written.get(system, ())
    return (written,) if isinstance(written, str) else tuple(written)


def wants_sign_in(options: Options, environ: Mapping[str, str]) -> SignIn | None:
    """The sign-in to send, where what it needs is set: for the daemon, or by the record."""
    sign_in = options.sign_in
    if sign_in is None or not sign_in.from_env:
        return sign_in
    known: Sequence[Mapping[str, str]] = (options.env, environ)
    return sign_in if any(each.get(name) for name in sign_in.from_env for each in known) else None
