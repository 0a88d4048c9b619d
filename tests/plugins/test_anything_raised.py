"""Whatever a plugin raises, wherever it is called: whoever asked is answered, and so is the next."""

import pytest
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from zope.interface import implementer

from ahpd.interfaces import (
    Adapter,
    Capability,
    Channel,
    HostTool,
    IListedResources,
    IResolvedResources,
    IResourceProvider,
    IWatchedResources,
    IWritableResources,
    Method,
    RpcError,
    TunnelKind,
)
from ahpd.protocol.uris import ROOT
from tests.raises import RAISES

from .applies import applied
from .hosted import People

pytestmark = pytest.mark.logs_failures

S1 = "ahp-session:/s1"
OBJECT = {"type": "object", "properties": {}}


class Asks:
    """Requests of one client: each is answered or refused by now, on a connection that stays."""

    def __init__(self, hosted):
        self.host = hosted.host
        self.client = hosted.probe

    def came_to(self, work):
        outcomes = []
        Deferred.fromCoroutine(work).addBoth(outcomes.append)
        self.host.settle()
        assert outcomes, "it was never answered"
        return outcomes[0].value if isinstance(outcomes[0], Failure) else outcomes[0]

    def __call__(self, method, **params):
        answer = self.came_to(self.client.call(method, {"channel": ROOT, **params}))
        assert not isinstance(answer, Exception), answer
        return answer

    def refused(self, method, **params):
        answer = self.came_to(self.client.call(method, {"channel": ROOT, **params}))
        assert "log says why" in str(answer) or "-32009" in repr(answer), answer

    def session(self):
        self("createSession", channel=S1, provider="scripted")

    def subscribed(self, uri):
        return self.came_to(self.client.subscribe(uri))


# -- the places --------------------------------------------------------------------------


def meta(host, at_once, later):
    host.register_session_meta("acme.meta", at_once)
    return Asks.session


def seen_tool(host, at_once, later):
    definition = {"name": "t", "title": "T", "description": "d", "inputSchema": OBJECT}
    host.register_tool(HostTool(definition=definition, run=later, for_session=at_once))
    return Asks.session


def preambles(host, at_once, later):
    host.register_chat_preamble(at_once)
    host.register_chat_preamble(later)

    def ask(asks):
        asks.session()
        asks("createChat", channel=S1, chat="ahp-chat:/second")

    return ask


def settings(host, at_once, later):
    host.register_session_config("one", {"type": "string", "title": "O"}, at_once)
    host.register_session_config("two", {"type": "string", "title": "T"}, later)

    def ask(asks):
        for name in ("one", "two"):
            found = asks(
                "sessionConfigCompletions", property=name, query="", provider="scripted", config={}
            )
            assert found["items"] == []
        asks("resolveSessionConfig", provider="scripted", config={})

    return ask


def resources(host, at_once, later):
    @implementer(
        IResourceProvider,
        IListedResources,
        IResolvedResources,
        IWatchedResources,
        IWritableResources,
    )
    class Provider:
        read = list = watch = delete = staticmethod(later)
        resolve = write = describe = staticmethod(at_once)
        mkdir = move = copy = staticmethod(later)

    host.register_resource_provider("acme", Provider())

    def ask(asks):
        asks.refused("resourceRead", uri="acme:/x")
        asks.refused("resourceList", uri="acme:/x")
        asks.refused("resourceResolve", uri="acme:/x")
        asks.refused("resourceWrite", uri="acme:/x", data="x", encoding="utf-8")
        asks.refused("resourceDelete", uri="acme:/x")
        asks.refused("createResourceWatch", uri="acme:/x")

    return ask


def methods(host, at_once, later):
    host.register_method("x-acme/now", Method(grant="", handle=at_once, describe=at_once))
    host.register_method("x-acme/later", Method(grant="", handle=later))

    def ask(asks):
        asks.refused("x-acme/now")
        asks.refused("x-acme/later")

    return ask


def channels(host, at_once, later):
    host.register_channel("x-now", Channel(grant="", snapshot=at_once, describe=at_once))
    host.register_channel("x-later", Channel(grant="", snapshot=later))

    def ask(asks):
        for scheme in ("x-now", "x-later"):
            assert "log says why" in str(asks.subscribed(f"{scheme}://"))

    return ask


def watched(host, at_once, later):
    state = {"snapshot": lambda uri, caller: {}}
    host.register_channel("x-now", Channel(grant="", joined=at_once, left=at_once, **state))
    host.register_channel("x-later", Channel(grant="", joined=later, left=later, **state))

    def ask(asks):
        for scheme in ("x-now", "x-later"):
            assert not isinstance(asks.subscribed(f"{scheme}://"), Exception)
            asks.client.unsubscribe(f"{scheme}://")
            asks.host.settle()

    return ask


