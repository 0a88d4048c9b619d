"""Connectors as records: made, kept, read back, opened, closed, and who may do that."""

import json

import attrs
import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from ahpd.interfaces import Check, RecordOptions, RecordsFailure, RpcError
from ahpd.record_store import FileRecordStore
from ahpd.record_store.memory import MemoryRecordStore
from ahpd.threads import in_thread
from ahpd.vault import MemoryVault

from .connectors_host import (
    KEY,
    ROOT,
    SCHEMA,
    ConnectorsHost,
    Directory,
    ScriptedAdapter,
    Tried,
    person,
)


def test_a_put_keeps_the_secret_in_the_vault_and_answers_the_row_with_a_reference(host, mail):
    row = host.put(title=" Work ", config={"key": KEY, "bot": "bot://x"})
    assert row == {
        "id": "work",
        "adapter": "mail",
        "owner": "host",
        "title": "Work",
        "config": {"key": {"$secret": "host:connector/work/key"}, "bot": "bot://x"},
        "state": "ready",
    }
    assert host.record() == {key: value for key, value in row.items() if key != "state"}
    assert host.vaulted() == {"host:connector/work/key": KEY}
    connector, _ = mail.opened["work"]
    assert connector.config == {"key": KEY, "bot": "bot://x"}
    assert (connector.id, connector.adapter, connector.owner) == ("work", "mail", "host")
    assert KEY not in repr(connector)


def test_a_new_connector_is_said_once_as_it_is_in_the_end(host, mail):
    host.put()
    assert [one["type"] for one in host.actions()] == ["x-ahpd-connectors/added"]
    assert host.actions()[0]["row"]["state"] == "ready"
    host.put(title="Other")
    assert host.actions("changed")[0]["row"]["title"] == "Other"
    assert len(host.actions()) == 2


@pytest.mark.parametrize("empty", ["", "<set>", {"$secret": "host:connector/work/key"}])
def test_a_secret_sent_empty_or_as_it_was_shown_keeps_what_is_held(host, mail, empty):
    host.put()
    host.put(config={"key": empty, "bot": "b"})
    assert host.vaulted() == {"host:connector/work/key": KEY}
    assert mail.opened["work"][0].config == {"key": KEY, "bot": "b"}
    assert mail.history == [
        ("open", "work"),
        ("check", "work"),
        ("stop", "work"),
        ("open", "work"),
        ("check", "work"),
    ]


def test_a_put_answers_with_the_check_it_waited_for(host, mail):
    waiting = Deferred()
    mail.checking = lambda connector: waiting
    put = host.begin("put", {"id": "a", "adapter": "mail", "owner": "host", "config": {"key": "k"}})
    assert not put.done
    assert host.row("a")["state"] == "ready"
    waiting.callback(Check(result="denied", message="no such key"))
    row = put.result()
    assert row["state"] == "unauthorized"
    assert [(one["level"], one["ref"], one["text"]) for one in row["alerts"]] == [
        ("error", "check", "no such key")
    ]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"id": "Work"}, "params.id must be"),
        ({"id": None}, "params.id must be"),
        ({"adapter": 3}, "params.adapter must be"),
        ({"adapter": "other"}, "this host serves no adapter other"),
        ({"owner": "everyone"}, "params.owner must be host, team:<team> or user:<id>"),
        ({"owner": "user:"}, "params.owner must be"),
        ({"owner": "user:a/b"}, "params.owner must be"),
        ({"title": 7}, "params.title must be text"),
        ({"config": []}, "params.config must be an object"),
        ({"config": {"bot": "b"}}, "params.config"),
        ({"config": {"key": KEY, "bot": 3}}, "params.config.bot must be text"),
        ({"config": {"key": KEY, "more": KEY}}, "params.config"),
    ],
)
def test_a_put_that_is_not_right_changes_nothing_and_repeats_no_secret(host, mail, params, words):
    asked = {"id": "work", "adapter": "mail", "owner": "host", "config": {"key": KEY}, **params}
    assert words in host.refused("put", asked)
    assert host.row() is None
    assert host.vaulted() == {}
    assert host.actions() == []


