"""A plugin that is taken out of a host that runs: who is told what, and what is left of it."""

import gc
import types
import weakref
from collections import deque

import pytest
from twisted.internet.defer import Deferred

from ahpd.protocol.uris import ROOT

EVERYTHING = """
    from twisted.application.service import Service
    from twisted.internet.defer import Deferred, ensureDeferred
    from twisted.internet.task import LoopingCall
    from ahpd.interfaces import (
        Adapter, Alert, Capability, Channel, HostTool, Method, PreambleAsk, SessionRequest,
        ToolEffects, TunnelKind, TunnelReport, TriggerType, ProviderConfiguration, text_response,
    )
    from ahpd.testing.agents import ScriptedAgent

    class Thing:
        '''Something of the plugin's own that everything it registered holds.'''

    thing = Thing()

    class Agent(ScriptedAgent):
        thing = thing

    class Ticks(Service):
        def __init__(self, clock):
            self.thing = thing
            self.loop = LoopingCall(self.tick)
            self.loop.clock = clock
        def tick(self):
            thing.ticked = True
        def startService(self):
            super().startService()
            self.loop.start(1, now=False)
        def stopService(self):
            super().stopService()
            self.loop.stop()

    def apply(host, options):
        handle = host.register_channel(
            "x-all",
            Channel(grant="all:read", snapshot=lambda uri, caller: {"is": thing is not None}),
        )

        async def say(params, caller):
            handle.publish("x-all://", {"type": "x-all/said", "text": params.get("text", "")})
            return {"said": thing is not None}

        async def hang(params, caller):
            await Deferred()

        host.register_method("x-all/say", Method(grant="all:say", handle=say))
        host.register_method("x-all/hang", Method(grant="all:say", handle=hang))
        host.register_grants("all", "All", ["say"])

        async def tool(arguments, at):
            return repr(thing)

        host.register_tool(HostTool(
            definition={"name": "all_tool", "title": "T", "description": "A tool.",
                        "inputSchema": {"type": "object", "properties": {}}},
            run=tool, effects=ToolEffects(reads=True)))
        host.register_agent(Agent(provider="all-agent"))

        def opened(connector, views):
            thing.views = views
            return lambda: thing

        async def act(connector, action, given, call):
            return repr(thing)

        host.register_adapter(Adapter(
            name="all-adapter", title="All", open=opened, run=act,
            schema={"type": "object", "properties": {"key": {"type": "string", "title": "Key"}}},
            capabilities=[Capability(
                type="action", name="act", title="Act", description="Acts.",
                input={"type": "object", "properties": {}})]))
        def create(tunnel, report):
            thing.report = report
            report(TunnelReport(status="running", url="https://example.org"))
        host.register_tunnel_kind(TunnelKind(
            name="all-tunnel", title="All", schema={"type": "object", "properties": {}},
            create=create, remove=lambda tunnel: thing))
        host.register_trigger_type(TriggerType(
            type="all-trigger", title="All", events=[{"id": "a", "title": "A"}]))
        host.register_session_config(
            "all-setting", {"type": "string", "title": "S"}, lambda query: [thing and {"value": "a", "label": "A"}])
        host.register_session_meta("all.meta", lambda session: thing and 1)
        host.register_chat_preamble(lambda ask: thing and "Preamble")
        host.register_provider_configuration(ProviderConfiguration(
            provider="all-agent", title="All", settings=[],
            properties={"allKey": {"type": "string", "title": "K", "default": "d"}}))

        async def page(request):
            return text_response(200, repr(thing))

        host.register_route(page)
        host.register_service(Ticks(host.reactor))
        host.register_close(lambda: thing)
        records = host.records("allkept")
        records.watch(lambda change: setattr(thing, "change", change))
        for event in ("client_connect", "turn_start", "turn_end", "message", "session_start", "log"):
            host.on(event, lambda payload, context: setattr(thing, "heard", payload))
        host.alert(Alert(level="info", text="here", ref="all:1"))
        thing.host, thing.records, thing.handle = host, records, handle

    async def begun(chat):
        host = thing.host
        await thing.records.put({"id": "one"})
        thing.connection = host.connect()
        thing.connection.on_message(lambda message: setattr(thing, "message", message))
        await thing.connection.request("initialize", {
            "channel": "ahp-root://", "clientId": "mine", "protocolVersions": ["1.0.0"],
            "initialSubscriptions": ["ahp-root://", "x-all://"]})
        thing.canvas = await host.open_canvas(chat, {
            "extensionId": "com.acme.all", "canvasId": "board", "instanceId": "1",
            "title": "Board", "status": "ready", "url": "https://example.org"})
        host.show_view({"root": "t", "components": {"t": {"id": "t", "component": "Text", "text": "Hi"}}})
"""


