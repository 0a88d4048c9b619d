"""What a plugin may register, one method at a time: what is refused, and that the host has a copy."""

import copy
import inspect

import attrs
import pytest
from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from twisted.web.resource import Resource
from zope.interface import implementer
from zope.interface.verify import verifyObject

from ahpd.connectors.adapters import adapter_warnings, check_adapter
from ahpd.extensions.grant_table import SUBJECTS
from ahpd.extensions.triggers import check_trigger_type
from ahpd.interfaces import (
    Adapter,
    Capability,
    ChangesetOperations,
    Channel,
    HostTool,
    IAgent,
    IListedResources,
    IPluginContext,
    IPluginHost,
    IResourceProvider,
    IUsageStore,
    Method,
    PluginError,
    ProviderConfiguration,
    TriggerType,
    TunnelKind,
    TunnelOperation,
)
from ahpd.plugins.checked import Checks
from ahpd.plugins.contribution import Contribution
from ahpd.plugins.fold import fold
from ahpd.plugins.ports import PORTS
from ahpd.plugins.registering import Registrar
from ahpd.protocol.reserved import is_reserved, registrable
from ahpd.record_store.memory import MemoryRecordStore
from ahpd.schemas import gaps, write_only_paths
from ahpd.testing.agents import ScriptedAgent
from ahpd.tools.registry import check_tool
from ahpd.tunnels.kinds import check_kind
from ahpd.vault import MemoryVault

from .applies import applied
from .live_kit import LiveKit

CHECKS = Checks(
    tool=check_tool,
    adapter=check_adapter,
    tunnel_kind=check_kind,
    trigger_type=check_trigger_type,
    scheme=registrable,
    gaps=gaps,
    adapter_warnings=adapter_warnings,
    write_only=write_only_paths,
)


def schema():
    return {"type": "object", "properties": {"name": {"type": "string", "title": "Name"}}}


def nothing(*_, **__):
    return None


@implementer(IResourceProvider)
class Notes:
    async def read(self, uri, wanted):
        return {"data": "", "encoding": "utf-8"}


def tool(name="tally", **more):
    definition = {"name": name, "title": "Tally", "description": "Counts.", "inputSchema": schema()}
    return HostTool(definition=definition, run=more.pop("run", nothing), **more)


def adapter(name="acme", **more):
    return Adapter(**{"name": name, "title": "Acme", "schema": schema(), "open": nothing, **more})


def kind(name="wire", **more):
    wanted = {"title": "Wire", "schema": schema(), "create": nothing, "remove": nothing}
    return TunnelKind(name=name, **{**wanted, **more})


def trigger(named="deploy", **more):
    events = [{"id": "failed", "title": "A deployment failed"}]
    return TriggerType(type=named, title="Deployments", **{"events": events, **more})


def configuration(provider="acme", **more):
    wanted = {
        "title": "Acme",
        "properties": {"acme.model": {"type": "string", "title": "Model", "default": "small"}},
        "settings": [{"key": "acme.model"}],
    }
    return ProviderConfiguration(provider=provider, **{**wanted, **more})


def channel(**more):
    return Channel(**{"grant": "notes:read", "snapshot": lambda uri, caller: {}, **more})


def method(**more):
    return Method(**{"grant": "notes:put", "handle": nothing, **more})


def agent(provider="acme"):
    return ScriptedAgent(provider)


class Taking:
    """A registrar, what it took, and the lines it warned of."""

    def __init__(self, listed=lambda kind, name: None):
        self.lines = []
        self.took = Contribution(plugin="acme")
        self.registrar = Registrar(self.took, CHECKS, listed, self.lines.append)

    def __getattr__(self, name):
        return getattr(self.registrar, name)


@pytest.fixture
def taking():
    return Taking()


# -- each kind is taken, held by its name, and listed in the contracts --------------------------