def test_a_host_connector_reads_a_variable_when_it_opens_and_keeps_its_name(mail, host):
    host.environ["MAIL_KEY"] = KEY
    host.put(config={"key": {"fromEnv": "MAIL_KEY"}})
    assert mail.opened["work"][0].config == {"key": KEY}
    assert host.record()["config"] == {"key": {"fromEnv": "MAIL_KEY"}}
    assert host.vaulted() == {}


@pytest.mark.parametrize("owner", ["user:ada", "team:core"])
def test_another_owner_s_connector_names_no_variable_and_nobody_else_s_secret(mail, host, owner):
    host.environ["MAIL_KEY"] = KEY
    Tried(host.vault.set("host:stripe", KEY)).result()
    asked = {"id": "work", "adapter": "mail", "owner": owner}
    for field in ({"fromEnv": "MAIL_KEY"}, {"$env": "MAIL_KEY"}):
        words = host.refused("put", {**asked, "config": {"key": field}})
        assert "variable of its environment" in words
    words = host.refused("put", {**asked, "config": {"key": {"$secret": "host:stripe"}}})
    assert "send its value" in words
    assert host.row() is None


def test_one_that_was_written_with_a_variable_by_hand_is_refused_again_when_it_opens(mail, host):
    host.environ["MAIL_KEY"] = KEY
    record = {
        "id": "hers",
        "adapter": "mail",
        "owner": "user:ada",
        "config": {"key": {"fromEnv": "MAIL_KEY"}},
    }
    Tried(host.service._kept._records.put(record)).result()
    assert host.row("hers")["state"] == "failed"
    assert mail.opened == {}
    assert host.alerts("hers") == [
        ("error", "open", "only a connector of the host's reads a variable of its environment")
    ]


def test_what_is_missing_is_an_alert_of_its_own_and_goes_once_it_is_there(mail, host):
    host.put(config={"key": {"fromEnv": "MAIL_KEY"}})
    assert host.row()["state"] == "failed"
    assert host.alerts() == [("error", "env:MAIL_KEY", "the environment holds no MAIL_KEY")]
    host.put(config={"key": KEY})
    assert host.row()["state"] == "ready"
    assert host.alerts() == []
    Tried(host.vault.delete("host:connector/work/key")).result()
    host.ask("enable", {"id": "work"})
    assert host.row()["state"] == "failed"
    name = "host:connector/work/key"
    assert host.alerts() == [("error", f"secret:{name}", f"the vault holds no {name}")]
    Tried(host.vault.set(name, KEY)).result()
    host.ask("enable", {"id": "work"})
    assert host.row()["state"] == "ready"
    assert "alerts" not in host.row()


def test_an_open_that_raises_leaves_it_stored_and_shown_without_a_secret(mail, host, logged):
    def failing(connector, view):
        raise OSError(f"the server said {connector.config['key']}: no")

    mail.opening = failing
    row = host.put()
    assert row["state"] == "failed"
    assert host.alerts() == [("error", "open", "the server said <set>: no")]
    assert host.record()["config"] == {"key": {"$secret": "host:connector/work/key"}}
    mail.opening = lambda connector, view: None
    host.ask("enable", {"id": "work"})
    assert host.alerts() == []
    assert not any(KEY in line for line in logged)


def test_an_open_that_does_not_answer_is_given_up_and_a_late_one_is_closed(mail, host):
    waiting, stopped = Deferred(lambda _: None), []
    mail.opening = lambda connector, view: waiting
    put = host.begin("put", {"id": "a", "adapter": "mail", "owner": "host", "config": {"key": "k"}})
    host.clock.advance(29.9)
    assert not put.done
    host.clock.advance(0.2)
    assert put.result()["state"] == "failed"
    assert host.alerts("a") == [("error", "open", "it did not open within 30 seconds")]
    host.ask("remove", {"id": "a"})
    assert stopped == []


def test_one_that_opens_too_late_is_closed_again(host):
    waiting, stopped = Deferred(), []

    async def stubborn(connector, view):
        try:
            await waiting
        except CancelledError:
            await late
        return lambda: stopped.append(connector.id)

    late = Deferred()
    scripted = ScriptedAdapter()
    scripted.adapter = attrs.evolve(scripted.adapter, open=stubborn)
    host.offer(scripted)
    put = host.begin("put", {"id": "a", "adapter": "mail", "owner": "host", "config": {"key": "k"}})
    host.clock.advance(30)
    assert put.result()["state"] == "failed"
    late.callback(None)
    assert stopped == ["a"]
    assert host.row("a")["state"] == "failed"