def audiences(host, at_once, later):
    handle = host.register_channel("x-acme", Channel(grant="", snapshot=lambda uri, caller: {}))

    def say(params, caller):
        handle.publish("x-acme://", {"type": "x-acme/said"}, visible=at_once)
        return {}

    host.register_method("x-acme/say", Method(grant="", handle=say))

    def ask(asks):
        asks.subscribed("x-acme://")
        asks("x-acme/say")
        assert [one.action for one in asks.client.envelopes("x-acme://")] == []

    return ask


def adapters(host, at_once, later):
    act = Capability(type="action", name="act", title="A", description="d", input=OBJECT)
    more = {"title": "A", "schema": OBJECT, "capabilities": [act], "run": later}
    host.register_adapter(Adapter(name="now", open=at_once, check=at_once, **more))
    host.register_adapter(Adapter(name="later", open=later, check=later, **more))
    host.register_adapter(
        Adapter(name="opens", open=lambda *_: at_once, check=at_once, models=at_once, **more)
    )
    host.register_adapter(
        Adapter(name="slow", open=lambda *_: later, check=later, models=later, **more)
    )

    def ask(asks):
        for name in ("now", "later", "opens", "slow"):
            asks("x-ahpd/connectors/put", id=name, adapter=name, owner="host", config={})
            outcome = asks.came_to(
                asks.client.call("x-ahpd/connectors/check", {"channel": ROOT, "id": name})
            )
            assert outcome is not None
            asks("x-ahpd/connectors/remove", id=name)

    return ask


def tunnels(host, at_once, later):
    host.register_tunnel_kind(
        TunnelKind(name="now", title="T", schema=OBJECT, create=at_once, remove=at_once)
    )
    host.register_tunnel_kind(
        TunnelKind(name="later", title="T", schema=OBJECT, create=later, remove=later)
    )

    def ask(asks):
        for name in ("now", "later"):
            outcome = asks.came_to(
                asks.client.call(
                    "x-ahpd/invokeOperation",
                    {
                        "channel": "x-ahpd-tunnels://",
                        "operationId": f"{name}/create",
                        "input": {"port": 7},
                    },
                )
            )
            assert isinstance(outcome, RpcError)
            assert "params" not in str(outcome)

    return ask


def listeners(host, at_once, later):
    for event in ("session_start", "session_end", "client_connect", "listening", "stopping"):
        host.on(event, at_once)
        host.on(event, later)
    return Asks.session


def closers(host, at_once, later):
    host.register_close(at_once)
    host.register_close(later)
    return Asks.session


PLACES = (
    meta,
    seen_tool,
    preambles,
    settings,
    resources,
    methods,
    channels,
    watched,
    audiences,
    adapters,
    tunnels,
    listeners,
    closers,
)


@pytest.mark.parametrize("raised", RAISES)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_whatever_a_plugin_raises_everybody_is_answered(hosted, place, raised):
    def at_once(*_):
        raise RAISES[raised]()

    async def later(*_):
        raise RAISES[raised]()

    asking = []
    plugin = applied(
        hosted, "acme", lambda host, options: asking.append(place(host, at_once, later))
    )
    hosted.start(plugin)
    asks = Asks(hosted)
    assert asking, hosted.row("acme")
    asking[0](asks)
    assert "items" in asks("listSessions")
    assert asks("x-ahpd/plugins/reload", id="acme")["id"] == "acme"
    assert asks("x-ahpd/plugins/disable", id="acme")["id"] == "acme"


@pytest.mark.parametrize("when", ["at once", "later"])
@pytest.mark.parametrize("raised", RAISES)
def test_an_apply_that_raises_skips_its_plugin_alone(hosted, raised, when):
    def at_once(host, options):
        raise RAISES[raised]()

    async def later(host, options):
        raise RAISES[raised]()

    hosted.start(applied(hosted, "acme", at_once if when == "at once" else later))
    assert "its apply failed: " + type(RAISES[raised]()).__name__ in hosted.row("acme")["problem"]
    hosted.ask("disable", id="acme")


@pytest.mark.parametrize("raised", RAISES)
def test_a_module_that_raises_skips_its_plugin_alone(hosted, raised):
    code = f"""
        from tests.raises import RAISES
        raise RAISES[{raised!r}]()
        """
    hosted.start(hosted.write("acme", code))
    assert type(RAISES[raised]()).__name__ in hosted.row("acme")["problem"]
    hosted.ask("disable", id="acme")


@pytest.mark.parametrize("raised", RAISES)
def test_whoever_asks_is_answered_whatever_a_port_raises(hosted, raised):
    def breaks(reader, grant):
        raise RAISES[raised]()

    people = People(ada=["plugin:reload"])
    hosted.start(access=people)
    holds, people.holds = people.holds, breaks
    asks = Asks(hosted)
    answer = asks.came_to(asks.client.call("x-ahpd/plugins/apply", {"channel": ROOT}))
    assert isinstance(answer, RpcError)
    people.holds = holds
    assert asks("x-ahpd/plugins/apply") == {}
