"""What plugins register, as clients of a whole host meet it: there, gone with its plugin, back."""

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from zope.interface import implementer

from ahpd.app.host import make_host
from ahpd.app.plugin_side import make_plugin_side
from ahpd.config.plugins import PluginEntry
from ahpd.config.records import WrittenRecord
from ahpd.config.settings import Settings
from ahpd.interfaces import (
    Adapter,
    Capability,
    Channel,
    Description,
    HostTool,
    IAgent,
    IEngine,
    IListedResources,
    IResourceProvider,
    Method,
    ProviderConfiguration,
    RpcError,
    ToolFailure,
    TriggerType,
    TunnelKind,
)
from ahpd.plugins.fold import TwoAgents
from ahpd.protocol.uris import ROOT
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.terminals import ScriptedTerminals

from .applies import applied
from .hosted import People

S1, C2 = "ahp-session:/s1", "ahp-chat:/c2"
SECRET = "hunter2-hunter2"


class Broken(Exception):
    """What a plugin raises where it should not: it knows a secret."""

    def __init__(self):
        super().__init__(f"key {SECRET} was refused")


def broken(*_, **__):
    raise Broken


def schema():
    return {"type": "object", "properties": {"name": {"type": "string", "title": "Name"}}}


def session(hosted, uri=S1, **params):
    """A session that a client made and watches."""
    hosted.call("createSession", channel=uri, **params)
    hosted.host.run(hosted.probe.subscribe(uri))
    return hosted.probe.state(uri)


def newcomer(hosted, *subscriptions):
    """A client that comes now: what it is told at first."""
    probe = hosted.host.client(f"new-{len(hosted.host.clients)}", foreign=True)
    hosted.host.attach(probe)
    return probe, hosted.host.run(probe.initialize(subscriptions=subscriptions))


def read(hosted, channel, probe=None):
    """The state of a channel as a client that comes now reads it; None where there is none."""
    probe, _ = newcomer(hosted)
    try:
        hosted.host.run(probe.subscribe(channel))
    except RpcError:
        return None
    return probe.state(channel)


def root(hosted):
    return read(hosted, ROOT)


def refused(hosted, method, probe=None, **params):
    with pytest.raises(RpcError) as failure:
        hosted.call(method, probe, **params)
    return failure.value.code, failure.value.message


def nothing_leaked(hosted):
    """No frame that any client was sent says what a plugin raised."""
    for probe in hosted.host.clients:
        for sender, frame in probe.frames:
            if sender == "host":
                assert SECRET not in str(frame)
                assert "Traceback" not in str(frame)


# -- each kind: what a client sees of it -----------------------------------------------------------


@implementer(IEngine)
class Engine:
    name = "motor"
    title = "Motor"
    description = "An engine."
    host_only = ()
    key_variables = ()

    def schema(self):
        return schema()

    def templates(self):
        return ()

    def open(self, record, ports):
        return ScriptedAgent(record.id)

    async def check(self, record, ports):
        return ()


async def counted(arguments, context):
    return "seven"


def tool(name="tally", run=counted, **more):
    definition = {"name": name, "title": "Tally", "description": "Counts.", "inputSchema": schema()}
    return HostTool(definition=definition, run=run, **more)


def notes_channel(**more):
    return Channel(grant="notes:read", snapshot=lambda uri, caller: {"at": uri}, **more)


def adapter(**more):
    made = {"name": "mail", "title": "Mail", "schema": schema(), "open": lambda one, view: None}
    return Adapter(**{**made, **more})


def kind(name="wire"):
    return TunnelKind(
        name=name,
        title="Wire",
        schema=schema(),
        create=lambda tunnel, report: None,
        remove=lambda tunnel: None,
    )


DEPLOY = TriggerType(
    type="deploy", title="Deployments", events=[{"id": "failed", "title": "It failed"}]
)
CONFIGURATION = ProviderConfiguration(
    provider="acme",
    title="Acme",
    description="How Acme works.",
    properties={"acme.model": {"type": "string", "title": "Model", "default": "small"}},
    settings=[{"key": "acme.model"}],
)


def in_meta(key):
    def shown(hosted):
        _, told = newcomer(hosted)
        return told["_meta"].get(key)

    return shown


def session_form(hosted):
    form = hosted.call("resolveSessionConfig", provider="scripted")
    return form["schema"]["properties"].get("voice")


def choices(hosted):
    asked = {"provider": "scripted", "property": "voice", "query": "pl"}
    found = hosted.call("sessionConfigCompletions", **asked)
    return [item["value"] for item in found["items"]]


def method_answer(hosted):
    try:
        return hosted.call("x-notes/put", text="milk")
    except RpcError as error:
        return error.code


def listed(hosted):
    found = hosted.call("listAutomationTriggerDefinitions")
    return [item["type"] for item in found["items"]]


def tools_of_a_session(hosted):
    uri = f"ahp-session:/s-{len(hosted.host.clients)}"
    hosted.host.connect(f"for-{uri[-4:]}", foreign=True)
    state = session(hosted, uri)
    return [one["name"] for one in state.get("serverTools", ()) if one["name"] == "tally"]


