"""The host's own rules on the root channel: declared, pushed, and granted by answers."""

import pytest

from ahpd.channels.store import ChannelStore
from ahpd.protocol.uris import ROOT
from ahpd.root.config import schema
from ahpd.root.service import RootService

PUSHED = {
    "permissions": {"allow": ["Shell(git status)"], "deny": ["rm"]},
    "globalAutoApproveEnabled": False,
    "autoApprovePolicyRestricted": True,
    "terminalAutoApproveEnabled": True,
    "terminalAutoApproveRules": {
        "git": True,
        "/^rm/": {"approve": False, "matchCommandLine": True},
        "ls": None,
    },
    "editAutoApprovePatterns": {"**/*": True, "**/.env": False},
}


@pytest.fixture
def store():
    return ChannelStore()


@pytest.fixture
def root(store):
    return RootService(store, [], 0, 0)


def test_every_key_a_question_is_answered_by_is_declared_and_drawable():
    declared = schema()["properties"]
    assert PUSHED.keys() <= declared.keys()
    for key in PUSHED:
        shape = declared[key]
        assert shape["title"]
        if shape["type"] == "object":
            assert "properties" in shape or "additionalProperties" in shape


def test_what_is_pushed_is_read_back_as_it_was(store, root):
    root.handle(
        ROOT, {"type": "root/configChanged", "config": PUSHED}, {"clientId": "c", "clientSeq": 1}
    )
    assert PUSHED.items() <= root.values().items()


def test_a_grant_is_added_to_what_is_allowed_and_said_as_the_host_s_own(store, root):
    heard = []
    root.on_config = lambda: heard.append(dict(root.values()))
    root.handle(
        ROOT, {"type": "root/configChanged", "config": PUSHED}, {"clientId": "c", "clientSeq": 1}
    )
    before = store.server_seq
    root.grant(["rm", "rm"])
    root.grant(["rm"])
    assert store.server_seq == before + 1, "what is allowed already is said nothing of"
    assert root.values()["permissions"] == {
        "allow": ["Shell(git status)", "rm"],
        "deny": ["rm"],
    }
    assert root.values()["terminalAutoApproveRules"] == PUSHED["terminalAutoApproveRules"]
    assert len(heard) == 2
