"""Tunnels over the life of a host: read back, started once it listens, with and without kinds."""

import json
from contextlib import suppress

import attrs
import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from ahpd.interfaces import RecordsFailure, TunnelReport
from ahpd.record_store import FileRecordStore
from ahpd.record_store.memory import MemoryRecordStore
from ahpd.threads import in_thread
from ahpd.tunnels.asking import STOP_PATIENCE
from ahpd.vault import MemoryVault

from .tunnels_host import ANONYMOUS, RESTART, SCHEMA, ScriptedKind, TunnelsHost, outcome, running


def record(identifier="old", **more):
    return {
        "id": identifier,
        "kind": "dev",
        "plugin": "acme",
        "purpose": "person",
        "enabled": True,
        "port": 1,
        **more,
    }


def restarted(*records, **more):
    """A host that kept these records, not started yet."""
    host = TunnelsHost(start=False, **more)
    for one in records:
        host.write(one)
    return host


# -- the start ----------------------------------------------------------------------------


def test_what_is_kept_is_shown_and_starts_once_the_host_listens():
    host = restarted(record(), record("off", enabled=False))
    dev = ScriptedKind()
    host.offer(dev)
    host.service.startService()
    assert [(row["id"], row["status"]) for row in host.read()["rows"]] == [
        ("off", "stopped"),
        ("old", "stopped"),
    ]
    assert dev.history == []
    outcome(host.listen())
    assert dev.history == [("create", "old")]
    assert [row["status"] for row in host.read()["rows"]] == ["stopped", "running"]
    assert not host.faults


def test_a_tunnel_made_before_the_host_listens_starts_then():
    host = restarted()
    dev = ScriptedKind()
    host.offer(dev)
    host.service.startService()
    assert host.create()["status"] == "stopped"
    host.listen()
    assert host.row()["status"] == "running"


def test_one_that_does_not_start_costs_no_other_its_start(logged):
    host = restarted(record(), record("other"))
    dev = ScriptedKind()
    dev.creating = lambda tunnel, report: 1 / 0 if tunnel.id == "old" else None
    host.offer(dev)
    host.service.startService()
    outcome(host.listen())
    assert (host.row("old")["status"], host.row("old")["error"]) == ("error", "division by zero")
    assert host.row("other")["status"] == "running"
    assert host.record("old") == record()
    assert any("does not run" in line for line in logged)


def test_the_others_do_not_wait_for_one_that_hangs():
    host = restarted(record(), record("other"))
    dev = ScriptedKind()
    dev.creating = lambda tunnel, report: Deferred() if tunnel.id == "old" else None
    host.offer(dev)
    host.service.startService()
    began = host.listen()
    assert host.row("other")["status"] == "running"
    assert not began.called
    host.clock.advance(61)
    assert began.called
    assert host.row("old")["error"] == "it did not start within 60 seconds"


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"kind": "Dev Tunnel"}, "its kind is none"),
        ({"purpose": "fun"}, "its purpose is neither system nor person"),
        ({"enabled": "yes"}, "its enabled is neither true nor false"),
        ({"plugin": 7}, "its plugin is no text"),
        ({"owner": []}, "its owner is no text"),
    ],
)
def test_what_is_no_tunnel_is_left_out_and_logged(written, words, logged):
    host = restarted(record(**written), record("good"))
    host.offer(ScriptedKind())
    host.service.startService()
    outcome(host.listen())
    assert [row["id"] for row in host.read()["rows"]] == ["good"]
    assert any(words in line for line in logged)


def test_records_that_do_not_fit_the_schema_any_more_say_so_and_can_be_put_right():
    host = restarted(record(port="one"))
    dev = ScriptedKind()
    host.offer(dev)
    host.service.startService()
    outcome(host.listen())
    assert host.row("old")["error"] == "settings.port must be a whole number"
    assert dev.history == []
    assert host.invoke("dev/update", "old", {"port": 3})["status"] == "running"


def test_connectors_are_not_asked_about_when_tunnels_are_read_back():
    host = restarted(record(connector="gone"))
    dev = ScriptedKind()
    host.offer(dev)
    host.service.startService()
    outcome(host.listen())
    assert dev.running["old"].settings["connector"] == "gone"


