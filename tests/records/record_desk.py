"""A host's records on a clock, with an engine that a test writes and everybody who may ask."""

from datetime import UTC, datetime

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from zope.interface import implementer

from ahpd.config.records import Records
from ahpd.extensions.access import OpenAccess
from ahpd.interfaces import (
    AgentRecord,
    Caller,
    Capability,
    EnginePorts,
    Finding,
    IAccess,
    IClosedAgent,
    IEditedAgent,
    IEngine,
    IProbedAgent,
    Owned,
    Reader,
    RecordFailure,
    RecordOptions,
    Template,
)
from ahpd.record_store import MemoryRecordStore
from ahpd.records.agents import RecordsGround
from ahpd.records.demo import BUILT_IN
from ahpd.records.engine_rows import EngineRows
from ahpd.records.engines import Engines
from ahpd.records.records_service import AgentRecordsService
from ahpd.records.roster import OWN, AgentsRoster
from ahpd.records.rules import Rules
from ahpd.records.service import AgentsService
from ahpd.schemas import Vaulted
from ahpd.testing.agents import ScriptedAgent
from ahpd.vault import MemoryVault, Secrets

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@implementer(IProbedAgent, IClosedAgent)
class MadeAgent(ScriptedAgent):
    """The agent of a record. `engine.finds` is what its probe answers."""

    def __init__(self, record, ports, engine):
        super().__init__(record.id)
        self.record, self.ports, self.engine = record, ports, engine
        self.closed = False

    def info(self):
        return {**super().info(), "displayName": self.record.name}

    async def probe(self):
        found = self.engine.finds
        if isinstance(found, Deferred):
            await found
        if isinstance(found, Exception):
            raise found
        return found

    async def close(self):
        self.closed = True


@implementer(IEditedAgent)
class EditedAgent(MadeAgent):
    """One that takes another record while it runs, but for one that is called `no`."""

    def edited(self, record):
        if record.name == "no":
            raise RecordFailure("config.name: no")
        self.record = record


@implementer(IEngine)
class MadeEngine:
    """An engine of a plugin's. `opened` are the records it was asked to open."""

    title = "Made"
    description = "What a test made."
    host_only = ("command",)
    key_variables = ("MADE_KEY",)
    agent_class = MadeAgent

    def __init__(self, name="made", capabilities=(), **more):
        self.name = name
        self.capabilities = capabilities
        self.opened = []
        self.agents = []
        self.finds = ()
        self.fails = None
        self.shows = None
        self.properties = {}
        for key, value in more.items():
            setattr(self, key, value)

    def schema(self):
        return {
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "level": {"enum": ["low", "high"]},
                "apiKey": {"type": "string", "secret": True},
                "note": {"type": "string", "writeOnly": True},
                "env": {"type": "object", "additionalProperties": {"type": "string"}},
                **self.properties,
            },
            "additionalProperties": False,
        }

    def templates(self):
        return (
            Template(id="one", name="One", icon="mark:one", config={"command": "one"}),
            Template(id="two", name="Two", model="m2", config={"env": {"MADE_KEY": ""}}),
        )

    def open(self, record, ports):
        self.opened.append(record)
        if self.fails is not None:
            raise self.fails
        if self.shows is not None:
            ports.view.show_view(self.shows)
        self.agents.append(self.agent_class(record, ports, self))
        return self.agents[-1]

    async def check(self, record, ports):
        return [Finding(about="program", ok=True, words="found")]


def view(text="Plan", event=None):
    """A small view."""
    components = {"root": {"id": "root", "component": "Text", "text": text}}
    return {"root": "root", "components": components, "dataModel": {"plan": "free"}}


VIEW = Capability(type="view", name="main", title="Plan")


@implementer(IAccess)
class StrictAccess:
    """Holds what a test gave to a principal; everybody else holds nothing."""

    def __init__(self, **grants):
        self.grants = {name: set(held) for name, held in grants.items()}

    def reader(self, connection):
        return None

    def holds(self, reader, grant):
        return reader is not None and grant in self.grants.get(reader.principal[5:], ())

    def owns(self, reader, owner):
        if reader is None:
            return False
        return owner == reader.principal or owner.removeprefix("team:") in reader.teams

    def owner(self, reader):
        return None if reader is None else reader.principal

    def may(self, owner, grant):
        return None


def caller(name=None, *teams):
    """Somebody who asks: `user:<name>`, or nobody in particular."""
    if name is None:
        return Caller(client="client-1")
    reader = Reader(principal=f"user:{name}", teams=teams)
    return Caller(client=f"client-{name}", reader=reader, owner=f"user:{name}")


class Handle:
    """What is said on one channel, to each reader a test asks about."""

    def __init__(self):
        self.said = []

    def publish(self, uri, action, *, visible=None, to=None, shown_to=None):
        self.said.append((uri, action, visible))

    def subscribers(self, uri):
        return ()

    def heard(self, reader=None):
        return [
            action for _, action, visible in self.said if visible is None or visible(reader, "c")
        ]


