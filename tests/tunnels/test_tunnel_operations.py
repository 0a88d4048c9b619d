"""What people do to tunnels: which operations are listed, offered, refused, and what each does."""

import attrs
import pytest
from twisted.internet.defer import Deferred

from ahpd.extensions.operations import NAME as INVOKE
from ahpd.interfaces import TunnelOperation, TunnelReport
from ahpd.protocol.errors import INTERNAL_ERROR, INVALID_PARAMS, PERMISSION_DENIED
from tests.extensions.conftest import Directory

from .tunnels_host import (
    ANONYMOUS,
    RESTART,
    SCHEMA,
    URI,
    ScriptedKind,
    TunnelsHost,
    running,
)

# -- the list ------------------------------------------------------------------------------


def test_the_list_offers_the_hosts_verbs_of_each_kind_and_the_kinds_own(host, dev):
    listed = host.operations()
    assert list(listed) == [
        "dev/create",
        "dev/update",
        "dev/enable",
        "dev/disable",
        "dev/remove",
        "dev/restart",
        "dev/anonymous",
    ]
    assert listed["dev/create"] == {
        "id": "dev/create",
        "kind": "dev",
        "label": "Create Dev",
        "scopes": ["list"],
        "grant": "tunnel:put",
        "input": SCHEMA,
    }
    assert listed["dev/update"]["scopes"] == ["tunnel"]
    assert listed["dev/update"]["input"] == SCHEMA
    assert listed["dev/remove"]["grant"] == "tunnel:delete"
    assert "secrets" in listed["dev/remove"]["confirmation"]
    assert [listed[f"dev/{verb}"]["grant"] for verb in ("enable", "disable")] == ["tunnel:put"] * 2
    assert listed["dev/restart"]["icon"] == "restart"
    assert listed["dev/restart"]["grant"] == "tunnel:restart"
    assert listed["dev/anonymous"]["grant"] == "tunnel:put"
    assert listed["dev/anonymous"]["input"] == ANONYMOUS.input
    assert host.said("operations")[-1]["operations"] == list(listed.values())
    assert host.read() == {"rows": [], "operations": list(listed.values())}


def test_a_row_carries_what_it_offers_now(host, dev):
    host.create()
    theirs = ["dev/restart", "dev/anonymous"]
    assert host.row()["operations"] == ["dev/update", "dev/remove", "dev/disable", *theirs]
    host.invoke("dev/disable", "t1")
    assert host.row()["operations"] == ["dev/update", "dev/remove", "dev/enable", *theirs]
    assert host.said("changed")[-1]["row"]["operations"] == host.row()["operations"]


def test_a_kind_says_of_the_row_whether_a_verb_is_offered(host):
    asked = []

    def offered(row):
        asked.append(row)
        row["port"] = "scribbled"
        return row["status"] == "running"

    only = ScriptedKind(operations=(attrs.evolve(RESTART, offered=offered),))
    host.offer(only)
    host.create(note="n")
    assert "dev/restart" in host.row()["operations"]
    assert host.row()["port"] == 1
    assert asked[-1]["note"] == "n"
    assert asked[-1]["id"] == "t1"
    host.invoke("dev/disable", "t1")
    assert "dev/restart" not in host.row()["operations"]
    words, code = host.refused("dev/restart", "t1")
    assert (words, code) == (
        "params.operationId: the tunnel t1 does not offer dev/restart now",
        INVALID_PARAMS,
    )
    assert "restart" not in only.verbs


@pytest.mark.parametrize("answer", ["raise", "await", "no"])
def test_a_verb_whose_kind_cannot_say_is_not_offered(host, answer):
    async def later(row):
        return True

    def offered(row):
        if answer == "raise":
            raise RuntimeError("no idea")
        return later(row) if answer == "await" else None

    host.offer(ScriptedKind(operations=(attrs.evolve(RESTART, offered=offered), ANONYMOUS)))
    host.create()
    assert "dev/restart" not in host.row()["operations"]
    assert "dev/anonymous" in host.row()["operations"]


def test_my_own_tunnels_are_none(host, dev):
    host.create()
    assert len(host.read()["rows"]) == 1
    ada = host.client("root:mine")
    assert ada.watch(f"{URI}?owner=me")["rows"] == []
    host.create()
    told = {action["type"] for channel, action in ada.actions if "owner" in channel}
    assert told == {"x-ahpd-tunnels/operations"}


