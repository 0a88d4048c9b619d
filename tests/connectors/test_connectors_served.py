"""Connectors as clients reach them: over the one registry of `x-` names and its channels."""

import json
from types import SimpleNamespace

import pytest
from twisted.internet.defer import Deferred, ensureDeferred
from zope.interface import implementer

from ahpd.channels.store import ChannelStore
from ahpd.extensions.completions import Choices
from ahpd.extensions.operations import NAME as INVOKE
from ahpd.extensions.operations import Invocations
from ahpd.extensions.registry import Extensions
from ahpd.interfaces import ISubscriber, Reader, RpcError
from ahpd.wire.codec import decode, encode

from .connectors_host import KEY, ConnectorsHost, Directory, ScriptedAdapter

URI = "x-ahpd-connectors://"


@implementer(ISubscriber)
class Window:
    """A client's connection: who is on it, and what it was sent."""

    def __init__(self, client, principal=None):
        self.record = SimpleNamespace(client_id=client)
        self.reader = None if principal is None else Reader(principal=principal)
        self.locale = "en"
        self.sent = []

    def deliver(self, envelope):
        self.sent.append(envelope.action)

    def notify(self, channel, method, frame):
        raise AssertionError("nothing is notified here")

    def lagging(self):
        return False


class Served(ConnectorsHost):
    """A `ConnectorsHost` whose channels and commands are served."""

    def __init__(self, access, **more):
        super().__init__(access=access, **more)
        self.channels = ChannelStore()
        self.extensions = Extensions(self.channels, access)
        self.invocations = Invocations(access)
        for rows in (self.service.connectors, self.service.adapters):
            rows.attach(self.extensions.add_channel(rows.scheme, rows.channel))
        self.extensions.add_method(INVOKE, self.invocations.method)
        self.invocations.register(URI, self.service.operations())
        for name, method in self.methods.items():
            self.extensions.add_method(name, method)
        self.choices = Choices(access)
        self.choices.connectors = self.service.choices
        self.service.choices_moved = self.choices.moved
        self.start()

    def subscribe(self, window, uri=URI):
        taken = self.extensions.enter(self.extensions.resolve(uri), window)
        taken.join(window)
        return decode(encode(taken.state))

    def send(self, window, method, **params):
        answer = self.extensions.commands[method](window, params)
        if hasattr(answer, "__await__"):
            outcome = []
            work = answer if isinstance(answer, Deferred) else ensureDeferred(answer)
            work.addBoth(outcome.append)
            assert outcome, "it is not answered"
            if hasattr(outcome[0], "raiseException"):
                outcome[0].raiseException()
            answer = outcome[0]
        return decode(encode(answer))

    def connector(self, window, verb, **params):
        return self.send(window, f"x-ahpd/connectors/{verb}", **params)


@pytest.fixture
def served():
    both = {"connector:list", "connector:put", "connector:remove"}
    access = Directory({"user:ada": both, "user:bob": both, "user:all": {"connector:all"}})
    host = Served(access)
    host.scripted = ScriptedAdapter()
    host.offer(host.scripted)
    return host


@pytest.fixture
def ada():
    return Window("window-ada", "user:ada")


@pytest.fixture
def bob():
    return Window("window-bob", "user:bob")


def mine(owner="user:ada", identifier="hers"):
    return {"id": identifier, "adapter": "mail", "owner": owner, "config": {"key": KEY}}


def test_each_reader_is_told_of_the_connectors_it_may_read(served, ada, bob):
    operations = served.subscribe(ada)["operations"]
    assert [one["id"] for one in operations] == ["enable", "disable", "remove"]
    served.subscribe(bob)
    row = served.connector(ada, "put", **mine())
    assert row["operations"] == ["disable", "remove"]
    assert ada.sent == [{"type": "x-ahpd-connectors/added", "row": row}]
    assert bob.sent == []
    _, view = served.scripted.opened["hers"]
    view.show_view(
        {"root": "t", "components": {"t": {"id": "t", "component": "Text", "text": "x"}}}
    )
    view.set_view_data("/at", "now")
    assert [one["type"].split("/")[1] for one in ada.sent[1:]] == ["changed", "viewData"]
    assert bob.sent == []
    assert KEY not in json.dumps(ada.sent)
    # One that comes later reads what was set since.
    (read,) = served.subscribe(Window("other", "user:ada"))["rows"]
    assert read["views"]["main"]["dataModel"] == {"at": "now"}


