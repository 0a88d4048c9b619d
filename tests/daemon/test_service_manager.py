"""The datagrams a service manager is sent."""

import secrets
import socket
import sys

import pytest

from ahpd.daemon.notify import notify


def listening(address):
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.settimeout(5)
    receiver.bind(address)
    return receiver


def test_lines_go_to_the_socket_in_one_datagram(tmp_path):
    path = str(tmp_path / "notify")
    with listening(path) as receiver:
        assert notify({"NOTIFY_SOCKET": path}, "READY=1", "STATUS=listening on x") is None
        assert receiver.recv(1024) == b"READY=1\nSTATUS=listening on x"


@pytest.mark.skipif(sys.platform != "linux", reason="abstract sockets are Linux's")
def test_an_abstract_socket_is_reached():
    name = f"ahpd-test-{secrets.token_hex(8)}"
    with listening("\0" + name) as receiver:
        assert notify({"NOTIFY_SOCKET": "@" + name}, "STOPPING=1") is None
        assert receiver.recv(1024) == b"STOPPING=1"


def test_without_the_variable_nobody_is_told():
    assert notify({}, "READY=1") is None
    assert notify({"NOTIFY_SOCKET": ""}, "READY=1") is None


@pytest.mark.parametrize("address", ["relative", "/no/such/socket", "/" + "x" * 200])
def test_a_socket_that_cannot_be_told_is_words(address):
    words = notify({"NOTIFY_SOCKET": address}, "READY=1")
    assert address in words


def test_a_full_socket_is_not_waited_for(tmp_path):
    path = str(tmp_path / "notify")
    with listening(path):
        answers = [notify({"NOTIFY_SOCKET": path}, "X=" + "x" * 4096) for _ in range(2000)]
    assert answers[0] is None
    assert path in answers[-1]
