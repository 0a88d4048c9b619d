"""The host for tests of plugins: it is one, it checks what a host checks, and it keeps the rest."""

import importlib.util
import textwrap

import pytest
from pytest_twisted import ensureDeferred
from twisted.internet.defer import Deferred
from zope.interface.verify import verifyObject

from ahpd.interfaces import (
    Adapter,
    Alert,
    Caller,
    Capability,
    Channel,
    ChatRequest,
    ClientGone,
    HostTool,
    IConnectionToHost,
    IPluginHost,
    Method,
    PluginError,
    Reader,
    RpcError,
    SessionRequest,
    TriggerType,
    text_response,
)
from ahpd.testing import RecordingPluginHost

URI = "x-tally://"


@pytest.fixture
def make(tmp_path):
    """Makes a host of a plugin: its code, and its manifest as YAML."""

    def made(code="def apply(host, options): pass", manifest="title: Tally", **more):
        folder = tmp_path / f"tally-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        (folder / "tally.py").write_text(textwrap.dedent(code))
        (folder / "plugin.yaml").write_text(textwrap.dedent(manifest))
        spec = importlib.util.spec_from_file_location("tally_under_test", folder / "tally.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return RecordingPluginHost(module, "tally", **more)

    return made


async def applied(host, apply, options=None):
    """Apply a function of the test's as the plugin's."""
    host._module.apply = apply
    await host.apply(options)
    return host


def nothing(*_):
    return None


def test_it_is_a_plugins_host(make):
    host = make()
    verifyObject(IPluginHost, host)
    assert host.id == "tally"


def test_it_is_none_for_a_folder_without_a_manifest(tmp_path):
    file = tmp_path / "bare.py"
    file.write_text("")
    spec = importlib.util.spec_from_file_location("bare_under_test", file)
    with pytest.raises(AssertionError, match=r"no plugin\.yaml"):
        RecordingPluginHost(importlib.util.module_from_spec(spec), "bare")


# -- what is registered ----------------------------------------------------------------------


@ensureDeferred
async def test_what_is_registered_is_checked_as_a_host_checks_it(make):
    host = make()

    def apply(host, options):
        with pytest.raises(PluginError, match="begins with x-"):
            host.register_method("tally", Method(grant="", handle=nothing))
        with pytest.raises(PluginError, match="begins with x-"):
            host.register_channel("tally", Channel(grant="", snapshot=nothing))
        with pytest.raises(PluginError):
            host.register_tool(HostTool(definition={"name": "no good"}, run=nothing))
        view = Capability(type="view", name="side", title="Side")
        adapter = Adapter(name="a", title="A", schema={}, open=nothing, capabilities=[view])
        with pytest.raises(PluginError, match="surface"):
            host.register_adapter(adapter)
        host.register_method("x-tally/read", Method(grant="", handle=nothing))

    await applied(host, apply)
    assert list(host.contribution.methods) == ["x-tally/read"]
    with pytest.raises(PluginError, match="after apply returned"):
        host.register_method("x-tally/late", Method(grant="", handle=nothing))


@ensureDeferred
async def test_registrations_are_held_to_the_contracts(make):
    host = make(manifest="contracts: {methods: [x-tally/read]}")
    with pytest.raises(PluginError, match="x-tally/write"):
        await applied(
            host,
            lambda host, options: host.register_method(
                "x-tally/write", Method(grant="", handle=nothing)
            ),
        )


@ensureDeferred
async def test_options_are_held_to_the_schema_over_its_defaults_and_the_modules(make):
    manifest = """
        optionsSchema:
          type: object
          properties:
            unit: {type: string}
            most: {type: integer, default: 3}
            key: {type: string, writeOnly: true}
    """
    code = "defaults = {'unit': 'word'}\ndef apply(host, options): host.given = options"
    host = make(code, manifest, secrets={"host:stripe": "sk-1"})
    await host.apply({"key": {"$secret": "host:stripe"}})
    assert host.given == {"unit": "word", "most": 3, "key": "sk-1"}
    with pytest.raises(PluginError, match="most"):
        await make(code, manifest).apply({"most": "many"})
    with pytest.raises(PluginError, match="holds no host:other"):
        await make(code, manifest).apply({"key": {"$secret": "host:other"}})


@ensureDeferred
async def test_an_apply_that_is_awaited_is_done_when_it_returns(make):
    host = make("async def apply(host, options): host.log('applied')")
    await host.apply()
    assert host.logged == ["applied"]


# -- its life --------------------------------------------------------------------------------


@ensureDeferred
async def test_a_plugin_begins_and_ends_in_the_order_of_a_host(make):
    code = """
        from twisted.application.service import Service

        class Diarist(Service):
            def __init__(self, host):
                self.host = host

            def startService(self):
                super().startService()
                self.host.log("started")

            def stopService(self):
                self.host.log("stopped")

        def apply(host, options):
            host.register_service(Diarist(host))
            host.register_close(lambda: host.log("closed"))
            host.on("listening", lambda event, context: context.log(f"listening {event['port']}"))
            host.on("stopping", lambda event, context: context.log("stopping"))
            host.on("message", lambda event, context: context.say(event["text"]))
    """
    host = make(code)
    await host.apply()
    assert host.logged == []
    await host.listening(port=7)
    await host.emit("message", text="hello  there")
    await host.unload()
    assert host.logged == ["listening 7", "started", "stopping", "stopped", "closed"]
    assert host.said == ["hello there"]
    await host.emit("message", text="late")
    assert host.said == ["hello there"]


@ensureDeferred
async def test_what_waits_for_time_fails_and_does_not_hang(make):
    host = await applied(make(), lambda host, options: host.on("message", lambda *_: Deferred()))
    with pytest.raises(AssertionError, match="does not come by itself"):
        await host.emit("message", text="x")


@ensureDeferred
async def test_the_host_is_asked_from_listening_on_and_never_after_the_end(make):
    host = await applied(make(), nothing)
    with pytest.raises(PluginError, match="from the event listening on"):
        host.connect()
    await host.listening()
    host.connect()
    await host.unload()
    with pytest.raises(PluginError, match="was unloaded"):
        host.connect()


@ensureDeferred
async def test_records_are_there_once_the_host_is_built(make):
    host = make()
    reading = []

    def apply(host, options):
        host.notes = host.records("notes", body="text")
        reading.append(Deferred.fromCoroutine(host.notes.list()))

    await applied(host, apply)
    assert await reading[0] == []
    await host.notes.put({"id": "a", "text": "x"})
    assert await host.notes.list() == [{"id": "a", "text": "x"}]


# -- clients ---------------------------------------------------------------------------------


def channels(host, options):
    host.handle = host.register_channel(
        "x-tally",
        Channel(
            grant="tally:list",
            snapshot=lambda uri, caller: {"for": caller.client},
            authorize=lambda uri, caller: caller.client == "guest",
            joined=lambda uri: host.log(f"joined {uri}"),
            left=lambda client: host.log(f"left {client}"),
        ),
    )
    with pytest.raises(RuntimeError):
        host.handle.publish(URI, {"type": "x-tally/counted"})


def person(name, *grants):
    return Caller(client=name, reader=Reader(principal=f"user:{name}", grants=grants))


@ensureDeferred
async def test_a_channel_is_watched_by_who_may(make):
    host = await applied(make(), channels)
    assert await host.subscribe(URI) == {"for": "somebody"}
    assert await host.subscribe(URI, person("ada", "tally:list")) == {"for": "ada"}
    assert await host.subscribe(URI, person("guest")) == {"for": "guest"}
    with pytest.raises(RpcError, match="tally:list"):
        await host.subscribe(URI, person("bob"))
    assert [one.client for one in host.handle.subscribers(URI)] == ["somebody", "ada", "guest"]
    host.leave("x-tally", "ada")
    assert [one.client for one in host.handle.subscribers(URI)] == ["somebody", "guest"]
    assert host.logged == ["joined x-tally://", "left ada"]


@ensureDeferred
async def test_what_is_said_reaches_who_it_is_for(make):
    host = await applied(make(), channels)
    handle, channel = host.handle, host.channel("x-tally")
    handle.publish(URI, {"type": "x-tally/all"})
    handle.publish(URI, {"type": "x-tally/ada"}, to="ada")
    handle.publish(URI, {"type": "x-tally/bob"}, visible=lambda reader, client: client == "bob")
    handle.publish(URI, {"type": "x-tally/none"}, visible=lambda reader, client: 1 / 0)

    def seen(name):
        return [action["type"] for action in channel.seen_by(person(name))]

    assert seen("ada") == ["x-tally/all", "x-tally/ada"]
    assert seen("bob") == ["x-tally/all", "x-tally/bob"]
    with pytest.raises(ValueError, match="no action of this channel"):
        handle.publish(URI, {"type": "x-other/all"})
    with pytest.raises(ValueError, match="no URI of this scheme"):
        handle.publish("x-other://", {"type": "x-tally/all"})


@ensureDeferred
async def test_a_command_is_answered_to_who_may(make):
    def apply(host, options):
        async def read(params, caller):
            return {**params, "by": caller.client}

        host.register_method("x-tally/read", Method(grant="tally:get", handle=read))

    host = await applied(make(), apply)
    assert await host.call("x-tally/read", {"a": 1}) == {"a": 1, "by": "somebody"}
    assert await host.call("x-tally/read", {}, person("ada", "tally:get")) == {"by": "ada"}
    with pytest.raises(RpcError) as refused:
        await host.call("x-tally/read", {}, person("bob"))
    assert refused.value.code == -32009
    with pytest.raises(RpcError) as unknown:
        await host.call("x-tally/other")
    assert unknown.value.code == -32601


@ensureDeferred
async def test_a_route_is_asked_as_a_program_asks(make):
    async def route(request):
        words = f"{request.method} {request.path} {request.query} {request.header('X-A')}"
        return text_response(200, words)

    host = await applied(make(), lambda host, options: host.register_route(route))
    answer = await host.request("POST", "/plugins/tally/a", b"x", {"X-A": "1"}, "q=2")
    assert answer.body == b"POST /plugins/tally/a q=2 1\n"


@ensureDeferred
async def test_a_tool_is_run_with_what_a_model_may_send(make):
    async def run(arguments, at):
        return f"{arguments['n']} in {at.chat}"

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tool = HostTool(
        definition={"name": "tally_count", "description": "Counts.", "inputSchema": schema}, run=run
    )
    host = await applied(make(), lambda host, options: host.register_tool(tool))
    assert await host.run_tool("tally_count", {"n": 3}) == "3 in ahp-chat:/one"
    with pytest.raises(Exception, match="n"):
        await host.run_tool("tally_count", {"n": "x"})


# -- connectors and what is shown ------------------------------------------------------------


@ensureDeferred
async def test_a_connector_is_opened_with_a_view_and_closed(make):
    def opened(connector, view):
        if connector.config["key"] == "bad":
            raise ValueError("no good")
        host.log(f"opened {connector.id}")
        view.show_view(
            {"root": "a", "components": {"a": {"id": "a", "component": "Text", "text": "hi"}}}
        )
        return lambda: host.log(f"closed {connector.id}")

    schema = {
        "type": "object",
        "properties": {"key": {"type": "string", "secret": True}},
        "required": ["key"],
    }
    adapter = Adapter(
        name="a",
        title="A",
        schema=schema,
        open=opened,
        capabilities=[Capability(type="view", name="main", title="Main")],
    )
    host = await applied(make(), lambda host, options: host.register_adapter(adapter))
    held = await host.open_connector("a", "one", {"key": "k"})
    assert held.views.shown["main"]["root"] == "a"
    with pytest.raises(RpcError, match=r"params\.config"):
        await host.open_connector("a", "two", {})
    with pytest.raises(ValueError, match="no good"):
        await host.open_connector("a", "three", {"key": "bad"})
    await host.unload()
    assert host.logged == ["opened one", "closed one"]
    assert held.views.shown is None


@ensureDeferred
async def test_its_row_shows_alerts_problems_and_a_view(make):
    def apply(host, options):
        host.register_method("x-tally/stop", Method(grant="", handle=nothing))

    host = await applied(make(), apply)
    host.clock.advance(60)
    host.alert(Alert(level="info", text="hello", ref="tally:one"))
    host.problem("one was left out")
    assert [(one["level"], one["at"]) for one in host.alerts] == [
        ("info", "1970-01-01T00:01:00.000Z"),
        ("warning", "1970-01-01T00:01:00.000Z"),
    ]
    assert host.problems == ("one was left out",)
    host.clear_alert("tally:one")
    assert len(host.alerts) == 1
    button = {
        "id": "b",
        "component": "Button",
        "label": "Stop",
        "action": {"event": {"name": "x-tally/stop"}},
    }
    host.show_view({"root": "b", "components": {"b": button}})
    assert host.view["root"] == "b"
    button["action"]["event"]["name"] = "x-tally/other"
    with pytest.raises(ValueError, match="no method the plugin registered"):
        host.show_view({"root": "b", "components": {"b": button}})


# -- what it asks of the host -----------------------------------------------------------------


@ensureDeferred
async def test_what_is_asked_of_the_host_is_kept_and_checked(make):
    trigger = TriggerType(type="deploy", title="D", events=[{"id": "failed", "title": "F"}])
    host = await applied(make(), lambda host, options: host.register_trigger_type(trigger))
    await host.listening()
    session = await host.start_session(SessionRequest(owner="user:ada", prompt="hi"))
    assert await host.session_kept(session)
    assert await host.session_owner(session) == "user:ada"
    assert not await host.session_kept("ahp-session:/other")
    await host.start_chat(session, ChatRequest(prompt="more"))
    with pytest.raises(RpcError, match="Session not found"):
        await host.start_chat("ahp-session:/other", ChatRequest())
    with pytest.raises(RpcError, match="blank"):
        await host.start_session(SessionRequest(owner="user:ada", prompt=" "))
    host.fire_trigger("deploy", "failed", {"a": 1}, "host")
    with pytest.raises(PluginError, match="no trigger type"):
        host.fire_trigger("deploy", "done")
    host.run_automation("nightly")
    host.session_meta_changed(session)
    await host.record_usage({"kind": "model"})
    asked = host.asked
    assert [request.prompt for request in asked.started] == ["hi"]
    assert asked.chats[0][0] == session
    assert asked.fired == [("deploy", "failed", {"a": 1}, "host")]
    assert asked.automations == [("nightly", {}, None)]
    assert asked.meta_changed == [session]
    assert asked.usage == [{"kind": "model"}]
    asked.failures["start_session"] = RpcError(-32009, "no")
    with pytest.raises(RpcError, match="no"):
        await host.start_session(SessionRequest(owner="user:ada"))


@ensureDeferred
async def test_a_canvas_is_drawn_and_drawn_again(make):
    host = await applied(make(), nothing)
    await host.listening()
    state = {"instanceId": "i", "extensionId": "e", "canvasId": "c"}
    canvas = await host.open_canvas("ahp-chat:/one", state)
    assert await host.open_canvas("ahp-chat:/one", {**state, "title": "T"}) == canvas
    assert await host.open_canvas("ahp-chat:/two", state) != canvas
    host.update_canvas(canvas, {**state, "status": "s"})
    assert host.asked.canvases[canvas]["status"] == "s"
    assert len(host.asked.drawn) == 4
    with pytest.raises(RpcError, match="url"):
        host.update_canvas(canvas, {**state, "url": "file:///x"})
    with pytest.raises(RpcError, match="instanceId"):
        host.update_canvas(canvas, {**state, "instanceId": "j"})
    host.close_canvas(canvas)
    host.close_canvas(canvas)
    with pytest.raises(RpcError) as gone:
        host.update_canvas(canvas, state)
    assert gone.value.code == -32008


@ensureDeferred
async def test_a_connection_is_answered_by_the_test(make):
    host = await applied(make(), nothing)
    await host.listening()
    connection = host.connect()
    verifyObject(IConnectionToHost, connection)
    heard = []
    connection.on_message(heard.append)

    async def listed(connection, params):
        connection.tell({"method": "root/sessionAdded"})
        return {"items": [params["limit"]]}

    host.asked.answers |= {
        "listSessions": listed,
        "shutdown": RpcError(-32601, "no"),
        "dispatchAction": lambda connection, params: connection.tell({"echo": params}),
    }
    assert await connection.request("initialize", {}) == {}
    assert await connection.request("listSessions", {"limit": 2}) == {"items": [2]}
    connection.notify("dispatchAction", {"a": 1})
    connection.notify("unsubscribe", {})
    assert heard == [{"method": "root/sessionAdded"}, {"echo": {"a": 1}}]
    for method in ("shutdown", "unknown"):
        with pytest.raises(RpcError):
            await connection.request(method, {})
    assert [method for method, _ in host.asked.connections[0].sent][:2] == [
        "initialize",
        "listSessions",
    ]
    connection.close()
    with pytest.raises(ClientGone):
        await connection.request("ping", {})
