"""The secrets of tunnels: kept in the vault, handed to the kind, shown and logged nowhere."""

import json

import pytest

from ahpd.interfaces import PluginError, RecordsFailure, SecretFailure, TunnelReport
from ahpd.record_store.memory import MemoryRecordStore
from ahpd.vault import MemoryVault

from .tunnels_host import SCHEMA, TOKEN, ScriptedKind, TunnelsHost, outcome, running

REFERENCE = {"$secret": "host:tunnel/t1/token"}


def everything_said(host):
    """What any client was sent, and what is kept beside the vault."""
    return json.dumps([host.window.received, host.read(), host.record(), host.reported])


def test_a_secret_goes_to_the_vault_and_is_on_no_row(host, dev):
    made = host.create(token=TOKEN)
    assert "token" not in made
    assert host.record()["token"] == REFERENCE
    assert host.vaulted() == {"host:tunnel/t1/token": TOKEN}
    assert dev.running["t1"].settings == {"port": 1, "token": TOKEN}
    assert TOKEN not in repr(dev.running["t1"])
    assert TOKEN not in everything_said(host)


@pytest.mark.parametrize("sent", [{}, {"token": ""}, {"token": "<set>"}])
def test_a_secret_that_is_sent_empty_or_not_at_all_keeps_what_is_held(host, dev, sent):
    host.create(token=TOKEN)
    host.invoke("dev/update", "t1", {"port": 2, **sent})
    assert host.record()["token"] == REFERENCE
    assert host.vaulted() == {"host:tunnel/t1/token": TOKEN}
    assert dev.running["t1"].settings == {"port": 2, "token": TOKEN}
    if sent:
        assert dev.history[-1] == ("update", "t1", {"port": 2, "token": TOKEN})


def test_a_secret_within_a_setting_is_kept_too_where_the_setting_is_sent_as_it_is_shown(host):
    token = {"type": "string", "title": "Token", "secret": True}
    auth = {"type": "object", "properties": {"user": {"type": "string"}, "token": token}}
    dev = ScriptedKind(schema={"type": "object", "properties": {"auth": auth}})
    host.offer(dev)
    host.invoke("dev/create", value={"auth": {"user": "ada", "token": TOKEN}})
    assert host.row()["auth"] == {"user": "ada"}
    host.invoke("dev/update", "t1", {"auth": {**host.row()["auth"], "user": "bo"}})
    assert dev.running["t1"].settings == {"auth": {"user": "bo", "token": TOKEN}}
    host.invoke("dev/update", "t1", {"auth": {"user": "bo", "token": None}})
    assert dev.running["t1"].settings == {"auth": {"user": "bo"}}
    host.invoke("dev/update", "t1", {"auth": None})
    assert dev.running["t1"].settings == {}
    assert host.vaulted() == {}


NESTED = {
    "type": "object",
    "properties": {
        "port": {"type": "integer"},
        "note": {"type": "string"},
        "login": {
            "type": "object",
            "properties": {
                "user": {"type": "string"},
                "key": {"type": "string", "secret": True},
            },
        },
        "keys": {"type": "array", "items": {"type": "string", "secret": True}},
    },
}


def test_settings_that_are_sent_back_as_a_row_has_them_keep_every_secret(host):
    dev = ScriptedKind(schema=NESTED)
    host.offer(dev)
    whole = {"login": {"user": "ada", "key": TOKEN}, "keys": ["key-one", "key-two"]}
    host.create(**whole)
    shown = {name: host.row()[name] for name in NESTED["properties"] if name in host.row()}
    assert shown == {"port": 1, "login": {"user": "ada"}}
    dev.reports["t1"](TunnelReport(url=f"https://{TOKEN}/"))
    assert host.row()["url"] == "https://<set>/"
    host.invoke("dev/update", "t1", {**host.row(), "port": 2})
    assert dev.running["t1"].settings == {"port": 2, **whole}
    host.invoke("dev/update", "t1", {"login": {"user": "bob", "key": None}, "keys": ["<set>", "3"]})
    settings = {"port": 2, "login": {"user": "bob"}, "keys": ["key-one", "3"]}
    assert dev.running["t1"].settings == settings


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"note": "<set>"}, "note"),
        ({"login": {"user": "<set>"}}, "login.user"),
        ({"keys": ["<set>"]}, "keys[0]"),
    ],
)
def test_what_stands_for_nothing_is_refused_by_its_place(host, given, place):
    host.offer(ScriptedKind(schema=NESTED))
    host.create(keys=["key-one", "key-two"], login={"key": TOKEN})
    before = host.record()
    words = f"params.input.{place} is <set> and stands for nothing"
    assert host.refused("dev/update", "t1", given)[0].startswith(words)
    assert host.record() == before
    assert words in host.refused("dev/create", value={"port": 2, **given})[0]


