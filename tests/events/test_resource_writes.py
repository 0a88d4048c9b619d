"""What is written through the host's resources is told of once it is done, by its URI."""

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from zope.interface import implementer

from ahpd.events.bus import Events, Listener
from ahpd.interfaces import IClientFiles, IResourceProvider, IWritableResources
from ahpd.protocol.errors import RpcError, resource_not_found
from ahpd.resources.service import Resources

A, B = "notes:/a", "notes:/b"


@implementer(IResourceProvider, IWritableResources)
class Notes:
    def __init__(self):
        self.gate = None
        self.refused = False

    async def _done(self):
        if self.gate is not None:
            await self.gate
        if self.refused:
            raise resource_not_found(A)

    async def read(self, uri, wanted):
        return {"data": "", "encoding": "utf-8"}

    async def write(self, params):
        await self._done()

    async def delete(self, uri, recursive):
        await self._done()

    async def mkdir(self, uri):
        await self._done()

    async def move(self, source, destination, fail_if_exists):
        await self._done()

    async def copy(self, source, destination, fail_if_exists):
        await self._done()


@implementer(IClientFiles)
class ClientFiles:
    async def ask(self, method, params):
        return {}


class Asked:
    def __init__(self):
        self.clock = Clock()
        self.notes = Notes()
        self.resources = Resources({"notes": self.notes}, ClientFiles())
        events = self.resources.events = Events(self.clock)
        self.heard = []
        events.listen("resource_write", Listener("p", lambda p: self.heard.append(dict(p))))

    def ask(self, method, **params):
        results = []
        Deferred.fromCoroutine(self.resources.ask(method, params)).addBoth(results.append)
        self.clock.advance(0)
        return results


@pytest.fixture
def asked():
    return Asked()


@pytest.mark.parametrize(
    ("method", "params", "written"),
    [
        ("resourceWrite", {"uri": A, "data": "", "encoding": "utf-8"}, [A]),
        ("resourceDelete", {"uri": A}, [A]),
        ("resourceMkdir", {"uri": A}, [A]),
        ("resourceMove", {"source": A, "destination": B}, [A, B]),
        ("resourceCopy", {"source": A, "destination": B}, [B]),
        ("resourceRead", {"uri": A}, []),
        ("resourceRequest", {"uri": A, "write": True}, []),
    ],
)
def test_each_uri_that_is_another_one_now_is_told_of(asked, method, params, written):
    asked.ask(method, **params)
    assert asked.heard == [{"uri": uri} for uri in written]


def test_it_is_told_of_when_it_is_done_and_not_where_it_is_refused(asked):
    asked.notes.gate = Deferred()
    asked.ask("resourceWrite", uri=A, data="", encoding="utf-8")
    assert asked.heard == []
    asked.notes.gate.callback(None)
    asked.clock.advance(0)
    assert asked.heard == [{"uri": A}]
    asked.notes.gate, asked.notes.refused = None, True
    [failure] = asked.ask("resourceDelete", uri=A)
    assert failure.check(RpcError)
    assert len(asked.heard) == 1


def test_what_is_a_clients_own_is_told_of_too(asked):
    uri = "vscode-agent-client://ada/file/a"
    asked.ask("resourceMkdir", uri=uri)
    assert asked.heard == [{"uri": uri}]
