"""Which connectors a session may use, and by which alias.

A session's configuration names them in its key `connectors`, and the port `Bindings` names more
while it runs. Source: PLUGINS.txt, "An action offered as a tool".
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from twisted.logger import Logger

from ahpd.calling import called
from ahpd.protocol.connector_aliases import KEY, aliases_in, wrong_aliases
from ahpd.protocol.errors import shortened

log = Logger()

#: What is wrong with what the port names is logged so many times at most.
_MOST_COMPLAINTS: Final = 100


def bound_in(found: Any, adapter: str) -> dict[str, str]:
    """The connectors of one adapter that `found` names: their ids by alias. What is no alias or
    no URI of a connector is passed over."""
    return {
        alias: identifier
        for alias, (named, identifier) in aliases_in(found).items()
        if named == adapter
    }


class SessionBindings:
    """The bindings of sessions, asked anew each time. `live` is the port; None is none."""

    def __init__(self, live: Callable[[str], Mapping[str, str]] | None) -> None:
        self._live = live
        self._complained: set[tuple[str, str]] = set()

    def of(self, session: str, config: Mapping[str, Any], adapter: str) -> dict[str, str]:
        """What a session binds of an adapter: ids by alias. What its own configuration says
        stands ahead of the port."""
        found: Any = {}
        if self._live is not None:
            try:
                found = called(self._live, session)
                if found is not None:
                    self._check(session, found)
            except Exception as failed:
                log.error(
                    "the connectors of {session} are not told: {kind}",
                    session=session,
                    kind=type(failed).__name__,
                )
        return {**bound_in(found, adapter), **bound_in(config.get(KEY), adapter)}

    def _check(self, session: str, found: Any) -> None:
        """Log what the port names wrongly, once for each session."""
        words = shortened("; ".join(wrong_aliases(found)))
        complaint = (session, words)
        if not words or complaint in self._complained:
            return
        if len(self._complained) < _MOST_COMPLAINTS:
            self._complained.add(complaint)
            log.warn("the connectors of {session}: {words}", session=session, words=words)