def test_words_of_a_kind_that_cannot_be_sent_are_made_such(host, dev):
    def failing(tunnel, report):
        report(TunnelReport(url="https://half \ud800/", error="half \ud800"))
        with pytest.raises(PluginError, match="half a character"):
            report(TunnelReport(settings={"note": "half \ud800"}))
        raise RuntimeError("half \ud800")

    host.create()
    dev.updating = lambda tunnel, given, report: failing(tunnel, report)
    assert host.refused("dev/update", "t1", {"port": 2})[0] == "half \\ud800"
    assert (host.row()["url"], host.row()["error"]) == ("https://half \\ud800/", "half \\ud800")


def test_a_secret_may_be_sent_empty_although_the_schema_asks_for_more_of_one(host):
    token = {"type": "string", "title": "Token", "secret": True, "minLength": 8}
    schema = {"type": "object", "properties": {"token": token}, "required": ["token"]}
    dev = ScriptedKind(schema=schema)
    host.offer(dev)
    assert "params.input" in host.refused("dev/create", value={"token": ""})[0]
    host.invoke("dev/create", value={"token": TOKEN})
    host.invoke("dev/update", "t1", {"token": ""})
    assert dev.running["t1"].settings == {"token": TOKEN}
    assert "params.input.token" in host.refused("dev/update", "t1", {"token": "short"})[0]


def test_another_secret_takes_the_place_of_the_one_that_was(host, dev):
    host.create(token=TOKEN)
    host.invoke("dev/update", "t1", {"token": "tok-second", "port": 1})
    assert host.vaulted() == {"host:tunnel/t1/token": "tok-second"}
    assert dev.running["t1"].settings["token"] == "tok-second"


def test_a_secret_a_kind_reports_is_moved_and_a_blank_one_keeps_what_is_held(host, dev):
    host.create(token=TOKEN)
    report = dev.reports["t1"]
    report(TunnelReport(settings={"token": "", "note": "n"}))
    assert host.vaulted() == {"host:tunnel/t1/token": TOKEN}
    report(TunnelReport(settings={"token": "tok-refreshed"}))
    assert host.vaulted() == {"host:tunnel/t1/token": "tok-refreshed"}
    assert host.record()["token"] == REFERENCE
    assert "tok-refreshed" not in everything_said(host)
    seen = []
    dev.updating = lambda tunnel, given, told: seen.append(tunnel.settings["token"])
    host.invoke("dev/update", "t1", {"port": 2})
    assert seen == ["tok-refreshed"]


def test_a_secret_that_was_refreshed_is_kept_although_the_tunnel_then_did_not_start(host, dev):
    host.create(token=TOKEN)
    host.invoke("dev/disable", "t1")

    def creating(tunnel, report):
        report(TunnelReport(settings={"token": "tok-refreshed"}))
        raise RuntimeError("no relay has room")

    dev.creating = creating
    host.refused("dev/enable", "t1")
    assert host.row()["status"] == "error"
    assert host.vaulted() == {"host:tunnel/t1/token": "tok-refreshed"}


def test_no_words_of_a_kind_carry_a_secret(host, dev, logged):
    def raising(*given):
        raise RuntimeError(f"401 for {TOKEN}\nand for {TOKEN}")

    def telling(tunnel, report):
        report(TunnelReport(status="error", error=f"no {TOKEN}", url=f"https://x/?t={TOKEN}"))

    dev.creating = raising
    assert host.refused("dev/create", value={"port": 1, "token": TOKEN})[0] == (
        "401 for <set> and for <set>"
    )
    dev.creating = telling
    made = host.create(token=TOKEN)
    assert (made["error"], made["url"]) == ("no <set>", "https://x/?t=<set>")
    dev.updating = dev.invoking = dev.removing = raising
    identifier = made["id"]
    host.refused("dev/update", identifier, {"port": 2})
    host.refused("dev/update", identifier, {"port": 2, "token": TOKEN + "-new"})
    host.refused("dev/anonymous", identifier, {"on": True})
    host.refused("dev/disable", identifier)
    host.refused("dev/create", value={"port": TOKEN})
    host.offer()
    outcome(host.service.stopService())
    assert TOKEN not in everything_said(host)
    assert TOKEN not in "".join(logged)


def test_the_secret_of_a_change_that_was_refused_is_not_kept(host, dev):
    host.create(token=TOKEN)

    def updating(tunnel, given, report):
        raise ValueError("no")

    dev.updating = updating
    host.refused("dev/update", "t1", {"port": 2, "token": "tok-second"})
    assert host.vaulted() == {"host:tunnel/t1/token": TOKEN}


def test_a_reference_is_read_when_the_tunnel_starts(logged):
    environ = {"RELAY_TOKEN": TOKEN}
    host = TunnelsHost(environ=environ)
    host.listen()
    dev = ScriptedKind()
    host.offer(dev)
    host.create(token={"fromEnv": "RELAY_TOKEN"})
    assert host.record()["token"] == {"fromEnv": "RELAY_TOKEN"}
    assert dev.running["t1"].settings["token"] == TOKEN
    assert "token" not in host.row()
    host.invoke("dev/disable", "t1")
    environ.clear()
    words, _ = host.refused("dev/enable", "t1")
    assert "RELAY_TOKEN" in words
    assert (host.row()["status"], host.row()["error"]) == ("error", words)
    assert TOKEN not in "".join(logged)