# -- grants -----------------------------------------------------------------------------


@pytest.fixture
def guarded():
    """A host that lets people do what they were given, with one tunnel."""
    host = TunnelsHost(access=Directory())
    host.listen()
    host.offer(ScriptedKind(operations=(RESTART, ANONYMOUS)))
    host.create()
    yield host
    assert not host.faults, host.faults


def test_the_list_is_read_with_a_grant(guarded):
    ada = guarded.client("ada")
    assert ada.refused("subscribe", channel=URI)["code"] == PERMISSION_DENIED
    guarded.access.give("ada", "tunnel:read")
    assert [row["id"] for row in ada.watch(URI)["rows"]] == ["t1"]


@pytest.mark.parametrize(
    ("operation", "grant"),
    [
        (("dev/create", None, {"port": 2}), "tunnel:put"),
        (("dev/update", "t1", {"port": 2}), "tunnel:put"),
        (("dev/disable", "t1"), "tunnel:put"),
        (("dev/anonymous", "t1", {"on": True}), "tunnel:put"),
        (("dev/restart", "t1"), "tunnel:restart"),
        (("dev/remove", "t1"), "tunnel:delete"),
    ],
)
def test_each_operation_is_invoked_with_the_grant_it_names_or_the_one_for_all(
    guarded, operation, grant
):
    ada, bob = guarded.client("ada"), guarded.client("bob")
    others = {"tunnel:put", "tunnel:restart", "tunnel:delete", "tunnel:read"} - {grant}
    guarded.access.give("ada", *others)
    guarded.access.give("bob", "operation:invoke")
    assert guarded.refused(*operation, who=ada)[1] == PERMISSION_DENIED
    assert guarded.row()["enabled"] is True
    guarded.access.give("ada", grant)
    guarded.invoke(*operation, who=ada)
    if operation[0] not in ("dev/remove", "dev/disable"):
        guarded.invoke(*operation, who=bob)


# -- what is refused ahead of everything -------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "target", "value", "words"),
    [
        ("dev/create", "t1", {"port": 2}, "dev/create runs on the list and takes no target"),
        ("dev/create", None, {}, "params.input"),
        ("dev/create", None, {"port": "x"}, "params.input.port must be a whole number"),
        ("dev/create", None, ["x"], "params.input must be an object"),
        ("dev/create", None, {"port": 1, "more": 2}, "params.input"),
        ("dev/update", None, {"port": 2}, "dev/update runs on a tunnel: name its id"),
        ("dev/update", "t1", {"port": "x"}, "params.input.port must be a whole number"),
        ("dev/update", "none", {"port": 2}, "there is no tunnel none"),
        ("dev/enable", "t1", None, "does not offer dev/enable now"),
        ("dev/anonymous", "t1", {}, "params.input"),
        ("dev/restart", "t1", {"on": True}, "dev/restart takes no input"),
        ("other/create", None, {"port": 1}, "lists no operation other/create"),
    ],
)
def test_what_is_not_right_is_refused_before_anything_happens(
    host, dev, operation, target, value, words
):
    host.create()
    dev.history.clear()
    before = len(host.said())
    found, code = host.refused(operation, target, value)
    assert words in found
    assert code == INVALID_PARAMS
    assert dev.history == []
    assert len(host.said()) == before
    assert len(host.read()["rows"]) == 1


def test_an_input_that_is_no_object_is_refused_where_the_schema_says_nothing_of_it(host):
    host.offer(ScriptedKind(schema={"properties": {"port": {"type": "integer"}}}))
    assert host.refused("dev/create", value=["x"])[0] == "params.input must be an object"


# -- create ------------------------------------------------------------------------------