def session_on(hosted, provider, uri="ahp-session:/s1"):
    """A session on an agent, which the first client watches: its URI and its chat's."""
    run, probe = hosted.host.run, hosted.probe
    run(probe.call("createSession", {"channel": uri, "provider": provider}))
    run(probe.subscribe(uri))
    chat = probe.state(uri)["defaultChat"]
    run(probe.subscribe(chat))
    return uri, chat


def begin(hosted, chat, turn="t1", text="hello"):
    hosted.host.run(
        hosted.probe.perform(
            chat,
            {
                "type": "chat/turnStarted",
                "turnId": turn,
                "startedAt": "2026-01-02T03:04:05.000Z",
                "message": {"text": text, "origin": {"kind": "user"}},
            },
        )
    )


def reaching(thing, roots):
    """How something is reached from `roots`, for a test that fails: what holds what, from there."""
    before, waiting = {id(root): (root, None) for root in roots}, deque(roots)
    while waiting:
        held = waiting.popleft()
        for each in gc.get_referents(held):
            if id(each) in before or isinstance(each, types.ModuleType):
                continue
            before[id(each)] = (each, held)
            if each is thing:
                chain, link = [], each
                while link is not None:
                    chain.append(f"{type(link).__qualname__} {repr(link)[:150]}")
                    link = before[id(link)][1]
                return "\n    ".join(reversed(chain))
            if not isinstance(each, type):
                waiting.append(each)
    return "not from there"


@pytest.mark.parametrize("way", ["disable", "reload", "options"])
def test_nothing_of_a_plugin_that_used_everything_is_reachable_when_it_went(hosted, way):
    hosted.start(hosted.write("all", EVERYTHING))
    host = hosted.host
    module = hosted.module("all")
    action = {"type": "root/configChanged", "config": {"canvasesEnabled": True}}
    host.run(hosted.probe.perform(ROOT, action))
    _, chat = session_on(hosted, "all-agent")
    begin(hosted, chat)
    host.settle()
    host.run(module.begun(chat))
    host.run(hosted.probe.subscribe("x-all://"))
    assert hosted.call("x-all/say", text="hi") == {"said": True}
    hanging = []
    Deferred.fromCoroutine(hosted.probe.call("x-all/hang", {"channel": ROOT})).addBoth(
        hanging.append
    )
    hosted.call("x-ahpd/connectors/put", id="c", adapter="all-adapter", owner="host", config={})
    host.advance(3)
    assert module.thing.heard is not None
    assert module.thing.ticked
    old = {
        "module": weakref.ref(module),
        "thing": weakref.ref(module.thing),
        "agent": weakref.ref(module.Agent),
        "service": weakref.ref(module.Ticks),
        "apply": weakref.ref(module.apply),
    }
    del module
    params = {"disable": {}, "reload": {}, "options": {"key": "a", "value": 1}}[way]
    assert hosted.ask(way, id="all", **params) == {"id": "all"}
    host.advance(60)
    gc.collect()
    held = [name for name, one in old.items() if one() is not None]
    assert not held, (
        f"{held}\n{reaching(old[held[0]](), [hosted.host, hosted.host.clock, hosted.probe])}"
    )
    assert [str(one.value) for one in hanging] == ["x-all/hang went before it answered"]


def test_a_turn_on_an_agent_that_goes_ends_in_words_and_others_are_left_alone(hosted):
    hosted.start(
        hosted.write(
            "acme",
            """
            from ahpd.testing.agents import Gate, ScriptedAgent
            gate = Gate()
            async def waits(turn):
                await gate.passed()
            def apply(host, options):
                host.register_agent(ScriptedAgent(provider="acme", always=waits))
            """,
        )
    )
    host, probe = hosted.host, hosted.probe
    _, chat = session_on(hosted, "acme")
    other, others_chat = session_on(hosted, "scripted", "ahp-session:/s2")
    begin(hosted, chat)
    host.settle()
    assert probe.state(chat).get("activeTurn") is not None
    before = [len(probe.envelopes(each)) for each in (other, others_chat)]
    assert hosted.ask("disable", id="acme") == {"id": "acme"}
    host.advance(1)
    said = [one.action["type"] for one in probe.envelopes(chat)]
    assert said[:2] == ["chat/turnStarted", "chat/error"]
    (part,) = [one.action["part"] for one in probe.envelopes(chat) if "part" in one.action]
    assert part["error"]["message"] == "The agent 'acme' is not offered by this host any more."
    assert [len(probe.envelopes(each)) for each in (other, others_chat)] == before
    assert [one["provider"] for one in probe.state(ROOT)["agents"]] == ["scripted"]
    begin(hosted, others_chat, "t2")
    host.settle()
    assert len(probe.plain_state(others_chat)["turns"]) == 1