def test_one_whose_config_no_longer_fits_is_invalid_and_one_without_its_adapter_unavailable(host):
    first = ScriptedAdapter()
    host.offer(first)
    host.put()
    narrower = {**SCHEMA, "required": ["key", "bot"]}
    second = ScriptedAdapter(schema=narrower)
    host.offer(second)
    assert first.opened == {}
    assert host.row()["state"] == "invalid"
    assert second.history == []
    host.offer()
    assert host.row()["state"] == "unavailable"
    assert "alerts" not in host.row()
    host.offer(first)
    assert host.row()["state"] == "ready"
    assert host.record()["config"] == {"key": {"$secret": "host:connector/work/key"}}


def test_a_host_that_ends_before_its_connectors_are_read_says_nothing_of_them(tmp_path, logged):
    clock = Clock()
    store = FileRecordStore(tmp_path, in_thread(clock), clock, lambda line: None)
    ConnectorsHost(store=store).start()
    assert Tried(store.close()).result() is None
    assert not any("read" in line for line in logged)


def test_a_connector_is_closed_before_the_adapter_is_gone(host):
    scripted = ScriptedAdapter()
    host.offer(scripted)
    closing = Deferred()

    def opening(connector, view):
        done = Deferred()
        done.callback(lambda: closing)
        return done

    scripted.opening = opening
    host.put()
    leaving = Tried(host.service.contributed({}))
    assert not leaving.done
    closing.callback(None)
    assert leaving.done
    assert host.row()["state"] == "unavailable"


def test_what_is_kept_is_opened_again_by_the_next_host_without_waiting_for_checks(host, mail):
    host.put()
    host.put("off", config={"key": KEY})
    host.ask("disable", {"id": "off"})
    host.stop()
    scripted = ScriptedAdapter()
    waiting = Deferred()
    scripted.checking = lambda connector: waiting
    again = ConnectorsHost(store=host.store, vault=host.vault)
    again.offer(scripted)
    again.start()
    assert list(scripted.opened) == ["work"]
    assert scripted.opened["work"][0].config == {"key": KEY}
    assert again.row()["state"] == "ready"
    assert again.row("off")["state"] == "disabled"
    waiting.callback(Check(result="denied"))
    assert again.row()["state"] == "unauthorized"
    assert again.alerts() == [("error", "check", "the service refused the credentials")]


def test_the_adapter_may_come_after_the_records_were_read(host, mail):
    host.put()
    host.stop()
    again = ConnectorsHost(store=host.store, vault=host.vault).start()
    assert again.row()["state"] == "unavailable"
    again.offer(ScriptedAdapter())
    assert again.row()["state"] == "ready"


def test_what_is_no_connector_in_the_store_costs_itself_alone(logged):
    store = MemoryRecordStore()
    records = store.collection("connectors", RecordOptions(as_json=True))
    whole = {"id": "a", "adapter": "mail", "owner": "host", "config": {"key": "k"}}
    for record in (
        {"id": "b", "adapter": "mail", "owner": "host"},
        {"id": "c", "adapter": "mail", "owner": "nobody", "config": {}},
        {"id": "d", "owner": "host", "config": {}},
        whole,
    ):
        Tried(records.put(record)).result()
    host = ConnectorsHost(store=store).start()
    assert [row["id"] for row in host.service.connectors.rows] == ["a"]
    assert sum("is left out" in line for line in logged) == 3


def test_a_record_that_somebody_else_wrote_is_taken_up(host, mail):
    host.put()
    records = host.service._kept._records
    record = {**host.record(), "title": "By hand"}
    Tried(records.put(record)).result()
    assert host.row()["title"] == "By hand"
    assert mail.history.count(("open", "work")) == 2
    Tried(records.remove("work")).result()
    assert host.row() is None
    assert mail.opened == {}


