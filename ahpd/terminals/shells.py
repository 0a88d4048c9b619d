"""How a shell is started: with marks of its prompts and commands where it has a terminal."""

import os
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

_SH: Final = "/bin/sh"
#: Shells that are started with a script of ours, by how their program is called.
_KIND: Final = re.compile(r"(bash|zsh|fish)(-?[0-9.]+)?")
#: Shells that read commands off a pipe one at a time, with a prompt, when they are told to be
#: interactive. Without it a ^C would end them, not what they run.
_INTERACTIVE: Final = re.compile(r"(ba|z|da|k|mk|a)?sh(-?[0-9.]+)?")
#: What `$SHELL` is for those who may not have one.
_NO_SHELLS: Final = frozenset({"nologin", "false"})


class Launch(NamedTuple):
    """A program to start, and what is added to its environment; None takes a variable away."""

    argv: list[str]
    env: dict[str, str | None]


def default_shell(environment: Mapping[str, str]) -> str:
    """`$SHELL` where that is a program's path, else `/bin/sh`."""
    shell = environment.get("SHELL", "")
    path = Path(shell)
    if path.is_absolute() and path.name not in _NO_SHELLS and _is_program(path):
        return shell
    return _SH


def _is_program(path: Path) -> bool:
    try:
        return path.is_file() and os.access(path, os.X_OK)
    except ValueError:  # a NUL in it
        return False


def integration_folder() -> Path | None:
    """Where the shells' scripts are. None where this package is in a zip: shells read files."""
    folder = files(__package__) / "integration"
    return folder if isinstance(folder, Path) and folder.is_dir() else None


def launch_of(
    shell: str,
    command: str | Sequence[str] | None,
    environment: Mapping[str, str | None],
    *,
    pty: bool = True,
    scripts: Path | None = None,
) -> Launch:
    """How to run `command` in a terminal, with the shell of this path.

    A line is run by the shell; words are run as they are, with no shell to read them; None is
    the shell itself, for somebody to sit in. It marks its prompts and commands then, where it
    has a pseudo-terminal and is one of the three that can be told to without a trace in the
    person's files. It is no login shell. On pipes it is told to be interactive; fish is not sat
    in there, because it runs nothing of a pipe until that ends.

    `environment` is what the program has besides; what the launch adds wins over it.
    `scripts` is what `integration_folder` found, None for no marks.
    """
    if isinstance(command, str):
        return Launch([shell, "-c", command], {})
    if command is not None:
        return Launch(list(command), {})
    name = Path(shell).name
    kind = _KIND.fullmatch(name)
    if not pty:
        if kind is not None and kind[1] == "fish":
            return Launch([_SH, "-i"], {})
        return Launch([shell, "-i"] if _INTERACTIVE.fullmatch(name) else [shell], {})
    if scripts is None or kind is None:
        return Launch([shell], {})
    if kind[1] == "bash":
        return Launch([shell, "--rcfile", str(scripts / "bash.sh")], {})
    if kind[1] == "fish":
        script = str(scripts / "fish.fish").replace("\\", "\\\\").replace("'", "\\'")
        return Launch([shell, "--init-command", f"source '{script}'"], {})
    # zsh reads the first of its files in a folder of ours, which puts the person's back.
    env = {"ZDOTDIR": str(scripts / "zsh"), "ORIGINAL_ZDOTDIR": environment.get("ZDOTDIR")}
    return Launch([shell], env)
