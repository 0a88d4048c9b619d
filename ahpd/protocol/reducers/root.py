"""The root channel: agents, terminals and the host's own configuration (schema: RootState)."""

from typing import Final

from ahpd.protocol.reducers.dispatch import Handler, reducer
from ahpd.protocol.reducers.fields import config_changed, replace

HANDLERS: Final[dict[str, Handler]] = {
    "root/agentsChanged": replace("agents"),
    "root/activeSessionsChanged": replace("activeSessions"),
    "root/terminalsChanged": replace("terminals"),
    "root/configChanged": config_changed,
}

reduce = reducer(HANDLERS)