def test_a_plain_secret_in_a_hand_written_record_is_shown_to_nobody(host, mail):
    record = {"id": "a", "adapter": "mail", "owner": "host", "config": {"key": KEY}}
    Tried(host.service._kept._records.put(record)).result()
    assert host.row("a")["config"] == {"key": "<set>"}
    assert mail.opened["a"][0].config == {"key": KEY}


def test_while_its_adapter_is_gone_nothing_of_a_record_is_shown_and_nothing_is_lost(host, mail):
    config = {"key": KEY, "bot": "the bot"}
    record = {"id": "a", "adapter": "mail", "owner": "host", "config": config}
    host.offer()
    Tried(host.service._kept._records.put(record)).result()
    shown = host.row("a")["config"]
    assert (host.row("a")["state"], shown) == ("unavailable", {"key": "<set>", "bot": "<set>"})
    host.offer(mail)
    assert host.row("a")["config"] == {"key": "<set>", "bot": "the bot"}
    host.put("a", title="Renamed", config=shown)
    assert host.record("a")["config"] == {
        "key": {"$secret": "host:connector/a/key"},
        "bot": "the bot",
    }
    assert host.vaulted() == {"host:connector/a/key": KEY}


def test_references_are_shown_as_they_are_while_the_adapter_is_gone(host, mail):
    named = {"key": {"$secret": "host:stripe"}, "list": [{"fromEnv": "K"}, "text", 5, True]}
    record = {"id": "a", "adapter": "mail", "owner": "host", "config": named}
    host.offer()
    Tried(host.service._kept._records.put(record)).result()
    assert host.row("a")["config"] == {**named, "list": [{"fromEnv": "K"}, "<set>", "<set>", True]}


def test_a_record_of_another_adapter_is_not_shown_by_the_schema_of_the_last(host, mail):
    records = host.service._kept._records
    record = {"id": "a", "adapter": "mail", "owner": "host", "config": {"key": KEY}}
    Tried(records.put(record)).result()
    Tried(records.put({**record, "adapter": "gone", "config": {"other": KEY}})).result()
    assert host.row("a")["state"] == "unavailable"
    assert host.row("a")["config"] == {"other": "<set>"}
    Tried(records.put({**record, "enabled": False})).result()
    assert (host.row("a")["state"], host.row("a")["config"]) == ("disabled", {"key": "<set>"})


def test_what_stands_for_nothing_is_refused_by_its_place(host, mail):
    host.put()
    asked = {"id": "work", "adapter": "mail", "owner": "host", "config": {"bot": "<set>"}}
    words = "params.config.bot is <set> and stands for nothing that is held: send its value"
    assert host.refused("put", asked) == words
    assert host.record()["config"] == {"key": {"$secret": "host:connector/work/key"}}


def test_a_removed_connector_is_closed_and_leaves_no_record_and_no_secret(host, mail):
    host.put()
    assert host.ask("remove", {"id": "work"}) == {}
    assert mail.opened == {}
    assert host.row() is None
    assert host.record() is None
    assert host.vaulted() == {}
    assert host.actions()[-1] == {"type": "x-ahpd-connectors/removed", "id": "work"}
    assert "There is no connector work" in host.refused("remove", {"id": "work"})


def test_one_that_is_off_is_closed_and_stays_off_through_puts_and_restarts(host, mail):
    host.put()
    mail.checking = lambda connector: Check(result="denied")
    host.ask("check", {"id": "work"})
    row = host.ask("disable", {"id": "work"})
    assert (row["state"], row["enabled"]) == ("disabled", False)
    assert "alerts" not in row
    assert mail.opened == {}
    before = list(mail.history)
    row = host.put(title="Renamed")
    assert (row["state"], row["title"]) == ("disabled", "Renamed")
    assert mail.history == before
    assert "is disabled: it is not open" in host.refused("check", {"id": "work"})
    assert host.service.refused("mail", "work", "host") is None
    row = host.ask("enable", {"id": "work"})
    assert (row["state"], row["enabled"]) == ("unauthorized", True)