OPERATIONS = ChangesetOperations(operations=nothing, handlers={"push": nothing})
#: By contract key: what registers one, the name the contract lists it by, and where it is held.
EACH = {
    "agents": (lambda on: on.register_agent(agent()), "acme", "agents"),
    "tools": (lambda on: on.register_tool(tool()), "tally", "tools"),
    "sessionConfigs": (
        lambda on: on.register_session_config("voice", {"type": "string", "title": "Voice"}),
        "voice",
        "session_config",
    ),
    "providerConfigurations": (
        lambda on: on.register_provider_configuration(configuration()),
        "acme",
        "provider_configurations",
    ),
    "resourceProviders": (
        lambda on: on.register_resource_provider("notes", Notes()),
        "notes",
        "resource_providers",
    ),
    "channels": (lambda on: on.register_channel("x-notes", channel()), "x-notes", "channels"),
    "methods": (lambda on: on.register_method("x-notes/put", method()), "x-notes/put", "methods"),
    "grants": (lambda on: on.register_grants("notes", "Notes", ["pin"]), "notes", "grants"),
    "adapters": (lambda on: on.register_adapter(adapter()), "acme", "adapters"),
    "tunnelKinds": (lambda on: on.register_tunnel_kind(kind()), "wire", "tunnel_kinds"),
    "triggerTypes": (lambda on: on.register_trigger_type(trigger()), "deploy", "trigger_types"),
    "changesetOperations": (
        lambda on: on.register_changeset_operations(OPERATIONS),
        "push",
        "changeset_operations",
    ),
    "sessionMeta": (
        lambda on: on.register_session_meta("acme.mark", nothing),
        "acme.mark",
        "session_meta",
    ),
    "ports": (lambda on: on.register_port("bindings", nothing, False), "bindings", "ports"),
}
#: Those without a name.
UNNAMED = {
    "routes": lambda on: on.register_route(Resource()),
    "chatPreambles": lambda on: on.register_chat_preamble(nothing),
    "services": lambda on: on.register_service(Service()),
    "closers": lambda on: on.register_close(nothing),
}


@pytest.mark.parametrize("key", EACH)
def test_what_is_registered_is_held_by_its_name(taking, key):
    register, name, field = EACH[key]
    register(taking)
    assert list(getattr(taking.took, field)) == [name]
    assert taking.lines == []


@pytest.mark.parametrize("key", EACH)
def test_a_contract_is_asked_by_its_key_and_by_the_name(key):
    register, name, field = EACH[key]
    asked = []

    def listed(kind, named):
        asked.append((kind, named))
        raise PluginError("it is not listed")

    taking = Taking(listed)
    with pytest.raises(PluginError, match="it is not listed"):
        register(taking)
    assert asked == [(key, name)]
    assert not getattr(taking.took, field)
    assert taking.lines == []


@pytest.mark.parametrize("key", UNNAMED)
def test_a_contract_is_asked_of_what_has_no_name(key):
    def listed(kind, named):
        raise PluginError(f"{kind} is not listed")

    with pytest.raises(PluginError, match=f"{key} is not listed"):
        UNNAMED[key](Taking(listed))


@pytest.mark.parametrize("key", [*EACH, *UNNAMED])
def test_nothing_is_registered_once_apply_returned(taking, key):
    taking.close_registrations()
    register = EACH[key][0] if key in EACH else UNNAMED[key]
    with pytest.raises(PluginError, match="acme: nothing may be registered after apply returned"):
        register(taking)


@pytest.mark.parametrize("key", [key for key in EACH if key != "grants"])
def test_a_name_is_registered_once_by_one_plugin(taking, key):
    EACH[key][0](taking)
    with pytest.raises(PluginError, match=rf"{EACH[key][1]} is registered twice"):
        EACH[key][0](taking)


def test_a_plugin_has_one_route_and_any_number_of_closers_preambles_and_services(taking):
    for _ in range(2):
        taking.register_close(nothing)
        taking.register_chat_preamble(nothing)
        taking.register_service(Service())
    taking.register_route(nothing)
    with pytest.raises(PluginError, match="one route"):
        taking.register_route(nothing)
    took = taking.took
    assert [len(one) for one in (took.closers, took.preambles, took.services)] == [2, 2, 2]