@pytest.mark.logs_failures
def test_a_store_that_cannot_be_read_leaves_a_host_that_makes_tunnels(logged):
    class Broken(MemoryRecordStore):
        def collection(self, name, options):
            held = super().collection(name, options)

            async def listing():
                raise RecordsFailure("records tunnels: the folder cannot be read")

            held.list = listing
            return held

    host = restarted(records=Broken())
    host.service.startService()
    host.offer(ScriptedKind())
    outcome(host.listen())
    assert host.create()["id"] == "t1"
    assert any("the folder cannot be read" in line for line in logged)


def test_a_host_that_ends_before_its_tunnels_are_read_says_nothing_of_them(tmp_path, logged):
    clock = Clock()
    store = FileRecordStore(tmp_path, in_thread(clock), clock, lambda line: None)
    host = restarted(records=store)
    host.service.startService()
    outcome(store.close())
    assert not any("read" in line for line in logged)


def test_tunnels_are_files_that_another_process_reads_back(tmp_path):
    def process():
        clock = Clock()
        store = FileRecordStore(tmp_path, in_thread(clock), clock, lambda line: None)
        store.open()
        host = TunnelsHost(records=store, vault=vault)
        host.offer(ScriptedKind())
        outcome(host.listen())
        return host

    vault = MemoryVault()
    first = process()
    first.create(token="tok-1")
    first.create(note="off")
    first.invoke("dev/disable", "t2")
    assert json.loads((tmp_path / "tunnels" / "t1.json").read_text()) == {
        **record("t1"),
        "token": {"$secret": "host:tunnel/t1/token"},
    }
    outcome(first.service.stopService())
    rows = process().read()["rows"]
    assert [(row["id"], row["status"], row["enabled"]) for row in rows] == [
        ("t1", "running", True),
        ("t2", "stopped", False),
    ]


# -- the host's own ------------------------------------------------------------------------


def test_a_kind_is_asked_once_for_the_hosts_own_tunnel_after_the_port_is_known():
    asked = []

    async def system(port):
        asked.append(port)
        return {"port": port, "connector": "opens-later"}

    host = restarted()
    dev = ScriptedKind(system=system)
    host.offer(dev)
    host.service.startService()
    assert asked == []
    outcome(host.listen(4711))
    outcome(host.service.contributed(host.kinds))
    assert asked == [4711]
    row = host.row()
    assert (row["purpose"], row["port"], row["status"]) == ("system", 4711, "running")
    assert "owner" not in row
    assert dev.running["t1"].purpose == "system"


def test_one_that_is_kept_is_not_asked_for_again():
    host = restarted(record(purpose="system"))
    host.offer(ScriptedKind(system=lambda port: 1 / 0))
    host.service.startService()
    outcome(host.listen())
    assert [row["id"] for row in host.read()["rows"]] == ["old"]
    assert host.row("old")["status"] == "running"


def test_a_host_that_listens_nowhere_starts_tunnels_and_has_none_of_its_own():
    host = restarted(record())
    host.offer(ScriptedKind(system=lambda port: 1 / 0))
    host.service.startService()
    outcome(host.listen(None))
    assert [(row["id"], row["status"]) for row in host.read()["rows"]] == [("old", "running")]


@pytest.mark.parametrize(
    ("system", "words"),
    [
        (lambda port: None, None),
        (lambda port: 1 / 0, "division by zero"),
        (lambda port: "31546", "system answered str, and no settings"),
        (lambda port: {"port": "x"}, "system.port must be a whole number"),
        (lambda port: Deferred(), "it did not say what the host's own tunnel is within 30"),
    ],
)
def test_a_kind_that_has_none_or_cannot_say_costs_nobody_anything(system, words, logged):
    host = restarted(record())
    host.offer(ScriptedKind(system=system))
    host.service.startService()
    began = host.listen()
    host.clock.advance(31)
    outcome(began)
    assert [row["id"] for row in host.read()["rows"]] == ["old"]
    assert words is None or any(words in json.loads(line).get("words", "") for line in logged)


def test_one_of_the_hosts_own_that_cannot_start_leaves_nothing_behind():
    host = restarted()
    dev = ScriptedKind(system=lambda port: {"port": port})
    dev.creating = lambda tunnel, report: 1 / 0
    host.offer(dev)
    host.service.startService()
    outcome(host.listen())
    assert host.read()["rows"] == []
    assert host.record() is None


