"""Whether an endpoint string can be reached from other machines."""

import pytest
from twisted.internet.endpoints import serverFromString
from twisted.internet.testing import MemoryReactor

from ahpd.config.endpoints import is_local, split, tcp_endpoint

LOCAL = [
    "tcp:1:interface=127.0.0.1",
    "tcp:1:127.0.0.1",
    "tcp:port=1:interface=localhost",
    r"tcp6:1:interface=\:\:1",
    "unix:/run/ahpd.sock:mode=600",
    "unix:address=/run/ahpd.sock:mode=700",
    "ssl:1:key.pem:cert.pem:interface=127.0.0.1",
    r"tls:certs\:here:port=1:interface=\:\:1",
]

REACHABLE = [
    "tcp:1",
    "tcp:1:interface=",
    "tcp:1:interface=0.0.0.0",
    "tcp:1:interface=192.0.2.1",
    "tcp:1:interface=127.0.0.1.example",
    r"tcp6:1:interface=\:\:",
    "tcp6:1",
    "ssl:1:privateKey=127.0.0.1",
    "unix:/run/ahpd.sock",
    "unix:/run/ahpd.sock:mode=660",
    "unix:/run/ahpd.sock:mode=private",
    "systemd:domain=INET:index=0",
    "haproxy:tcp\\:1\\:interface=127.0.0.1",
    "TCP:1:interface=127.0.0.1",
    "",
]


@pytest.mark.parametrize("endpoint", LOCAL)
def test_what_only_this_machine_reaches_is_local(endpoint):
    assert is_local(endpoint)


@pytest.mark.parametrize("endpoint", REACHABLE)
def test_everything_else_is_not(endpoint):
    assert not is_local(endpoint)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "fe80::1", "localhost"])
def test_twisted_reads_the_endpoint_of_a_host_as_it_was_meant(host):
    reactor = MemoryReactor()
    serverFromString(reactor, tcp_endpoint(host, 9187)).listen(None)
    ((port, _, _, interface),) = reactor.tcpServers
    assert (port, interface) == (9187, host)


def test_escapes_are_read_as_twisted_reads_them():
    assert split(r"a\:b:c\\d:e=f=g:h\=i") == ("a:b", ["c\\d", "h=i"], {"e": "f=g"})