# -- the host's own copy ------------------------------------------------------------------------


def test_what_is_done_to_a_schema_later_changes_nothing_here(taking):
    input_schema, own = schema(), schema()
    definition = tool().definition
    form = {"type": "string", "title": "Voice", "enum": ["plain"]}
    properties = {"acme.model": {"type": "string", "title": "Model", "default": "small"}}
    settings, events = [{"key": "acme.model"}], [{"id": "failed", "title": "It failed"}]
    handlers = {"push": nothing}
    operations = ["pin"]
    action = Capability(type="action", name="send", title="Send", input=input_schema)
    capabilities = [action]
    kinds = [TunnelOperation(id="restart", label="Restart", input=input_schema)]
    taking.register_tool(HostTool(definition=definition, run=nothing))
    taking.register_session_config("voice", form)
    taking.register_provider_configuration(configuration(properties=properties, settings=settings))
    taking.register_adapter(adapter(schema=own, capabilities=capabilities))
    taking.register_tunnel_kind(kind(schema=own, operations=kinds, invoke=nothing))
    taking.register_trigger_type(trigger(events=events, config_schema=own))
    taking.register_changeset_operations(ChangesetOperations(operations=nothing, handlers=handlers))
    taking.register_grants("notes", "Notes", operations)
    before = copy.deepcopy(attrs.asdict(taking.took))
    for value in (input_schema, own):
        value["properties"]["name"]["title"] = "Moved"
        value["properties"]["more"] = {"type": "object"}
    definition["description"] = "Moved"
    definition["inputSchema"]["properties"].clear()
    form["enum"].append("warm")
    properties["acme.model"]["default"] = "large"
    settings.clear()
    events[0]["title"] = "Moved"
    events.append({"id": "other", "title": "Other"})
    capabilities.clear()
    kinds.clear()
    handlers.clear()
    operations.append("put")
    assert attrs.asdict(taking.took) == before


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ({"type": "string", "enum": {"a", "b"}}, "enum is no JSON: found set"),
        (
            {"type": "string", 1: 2},
            "a key of the schema of the session setting voice is no JSON: found a number",
        ),
        ({"default": float("nan")}, "default is no JSON: found nan"),
        ("a text", "is a JSON object, found str"),
        (None, "is a JSON object, found NoneType"),
    ],
)
def test_a_schema_that_could_not_be_sent_is_refused_where_it_is_wrong(taking, broken, words):
    with pytest.raises(PluginError, match="the schema of the session setting voice") as refused:
        taking.register_session_config("voice", broken)
    assert words in str(refused.value)


# -- what is refused, kind by kind --------------------------------------------------------------


@implementer(IAgent)
class Half:
    provider = "half"
    abilities = None


@implementer(IResourceProvider, IListedResources)
class NoList(Notes):
    pass


class Running(Service):
    running = True


class Described(Notes):
    describe = "a text"