def meta_of_a_session(hosted):
    uri = f"ahp-session:/m-{len(hosted.host.clients)}"
    hosted.host.connect(f"for-{uri[-4:]}", foreign=True)
    return session(hosted, uri).get("_meta", {}).get("acme.mark")


def rows(channel, key="name"):
    return lambda hosted: [row[key] for row in read(hosted, channel)["rows"]]


EACH = {
    "agent": (
        lambda host: host.register_agent(ScriptedAgent("acme")),
        lambda hosted: [
            row["provider"] for row in root(hosted)["agents"] if row["provider"] == "acme"
        ],
        ["acme"],
        [],
    ),
    "engine": (
        lambda host: host.register_engine(Engine()),
        lambda hosted: [
            row["name"]
            for row in read(hosted, "x-ahpd-engines://")["rows"]
            if row["name"] == "motor"
        ],
        ["motor"],
        [],
    ),
    "tool": (lambda host: host.register_tool(tool()), tools_of_a_session, ["tally"], []),
    "session setting": (
        lambda host: host.register_session_config("voice", {"type": "string", "title": "Voice"}),
        session_form,
        {"type": "string", "title": "Voice"},
        None,
    ),
    "picker": (
        lambda host: host.register_session_config(
            "voice",
            {"type": "string", "title": "Voice"},
            lambda asked: [{"value": f"{asked.query}ain", "label": "Plain"}],
        ),
        choices,
        ["plain"],
        [],
    ),
    "provider configuration": (
        lambda host: host.register_provider_configuration(CONFIGURATION),
        lambda hosted: root(hosted)["config"]["values"].get("acme.model"),
        "small",
        None,
    ),
    "provider's page": (
        lambda host: host.register_provider_configuration(CONFIGURATION),
        lambda hosted: [
            page["title"]
            for page in root(hosted).get("_meta", {}).get("vscode.agentCustomizationSettings", ())
        ],
        ["Acme"],
        [],
    ),
    "channel": (
        lambda host: host.register_channel("x-notes", notes_channel()),
        lambda hosted: read(hosted, "x-notes://a"),
        {"at": "x-notes://a"},
        None,
    ),
    "channel's entry": (
        lambda host: host.register_channel(
            "x-notes", notes_channel(describe=lambda: Description(title="Notes"))
        ),
        lambda hosted: [
            one for one in in_meta("ahpd.channels")(hosted) if one["scheme"] == "x-notes"
        ],
        [{"scheme": "x-notes", "title": "Notes", "grant": "notes:read"}],
        [],
    ),
    "command": (
        lambda host: host.register_method(
            "x-notes/put", Method(grant="notes:put", handle=lambda params, caller: dict(params))
        ),
        method_answer,
        {"channel": ROOT, "text": "milk"},
        -32601,
    ),
    "grants": (
        lambda host: host.register_grants("notes", "Notes", ["pin", "put"]),
        lambda hosted: in_meta("ahpd.grants")(hosted).get("notes"),
        {
            "title": "Notes",
            "operations": ["put", "pin"],
            "groups": {"read": [], "write": ["put"]},
        },
        None,
    ),
    "adapter": (
        lambda host: host.register_adapter(adapter()),
        rows("x-ahpd-adapters://"),
        ["mail"],
        [],
    ),
    "trigger type": (lambda host: host.register_trigger_type(DEPLOY), listed, ["deploy"], []),
    "session meta": (
        lambda host: host.register_session_meta("acme.mark", lambda uri: {"of": uri[:14]}),
        meta_of_a_session,
        {"of": "ahp-session:/m"},
        None,
    ),
}


@pytest.mark.parametrize("what", EACH)
def test_it_is_there_while_its_plugin_is(hosted, what):
    register, shown, there, gone = EACH[what]
    hosted.start(applied(hosted, "acme", lambda host, options: register(host)))
    assert shown(hosted) == there
    assert hosted.ask("disable", id="acme") == {"id": "acme"}
    assert shown(hosted) == gone
    hosted.ask("enable", id="acme")
    assert shown(hosted) == there
    hosted.ask("reload", id="acme")
    assert shown(hosted) == there
    assert hosted.row("acme")["alerts"] == []


def test_a_tunnel_kind_is_offered_while_its_plugin_is(hosted):
    hosted.start(applied(hosted, "acme", lambda host, options: host.register_tunnel_kind(kind())))
    assert "wire" in str(read(hosted, "x-ahpd-tunnels://")["operations"])
    hosted.ask("disable", id="acme")
    assert "wire" not in str(read(hosted, "x-ahpd-tunnels://")["operations"])
    hosted.ask("enable", id="acme")
    assert "wire" in str(read(hosted, "x-ahpd-tunnels://")["operations"])