def test_a_put_under_a_new_owner_keeps_nothing_of_the_old_one_s_secrets(host, mail):
    host.put()
    assert "params.config" in host.refused(
        "put", {"id": "work", "adapter": "mail", "owner": "user:ada", "config": {"key": ""}}
    )
    shown = host.row()["config"]
    words = host.refused(
        "put", {"id": "work", "adapter": "mail", "owner": "user:ada", "config": shown}
    )
    assert "send its value" in words
    row = host.put(owner="user:ada", config={"key": "new"})
    assert row["config"] == {"key": {"$secret": "user:ada/connector/work/key"}}
    assert host.vaulted() == {"user:ada/connector/work/key": "new"}


def test_a_put_of_another_adapter_under_the_same_id_keeps_no_secret_either(host, mail):
    other = ScriptedAdapter(name="chat")
    host.offer(mail, other)
    host.put()
    words = host.refused(
        "put", {"id": "work", "adapter": "chat", "owner": "host", "config": {"key": "<set>"}}
    )
    assert "params.config" in words
    host.put(adapter="chat", config={"key": "other"})
    assert mail.opened == {}
    assert other.opened["work"][0].config == {"key": "other"}


def test_a_secret_field_that_names_a_variable_now_leaves_the_vault(host, mail):
    host.put()
    host.environ["K"] = "v"
    host.put(config={"key": {"fromEnv": "K"}})
    assert host.vaulted() == {}


def test_a_store_that_does_not_keep_it_leaves_no_secret_behind(host, mail):
    async def failing(record):
        raise RecordsFailure("the disk is full")

    host.service._kept._records.put = failing
    words = host.refused(
        "put", {"id": "work", "adapter": "mail", "owner": "host", "config": {"key": KEY}}
    )
    assert words == "The connector work was not kept: the disk is full"
    assert host.vaulted() == {}
    assert host.row() is None


def test_a_put_that_is_not_kept_leaves_the_connector_its_record_and_its_key(host, mail):
    host.put()
    record = host.record()

    async def failing(record):
        raise RecordsFailure("the disk is full")

    host.service._kept._records.put = failing
    for adapter in ("mail", "other"):
        host.offer(mail, ScriptedAdapter(name="other"))
        params = {"id": "work", "adapter": adapter, "owner": "host", "config": {"key": "new-key"}}
        assert host.refused("put", params) == "The connector work was not kept: the disk is full"
        assert (host.record(), host.vaulted()) == (record, {"host:connector/work/key": KEY})
    assert host.row()["state"] == "ready"
    assert mail.opened["work"][0].config["key"] == KEY


# -- automations ---------------------------------------------------------------------------

STARTS = {
    "type": "object",
    "properties": {"fires": {"type": "string", "x-ahpd-automation": True}},
}


def test_a_field_that_names_an_automation_is_asked_about_for_the_owner():
    asked = []

    def known(identifier, owner):
        asked.append((identifier, owner))
        return identifier == "nightly"

    host = ConnectorsHost(automations=known).start()
    host.offer(ScriptedAdapter(name="hook", schema=STARTS))
    row = host.put(adapter="hook", owner="user:ada", config={"fires": "nightly"})
    assert row["state"] == "ready"
    assert asked == [("nightly", "user:ada")]
    host.put("b", adapter="hook", config={"fires": ""})
    words = host.refused(
        "put", {"id": "c", "adapter": "hook", "owner": "host", "config": {"fires": "other"}}
    )
    assert words == "params.config.fires names no automation that the connector may start"


def test_a_host_without_automations_has_none_to_name(host):
    host.offer(ScriptedAdapter(name="hook", schema=STARTS))
    words = host.refused(
        "put", {"id": "c", "adapter": "hook", "owner": "host", "config": {"fires": "nightly"}}
    )
    assert "names no automation" in words


# -- who may ------------------------------------------------------------------------------

PUT = "connector:put"


def directory(**more):
    return Directory(
        {
            "user:ada": {PUT, "connector:remove", "connector:list"},
            "user:bob": {PUT, "connector:list"},
            "user:ops": {PUT, "connector:remove", "connector:host", "connector:list"},
            "user:eve": {"connector:list"},
            "user:all": {"connector:all"},
        },
        {"user:ada": ["core"], "user:bob": ["core"]},
    )


@pytest.fixture
def shared():
    host = ConnectorsHost(access=directory()).start()
    host.offer(ScriptedAdapter())
    return host


