"""The commands of the resource family, as a connection asks them."""

import pytest
from twisted.internet.defer import Deferred
from zope.interface import implementer

from ahpd.commands.resources import resource_commands
from ahpd.interfaces import IResources, RpcError, WatchRequest
from ahpd.protocol.methods import COMMANDS
from ahpd.protocol.uris import ROOT

FAMILY = sorted(name for name, spec in COMMANDS.items() if spec.direction == "both")
ASKED = [name for name in FAMILY if name != "createResourceWatch"]

FULL = {
    "resourceRead": {"uri": "file:///x", "encoding": "base64"},
    "resourceList": {"uri": "file:///x"},
    "resourceResolve": {"uri": "file:///x"},
    "resourceWrite": {"uri": "file:///x", "data": "", "encoding": "utf-8"},
    "resourceDelete": {"uri": "file:///x"},
    "resourceMkdir": {"uri": "file:///x"},
    "resourceMove": {"source": "file:///x", "destination": "file:///y"},
    "resourceCopy": {"source": "file:///x", "destination": "file:///y"},
    "resourceRequest": {"uri": "file:///x"},
    "createResourceWatch": {"uri": "file:///x"},
}
RESULTS = {
    "resourceRead": {"data": "", "encoding": "utf-8"},
    "resourceList": {"entries": []},
    "resourceResolve": {"uri": "file:///x", "type": "file"},
}


@implementer(IResources)
class Asked:
    def __init__(self):
        self.calls = []
        self.watches = []
        self.error = None
        self.gate = None

    async def ask(self, method, params):
        self.calls.append((method, params))
        if self.gate is not None:
            await self.gate
        if self.error is not None:
            raise self.error
        return RESULTS.get(method, {})

    async def create(self, request):
        self.watches.append(request)
        return "ahp-resource-watch://r/e30"


@pytest.fixture
def asked(host):
    asked = Asked()
    commands = resource_commands(asked, asked, host.clock)
    host.hub.serve({**host.hub.commands, **commands}, host.hub.notifications)
    return asked


@pytest.mark.parametrize("method", ASKED)
def test_each_is_asked_of_the_resources_and_answered_with_what_they_say(host, asked, method):
    assert host.client().call(method, channel=ROOT, **FULL[method]) == RESULTS.get(method, {})
    assert asked.calls == [(method, {"channel": ROOT, **FULL[method]})]


def test_a_watch_is_made_of_what_was_asked(host, asked):
    globs = {"includes": {"items": ["*.ts"]}, "excludes": {"items": ["a", "b"]}}
    client = host.client()
    answer = client.call("createResourceWatch", channel=ROOT, uri="x:/", recursive=True, **globs)
    assert answer == {"channel": "ahp-resource-watch://r/e30"}
    client.call("createResourceWatch", channel=ROOT, uri="x:/", includes={"items": []})
    client.call("createResourceWatch", channel=ROOT, uri="x:/", includes=None, recursive=None)
    assert asked.watches == [
        WatchRequest(root="x:/", recursive=True, includes=("*.ts",), excludes=("a", "b")),
        WatchRequest(root="x:/", includes=()),
        WatchRequest(root="x:/"),
    ]


@pytest.mark.parametrize("method", FAMILY)
def test_params_that_are_none_are_refused_before_anybody_is_asked(host, asked, method):
    client = host.client()
    for key in FULL[method]:
        wrong = {name: value for name, value in FULL[method].items() if name != key}
        if key in COMMANDS[method].params.__required_keys__:
            error = client.refused(method, channel=ROOT, **wrong)
            assert (error["code"], error["message"].partition(":")[0]) == (-32602, f"params.{key}")
        error = client.refused(method, channel=ROOT, **{**FULL[method], key: 5})
        assert (error["code"], error["message"].partition(":")[0]) == (-32602, f"params.{key}")
    error = client.refused(method, **{**FULL[method], "channel": "ahp-session:/s"})
    assert error["code"] == -32602
    assert asked.calls == asked.watches == []


def test_a_refusal_is_answered_and_a_failure_is_not_told(host, asked):
    asked.error = RpcError(-32008, "Resource not found: file:///x")
    error = host.client().refused("resourceRead", channel=ROOT, uri="file:///x")
    assert error == {"code": -32008, "message": "Resource not found: file:///x"}


def test_one_that_takes_long_holds_nothing_else_back(host, asked):
    client = host.client()
    asked.gate = Deferred()
    slow = client.ask("resourceRead", channel=ROOT, uri="file:///slow")
    assert client.answer(slow) is None
    client.call("ping", channel=ROOT)
    asked.gate.callback(None)
    assert client.answer(slow)["result"] == RESULTS["resourceRead"]


def test_they_are_served_after_the_handshake(host, asked):
    error = host.connect().refused("resourceRead", channel=ROOT, uri="file:///x")
    assert error["code"] == -32600
    assert asked.calls == []
