"""A whole host inside the test's process, on a clock the test moves.

`MemoryHost` builds the real composition with no listener and connects `ProbeClient`s
to it over the in-memory pair. `check` holds it to the two promises of the wire: every
frame fits the strict shapes, and what each client was told makes the state a late
subscriber reads.
"""

import itertools
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from ahpd.app import Host, make_host
from ahpd.app.plugin_side import make_plugin_side
from ahpd.config.plugins import PluginEntry
from ahpd.config.settings import Settings
from ahpd.interfaces import IAccess, IAgent, IJudge, ISessionStore, ITerminals
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.client import ProbeClient
from ahpd.testing.frames import FrameChecker
from ahpd.testing.planted import STRUCK, check_silent
from ahpd.transports.memory import Link, pair
from ahpd.wire.codec import encode

T = TypeVar("T")

#: The wall clock's time when the test's clock shows 0.
START: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class MemoryHost:
    """A started host. `agents` by provider; a `ScriptedAgent` alone where none are named.

    `settings` are those of `ahpd.config.settings.Settings`. Its sessions are kept in memory,
    in `kept` where a test gives a store. A host that begins on what another one left is
    given its `kept`, a `clock` that shows no earlier time than its, and the same `ids`. It
    opens terminals where it is given what starts their programs (`ScriptedTerminals`), and
    serves the schemes of `resources` alone, so that no test touches this machine's files; where
    none are given, a plugin may take that port over.
    `judge` answers questions about calls before people do; `access` says who may do what under
    `x-` names. `plugins` are applied before the host is built, as a process does; commands that
    change the list are served where there is a `config_directory`, and read its `config.yaml`.
    """

    def __init__(
        self,
        agents: Mapping[str, IAgent] | None = None,
        *,
        kept: ISessionStore | None = None,
        clock: Clock | None = None,
        ids: Callable[[], str] | None = None,
        terminals: ITerminals | None = None,
        resources: Mapping[str, Any] | None = None,
        judge: IJudge | None = None,
        access: IAccess | None = None,
        plugins: Sequence[PluginEntry] = (),
        environ: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        self.clock = Clock() if clock is None else clock
        self.agent = ScriptedAgent()
        offered = {self.agent.provider: self.agent} if agents is None else agents
        settings.setdefault("paths", (Path.cwd(),))
        settings.setdefault("delta_window_ms", 0)
        numbers = itertools.count(1)
        self.ids = (lambda: f"id-{next(numbers)}") if ids is None else ids
        made = Settings(listens=False, plugins=tuple(plugins), **settings)

        def now() -> datetime:
            return START + timedelta(seconds=self.clock.seconds())

        #: The plugins' side of the host.
        self.side = make_plugin_side(made, self.clock, now=now, environ=environ or {})
        STRUCK.add(self.side.unspoken)
        if plugins:
            self.run(self.side.plugins.load_first(made.plugins))
        files = self.side.plugins.folded.port("resources")
        self.host: Host = make_host(
            made,
            self.clock,
            offered,
            now=now,
            ids=self.ids,
            kept=kept,
            terminals=terminals,
            resources={} if resources is None and files is None else resources,
            judge=judge,
            access=access,
            plugins=self.side,
        )
        self.store = self.host.store
        self.kept = self.host.kept
        self.clients: list[ProbeClient] = []
        self.links: dict[ProbeClient, Link] = {}
        self.host.service.startService()

    # -- time -----------------------------------------------------------------

    def settle(self) -> None:
        """Let everything that is due happen, and what follows from it, without time passing."""
        while any(call.getTime() <= self.clock.seconds() for call in self.clock.getDelayedCalls()):
            self.clock.advance(0)

    def advance(self, seconds: float) -> None:
        """Let time pass, and what is due by then happen."""
        self.settle()
        self.clock.advance(seconds)
        self.settle()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, which must be done without time passing."""
        results: list[Any] = []
        Deferred.fromCoroutine(work).addBoth(results.append)
        self.settle()
        assert results, "it waits for something that does not come by itself"
        if isinstance(results[0], Failure):
            results[0].raiseException()
        result: T = results[0]
        return result

    # -- clients --------------------------------------------------------------

    def client(self, client_id: str, *, foreign: bool = False) -> ProbeClient:
        """A client that is not connected yet. `foreign` ones send what AHP does not declare."""
        probe = ProbeClient(client_id, self.clock, checker=FrameChecker(foreign), timeout=None)
        self.clients.append(probe)
        return probe

    def attach(self, probe: ProbeClient) -> Link:
        """Connect `probe`, which then sends `initialize` or `reconnect`."""
        self.links[probe] = pair(self.clock, self.host.peers, probe, probe.client_id).link
        return self.links[probe]

    def connect(self, client_id: str, *subscriptions: str, **initialize: Any) -> ProbeClient:
        """A client that is connected, introduced and subscribed."""
        foreign = initialize.pop("foreign", False)
        probe = self.client(client_id, foreign=foreign)
        self.attach(probe)
        self.run(probe.initialize(subscriptions=subscriptions, **initialize))
        return probe

    def cut(self, probe: ProbeClient) -> None:
        """Take its connection away; what was on its way is lost."""
        self.links[probe].cut()
        self.settle()

    def reconnect(self, probe: ProbeClient) -> None:
        """Bring it back on a new connection."""
        self.attach(probe)
        self.run(probe.reconnect())

    # -- the promises ---------------------------------------------------------

    def check(self) -> None:
        """Raise `AssertionError` where a frame or a state was not what it has to be."""
        self.settle()
        for channel in self.store.open_channels():
            check_silent(encode(self.store.state(channel)), f"the state of {channel}")
        for probe in self.clients:
            probe.check()
            if not probe.connected:
                continue
            for channel in probe.subscriptions:
                if self.store.is_open(channel):
                    probe.assert_converged(self.store, channel)

    def stop(self) -> None:
        """Check, stop the host, and see that nothing of it is left on the clock."""
        self.check()
        stopped = self.host.service.stopService()
        for _ in range(100):
            self.settle()
            if stopped.called:
                break
            self.clock.advance(1)
        assert stopped.called, "the host did not stop"
        for probe in self.clients:
            if probe.connected:
                self.links[probe].cut()
        self.settle()
        left = [str(call) for call in self.clock.getDelayedCalls()]
        assert not left, f"left on the clock: {left}"
