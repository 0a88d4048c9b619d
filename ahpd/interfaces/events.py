"""Events: moments of the host's work that plugins are told of. Source: PLUGINS.txt, "Events"."""

from collections.abc import Mapping
from typing import Any, Final

from zope.interface import Interface

#: Every event there is, by its name, with what its payload holds beside the name: a mapping that
#: may be read and not written to. What ends in `?` may be missing.
EVENTS: Final[Mapping[str, str]] = {
    "session_start": "session, provider, client?",
    "session_end": "session, reason",
    "session_opened": "session, client",
    "turn_start": "session, chat, turn, sender?, queuedMessageId?",
    "turn_end": "session, channel, turnId, reason, sender?, queuedMessageId?",
    "message": "session, chat, turn, text",
    "tool_call": "session, chat, tool, ok, error?",
    "plan_update": "session, chat, turn, harness, tool, title?, sender?, entries | change",
    "input_needed_set": "session, chat, id, kind",
    "input_needed_removed": "session, id",
    "client_connect": "client",
    "client_disconnect": "client",
    "authenticated": "client, resource",
    "automation_fire": "automation, run",
    "resource_write": "uri",
    "users_changed": "",
    "terminal_open": "terminal, cwd",
    "listening": "runtime, host, port, guarded, connectionToken?",
    "stopping": "",
    "log": "line",
}


class IEvents(Interface):
    """Where the host says what happens. Nobody who says anything waits for a listener."""

    def emit(event: str, payload: Mapping[str, Any]) -> None:
        """Tell every listener, in order, one behind the other, events in the order they were said.

        Cheap where nobody listens. Never raises; a listener that does is logged.
        """

    def listened(event: str) -> bool:
        """Whether anybody listens, for who would have to make a payload."""
