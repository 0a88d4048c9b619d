"""A session's tools on a real host, for tests: its files, its terminals, its processes."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
from twisted.internet.defer import Deferred

from ahpd.interfaces import EnginePorts
from ahpd.protocol import State
from ahpd.protocol.file_uris import file_uri
from ahpd.testing.engines import engine_ports
from ahpd.testing.local_host import LocalHost
from ahpd_agent_openai.tools.toolbox import ToolBox, make_toolbox
from ahpd_agent_openai.tools.values import CallContext, ToolOutcome


class ToolsBench:
    """Sessions' tools in `workspace`, a new folder in `folder`; `store` is another."""

    def __init__(self, reactor: Any, folder: Path) -> None:
        self.host = LocalHost(reactor, folder)
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.store = folder / "store"
        self.ports: EnginePorts = engine_ports(
            reactor,
            folder,
            supervisor=self.host.supervisor,
            environ={"PATH": "/usr/local/bin:/usr/bin:/bin"},
            resources=self.host.resources,
            terminals=self.host.terminals,
        )
        #: What clients were shown while calls ran, oldest first.
        self.shown: list[Sequence[State]] = []
        self._boxes: list[ToolBox] = []
        self._ids = itertools.count(1)

    async def start(self) -> None:
        """Have the host's files be there."""
        await self.host.start()

    def box(self, *folders: Path, **options: Any) -> ToolBox:
        """A session's tools. `options` are of `make_toolbox`, or ports to change (`ports`)."""
        ports = attrs.evolve(self.ports, **options.pop("ports", {}))
        uris = [file_uri(str(folder)) for folder in folders or (self.workspace,)]
        options.setdefault("store", self.store)
        box = make_toolbox(ports, folders=uris, **options)
        self._boxes.append(box)
        return box

    def call(self, **more: Any) -> CallContext:
        """A call of a chat's."""
        return CallContext(
            session="ahp-session:/s",
            chat="ahp-chat:/c",
            turn_id="t1",
            tool_call_id=f"call-{next(self._ids)}",
            show=self.shown.append,
            **more,
        )

    async def run(self, box: ToolBox, name: str, /, **arguments: Any) -> ToolOutcome:
        """What became of a call that was described and allowed."""
        described = box.describe(name, arguments)
        return await box.run(name, arguments, self.call(described=described))

    def begin(self, box: ToolBox, name: str, /, **arguments: Any) -> "Deferred[ToolOutcome]":
        """A call that runs, to be cancelled."""
        return Deferred.fromCoroutine(self.run(box, name, **arguments))

    async def stop(self) -> None:
        """Close every toolbox and stop the host. Nothing the tools started may run by then."""
        for box in self._boxes:
            await box.close()
        left = self.host.supervisor.children
        await self.host.stop()
        assert left == (), f"left running: {left}"
