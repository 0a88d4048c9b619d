"""A whole host whose sessions are offered its own tools, and agents that call them."""

import json
from contextlib import suppress

import pytest

from ahpd.app.tool_sessions import ToolSessions
from ahpd.commands.artifacts import artifact_commands
from ahpd.interfaces import StoreFailure
from ahpd.resources.service import Resources
from ahpd.testing.failing_store import FailingStore
from ahpd.testing.host import MemoryHost
from ahpd.testing.terminals import ScriptedTerminals
from ahpd.tools.own import own_tools
from ahpd.tools.registry import ToolRegistry

S1, S2 = "ahp-session:/s1", "ahp-session:/s2"
STARTED = "2026-01-02T03:04:05.000Z"


class ToolHost:
    """A host, a client `probe` that watches its root, and calls of tools in its sessions.

    `advanced` is the value of `advancedTools`, `reaches` that of `ToolSessions`. What `files` has are the resources of this
    machine; without it none are served.
    """

    def __init__(self, files=None, advanced=True, agents=None, reaches=None, **more):
        self.programs = ScriptedTerminals()
        resources = {} if files is None else {"file": files}
        self.host = MemoryHost(agents, terminals=self.programs, resources=resources, **more)
        self.agent = self.host.agent
        self.advanced = advanced
        service = self.sessions = self.host.host.sessions
        self.world = ToolSessions(service, *([] if reaches is None else [reaches]))
        root = self.host.store
        self.registry = ToolRegistry(
            own_tools(
                self.world,
                seconds=self.host.clock.seconds,
                ids=self.host.ids,
                resources=Resources(resources, self._service("client files")),
                terminals=self._service("terminals"),
                infos=lambda: root.state("ahp-root://").get("terminals") or [],
            ),
            advanced=lambda: self.advanced,
            listed=self.world.listed,
            configured=self.world.configured,
        )
        self.offer(self.registry)
        self.probe = self.host.connect("person", "ahp-root://")
        self.stopped = False

    def _service(self, name):
        return self.host.host.service.getServiceNamed(name)

    def offer(self, registry):
        """Have the sessions of the host be offered the tools of `registry`."""
        self.sessions.registry.world.offers.tools = registry
        registry.changed = lambda: self.sessions.set_server_tools(registry.offered)
        registry.changed()

    # -- what a person does -------------------------------------------------------

    def session(self, uri=S1, **params):
        """Make a session, watch it and its chat, and have its first turn answered."""
        self.make(uri, **params)
        self.turn(self.chat(uri), f"first of {uri}")
        return uri

    def make(self, uri=S1, **params):
        self.host.run(self.probe.request("createSession", channel=uri, **params))
        self.watch(uri, self.chat(uri))
        return uri

    def watch(self, *channels):
        for channel in channels:
            if channel not in self.probe.subscriptions:
                self.host.run(self.probe.subscribe(channel))

    def chat(self, session=S1):
        return self.host.store.state(session)["defaultChat"]

    def turn(self, chat, text="go", script=None):
        """A person's turn in a chat; its id."""
        if script is not None:
            self.agent.then(script)
        turn_id = f"turn-{self.host.ids()}"
        message = {"text": text, "origin": {"kind": "user"}}
        self.probe.dispatch(
            chat,
            {
                "type": "chat/turnStarted",
                "turnId": turn_id,
                "startedAt": STARTED,
                "message": message,
            },
        )
        self.host.settle()
        return turn_id

    # -- what an agent does --------------------------------------------------------

    def call(self, name, at=None, /, **arguments):
        """The result of a tool that an agent calls within a turn of the chat `at`."""
        return self.calls((name, arguments), at=at)[0]

    def calls(self, *calls, at=None):
        """The results of several, one behind the other in one turn."""
        results = []

        async def script(turn):
            for number, (name, arguments) in enumerate(calls):
                results.append(await turn.host.run_tool(name, arguments, f"call-{number}"))

        self.turn(self.chat() if at is None else at, script=script)
        assert len(results) == len(calls), "a call is not done"
        return results

    # -- reading --------------------------------------------------------------------

    def state(self, channel):
        """A channel as a client reads it that subscribes now."""
        self.watch(channel)
        return self.probe.plain_state(channel)

    def rows(self):
        return self.host.run(self.probe.request("listSessions"))["items"]

    def said(self, channel, kind):
        """The actions of a kind that the person was told on a channel."""
        return [
            envelope.action
            for envelope in self.probe.envelopes(channel)
            if envelope.action["type"] == kind
        ]

    def stop(self):
        """Stop it, once."""
        if not self.stopped:
            self.stopped = True
            self.registry.stop()
            self.host.stop()


def text(result):
    """The text of a call that succeeded."""
    assert result["success"], result
    return "".join(block["text"] for block in result["content"])


def told(result):
    """The JSON a call answered."""
    return json.loads(text(result))


def failure(result):
    """The words of a call that failed."""
    assert not result["success"], result
    return result["error"]["message"]


@pytest.fixture
def tool_host():
    """Makes `ToolHost`s, which are checked and stopped when the test is over."""
    made = []

    def make(*arguments, **options):
        kept = options.get("kept")
        if isinstance(kept, FailingStore):
            with suppress(StoreFailure):
                kept.close()  # a host opens what it is given
        made.append(ToolHost(*arguments, **options))
        return made[-1]

    yield make
    for each in made:
        each.stop()


@pytest.fixture
def tools(tool_host):
    """A host with one session that had its first turn."""
    host = tool_host()
    host.session()
    return host


@pytest.fixture
def read():
    """The three ways to read a result: `read.text`, `read.told` and `read.failure`."""

    class Read:
        pass

    Read.text, Read.told, Read.failure = (
        staticmethod(text),
        staticmethod(told),
        staticmethod(failure),
    )
    return Read


@pytest.fixture
def removing():
    """Serve `vscode/removeSessionArtifact` on a host."""

    def serve(host):
        hub = host.host.host.peers
        hub.commands = {**hub.commands, **artifact_commands(host.sessions, host.world.kept)}

    return serve