def test_of_two_that_would_make_the_hosts_own_one_does():
    host = restarted()
    host.service.startService()
    outcome(host.listen(99))
    one, other = Deferred(), Deferred()
    host.offer(ScriptedKind(system=lambda port: one))
    host.offer(ScriptedKind(system=lambda port: other, updates=False))
    one.callback({"port": 1})
    other.callback({"port": 2})
    assert [row["purpose"] for row in host.read()["rows"]] == ["system"]


def test_a_kind_that_comes_later_is_asked_then():
    host = restarted()
    host.service.startService()
    outcome(host.listen(99))
    outcome(host.offer(ScriptedKind(system=lambda port: {"port": port})))
    assert (host.row()["purpose"], host.row()["port"]) == ("system", 99)


# -- kinds that come and go ---------------------------------------------------------------


def test_a_kind_that_comes_starts_its_tunnels_and_the_change_does_not_wait_for_that(host):
    host.write(record())
    assert host.row("old")["status"] == "stopped"
    assert host.row("old")["operations"] == ["dev/remove"]
    waiting = Deferred()
    dev = ScriptedKind()
    dev.creating = lambda tunnel, report: waiting
    outcome(host.offer(dev))
    assert host.row("old")["status"] == "stopped"
    waiting.callback(None)
    assert host.row("old")["status"] == "running"
    assert host.row("old")["operations"] == ["dev/update", "dev/remove", "dev/disable"]
    assert host.said("changed")[-1]["row"] == host.row("old")


def test_a_kind_that_goes_stops_its_tunnels_and_the_rows_stay(host, dev):
    host.create(token="tok-1")
    other = ScriptedKind("other")
    waiting = Deferred()
    dev.removing = lambda tunnel: waiting
    taken = host.offer(other)
    assert not taken.called
    waiting.callback(None)
    assert taken.called
    row = host.row()
    assert (row["status"], row["enabled"], row["port"]) == ("stopped", True, 1)
    assert row["operations"] == ["dev/remove"]
    assert "token" not in row
    assert host.said("changed")[-1]["row"] == row
    assert host.record()["enabled"] is True
    assert set(host.operations()) == {
        *(f"other/{verb}" for verb in ("create", "update", "enable", "disable", "remove")),
        "dev/remove",
    }


def test_a_tunnel_of_a_kind_that_is_gone_can_be_removed_with_its_secrets(host, dev):
    host.create(token="tok-1")
    host.offer()
    dev.history.clear()
    assert host.invoke("dev/remove", "t1") == {}
    assert host.record() is None
    assert host.vaulted() == {}
    assert dev.history == []
    assert host.operations() == {}


def test_one_that_is_off_says_what_it_offers_when_its_kind_goes_and_comes(host, dev):
    host.create()
    host.invoke("dev/disable", "t1")
    host.offer()
    assert host.said("changed")[-1]["row"]["operations"] == ["dev/remove"]
    host.offer(ScriptedKind())
    assert host.said("changed")[-1]["row"]["operations"] == [
        "dev/update",
        "dev/remove",
        "dev/enable",
    ]


def test_a_kind_that_fails_to_stop_as_it_goes_leaves_the_row_stopped(host, dev, logged):
    host.create()
    dev.removing = lambda tunnel: 1 / 0
    outcome(host.offer())
    assert host.row()["status"] == "stopped"
    assert "error" not in host.row()
    assert any("was not stopped" in line for line in logged)


def test_another_kind_of_the_same_name_takes_the_tunnels_over(host, dev):
    host.create()
    host.offer(dev)
    assert dev.verbs == ["create"]
    after = ScriptedKind(schema={**SCHEMA, "title": "Another"})
    outcome(host.offer(after))
    assert dev.verbs == ["create", "remove"]
    assert after.verbs == ["create"]
    again = attrs.evolve(after.kind)
    other = host.service.contributed(
        {"dev": attrs.evolve(host.kinds["dev"], value=again, plugin="b")}
    )
    outcome(other)
    assert after.verbs == ["create", "remove", "create"]
    assert host.row()["plugin"] == "acme"


def test_a_tunnel_made_while_its_kind_goes_is_not_made(host, dev):
    dev.creating = lambda tunnel, report: Deferred()
    answered = host.begin("dev/create", value={"port": 1})
    outcome(host.offer())
    assert answered()["error"]["message"] == "it was interrupted"
    assert (host.row(), host.record()) == (None, None)


