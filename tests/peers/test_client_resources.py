"""Reading what a client alone has."""

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ahpd.interfaces import ClientRecord
from ahpd.peers.resources import ClientResources
from ahpd.protocol.errors import RpcError


class Connection:
    def __init__(self, client_id, answer):
        self.client_id = client_id
        self.record = ClientRecord(client_id=client_id, version="1.0.0")
        self.answer = answer
        self.asked = []

    def lagging(self):
        return False

    async def request(self, method, params):
        self.asked.append((method, params))
        if isinstance(self.answer, Exception):
            raise self.answer
        return await self.answer if isinstance(self.answer, Deferred) else self.answer


class Clients:
    def __init__(self, open_now):
        self.open_now = open_now

    def connections(self, client_id):
        return [each for each in self.open_now if each.client_id == client_id]


def read(*connections, client="c1", seconds=0):
    results = []
    clock = Clock()
    reading = ClientResources(Clients(connections), clock).read(client, "x:/y")
    Deferred.fromCoroutine(reading).addBoth(results.append)
    clock.advance(seconds)
    if hasattr(results[0], "raiseException"):
        results[0].raiseException()
    return results[0]


def test_the_newest_connection_of_the_client_is_asked():
    old, new = Connection("c1", {"data": "old"}), Connection("c1", {"data": "new"})
    other = Connection("c2", {})
    assert read(old, new, other) == {"data": "new"}
    params = {"channel": "ahp-root://", "uri": "x:/y", "encoding": "base64"}
    assert new.asked == [("resourceRead", params)]
    assert [old.asked, other.asked] == [[], []]


def test_a_client_that_is_not_here_or_answers_nothing_to_use_fails_in_words():
    with pytest.raises(RpcError, match="not connected"):
        read(Connection("c2", {}))
    with pytest.raises(RpcError, match="no resource"):
        read(Connection("c1", None))


def test_what_the_client_says_against_it_and_that_it_says_nothing_are_told():
    with pytest.raises(RpcError, match="Not yours") as refused:
        read(Connection("c1", RpcError(-32009, "Not yours")))
    assert refused.value.code == -32009
    with pytest.raises(RpcError, match="did not answer resourceRead in 60 s"):
        read(Connection("c1", Deferred()), seconds=60)