@pytest.mark.parametrize("way", ["disable", "reload"])
def test_a_call_of_a_tool_that_goes_ends_in_words_and_its_turn_goes_on(hosted, way):
    """The action of an adapter is a tool as any other."""
    caller = """
        from ahpd.testing.agents.calling import CallingAgent
        def apply(host, options): host.register_agent(CallingAgent())
        """
    hangs = """
        from twisted.internet.defer import Deferred
        from ahpd.interfaces import HostTool
        async def hang(given, context):
            await Deferred()
        def apply(host, options):
            schema = {"type": "object", "properties": {}}
            definition = {"name": "hang", "description": "Hangs.", "inputSchema": schema}
            host.register_tool(HostTool(definition=definition, run=hang))
        """
    hosted.start(hosted.write("calls", caller), hosted.write("hangs", hangs))
    _, chat = session_on(hosted, "caller")
    begin(hosted, chat, text='{"tool": "hang"}')
    hosted.host.settle()
    assert hosted.probe.state(chat).get("activeTurn") is not None
    hosted.ask(way, id="hangs")
    hosted.host.advance(1)
    (turn,) = hosted.probe.plain_state(chat)["turns"]
    assert turn["state"] == "complete"
    (part,) = [part for part in turn["responseParts"] if part["kind"] == "markdown"]
    assert "The tool hang is gone: this host offers it no more." in part["content"]


def test_whoever_watches_a_channel_that_goes_is_told_and_may_come_back(hosted):
    hosted.start(hosted.write("all", EVERYTHING))
    host, probe = hosted.host, hosted.probe
    host.run(probe.subscribe("x-all://"))
    hosted.ask("disable", id="all")
    with pytest.raises(Exception, match="x-all"):
        host.run(hosted.host.connect("bo", foreign=True).subscribe("x-all://"))
    hosted.ask("enable", id="all")
    late = hosted.host.connect("cy", "x-all://", foreign=True)
    hosted.call("x-all/say", text="again")
    host.settle()
    assert [one.action["text"] for one in late.envelopes("x-all://")] == ["again"]


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_command_that_waits_when_its_plugin_goes_is_answered(hosted, stubborn):
    waits = "while True:" if stubborn else "for _ in range(1):"
    code = f"""
        from twisted.internet.defer import CancelledError, Deferred
        from ahpd.interfaces import Method

        async def hang(params, caller):
            {waits}
                try:
                    await Deferred()
                except CancelledError:
                    pass

        def apply(host, options):
            host.register_method("x-hangs/now", Method(grant="hangs:now", handle=hang))
        """
    hosted.start(hosted.write("hangs", code))
    answers = []
    waiting = hosted.probe.call("x-hangs/now", {"channel": ROOT})
    Deferred.fromCoroutine(waiting).addBoth(answers.append)
    hosted.host.settle()
    assert answers == []
    assert hosted.ask("disable", id="hangs") == {"id": "hangs"}
    (failure,) = answers
    assert (failure.value.code, failure.value.message) == (
        -32603,
        "x-hangs/now went before it answered",
    )


@pytest.mark.logs_failures
@pytest.mark.parametrize(
    "does",
    ["raise SystemExit(1)", "raise KeyboardInterrupt", "return await handle(params, caller)"],
)
def test_a_command_that_leaves_or_exhausts_the_stack_is_an_error_of_its_own(hosted, does):
    code = f"""
        from ahpd.interfaces import Channel, Method

        async def handle(params, caller):
            {does}

        def at_once(params, caller):
            {does.replace("await ", "").replace("handle(", "at_once(")}

        def apply(host, options):
            host.register_method("x-leaves/later", Method(grant="leaves:now", handle=handle))
            host.register_method("x-leaves/now", Method(grant="leaves:now", handle=at_once))
            host.register_channel(
                "x-leaves", Channel(grant="leaves:look", snapshot=lambda uri, caller: at_once({{}}, caller))
            )
        """
    hosted.start(hosted.write("leaves", code))
    for name in ("x-leaves/now", "x-leaves/later"):
        with pytest.raises(Exception, match="log says why"):
            hosted.call(name)
    with pytest.raises(Exception, match="x-leaves"):
        hosted.host.run(hosted.probe.subscribe("x-leaves://"))
    assert hosted.ask("apply") == {}


SAYS = """
    from twisted.internet.task import LoopingCall
    HELD = []

    def apply(host, options):
        HELD.append(host)
        loop = LoopingCall(host.log, "tick")
        loop.clock = host.reactor
        loop.start(1, now=False)
"""


def test_the_host_it_was_handed_says_nothing_in_its_name_any_more(hosted, log_lines):
    hosted.start(hosted.write("says", SAYS))
    (host,) = hosted.module("says").HELD
    hosted.host.advance(2)
    assert log_lines().count("says: tick") >= 1
    hosted.ask("disable", id="says")
    (line,) = [line for line in log_lines() if " left a timer of " in line]
    assert line.startswith("plugin says: it left a timer of _ahpd_plugin_says")
    assert " running (log): " in line
    before = log_lines()
    hosted.host.advance(2)
    for say in (host.log, host.say, host.context.log, host.context.say):
        say("still here")
    assert log_lines() == before
    assert not [line for line in before if "still here" in line]
