"""What the raw input of a call says: a command line, a URL, the text that is shown.

An agent's tools are its own and so are the names in their input, so what is read here is
what the known agents say. What a rule of the host's would be asked about is read only where
it is the whole of it: half a command line would be judged as a command nobody runs.
"""

import json
import shlex
from collections.abc import Mapping
from typing import Any, Final

from ahpd_agent_acp.content import text_in

_COMMAND: Final = ("command", "cmd", "commandLine", "command_line")
_FOLDER: Final = (
    "cwd", "workdir", "working_directory", "workingDirectory", "dir_path", "directory",
)  # fmt: skip
_URL: Final = ("url", "uri")
_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_RUN_A_LINE: Final = frozenset({"-c", "-lc", "-cl", "-ic"})


def command_line(raw: Any) -> str | None:
    """The line a shell call runs; None where the input does not say it whole."""
    if not isinstance(raw, Mapping):
        return None
    found = [raw[key] for key in _COMMAND if raw.get(key)]
    if len(found) != 1:
        return None
    words = _words(raw.get("args"))
    if words is None:
        return None
    command = found[0]
    if isinstance(command, str):
        return " ".join([command, shlex.join(words)]) if words else command
    argv = _words(command)
    if not argv or words:
        return None
    if len(argv) == 3 and argv[0].rpartition("/")[2] in _SHELLS and argv[1] in _RUN_A_LINE:
        return argv[2]
    return shlex.join(argv)


def runs_words(raw: Any) -> bool:
    """Whether the input is a program and its arguments, whatever kind the call says it is of."""
    if not isinstance(raw, Mapping):
        return False
    return any(bool(_words(raw.get(key))) for key in _COMMAND)


def folders_in(raw: Any) -> list[str]:
    """Where the input says a command runs; empty where it says nothing of it."""
    if not isinstance(raw, Mapping):
        return []
    return list(dict.fromkeys(raw[key] for key in _FOLDER if text_in(raw, key)))


def _words(value: Any) -> list[str] | None:
    """A list of words; none of them for an absent one, None for what is no such list."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        return None
    return value


def url_in(raw: Any) -> str | None:
    """The URL a fetch is of; None where the input names none, or several."""
    if not isinstance(raw, Mapping):
        return None
    found = {raw[key] for key in _URL if text_in(raw, key)}
    more = raw.get("urls")
    if isinstance(more, list):
        found |= {each for each in more if isinstance(each, str)}
    return found.pop() if len(found) == 1 else None


def input_text(raw: Any, kind: str | None) -> str | None:
    """The input as a call shows it; None where there is none.

    Of a shell call that is its line, which is what clients draw as a command.
    """
    if raw is None or raw in ({}, ""):
        return None
    if isinstance(raw, str):
        return raw
    line = command_line(raw) if kind == "execute" else None
    return json.dumps(raw, ensure_ascii=False, indent=2) if line is None else line


def output_text(raw: Any) -> str | None:
    """The raw output of a call that reported no content, as text; None where there is none."""
    if raw is None or raw in ({}, "", []):
        return None
    if isinstance(raw, str):
        return raw
    if isinstance(raw, Mapping):
        for key in ("formatted_output", "output", "stdout", "result", "text"):
            found = text_in(raw, key)
            if found is not None:
                return found
    return json.dumps(raw, ensure_ascii=False, indent=2)
