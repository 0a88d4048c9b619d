"""`plugins:` and the flags beside it: what is taken, refused, shown, and hidden."""

import pytest

from ahpd.cli.show import _words
from ahpd.config.errors import ConfigError
from ahpd.config.plugin_flags import merged, option_value, unclaimed, with_options
from ahpd.config.plugins import PluginEntry, is_grant
from ahpd.config.settings import BY_KEY, Settings


def sources(read):
    return [entry.source for entry in read.get("plugins")]


def test_an_entry_is_a_source_or_a_mapping_with_one(place):
    place.write(
        "plugins:\n- acme-mine\n- source: ./b\n  options: {n: 1}\n  enabled: false\n"
        "  grants: [session:read, '*:*', bot.x:*]\n  name: Bee\n"
    )
    first, second = place.load().get("plugins")
    assert first == PluginEntry(source="acme-mine", place="plugins[0]")
    assert second == PluginEntry(
        source="./b",
        options={"n": 1},
        enabled=False,
        grants=("session:read", "*:*", "bot.x:*"),
        name="Bee",
        place="plugins[1]",
    )


@pytest.mark.parametrize("text", ["", "plugins:\n", "plugins: []\n"])
def test_no_plugins_are_none(place, text):
    place.write(text)
    assert place.load().get("plugins") == ()


def test_a_name_without_a_source_is_read_as_the_source(place):
    place.write("plugins:\n- {name: acme-mine, enabled: false}\n")
    (entry,) = place.load().get("plugins")
    assert (entry.source, entry.name, entry.enabled) == ("acme-mine", None, False)