def test_those_who_are_there_already_are_told(hosted):
    """A client sees a plugin come and go without asking anew."""

    def apply(host, options):
        host.register_agent(ScriptedAgent("acme"))
        host.register_tool(tool())
        host.register_provider_configuration(CONFIGURATION)

    entry = applied(hosted, "acme", apply)
    hosted.start({**entry, "enabled": False})
    state = session(hosted)
    assert "tally" not in str(state["serverTools"])
    hosted.ask("enable", id="acme")
    hosted.host.settle()
    assert "tally" in str(hosted.probe.state(S1)["serverTools"])
    assert [one["provider"] for one in hosted.probe.state(ROOT)["agents"]] == ["acme", "scripted"]
    assert hosted.probe.state(ROOT)["config"]["values"]["acme.model"] == "small"
    hosted.ask("disable", id="acme")
    hosted.host.settle()
    assert "tally" not in str(hosted.probe.state(S1)["serverTools"])
    assert [one["provider"] for one in hosted.probe.state(ROOT)["agents"]] == ["scripted"]
    assert "acme.model" not in hosted.probe.state(ROOT)["config"]["values"]


# -- two plugins, one name ---------------------------------------------------------------------------


def pair_of(hosted, register):
    """Two plugins that register the same; the second also says that it is there."""

    def second(host, options):
        register(host)
        host.register_method("x-second/here", Method(grant="", handle=lambda params, caller: "yes"))

    return (
        applied(hosted, "first", lambda host, options: register(host)),
        applied(hosted, "second", second),
    )


@pytest.mark.parametrize(
    "what", [what for what in EACH if what not in ("agent", "grants", "provider's page")]
)
def test_the_second_of_two_loses_that_name_alone_and_gets_it_when_the_first_goes(hosted, what):
    register, shown, there, _ = EACH[what]
    hosted.start(*pair_of(hosted, register))
    assert shown(hosted) == there
    assert hosted.call("x-second/here") == "yes"
    assert hosted.row("first")["alerts"] == []
    [alert] = hosted.row("second")["alerts"]
    assert alert["level"] == "warning"
    assert "is left out: it is registered by the plugin first" in alert["text"]
    hosted.ask("disable", id="first")
    assert shown(hosted) == there
    assert hosted.row("first")["loaded"] is False
    assert hosted.row("second")["loaded"] is True


def test_a_subject_of_grants_is_shared_and_said_whole(hosted):
    hosted.start(
        applied(hosted, "a", lambda host, _: host.register_grants("notes", "Notes", ["pin"])),
        applied(hosted, "b", lambda host, _: host.register_grants("notes", "Other", ["tear"])),
    )
    held = in_meta("ahpd.grants")(hosted)["notes"]
    assert (held["title"], held["operations"]) == ("Notes", ["pin", "tear"])
    hosted.ask("disable", id="a")
    held = in_meta("ahpd.grants")(hosted)["notes"]
    assert (held["title"], held["operations"]) == ("Other", ["tear"])


def test_what_this_host_decides_of_a_subject_stands_and_the_rest_is_reported(hosted):
    register = lambda host, _: host.register_grants("session", "Mine", ["create", "bake"])  # noqa: E731
    hosted.start(applied(hosted, "acme", register))
    assert in_meta("ahpd.grants")(hosted)["session"]["title"] == "Sessions"
    [alert] = hosted.row("acme")["alerts"]
    assert "the grant session:bake is left out" in alert["text"]


def test_a_channel_and_a_command_of_this_hosts_are_not_a_plugins_to_serve_or_to_speak_on(hosted):
    handles = []

    def apply(host, options):
        handles.append(host.register_channel("x-ahpd-plugins", notes_channel()))
        host.register_method(
            "x-ahpd/plugins/apply", Method(grant="", handle=lambda params, caller: "mine")
        )

    hosted.start(applied(hosted, "acme", apply))
    lines = [alert["text"] for alert in hosted.row("acme")["alerts"]]
    assert lines == [
        "the channel x-ahpd-plugins is left out: this host serves it already",
        "the command x-ahpd/plugins/apply is left out: this host serves it already",
    ]
    assert hosted.ask("apply") == {}
    with pytest.raises(RuntimeError, match="the plugin acme has no such channel"):
        handles[0].publish("x-ahpd-plugins://", {"type": "x-ahpd-plugins/removed", "id": "acme"})


def test_a_tool_of_this_hosts_keeps_its_name(hosted):
    hosted.start()
    own = session(hosted)["serverTools"][0]
    hosted.stop()
    hosted.start(applied(hosted, "acme", lambda host, _: host.register_tool(tool(own["name"]))))
    assert own in session(hosted)["serverTools"]
    [alert] = hosted.row("acme")["alerts"]
    assert f"the tool {own['name']} is left out" in alert["text"]


def test_two_agents_of_one_provider_refuse_the_start_and_both_plugins_are_named(hosted):
    register = lambda host, _: host.register_agent(ScriptedAgent("acme"))  # noqa: E731
    entries = applied(hosted, "first", register), applied(hosted, "second", register)
    with pytest.raises(TwoAgents, match="first and second both register the agent acme"):
        hosted.start(*entries)


