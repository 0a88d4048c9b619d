"""The value of the configuration key `connectors`: the connectors a session uses, by alias.

An alias is a lowercase slug, and a value is `connectors://<adapter>/<id>` (PLUGINS.txt, "An action
offered as a tool"). An entry that is anything else is none.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ahpd.protocol.validators import described, quoted

KEY: Final = "connectors"
_ALIAS: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")
_URI: Final = re.compile(r"connectors://([a-z][a-z0-9-]{0,39})/([a-z][a-z0-9-]{0,39})/?")
_URI_WORDS: Final = "connectors://<adapter>/<id>"


def aliases_in(value: Any) -> dict[str, tuple[str, str]]:
    """The adapter and the id of each connector `value` names, by alias."""
    found: dict[str, tuple[str, str]] = {}
    if isinstance(value, Mapping):
        for alias, uri in value.items():
            match = _URI.fullmatch(uri) if isinstance(uri, str) else None
            if match is not None and isinstance(alias, str) and _ALIAS.fullmatch(alias):
                found[alias] = (match[1], match[2])
    return found


def wrong_aliases(value: Any) -> Iterator[str]:
    """What of `value` names no connector, and why. What stands in place of a URI is not quoted."""
    if not isinstance(value, Mapping):
        yield f"{KEY}: found {described(value)}, expected an object of {_URI_WORDS} by alias"
        return
    right = aliases_in(value)
    for alias in value:
        if alias in right:
            continue
        if isinstance(alias, str) and _ALIAS.fullmatch(alias):
            yield f"{KEY}.{alias} is no {_URI_WORDS}"
        else:
            shown = quoted(str(alias))
            yield f"{KEY}: {shown} is no alias (1 to 40 of a-z, 0-9 and -, a letter first)"
