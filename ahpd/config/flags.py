"""Flags as they were given, before they are checked.

They are kept as text because a daemon that is started again reads them again, from
the directory it was first started in.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ahpd.config.errors import ConfigError, WrongValue
from ahpd.config.options import Option
from ahpd.config.settings import BY_NAME

#: By option name: text, True or False, or a list of texts for one that is said repeatedly.
Raw = dict[str, str | bool | list[str]]


def add(raw: Raw, option: Option, given: str | bool) -> None:
    """Note a flag that was given; of one that takes a single value the last counts."""
    if option.many and isinstance(given, str):
        held = raw.setdefault(option.name, [])
        assert isinstance(held, list), "the flag of a list is noted here alone"
        held.append(given)
    else:
        raw[option.name] = given


def values(raw: Mapping[str, str | bool | list[str]], directory: Path) -> dict[str, Any]:
    """The checked values by option name. Raises `ConfigError` naming the flag."""
    checked: dict[str, Any] = {}
    for name, given in raw.items():
        option = BY_NAME[name]
        if isinstance(given, bool):
            checked[name] = given
        elif isinstance(given, list):
            checked[name] = tuple(
                item for text in given for item in _parse(option, text, directory)
            )
        else:
            checked[name] = _parse(option, given, directory)
    return checked


def _parse(option: Option, text: str, directory: Path) -> Any:
    try:
        return option.kind.parse(text, directory)
    except WrongValue as wrong:
        raise ConfigError(
            f"--{option.flag}: found {wrong.found}, allowed: {wrong.allowed}"
        ) from None