def test_an_agent_of_the_configuration_stands_and_the_start_goes_on(hosted):
    """Two agents of plugins could each be meant; of a record the configuration says which is."""
    apply = lambda host, _: host.register_agent(ScriptedAgent("acme"))  # noqa: E731
    source = applied(hosted, "acme", apply)["source"]
    record = WrittenRecord(id="acme", engine="demo", name="Ours", place="agents[0]")
    clock = Clock()
    settings = Settings(listens=False, agents=(record,), paths=(hosted.folder,))
    side = make_plugin_side(settings, clock)
    Deferred.fromCoroutine(side.plugins.load_first([PluginEntry(source=source)]))
    host = make_host(settings, clock, plugins=side)
    host.service.startService()
    agents = host.store.state(ROOT)["agents"]
    assert [(one["provider"], one["displayName"]) for one in agents] == [("acme", "Ours")]
    assert side.rows.problems() == [
        "the agent acme is left out: it is an agent of the configuration (agents[0])"
    ]
    stopping = host.service.stopService()
    while not stopping.called:
        clock.advance(0.5)


@pytest.mark.parametrize("agent_first", [True, False])
def test_an_agent_and_a_scheme_of_two_plugins_do_not_share_a_name(hosted, agent_first):
    agent = applied(hosted, "agent", lambda host, _: host.register_agent(ScriptedAgent("notes")))
    scheme = applied(
        hosted, "scheme", lambda host, _: host.register_resource_provider("notes", Notes())
    )
    hosted.start(*((agent, scheme) if agent_first else (scheme, agent)))
    serves = hosted.host.run(can_read(hosted))
    offers = "notes" in [one["provider"] for one in root(hosted)["agents"]]
    assert (offers, serves) == (agent_first, not agent_first)
    [alert] = hosted.row("scheme" if agent_first else "agent")["alerts"]
    assert "notes is left out: it is the name of the" in alert["text"]


async def can_read(hosted):
    try:
        await hosted.probe.call("resourceRead", {"channel": ROOT, "uri": "notes://a"})
    except RpcError:
        return False
    return True


# -- schemes -----------------------------------------------------------------------------------------


@implementer(IResourceProvider, IListedResources)
class Notes:
    def describe(self):
        return {"title": "Notes", "description": "What was written down.", "manifest": schema()}

    async def read(self, uri, wanted):
        if uri.endswith("broken"):
            raise Broken
        return {"data": f"about {uri}", "encoding": "utf-8"}

    async def list(self, uri):
        return [{"name": "a", "type": "file"}]


def serving_notes(hosted):
    register = lambda host, _: host.register_resource_provider("notes", Notes())  # noqa: E731
    return applied(hosted, "acme", register)


def test_a_scheme_is_read_listed_and_said_with_what_it_can(hosted):
    hosted.start(serving_notes(hosted))
    assert hosted.call("resourceRead", uri="notes://a")["data"] == "about notes://a"
    assert hosted.call("resourceList", uri="notes://")["entries"] == [{"name": "a", "type": "file"}]
    assert refused(hosted, "resourceWrite", uri="notes://a", data="", encoding="utf-8")[0] == -32601
    entry = in_meta("ahpd.resourceProviders")(hosted)["notes"]
    assert entry == {
        "title": "Notes",
        "description": "What was written down.",
        "manifest": schema(),
        "root": "notes://",
        "operations": ["get", "list"],
    }
    assert root(hosted)["_meta"]["ahpd.resourceProviders"]["notes"] == entry
    grants = in_meta("ahpd.grants")(hosted)["notes"]
    assert grants["operations"] == ["get", "list"]
    assert grants["groups"] == {"read": ["get", "list"], "write": []}


@pytest.mark.logs_failures
def test_what_a_scheme_raises_is_not_told(hosted):
    hosted.start(serving_notes(hosted))
    code, words = refused(hosted, "resourceRead", uri="notes://broken")
    assert code == -32603
    assert SECRET not in words
    nothing_leaked(hosted)


def test_a_plugin_with_a_scheme_moves_at_the_next_start_alone(hosted):
    hosted.start(serving_notes(hosted))
    assert hosted.ask("disable", id="acme") == {"id": "acme", "restart": True}
    assert hosted.call("resourceRead", uri="notes://a")["data"] == "about notes://a"
    hosted.stop()
    hosted.again()
    assert hosted.host.run(can_read(hosted)) is False
    assert in_meta("ahpd.resourceProviders")(hosted) is None


def test_no_provider_no_map(hosted):
    hosted.start()
    assert in_meta("ahpd.resourceProviders")(hosted) is None


# -- channels and commands ------------------------------------------------------------------------------


def test_a_channel_is_gated_by_its_grant_and_spoken_on_by_its_plugin(hosted):
    handles, left = [], []

    def apply(host, options):
        handles.append(host.register_channel("x-notes", notes_channel(left=left.append)))

    access = People(ada={"plugin:list", "notes:read"}, bo={"plugin:list"})
    hosted.start(applied(hosted, "acme", apply), access=access)
    bo = hosted.host.connect("bo", foreign=True)
    with pytest.raises(RpcError) as no:
        hosted.host.run(bo.subscribe("x-notes://"))
    assert no.value.code == -32009
    hosted.host.run(hosted.probe.subscribe("x-notes://"))
    handles[0].publish("x-notes://", {"type": "x-notes/added", "note": "milk"})
    assert [one["note"] for one in hosted.said("x-notes://")] == ["milk"]
    [watching] = handles[0].subscribers("x-notes://")
    assert (watching.client, watching.reader.principal) == ("ada", "user:ada")
    access.grants["bo"].add("notes:read")
    hosted.host.run(bo.subscribe("x-notes://"))
    bo.unsubscribe("x-notes://")
    hosted.host.settle()
    assert left == ["bo"]


