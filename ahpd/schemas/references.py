"""Values that say where a value comes from: `{"$secret": name}`, `{"fromEnv": NAME}`.

Source: PLUGINS.txt, "Naming a secret instead of holding one", `x-ahpd-agents`. `$env` says what
`fromEnv` does.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ahpd.interfaces.vault import SecretFailure
from ahpd.vault.names import parse

SECRET: Final = "$secret"  # noqa: S105 (a keyword)
VARIABLES: Final = frozenset({"fromEnv", "$env"})
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def named_by(value: object) -> tuple[str, Any] | None:
    """`(keyword, name)` of what has the form of a reference, its name not looked at."""
    if isinstance(value, Mapping) and len(value) == 1:
        keyword, name = next(iter(value.items()))
        if keyword == SECRET or keyword in VARIABLES:
            return keyword, name
    return None


def is_reference(value: object) -> bool:
    """Whether `value` is a reference, with a name that can name something.

    `{"$secret": "sk-a-real-key"}` is none: whoever shows it would show a key.
    """
    found = named_by(value)
    if found is None or not isinstance(found[1], str):
        return False
    keyword, name = found
    if keyword != SECRET:
        return _VARIABLE.fullmatch(name) is not None
    try:
        parse(name)
    except SecretFailure:
        return False
    return True


def texts_read(named: Any, read: Any) -> Iterator[str]:
    """Every text of `read` that stands where `named` has a reference: nobody else is to see it."""
    if is_reference(named):
        if isinstance(read, str):
            yield read
    elif isinstance(named, Mapping) and isinstance(read, Mapping):
        for key in named.keys() & read.keys():
            yield from texts_read(named[key], read[key])
    elif isinstance(named, list) and isinstance(read, list):
        for one, other in zip(named, read, strict=False):
            yield from texts_read(one, other)
