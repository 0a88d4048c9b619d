"""The subjects a grant may name, and what the host says in `_meta` (PLUGINS.txt, "Registering grants")."""

import attrs
import pytest
from zope.interface import implementer

from ahpd.extensions.described import Described
from ahpd.extensions.grants import Grants
from ahpd.interfaces import (
    Channel,
    IListedResources,
    IResourceProvider,
    IWatchedResources,
    IWritableResources,
    Owned,
)


@attrs.frozen
class Registered:
    title: str
    operations: tuple
    description: str = ""


@pytest.fixture
def dropped():
    return []


@pytest.fixture
def grants(dropped):
    return Grants(lambda plugin, line: dropped.append((plugin, line)))


def test_the_hosts_own_subjects_hold_what_this_host_asks(grants):
    described = grants.described()
    for grant in (
        *("connector:list", "connector:all", "connector:put", "connector:remove"),
        *("connector:host", "agent:list", "agent:all", "agent:put", "agent:remove", "agent:host"),
        *("plugin:list", "plugin:install", "plugin:enable", "plugin:options", "plugin:reload"),
        *("tunnel:put", "tunnel:delete", "client:drop", "operation:invoke", "session:create"),
        *("chat:send", "config:change", "trust:push", "file:get", "file:put"),
    ):
        subject, operation = grant.split(":")
        assert operation in described[subject]["operations"], grant


def test_no_group_is_an_operation_and_no_group_holds_what_is_none(grants):
    for subject, entry in grants.described().items():
        assert not {"read", "write", "*"} & set(entry["operations"]), subject
        in_groups = entry["groups"]["read"] + entry["groups"]["write"]
        assert len(set(in_groups)) == len(in_groups)
        assert set(in_groups) <= set(entry["operations"]), subject
    assert "install" not in grants.operations_of("plugin", "write")
    assert "install" in grants.operations_of("plugin", "*")
    assert grants.operations_of("client", "write") == ("drop",)


def test_a_plugins_subject_is_listed_with_the_hosts_groups(grants, dropped):
    grants.contributed({"notes": Owned("p", Registered("Notes", ("pin", "put", "get"), "Words"))})
    assert grants.described()["notes"] == {
        "title": "Notes",
        "description": "Words",
        "operations": ["get", "put", "pin"],
        "groups": {"read": ["get"], "write": ["put"]},
    }
    assert grants.operations_of("notes", "write") == ("put",)
    assert dropped == []
    grants.contributed({})
    assert "notes" not in grants.described()
    assert grants.operations_of("notes", "*") == ()


@pytest.mark.parametrize("name", ["read", "write", "*"])
def test_a_group_is_left_out_and_reported_once(grants, dropped, name):
    items = {"notes": Owned("p", Registered("Notes", ("pin", name)))}
    grants.contributed(items)
    grants.contributed(items)
    assert grants.described()["notes"]["operations"] == ["pin"]
    assert dropped == [("p", f"the grant notes:{name} is a group, left out")]


def test_a_subject_the_host_decides_stays_as_it_is(grants, dropped):
    before = grants.described()
    grants.contributed({"session": Owned("p", Registered("Mine", ("create", "pin")))})
    assert grants.described() == before
    words = "this host decides what a session has, and it has no pin"
    assert dropped == [("p", f"the grant session:pin is left out: {words}")]


# -- what is described -----------------------------------------------------------------------


@implementer(IResourceProvider, IListedResources, IWatchedResources, IWritableResources)
class Full:
    def describe(self):
        return {
            "title": "Notes",
            "description": "What was written down",
            "manifest": {"type": "object"},
            "root": "lies://",
            "operations": ["everything"],
        }


@implementer(IResourceProvider)
class Bare:
    pass


class Broken(Bare):
    def describe(self):
        raise OSError("no words")


class Wrong(Bare):
    def describe(self):
        return {"title": 3}


@pytest.fixture
def described(rig, grants):
    return Described(rig.extensions, grants)


def test_a_scheme_is_described_by_its_words_and_by_what_it_can_do(described):
    described.contributed({"notes": Owned("p", Full()), "bare": Owned("p", Bare())})
    meta = described.meta()
    assert meta["ahpd.resourceProviders"] == {
        "notes": {
            "title": "Notes",
            "description": "What was written down",
            "manifest": {"type": "object"},
            "root": "notes://",
            "operations": ["get", "list", "watch", "put", "delete", "mkdir", "move", "copy"],
        },
        "bare": {"root": "bare://", "operations": ["get"]},
    }
    assert meta["ahpd.grants"]["notes"]["groups"]["read"] == ["get", "list", "watch"]
    assert meta["ahpd.grants"]["bare"]["title"] == "bare"


def test_a_schemes_registered_operations_join_its_own(described):
    described.contributed({"notes": Owned("p", Full())})
    described.contributed_grants({"notes": Owned("p", Registered("Notebook", ("pin", "get")))})
    entry = described.meta()["ahpd.grants"]["notes"]
    assert (entry["title"], entry["operations"][-1]) == ("Notebook", "pin")
    assert entry["operations"].count("get") == 1


@pytest.mark.logs_failures
@pytest.mark.parametrize("provider", [Broken(), Wrong()])
def test_a_scheme_that_cannot_say_what_it_is_is_there_all_the_same(described, provider):
    described.contributed({"notes": Owned("p", provider)})
    assert described.meta()["ahpd.resourceProviders"]["notes"] == {
        "root": "notes://",
        "operations": ["get"],
    }


def test_what_there_is_none_of_is_absent(described):
    assert set(described.meta()) == {"ahpd.grants"}


def test_it_says_when_it_is_another_and_only_then(rig, described):
    said = []
    described.moved()
    described.changed = lambda: said.append(sorted(described.meta()))
    channel = Channel(grant="", snapshot=lambda *_: {})
    items = {"x-notes": Owned("p", channel)}
    rig.extensions.contributed_channels(items)
    rig.extensions.contributed_channels(items)
    described.contributed({})
    described.contributed_grants({})
    rig.extensions.contributed_channels({})
    assert said == [["ahpd.channels", "ahpd.grants"], ["ahpd.grants"]]