def test_the_handle_of_an_unloaded_channel_says_nothing_and_its_watchers_may_not_stay(hosted):
    handles = []
    register = lambda host, _: handles.append(host.register_channel("x-notes", notes_channel()))  # noqa: E731
    hosted.start(applied(hosted, "acme", register))
    hosted.host.run(hosted.probe.subscribe("x-notes://"))
    hosted.ask("reload", id="acme")
    old, new = handles
    assert new.subscribers("x-notes://") == ()
    hosted.host.run(hosted.probe.subscribe("x-notes://"))
    assert [one.client for one in new.subscribers("x-notes://")] == ["ada"]
    with pytest.raises(RuntimeError, match="has no such channel"):
        old.publish("x-notes://", {"type": "x-notes/added"})
    hosted.ask("disable", id="acme")
    for handle in handles:
        with pytest.raises(RuntimeError, match="has no such channel"):
            handle.publish("x-notes://", {"type": "x-notes/added"})


@pytest.mark.logs_failures
def test_what_a_snapshot_and_a_command_raise_is_not_told(hosted):
    def apply(host, options):
        host.register_channel("x-notes", Channel(grant="", snapshot=broken, describe=broken))
        host.register_method("x-notes/put", Method(grant="", handle=broken, describe=broken))

        async def later(params, caller):
            raise Broken

        host.register_method("x-notes/later", Method(grant="", handle=later))
        host.register_method(
            "x-notes/odd", Method(grant="", handle=lambda params, caller: object())
        )

        def told(params, caller):
            raise RpcError(-32602, "the note has no text")

        host.register_method("x-notes/told", Method(grant="", handle=told))

    hosted.start(applied(hosted, "acme", apply))
    with pytest.raises(RpcError):
        hosted.host.run(hosted.probe.subscribe("x-notes://"))
    for name in ("put", "later", "odd"):
        assert refused(hosted, f"x-notes/{name}")[0] == -32603, name
    assert refused(hosted, "x-notes/told") == (-32602, "the note has no text")
    titles = [one["title"] for one in in_meta("ahpd.methods")(hosted)]
    assert "x-notes/put" in titles
    nothing_leaked(hosted)


def test_a_command_knows_who_sends_it(hosted):
    def whose(params, caller):
        return {"client": caller.client, "reader": caller.reader.principal, "owner": caller.owner}

    def apply(host, options):
        host.register_method("x-notes/whose", Method(grant="notes:put", handle=whose))

    hosted.start(
        applied(hosted, "acme", apply), access=People(ada={"plugin:list", "notes:put"}, bo=())
    )
    assert hosted.call("x-notes/whose") == {
        "client": "ada",
        "reader": "user:ada",
        "owner": "user:ada",
    }
    bo = hosted.host.connect("bo", foreign=True)
    assert refused(hosted, "x-notes/whose", bo) == (-32009, "bo may not notes:put here")


# -- sessions ----------------------------------------------------------------------------------------


def test_a_picker_is_seeded_asked_live_and_knows_the_other_answers(hosted):
    asked = []

    async def answer(query):
        asked.append(query)
        return [{"value": "plain", "label": "Plain", "description": "No colour"}]

    def apply(host, options):
        host.register_session_config("voice", {"type": "string", "title": "Voice"}, answer)

    hosted.start(applied(hosted, "acme", apply))
    shown = session_form(hosted)
    assert shown["enumDynamic"] is True
    assert shown["enum"] == ["plain"]
    assert shown["enumLabels"] == ["Plain"]
    assert shown["enumDescriptions"] == ["No colour"]
    assert asked[0].query == ""
    found = hosted.call(
        "sessionConfigCompletions",
        provider="scripted",
        property="voice",
        query="pl",
        workingDirectory="file:///work",
        config={"mode": "ask"},
    )
    assert found["items"] == [{"value": "plain", "label": "Plain", "description": "No colour"}]
    last = asked[-1]
    assert (last.query, last.provider, last.working_directory) == ("pl", "scripted", "file:///work")
    assert last.config == {"mode": "ask"}


def test_a_picker_that_raises_is_empty_and_costs_its_own_key(hosted):
    def apply(host, options):
        host.register_session_config("voice", {"type": "string", "title": "Voice"}, broken)
        host.register_session_config("mood", {"type": "string", "title": "Mood"})

    hosted.start(applied(hosted, "acme", apply))
    assert choices(hosted) == []
    form = hosted.call("resolveSessionConfig", provider="scripted")["schema"]["properties"]
    assert form["mood"] == {"type": "string", "title": "Mood"}
    assert form["voice"]["enumDynamic"] is True
    assert "enum" not in form["voice"]
    nothing_leaked(hosted)


