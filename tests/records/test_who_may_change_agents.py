"""Who reads an agent's record and who changes it, on a host that knows its users."""

from functools import partial

import pytest

from ahpd.protocol.errors import ALREADY_EXISTS, NOT_FOUND, PERMISSION_DENIED, RpcError

from .record_desk import Desk, StrictAccess, caller

HOST = {"agent:list", "agent:put", "agent:remove", "agent:host"}
MAKES = {"agent:list", "agent:put", "agent:remove"}


@pytest.fixture
def desk():
    access = StrictAccess(
        root=HOST, ada=MAKES, bob=MAKES, eve={"agent:list"}, op={"agent:all", "agent:remove"}
    )
    desk = Desk(access=access)
    root = caller("root")
    desk.put("shared", who=root)
    desk.put("hers", who=caller("ada"), owner="user:ada")
    desk.put("teams", who=caller("ada", "backend"), owner="team:backend")
    return desk


def refused(desk, verb, who, identifier="hers", **params):
    ask = (
        partial(desk.put, identifier) if verb == "put" else partial(desk.call, verb, id=identifier)
    )
    with pytest.raises(RpcError) as caught:
        ask(who=who, **params)
    return caught.value


@pytest.mark.parametrize(
    ("who", "seen"),
    [
        (caller("ada"), ["shared", "hers"]),
        (caller("ada", "backend"), ["shared", "hers", "teams"]),
        (caller("bob"), ["shared"]),
        (caller("op"), ["shared", "hers", "teams"]),
        (caller(), []),
    ],
)
def test_each_reads_the_hosts_their_teams_and_their_own(desk, who, seen):
    assert [row["id"] for row in desk.state(who=who)["rows"]] == seen


def test_each_is_told_of_what_they_read_and_of_nothing_else(desk):
    desk.handle.said.clear()
    desk.put("hers", who=caller("ada"), owner="user:ada", name="Changed")
    assert len(desk.handle.heard(caller("ada").reader)) == 1
    assert desk.handle.heard(caller("bob").reader) == []


def test_their_own_alone_are_listed_where_that_is_asked_for(desk):
    uri = "x-ahpd-agents://?owner=me"
    assert [row["id"] for row in desk.state(uri, caller("ada"))["rows"]] == ["hers"]
    assert desk.state(uri, caller("root"))["rows"] == []


def test_who_reads_all_is_let_in_without_the_grant_of_the_list(desk):
    channel = desk.service.rows.channel
    assert channel.grant == "agent:list"
    assert channel.authorize("x-ahpd-agents://", caller("op"))
    assert not channel.authorize("x-ahpd-agents://", caller("nobody"))
    assert desk.service.engines.channel.grant == "agent:list"


def test_an_agent_of_the_hosts_needs_the_hosts_grant(desk):
    for verb in ("put", "remove", "check", "pause", "enable", "disable"):
        failure = refused(desk, verb, caller("ada"), "shared")
        assert (failure.code, failure.message) == (
            PERMISSION_DENIED,
            "agent:host is needed for an agent of the host's.",
        )
    assert refused(desk, "put", caller("ada"), "new").code == PERMISSION_DENIED


def test_who_may_only_look_changes_nothing(desk):
    desk.put("eves", who=caller("root"), owner="host")
    assert refused(desk, "put", caller("eve"), "new", owner="user:eve").code == PERMISSION_DENIED
    for verb in ("put", "check", "pause"):
        failure = refused(desk, verb, caller("eve"), "shared")
        assert failure.message.startswith("agent:put is needed")
    assert refused(desk, "remove", caller("eve"), "shared").message.startswith("agent:remove is")


def test_nobody_makes_an_agent_for_somebody_else(desk):
    for owner, words in (
        ("user:ada", "An agent of a person's is theirs to change."),
        ("team:backend", "An agent of a team's is theirs to change."),
    ):
        failure = refused(desk, "put", caller("bob"), "new", owner=owner)
        assert (failure.code, failure.message) == (PERMISSION_DENIED, words)


def test_what_somebody_may_not_read_is_not_there_for_them(desk):
    for verb in ("check", "pause", "disable", "enable", "remove"):
        assert refused(desk, verb, caller("bob")).code == NOT_FOUND
    failure = refused(desk, "put", caller("bob"), owner="user:bob")
    assert (failure.code, failure.message) == (
        ALREADY_EXISTS,
        "params.id: hers is taken by another agent",
    )


def test_a_team_changes_what_is_the_teams(desk):
    carl = caller("bob", "backend")
    assert desk.put("teams", who=carl, owner="team:backend", name="Ours")["name"] == "Ours"
    assert desk.call("pause", carl, id="teams")["state"] == "paused"
    assert desk.call("remove", carl, id="teams") == {}


def test_a_new_owner_needs_what_a_remove_by_the_old_one_needs(desk):
    bob = caller("bob")
    failure = refused(desk, "put", bob, "shared", owner="user:bob")
    assert failure.message == "agent:host is needed for an agent of the host's."
    ada = caller("ada", "backend")
    assert desk.put("hers", who=ada, owner="team:backend")["owner"] == "team:backend"
    desk.access.grants["ada"].discard("agent:remove")
    failure = refused(desk, "put", ada, "teams", owner="user:ada")
    assert failure.message.startswith("agent:remove is needed")


def test_who_holds_all_removes_any_and_changes_none(desk):
    operator = caller("op")
    assert refused(desk, "pause", operator).code == PERMISSION_DENIED
    for identifier in ("hers", "teams", "shared"):
        assert desk.call("remove", operator, id=identifier) == {}
    desk.access.grants["op"].discard("agent:remove")
    desk.put("hers", who=caller("ada"), owner="user:ada")
    assert refused(desk, "remove", operator).code == PERMISSION_DENIED


def test_every_command_names_its_grant(desk):
    grants = {name: method.grant for name, method in desk.service.methods().items()}
    assert grants == {
        "x-ahpd/agents/put": "agent:put",
        "x-ahpd/agents/remove": "agent:remove",
        "x-ahpd/agents/check": "agent:put",
        "x-ahpd/agents/disable": "agent:put",
        "x-ahpd/agents/pause": "agent:put",
        "x-ahpd/agents/enable": "agent:put",
    }


def test_a_put_that_is_refused_reads_no_secret_and_asks_no_engine(desk):
    desk.engine.opened.clear()
    refused(desk, "put", caller("bob"), "new", owner="user:ada", config={"apiKey": "x" * 20})
    assert (desk.engine.opened, desk.secrets()) == ([], {})
