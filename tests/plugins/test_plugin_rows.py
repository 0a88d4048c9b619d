"""`x-ahpd-plugins`: one row for each plugin the configuration names, and what is said of it."""

import json

import pytest

from ahpd.interfaces import Alert

from .hosted import PLUGINS, TALKS

KEEPS = "kept = []\ndef apply(host, options): kept.append(host)\n"
VIEW = {
    "root": "page",
    "components": {
        "page": {"id": "page", "component": "Column", "children": ["words", "count"]},
        "words": {"id": "words", "component": "Text", "text": "Hello"},
        "count": {"id": "count", "component": "Text", "text": {"path": "/count"}},
    },
    "dataModel": {"count": "1"},
}


def host_of(hosted, plugin="keeps"):
    return hosted.module(plugin).kept[0]


def types(hosted):
    return [
        (one["type"].rpartition("/")[2], one.get("id") or one["row"]["id"]) for one in hosted.said()
    ]


def test_a_row_is_what_the_manifest_says_and_what_became_of_it(hosted):
    entry = hosted.write(
        "keeps",
        KEEPS,
        title="Keeps",
        description="Keeps what it is handed.",
        version="1.2",
        categories=["example"],
        links=[{"title": "Source", "url": "https://example.org/keeps"}],
        contracts={"tools": ["keep"]},
    )
    hosted.start({**entry, "name": "Mine"})
    folder = hosted.folder / "keeps"
    assert hosted.row("keeps") == {
        "id": "keeps",
        "spec": str(folder),
        "name": "Mine",
        "state": "ready",
        "loaded": True,
        "alerts": [],
        "title": "Keeps",
        "module": "_ahpd_plugin_keeps.main",
        "path": str(folder),
        "version": "1.2",
        "description": "Keeps what it is handed.",
        "categories": ["example"],
        "links": [{"title": "Source", "url": "https://example.org/keeps"}],
        "contracts": {"tools": ["keep"]},
    }


def test_the_icons_of_a_manifest_go_with_it(hosted):
    icons = [{"src": "mark:github", "theme": "light"}]
    hosted.start(hosted.write("keeps", KEEPS, icons=icons))
    assert [icon["theme"] for icon in hosted.row("keeps")["icons"]] == ["light", "dark"]
    hosted.write("keeps", KEEPS)
    hosted.ask("reload", id="keeps")
    assert "icons" not in hosted.row("keeps")
    hosted.write("keeps", KEEPS, icons=icons)
    hosted.ask("reload", id="keeps")
    assert "icons" in hosted.row("keeps")
    hosted.ask("disable", id="keeps")
    assert "icons" not in hosted.row("keeps")


def test_a_plugin_without_contracts_is_undeclared(hosted):
    hosted.start(hosted.write("one"), hosted.write("two", contracts={}))
    rows = hosted.rows()
    assert rows["one"]["undeclared"] is True
    assert "contracts" not in rows["one"]
    assert "undeclared" not in rows["two"]


def broken(entry, folder):
    (folder / "it" / "plugin.yaml").write_text("id: it\nmain: main.py\ncategories: 3\n")
    return entry


@pytest.mark.parametrize(
    ("state", "change", "words"),
    [
        ("disabled", lambda entry, _: {**entry, "enabled": False}, None),
        ("missing", lambda entry, _: {"source": entry["source"] + "-gone"}, "gone"),
        ("unconfigured", lambda entry, _: entry, "plugins.it.options"),
        ("error", broken, "plugin.yaml"),
    ],
)
def test_every_state_is_a_row_without_running_anything(hosted, state, change, words):
    schema = {"type": "object", "required": ["key"], "properties": {"key": {"type": "string"}}}
    options = {} if state == "unconfigured" else {"key": "a"}
    # One whose options may be the module's defaults is imported before they are missed.
    runs = "def apply(host, options): " if state == "unconfigured" else ""
    entry = hosted.write("it", f"{runs}raise RuntimeError('it was run')\n", optionsSchema=schema)
    hosted.start(change({**entry, "options": options}, hosted.folder))
    (row,) = hosted.rows().values()
    assert (row["state"], row["loaded"]) == (state, False)
    if state in ("disabled", "unconfigured"):
        assert row["optionsSchema"] == schema
    if words is None:
        assert "problem" not in row
        assert row["alerts"] == []
    else:
        assert words in row["problem"]
        assert [(one["level"], one["text"]) for one in row["alerts"]] == [("error", row["problem"])]
    assert "it was run" not in repr(row)