def test_a_setting_of_this_hosts_is_not_a_plugins_and_its_row_says_so(hosted):
    def apply(host, options):
        host.register_session_config("permissions", {"type": "string", "title": "Mine"})

    hosted.start(applied(hosted, "acme", apply))
    form = hosted.call("resolveSessionConfig", provider="scripted")["schema"]["properties"]
    assert form["permissions"]["title"] != "Mine"
    [alert] = hosted.row("acme")["alerts"]
    assert "the session setting permissions is left out" in alert["text"]


def test_a_key_of_the_roots_own_configuration_stands_and_the_row_says_so(hosted):
    def apply(host, options):
        properties = {
            "replayBytes": {"type": "number", "title": "Mine", "default": 7},
            "acme.on": {"type": "boolean", "title": "On", "default": True},
        }
        host.register_provider_configuration(
            ProviderConfiguration(
                provider="acme", title="Acme", properties=properties, settings=[{"key": "acme.on"}]
            )
        )

    hosted.start(applied(hosted, "acme", apply))
    config = root(hosted)["config"]
    assert config["schema"]["properties"]["replayBytes"]["title"] != "Mine"
    assert config["values"]["acme.on"] is True
    [alert] = hosted.row("acme")["alerts"]
    assert "replayBytes" in alert["text"]


def test_a_meta_key_of_this_hosts_is_not_a_plugins_and_its_row_says_so(hosted):
    from ahpd.sessions.creation import HOST_META

    key = sorted(HOST_META)[0]
    register = lambda host, _: host.register_session_meta(key, lambda uri: "mine")  # noqa: E731
    hosted.start(applied(hosted, "acme", register))
    assert session(hosted).get("_meta", {}).get(key) != "mine"
    [alert] = hosted.row("acme")["alerts"]
    assert f"the session meta {key} is left out" in alert["text"]


def test_a_preamble_reaches_the_agent_and_is_shown_in_no_chat(hosted):
    def apply(host, options):
        host.register_chat_preamble(lambda ask: f"You are brief in {ask.chat}.")
        host.register_chat_preamble(broken)

        async def more(ask):
            with pytest.raises(TypeError):
                ask.chats.append("mine")
            return "And kind."

        host.register_chat_preamble(more)

    agent = ScriptedAgent(capabilities={"multipleChats": {}})
    hosted.start(applied(hosted, "acme", apply), agents={"scripted": agent})
    session(hosted)
    message = {"text": "Hello.", "origin": {"kind": "user"}}
    hosted.call("createChat", channel=S1, chat=C2, initialMessage=message)
    hosted.host.run(hosted.probe.subscribe(C2))
    hosted.host.settle()
    started = [chat.start for chat in agent.chats if chat.start.chat == C2]
    assert [start.preamble for start in started] == [f"You are brief in {C2}.\n\nAnd kind."]
    assert "brief" not in str(hosted.probe.plain_state(C2))
    nothing_leaked(hosted)
    hosted.ask("disable", id="acme")
    hosted.call("createChat", channel=S1, chat="ahp-chat:/c3", initialMessage=message)
    hosted.host.settle()
    [start] = [chat.start for chat in agent.chats if chat.start.chat == "ahp-chat:/c3"]
    assert start.preamble is None


# -- agents and tools ---------------------------------------------------------------------------------


def test_what_a_plugins_agent_is_handed_cannot_be_written_to(hosted):
    agent = ScriptedAgent("acme")

    def apply(host, options):
        host.register_agent(agent)
        host.register_tool(tool())

    hosted.start(applied(hosted, "acme", apply))
    config = {"permissions": {"allow": ["Read"]}}
    state = session(hosted, provider="acme", config=config)
    chat = state["defaultChat"]
    message = {"text": "Hello.", "origin": {"kind": "user"}, "_meta": {"a": [1]}}
    action = {
        "type": "chat/turnStarted",
        "turnId": "t1",
        "startedAt": "2026-01-02T03:04:05.000Z",
        "message": message,
    }
    hosted.host.run(hosted.probe.subscribe(chat))
    hosted.host.run(hosted.probe.perform(chat, action))
    hosted.host.settle()
    [served] = agent.chats
    start, [turn] = served.start, served.turns
    for write in (
        lambda: start.config["permissions"]["allow"].append("Shell"),
        lambda: start.config.update(mine=1),
        start.server_tools[0]["inputSchema"].clear,
        lambda: start.history.append({}),
        lambda: start.mcp_servers.update(mine={}),
        lambda: start.managed_settings.update(mine={}),
        lambda: turn.message["_meta"]["a"].append(2),
        lambda: turn.message.update(text="Other."),
    ):
        with pytest.raises(TypeError, match="may be read"):
            write()
    assert hosted.probe.plain_state(chat)["turns"][0]["message"] == message
    read_back = read(hosted, S1)
    assert read_back["config"]["values"]["permissions"] == {"allow": ["Read"]}


@implementer(IAgent)
class BadAgent(ScriptedAgent):
    async def open_chat(self, start):
        raise Broken