def test_a_tunnel_is_made_kept_started_and_answered(host, dev):
    dev.creating = lambda tunnel, report: report(running())
    answer = host.create(note="mine")
    assert answer == {
        "id": "t1",
        "kind": "dev",
        "plugin": "acme",
        "purpose": "person",
        "enabled": True,
        "port": 1,
        "note": "mine",
        "status": "running",
        "url": "https://the-tunnel.example/",
        "operations": host.row()["operations"],
    }
    assert answer == host.row()
    assert host.record() == {
        "id": "t1",
        "kind": "dev",
        "plugin": "acme",
        "purpose": "person",
        "enabled": True,
        "port": 1,
        "note": "mine",
    }
    tunnel = dev.running["t1"]
    assert (tunnel.id, tunnel.kind, tunnel.plugin) == ("t1", "dev", "acme")
    assert (tunnel.purpose, tunnel.enabled, tunnel.owner) == ("person", True, None)
    assert tunnel.settings == {"port": 1, "note": "mine"}


def test_a_new_tunnel_is_said_once_as_it_is_in_the_end(host, dev):
    waiting = Deferred()

    def creating(tunnel, report):
        report(TunnelReport(error="looking for a relay"))
        report(TunnelReport())
        return waiting

    dev.creating = creating
    answered = host.begin("dev/create", value={"port": 1})
    assert answered() is None
    assert host.said("added") == []
    dev.reports["t1"](running())
    waiting.callback(None)
    assert answered()["result"]["status"] == "running"
    assert [one["row"]["status"] for one in host.said("added")] == ["running"]
    assert host.said("changed") == []
    assert "error" not in host.row()


def test_one_whose_kind_says_nothing_runs_once_it_was_made(host, dev):
    assert host.create()["status"] == "running"
    dev.creating = lambda tunnel, report: report(TunnelReport(status="error", error="no relay yet"))
    made = host.create()
    assert (made["status"], made["error"]) == ("error", "no relay yet")


def test_one_that_cannot_be_made_leaves_nothing_behind(host, dev):
    def creating(tunnel, report):
        report(running(settings={"note": "kept?"}))
        raise RuntimeError("no relay has room")

    dev.creating = creating
    assert host.refused("dev/create", value={"port": 1, "token": "tok-1"}) == (
        "no relay has room",
        INTERNAL_ERROR,
    )
    assert host.read()["rows"] == []
    assert host.record() is None
    assert host.vaulted() == {}
    assert host.said("added") == []
    assert dev.verbs == ["create"]
    listed = host.operations()["dev/create"]
    assert (listed["status"], listed["error"]) == ("error", "no relay has room")


def test_a_kind_that_never_answers_is_given_up_and_what_comes_late_is_taken_down(host, dev):
    class Stubborn(Deferred):
        def cancel(self):
            pass

    waiting = Stubborn()
    dev.creating = lambda tunnel, report: waiting
    answered = host.begin("dev/create", value={"port": 1})
    assert host.operations()["dev/create"]["status"] == "running"
    host.clock.advance(59.9)
    assert answered() is None
    host.clock.advance(0.2)
    assert answered()["error"]["message"] == "it did not start within 60 seconds"
    assert host.record() is None
    assert dev.verbs == ["create"]
    waiting.callback(None)
    assert dev.verbs == ["create", "remove"]
    assert dev.running == {}


def test_a_tunnel_is_made_to_the_end_although_whoever_asked_has_left(host, dev):
    waiting = Deferred()
    dev.creating = lambda tunnel, report: waiting
    other = host.client("root:phone")
    host.begin("dev/create", value={"port": 1}, who=other)
    other.hang_up()
    waiting.callback(None)
    assert host.row()["status"] == "running"
    assert "t1" in dev.running


def test_what_the_host_says_of_a_tunnel_is_nobody_elses_to_set(host):
    host.offer(ScriptedKind(schema={"type": "object", "properties": {"port": {"type": "integer"}}}))
    made = host.invoke(
        "dev/create",
        value={"port": 1, "id": "mine", "plugin": "evil", "enabled": False, "status": "error"},
    )
    assert (made["id"], made["plugin"], made["enabled"]) == ("t1", "acme", True)
    assert host.record() == {
        "id": "t1",
        "kind": "dev",
        "plugin": "acme",
        "purpose": "person",
        "enabled": True,
        "port": 1,
    }


# -- update -----------------------------------------------------------------------------


def test_a_kind_applies_a_change_live_and_it_is_kept(host, dev):
    host.create(note="old")
    seen = []
    dev.updating = lambda tunnel, given, report: seen.append((tunnel.settings, dict(given)))
    answer = host.invoke("dev/update", "t1", {"port": 2})
    assert dev.verbs == ["create", "update"]
    assert seen == [({"port": 2, "note": "old"}, {"port": 2})]
    assert (answer["port"], answer["note"]) == (2, "old")
    assert host.record()["port"] == 2
    assert dev.running["t1"].settings["port"] == 2


