"""The records agents are made of, while a host runs: opened, shown, and folded into its roster.

A record stands in the configuration's `agents:` list, which is a person's to edit, or in a file
of its own (`agents/<id>.json`), which clients put. Source: PLUGINS.txt, `x-ahpd-agents`, "An
engine of your own".
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import attrs
from twisted.internet.defer import Deferred, DeferredLock, gatherResults
from twisted.logger import Logger

from ahpd.config.records import WrittenRecord
from ahpd.extensions.alerts import Alerts
from ahpd.extensions.rows import Rows
from ahpd.interfaces import Alert, IRecords, ISecrets, Owned, RecordChange
from ahpd.protocol import State
from ahpd.records.building import Secrets
from ahpd.records.engines import Engines
from ahpd.records.kept import kept_record, readable
from ahpd.records.members import surfaces_of
from ahpd.records.opening import (
    DISABLED,
    FAILED,
    READY,
    UNAVAILABLE,
    Opened,
    PortsFor,
    Problem,
    open_record,
    refuse_twins,
)
from ahpd.records.paused import PausedAgent
from ahpd.records.probing import Probes
from ahpd.records.roster import CONFIGURED as CONFIGURED_SECTION
from ahpd.records.roster import KEPT as KEPT_SECTION
from ahpd.records.roster import REGISTERED
from ahpd.records.row import CONFIGURED, KEPT, SCHEME, Held, TemplateIcons, row_of
from ahpd.records.rules import GRANTS, Rules
from ahpd.records.secrets import names_secrets, read_secrets
from ahpd.records.service import AgentsService
from ahpd.views import Views

log = Logger()

_SECTIONS: Final = {CONFIGURED: CONFIGURED_SECTION, KEPT: KEPT_SECTION}
#: What an open raises alerts about; each begins the ref of one.
_OF_OPENING: Final = ("env:", "secret:", "open")
_NOT_YET = Opened(state=FAILED, problems=(Problem(ref="open", words="it is not open yet"),))


@attrs.frozen(kw_only=True)
class RecordsGround:
    """What the records of agents are opened, shown and held to."""

    engines: Engines
    defaults: Mapping[str, Mapping[str, Any]] = attrs.field(repr=False)
    """The configuration's `engines`: fields laid under those of each record."""
    ports_for: PortsFor
    agents: AgentsService
    rules: Rules
    secrets: ISecrets
    now: Callable[[], datetime]
    """The wall clock, aware."""
    methods_of: Callable[[str], Collection[str]] = lambda plugin: ()
    """The commands a plugin has, which buttons of its views may name."""
    template_icons: TemplateIcons = lambda engine, template: ()
    """The icons of an engine's template, as they were resolved."""