@pytest.mark.parametrize(
    ("who", "owner", "lets"),
    [
        ("user:ada", "user:ada", True),
        ("user:ada", "team:core", True),
        ("user:ada", "user:bob", False),
        ("user:ada", "team:other", False),
        ("user:ada", "host", False),
        ("user:ops", "host", True),
        ("user:ops", "user:ada", False),
        ("user:eve", "user:eve", False),
        ("user:all", "user:all", False),
        (None, "user:ada", True),
        (None, "host", True),
    ],
)
def test_the_owner_narrows_the_grant_to_put(shared, who, owner, lets):
    params = {"id": "x", "adapter": "mail", "owner": owner, "config": {"key": KEY}}
    if lets:
        assert shared.ask("put", params, person(who))["owner"] == owner
    else:
        with pytest.raises(RpcError) as found:
            shared.ask("put", params, person(who))
        assert found.value.code == -32009
        assert shared.row("x") is None


def test_a_remove_needs_its_own_grant_and_a_host_connector_the_host_s(shared):
    shared.put("t", owner="team:core")
    shared.put("h")
    assert "connector:remove is needed" in shared.refused("remove", {"id": "t"}, person("user:bob"))
    assert "connector:host is needed" in shared.refused("remove", {"id": "h"}, person("user:ada"))
    assert shared.ask("remove", {"id": "t"}, person("user:ada")) == {}
    assert shared.ask("remove", {"id": "h"}, person("user:ops")) == {}


def test_to_take_a_connector_over_needs_what_removing_it_does(shared):
    shared.put("t", owner="team:core")
    params = {"id": "t", "adapter": "mail", "config": {"key": KEY}}
    mine = {**params, "owner": "user:bob"}
    assert "connector:remove is needed" in shared.refused("put", mine, person("user:bob"))
    theirs = {**params, "owner": "user:ops"}
    assert "is theirs to change" in shared.refused("put", theirs, person("user:ops"))
    hers = {**params, "owner": "user:ada"}
    assert shared.ask("put", hers, person("user:ada"))["owner"] == "user:ada"
    assert list(shared.vaulted()) == ["user:ada/connector/t/key"]


@pytest.mark.parametrize("verb", ["check", "disable", "enable"])
def test_a_switch_and_a_check_are_the_owner_s_or_the_plugin_s(shared, verb):
    shared.put("hers", owner="user:ada")
    asked = {"id": "hers"}
    for stranger in ("user:bob", "user:eve", "plugin:other"):
        with pytest.raises(RpcError) as found:
            shared.ask(verb, asked, person(stranger))
        with pytest.raises(RpcError) as guessed:
            shared.ask(verb, {"id": "none"}, person(stranger))
        assert found.value.code == guessed.value.code == -32008
        assert found.value.message.replace("hers", "none") == guessed.value.message
    for one in ("user:ada", "plugin:acme"):
        shared.ask("enable", asked)
        assert shared.ask(verb, asked, person(one))["id"] == "hers"
    method = shared.methods[f"x-ahpd/connectors/{verb}"]
    assert method.grant == PUT
    assert method.authorize(asked, person("plugin:acme")) is True
    assert method.authorize(asked, person("plugin:other")) is False
    assert method.authorize({"id": ["no"]}, person("plugin:acme")) is False


def listed(host, who, uri="x-ahpd-connectors://"):
    state = host.service.connectors.channel.snapshot(uri, person(who))
    return [row["id"] for row in state["rows"]]


def test_a_reader_sees_their_own_their_teams_and_the_host_s(shared):
    for identifier, owner in (
        ("h", "host"),
        ("t", "team:core"),
        ("a", "user:ada"),
        ("b", "user:bob"),
    ):
        shared.put(identifier, owner=owner)
    assert listed(shared, "user:ada") == ["h", "t", "a"]
    assert listed(shared, "user:eve") == ["h"]
    assert listed(shared, "user:all") == ["h", "t", "a", "b"]
    assert listed(shared, None) == ["h", "t", "a", "b"]
    assert listed(shared, "user:ada", "x-ahpd-connectors://?owner=me") == ["a"]
    channel = shared.service.connectors.channel
    assert channel.grant == "connector:list"
    assert channel.authorize("x-ahpd-connectors://", person("user:all")) is True
    assert channel.authorize("x-ahpd-connectors://", person("user:nobody")) is False


