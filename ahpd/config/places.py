"""Where ahpd keeps its files: the XDG base directories."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ahpd.config.errors import ConfigError

FILE_NAMES: Final = ("config.yaml", "config.json")
TOKEN_FILE: Final = "token"  # noqa: S105 - a name, no token


def config_directory(environ: Mapping[str, str]) -> Path:
    """`$XDG_CONFIG_HOME/ahpd`, or `~/.config/ahpd`."""
    return _base(environ, "XDG_CONFIG_HOME", ".config")


def state_directory(environ: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/ahpd`, or `~/.local/state/ahpd`."""
    return _base(environ, "XDG_STATE_HOME", ".local/state")


def data_directory(environ: Mapping[str, str]) -> Path:
    """`$XDG_DATA_HOME/ahpd`, or `~/.local/share/ahpd`."""
    return _base(environ, "XDG_DATA_HOME", ".local/share")


def _base(environ: Mapping[str, str], variable: str, below_home: str) -> Path:
    value = environ.get(variable, "")
    # The XDG specification has a relative path ignored.
    if value.startswith("/"):
        return Path(value) / "ahpd"
    home = environ.get("HOME", "")
    return (Path(home) if home.startswith("/") else Path.home()) / below_home / "ahpd"


def find_file(environ: Mapping[str, str]) -> tuple[Path, bool]:
    """The configuration file and whether it is there.

    Raises `ConfigError` when there are two, since nobody could say which is meant.
    """
    directory = config_directory(environ)
    there = [directory / name for name in FILE_NAMES if (directory / name).exists()]
    if len(there) > 1:
        raise ConfigError(
            f"{directory}: found both {FILE_NAMES[0]} and {FILE_NAMES[1]}, allowed: one of them; "
            "remove the other"
        )
    return (there[0], True) if there else (directory / FILE_NAMES[0], False)
