"""The service that starts every child of the host and sees to it that all are gone."""

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from twisted.application.service import Service
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.processes import guard
from ahpd.processes.child import GRACE, SERVING, Child, Exit, IChildEvents, Manner
from ahpd.processes.environment import child_environment
from ahpd.processes.guard import MARK_NAME, Family, Table, read_process, read_table
from ahpd.processes.launch import Launcher, SpawnFailure, launch

log = Logger()

#: Seconds for which one reading of the process table serves all who ask. What it shows
#: of the dead is looked at again, so an old one costs time alone.
_TABLE_AGE: Final = 0.02


@implementer(IChildEvents)
class _GuardEvents:
    """Tells the log when the guard is gone before the host wanted it to be."""

    def __init__(self) -> None:
        self.expected = False

    def output_received(self, data: bytes) -> None:
        """The guard says nothing."""

    def output_ended(self) -> None:
        """Follows its exit."""

    def exited(self, how: Exit) -> None:
        """Children live on without it; the next one that is started brings a new guard."""
        if not self.expected:
            log.warn("the guard of child processes {exit}", exit=how)


class ProcessSupervisor(Service):
    """Starts children and ends them: `stopService` fires when every family is gone.

    `environment` is the host's own (docs of `child_environment` say what of it a child
    sees), `secrets` the values no child may see, `grace` the seconds a child is given
    at each step of its end when the host stops.
    """

    name = "processes"

    def __init__(
        self,
        reactor: Any,
        environment: Mapping[str, str] | None = None,
        secrets: Collection[str] = (),
        grace: float = GRACE,
    ) -> None:
        self._reactor = reactor
        self._environment = dict(os.environ if environment is None else environment)
        self._secrets = tuple(secrets)
        self._grace = grace
        self._children: dict[int, tuple[Child, str]] = {}
        self._guard: Child | None = None
        self._guard_events = _GuardEvents()
        self._stopping = False
        self._count = 0
        self._exited: list[Child] = []
        self._table: Table | None = None
        self._table_read = 0.0
        itself = read_process(os.getpid())
        self._started = 0 if itself is None else itself.start
        # Unique among the hosts of this machine since it was started.
        self._mark = f"{os.getpid()}.{self._started}"

    @property
    def children(self) -> tuple[Child, ...]:
        """The children whose families are not gone, the guard left out."""
        return tuple(child for child, _ in self._children.values())

    @property
    def clock(self) -> IReactorTime:
        """The reactor's clock, which times what is done with the children."""
        clock: IReactorTime = self._reactor
        return clock

    @property
    def environment(self) -> Mapping[str, str]:
        """The host's own environment, to read; a child sees less of it."""
        return self._environment

    def spawn(
        self,
        events: Any,
        argv: Sequence[str],
        env: Mapping[str, str | None] | None = None,
        cwd: str | None = None,
        name: str | None = None,
        launcher: Launcher = launch,
        manner: Manner = SERVING,
    ) -> Child:
        """Start a program that tells `events` (`IChildEvents`) what it does.

        `env` is added to the environment of every child; `name` is what the log calls
        it, the program where it is None. `launcher` gives it its input and output, and what
        that raises comes out of here. Raises `SpawnFailure`, also while stopping.
        """
        if self._stopping:
            raise SpawnFailure(f"{argv[0]} could not be started: the host is stopping")
        if self._guard is None or self._guard.exit is not None:
            self._start_guard()
        mark = self._new_mark()
        # Ahead of the start: the host may be killed before it knows the child's number.
        self._tell_guard(f"* {mark}")
        try:
            child = self._start(
                mark, events, argv, env or {}, cwd, name or Path(argv[0]).name, launcher, manner
            )
        except BaseException:
            self._tell_guard(f"/ {mark}")
            raise
        self._children[child.pid] = child, mark
        self._tell_guard(f"+ {child.pid} {mark}")
        child.gone.wait().addCallback(lambda _: self._forget(child))
        return child

    def _new_mark(self) -> str:
        self._count += 1
        return f"{self._mark}.{self._count}"

    def _start(
        self,
        mark: str,
        events: Any,
        argv: Sequence[str],
        env: Mapping[str, str | None],
        cwd: str | None,
        name: str,
        launcher: Launcher = launch,
        manner: Manner = SERVING,
    ) -> Child:
        environment = child_environment(self._environment, {**env, MARK_NAME: mark}, self._secrets)
        launched = launcher(argv, environment, cwd)
        family = Family(launched.process.pid, mark)
        return Child(
            self._reactor,
            name,
            launched,
            family,
            events,
            self._recent_table,
            self._reap_soon,
            manner,
        )

    def _recent_table(self) -> Table:
        if self._table is None or self._reactor.seconds() - self._table_read > _TABLE_AGE:
            self._table = read_table(os.getpid(), self._started)
            self._table_read = self._reactor.seconds()
        return self._table

    def _reap_soon(self, child: Child) -> None:
        # Those that exit together share one reading of the table, made after their exits.
        if not self._exited:
            self._reactor.callLater(0, self._reap)
        self._exited.append(child)

    def _reap(self) -> None:
        exited, self._exited = self._exited, []
        self._table = None
        table = self._recent_table()
        for child in exited:
            child.reap(table)

    def _forget(self, child: Child) -> None:
        self._children.pop(child.pid, None)
        self._tell_guard(f"- {child.pid}")

    def _start_guard(self) -> None:
        argv = [sys.executable, "-I", "-S", guard.__file__]
        self._guard_events = _GuardEvents()
        self._guard = self._start(self._new_mark(), self._guard_events, argv, {}, "/", "guard")
        for child, mark in self._children.values():
            self._tell_guard(f"+ {child.pid} {mark}")

    def _tell_guard(self, line: str) -> None:
        if self._guard is not None:
            self._guard.write(line.encode() + b"\n")

    def startService(self) -> None:
        """Children may be started, also before this."""
        self._stopping = False
        super().startService()  # type: ignore[no-untyped-call]

    def stopService(self) -> "Deferred[None]":
        """End every child, together; fires when the last one's family is gone, and the guard."""
        self._stopping = True
        super().stopService()  # type: ignore[no-untyped-call]
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        await DeferredList(
            [Deferred.fromCoroutine(child.end(self._grace)) for child in self.children]
        )
        if self._guard is not None:
            self._guard_events.expected = True
            await self._guard.end(self._grace)
            self._guard = None