def test_a_plugin_that_did_not_load_says_so_once_as_an_error(hosted, log_lines):
    hosted.start(hosted.write("bad", "def apply(host, options):\n    raise ValueError('no key')\n"))
    row = hosted.row("bad")
    assert (row["state"], row["loaded"]) == ("ready", False)
    assert row["problem"].startswith("plugin bad skipped: its apply failed: ValueError: no key")
    (alert,) = row["alerts"]
    assert (alert["level"], alert["text"]) == ("error", row["problem"])
    assert alert["at"] == "2026-01-02T03:04:05.000Z"
    assert [line for line in log_lines() if "skipped" in line] == [row["problem"]]


def test_rows_are_said_as_they_come_change_and_go(hosted):
    one, two = hosted.write("one"), hosted.write("two")
    hosted.start(one)
    hosted.list(one, two)
    hosted.ask("apply")
    assert types(hosted)[0] == ("added", "two")
    hosted.ask("disable", id="one")
    hosted.list(two)
    hosted.ask("apply")
    assert types(hosted)[-1] == ("removed", "one")
    last = {one["row"]["id"]: one["row"] for one in hosted.said() if "row" in one}
    assert last["two"] == hosted.row("two")
    assert last["one"]["state"] == "disabled"


def test_a_row_that_says_what_it_said_is_not_sent_again(hosted):
    hosted.start(hosted.write("one"), hosted.write("two"))
    before = len(hosted.said())
    hosted.ask("apply")
    assert len(hosted.said()) == before


# -- alerts ---------------------------------------------------------------------------------


def texts(hosted):
    return [alert["text"] for alert in hosted.row("keeps")["alerts"]]


def test_alerts_are_kept_by_their_ref_and_taken_away_by_it(hosted):
    hosted.start(hosted.write("keeps", KEEPS))
    host = host_of(hosted)
    host.alert(Alert(level="info", text="one", ref="feed:a"))
    host.alert(Alert(level="notice", text="two"))
    host.alert(Alert(level="error", text="three", ref="feed:a", at="2026-01-01T00:00:00.000Z"))
    assert texts(hosted) == ["two", "three"]
    assert hosted.row("keeps")["alerts"][1] == {
        "level": "error",
        "text": "three",
        "ref": "feed:a",
        "at": "2026-01-01T00:00:00.000Z",
    }
    host.clear_alert("feed:a")
    host.clear_alert("feed:b")
    assert texts(hosted) == ["two"]
    with pytest.raises(ValueError, match="level"):
        host.alert(Alert(level="loud", text="four"))


def test_fifty_alerts_are_shown_and_the_oldest_go(hosted):
    hosted.start(hosted.write("keeps", KEEPS))
    for number in range(53):
        host_of(hosted).alert(Alert(level="info", text=f"alert {number}"))
    assert texts(hosted) == [f"alert {number}" for number in range(3, 53)]


def test_a_problem_is_a_warning_and_a_reload_clears_what_was_shown(hosted):
    hosted.start(hosted.write("keeps", KEEPS))
    old = host_of(hosted)
    old.problem("the feed\nis broken")
    old.show_view(VIEW)
    row = hosted.row("keeps")
    assert [(one["level"], one["text"]) for one in row["alerts"]] == [
        ("warning", "the feed is broken")
    ]
    assert row["views"]["main"]["root"] == "page"
    hosted.ask("reload", id="keeps")
    row = hosted.row("keeps")
    assert (row["alerts"], "views" in row) == ([], False)
    # What the old code holds of its host does nothing any more.
    old.alert(Alert(level="info", text="late"))
    old.problem("late")
    old.show_view(VIEW)
    assert texts(hosted) == []
    host_of(hosted).show_view(VIEW)
    hosted.ask("disable", id="keeps")
    assert "views" not in hosted.row("keeps")