def test_without_either_grant_the_channel_is_not_opened(served):
    with pytest.raises(RpcError) as found:
        served.subscribe(Window("w", "user:eve"))
    assert found.value.code == -32009
    served.connector(Window("root"), "put", **mine())
    assert [row["id"] for row in served.subscribe(Window("w", "user:all"))["rows"]] == ["hers"]


def test_a_command_needs_its_grant_and_the_plugin_of_the_adapter_none(served, ada):
    served.connector(ada, "put", **mine())
    eve = Window("w", "user:eve")
    for verb in ("put", "remove", "check", "disable", "enable", "signin", "models"):
        with pytest.raises(RpcError) as found:
            served.connector(eve, verb, id="hers")
        assert found.value.code == -32009
    plugin, other = Window("p", "plugin:acme"), Window("p", "plugin:other")
    assert served.connector(plugin, "check", id="hers")["state"] == "ready"
    assert served.connector(plugin, "note", id="hers", ok=False, status=500)["alerts"]
    assert served.connector(plugin, "secret", id="hers", values={"key": "k2"})["id"] == "hers"
    for verb in ("check", "note", "secret"):
        with pytest.raises(RpcError) as found:
            served.connector(other, verb, id="hers", ok=True, values={"key": "x"})
        # `check` it may not send at all; of the others it learns not even that there is one.
        assert found.value.code == (-32009 if verb == "check" else -32008)


def test_an_operation_runs_its_command_and_says_what_became_of_it(served, ada, bob):
    served.connector(ada, "put", **mine())
    served.connector(bob, "put", **mine("host", "h") | {"owner": "user:bob"})
    served.subscribe(ada)
    left = served.send(ada, INVOKE, channel=URI, operationId="disable", target={"id": "hers"})
    assert (left["state"], left["operations"]) == ("disabled", ["enable", "remove"])
    assert left["operation"] == {"id": "disable", "status": "idle"}
    with pytest.raises(RpcError, match="does not offer disable now"):
        served.send(ada, INVOKE, channel=URI, operationId="disable", target={"id": "hers"})
    with pytest.raises(RpcError, match="there is no connector hers"):
        served.send(bob, INVOKE, channel=URI, operationId="remove", target={"id": "hers"})
    gone = served.send(ada, INVOKE, channel=URI, operationId="remove", target={"id": "hers"})
    assert gone == {}
    assert ada.sent[-1] == {"type": "x-ahpd-connectors/removed", "id": "hers"}
    assert served.vaulted() == {"user:bob/connector/h/key": KEY}


def test_whoever_may_invoke_is_asked_for_the_grant_and_the_owner_s_rule_too(served, ada):
    served.connector(ada, "put", **mine())
    access = served.service._rules._access
    access.grants["user:ops"] = {"operation:invoke", "connector:all"}
    ops = Window("ops", "user:ops")
    with pytest.raises(RpcError, match="connector:put is needed"):
        served.send(ops, INVOKE, channel=URI, operationId="disable", target={"id": "hers"})
    assert served.row("hers")["state"] == "ready"


def test_a_form_s_field_is_sent_with_the_host_s_connectors(served, ada):
    told = []
    served.choices.listen(lambda: told.append(True))
    schema = {
        "type": "object",
        "properties": {"via": {"type": "string", "x-ahpd-connector": "mail"}},
    }
    root = Window("root")
    served.connector(root, "put", **mine("host", "h"), title="Shared")
    served.connector(ada, "put", **mine())
    assert len(told) == 1
    field = served.choices.stamped(schema, dynamic=True)["properties"]["via"]
    assert (field["enum"], field["enumLabels"]) == (["h"], ["Shared"])
    items = [{"value": "h", "label": "Shared"}, {"value": "hers", "label": "hers"}]
    served.extensions.add_method("x-ahpd/completions", served.choices.method)
    answer = served.send(ada, "x-ahpd/completions", ref="connector:mail")
    assert answer == {"items": items}


def test_the_commands_and_channels_are_described(served):
    described = served.extensions.described()
    methods = {one["method"]: one["grant"] for one in described["ahpd.methods"]}
    assert methods["x-ahpd/connectors/put"] == "connector:put"
    assert methods["x-ahpd/connectors/models"] == "connector:list"
    channels = {one["scheme"]: one["grant"] for one in described["ahpd.channels"]}
    assert channels == {
        "x-ahpd-adapters": "connector:list",
        "x-ahpd-connectors": "connector:list",
    }