REFUSED = {
    "an agent that is none": (lambda on: on.register_agent(object()), "an agent: .*IAgent"),
    "an agent with members missing": (lambda on: on.register_agent(Half()), "an agent: .*info"),
    "an agent with a reserved name": (
        lambda on: on.register_agent(agent("session")),
        "the provider of an agent: the name session is reserved",
    ),
    "an agent with a prefix of the host's": (
        lambda on: on.register_agent(agent("ahp-mine")),
        "is reserved",
    ),
    "an agent in capitals": (lambda on: on.register_agent(agent("Acme")), "written small: 'Acme'"),
    "an agent that names no scheme": (
        lambda on: on.register_agent(agent("my_agent")),
        "'my_agent' is no URI scheme",
    ),
    "an engine that is none": (lambda on: on.register_engine(object()), "an engine: .*IEngine"),
    "a tool that is none": (lambda on: on.register_tool({}), "a HostTool of ahpd.interfaces"),
    "a tool no model can call": (lambda on: on.register_tool(tool("a b")), "is no tool's name"),
    "a tool that cannot be run": (
        lambda on: on.register_tool(tool(run=None)),
        "what runs the tool tally is a function",
    ),
    "a setting without a key": (
        lambda on: on.register_session_config("", {}),
        "the key of a session setting",
    ),
    "a picker nobody answers": (
        lambda on: on.register_session_config("voice", {}, "plain"),
        "what answers the session setting voice is a function, found str",
    ),
    "a configuration that is none": (
        lambda on: on.register_provider_configuration({}),
        "a ProviderConfiguration of ahpd.interfaces",
    ),
    "settings that are no list": (
        lambda on: on.register_provider_configuration(configuration(settings={})),
        "its settings are a list",
    ),
    "a reserved scheme": (
        lambda on: on.register_resource_provider("file", Notes()),
        "a resource scheme: the name file is reserved",
    ),
    "a scheme a client opens": (
        lambda on: on.register_resource_provider("HTTPS", Notes()),
        "the name https is reserved",
    ),
    "a scheme of an extension": (
        lambda on: on.register_resource_provider("x-notes", Notes()),
        "the name x-notes is reserved",
    ),
    "a scheme that is no text": (
        lambda on: on.register_resource_provider(7, Notes()),
        "a resource scheme:",
    ),
    "a provider that cannot be read": (
        lambda on: on.register_resource_provider("notes", object()),
        "cannot be read: no IResourceProvider",
    ),
    "a provider without what it says it provides": (
        lambda on: on.register_resource_provider("notes", NoList()),
        "what is to serve notes:.*IListedResources",
    ),
    "a description that is no function": (
        lambda on: on.register_resource_provider("notes", Described()),
        "describe of what is to serve notes: is a function",
    ),
    "a channel without the prefix": (
        lambda on: on.register_channel("notes", channel()),
        "begins with x-, is small and ends in a letter or a digit, found 'notes'",
    ),
    "a channel in capitals": (
        lambda on: on.register_channel("x-Notes", channel()),
        "begins with x-, is small and ends in",
    ),
    "a channel that is none": (lambda on: on.register_channel("x-notes", {}), "a Channel of"),
    "a channel without a snapshot": (
        lambda on: on.register_channel("x-notes", channel(snapshot=None)),
        "the channel x-notes: its snapshot is a function",
    ),
    "a channel with a wrong hook": (
        lambda on: on.register_channel("x-notes", channel(left="bye")),
        "its left is a function",
    ),
    "a command without the prefix": (
        lambda on: on.register_method("notes/put", method()),
        "begins with x-, found 'notes/put'",
    ),
    "a command that is none": (
        lambda on: on.register_method("x-notes/put", nothing),
        "a Method of",
    ),
    "a command nothing handles": (
        lambda on: on.register_method("x-notes/put", method(handle=None)),
        "its handle is a function",
    ),
    "a group as an operation": (
        lambda on: on.register_grants("notes", "Notes", ["read"]),
        "read is a group of operations, and none itself: leave it out, notes:read is asked for without",
    ),
    "every operation": (lambda on: on.register_grants("notes", "Notes", ["*"]), "is a group"),
    "a text as operations": (
        lambda on: on.register_grants("notes", "Notes", "pin"),
        "a list of at least one operation",
    ),
    "no operation": (lambda on: on.register_grants("notes", "Notes", []), "at least one"),
    "an operation no grant names": (
        lambda on: on.register_grants("notes", "Notes", ["pin it"]),
        "'pin it' is no operation",
    ),
    "a subject no grant names": (
        lambda on: on.register_grants("no:tes", "Notes", ["pin"]),
        "'no:tes' is no subject",
    ),
    "an adapter that is none": (lambda on: on.register_adapter({}), "an Adapter of"),
    "an adapter of no name": (
        lambda on: on.register_adapter(adapter("Acme Inc")),
        "the name of an adapter is a slug",
    ),
    "an adapter that breaks a rule of connectors": (
        lambda on: on.register_adapter(
            adapter(capabilities=[Capability(type="view", name="side", title="Side")])
        ),
        "names no surface",
    ),
    "a tunnel kind that is none": (lambda on: on.register_tunnel_kind({}), "a TunnelKind of"),
    "a tunnel kind with a verb of the host's": (
        lambda on: on.register_tunnel_kind(
            kind(operations=[TunnelOperation(id="remove", label="Remove")], invoke=nothing)
        ),
        "remove",
    ),
    "a trigger type of the host's": (
        lambda on: on.register_trigger_type(trigger("session")),
        "is this host's own",
    ),
    "a trigger type without events": (
        lambda on: on.register_trigger_type(trigger(events=[])),
        "has no event",
    ),
    "a trigger type with two events of one id": (
        lambda on: on.register_trigger_type(
            trigger(events=[{"id": "a", "title": "A"}, {"id": "a", "title": "B"}])
        ),
        "two events have the id a",
    ),
    "an event that is a text": (
        lambda on: on.register_trigger_type(trigger(events=["failed"])),
        "an event is an object",
    ),
    "changeset operations that run nothing": (
        lambda on: on.register_changeset_operations(
            ChangesetOperations(operations=nothing, handlers={})
        ),
        "at least one function by id",
    ),
    "a preamble that cannot be asked": (
        lambda on: on.register_chat_preamble("You are kind."),
        "a chat preamble is a function, found str",
    ),
    "a meta key that cannot be read": (
        lambda on: on.register_session_meta("acme.mark", 3),
        "what reads the _meta key acme.mark is a function",
    ),
    "a route that serves nothing": (lambda on: on.register_route("/"), "a coroutine function or"),
    "a service that is none": (lambda on: on.register_service(object()), "a service: .*IService"),
    "a service that runs": (lambda on: on.register_service(Running()), "runs already"),
    "a closer that cannot be called": (
        lambda on: on.register_close(None),
        "a closer is a function",
    ),
    "a listener of nothing": (lambda on: on.listen("lunch", nothing), "no event 'lunch'"),
    "a listener that cannot be told": (
        lambda on: on.listen("message", None),
        "the listener of message is a function",
    ),
    "a port that is a word": (
        lambda on: on.register_port("bindings", nothing, "replace"),
        "replace is True or False",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused_in_words(taking, what):
    register, words = REFUSED[what]
    with pytest.raises(PluginError, match=words) as refused:
        register(taking)
    assert "\n" not in str(refused.value)
    assert attrs.asdict(taking.took) == attrs.asdict(Contribution(plugin="acme"))


def test_a_service_is_not_started_twice(taking):
    service = Service()
    taking.register_service(service)
    with pytest.raises(PluginError, match="registered once"):
        taking.register_service(service)


def test_every_subject_a_grant_names_is_reserved():
    assert [name for name in SUBJECTS if not is_reserved(name)] == []


def test_a_scheme_is_held_in_small_letters(taking):
    taking.register_resource_provider("Notes", Notes())
    assert list(taking.took.resource_providers) == ["notes"]
    with pytest.raises(PluginError, match="registered twice"):
        taking.register_resource_provider("NOTES", Notes())


def test_a_subject_named_again_has_the_operations_of_both_and_the_first_words(taking):
    taking.register_grants("notes", "Notes", ["pin"], "first")
    taking.register_grants("notes", "Other", ["put", "pin"], "second")
    held = taking.took.grants["notes"]
    assert (held.title, held.description) == ("Notes", "first")
    assert held.operations == ("pin", "put")


# -- what is let through and said ---------------------------------------------------------------

GAP = {"type": "object", "properties": {"env": {"type": "object"}}}


def test_a_gap_in_each_schema_is_a_line_that_says_where(taking):
    taking.register_tool(
        HostTool(definition={**tool().definition, "inputSchema": GAP}, run=nothing)
    )
    taking.register_session_config("voice", {"type": "object", "title": "Voice"})
    taking.register_provider_configuration(
        configuration(properties={"acme.env": {"type": "object", "title": "Env"}})
    )
    taking.register_adapter(
        adapter(
            schema=GAP,
            capabilities=[Capability(type="action", name="send", title="Send", input=GAP)],
        )
    )
    taking.register_tunnel_kind(
        kind(
            schema=GAP,
            operations=[TunnelOperation(id="restart", label="Restart", input=GAP)],
            invoke=nothing,
        )
    )
    taking.register_trigger_type(trigger(config_schema=GAP))
    assert [line.partition(":")[0] for line in taking.lines] == [
        "tool tally env",
        "session setting voice",
        "configuration acme acme.env",
        "adapter acme env",
        "adapter acme send env",
        "tunnel kind wire env",
        "tunnel kind wire restart env",
        "trigger type deploy env",
    ]


def test_of_a_scheme_and_an_agent_with_one_name_the_later_is_left_out(taking):
    taking.register_resource_provider("notes", Notes())
    taking.register_agent(agent("notes"))
    assert taking.took.agents == {}
    assert taking.lines == [
        "the agent notes is left out: it is the name of the plugin's own scheme"
    ]


def test_what_is_refused_warns_of_nothing(taking):
    with pytest.raises(PluginError):
        taking.register_tool(
            HostTool(definition={**tool("a b").definition, "inputSchema": GAP}, run=nothing)
        )
    assert taking.lines == []


def test_a_listener_that_comes_late_is_a_line_and_hears_nothing(taking):
    taking.listen("message", nothing)
    taking.close_registrations()
    taking.listen("message", nothing)
    assert taking.took.listeners == {"message": [nothing]}
    assert taking.lines == ["a listener of message came after apply returned and hears nothing"]


# -- ports ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PORTS)
def test_each_port_takes_what_provides_it_and_nothing_else(taking, name):
    wanted = PORTS[name].interface
    if wanted is None:
        with pytest.raises(PluginError, match=f"the port {name} takes a function"):
            taking.register_port(name, object(), True)
        taking.register_port(name, nothing, True)
        return
    with pytest.raises(PluginError, match=f"the port {name} takes an {wanted.__name__}"):
        taking.register_port(name, object(), True)
    taking.register_port(name, stand_in(wanted), True)
    assert fold([taking.took]).port(name) is not None


def stand_in(wanted):
    """Something with every member of an interface, called as it says."""
    members = {}
    for name, member in wanted.namesAndDescriptions(all=True):
        signature = getattr(member, "getSignatureInfo", None)
        if signature is None:
            members[name] = None
            continue
        told = signature()
        words = ["self", *told["positional"]]
        space = {}
        optional = told["optional"]
        words = [one if one not in optional else f"{one}=None" for one in words]
        exec(f"def {name}({', '.join(words)}): pass", space)
        members[name] = space[name]
    made = implementer(wanted)(type("StandIn", (), members))()
    assert verifyObject(wanted, made)
    return made


@pytest.mark.parametrize("member", [name for name in IUsageStore if name != "record"])
def test_a_port_without_one_of_its_members_is_refused_by_its_name(taking, member):
    store = stand_in(IUsageStore)
    delattr(type(store), member)
    with pytest.raises(PluginError, match=rf"the port usage takes an IUsageStore: .*{member}"):
        taking.register_port("usage", store, False)


def test_diagnostics_may_have_no_member_at_all(taking):
    taking.register_port("diagnostics", stand_in(PORTS["diagnostics"].interface), False)


# -- the host a plugin is handed ------------------------------------------------------------------


class Kit(LiveKit):
    def run_now(self, coroutine):
        """What a coroutine comes to, which waits for nothing but the clock."""
        results = []
        Deferred.fromCoroutine(coroutine).addBoth(results.append)
        while not results and self.clock.getDelayedCalls():
            self.clock.advance(0.01)
        assert results, "it waits for what does not come"
        if isinstance(results[0], Failure):
            results[0].raiseException()
        return results[0]


@pytest.fixture
def kit(tmp_path):
    made = Kit(tmp_path, **{"host:stripe": "planted-secret-hunter2"})
    yield made
    made.run_now(made.plugins.apply([]))


def begun(kit, *plugins):
    """The hosts that plugins were handed (one called `notes`); their `apply` returned."""
    hosts = []
    entries = [
        applied(kit, plugin, lambda host, options: hosts.append(host))
        for plugin in plugins or ("notes",)
    ]
    kit.run_now(kit.plugins.load_first(entries))
    return hosts if plugins else hosts[0]


def test_the_host_provides_its_whole_interface(kit):
    host = begun(kit)
    assert verifyObject(IPluginHost, host)
    assert verifyObject(IPluginContext, host.context)
    for name in IPluginHost.names(all=True):
        assert getattr(host, name, self_less := object()) is not self_less, name


def test_what_the_interface_does_not_name_is_not_there(kit):
    host = begun(kit)
    for name in ("register_port", "register_plan", "listen", "contribution", "close_registrations"):
        with pytest.raises(AttributeError):
            getattr(host, name)


def test_the_context_and_its_paths_cannot_be_written_to(kit):
    host = begun(kit)
    for of in (host, host.context):
        for name in ("id", "path", "paths", "version", "host_name", "config_dir", "reactor"):
            with pytest.raises(AttributeError):
                setattr(of, name, "moved")
    assert isinstance(host.paths, tuple)
    assert host.paths == (kit.folder,)
    assert host.context.id == "notes"
    assert host.reactor is kit.clock


@pytest.mark.parametrize("name", ["Notes", "no tes", "", "7notes", 7, "a" * 41])
def test_a_collection_is_called_by_a_slug(kit, name):
    with pytest.raises(PluginError, match="a collection of records is a slug"):
        begun(kit).records(name)


def test_the_body_of_records_is_a_field(kit):
    with pytest.raises(PluginError, match="the body of the records bots"):
        begun(kit).records("bots", body=3)


LATER = {
    "connect": lambda host: host.connect(),
    "start_session": lambda host: host.start_session(None),
    "start_chat": lambda host: host.start_chat("claude:/a", None),
    "session_kept": lambda host: host.session_kept("claude:/a"),
    "session_owner": lambda host: host.session_owner("claude:/a"),
    "session_meta_changed": lambda host: host.session_meta_changed("claude:/a"),
    "open_canvas": lambda host: host.open_canvas("ahp-chat:/a", {}),
    "update_canvas": lambda host: host.update_canvas("ahp-canvas:/a", {}),
    "close_canvas": lambda host: host.close_canvas("ahp-canvas:/a"),
    "record_usage": lambda host: host.record_usage({}),
    "fire_trigger": lambda host: host.fire_trigger("deploy", "failed"),
    "run_automation": lambda host: host.run_automation("nightly"),
}


def test_every_call_that_is_there_later_says_so_in_its_words():
    later = {
        name
        for name in IPluginHost.names()
        if (IPluginHost[name].getDoc() or "").startswith("*Later.*")
    }
    assert later == set(LATER)


async def _awaited(answer):
    return await answer if inspect.isawaitable(answer) else answer


@pytest.mark.parametrize("call", LATER)
def test_what_needs_a_host_is_refused_until_it_listens(kit, call):
    host = begun(kit)
    with pytest.raises(PluginError, match=f"^{call} is there from the event listening on"):
        kit.run_now(_awaited(LATER[call](host)))


ONCE_GONE = {
    **LATER,
    "records": lambda host: host.records("notes"),
    "secret": lambda host: host.secret("host:stripe"),
    "install": lambda host: host.install("acme"),
}


@pytest.mark.parametrize("call", ONCE_GONE)
def test_nothing_is_asked_of_the_host_by_a_plugin_that_was_unloaded(kit, call):
    host = begun(kit)
    host.let_go()
    with pytest.raises(PluginError, match=f"^{call}: the plugin notes was unloaded"):
        kit.run_now(_awaited(ONCE_GONE[call](host)))


def test_a_plugin_that_was_unloaded_shows_nothing_any_more(kit):
    host = begun(kit)
    host.problem("before")
    host.let_go()
    host.problem("after")
    host.show_view({"root": "a", "components": {}})
    host.clear_view()
    assert kit.problems == [("notes", "before")]
    assert kit.told == []


def test_lines_are_one_line_each(kit):
    host = begun(kit)
    host.say("one\ntwo")
    host.problem("three\n  four")
    assert kit.said == ["one two"]
    assert kit.problems == [("notes", "three four")]


def test_a_secret_is_read_when_it_is_asked_for(kit):
    assert kit.run_now(begun(kit).secret("host:stripe")) == "planted-secret-hunter2"


# -- records before there is a store ----------------------------------------------------------------


def test_records_wait_for_the_store_and_watch_it_from_then_on(kit):
    host = begun(kit)
    bots, seen, answered = host.records("bots"), [], []
    bots.watch(seen.append)
    Deferred.fromCoroutine(bots.put({"id": "motion"})).addCallback(answered.append)
    assert answered == []
    kit.world.records_are(MemoryRecordStore())
    assert answered == [None]
    assert [(one.id, one.type) for one in seen] == [("motion", "added")]
    assert kit.run_now(bots.find({"id": "motion"})) == [{"id": "motion"}]
    assert kit.run_now(bots.remove("motion")) is True


def test_a_collection_the_store_refuses_costs_its_watcher_alone_and_not_the_host(kit):
    host = begun(kit)
    refused, taken, seen = host.records("sessions"), host.records("bots"), []
    refused.watch(seen.append)
    taken.watch(seen.append)
    kit.world.records_are(MemoryRecordStore())
    kit.run_now(taken.put({"id": "motion"}))
    assert [one.id for one in seen] == ["motion"]
    with pytest.raises(Exception, match="records sessions"):
        kit.run_now(refused.list())


def test_a_host_without_a_store_refuses_each_call_in_words(kit):
    host = begun(kit)
    bots = host.records("bots")
    stop = bots.watch(nothing)
    kit.world.records_are(None)
    for call in (bots.get("a"), bots.list(), bots.find({}), bots.put({}), bots.remove("a")):
        with pytest.raises(Exception, match="records bots cannot be read: this host has no record"):
            kit.run_now(call)
    stop()


def test_a_collection_is_one_plugins_until_it_is_unloaded(kit):
    one, two = begun(kit, "first", "second")
    one.records("bots")
    with pytest.raises(PluginError, match="the records bots are the plugin first's"):
        two.records("bots")
    one.let_go()
    two.records("bots")


def test_records_of_a_plugin_that_went_are_read_and_watched_no_more(kit):
    host = begun(kit)
    kit.world.records_are(MemoryRecordStore())
    bots, seen = host.records("bots"), []
    bots.watch(seen.append)
    host.let_go()
    other = kit.world.records.collection("bots", bots._options)
    kit.run_now(other.put({"id": "motion"}))
    bots.watch(seen.append)
    kit.run_now(other.remove("motion"))
    assert seen == []
    with pytest.raises(Exception, match="the plugin that opened them is gone"):
        kit.run_now(bots.list())


# -- who has a name ---------------------------------------------------------------------------------


def test_an_agent_of_the_configuration_keeps_its_name_from_plugins():
    own = {"acme": "an agent of the configuration (agents[0])"}
    one = Contribution(plugin="a", agents={"acme": 1, "mine": 2})
    two = Contribution(plugin="b", resource_providers={"acme": 3})
    folded = fold([one, two], own)
    assert list(folded.agents) == ["mine"]
    assert folded.resource_providers == {}
    assert [(problem.plugin, problem.line) for problem in folded.problems] == [
        ("a", "the agent acme is left out: it is an agent of the configuration (agents[0])"),
        ("b", "the scheme acme is left out: it is an agent of the configuration (agents[0])"),
    ]


def test_one_plugin_does_not_give_an_agent_and_a_scheme_one_name_either():
    folded = fold([Contribution(plugin="a", agents={"acme": 1}, resource_providers={"acme": 2})])
    assert (list(folded.agents), list(folded.resource_providers)) == (["acme"], [])
    assert "the scheme acme is left out" in folded.problems[0].line


def test_a_vault_of_memory_is_a_vault(taking):
    taking.register_port("vault", MemoryVault({}), True)
    assert taking.took.ports["vault"].replace is True