def test_a_tunnel_that_starts_late_although_its_kind_went_is_stopped(host, dev):
    async def ignoring(tunnel, report):
        with suppress(CancelledError):
            await Deferred()

    dev.kind = attrs.evolve(dev.kind, create=ignoring)
    outcome(host.offer(dev))
    host.write(record())
    outcome(host.offer())
    assert dev.verbs == ["remove"]
    assert host.row("old")["status"] == "stopped"
    assert "error" not in host.row("old")


def test_a_kind_that_goes_is_not_waited_for_with_what_it_does(host):
    slow = ScriptedKind(operations=(RESTART,))
    outcome(host.offer(slow))
    host.create()
    slow.invoking = lambda name, tunnel, report, given: Deferred()
    answered = host.begin("dev/restart", "t1")
    outcome(host.offer())
    assert answered()["error"]["message"] == "it was interrupted"
    assert host.row()["status"] == "stopped"


def test_a_kind_that_goes_is_waited_for_until_it_stopped_and_no_longer(host, dev):
    host.create()
    dev.removing = lambda tunnel: Deferred()
    taken = host.offer()
    host.clock.advance(STOP_PATIENCE - 1)
    assert not taken.called
    host.clock.advance(1)
    assert taken.called
    assert host.row()["status"] == "stopped"


def test_the_hosts_own_tunnel_waits_for_no_other_to_start():
    host = TunnelsHost()
    slow, dev = ScriptedKind("slow"), ScriptedKind(system=lambda port: {"port": port})
    slow.creating = lambda tunnel, report: Deferred()
    host.write({"id": "old", "kind": "slow", "port": 1})
    host.offer(slow, dev)
    host.listen(99)
    assert (host.row()["purpose"], host.row()["port"]) == ("system", 99)


# -- what people write ----------------------------------------------------------------------


def test_a_record_a_person_writes_is_taken_up_and_one_they_erase_goes(host, dev):
    host.write({"id": "mine", "kind": "dev", "port": 5})
    row = host.row("mine")
    assert (row["status"], row["purpose"], row["enabled"]) == ("running", "person", True)
    assert row["plugin"] == "acme"
    assert dev.running["mine"].plugin == "acme"
    host.write({"id": "mine", "kind": "dev", "port": 6})
    assert dev.running["mine"].settings == {"port": 6}
    host.write({"id": "mine", "kind": "dev", "port": 6, "enabled": False})
    assert (host.row("mine")["status"], host.row("mine")["enabled"]) == ("stopped", False)
    host.write({"id": "mine", "kind": 7})
    assert host.row("mine")["port"] == 6
    host.erase("mine")
    assert host.row("mine") is None
    assert dev.running == {}
    host.write({"id": "mine", "kind": "dev", "port": 6, "enabled": False})
    host.erase("mine")
    host.write({"id": "mine", "kind": "dev", "port": 6, "enabled": False})
    assert [one["type"].rpartition("/")[2] for one in host.said()][-4:] == [
        "removed",
        "added",
        "removed",
        "added",
    ]


def test_a_record_whose_kind_a_person_changes_is_stopped_with_the_one_it_had(host, dev):
    other = ScriptedKind("other")
    host.offer(dev, other)
    host.create()
    host.write(record("t1", kind="other"))
    assert dev.verbs == ["create", "remove"]
    assert other.running["t1"].settings == {"port": 1}
    assert host.row()["kind"] == "other"


# -- the stop -------------------------------------------------------------------------------


def test_a_host_that_stops_waits_until_every_tunnel_is_down(host, dev):
    host.create()
    host.create()
    waiting = Deferred()
    dev.removing = lambda tunnel: waiting if tunnel.id == "t2" else None
    stopped = host.stop()
    assert sorted(dev.verbs) == ["create", "create", "remove", "remove"]
    assert stopped == []
    waiting.callback(None)
    assert stopped == [None]
    assert host.record("t1")["enabled"] is True


def test_it_does_not_wait_for_ever(host, dev):
    host.create()
    dev.removing = lambda tunnel: Deferred()
    stopped = host.stop()
    host.clock.advance(8.1)
    assert stopped == [None]
    assert host.clock.getDelayedCalls() == []


def test_what_is_being_made_as_the_host_stops_leaves_nothing_behind(host, dev):
    dev.creating = lambda tunnel, report: Deferred()
    answered = host.begin("dev/create", value={"port": 1})
    assert host.stop() == [None]
    assert answered()["error"]["message"] == "it was interrupted"
    assert host.record() is None
    assert host.clock.getDelayedCalls() == []


