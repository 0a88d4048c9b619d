"""Agents as records, while a host runs: what of them is started, stopped and served."""

from collections.abc import Callable, Mapping, Sequence

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ahpd.config.records import WrittenRecord
from ahpd.extensions.operations import OperationsOf
from ahpd.extensions.rows import Rows
from ahpd.interfaces import Channel, IRecords, Method, Owned, RecordsClosed
from ahpd.protocol import State
from ahpd.records.agents import AgentRecords, RecordsGround
from ahpd.records.asking import Taken
from ahpd.records.commands import AgentCommands
from ahpd.records.engine_rows import EngineRows
from ahpd.schemas import Vaulted

log = Logger()


class AgentRecordsService(Service):
    """The records agents are made of, their channels, their commands and their operations.

    `written` are the configuration's, opened when this is made but for those that name secrets.
    `collection` opens the others' collection; without it there are none, and none is put.
    `taken` answers who else has a name an agent is to have, beside the agents there are.
    """

    name = "agent records"

    def __init__(
        self,
        ground: RecordsGround,
        vaulted: Vaulted,
        engine_rows: EngineRows,
        written: Sequence[WrittenRecord] = (),
        *,
        collection: Callable[[], IRecords | None] = lambda: None,
        taken: Taken = lambda name: None,
        connectors: Callable[[], Sequence[State]] = tuple,
    ) -> None:
        self._agents = ground.agents.agents
        self._collection = collection
        self._elsewhere = taken
        self._loaded: Deferred[None] | None = None
        self._waiting: list[Deferred[None]] = []
        self._is_loaded = False
        self.records = AgentRecords(ground)
        self.engines = engine_rows
        self.commands = AgentCommands(self.records, vaulted, self._taken, connectors)
        self.records.configured(written)

    @property
    def rows(self) -> Rows:
        """The rows of `x-ahpd-agents`."""
        return self.records.rows

    def channels(self) -> Mapping[str, Channel]:
        """The channels by their schemes."""
        return {
            self.rows.scheme: self.rows.channel,
            self.engines.rows.scheme: self.engines.channel,
        }

    def methods(self) -> Mapping[str, Method]:
        """The commands by their names."""
        return self.commands.methods()

    def operations(self) -> OperationsOf:
        """The operations of `x-ahpd-agents`."""
        return self.commands.operations()

    # -- what plugins bring ---------------------------------------------------------------

    def registrant(self, provider: str) -> str | None:
        """The plugin whose engine the agent of a record is made by; None for any other agent."""
        held = self.records.get(provider)
        return None if held is None else self.records.ground.engines.registrant(held.written.engine)

    async def contributed_agents(self, items: Mapping[str, Owned]) -> None:
        """See `AgentRecords.contributed`."""
        await self.records.contributed(items)

    async def contributed_engines(self, items: Mapping[str, Owned]) -> None:
        """See `AgentRecords.contributed_engines`; the rows of the engines follow."""
        await self.records.contributed_engines(items)
        self.engines.refresh()

    def connectors_moved(self) -> None:
        """The connectors a record may name are others."""
        self.engines.refresh()

    def icons_moved(self) -> None:
        """Icons of engines, or of their templates, are known that were not."""
        self.engines.refresh()
        self.records.show_again()

    # -- its life -------------------------------------------------------------------------

    async def load(self) -> None:
        """Open what could not be opened ahead: what names secrets, and the collection's records.

        Asked again it waits for the one load there is. Never raises.
        """
        if self._loaded is None:
            self._loaded = Deferred.fromCoroutine(self._load())
            self._loaded.addBoth(self._over)
        if not self._is_loaded:
            waiting: Deferred[None] = Deferred()
            self._waiting.append(waiting)
            await waiting

    async def _load(self) -> None:
        try:
            await self.records.load(self._collection())
        except RecordsClosed:
            return  # the host ended before they were read
        except Exception:
            log.failure("the records of agents could not be read")

    def _over(self, _: object) -> None:
        self._is_loaded = True
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.callback(None)

    def startService(self) -> None:
        """Open what could not be opened ahead, where nobody had it opened so far."""
        super().startService()  # type: ignore[no-untyped-call]
        Deferred.fromCoroutine(self.load())

    def listening(self) -> None:
        """The host listens: agents are asked from now on whether they work."""
        self.records.probes.begin()

    def stopService(self) -> None:
        """Follow the files no more. The agents are closed by whoever holds them."""
        super().stopService()  # type: ignore[no-untyped-call]
        self.records.stop()

    def _taken(self, identifier: str) -> str | None:
        """Who has the name of an agent already."""
        if identifier in self._agents:
            return "an agent this host serves"
        return self._elsewhere(identifier)