# -- what others ask of them --------------------------------------------------------------


def test_choices_are_told_when_one_comes_is_renamed_or_goes(host, mail):
    host.put()
    assert host.lists[-1] == [{"id": "work", "adapter": "mail", "owner": "host"}]
    told = len(host.lists)
    host.put(config={"key": "another"})
    assert len(host.lists) == told
    host.put(title="Work")
    assert host.lists[-1][0]["title"] == "Work"
    host.ask("remove", {"id": "work"})
    assert host.lists[-1] == []


def test_a_record_may_name_the_host_s_connectors_and_its_own_owner_s(host, mail):
    host.put("h")
    host.put("a", owner="user:ada")
    assert host.service.refused("mail", "h", "user:bob") is None
    assert host.service.refused("mail", "a", "user:ada") is None
    guessed = host.service.refused("mail", "none", "user:bob")
    assert host.service.refused("mail", "a", "user:bob") == guessed
    assert "names no connector of chat" in host.service.refused("chat", "h", "host")
    assert "names no connector of mail" in host.service.refused("mail", {"no": 1}, "host")


# -- the operations -------------------------------------------------------------------------


def test_the_operations_run_the_commands_with_their_rules(shared):
    shared.put("hers", owner="user:ada")
    of = shared.service.operations()
    by_id = {one.id: one for one in of.list()}
    assert {one.id: one.grant for one in of.list()} == {
        "enable": PUT,
        "disable": PUT,
        "remove": "connector:remove",
    }
    assert by_id["remove"].confirmation
    assert tuple(of.offered(shared.row("hers"))) == ("disable", "remove")
    with pytest.raises(RpcError):
        Tried(of.invoke(by_id["disable"], "hers", None, person("user:bob"))).result()
    row = Tried(of.invoke(by_id["disable"], "hers", None, person("user:ada"))).result()
    assert row["state"] == "disabled"
    assert tuple(of.offered(shared.row("hers"))) == ("enable", "remove")
    Tried(of.invoke(by_id["enable"], "hers", None, ROOT)).result()
    with pytest.raises(RpcError):
        Tried(of.invoke(by_id["remove"], "hers", None, person("user:bob"))).result()
    assert Tried(of.invoke(by_id["remove"], "hers", None, person("user:ada"))).result() is None
    assert shared.row("hers") is None


# -- the end -----------------------------------------------------------------------------


def test_a_stop_closes_every_connector_and_waits_for_that(host, mail):
    host.put("a")
    host.put("b")
    assert host.stop()
    assert mail.opened == {}
    assert not host.clock.getDelayedCalls()


def test_a_command_waits_until_the_records_were_read(mail, host):
    late = ConnectorsHost()
    late.offer(ScriptedAdapter())
    put = late.begin("put", {"id": "a", "adapter": "mail", "owner": "host", "config": {"key": "k"}})
    assert not put.done
    late.start()
    assert put.result()["state"] == "ready"


def test_over_files_each_is_one_json_file_that_the_next_host_reads(tmp_path):
    def made():
        clock = Clock()
        files = FileRecordStore(tmp_path, in_thread(clock), clock, lambda line: None)
        files.open()
        host = ConnectorsHost(store=files, vault=vault).start()
        host.scripted = ScriptedAdapter()
        host.offer(host.scripted)
        return host, clock

    vault = MemoryVault()
    host, clock = made()
    host.put(title="Work")
    path = tmp_path / "connectors" / "work.json"
    written = json.loads(path.read_text())
    assert written["config"] == {"key": {"$secret": "host:connector/work/key"}}
    for _ in range(20):
        clock.advance(1)
    assert host.scripted.history == [("open", "work"), ("check", "work")]
    path.write_text(json.dumps({**written, "title": "By hand"}))
    for _ in range(20):
        clock.advance(1)
    assert host.row()["title"] == "By hand"
    host.stop()
    again, _ = made()
    assert again.row()["title"] == "By hand"
    assert again.scripted.opened["work"][0].config == {"key": KEY}
    again.ask("remove", {"id": "work"})
    assert not path.exists()