def test_a_tunnel_is_taken_down_as_it_was_changed_last(host, dev):
    host.create()
    seen = []
    dev.removing = lambda tunnel: seen.append(dict(tunnel.settings))
    host.invoke("dev/update", "t1", {"port": 2})
    host.invoke("dev/disable", "t1")
    host.invoke("dev/enable", "t1")
    dev.reports["t1"](running(settings={"note": "theirs"}))
    host.invoke("dev/disable", "t1")
    assert seen == [{"port": 2}, {"port": 2, "note": "theirs"}]


def test_a_null_takes_a_setting_out(host, dev):
    host.create(note="old", token="tok-1")
    host.invoke("dev/update", "t1", {"port": 2, "note": None, "token": None})
    assert "note" not in host.record()
    assert "token" not in host.record()
    assert host.vaulted() == {}
    assert dev.history[-1] == ("update", "t1", {"port": 2, "note": None, "token": None})


def test_a_change_that_a_kind_refuses_is_not_kept(host, dev):
    host.create()

    def updating(tunnel, given, report):
        raise ValueError("that port is taken")

    dev.updating = updating
    assert host.refused("dev/update", "t1", {"port": 2}) == ("that port is taken", INTERNAL_ERROR)
    row = host.row()
    assert (row["port"], row["status"]) == (1, "running")
    assert row["operation"] == {
        "id": "dev/update",
        "status": "error",
        "error": "that port is taken",
    }
    assert host.record()["port"] == 1


def test_a_kind_without_update_has_its_tunnel_begun_again(host):
    plain = ScriptedKind(updates=False)
    host.offer(plain)
    host.create()
    answer = host.invoke("dev/update", "t1", {"port": 2})
    assert plain.verbs == ["create", "remove", "create"]
    assert plain.running["t1"].settings == {"port": 2}
    assert (answer["status"], answer["port"]) == ("running", 2)


def test_one_that_is_off_is_changed_and_not_started(host, dev):
    host.create()
    host.invoke("dev/disable", "t1")
    dev.history.clear()
    host.invoke("dev/update", "t1", {"port": 2})
    assert dev.history == []
    assert host.row()["status"] == "stopped"
    host.invoke("dev/enable", "t1")
    assert dev.running["t1"].settings == {"port": 2}


def test_one_that_could_not_start_is_started_with_what_was_changed(host, dev):
    def creating(tunnel, report):
        if tunnel.settings["port"] == 7:
            raise OSError("port 7 is taken")

    host.create()
    host.invoke("dev/disable", "t1")
    host.invoke("dev/update", "t1", {"port": 7})
    dev.creating = creating
    assert host.refused("dev/enable", "t1")[0] == "port 7 is taken"
    assert (host.row()["status"], host.row()["error"]) == ("error", "port 7 is taken")
    answer = host.invoke("dev/update", "t1", {"port": 8})
    assert (answer["status"], "error" in answer) == ("running", False)
    assert dev.verbs[-1] == "create"


# -- remove, enable, disable ------------------------------------------------------------


def test_a_tunnel_is_taken_down_before_its_record_and_secrets_go(host, dev):
    host.create(token="tok-1")
    seen = []

    def removing(tunnel):
        seen.append((tunnel.settings["token"], host.record() is not None, host.vaulted()))

    dev.removing = removing
    assert host.invoke("dev/remove", "t1") == {}
    assert seen == [("tok-1", True, {"host:tunnel/t1/token": "tok-1"})]
    assert host.record() is None
    assert host.vaulted() == {}
    assert host.said("removed") == [{"type": "x-ahpd-tunnels/removed", "id": "t1"}]
    assert host.read()["rows"] == []


def test_one_that_cannot_be_taken_down_stays_and_goes_when_it_is_asked_for_again(host, dev):
    host.create()

    def removing(tunnel):
        raise RuntimeError("the service does not answer")

    dev.removing = removing
    assert host.refused("dev/remove", "t1")[0] == "the service does not answer"
    assert (host.row()["status"], host.row()["error"]) == ("error", "the service does not answer")
    assert host.record() is not None
    assert host.invoke("dev/remove", "t1") == {}
    assert host.record() is None
    assert dev.verbs == ["create", "remove", "remove"]