def test_what_a_reference_reads_as_is_in_no_words_although_its_field_is_no_secret(logged):
    host = TunnelsHost(environ={"NOTE": TOKEN})
    host.listen()
    dev = ScriptedKind()
    dev.creating = lambda tunnel, report: report(running(url=f"https://{tunnel.settings['note']}/"))
    host.offer(dev)
    made = host.create(note={"fromEnv": "NOTE"})
    assert made["note"] == {"fromEnv": "NOTE"}
    assert dev.running["t1"].settings["note"] == TOKEN
    assert made["url"] == "https://<set>/"
    assert TOKEN not in everything_said(host) + "".join(logged)


def test_another_records_secret_is_nobodys_to_name(host, dev):
    host.create(token=TOKEN)
    words, _ = host.refused("dev/create", value={"port": 1, "token": REFERENCE})
    assert "kept for another record" in words
    assert [row["id"] for row in host.read()["rows"]] == ["t1"]


def test_a_nested_secret_is_on_no_row_either(host):
    login = {
        "type": "object",
        "properties": {"user": {"type": "string"}, "key": {"type": "string", "secret": True}},
    }
    schema = {
        "type": "object",
        "properties": {
            "login": login,
            "many": {"type": "array", "items": login},
            "shown": {"type": "string", "writeOnly": True},
        },
    }
    dev = ScriptedKind(schema=schema)
    host.offer(dev)
    given = {
        "login": {"user": "ada", "key": TOKEN},
        "many": [{"user": "bob", "key": TOKEN}],
        "shown": TOKEN,
    }
    made = host.invoke("dev/create", value=given)
    assert made["login"] == {"user": "ada"}
    assert made["many"] == [{"user": "bob"}]
    assert "shown" not in made
    assert dev.running["t1"].settings == given
    assert TOKEN not in everything_said(host)
    host.invoke("dev/update", "t1", {"login": {"user": "ada", "key": ""}})
    assert dev.running["t1"].settings == given


def test_settings_of_a_kind_nobody_ever_registered_are_not_shown():
    host = TunnelsHost(start=False)
    host.write({"id": "old", "kind": "gone", "port": 1, "token": TOKEN})
    host.service.startService()
    host.listen()
    row = host.row("old")
    assert row == {
        "id": "old",
        "kind": "gone",
        "purpose": "person",
        "enabled": True,
        "status": "stopped",
        "operations": ["gone/remove"],
    }


class Full(MemoryVault):
    """A vault with no room."""

    full = False

    async def set(self, name, value):
        if self.full:
            raise SecretFailure(f"{name} cannot be kept: the disk is full")
        await super().set(name, value)


def test_a_vault_that_keeps_nothing_makes_no_tunnel_and_changes_none():
    vault = Full()
    host = TunnelsHost(vault=vault)
    host.listen()
    dev = ScriptedKind()
    host.offer(dev)
    host.create(token=TOKEN)
    vault.full = True
    words, _ = host.refused("dev/create", value={"port": 1, "token": TOKEN})
    assert "the disk is full" in words
    assert host.record("t2") is None
    host.refused("dev/update", "t1", {"port": 2, "token": "tok-second"})
    assert host.vaulted() == {"host:tunnel/t1/token": TOKEN}
    assert host.record()["token"] == REFERENCE


class FullStore(MemoryRecordStore):
    """A record store with no room."""

    full = False

    def collection(self, name, options):
        held = super().collection(name, options)
        put = held.put

        async def guarded(record):
            if self.full:
                raise RecordsFailure("records tunnels: no space left")
            await put(record)

        held.put = guarded
        return held


@pytest.mark.parametrize("live", [False, True])
def test_a_store_that_keeps_no_change_leaves_a_tunnel_its_secret(live):
    store = FullStore()
    host = TunnelsHost(records=store)
    host.listen()
    dev = ScriptedKind(updates=live)
    host.offer(dev)
    host.invoke("dev/create", value={"port": 1, "token": TOKEN})
    store.full = True
    words, _ = host.refused("dev/update", "t1", {"port": 2, "token": "tok-second"})
    assert words == "the tunnel was not kept: records tunnels: no space left"
    assert host.vaulted() == {"host:tunnel/t1/token": TOKEN}


def test_a_store_that_keeps_nothing_makes_no_tunnel_and_leaves_no_secret():
    store = FullStore()
    host = TunnelsHost(records=store)
    host.listen()
    dev = ScriptedKind()
    host.offer(dev)
    store.full = True
    words, _ = host.refused("dev/create", value={"port": 1, "token": TOKEN})
    assert words == "the tunnel was not kept: records tunnels: no space left"
    assert dev.history == []
    assert host.vaulted() == {}
    assert host.read()["rows"] == []
    assert SCHEMA["properties"]["token"]["secret"] is True