class AgentRecords:
    """Every record of a host, and the agents they make."""

    def __init__(self, ground: RecordsGround) -> None:
        self.ground = ground
        self.held: dict[str, Held] = {}
        self.lock = DeferredLock()
        """Whoever changes records waits for whoever did before."""
        self._records: IRecords | None = None
        self._stop: Callable[[], None] = lambda: None
        self._stopped = False
        self.probes = Probes(ground.agents, ground.ports_for, self.show)
        self.rows = Rows(
            SCHEME,
            title="Agents",
            description="The agents that are made of records, and whether each works.",
            grant=GRANTS.list,
            readable=ground.rules.reads,
            authorize=lambda uri, caller: ground.rules.lists(caller.reader),
            joined=lambda uri: self._read_engines(),
        )

    # -- where they come from -----------------------------------------------------------

    def configured(self, records: Sequence[WrittenRecord]) -> None:
        """Open the records of the configuration that need no secret of a vault, ahead of a start.

        Each that cannot be opened is one line of the log. Raises `ConfigError` for two of one id.
        """
        refuse_twins(records)
        for written in records:
            held = self.held[written.id] = self._hold(written, CONFIGURED)
            if not names_secrets(written, self.ground.defaults):
                self._take(held, self._open(held, None))
        self.ground.agents.begin(CONFIGURED_SECTION, self._agents_of(CONFIGURED))

    async def load(self, records: IRecords | None) -> None:
        """Open what names secrets, and every record of the collection; follow it from now on."""
        await self.lock.acquire()
        try:
            self._records = records
            for written in await self._stored():
                if written.id in self.held:
                    log.error(
                        "{place}: the agent is left out: {first} has its id",
                        place=written.place,
                        first=self.held[written.id].written.place,
                    )
                    continue
                self.held[written.id] = self._hold(written, KEPT)
            defaults = self.ground.defaults
            opened = [
                held
                for held in self.held.values()
                if held.source == KEPT or names_secrets(held.written, defaults)
            ]
            await self._open_all(opened)
        finally:
            self.lock.release()
        if records is not None:
            self._stop = records.watch(self._edited)

    def stop(self) -> None:
        """Follow the collection no more, and open nothing."""
        self._stopped = True
        self.probes.stop()
        self._stop()

    async def contributed(self, items: Mapping[str, Owned]) -> None:
        """Have the agents that plugins registered be `items` (`Owned` of `IAgent`, by provider).

        Returns when the turns of those that went are over, and their backends down.
        """
        agents = {provider: owned.value for provider, owned in items.items()}
        moved = agents.keys() ^ self.ground.agents.agents.section(REGISTERED).keys()
        await self.ground.agents.set(REGISTERED, agents)
        shadowed = [self.held[each] for each in moved & self.held.keys()]
        if shadowed:
            await self._opened_again(shadowed)

    async def contributed_engines(self, items: Mapping[str, Owned]) -> None:
        """Have plugins' engines be `items` (`Owned` of `IEngine`, by name).

        Records of an engine that came are opened; what runs on those of one that went ends first.
        """
        moved = self.ground.engines.contributed(items)
        if moved:
            of_those = [held for held in self.held.values() if held.written.engine in moved]
            await self._opened_again(of_those)

    async def _opened_again(self, records: Sequence[Held]) -> None:
        await self.lock.acquire()
        try:
            there = [held for held in records if self.held.get(held.written.id) is held]
            await self._open_all(there)
        finally:
            self.lock.release()

    async def _open_all(self, records: Sequence[Held]) -> None:
        """Open these records and fold them in. None waits for the secrets of another."""
        opening = [Deferred.fromCoroutine(self.open(held)) for held in records]
        if any(not each.called for each in opening):
            await self.fold()
        await gatherResults(opening, consumeErrors=True)
        if records:
            await self.fold()

    async def _stored(self) -> Sequence[WrittenRecord]:
        found = []
        for value in () if self._records is None else await self._records.list():
            written = readable(value)
            if written is not None:
                found.append(written)
        return found

    def _edited(self, change: RecordChange) -> None:
        """A record is another one on disk; what was written here is known by then."""
        done = Deferred.fromCoroutine(self._reread(change.id))
        done.addErrback(lambda failure: log.failure("a record was not read again", failure))

    async def _reread(self, identifier: str) -> None:
        await self.lock.acquire()
        try:
            value = None if self._records is None else await self._records.get(identifier)
            held = self.held.get(identifier)
            if held is not None and held.source == CONFIGURED:
                return
            if value is None:
                if held is not None:
                    await self.drop(identifier)
                return
            written = readable(value)
            if written is None or (held is not None and held.written == written):
                return
            await self.change(written)
        finally:
            self.lock.release()

    # -- one record -----------------------------------------------------------------------

    def get(self, identifier: str) -> Held | None:
        """The record of this id; None where there is none."""
        return self.held.get(identifier)

    async def change(self, written: WrittenRecord) -> Held:
        """Take a record in place of the one with its id, open it and fold it in."""
        held = self.held.get(written.id)
        if held is None:
            held = self.held[written.id] = self._hold(written, KEPT)
        else:
            held.written = written
        await self.open(held)
        await self.fold()
        return held

    async def keep(self, written: WrittenRecord) -> None:
        """Have a record on disk. Raises `RecordsFailure`."""
        assert self._records is not None, "asked where there is a store alone"
        await self._records.put(kept_record(written))

    async def forget(self, identifier: str) -> None:
        """Take a record off the disk. Raises `RecordsFailure`."""
        assert self._records is not None, "asked where there is a store alone"
        await self._records.remove(identifier)

    @property
    def keeps(self) -> bool:
        """Whether records can be kept here."""
        return self._records is not None

    async def drop(self, identifier: str) -> None:
        """Let go of a record: what runs on its agent ends, then it is offered no more."""
        held = self.held.pop(identifier)
        self.probes.forget(held)
        self._close_views(held)
        self.rows.remove(identifier)
        await self.fold()

    async def open(self, held: Held) -> None:
        """Open a record as it is written now; what came of it is what its row says."""
        ground = self.ground
        secrets = await read_secrets(held.written, ground.defaults, ground.secrets, ground.engines)
        if self._stopped:
            return  # nobody would close what is opened now
        self._take(held, self._open(held, secrets))

    def _open(self, held: Held, secrets: Secrets | None) -> Opened:
        ground = self.ground
        registered = ground.agents.agents.section(REGISTERED)
        if held.source == KEPT and held.written.id in registered:
            words = "an agent that a plugin registered has its name"
            return Opened(state=FAILED, problems=(Problem(ref="open", words=words),))
        held.quiet = True
        try:
            return open_record(
                held.written,
                ground.ports_for,
                ground.engines,
                ground.defaults,
                secrets,
                held.opened,
                lambda: self._views(held),
            )
        finally:
            held.quiet = False

    def _take(self, held: Held, opened: Opened) -> None:
        before, held.opened = held.opened, opened
        self.probes.opened(held, before)
        if opened.agent is None:
            self._close_views(held)
        for ref in _OF_OPENING:
            held.alerts.clear_where(ref)
        if opened.state == DISABLED:
            held.alerts.clear_where("probe")
        for problem in opened.problems:
            held.alerts.raise_(Alert(level="error", text=problem.words, ref=problem.ref))
            log.error(
                "{place} ({id}): {words}; the agent is left out",
                place=held.written.place,
                id=held.written.id,
                words=problem.words,
            )
        self.show(held)

    def show(self, held: Held) -> None:
        """Have its row be what it is now."""
        if self.held.get(held.written.id) is held and not held.quiet:
            self.rows.put(self._row(held))

    def show_again(self) -> None:
        """What the rows that are shown take from engines is something else."""
        for held in self.held.values():
            if self.rows.get(held.written.id) is not None:
                self.show(held)

    def _row(self, held: Held) -> State:
        engine = self.ground.engines.held(held.written.engine)
        return row_of(held, engine, self.ground.template_icons)

    # -- into the roster --------------------------------------------------------------------

    async def fold(self) -> None:
        """Have the roster offer what is ready, and everybody follow."""
        agents = self.ground.agents
        for source, section in _SECTIONS.items():
            now, resting = self._agents_of(source), self._resting(source)
            await agents.set(section, now, resting)
        agents.say()

    def _agents_of(self, source: str) -> Mapping[str, Any]:
        offered: dict[str, Any] = {}
        for identifier, held in self.held.items():
            if held.source != source or held.opened.state != READY:
                continue
            agent = held.opened.agent
            if held.written.mode == "paused":
                before = self.ground.agents.agents.get(identifier)
                same = isinstance(before, PausedAgent) and before.inner is agent
                agent = before if same else PausedAgent(agent)
            offered[identifier] = agent
        return offered

    def _resting(self, source: str) -> Mapping[str, str]:
        """The records whose agents go while what runs on them may end, and why."""
        words: dict[str, str] = {}
        for identifier, held in self.held.items():
            if held.source != source or held.opened.state in (READY, UNAVAILABLE):
                continue
            if held.opened.state == DISABLED:
                words[identifier] = f"The agent {identifier!r} is disabled on this host."
            else:
                why = held.opened.words
                words[identifier] = f"The agent {identifier!r} could not be opened: {why}"
        return words

    # -- what a record is opened with ----------------------------------------------------------

    def _hold(self, written: WrittenRecord, source: str) -> Held:
        # Its row is put when it was opened, and whenever what it shows moves.
        alerts = Alerts(self.ground.now, lambda: None)
        return Held(written=written, source=source, alerts=alerts, opened=_NOT_YET)

    # -- views ---------------------------------------------------------------------------------

    def _views(self, held: Held) -> Views | None:
        """What its agent shows views with; None for an engine whose agents show none."""
        name, identifier = held.written.engine, held.written.id
        surfaces = surfaces_of(self.ground.engines.held(name))
        if not surfaces:
            return None
        self._close_views(held)
        plugin = self.ground.engines.registrant(name) or ""

        def data(surface: str, path: str, value: Any) -> None:
            # The row is not sent again, and holds the new value.
            said = {"surface": surface, "path": path, "value": value}
            self.rows.say("viewData", said, identifier, self._row(held))

        held.views = Views(
            surfaces,
            lambda: self.ground.methods_of(plugin),
            moved=lambda: self.show(held),
            data=data,
            report=lambda line: log.warn("agent {id}: {line}", id=identifier, line=line),
        )
        return held.views

    def _close_views(self, held: Held) -> None:
        views, held.views = held.views, None
        if views is not None:
            views.close()

    def _read_engines(self) -> None:
        """Somebody looks: the engines of records that were not opened are read for their rows."""
        for held in self.held.values():
            if self.ground.engines.held(held.written.engine) is None:
                _import(self.ground.engines, held.written.engine)
                self.show(held)


def _import(engines: Engines, name: str) -> None:
    try:
        engines.get(name)
    except Exception:  # its row says what it can without it
        log.debug("the engine {name} is not read", name=name)
