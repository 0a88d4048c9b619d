"""Values that are kept elsewhere: `{"$env": "NAME"}` in place of a text.

`{"fromEnv": "NAME"}` says the same. `{"$secret": NAME}` names a vault, which this host does
not have. Source: PLUGINS.txt, `x-ahpd-agents` (`fromEnv`), "Naming a secret instead of holding
one".
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from ahpd.config.errors import WrongValue
from ahpd.config.kinds import describe
from ahpd.config.redaction import is_reference

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Unresolved(Exception):
    """A value that is not where it was said to be; `str()` names its place and holds no secret."""


def check_reference(value: Mapping[str, Any], at: str) -> None:
    """Refuse a reference that can name nothing. Raises `WrongValue`."""
    kind, name = next(iter(value.items()))
    if not isinstance(name, str) or not name:
        raise WrongValue(describe(name), "a name", f"{at}.{kind}")
    if kind != "$secret" and not _VARIABLE.fullmatch(name):
        raise WrongValue(describe(name), "the name of a variable", f"{at}.{kind}")


def resolve(value: Any, environ: Mapping[str, str], at: str, read: list[str] | None = None) -> Any:
    """A copy of the JSON value `value` with every reference in it replaced by what it names.

    `at` is where it stands, for words. What was read from variables is added to `read`, so
    that it can be kept out of logs. Raises `Unresolved`.
    """
    if is_reference(value):
        return _read(value, environ, at, read)
    if isinstance(value, Mapping):
        return {key: resolve(held, environ, f"{at}.{key}", read) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [resolve(item, environ, f"{at}[{index}]", read) for index, item in enumerate(value)]
    return value


def _read(
    value: Mapping[str, Any], environ: Mapping[str, str], at: str, read: list[str] | None
) -> str:
    kind, name = next(iter(value.items()))
    if kind == "$secret":
        raise Unresolved(
            f"{at}: names the secret {describe(name)}, and this host has no vault yet; "
            'write {"$env": NAME} to read a variable of the daemon'
        )
    text = environ.get(name) if isinstance(name, str) else None
    if not text:
        found = "is empty in" if text == "" else "is not in"
        raise Unresolved(f"{at}: the variable {name} {found} the daemon's environment")
    if read is not None:
        read.append(text)
    return text