def test_what_a_plugins_agent_raises_is_not_told(hosted):
    hosted.start(applied(hosted, "acme", lambda host, _: host.register_agent(BadAgent("acme"))))
    chat = session(hosted, provider="acme")["defaultChat"]
    hosted.host.run(hosted.probe.subscribe(chat))
    message = {"text": "Hello.", "origin": {"kind": "user"}}
    action = {
        "type": "chat/turnStarted",
        "turnId": "t1",
        "startedAt": "2026-01-02T03:04:05.000Z",
        "message": message,
    }
    hosted.host.run(hosted.probe.perform(chat, action))
    hosted.host.settle()
    assert "chat/error" in [one["type"] for one in hosted.said(chat)]
    nothing_leaked(hosted)


def test_a_tool_runs_for_the_session_that_calls_it_and_what_it_raises_is_not_told(hosted):
    calls, agent = [], ScriptedAgent()

    async def run(arguments, context):
        calls.append((dict(arguments), context))
        if arguments.get("name") == "broken":
            raise Broken
        if arguments.get("name") == "no":
            raise ToolFailure("There is no such note.")
        return "seven"

    results = []

    async def script(turn):
        for name in ("all", "broken", "no"):
            results.append(await turn.host.run_tool("tally", {"name": name}, f"call-{name}"))

    def apply(host, options):
        host.register_tool(tool(run=run))

    hosted.start(applied(hosted, "acme", apply), agents={"scripted": agent})
    agent.then(script)
    chat = session(hosted)["defaultChat"]
    hosted.host.run(hosted.probe.subscribe(chat))
    message = {"text": "Hello.", "origin": {"kind": "user"}}
    action = {
        "type": "chat/turnStarted",
        "turnId": "t1",
        "startedAt": "2026-01-02T03:04:05.000Z",
        "message": message,
    }
    hosted.host.run(hosted.probe.perform(chat, action))
    hosted.host.settle()
    assert [one["success"] for one in results] == [True, False, False]
    assert "seven" in str(results[0])
    assert "There is no such note." in str(results[2])
    assert SECRET not in str(results)
    (_, context), *_ = calls
    assert (context.session, context.chat, context.tool_call_id) == (S1, chat, "call-all")
    with pytest.raises(AttributeError):
        context.session = "ahp-session:/other"


def test_an_advanced_tool_waits_for_the_operator(hosted):
    register = lambda host, _: host.register_tool(tool(advanced=True))  # noqa: E731
    entry = applied(hosted, "acme", register)
    hosted.start(entry)
    assert "tally" not in str(session(hosted)["serverTools"])
    hosted.stop()
    hosted.start(entry, advanced_tools=True)
    assert "tally" in str(session(hosted)["serverTools"])


# -- connectors ----------------------------------------------------------------------------------------


def test_what_an_adapter_raises_is_not_told_with_its_trace(hosted):
    def apply(host, options):
        host.register_adapter(
            adapter(
                open=broken,
                capabilities=[Capability(type="models", name="models", title="Models")],
            )
        )

    hosted.start(applied(hosted, "acme", apply))
    row = hosted.call(
        "x-ahpd/connectors/put", id="one", adapter="mail", owner="host", config={"name": "a"}
    )
    assert row["state"] in ("failed", "invalid")
    for probe in hosted.host.clients:
        assert "Traceback" not in str(probe.frames)
        assert 'File "' not in str(probe.frames)


# -- ports: what a host is built over ----------------------------------------------------------------------


def with_port(hosted, name, value, replace=True):
    register = lambda host, _: getattr(host, f"register_{name}")(value, replace)  # noqa: E731
    return applied(hosted, "acme", register)


def test_a_vault_of_a_plugins_is_what_the_next_plugins_options_and_secrets_are_read_from(hosted):
    from ahpd.vault import MemoryVault

    hosts, handed = [], []
    vault = MemoryVault({"host:stripe": "theirs"})
    first = with_port(hosted, "vault", vault)

    def second(host, options):
        hosts.append(host)
        handed.append(options["key"])

    entry = applied(hosted, "second", second)
    hosted.start(first, {**entry, "options": {"key": {"$secret": "host:stripe"}}})
    assert handed == ["theirs"]
    assert hosted.host.run(hosts[0].secret("host:stripe")) == "theirs"


def test_a_port_this_host_has_is_left_as_it_was_without_replace(hosted):
    from ahpd.vault import MemoryVault

    hosts = []
    first = with_port(hosted, "vault", MemoryVault({"host:stripe": "theirs"}), replace=False)
    second = applied(hosted, "second", lambda host, _: hosts.append(host))
    hosted.start(first, second)
    with pytest.raises(Exception, match="holds no host:stripe"):
        hosted.host.run(hosts[0].secret("host:stripe"))
    [alert] = hosted.row("acme")["alerts"]
    assert "the port vault is left as it was: this host has one" in alert["text"]


def test_records_of_every_plugin_are_in_the_store_a_plugin_supplies(hosted):
    from ahpd.interfaces import RecordOptions
    from ahpd.record_store.memory import MemoryRecordStore

    store, opened = MemoryRecordStore(), []
    first = with_port(hosted, "records", store)
    second = applied(hosted, "second", lambda host, _: opened.append(host.records("bots")))
    hosted.start(first, second)
    hosted.host.run(opened[0].put({"id": "motion"}))
    held = store.collection("bots", RecordOptions())
    assert hosted.host.run(held.list()) == [{"id": "motion"}]


