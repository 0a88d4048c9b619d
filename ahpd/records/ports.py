"""What each record's engine works with, made of what they all have in common."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import attrs

from ahpd.config.records import WrittenRecord
from ahpd.config.settings import Settings
from ahpd.interfaces.engines import EnginePorts
from ahpd.records.opening import PortsFor


def ports_for(common: EnginePorts, folder: Path | None) -> PortsFor:
    """The ports of each record: `common`, and a folder of its own in `folder`.

    With None a record's agent keeps what it has in memory.
    """

    def made(record: WrittenRecord) -> EnginePorts:
        own = None if folder is None else folder / record.id
        return attrs.evolve(common, data_directory=own)

    return made


def agents_folder(settings: Settings) -> Path | None:
    """Where agents keep what is theirs; None where a host keeps nothing in files."""
    if settings.data_directory is None or settings.sessions != "file":
        return None
    return settings.data_directory / "agents"


def blocking(run: Callable[[Callable[[], Any]], Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """`EnginePorts.run_blocking` out of what does work without arguments elsewhere."""
    return lambda function, *arguments: run(lambda: function(*arguments))