def test_one_value_of_a_view_is_said_alone_and_the_row_holds_it(hosted):
    hosted.start(hosted.write("keeps", KEEPS))
    host_of(hosted).show_view(VIEW)
    before = len(hosted.said())
    host_of(hosted).set_view_data("/count", "2")
    assert hosted.said()[before:] == [
        {
            "type": "x-ahpd-plugins/viewData",
            "id": "keeps",
            "surface": "main",
            "path": "/count",
            "value": "2",
        }
    ]
    assert hosted.row("keeps")["views"]["main"]["dataModel"] == {"count": "2"}
    host_of(hosted).alert(Alert(level="info", text="a change of the row"))
    assert hosted.said()[-1]["row"]["views"]["main"]["dataModel"] == {"count": "2"}
    host_of(hosted).clear_view()
    assert "views" not in hosted.row("keeps")


# -- no credential ---------------------------------------------------------------------------

LEAKS = """
kept = []
def apply(host, options):
    kept.append(host)
    if options.get("fail"):
        raise ValueError(f"cannot use {options['key']} at https://ada:pw@example.org/a?sig=abc")
"""
SCHEMA = {
    "type": "object",
    "properties": {"key": {"type": "string", "writeOnly": True}, "fail": {"type": "boolean"}},
}


@pytest.mark.parametrize("held", ["as it is", "in the environment"])
def test_no_text_about_a_plugin_quotes_a_credential(hosted, held, log_lines):
    key = "planted-secret-hunter2" if held == "as it is" else {"fromEnv": "LEAKS_KEY"}
    entry = hosted.write("leaks", LEAKS, optionsSchema=SCHEMA)
    hosted.start(
        {**entry, "options": {"key": key, "fail": True}},
        environ={"LEAKS_KEY": "planted-secret-hunter2"},
    )
    row = hosted.row("leaks")
    said = "cannot use <set> at https://<redacted>@example.org/a?<redacted>"
    assert row["problem"].count(said) == 1
    assert row["alerts"][0]["text"].count(said) == 1
    (line,) = hosted.ask("reload", id="leaks")["problems"]
    assert line.count(said) == 1
    hosted.ask("options", id="leaks", key="fail", value=False)
    host_of(hosted, "leaks").alert(Alert(level="info", text="the key is planted-secret-hunter2"))
    host_of(hosted, "leaks").problem("the key is planted-secret-hunter2")
    assert {one["text"] for one in hosted.row("leaks")["alerts"]} == {"the key is <set>"}
    assert "hunter2" not in repr(hosted.probe.frames)
    assert "hunter2" not in "\n".join(hosted.host.side.announced().skipped)
    skipped = [line for line in log_lines() if "skipped" in line]
    assert skipped
    assert not [line for line in skipped if "hunter2" in line]


def test_the_connection_token_is_in_no_row(hosted):
    entry = hosted.write("keeps", KEEPS)
    hosted.start(entry, connection_token="token-of-the-host")
    host_of(hosted).alert(Alert(level="info", text="at ws://127.0.0.1/?tkn=token-of-the-host now"))
    assert "token-of-the-host" not in repr(hosted.row("keeps"))


# -- languages --------------------------------------------------------------------------------


def test_what_a_plugin_put_into_words_comes_in_the_readers_language(hosted):
    catalog = """{
        "meta": {"title": "Behält", "description": "Behält alles."},
        "options": {"key": {"title": "Schlüssel", "description": "Womit."}},
        "messages": {"Hello": "Hallo"}
    }"""
    schema = {
        "type": "object",
        "properties": {"key": {"type": "string", "title": "Key", "description": "With what."}},
    }
    entry = hosted.write(
        "keeps",
        KEEPS,
        files={"i18n/de.json": catalog},
        title="Keeps",
        description="Keeps all.",
        optionsSchema=schema,
        i18n="i18n",
    )
    hosted.start(entry)
    host_of(hosted).show_view(VIEW)
    german = hosted.host.connect("de", PLUGINS, foreign=True, locale="de-CH")
    (row,) = german.state(PLUGINS)["rows"]
    assert (row["title"], row["description"]) == ("Behält", "Behält alles.")
    assert row["optionsSchema"]["properties"]["key"]["title"] == "Schlüssel"
    words = row["views"]["main"]["components"]
    assert words["words"]["text"] == "Hallo"
    assert words["count"]["text"] == {"path": "/count"}
    assert hosted.row("keeps")["title"] == "Keeps"
    host_of(hosted).alert(Alert(level="info", text="Hello"))
    hosted.host.settle()
    last = german.envelopes(PLUGINS)[-1].action["row"]
    assert (last["title"], last["alerts"][0]["text"]) == ("Behält", "Hello")


