"""A listing says what a run would load, and neither imports nor applies anything for it."""

import sys

import pytest

from ahpd.plugins.states import listed

from .made import entry, finder, install, manifest, write

TRAP = "raise RuntimeError('it was imported')\n"
SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "model": {"type": "string", "default": "fast"}},
    "required": ["command", "model"],
}


def notes(tmp_path, **keys):
    said = {"id": "notes", "main": "notes.py", **keys}
    return write(tmp_path / "here" / "n", {"plugin.yaml": manifest(**said), "notes.py": TRAP})


def row(tmp_path, named, *, site=(), **keys):
    (one,) = listed([entry(named, **keys)], finder(tmp_path, site=site))
    assert "\n" not in one.line
    return one


def test_the_lines_of_a_listing(tmp_path):
    site = tmp_path / "site"
    files = {"acme_bot/plugin.py": TRAP, "acme_bot/plugin.yaml": "title: Bot"}
    install(site, "acme-bot", {"bot": "acme_bot.plugin"}, files)
    notes(tmp_path)
    entries = [entry("acme-bot"), entry("bot"), entry("./n"), entry("./gone")]
    first, second, *rest = listed(entries, finder(tmp_path, site=[site]))
    assert first.line == f"ready bot (acme-bot) -> {site}/acme_bot/plugin.py (acme-bot, Bot)"
    assert second.line == (
        f"error bot -> {site}/acme_bot/plugin.py (acme-bot, Bot): "
        "acme-bot and bot have one id, bot; only the first is loaded"
    )
    assert [one.line for one in rest] == [
        f"ready notes (./n) -> {tmp_path}/here/n/notes.py (notes)",
        "missing ./gone -> - (not resolved): Plugin ./gone is not there: "
        f"tried {tmp_path}/here/gone and {tmp_path}/config/gone",
    ]
    assert "acme_bot" not in sys.modules


def test_a_name_of_the_entrys_own_is_printed_in_place_of_the_id(tmp_path):
    notes(tmp_path)
    one = row(tmp_path, "./n", name="My notes")
    assert one.line == f"ready My notes (./n) -> {tmp_path}/here/n/notes.py (notes)"
    assert one.id == "notes"


def test_a_plugin_whose_apply_would_fail_is_ready(tmp_path):
    notes(tmp_path)
    assert (row(tmp_path, "./n").state, row(tmp_path, "./n").problem) == ("ready", None)


def test_a_plugin_for_another_version_is_incompatible_and_still_described(tmp_path):
    notes(tmp_path, requires="ahpd>=9", title="Notes")
    one = row(tmp_path, "./n")
    assert (one.state, one.found.title) == ("incompatible", "Notes")
    assert one.line == (
        f"incompatible notes (./n) -> {tmp_path}/here/n/notes.py (notes, Notes): "
        "it needs ahpd >=9, and this is ahpd 0.1.0"
    )


def test_an_option_that_must_be_set_and_is_not_is_unconfigured(tmp_path):
    notes(tmp_path, optionsSchema=SCHEMA)
    one = row(tmp_path, "./n")
    assert (one.state, one.problem) == (
        "unconfigured", "plugins.notes.options.command must be set",
    )  # fmt: skip
    assert row(tmp_path, "./n", options={"command": "x"}).state == "ready"


@pytest.mark.parametrize("exported", ["{'command': 'run'}", "made()"])
def test_an_option_that_the_module_has_a_default_for_need_not_be_set(tmp_path, exported):
    folder = notes(tmp_path, optionsSchema=SCHEMA)
    (folder / "notes.py").write_text(f"{TRAP}defaults = {exported}\n")
    assert row(tmp_path, "./n").state == "ready"
    (folder / "notes.py").write_text(f"{TRAP}defaults = {{'other': 1}}\n")
    assert row(tmp_path, "./n").state == "unconfigured"


@pytest.mark.parametrize("schema", [{}, {"optionsSchema": SCHEMA}])
@pytest.mark.parametrize("name", ["sk_live_MISTAKE", "user:ada/key", "host:connector/mail/key"])
def test_an_option_that_names_what_none_may_name_is_unconfigured(tmp_path, schema, name):
    notes(tmp_path, **schema)
    one = row(tmp_path, "./n", options={"command": "x", "hook": {"$secret": name}})
    assert one.state == "unconfigured"
    assert one.problem.startswith("plugins.notes.options.hook names ")
    assert "MISTAKE" not in one.problem


def test_an_option_that_is_not_what_its_schema_says_is_unconfigured(tmp_path):
    notes(tmp_path, optionsSchema=SCHEMA)
    one = row(tmp_path, "./n", options={"command": 3})
    assert (one.state, one.problem) == (
        "unconfigured", "plugins.notes.options.command must be text",
    )  # fmt: skip
    # What it names is read at a start, and is not known here.
    assert row(tmp_path, "./n", options={"command": {"$secret": "host:x"}}).state == "ready"


def test_a_default_of_the_manifest_that_does_not_fit_is_an_error_where_nothing_stands_over_it(
    tmp_path,
):
    low = {"type": "integer", "default": "two"}
    folder = notes(tmp_path, optionsSchema={"type": "object", "properties": {"low": low}})
    one = row(tmp_path, "./n")
    assert (one.state, one.problem) == (
        "error",
        f"{folder}/plugin.yaml: the default in optionsSchema.properties.low must be a whole number",
    )
    assert row(tmp_path, "./n", options={"low": 3}).state == "ready"
    (folder / "notes.py").write_text(f"{TRAP}defaults = {{'low': 3}}\n")
    assert row(tmp_path, "./n").state == "ready"


@pytest.mark.parametrize("keys", [{}, {"optionsSchema": SCHEMA}, {"requires": "ahpd>=9"}])
def test_a_plugin_that_is_turned_off_is_disabled_and_still_described(tmp_path, keys):
    notes(tmp_path, **keys)
    one = row(tmp_path, "./n", enabled=False)
    assert (one.state, one.id) == ("disabled", "notes")
    assert one.found.manifest.options_schema == keys.get("optionsSchema")


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ({"colour": "red"}, "error notes (./n) -> - (not resolved): "),
        ({"id": "My_Notes"}, "error My_Notes (./n) -> - (not resolved): its name is not a slug"),
        ({"main": "gone.py"}, "error notes (./n) -> - (not resolved): "),
    ],
)
def test_a_manifest_that_does_not_hold_is_an_error(tmp_path, keys, shown, enabled):
    notes(tmp_path, **keys)
    one = row(tmp_path, "./n", enabled=enabled)
    assert one.state == "error"
    assert one.line.startswith(shown)


def test_a_manifest_that_does_not_parse_is_an_error(tmp_path):
    write(notes(tmp_path), {"plugin.yaml": "{"})
    one = row(tmp_path, "./n")
    assert (one.state, one.id) == ("error", "./n")
    assert f"{tmp_path}/here/n/plugin.yaml" in one.problem