def test_sessions_are_kept_in_the_store_a_plugin_supplies(hosted):
    from ahpd.stores.memory import MemorySessionStore

    store = MemorySessionStore()
    hosted.start(with_port(hosted, "sessions", store))
    assert hosted.host.kept is store


def test_terminals_are_a_plugins_where_it_takes_them_over(hosted):
    hosted.start(with_port(hosted, "terminals", ScriptedTerminals()))
    assert root(hosted)["terminals"] == []
    hosted.call(
        "createTerminal", channel="ahp-terminal:/t1", claim={"kind": "client", "clientId": "ada"}
    )
    assert [one["resource"] for one in root(hosted)["terminals"]] == ["ahp-terminal:/t1"]


def test_files_are_a_plugins_where_it_takes_them_over(hosted):
    hosted.start(with_port(hosted, "resources", Notes()))
    assert hosted.call("resourceRead", uri="file:///a")["data"] == "about file:///a"


@pytest.mark.parametrize(
    ("name", "value"), [("bindings", lambda session: {}), ("command_parser", lambda *_: None)]
)
def test_a_plugin_with_a_port_moves_at_the_next_start_alone(hosted, name, value):
    hosted.start(with_port(hosted, name, value))
    assert hosted.ask("reload", id="acme") == {"id": "acme", "restart": True}
    assert hosted.row("acme")["loaded"] is True


# -- what is not a client's to see -----------------------------------------------------------------


@pytest.mark.logs_failures
def test_what_an_engine_raises_is_not_told(hosted):
    class Bad(Engine):
        name = "bad"

        def open(self, record, ports):
            raise Broken

    hosted.start(applied(hosted, "acme", lambda host, _: host.register_engine(Bad())))
    row = hosted.call(
        "x-ahpd/agents/put", id="one", engine="bad", name="One", owner="host", config={}
    )
    assert row["state"] != "ready"
    for probe in hosted.host.clients:
        assert "Traceback" not in str(probe.frames)
        assert 'File "' not in str(probe.frames)


def test_what_a_plugin_fails_with_in_apply_is_one_line_and_costs_all_it_registered(hosted):
    closed = []

    def apply(host, options):
        host.register_close(lambda: closed.append(True))
        host.register_method("x-acme/go", Method(grant="", handle=lambda params, caller: "go"))
        host.register_channel("x-acme", Channel(grant="", snapshot="nothing"))

    hosted.start(applied(hosted, "acme", apply))
    row = hosted.row("acme")
    assert row["loaded"] is False
    assert row["problem"].startswith(
        "plugin acme skipped: the channel x-acme: its snapshot is a function, found str"
    )
    assert closed == [True]
    assert refused(hosted, "x-acme/go")[0] == -32601


def test_a_schema_that_was_registered_is_the_hosts_own(hosted):
    form = {"type": "string", "title": "Voice", "enum": ["plain"]}
    properties = {"acme.model": {"type": "string", "title": "Model", "default": "small"}}

    def apply(host, options):
        host.register_session_config("voice", form)
        host.register_provider_configuration(
            ProviderConfiguration(provider="acme", title="Acme", properties=properties, settings=[])
        )

    hosted.start(applied(hosted, "acme", apply))
    form["enum"].append("loud")
    form["title"] = "Moved"
    properties["acme.model"]["title"] = "Moved"
    assert session_form(hosted) == {"type": "string", "title": "Voice", "enum": ["plain"]}
    assert root(hosted)["config"]["schema"]["properties"]["acme.model"]["title"] == "Model"


def test_later_ports_are_held_for_whoever_asks(hosted):
    """This host has no domain of them yet: they are checked, held, and in nobody's way."""
    from .test_registrations import PORTS, stand_in

    later = ("changes", "directories", "worktrees", "github", "diagnostics", "computers",
             "containers", "usage", "policies")  # fmt: skip

    def apply(host, options):
        for name in later:
            getattr(host, f"register_{name}")(stand_in(PORTS[name].interface))

    hosted.start(applied(hosted, "acme", apply))
    assert hosted.row("acme")["alerts"] == []
    for name in later:
        assert hosted.plugins.folded.port(name) is not None


def test_a_connector_of_a_session_is_what_the_plugins_bindings_say_now(hosted):
    bound = {}

    async def run(connector, action, given, call):
        return f"sent by {connector.id}"

    def apply(host, options):
        action = Capability(
            type="action", name="send", title="Send", description="Sends.", input=schema()
        )
        host.register_adapter(adapter(run=run, capabilities=[action]))
        host.register_bindings(lambda uri: dict(bound))

    hosted.start(applied(hosted, "acme", apply))
    hosted.call("x-ahpd/connectors/put", id="one", adapter="mail", owner="host", config={})
    names = [one["name"] for one in session(hosted)["serverTools"]]
    assert "mail_send" not in names
    bound["work"] = "connectors://mail/one"
    names = [one["name"] for one in session(hosted, "ahp-session:/s2")["serverTools"]]
    assert "mail_send" in names
