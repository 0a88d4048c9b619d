"""Checks, calls and refreshed secrets: what a connector's row says of them."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.interfaces import Check, DeviceCode, DeviceSignIn, RecordsFailure, RpcError
from ahpd.testing.planted import planted

from .connectors_host import KEY, ScriptedAdapter, Tried, person

PLUGIN = person("plugin:acme")


@pytest.mark.parametrize(
    ("answer", "state", "alert"),
    [
        (Check(result="ok"), "ready", None),
        (Check(result="denied", message="bad key"), "unauthorized", ("error", "bad key")),
        (
            Check(result="denied"),
            "unauthorized",
            ("error", "the service refused the credentials"),
        ),
        (Check(result="unreachable"), "ready", ("warning", "the service did not answer")),
        (Check(result="failed", message=f"{KEY} is odd"), "ready", ("warning", "<set> is odd")),
        ("yes", "ready", ("warning", "its adapter answered no Check")),
        (Check(result="maybe"), "ready", ("warning", "its adapter answered no Check")),
    ],
)
def test_what_a_check_answers_is_shown(host, mail, answer, state, alert):
    mail.checking = lambda connector: answer
    assert host.put()["state"] == state
    expected = [] if alert is None else [(alert[0], "check", alert[1])]
    assert host.alerts() == expected
    mail.checking = lambda connector: Check(result="ok")
    row = host.ask("check", {"id": "work"})
    assert row["state"] == "ready"
    assert "alerts" not in row


def test_a_check_that_raises_failed_with_its_words(host, mail, logged):
    def raising(connector):
        raise OSError(f"cannot use {connector.config['key']}")

    mail.checking = raising
    host.put()
    assert host.row()["state"] == "ready"
    assert host.alerts() == [("warning", "check", "cannot use <set>")]
    assert not any(KEY in line for line in logged)


def test_a_check_that_does_not_answer_in_ten_seconds_is_unreachable(host, mail):
    waiting = Deferred()
    mail.checking = lambda connector: waiting
    put = host.begin("put", {"id": "a", "adapter": "mail", "owner": "host", "config": {"key": KEY}})
    host.clock.advance(9.9)
    assert not put.done
    host.clock.advance(0.1)
    assert put.result()["state"] == "ready"
    assert host.alerts("a") == [("warning", "check", "no answer within 10 seconds")]


def test_what_a_check_says_of_a_connector_that_was_closed_meanwhile_is_passed_over(host, mail):
    waiting = Deferred()
    mail.checking = lambda connector: waiting
    put = host.begin("put", {"id": "a", "adapter": "mail", "owner": "host", "config": {"key": KEY}})
    host.ask("disable", {"id": "a"})
    waiting.callback(Check(result="denied"))
    assert put.result()["state"] == "disabled"
    assert "alerts" not in host.row("a")


def test_an_adapter_without_a_check_has_none_to_run(host):
    host.offer(ScriptedAdapter(check=None))
    assert host.put()["state"] == "ready"
    assert host.refused("check", {"id": "work"}) == "The mail has no check."


def test_another_alert_of_a_kind_replaces_the_first_and_says_when(host, mail):
    host.put()
    mail.checking = lambda connector: Check(result="unreachable", message="one")
    host.ask("check", {"id": "work"})
    host.clock.advance(60)
    mail.checking = lambda connector: Check(result="denied", message="two")
    host.ask("check", {"id": "work"})
    assert host.row()["alerts"] == [
        {"level": "error", "text": "two", "ref": "check", "at": "2026-01-02T03:05:05.000Z"}
    ]


# -- notes ---------------------------------------------------------------------------------


def test_the_adapter_s_plugin_notes_calls_it_made_itself(host, mail):
    host.put()
    row = host.ask("note", {"id": "work", "ok": False, "error": f"{KEY} timed out"}, PLUGIN)
    assert [(one["level"], one["ref"], one["text"]) for one in row["alerts"]] == [
        ("warning", "call", "<set> timed out")
    ]
    host.ask("note", {"id": "work", "ok": False, "status": 503}, PLUGIN)
    assert host.alerts() == [("warning", "call", "HTTP 503")]
    host.ask("note", {"id": "work", "ok": False, "error": "x" * 900}, PLUGIN)
    assert host.alerts() == [("warning", "call", "x" * 500)]
    assert "alerts" not in host.ask("note", {"id": "work", "ok": True}, PLUGIN)


@pytest.mark.parametrize("who", [None, "user:ada", "plugin:other"])
@pytest.mark.parametrize(
    ("verb", "params"),
    [("note", {"ok": True}), ("secret", {"values": {"key": "new"}})],
)
def test_nobody_else_notes_a_call_or_refreshes_a_secret(host, mail, who, verb, params):
    host.put()
    with pytest.raises(RpcError) as found:
        host.ask(verb, {"id": "work", **params}, person(who))
    assert found.value.code == -32009
    assert host.vaulted() == {"host:connector/work/key": KEY}
    assert host.methods[f"x-ahpd/connectors/{verb}"].grant == ""


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"ok": "no"}, "params.ok must be"),
        ({"ok": False, "status": True}, "params.status must be"),
        ({"ok": False, "error": 3}, "params.error must be"),
    ],
)
def test_a_note_that_is_none_is_refused(host, mail, params, words):
    host.put()
    assert words in host.refused("note", {"id": "work", **params}, PLUGIN)


def test_only_an_open_connector_is_noted_of_and_refreshed(host, mail):
    host.put()
    host.ask("disable", {"id": "work"})
    assert "is not open" in host.refused("note", {"id": "work", "ok": True}, PLUGIN)
    asked = {"id": "work", "values": {"key": "new"}}
    assert "is not open" in host.refused("secret", asked, PLUGIN)


def test_what_the_check_of_another_adapter_said_goes_with_it(host, mail):
    mail.checking = lambda connector: Check(result="denied", message="says denied")
    host.put()
    host.ask("note", {"id": "work", "ok": False, "error": "429"}, PLUGIN)
    host.offer(mail, ScriptedAdapter(name="plain", check=None))
    row = host.put(adapter="plain")
    assert (row["state"], row.get("alerts")) == ("ready", None)


def test_what_a_check_said_goes_once_the_adapter_has_none(host, mail):
    mail.checking = lambda connector: Check(result="denied", message="says denied")
    host.put()
    assert host.alerts() == [("error", "check", "says denied")]
    host.offer(ScriptedAdapter(check=None))
    assert (host.row()["state"], host.alerts()) == ("ready", [])


def test_what_the_check_of_somebody_else_s_said_is_not_told_to_the_next_owner(host, mail):
    mail.checking = lambda connector: Check(result="denied", message="ada is unknown")
    host.put(owner="user:ada")
    mail.opening = lambda connector, view: 1 / 0
    host.put(owner="user:bob", config={"key": "other"})
    assert [alert[1] for alert in host.alerts()] == ["open"]


class Unsayable(Exception):
    """An exception whose words cannot be read."""

    def __str__(self):
        raise ValueError


@pytest.mark.parametrize(
    ("failure", "words"),
    [(RuntimeError("half \ud800"), "half \\ud800"), (Unsayable(), "Unsayable")],
)
def test_words_that_cannot_be_sent_or_read_are_made_such(host, mail, failure, words):
    def failing(*_):
        raise failure

    mail.checking = failing
    assert host.put()["alerts"][0]["text"] == words
    mail.running = failing
    host.sessions["ahp-session:/s1"] = {"connectors": {"w": "connectors://mail/work"}}
    assert host.failed("mail_send", text="x") == f"w: {words}"
    mail.opening = failing
    assert host.put()["alerts"][0]["text"] == words


# -- refreshed secrets ------------------------------------------------------------------------


def test_a_refreshed_secret_goes_to_the_vault_and_nothing_is_opened_again(host, mail, logged):
    host.put()
    before = list(mail.history)
    row = host.ask("secret", {"id": "work", "values": {"key": "fresh-token"}}, PLUGIN)
    assert row["config"] == {"key": {"$secret": "host:connector/work/key"}}
    assert host.vaulted() == {"host:connector/work/key": "fresh-token"}
    assert mail.history == before
    mail.checking = lambda connector: Check(result="failed", message=connector.config["key"])
    host.ask("check", {"id": "work"})
    assert host.alerts() == [("warning", "check", "<set>")]
    assert not any("fresh-token" in line for line in logged)


def test_a_field_that_named_a_variable_points_at_the_vault_then(host, mail):
    host.environ["K"] = KEY
    host.put(config={"key": {"fromEnv": "K"}})
    host.ask("secret", {"id": "work", "values": {"key": "fresh"}}, PLUGIN)
    reference = {"key": {"$secret": "host:connector/work/key"}}
    assert host.record()["config"] == reference
    assert host.row()["config"] == reference
    assert mail.history.count(("open", "work")) == 1


def test_a_refreshed_secret_whose_record_is_not_kept_leaves_the_vault_as_it_was(host):
    secret = {"type": "string", "secret": True}
    schema = {"type": "object", "properties": {"key": secret, "token": secret}}
    host.offer(ScriptedAdapter(schema=schema))
    host.environ["K"] = KEY
    host.put(config={"key": {"fromEnv": "K"}, "token": "the-first"})

    async def full(record):
        raise RecordsFailure("the disk is full")

    host.service._kept._records.put = full
    values = {"token": "the-second", "key": "fresh"}
    words = host.refused("secret", {"id": "work", "values": values}, PLUGIN)
    assert words == "The connector work was not kept: the disk is full"
    assert host.vaulted() == {"host:connector/work/token": "the-first"}


def test_a_secret_inside_of_an_object_is_refreshed_in_its_place(host):
    schema = {
        "type": "object",
        "properties": {
            "login": {
                "type": "object",
                "properties": {
                    "token": {"type": "string", "secret": True},
                    "name": {"type": "string"},
                },
            }
        },
    }
    host.offer(ScriptedAdapter(name="deep", schema=schema))
    host.put(adapter="deep", config={"login": {"token": "old", "name": "ada"}})
    host.ask("secret", {"id": "work", "values": {"login.token": "fresh"}}, PLUGIN)
    assert host.vaulted() == {"host:connector/work/login.token": "fresh"}
    name = {"$secret": "host:connector/work/login.token"}
    assert host.record()["config"] == {"login": {"token": name, "name": "ada"}}


ROWS = {
    "type": "object",
    "properties": {
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "key": {"type": "string", "secret": True},
                    "name": {"type": "string"},
                },
            },
        },
        "env": {"type": "object", "additionalProperties": {"type": "string", "secret": True}},
        "login": {
            "type": "object",
            "properties": {"token": {"type": "string", "secret": True}},
        },
    },
}


def test_a_secret_of_a_list_is_refreshed_by_the_name_a_put_keeps_it_under(host):
    rows = ScriptedAdapter(name="rows", schema=ROWS)
    host.offer(rows)
    config = {"rows": [{"name": "a", "key": "one"}, {"name": "b", "key": "two"}], "env": {"A": "e"}}
    host.put(adapter="rows", config=config)
    fresh = {"rows.1.key": "fresh-row", "env.A": "fresh-env", "login.token": "fresh-token"}
    row = host.ask("secret", {"id": "work", "values": fresh}, PLUGIN)
    begin = "host:connector/work/"
    assert host.vaulted() == {
        f"{begin}rows.0.key": "one",
        **{f"{begin}{name}": value for name, value in fresh.items()},
    }
    assert host.record()["config"] == row["config"]
    assert row["config"]["rows"][1] == {"name": "b", "key": {"$secret": f"{begin}rows.1.key"}}
    assert "fresh" not in str(host.record())
    seen = []
    rows.checking = lambda connector: seen.append(connector.config) or Check(result="ok")
    host.ask("check", {"id": "work"})
    assert seen[0]["rows"][1] == {"name": "b", "key": "fresh-row"}
    assert seen[0]["login"] == {"token": "fresh-token"}
    host.ask("disable", {"id": "work"})
    assert host.ask("enable", {"id": "work"})["state"] == "ready"


def test_a_refreshed_secret_of_an_item_that_moved_leaves_none_behind(host):
    host.offer(ScriptedAdapter(name="rows", schema=ROWS))
    host.put(adapter="rows", config={"rows": [{"name": "a", "key": "one"}]})
    first = host.row()["config"]["rows"][0]
    host.put(adapter="rows", config={"rows": [{"name": "n"}, first]})
    host.ask("secret", {"id": "work", "values": {"rows.1.key": "fresh"}}, PLUGIN)
    assert host.vaulted() == {"host:connector/work/rows.1.key": "fresh"}


@pytest.mark.parametrize(
    "path",
    ["rows[].key", "rows[0].key", "rows.1.key", "rows.0.name", "rows", "env.*", "env.B", "env", ""],
)
def test_a_path_that_names_no_secret_field_is_refused(host, path):
    host.offer(ScriptedAdapter(name="rows", schema=ROWS))
    host.put(adapter="rows", config={"rows": [{"key": "one"}], "env": {"A": "e"}})
    before = host.record()
    asked = {"id": "work", "values": {path: "fresh-row"}}
    assert f"params.values.{path} is no field kept" in host.refused("secret", asked, PLUGIN)
    assert host.record() == before
    assert "fresh-row" not in host.vaulted().values()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"bot": "b"}, "params.values.bot is no field kept in the vault"),
        ({"key": ""}, "params.values.key must be a text"),
        ({"key": 7}, "params.values.key must be a text"),
        ({}, "params.values must be an object"),
        (None, "params.values must be an object"),
    ],
)
def test_only_what_the_schema_marks_is_refreshed(host, mail, values, words):
    host.put()
    assert words in host.refused("secret", {"id": "work", "values": values}, PLUGIN)


def test_an_adapter_may_refresh_its_secret_while_it_is_checked(host, mail):
    asked = []

    def checking(connector):
        async def refreshed():
            params = {"id": "work", "values": {"key": "fresh"}}
            asked.append(Tried(host.methods["x-ahpd/connectors/secret"].handle(params, PLUGIN)))
            return Check(result="ok")

        return Deferred.fromCoroutine(refreshed())

    mail.checking = checking
    assert host.put()["state"] == "ready"
    assert asked[0].done
    assert host.vaulted() == {"host:connector/work/key": "fresh"}


# -- views --------------------------------------------------------------------------------

VIEW = {
    "root": "name",
    "components": {"name": {"id": "name", "component": "Text", "text": {"path": "/account"}}},
    "dataModel": {"account": "ada"},
}


def test_a_connector_shows_a_view_on_its_own_row_until_it_is_closed(host, mail):
    mail.opening = lambda connector, view: view.show_view(VIEW)
    host.put()
    assert host.row()["views"] == {"main": VIEW}
    assert [one["type"] for one in host.actions()] == ["x-ahpd-connectors/added"]
    host.put("other")
    _, view = mail.opened["work"]
    _, others = mail.opened["other"]
    others.clear_view()
    assert "views" not in host.row("other")
    assert host.row()["views"] == {"main": VIEW}
    host.ask("disable", {"id": "work"})
    assert "views" not in host.row()
    said = len(host.actions())
    view.show_view(VIEW)
    view.set_view_data("/account", "bob")
    assert "views" not in host.row()
    assert len(host.actions()) == said


def test_one_value_of_a_view_is_said_alone_and_the_row_holds_it(host, mail):
    mail.opening = lambda connector, view: view.show_view(VIEW)
    host.put()
    _, view = mail.opened["work"]
    said = len(host.actions())
    view.set_view_data("/account", "bob")
    assert host.actions()[said:] == [
        {
            "type": "x-ahpd-connectors/viewData",
            "id": "work",
            "surface": "main",
            "path": "/account",
            "value": "bob",
        }
    ]
    assert host.row()["views"]["main"]["dataModel"] == {"account": "bob"}
    host.ask("check", {"id": "work"})
    assert len(host.actions()) == said + 1


def test_what_is_set_while_it_opens_is_in_the_row_that_is_sent(host, mail):
    def opening(connector, view):
        view.show_view(VIEW)
        view.set_view_data("/account", "bob")

    mail.opening = opening
    host.put()
    (only,) = host.actions()
    assert only["row"]["views"]["main"]["dataModel"] == {"account": "bob"}


def test_a_view_that_is_none_is_reported_and_what_was_shown_stays(host, mail):
    mail.opening = lambda connector, view: view.show_view(VIEW)
    host.put()
    _, view = mail.opened["work"]
    with pytest.raises(ValueError):
        view.show_view({"root": "gone", "components": {}})
    with pytest.raises(ValueError):
        view.show_view(VIEW, "side")
    assert host.row()["views"] == {"main": VIEW}
    assert [plugin for plugin, _ in host.reported] == ["acme", "acme"]
    assert all(line.startswith("connector work: ") for _, line in host.reported)


def test_an_adapter_without_a_view_capability_has_no_surface_to_show_one_on(host):
    scripted = ScriptedAdapter(capabilities=())
    host.offer(scripted)
    host.put()
    _, view = scripted.opened["work"]
    with pytest.raises(ValueError):
        view.show_view(VIEW)
    assert "views" not in host.row()


def test_what_is_set_while_it_opens_again_is_sent_with_the_row_and_not_before_it(host, mail):
    def opening(connector, view):
        view.show_view(VIEW)
        view.set_view_data("/account", "bob")

    host.put()
    mail.opening = opening
    said = len(host.actions())
    host.ask("enable", {"id": "work"})
    (only,) = host.actions()[said:]
    assert only["type"] == "x-ahpd-connectors/changed"
    assert only["row"]["views"]["main"]["dataModel"] == {"account": "bob"}


def test_a_short_secret_is_struck_where_it_stands_alone(host, mail):
    mail.checking = lambda connector: Check(result="failed", message="key k was not taken: k.")
    host.put(config={"key": "k"})
    assert host.alerts() == [("warning", "check", "key <set> was not taken: <set>.")]


def test_what_a_field_that_nothing_marks_names_is_struck_too(host, mail):
    """The host reads a variable for it, and its adapter says it back."""
    host.environ["MAIL_BOT"] = planted("a variable")

    def fails(connector, view):
        raise ValueError(f"no bot {connector.config['bot']}")

    mail.opening = fails
    host.put(config={"key": KEY, "bot": {"fromEnv": "MAIL_BOT"}})
    assert host.alerts() == [("error", "open", "no bot <set>")]
    mail.opening = lambda connector, view: None
    mail.checking = lambda connector: Check(result="failed", message=connector.config["bot"])
    host.ask("disable", {"id": "work"})
    host.ask("enable", {"id": "work"})
    assert host.alerts() == [("warning", "check", "<set>")]


@pytest.mark.parametrize("said", [float("nan"), float("inf"), -5, 1e12, "soon", None])
def test_what_a_vendor_says_of_time_is_time_a_clock_takes(host, said):
    async def start():
        return DeviceCode(code="A", url="https://x", expires=said, interval=said, handle="h")

    async def poll(handle):
        return 5

    sign_in = DeviceSignIn(title="Sign in", field="key", start=start, poll=poll)
    host.offer(ScriptedAdapter("mail", sign_in=sign_in))
    params = {"id": "a", "adapter": "mail", "owner": "host", "config": {}}
    host.ask("signin", params)
    host.clock.advance(86_401)
    assert not len(host.service._commands._held)