def spoken(hosted, title="Keeps", german="Behält", code=KEEPS, **manifest):
    """A plugin with a German catalog; answers its entry."""
    schema = {"type": "object", "properties": {"key": {"type": "string", "title": "Key"}}}
    catalog = {"meta": {"title": german}, "options": {"key": {"title": "Schlüssel"}}}
    return hosted.write(
        "keeps",
        code,
        files={"i18n/de.json": json.dumps(catalog)},
        title=title,
        optionsSchema=schema,
        **{"i18n": "i18n", **manifest},
    )


def titles(hosted, locale="de-CH"):
    """What somebody who comes now reads of it: its title, and its option's."""
    late = hosted.host.connect(f"late-{len(hosted.host.clients)}", foreign=True, locale=locale)
    hosted.host.run(late.subscribe(PLUGINS))
    (row,) = [row for row in late.state(PLUGINS)["rows"] if row["id"] == "keeps"]
    return row["title"], row["optionsSchema"]["properties"]["key"]["title"]


def test_a_plugin_that_is_switched_off_comes_in_the_readers_language(hosted):
    hosted.start({**spoken(hosted), "enabled": False})
    assert titles(hosted) == ("Behält", "Schlüssel")
    assert titles(hosted, "en") == ("Keeps", "Key")
    hosted.ask("enable", id="keeps")
    assert titles(hosted) == ("Behält", "Schlüssel")
    hosted.ask("disable", id="keeps")
    assert titles(hosted) == ("Behält", "Schlüssel")


def test_a_plugin_that_could_not_be_loaded_comes_in_the_readers_language(hosted):
    hosted.start(spoken(hosted, code="def apply(host, options): 1 / 0\n"))
    assert titles(hosted) == ("Behält", "Schlüssel")


def test_one_that_is_switched_off_has_the_catalogs_its_manifest_names_now(hosted):
    hosted.start(spoken(hosted))
    german = hosted.host.connect("de", PLUGINS, foreign=True, locale="de")
    spoken(hosted, title="Keeps on", i18n=None)
    hosted.ask("disable", id="keeps")
    assert titles(hosted) == ("Keeps on", "Key")
    hosted.host.settle()
    assert german.envelopes(PLUGINS)[-1].action["row"]["title"] == "Keeps on"
    spoken(hosted, title="Keeps all", german="Behält alles")
    hosted.ask("apply")
    assert titles(hosted) == ("Behält alles", "Schlüssel")


def test_catalogs_of_what_is_not_loaded_are_read_for_those_who_read_in_a_language(hosted):
    hosted.start({**spoken(hosted), "enabled": False})
    assert hosted.row("keeps")["title"] == "Keeps"
    spoken(hosted, german="Später")
    assert titles(hosted)[0] == "Später"
    spoken(hosted, german="Zu spät")
    assert titles(hosted)[0] == "Später"


def test_a_plugin_that_runs_is_read_in_the_catalogs_it_was_loaded_with(hosted):
    other = hosted.write("other")
    hosted.start(spoken(hosted), other)
    spoken(hosted, german="Zu spät")
    hosted.ask("disable", id="other")
    assert titles(hosted)[0] == "Behält"
    hosted.ask("reload", id="keeps")
    assert titles(hosted)[0] == "Zu spät"


def test_what_was_left_out_is_a_warning_while_it_stays_so(hosted):
    hosted.start(hosted.write("one", TALKS), hosted.write("two", TALKS))
    (alert,) = hosted.row("two")["alerts"]
    assert alert["level"] == "warning"
    assert "x-talks/say is left out" in alert["text"]
    hosted.ask("options", id="one", key="a", value=1)
    assert len(hosted.row("two")["alerts"]) == 1
    hosted.ask("disable", id="one")
    assert hosted.row("two")["alerts"] == []
    assert hosted.call("x-talks/say") == {}