def test_nothing_is_begun_after_the_stop(host, dev):
    host.create()
    host.invoke("dev/disable", "t1")
    host.stop()
    dev.history.clear()
    assert host.refused("dev/enable", "t1")[0] == "the host is stopping"
    host.write(record("mine"))
    assert dev.history == []


# -- what kinds report ------------------------------------------------------------------------


def test_a_report_moves_the_row_and_is_written_nowhere(host, dev):
    host.create()
    before = host.record()
    report = dev.reports["t1"]
    report(TunnelReport(status="error", error="the relay went"))
    assert host.said("changed")[-1]["row"]["error"] == "the relay went"
    report(running())
    row = host.row()
    assert (row["status"], row["url"], "error" in row) == (
        "running",
        "https://the-tunnel.example/",
        False,
    )
    told = len(host.said())
    report(running())
    report(TunnelReport())
    assert len(host.said()) == told
    report(TunnelReport(status="stopped"))
    assert "url" not in host.row()
    assert host.record() == before


def test_settings_a_kind_reports_are_kept_and_the_answer_has_them(host, dev):
    host.create()

    def invoking(name, tunnel, report, given):
        report(TunnelReport(settings={"note": f"anonymous {given['on']}", "id": "x", "kind": "y"}))

    dev.invoking = invoking
    answer = host.invoke("dev/anonymous", "t1", {"on": True})
    assert (answer["id"], answer["kind"], answer["note"]) == ("t1", "dev", "anonymous True")
    assert host.record()["note"] == "anonymous True"
    assert dev.verbs == ["create", "anonymous"]
    host.invoke("dev/disable", "t1")
    host.invoke("dev/enable", "t1")
    assert dev.running["t1"].settings["note"] == "anonymous True"


def test_settings_reported_while_nobody_asked_are_kept_too(host, dev):
    dev.creating = lambda tunnel, report: report(TunnelReport(settings={"note": "first"}))
    assert host.create()["note"] == "first"
    dev.reports["t1"](TunnelReport(settings={"note": "second", "port": 9}))
    assert (host.record()["note"], host.record()["port"]) == ("second", 9)
    assert host.said("changed")[-1]["row"]["note"] == "second"


def test_settings_that_do_not_fit_are_reported_and_not_kept(host, dev):
    host.create()
    dev.reports["t1"](running(settings={"port": "many"}))
    assert host.record()["port"] == 1
    assert host.row()["url"]
    assert host.reported == [
        (
            "acme",
            "what the tunnel t1 reported of its settings is not kept: "
            "settings.port must be a whole number",
        )
    ]


@pytest.mark.parametrize(
    ("report", "words"),
    [
        ({"status": "running"}, "is a TunnelReport, found dict"),
        (TunnelReport(status="fine"), "running, stopped or error"),
        (TunnelReport(url=7), "the url a tunnel reports is a text"),
        (TunnelReport(settings=[1]), "settings a tunnel reports are an object"),
    ],
)
def test_what_is_no_report_fails_the_kind_that_made_it(host, dev, report, words):
    dev.creating = lambda tunnel, told: told(report)
    assert words in host.refused("dev/create", value={"port": 1})[0]


def test_a_tunnel_that_was_stopped_is_reported_of_no_more(host, dev):
    host.create()
    late = dev.reports["t1"]
    host.invoke("dev/disable", "t1")
    late(TunnelReport(status="error", error="the relay went", settings={"note": "late"}))
    row = host.row()
    assert (row["status"], "error" in row, "note" in row) == ("stopped", False, False)
    host.invoke("dev/enable", "t1")
    late(TunnelReport(status="error", error="the relay went"))
    assert host.row()["status"] == "running"
    host.invoke("dev/remove", "t1")
    dev.reports["t1"](running())
    assert host.read()["rows"] == []


def test_a_verb_may_report_of_a_tunnel_that_does_not_run(host):
    dev = ScriptedKind(operations=(RESTART, ANONYMOUS))
    host.offer(dev)
    host.create()
    host.invoke("dev/disable", "t1")
    dev.invoking = lambda name, tunnel, report, given: report(TunnelReport(settings={"note": "n"}))
    assert host.invoke("dev/restart", "t1")["note"] == "n"
    assert host.row()["status"] == "stopped"
