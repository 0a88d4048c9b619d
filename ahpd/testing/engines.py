"""What an engine's agents work with, in a test."""

import itertools
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from ahpd.interfaces import EnginePorts, IHostTerminals, IResources
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.threads import in_thread


def engine_ports(
    reactor: Any,
    folder: Path,
    *,
    supervisor: ProcessSupervisor | None = None,
    environ: Mapping[str, str] | None = None,
    resources: IResources | None = None,
    terminals: IHostTerminals | None = None,
) -> EnginePorts:
    """Ports whose agents keep what they keep in `folder`, and work there.

    Children of `supervisor` are its owner's to end; one made here is started and has to be
    stopped (`ports.supervisor.stopService()`) where an agent started any. `environ` is the
    environment the agent is told of, an empty one unless it is given.
    """
    if supervisor is None:
        supervisor = ProcessSupervisor(reactor)
        supervisor.startService()
    numbers, run = itertools.count(1), in_thread(reactor)
    return EnginePorts(
        reactor=reactor,
        supervisor=supervisor,
        now=lambda: datetime.now(UTC),
        ids=lambda: f"id-{next(numbers)}",
        run_blocking=lambda work, *arguments: run(partial(work, *arguments)),
        environ={} if environ is None else environ,
        default_directory=folder,
        data_directory=folder / "data",
        resources=resources,
        terminals=terminals,
        version="0",
    )