def test_an_entry_with_an_id_carries_a_manifest(place):
    place.write(
        "plugins:\n- id: notes\n  name: Notes\n  version: 1.0.0\n  source: ./notes.py\n"
        "  description: Adds notes.\n  optionsSchema: {type: object}\n  options: {a: 1}\n"
    )
    (entry,) = place.load().get("plugins")
    assert entry.manifest == {
        "id": "notes",
        "name": "Notes",
        "version": "1.0.0",
        "description": "Adds notes.",
        "optionsSchema": {"type": "object"},
    }
    assert entry.options == {"a": 1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("plugins: 3\n", ":1: plugins: found 3, allowed: a list of plugins"),
        ("plugins:\n- 3\n", ":2: plugins[0]: found a number"),
        ("plugins: ['']\n", ':1: plugins[0]: found "", allowed: text'),
        ("plugins: [-x]\n", ':1: plugins[0]: found "-x"'),
        ('plugins: ["a\\nb"]\n', ':1: plugins[0]: found "a\\nb"'),
        ("plugins:\n- {}\n", ":2: plugins[0]: found no source"),
        ("plugins:\n- {id: x}\n", ":2: plugins[0]: found no source"),
        ("plugins:\n- {id: x, name: y}\n", ":2: plugins[0]: found no source"),
        ("plugins:\n- {source: 2}\n", ":2: plugins[0].source: found 2"),
        ("plugins:\n- source: a\n  opts: {}\n", ":3: plugins[0].opts: found an unknown key"),
        ("plugins:\n- source: a\n  version: 1.0.0\n", "plugins[0].version: found an unknown key"),
        ("plugins:\n- {source: a, enabled: 1}\n", "plugins[0].enabled: found 1, allowed: true or"),
        ("plugins:\n- {source: a, options: [1]}\n", "plugins[0].options: found a list"),
        ("plugins:\n- {source: a, options: {k: {$secret: 2}}}\n", "options.k.$secret: found 2"),
        ("plugins:\n- {source: a, grants: session:read}\n", "plugins[0].grants: found"),
        ("plugins:\n- {source: a, grants: [2]}\n", "plugins[0].grants[0]: found 2"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named_with_its_place(place, text, words):
    place.write(text)
    with pytest.raises(ConfigError) as caught:
        place.load()
    assert words in str(caught.value)


def test_a_grant_that_names_no_operation_is_dropped_with_a_warning(place):
    path = place.write("plugins:\n- a\n- {source: b, grants: [session, 'bot:', session:read]}\n")
    read = place.load()
    assert read.get("plugins")[1].grants == ("session:read",)
    assert list(read.warnings) == [
        f"{path}: plugins[1].grants: {grant!r} names no operation and is dropped; a grant is "
        "<subject>:<operation>, such as session:read"
        for grant in ("session", "bot:")
    ]


@pytest.mark.parametrize("text", ["session:read", "*:*", "plugin:*", "mcp-server:put_all"])
def test_grants(text):
    assert is_grant(text)


@pytest.mark.parametrize("text", ["session", ":read", "session:", "a:b:c", "a b:c", "a:-", "9:x"])
def test_no_grants(text):
    assert not is_grant(text)


# -- flags -----------------------------------------------------------------------------


FILE = "plugins:\n- one\n- {source: two, enabled: false, options: {a: 1}, grants: [a:b]}\n"


def test_flags_add_after_the_file(place):
    place.write(FILE)
    read = place.load(plugin=["three", "./four", "three"])
    assert sources(read) == ["one", "two", "three", "./four"]
    assert [entry.place for entry in read.get("plugins")][2:] == ["--plugin", "--plugin"]


def test_a_flag_for_one_the_file_lists_turns_it_on_with_the_files_options_and_grants(place):
    place.write(FILE)
    entries = place.load(plugin=["two"]).get("plugins")
    assert [entry.source for entry in entries] == ["one", "two"]
    assert entries[1].enabled
    assert entries[1].options == {"a": 1}
    assert entries[1].grants == ("a:b",)


def test_no_plugins_leaves_the_files_list_out(place):
    place.write(FILE)
    assert sources(place.load(no_plugins=True)) == []
    (entry,) = place.load(no_plugins=True, plugin=["two"]).get("plugins")
    assert (entry.source, entry.enabled, entry.options) == ("two", True, {"a": 1})


def test_a_source_listed_twice_is_still_two_entries():
    twice = [PluginEntry(source="a", place=f"plugins[{index}]") for index in (0, 1)]
    assert merged(twice, ()) == tuple(twice)


def test_a_source_that_is_an_option_of_something_is_refused(place):
    with pytest.raises(ConfigError, match="--plugin: found"):
        place.load(plugin=["--index-url=x"])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3), ("true", True), ("null", None), ('{"a": [1]}', {"a": [1]}), ('"3"', "3"),
        ("word", "word"), ("", ""), ("1e3", "1e3"), ("007", "007"), ("NaN", "NaN"), ("1.50", "1.50"),
        ("{broken", "{broken"), ("[" * 100_000, "[" * 100_000),
    ],
)  # fmt: skip
def test_a_value_on_the_command_line_is_json_where_that_is_what_was_typed(text, value):
    assert option_value(text) == value
    assert type(option_value(text)) is type(value)


def test_options_of_flags_lie_over_the_files(place):
    place.write("plugins:\n- {source: ./p.q, options: {a: 1, b: 2}}\n")
    read = place.load(plugin_option=["./p.q.a=x=y", 'other.b={"$env": "B"}'])
    said = read.get("plugin_option")
    assert [(option.plugin, option.key, option.value) for option in said] == [
        ("./p.q", "a", "x=y"),
        ("other", "b", {"$env": "B"}),
    ]
    (entry,) = read.get("plugins")
    assert with_options(entry, "mine", said).options == {"a": "x=y", "b": 2}
    assert with_options(entry, "other", said).options == {"a": "x=y", "b": {"$env": "B"}}
    assert unclaimed(said, {"mine": "./p.q"}) == [
        "--plugin-option other.b: there is no plugin other"
    ]


@pytest.mark.parametrize("text", ["x", "x=1", "x.=1", ".k=1", "./x=1", "a.b/c=1", "=1"])
def test_an_option_that_names_no_plugin_and_key_is_refused(place, text):
    with pytest.raises(ConfigError, match="--plugin-option: found"):
        place.load(plugin_option=[text])


