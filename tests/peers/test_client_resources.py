"""Reading what a client alone has."""

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ahpd.peers.resources import ClientResources
from ahpd.protocol.errors import RpcError


class Connection:
    def __init__(self, client_id, answer):
        self.client_id = client_id
        self.answer = answer
        self.asked = []

    async def request(self, method, params):
        self.asked.append((method, params))
        return self.answer


class Clients:
    def __init__(self, open_now):
        self.open_now = open_now

    def connections(self, client_id):
        return [each for each in self.open_now if each.client_id == client_id]


def read(*connections, client="c1"):
    results = []
    reading = ClientResources(Clients(connections), Clock()).read(client, "x:/y")
    Deferred.fromCoroutine(reading).addBoth(results.append)
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
