"""The tunnels of a host as clients reach them: real rows, operations, records, vault; told time."""

from twisted.internet.defer import Deferred

from ahpd.extensions.completions import Choices
from ahpd.extensions.operations import NAME as INVOKE
from ahpd.extensions.operations import Invocations
from ahpd.interfaces import Owned, RecordOptions, TunnelKind, TunnelOperation, TunnelReport
from ahpd.record_store.memory import MemoryRecordStore
from ahpd.schemas import Vaulted
from ahpd.testing.planted import planted
from ahpd.tunnels.service import TunnelsService
from ahpd.vault import MemoryVault, Secrets
from tests.extensions.conftest import Directory, Rig

URI = "x-ahpd-tunnels://"
TOKEN = planted("the token of a tunnel")

SCHEMA = {
    "type": "object",
    "properties": {
        "connector": {"type": "string", "title": "Connector", "x-ahpd-connector": "devtunnel"},
        "port": {"type": "integer", "title": "Port"},
        "token": {"type": "string", "title": "Token", "secret": True},
        "note": {"type": "string", "title": "Note"},
    },
    "required": ["port"],
    "additionalProperties": False,
}
RESTART = TunnelOperation(id="restart", label="Restart", icon="restart", grant="tunnel:restart")
ANONYMOUS = TunnelOperation(
    id="anonymous",
    label="Anonymous access",
    input={
        "type": "object",
        "properties": {"on": {"type": "boolean", "title": "On"}},
        "required": ["on"],
    },
)


class ScriptedKind:
    """A kind that does what its fields say, and notes what was asked of it."""

    def __init__(self, name="dev", operations=(), updates=True, schema=SCHEMA, **more):
        self.history = []
        """`(verb, id, ...)` of each call."""
        self.running = {}
        """The tunnels it forwards, by id, each as it was handed it last."""
        self.reports = {}
        self.creating = lambda tunnel, report: None
        self.removing = lambda tunnel: None
        self.updating = lambda tunnel, given, report: None
        self.invoking = lambda name, tunnel, report, given: None
        if updates:
            more["update"] = self._update
        if operations:
            more["invoke"] = self._invoke
        self.kind = TunnelKind(
            name=name,
            title="Dev",
            schema=schema,
            create=self._create,
            remove=self._remove,
            operations=operations,
            **more,
        )

    async def _create(self, tunnel, report):
        self.history.append(("create", tunnel.id))
        self.reports[tunnel.id] = report
        await _awaited(self.creating(tunnel, report))
        self.running[tunnel.id] = tunnel

    async def _remove(self, tunnel):
        self.history.append(("remove", tunnel.id))
        self.running.pop(tunnel.id, None)
        await _awaited(self.removing(tunnel))

    async def _update(self, tunnel, given, report):
        self.history.append(("update", tunnel.id, dict(given)))
        await _awaited(self.updating(tunnel, given, report))
        self.running[tunnel.id] = tunnel

    async def _invoke(self, name, tunnel, report, given):
        self.history.append((name, tunnel.id, given))
        await _awaited(self.invoking(name, tunnel, report, given))

    @property
    def verbs(self):
        return [one[0] for one in self.history]


async def _awaited(value):
    if isinstance(value, Deferred):
        await value


def outcome(work):
    """What a coroutine or a Deferred that needs no time came to."""
    found = []
    running = work if isinstance(work, Deferred) else Deferred.fromCoroutine(work)
    running.addBoth(found.append)
    assert found, "it is not done"
    if hasattr(found[0], "raiseException"):
        found[0].raiseException()
    return found[0]


