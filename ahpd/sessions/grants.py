"""What people grant while they answer calls: kept in the session, or in the host.

Source: PLUGINS.txt, "A question about a tool call"; AHP.txt, `session/configChanged`.
"""

from typing import Any, Final, Protocol

from ahpd.interfaces import Grant, IOffers
from ahpd.protocol import Action, State
from ahpd.protocol.permission_rules import KEY, with_allowed
from ahpd.sessions.customization_lists import find

#: The scope of a grant that is the host's: every session's.
HOST: Final = "host"


class Granting(Protocol):
    """A session, as its rules are seen."""

    @property
    def config_values(self) -> Any:
        """The configuration in force, by key."""

    def say(self, action: Action) -> None:
        """Say an action of the host's own on the session's channel."""


def keep(session: Granting, grant: Grant, offers: IOffers | None) -> None:
    """Keep what an answer granted, said as this host's own where it is anything new."""
    if grant.scope == HOST:
        if offers is not None:
            offers.grant(grant.rules)
        return
    allowed = with_allowed(session.config_values.get(KEY), grant.rules)
    if allowed is not None:
        session.say({"type": "session/configChanged", "config": {KEY: allowed}})


def server_name(state: State, customization_id: str) -> str | None:
    """The name of the session's MCP server (schema: McpServerCustomization) of this id."""
    entry = find(state.get("customizations") or (), customization_id)
    if entry is None or entry["type"] != "mcpServer":
        return None
    name: str = entry["name"]
    return name
