"""Which connectors a session may use, and by which alias.

A session's configuration names them in its key `connectors`, and the port `Bindings` names more
while it runs. Source: PLUGINS.txt, "An action offered as a tool".
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from twisted.logger import Logger

from ahpd.extensions.names import is_slug

log = Logger()

#: The key of a session's configuration: an object of URIs by alias.
KEY: Final = "connectors"
_URI: Final = re.compile(r"connectors://([a-z][a-z0-9-]{0,39})/([a-z][a-z0-9-]{0,39})/?")


def bound_in(found: Any, adapter: str) -> dict[str, str]:
    """The connectors of one adapter that `found` names: their ids by alias. What is no alias or
    no URI of a connector is passed over."""
    bound: dict[str, str] = {}
    if isinstance(found, Mapping):
        for alias, uri in found.items():
            match = _URI.fullmatch(uri) if isinstance(uri, str) else None
            if match is not None and match[1] == adapter and is_slug(alias):
                bound[alias] = match[2]
    return bound


class SessionBindings:
    """The bindings of sessions, asked anew each time. `live` is the port; None is none."""

    def __init__(self, live: Callable[[str], Mapping[str, str]] | None) -> None:
        self._live = live

    def of(self, session: str, config: Mapping[str, Any], adapter: str) -> dict[str, str]:
        """What a session binds of an adapter: ids by alias. What its own configuration says
        stands ahead of the port."""
        found: Any = {}
        if self._live is not None:
            try:
                found = self._live(session)
            except Exception as failed:
                log.error(
                    "the connectors of {session} are not told: {kind}",
                    session=session,
                    kind=type(failed).__name__,
                )
        return {**bound_in(found, adapter), **bound_in(config.get(KEY), adapter)}
