"""A host on the real reactor, for tests of what works with this machine's files and programs.

    host = LocalHost(reactor, tmp_path)
    ports = engine_ports(
        reactor, tmp_path,
        supervisor=host.supervisor, resources=host.resources, terminals=host.terminals,
    )
    ...
    await host.stop()

It listens nowhere and keeps its sessions in memory. `MemoryHost` is the one for everything
else: its time is the test's.
"""

from pathlib import Path
from typing import Any

from zope.interface import implementer

from ahpd.app import make_host
from ahpd.client.client import Client
from ahpd.config.settings import Settings
from ahpd.interfaces import Changed, IHostTerminals, IResources, IResourceWatcher, WatchRequest
from ahpd.protocol import State
from ahpd.transports.memory import pair


@implementer(IResources)
class ClientsView:
    """The resources of a host as a client of it is served them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        #: What was asked, in order: (method, params).
        self.asked: list[tuple[str, State]] = []

    async def ask(self, method: str, params: State) -> Any:
        """See `IResources.ask`."""
        self.asked.append((method, params))
        return await self._client.call(method, params)

    async def watch(self, request: WatchRequest, changed: Changed) -> IResourceWatcher:
        """Nothing is watched through a client's commands."""
        raise NotImplementedError

    def check_watched(self, root: str) -> None:
        """See `watch`."""
        raise NotImplementedError


class LocalHost:
    """A started host. It works in `folder`; `terminals`, `supervisor` are its own."""

    def __init__(self, reactor: Any, folder: Path, **settings: Any) -> None:
        settings.setdefault("paths", (folder,))
        settings.setdefault("sessions", "memory")
        self.host = make_host(Settings(listens=False, **settings), reactor, {})
        self.host.service.startService()
        self.supervisor: Any = self.host.service.getServiceNamed("processes")
        self.terminals: IHostTerminals = self.host.service.getServiceNamed("terminals")
        self._client = Client("local-host-kit", reactor)
        self._link = pair(reactor, self.host.peers, self._client, "local-host-kit").link
        self.resources = ClientsView(self._client)

    async def start(self) -> None:
        """Introduce the client whose view of the files this has."""
        await self._client.initialize()

    async def stop(self) -> None:
        """Stop it; every process it started is gone when this returns."""
        await self.host.service.stopService()
        self._link.cut()