def test_disable_stops_and_keeps_it_and_enable_starts_it_again(host, dev):
    dev.creating = lambda tunnel, report: report(running())
    host.create()
    off = host.invoke("dev/disable", "t1")
    assert (off["enabled"], off["status"], "url" in off) == (False, "stopped", False)
    assert host.record()["enabled"] is False
    assert dev.running == {}
    on = host.invoke("dev/enable", "t1")
    assert (on["enabled"], on["status"]) == (True, "running")
    assert host.record()["enabled"] is True
    assert dev.verbs == ["create", "remove", "create"]


def test_one_that_cannot_be_stopped_is_off_all_the_same(host, dev):
    host.create()

    def removing(tunnel):
        raise RuntimeError("it hangs")

    dev.removing = removing
    assert host.refused("dev/disable", "t1") == ("it hangs", INTERNAL_ERROR)
    row = host.row()
    assert (row["enabled"], row["status"], row["error"]) == (False, "error", "it hangs")
    assert "dev/enable" in row["operations"]


@pytest.mark.parametrize(
    ("operation", "value", "hangs", "seconds", "words"),
    [
        ("dev/update", {"port": 2}, "updating", 60, "it did not take the change within 60 seconds"),
        ("dev/disable", None, "removing", 8, "it did not stop within 8 seconds"),
        ("dev/remove", None, "removing", 8, "it did not stop within 8 seconds"),
        ("dev/anonymous", {"on": True}, "invoking", 120, "it did not finish anonymous within 120"),
    ],
)
def test_what_never_comes_back_is_not_waited_for(
    host, dev, operation, value, hangs, seconds, words
):
    host.create()
    setattr(dev, hangs, lambda *given: Deferred())
    answered = host.begin(operation, "t1", value)
    assert host.row()["operation"] == {"id": operation, "status": "running"}
    host.clock.advance(seconds + 0.1)
    assert words in answered()["error"]["message"]
    assert host.row()["operation"]["status"] == "error"
    setattr(dev, hangs, lambda *given: None)
    assert host.invoke("dev/update", "t1", {"port": 3})["port"] == 3


# -- verbs of the kind's own ------------------------------------------------------------


def test_a_verb_of_the_kind_runs_with_the_input_and_says_how_it_goes(host, dev):
    host.create()
    waiting = Deferred()
    dev.invoking = lambda name, tunnel, report, given: waiting
    answered = host.begin("dev/anonymous", "t1", {"on": True})
    assert dev.history[-1] == ("anonymous", "t1", {"on": True})
    assert host.said("changed")[-1]["row"]["operation"] == {
        "id": "dev/anonymous",
        "status": "running",
    }
    waiting.callback(None)
    assert answered()["result"]["operation"] == {"id": "dev/anonymous", "status": "idle"}
    host.invoke("dev/restart", "t1")
    assert dev.history[-1] == ("restart", "t1", None)


def test_one_that_waits_for_another_on_the_same_tunnel_runs_behind_it(host, dev):
    host.create()
    waiting = Deferred()
    dev.invoking = lambda name, tunnel, report, given: waiting
    first = host.begin("dev/restart", "t1")
    second = host.begin("dev/update", "t1", {"port": 2})
    assert dev.verbs == ["create", "restart"]
    waiting.callback(None)
    assert first()["result"]["id"] == "t1"
    assert second()["result"]["port"] == 2


def test_of_two_who_turn_a_tunnel_on_the_second_starts_nothing(host, dev):
    host.create()
    host.invoke("dev/disable", "t1")
    waiting = Deferred()
    dev.creating = lambda tunnel, report: waiting
    first, second = host.begin("dev/enable", "t1"), host.begin("dev/enable", "t1")
    waiting.callback(None)
    assert first()["result"]["status"] == second()["result"]["status"] == "running"
    assert dev.verbs == ["create", "remove", "create"]


