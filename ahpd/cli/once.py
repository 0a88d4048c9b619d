"""Work of a command that needs the reactor, run to its end."""

import uuid
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import click
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

import ahpd
from ahpd.config.settings import Settings
from ahpd.interfaces.engines import EnginePorts
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.records.opening import PortsFor
from ahpd.records.ports import agents_folder, blocking, ports_for
from ahpd.threads import OwnThreads

T = TypeVar("T")

_THREADS: Final = 8


def run_with_ports(
    settings: Settings,
    environ: Mapping[str, str],
    work: Callable[[Any, PortsFor], Awaitable[T]],
) -> T:
    """`await work(reactor, ports_for)` in a reactor that runs for as long as it takes.

    What it started is gone when this returns. Raises what it raises, and `click.Abort` where
    a signal came first. Once a process.
    """
    from twisted.internet import reactor

    supervisor = ProcessSupervisor(reactor, environment=environ, secrets=settings.secrets)
    # Not the reactor's own: a look-up that hangs must not hold this command.
    threads = OwnThreads(reactor, "checks", _THREADS)
    common = EnginePorts(
        reactor=reactor,
        supervisor=supervisor,
        now=lambda: datetime.now(UTC),
        ids=lambda: str(uuid.uuid4()),
        run_blocking=blocking(threads.run),
        environ=environ,
        default_directory=settings.default_directory,
        version=ahpd.__version__,
    )
    outcome: list[Any] = []

    async def run() -> None:
        threads.startService()
        outcome.append(await work(reactor, ports_for(common, agents_folder(settings))))

    def start() -> None:
        working = Deferred.fromCoroutine(run())
        working.addErrback(outcome.append)
        working.addBoth(lambda _: stop())

    def stop() -> None:
        if held.running:
            held.stop()

    async def down() -> None:
        await supervisor.stopService()
        await threads.stopService()

    held: Any = reactor
    held.callWhenRunning(start)
    held.addSystemEventTrigger("before", "shutdown", lambda: Deferred.fromCoroutine(down()))
    held.run()
    if not outcome:
        raise click.Abort
    result = outcome[0]
    if isinstance(result, Failure):
        result.raiseException()
    answer: T = result
    return answer