def test_the_value_of_an_option_that_cannot_be_used_is_not_said(place):
    with pytest.raises(ConfigError) as caught:
        place.load(plugin_option=["noplugin=hunter2hunter2"])
    assert "hunter2" not in str(caught.value)


# -- what is shown and what is logged -------------------------------------------------------


HIDDEN = (
    "plugins:\n- source: a\n  options: {model: fast, loud: true, list: [x], deep: {n: 3}, none: null,"
    " ref: {$secret: host:x}, apiKey: sk-0123456789, env: {$env: MINE}}\n"
)


def test_options_of_a_plugin_nobody_read_the_schema_of_are_set():
    (entry,) = BY_KEY["plugins"].kind.check(
        [{"source": "a", "options": {"m": "f", "l": ["x"], "d": {"n": 3}, "on": True}}], None
    )
    assert entry.shown() == {
        "source": "a",
        "options": {"m": "<set>", "l": ["<set>"], "d": {"n": "<set>"}, "on": True},
    }


def test_references_stay_visible_and_secrets_stay_out_of_the_log(place):
    place.write(HIDDEN)
    place.environ["MINE"] = "from-the-environment"
    read = place.load(plugin_option=["a.token=flag-0123456789"])
    shown = BY_KEY["plugins"].shown(read.get("plugins"))
    assert shown[0]["options"]["ref"] == {"$secret": "host:x"}
    assert shown[0]["options"]["env"] == {"$env": "MINE"}
    assert "sk-0123" not in str(shown)
    settings, _ = read.settings()
    assert {"sk-0123456789", "flag-0123456789", "from-the-environment"} <= set(settings.unspoken)
    assert "sk-0123" not in repr(settings)
    assert "flag-0123" not in repr(settings)


def test_a_file_with_credentials_of_plugins_that_others_can_read_is_a_warning(place):
    place.write(HIDDEN).chmod(0o644)
    (warning,) = place.load().warnings
    assert "holds credentials in plugins and can be read by others" in warning


# -- the rest ---------------------------------------------------------------------------


def test_routes_are_a_listener_of_their_own(place):
    place.write("routes: {port: 8443, host: 0.0.0.0}\n")
    routes = place.load().get("routes")
    assert routes.endpoint == "tcp:8443:interface=0.0.0.0"
    place.write("routes: {port: 0}\n")
    assert place.load().get("routes").endpoint == "tcp:0:interface=127.0.0.1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("routes: {host: 0.0.0.0}\n", "routes: found a host without a port"),
        ("routes: {}\n", "routes: found no port"),
        ("routes: 8443\n", "routes: found a number"),
        ("routes: {port: 99999}\n", "routes.port: found 99999"),
        ("routes: {port: 1, host: 'a b'}\n", "routes.host: found"),
        ("routes: {port: 1, path: /x}\n", "routes.path: found an unknown key"),
        ("stdio: true\nroutes: {port: 1}\n", "routes and "),
    ],
)
def test_routes_that_cannot_be_served_are_refused(place, text, words):
    place.write(text)
    with pytest.raises(ConfigError) as caught:
        place.load()
    assert words in str(caught.value)


def test_routes_beside_stdio_that_listens_are_served(place):
    place.write("stdio: true\nport: 0\nroutes: {port: 1}\n")
    assert place.load().get("routes").port == 1


def test_icons_are_bounded():
    assert (Settings().icon_limit_bytes, Settings().icon_timeout_ms) == (262144, 10_000)
    assert BY_KEY["iconLimitBytes"].kind.check(0, None) == 0
    assert Settings().plugin_entry_outside == "refuse"


def test_a_plugin_in_the_table_is_its_source():
    shown = [
        entry.shown() for entry in (PluginEntry(source="a"), PluginEntry(source="b", enabled=False))
    ]
    assert _words(shown) == "a, b (disabled)"
