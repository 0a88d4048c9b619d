"""Checks that values of a configuration file share; each raises `WrongValue` with its place."""

import difflib
from collections.abc import Collection, Mapping
from typing import Any, Final

from ahpd.config.errors import WrongValue
from ahpd.config.kinds import describe
from ahpd.config.redaction import is_reference
from ahpd.config.references import check_reference

#: How deep a value may nest: a YAML file can make one that holds itself.
_DEEPEST: Final = 64


def check_mapping(value: object, allowed: str, at: str) -> Mapping[str, Any]:
    """`value` where it is a mapping whose keys are text."""
    if not isinstance(value, Mapping):
        raise WrongValue(_kind(value), allowed, at)
    for key in value:
        if not isinstance(key, str):
            raise WrongValue(f"the key {describe(key)}", "keys that are text (quote it)", at)
    return value


def check_keys(value: Mapping[str, Any], known: Collection[str], at: str) -> None:
    """Refuse a key nobody reads, naming those that are."""
    for key in value:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.7)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise WrongValue(f"an unknown key{meant}", ", ".join(known), f"{at}.{key}")


def check_text(value: object, at: str, *, empty: bool = False) -> str:
    """`value` where it is text on one line."""
    if not isinstance(value, str) or (not value.strip() and not empty) or "\0" in value:
        raise WrongValue(not_text(value), "text", at)
    return value


def not_text(value: object) -> str:
    """What was found where a text belongs: `no` and `5` are none in YAML until they are quoted."""
    hint = " (quote it to make it text)" if isinstance(value, bool | int | float) else ""
    return describe(value) + hint


def check_secret_text(value: object, at: str) -> object:
    """`value` where it is text, or says where a text is; it is never quoted."""
    if is_reference(value):
        assert isinstance(value, Mapping), "a reference is a mapping"
        check_reference(value, at)
    elif not isinstance(value, str) or "\0" in value:
        raise WrongValue(_kind(value), 'text, or {"$env": NAME}', at)
    return value


#: What JSON can say beyond doubt. Most values are, and nobody makes up where they stand.
_LEAVES: Final = frozenset({str, int, bool, type(None)})


def check_json(value: Any, at: str, depth: int = 0) -> Any:
    """`value` where JSON can say it, references in it checked."""
    if depth > _DEEPEST:
        raise WrongValue("a value that nests too deeply", f"at most {_DEEPEST} levels", at)
    if value is None or isinstance(value, str | bool | int):
        return value
    if is_reference(value):
        check_reference(value, at)
        return dict(value)
    if isinstance(value, Mapping):
        held = check_mapping(value, "a mapping", at)
        return {
            key: item if type(item) in _LEAVES else check_json(item, f"{at}.{key}", depth + 1)
            for key, item in held.items()
        }
    if isinstance(value, list):
        return [
            item if type(item) in _LEAVES else check_json(item, f"{at}[{i}]", depth + 1)
            for i, item in enumerate(value)
        ]
    if isinstance(value, float) and value - value == 0:  # neither infinite nor no number
        return value
    raise WrongValue(describe(value), "a value JSON can say", at)


def _kind(value: object) -> str:
    """What was found where the value may be a secret."""
    match value:
        case str():
            return "text"
        case bool():
            return "a boolean (quote it to make it text)"
        case int() | float():
            return "a number (quote it to make it text)"
        case _:
            return describe(value)
