"""What the root says of terminals, on a host that opens them."""

import pytest

from ahpd.channels.store import ChannelStore
from ahpd.protocol.uris import ROOT
from ahpd.root.service import RootService

ROW = {
    "resource": "ahp-terminal:/t",
    "title": "sh",
    "claim": {"kind": "client", "clientId": "c"},
    "lifecycle": {"status": "running"},
}


@pytest.fixture
def store():
    return ChannelStore()


@pytest.fixture
def root(store):
    return RootService(store, [], 0, 0, terminals=True)


def push(root, **config):
    action = {"type": "root/configChanged", "config": config}
    root.handle(ROOT, action, {"clientId": "c", "clientSeq": 1})


def test_the_whole_list_is_said_moved_or_not(root, store):
    assert store.state(ROOT)["terminals"] == []
    root.terminals_changed([ROW])
    root.terminals_changed([ROW])
    assert store.server_seq == 2
    assert store.state(ROOT)["terminals"] == [ROW]
    root.terminals_changed([])
    assert store.state(ROOT)["terminals"] == []


def test_the_shell_that_was_pushed_last_is_the_one(root):
    assert root.default_shell() is None
    push(root, defaultShell="/bin/zsh")
    assert root.default_shell() == "/bin/zsh"
    push(root, defaultShell="/bin/fish", another=1)
    assert root.default_shell() == "/bin/fish"


@pytest.mark.parametrize("shell", ["", None, 7, ["/bin/sh"]])
def test_what_is_no_path_of_a_shell_is_kept_and_opens_nothing(root, store, shell):
    push(root, defaultShell=shell)
    assert store.state(ROOT)["config"]["values"]["defaultShell"] == shell
    assert root.default_shell() is None


def test_a_host_without_terminals_says_nothing_of_them(store):
    RootService(store, [], 0, 0)
    state = store.state(ROOT)
    assert "terminals" not in state
    assert "defaultShell" not in state["config"]["schema"]["properties"]