def test_a_tunnel_that_went_while_somebody_waited_is_said_to_be_gone(host, dev):
    host.create()
    waiting = Deferred()
    dev.removing = lambda tunnel: waiting
    first = host.begin("dev/remove", "t1")
    second = host.begin("dev/update", "t1", {"port": 2})
    waiting.callback(None)
    assert first()["result"] == {}
    assert second()["error"]["message"] == "there is no tunnel t1 any more"


# -- connectors --------------------------------------------------------------------------


MINE = {"id": "mine", "adapter": "devtunnel", "owner": "host", "title": "Mine"}
ADAS = {"id": "adas", "adapter": "devtunnel", "owner": "user:ada"}
MAIL = {"id": "mail", "adapter": "mail", "owner": "host"}


def test_inputs_carry_the_hosts_connectors_as_choices_and_move_with_them(host, dev):
    field = host.operations()["dev/create"]["input"]["properties"]["connector"]
    assert "enum" not in field
    host.connectors = [MINE, ADAS, MAIL]
    host.choices.moved()
    for verb in ("create", "update"):
        listed = host.said("operations")[-1]["operations"]
        found = next(one for one in listed if one["id"] == f"dev/{verb}")
        field = found["input"]["properties"]["connector"]
        assert (field["enum"], field["enumLabels"]) == (["mine"], ["Mine"])
        assert "enumDynamic" not in field
        assert "x-ahpd-completions" not in field


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("other", "params.input.connector names no connector of devtunnel that is the host's own"),
        ("mail", "params.input.connector names no connector of devtunnel"),
        ("adas", "params.input.connector names no connector of devtunnel that is the host's own"),
    ],
)
def test_a_tunnel_names_a_connector_of_the_host_and_of_its_adapter(host, dev, named, words):
    host.connectors = [MINE, ADAS, MAIL]
    host.choices.moved()
    made = host.create(connector="mine")
    assert made["connector"] == "mine"
    found, code = host.refused("dev/create", value={"port": 1, "connector": named})
    assert words in found
    assert code == INVALID_PARAMS
    found, code = host.refused("dev/update", "t1", {"connector": named})
    assert words in found
    assert host.invoke("dev/update", "t1", {"port": 3, "connector": "mine"})["port"] == 3


def test_a_connector_that_goes_while_a_change_waits_is_not_named(host, dev):
    host.connectors = [MINE]
    host.create()
    waiting = Deferred()
    dev.invoking = lambda name, tunnel, report, given: waiting
    host.begin("dev/restart", "t1")
    answered = host.begin("dev/update", "t1", {"port": 1, "connector": "mine"})
    host.connectors = []
    waiting.callback(None)
    assert "names no connector of devtunnel" in answered()["error"]["message"]
    assert "connector" not in host.record()


def test_a_tunnel_whose_connector_went_may_be_changed_elsewhere(host, dev):
    host.connectors = [MINE]
    host.create(connector="mine")
    host.connectors = []
    host.choices.moved()
    assert host.invoke("dev/update", "t1", {"port": 2})["connector"] == "mine"


def test_a_field_in_a_list_or_behind_a_reference_is_held_to_the_connectors_too(host):
    schema = {
        "type": "object",
        "properties": {
            "many": {"type": "array", "items": {"$ref": "#/$defs/one"}},
            "deep": {"type": "object", "properties": {"one": {"$ref": "#/$defs/one"}}},
        },
        "$defs": {"one": {"type": "string", "x-ahpd-connector": {"adapter": "devtunnel"}}},
    }
    host.connectors = [MINE]
    host.offer(ScriptedKind(schema=schema))
    assert (
        "params.input.many[1] names no"
        in host.refused("dev/create", value={"many": ["mine", "other"]})[0]
    )
    assert (
        "params.input.deep.one names no"
        in host.refused("dev/create", value={"deep": {"one": "other"}})[0]
    )
    assert host.invoke("dev/create", value={"many": ["mine"], "deep": {"one": ""}})["id"] == "t1"


def test_an_operation_says_what_it_needs_by_itself(host):
    host.offer(ScriptedKind(operations=(TunnelOperation(id="x", label="X", confirmation="Sure?"),)))
    assert host.operations()["dev/x"]["confirmation"] == "Sure?"
    assert host.refused("dev/x", "t9")[1] == INVALID_PARAMS
    assert host.window.refused(INVOKE, channel="x-none://", operationId="dev/x")["code"] == -32001