class TunnelsHost(Rig):
    """A host that has tunnels and nothing else, with a client of `root` that watches them."""

    def __init__(self, access=None, records=None, vault=None, environ=None, start=True):
        super().__init__(access or Directory())
        self.records = records or MemoryRecordStore()
        self.vault = vault or MemoryVault()
        self.reported = []
        self.connectors = []
        self.kinds = {}
        self.made = 0
        self.choices = Choices(self.access)
        self.choices.connectors = lambda: self.connectors
        self.invocations = Invocations(self.access)
        self.extensions.add_method(INVOKE, self.invocations.method)
        self.service = TunnelsService(
            self.records,
            Vaulted(Secrets(self.vault), environ or {}),
            self.clock,
            self._next,
            stamped=lambda schema: self.choices.stamped(schema, dynamic=False),
            connectors=lambda: self.connectors,
            report=lambda plugin, line: self.reported.append((plugin, line)),
        )
        rows = self.service.tunnels
        rows.attach(self.extensions.add_channel(rows.scheme, rows.channel))
        self.invocations.register(rows.uri, self.service.operations())
        self.service.operations_moved = lambda: self.invocations.refresh(rows.uri)
        self.choices.listen(self.service.connectors_changed)
        self.window = self.client("root")
        self.window.watch(URI)
        if start:
            self.service.startService()

    def _next(self):
        self.made += 1
        return f"t{self.made}"

    def offer(self, *scripted, plugin="acme"):
        """Contribute these kinds and no others; the Deferred of it."""
        self.kinds = {one.kind.name: Owned(plugin, one.kind) for one in scripted}
        return Deferred.fromCoroutine(self.service.contributed(self.kinds))

    def listen(self, port=31546):
        return self.service.listening(port)

    # -- what a person does ---------------------------------------------------------

    @staticmethod
    def asked(operation, target=None, value=None):
        params = {"channel": URI, "operationId": operation}
        if target is not None:
            params["target"] = {"id": target}
        if value is not None:
            params["input"] = value
        return params

    def begin(self, operation, target=None, value=None, who=None):
        """Invoke an operation: what answers whether it was answered yet."""
        who = who or self.window
        asked = who.ask(INVOKE, **self.asked(operation, target, value))
        return lambda: who.answer(asked)

    def invoke(self, operation, target=None, value=None, who=None):
        return (who or self.window).call(INVOKE, **self.asked(operation, target, value))

    def refused(self, operation, target=None, value=None, who=None):
        """The words and the code it is refused with."""
        error = (who or self.window).refused(INVOKE, **self.asked(operation, target, value))
        assert TOKEN not in str(error)
        return error["message"], error["code"]

    def create(self, **settings):
        return self.invoke("dev/create", value={"port": 1, **settings})

    # -- what there is ---------------------------------------------------------------

    def row(self, identifier="t1"):
        return self.service.tunnels.get(identifier)

    def read(self):
        """The state a late subscriber reads."""
        self.made_clients = getattr(self, "made_clients", 0) + 1
        return self.client(f"root:late-{self.made_clients}").watch(URI)

    def record(self, identifier="t1"):
        kept = self.records.collection("tunnels", RecordOptions(as_json=True))
        return outcome(kept.get(identifier))

    def write(self, record):
        """A person writes a record."""
        kept = self.records.collection("tunnels", RecordOptions(as_json=True))
        outcome(kept.put(record))

    def erase(self, identifier):
        kept = self.records.collection("tunnels", RecordOptions(as_json=True))
        outcome(kept.remove(identifier))

    def vaulted(self):
        return {name: self.vault._secrets[name] for name in outcome(self.vault.list())}

    def said(self, kind=None):
        """What the window was told of the list: the actions, or those of one type."""
        found = [action for channel, action in self.window.actions if channel == URI]
        return [one for one in found if kind is None or one["type"].endswith(f"/{kind}")]

    def operations(self):
        """The listed operations by their ids."""
        return {one["id"]: one for one in self.service.tunnels.operations}

    def stop(self):
        stopped = []
        self.service.stopService().addBoth(stopped.append)
        return stopped


def running(url="https://the-tunnel.example/", **more):
    return TunnelReport(status="running", url=url, **more)
