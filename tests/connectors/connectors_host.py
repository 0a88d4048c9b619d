"""The connectors of a host over real parts: records and a vault in memory, time that is told."""

from datetime import UTC, datetime, timedelta

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from zope.interface import implementer

from ahpd.connectors.ground import Ground
from ahpd.connectors.service import ConnectorsService
from ahpd.extensions.access import OpenAccess
from ahpd.interfaces import (
    Adapter,
    Caller,
    Capability,
    Check,
    IAccess,
    IChannelHandle,
    Owned,
    Reader,
    RpcError,
    ToolCallContext,
    ToolFailure,
)
from ahpd.record_store.memory import MemoryRecordStore
from ahpd.schemas import Vaulted
from ahpd.testing.planted import planted
from ahpd.vault import MemoryVault, Secrets

BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
KEY = planted("the key of a connector")

SCHEMA = {
    "type": "object",
    "properties": {
        "key": {"type": "string", "secret": True, "title": "Key"},
        "bot": {"type": "string", "title": "Bot"},
    },
    "required": ["key"],
    "additionalProperties": False,
}
SEND = Capability(
    type="action",
    name="send",
    title="Send",
    description="Sends a text.",
    input={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)
PAGE = Capability(type="view", name="main", title="Page")


@implementer(IAccess)
class Directory:
    """People by id with the grants they hold, and their teams. The root connection holds all."""

    def __init__(self, grants=None, teams=None):
        self.grants = {who: set(held) for who, held in (grants or {}).items()}
        self.teams = teams or {}

    def reader(self, connection):
        return connection.reader

    def holds(self, reader, grant):
        return reader is None or grant in self.grants.get(reader.principal, ())

    def owns(self, reader, owner):
        if reader is None:
            return True
        if owner.startswith("team:"):
            return owner.removeprefix("team:") in self.teams.get(reader.principal, ())
        return owner == reader.principal

    def owner(self, reader):
        return "root:here" if reader is None else reader.principal

    def may(self, owner, grant):
        if owner is None or owner.startswith("root:") or grant in self.grants.get(owner, ()):
            return None
        return f"{owner.removeprefix('user:')} may not {grant} here"


@implementer(IChannelHandle)
class Said:
    """A channel's handle that keeps what is published."""

    def __init__(self):
        self.actions = []

    def publish(self, uri, action, *, visible=None, to=None):
        self.actions.append((uri, action, visible))

    def subscribers(self, uri):
        return []


class ScriptedAdapter:
    """An adapter that does what its fields say, and notes what was asked of it."""

    def __init__(self, name="mail", schema=SCHEMA, capabilities=(SEND, PAGE), **more):
        self.opened = {}
        """The connectors that are open, by id, each with its view handle."""
        self.history = []
        self.opening = lambda connector, view: None
        self.checking = lambda connector: Check(result="ok")
        self.running = lambda connector, action, given, call: f"sent {given}"
        members = {"run": self._run, "check": self._check, **more}
        self.adapter = Adapter(
            name=name,
            title=f"The {name}",
            schema=schema,
            capabilities=capabilities,
            open=self._open,
            **members,
        )

    def _open(self, connector, view):
        self.history.append(("open", connector.id))
        held = self.opening(connector, view)
        if isinstance(held, Deferred):
            return held
        self.opened[connector.id] = (connector, view)

        def stop():
            self.history.append(("stop", connector.id))
            del self.opened[connector.id]

        return stop

    async def _check(self, connector):
        self.history.append(("check", connector.id))
        answer = self.checking(connector)
        return await answer if isinstance(answer, Deferred) else answer

    async def _run(self, connector, action, given, call):
        self.history.append(("run", connector.id, action, dict(given)))
        answer = self.running(connector, action, given, call)
        return await answer if isinstance(answer, Deferred) else answer


def person(principal=None, client="window-1", teams=()):
    """A caller: a person or a plugin by its principal, or nobody in particular."""
    if principal is None:
        return Caller(client=client, owner="root:here")
    reader = Reader(principal=principal, teams=teams)
    return Caller(client=client, reader=reader, owner=principal)


ROOT = person()


class Tried:
    """What an awaited call came to, once it did."""

    def __init__(self, work):
        self.outcome = []
        Deferred.fromCoroutine(work).addBoth(self.outcome.append)

    @property
    def done(self):
        return bool(self.outcome)

    def result(self):
        assert self.outcome, "it is not done"
        value = self.outcome[0]
        if hasattr(value, "raiseException"):
            self.outcome[0] = None
            value.raiseException()
        return value


class ConnectorsHost:
    """A `ConnectorsService` and everything around it."""

    def __init__(self, access=None, environ=None, store=None, vault=None, **more):
        self.clock = Clock()
        self.store = store or MemoryRecordStore()
        self.vault = vault or MemoryVault()
        self.environ = {} if environ is None else environ
        self.reported = []
        self.sessions = {}
        self.lists = []
        self.tool_changes = []
        self.service = ConnectorsService(
            self.store,
            access or OpenAccess(),
            Ground(
                vaulted=Vaulted(Secrets(self.vault), self.environ),
                clock=self.clock,
                now=lambda: BEGAN + timedelta(seconds=self.clock.seconds()),
                report=lambda plugin, line: self.reported.append((plugin, line)),
                session_config=lambda session: self.sessions.get(session, {}),
                methods=lambda plugin: {f"x-{plugin}/press"},
                **more,
            ),
        )
        self.service.choices_moved = lambda: self.lists.append(self.service.choices())
        self.service.tools_moved = lambda: self.tool_changes.append(list(self.service.tools()))
        self.said = Said()
        self.service.connectors.attach(self.said)
        self.adapter_said = Said()
        self.service.adapters.attach(self.adapter_said)
        self.methods = self.service.methods()
        self.adapters = {}

    def start(self):
        self.service.startService()
        return self

    def offer(self, *scripted, plugin="acme"):
        """Contribute these and no others."""
        self.adapters = {one.adapter.name: Owned(plugin, one.adapter) for one in scripted}
        return self.use(self.adapters)

    def use(self, adapters):
        return Tried(self.service.contributed(adapters)).result()

    def begin(self, verb, params, caller=ROOT):
        """A command under way, as the registry asks it: the grant is the caller's to have."""
        method = self.methods[f"x-ahpd/connectors/{verb}"]
        return Tried(method.handle(params, caller))

    def ask(self, verb, params, caller=ROOT):
        return self.begin(verb, params, caller).result()

    def refused(self, verb, params, caller=ROOT):
        """The words, and the code, that a command is refused with."""
        with pytest.raises(RpcError) as found:
            self.ask(verb, params, caller)
        assert KEY not in found.value.message
        return found.value.message

    def put(self, identifier="work", owner="host", caller=ROOT, adapter="mail", **more):
        config = more.pop("config", {"key": KEY})
        params = {"id": identifier, "adapter": adapter, "owner": owner, "config": config, **more}
        return self.ask("put", params, caller)

    def row(self, identifier="work"):
        return self.service.connectors.get(identifier)

    def alerts(self, identifier="work"):
        """The alerts of a row: (level, ref, text)."""
        shown = (self.row(identifier) or {}).get("alerts", [])
        return [(each["level"], each["ref"], each["text"]) for each in shown]

    def record(self, identifier="work"):
        return Tried(self.service._kept._records.get(identifier)).result()

    def vaulted(self):
        return {name: self.vault._secrets[name] for name in sorted(self.vault._secrets)}

    def actions(self, kind=None):
        """What was said on the connectors' channel."""
        found = [action for _, action, _ in self.said.actions]
        return [one for one in found if kind is None or one["type"].endswith(f"/{kind}")]

    def call(self, name, session="ahp-session:/s1", **given):
        """What a tool answers in a session."""
        context = ToolCallContext(session=session, chat="ahp-chat:/c", tool_call_id="call-1")
        return Tried(self.service.tools()[name].run(given, context)).result()

    def failed(self, name, session="ahp-session:/s1", **given):
        with pytest.raises(ToolFailure) as found:
            self.call(name, session, **given)
        return str(found.value)

    def seen(self, name, session="ahp-session:/s1"):
        """A tool as a session sees it."""
        tool = self.service.tools()[name]
        return tool.for_session(session, self.sessions.get(session, {}))

    def stop(self):
        stopped = []
        stopping = self.service.stopService()
        stopping.addBoth(stopped.append)
        return stopped
