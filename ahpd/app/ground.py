"""What every part of one host stands on."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import attrs

from ahpd.channels.store import ChannelStore
from ahpd.config.settings import Settings
from ahpd.interfaces import ISessionStore
from ahpd.peers.clients import ClientRegistry
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.scheduler import Scheduler


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Ground:
    """What every part of one host stands on."""

    settings: Settings
    reactor: Any
    now: Callable[[], datetime]
    ids: Callable[[], str]
    kept: ISessionStore
    scheduler: Scheduler
    store: ChannelStore
    supervisor: ProcessSupervisor
    clients: ClientRegistry
