"""What a client asks for with `createTerminal`, checked and made a start of (AHP.txt)."""

import os
import pwd
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from twisted.logger import Logger

from ahpd.interfaces import DEFAULT_COLS, DEFAULT_ROWS, TerminalStart
from ahpd.protocol import State
from ahpd.protocol.errors import invalid_params
from ahpd.protocol.file_uris import path_of
from ahpd.protocol.uris import ChannelKind, kind_of, scheme
from ahpd.terminals.claims import checked_claim

log = Logger()

#: The most columns or rows a terminal of the kernel has.
MOST_CELLS: Final = 65535
#: The longest title of a terminal, in characters.
LONGEST_TITLE: Final = 1000


def checked_terminal_uri(uri: str) -> str:
    """`uri` once it names a terminal and says which. Raises `RpcError` -32602."""
    named = uri[len(scheme(uri)) + 1 :].strip("/")
    if kind_of(uri) is not ChannelKind.TERMINAL or not named:
        raise invalid_params(
            f"params.channel: found {uri[:200]!r}, expected the URI of a terminal "
            "such as ahp-terminal:/<id>"
        )
    return uri


def size_fault(value: float, at: str) -> str | None:
    """What is wrong with a number of columns or rows, naming `at`; None for a good one."""
    whole = not isinstance(value, float) or value.is_integer()
    if whole and 1 <= value <= MOST_CELLS:
        return None
    return f"{at}: found {value!r}, expected a whole number from 1 to {MOST_CELLS}"


def title_fault(title: str, at: str) -> str | None:
    """What is wrong with a title, naming `at`: every client is told it with every list."""
    if len(title) <= LONGEST_TITLE:
        return None
    return f"{at}: found {len(title)} characters, expected at most {LONGEST_TITLE}"


def wanted_start(params: State, shell: str | None) -> TerminalStart:
    """The start a client's `createTerminal` asks for, with `shell` as its shell.

    Raises `RpcError` -32602 naming the member.
    """
    name = params.get("name") or None
    fault = None if name is None else title_fault(name, "params.name")
    if fault is not None:
        raise invalid_params(fault)
    return TerminalStart(
        claim=checked_claim(params["claim"], "params.claim"),
        title=name,
        cwd=_folder_named(params.get("cwd")),
        cols=_wanted_size(params, "cols", DEFAULT_COLS),
        rows=_wanted_size(params, "rows", DEFAULT_ROWS),
        shell=shell,
    )


def _wanted_size(params: State, member: str, default: int) -> int:
    # A client whose panel is hidden has no size yet: it says one when it is shown.
    value = params.get(member) or default
    fault = size_fault(value, f"params.{member}")
    if fault is not None:
        raise invalid_params(fault)
    return int(value)


def _folder_named(cwd: str | None) -> str | None:
    """The path a client named, as a URI or as it is; None where it named none of this machine."""
    if cwd is None or cwd.startswith("/"):
        return cwd
    path = path_of(cwd)
    if path is None:
        log.info("{cwd} names no folder of this machine; the home folder is taken", cwd=cwd[:200])
    return path


def folder(start: TerminalStart, environment: Mapping[str, str]) -> str:
    """Where a program starts: the folder it names, or the home folder where it names none.

    A shell to sit in is at home too where the folder is none here. A command is not: it was
    meant for that folder, and elsewhere it may delete what it was never shown.
    """
    if start.cwd is not None and (start.command is not None or _is_folder(start.cwd)):
        return start.cwd
    home = environment.get("HOME") or _home_of_this_user()
    return home if _is_folder(home) else "/"


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_absolute() and Path(path).is_dir()
    except (OSError, ValueError):  # a part nobody may enter, a NUL
        return False


def _home_of_this_user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a user without an entry, as containers have them
        return "/"


def usable_shell(shell: Any) -> str | None:
    """The configured shell, where it is a program this host can run; else None, and a log line."""
    if not isinstance(shell, str) or not shell:
        return None
    try:
        if Path(shell).is_absolute() and Path(shell).is_file() and os.access(shell, os.X_OK):
            return shell
    except (OSError, ValueError):
        pass
    log.warn(
        "defaultShell {shell} is no program this host can run; its own shell is opened",
        shell=shell[:200],
    )
    return None