class Sessions:
    """What runs on the agents, as the roster tells it."""

    def __init__(self):
        self.told = []
        self.ending = None

    async def end_sessions_of(self, provider, words=None):
        self.told.append(("end", provider))
        if self.ending is not None:
            await self.ending

    def rest(self, provider):
        self.told.append(("rest", provider))

    def came(self, provider):
        self.told.append(("came", provider))

    def replaced(self, provider):
        self.told.append(("replaced", provider))

    def rewrapped(self, provider):
        self.told.append(("rewrapped", provider))

    async def free(self, agent):
        return None


class Desk:
    """The records of one host; `again` is its next life, on what was kept."""

    def __init__(self, engine=None, written=(), access=None, secrets=None, keeps=True, **more):
        self.clock = Clock()
        self.vault = MemoryVault(secrets or {})
        self.store = MemoryRecordStore()
        self.engine = MadeEngine() if engine is None else engine
        self.environ = {"HERE": "value-of-here"}
        self.defaults = more.pop("defaults", {})
        self.access = OpenAccess() if access is None else access
        self.connectors = []
        self.written, self.keeps, self.more = written, keeps, more
        self.begin()
        assert self.loading, "the records are not read yet"

    def begin(self):
        self.sessions = Sessions()
        self.roster = AgentsRoster(**{OWN: {"demo": ScriptedAgent("demo")}})
        self.changes = []
        self.agents = AgentsService(
            self.roster, self.clock, lambda: self.changes.append(list(self.roster))
        )
        self.agents.sessions = self.sessions
        self.engines = Engines(BUILT_IN, list)
        self.engines.contributed({self.engine.name: Owned("acme", self.engine)})
        self.collection = self.store.collection("agents", RecordOptions(as_json=True))
        reading = Secrets(self.vault, clock=self.clock)
        self.service = AgentRecordsService(
            RecordsGround(
                engines=self.engines,
                defaults=self.defaults,
                ports_for=self.ports,
                agents=self.agents,
                rules=Rules(self.access),
                secrets=reading,
                now=lambda: START,
                template_icons=lambda engine, template: (
                    [{"src": f"data:{template.icon}"}] if template.icon else ()
                ),
                methods_of=lambda plugin: (f"x-{plugin}/go",),
            ),
            Vaulted(reading, self.environ),
            EngineRows(
                self.engines,
                plugin_icons=lambda plugin: [{"src": f"data:{plugin}"}],
                template_icons=lambda engine, template: (
                    [{"src": f"data:{template.icon}"}] if template.icon else ()
                ),
            ),
            Records().check(list(self.written), None),
            collection=lambda: self.collection if self.keeps else None,
            connectors=lambda: self.connectors,
            taken=lambda name: "the scheme notes:" if name == "notes" else None,
        )
        self.handle = Handle()
        self.service.rows.attach(self.handle)
        self.loading = []
        Deferred.fromCoroutine(self.service.load()).addBoth(self.loading.append)

    def again(self):
        self.service.stopService()
        self.begin()

    def ports(self, record):
        async def run(function, *arguments):
            return function(*arguments)

        return EnginePorts(
            reactor=self.clock,
            supervisor=None,
            now=lambda: START,
            ids=lambda: "id",
            run_blocking=run,
            environ=self.environ,
            default_directory=None,
        )

    # -- asking -----------------------------------------------------------------------

    def begin_call(self, verb, who=None, **params):
        method = self.service.methods()[f"x-ahpd/agents/{verb}"]
        done = []
        Deferred.fromCoroutine(method.handle(params, who or caller())).addBoth(done.append)
        return done

    def call(self, verb, who=None, **params):
        done = self.begin_call(verb, who, **params)
        assert done, "not done yet"
        if hasattr(done[0], "raiseException"):
            done[0].raiseException()
        return done[0]

    def put(self, identifier="build", who=None, **params):
        whole = {"engine": "made", "owner": "host", "name": "Build", "config": {}, **params}
        return self.call("put", who, id=identifier, **whole)

    def wait(self, work):
        done = []
        Deferred.fromCoroutine(work).addBoth(done.append)
        assert done, "not done yet"
        if hasattr(done[0], "raiseException"):
            done[0].raiseException()
        return done[0]

    # -- reading -------------------------------------------------------------------------

    def row(self, identifier="build"):
        return self.service.rows.get(identifier)

    def state(self, uri="x-ahpd-agents://", who=None):
        return self.service.rows.channel.snapshot(uri, who or caller())

    def kept(self, identifier="build"):
        return self.wait(self.collection.get(identifier))

    def secrets(self):
        return {name: self.wait(self.vault.get(name)) for name in self.wait(self.vault.list())}

    def record(self, identifier="build") -> AgentRecord:
        return self.roster[identifier].record
