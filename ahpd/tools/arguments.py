"""The arguments of a call: plain JSON of a bounded size that fits the tool's `inputSchema`."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

#: The most the arguments of one call take, in bytes of JSON.
MOST_BYTES: Final = 4 * 1024 * 1024
#: How much of a wrong value is repeated.
_SHOWN: Final = 80


class WrongArguments(Exception):
    """Arguments a tool is not called with; the words go to the model."""


def checked(tool: str, schema: Mapping[str, Any] | None, given: Any) -> dict[str, Any]:
    """A copy of `given` that is the tool's own, once it fits `schema`. Raises `WrongArguments`."""
    if not isinstance(given, Mapping):
        raise WrongArguments(f"Invalid {tool} input: expected an object, found {_shown(given)}.")
    arguments = _copied(tool, given)
    problem = None if schema is None else _problem(schema, arguments)
    if problem is not None:
        raise WrongArguments(f"Invalid {tool} input: {problem}.")
    return arguments


def _copied(tool: str, given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        data = json.dumps(dict(given), ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise WrongArguments(f"Invalid {tool} input: it holds half a surrogate pair.") from None
    except (TypeError, ValueError, RecursionError):
        raise WrongArguments(f"Invalid {tool} input: it is no JSON.") from None
    if len(data) > MOST_BYTES:
        raise WrongArguments(
            f"Invalid {tool} input: it takes {len(data)} bytes, at most {MOST_BYTES} are taken."
        )
    copied: dict[str, Any] = json.loads(data)
    return copied


def _problem(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """What is wrong with the arguments, in words; None where nothing is.

    A schema no value can be held against (a type nobody knows, a reference to elsewhere) takes
    every value: the tool checks for itself then, and nothing is fetched.
    """
    # Imported where it is used: it costs a tenth of a second, and a host may never need it.
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from jsonschema.exceptions import UnknownType, best_match  # noqa: PLC0415
    from referencing.exceptions import Unresolvable  # noqa: PLC0415
    from referencing.jsonschema import EMPTY_REGISTRY  # noqa: PLC0415

    # The registry is given, because the default one fetches what a schema refers to.
    validator = Draft202012Validator(schema, registry=EMPTY_REGISTRY)
    try:
        found = best_match(validator.iter_errors(arguments))
    except (UnknownType, Unresolvable):
        return None
    return None if found is None else _words(found)


def _words(error: "ValidationError") -> str:
    at = ""
    for step in error.absolute_path:
        at += f"[{step}]" if isinstance(step, int) else f".{step}"
    at = at.lstrip(".") or "the input"
    wanted: Any = error.validator_value
    found: Any = error.instance
    match error.validator:
        case "type":
            return f"{at}: found {_shown(found)}, expected a value of type {wanted}"
        case "enum":
            names = ", ".join(map(str, wanted))
            return f"{at}: found {_shown(found)}, expected one of {names}"
        case "required":
            missing = ", ".join(name for name in wanted if name not in found)
            return f"{missing} is missing" if at == "the input" else f"{at}.{missing} is missing"
        case "minItems":
            return f"{at}: found {len(found)} items, expected at least {wanted}"
        case "maxLength":
            return f"{at}: found {len(found)} characters, expected at most {wanted}"
        case _:
            return f"{at}: {_shown(error.message)} ({error.validator})"


def _shown(value: Any) -> str:
    words = value if isinstance(value, str) and " " in value else repr(value)
    return words if len(words) <= _SHOWN else f"{words[:_SHOWN]}…"
