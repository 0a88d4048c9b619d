"""The commands of `x-ahpd-plugins`: what they answer, write, refuse and put off."""

import shutil
import sys

import pytest

from ahpd.plugins.installing import Installed, Updated
from ahpd.plugins.root import site_packages
from ahpd.protocol.uris import ROOT

from .hosted import PLUGINS, TALKS, People, Runs
from .made import install, write

SCHEMA = {
    "type": "object",
    "properties": {
        "greeting": {"type": "string", "title": "Greeting"},
        "apiKey": {"type": "string", "writeOnly": True},
        "retries": {"type": "integer", "maximum": 5},
        "env": {"type": "object", "additionalProperties": {"type": "string", "writeOnly": True}},
    },
    "additionalProperties": False,
}
HOLDS_A_PORT = "def apply(host, options): host.register_bindings(lambda session: {})\n"
GRANTS = {
    "install": ("plugin:install", {"source": "acme"}),
    "remove": ("plugin:install", {"id": "talks"}),
    "update": ("plugin:install", {"id": "talks"}),
    "write": ("plugin:install", {"id": "talks", "source": "x = 1\n"}),
    "source": ("plugin:install", {"id": "talks"}),
    "enable": ("plugin:enable", {"id": "talks"}),
    "disable": ("plugin:disable", {"id": "talks"}),
    "options": ("plugin:options", {"id": "talks", "key": "greeting", "value": "hi"}),
    "apply": ("plugin:reload", {}),
    "reload": ("plugin:reload", {"id": "talks"}),
}
EVERY_GRANT = {grant for grant, _ in GRANTS.values()} | {"plugin:list"}


@pytest.mark.parametrize("command", GRANTS)
def test_a_command_needs_its_grant_and_no_other(hosted, command):
    grant, params = GRANTS[command]
    hosted.start(
        hosted.write("talks", TALKS),
        access=People(ada={"plugin:list"}, bo=EVERY_GRANT - {grant}),
    )
    bo = hosted.host.connect("bo")
    before = hosted.file.read_text()
    assert hosted.fails(command, bo, **params) == (-32009, f"bo may not {grant} here")
    assert hosted.file.read_text() == before
    assert list(hosted.plugins.running_plugins) == ["talks"]
    assert "ahpd.restartNeeded" not in hosted.values


def test_what_is_taken_out_and_listed_once_more_runs_by_that_and_nothing_is_said(hosted):
    first, second = hosted.write("talks", TALKS), hosted.write("other", TALKS, id="talks")
    hosted.start(first, second)
    assert hosted.module("talks").__file__.startswith(first["source"])
    assert hosted.ask("remove", id="talks", keep=True) == {"id": "talks"}
    assert hosted.module("talks").__file__.startswith(second["source"])


def test_whoever_holds_the_grant_of_a_command_needs_no_more(hosted):
    access = People(ada={"plugin:list"}, bo={"plugin:disable"}, cy={"plugin:reload"})
    hosted.start(hosted.write("talks", TALKS), access=access)
    bo, cy = hosted.host.connect("bo"), hosted.host.connect("cy")
    assert hosted.ask("disable", bo, id="talks") == {"id": "talks"}
    assert hosted.ask("apply", cy) == {}
    assert hosted.fails("apply", bo)[0] == -32009


def test_the_rows_need_plugin_list(hosted):
    hosted.start(hosted.write("talks", TALKS), access=People(ada={"plugin:list"}))
    bo = hosted.host.connect("bo", foreign=True)
    with pytest.raises(Exception, match="may not plugin:list"):
        hosted.host.run(bo.subscribe(PLUGINS))


# -- switches ------------------------------------------------------------------------------


def test_a_plugin_is_turned_off_and_on_with_its_options_kept(hosted):
    entry = {**hosted.write("talks", TALKS), "options": {"greeting": "hi"}}
    hosted.start(entry)
    assert hosted.ask("disable", id="talks") == {"id": "talks"}
    assert hosted.listed == [{**entry, "enabled": False}]
    assert hosted.plugins.running_plugins == {}
    with pytest.raises(Exception, match="x-talks/say"):
        hosted.call("x-talks/say")
    row = hosted.row("talks")
    assert (row["state"], row["loaded"]) == ("disabled", False)
    assert hosted.ask("enable", id="talks") == {"id": "talks"}
    assert hosted.listed == [entry]
    assert hosted.call("x-talks/say") == {"greeting": "hi"}
    assert hosted.row("talks")["loaded"] is True


def test_an_entry_is_known_by_its_source_too(hosted):
    entry = hosted.write("talks", TALKS)
    hosted.start(entry)
    assert hosted.ask("disable", id=entry["source"]) == {"id": entry["source"]}
    assert hosted.plugins.running_plugins == {}


@pytest.mark.parametrize(
    ("command", "params", "words"),
    [
        ("enable", {}, "params.id: expected a text"),
        ("enable", {"id": 3}, "params.id: expected a text"),
        ("enable", {"id": " "}, "params.id: expected a text"),
        ("disable", {"id": "nobody"}, "there is no plugin nobody"),
        ("remove", {"id": "nobody"}, "there is no plugin nobody"),
        ("remove", {"id": "talks", "keep": "yes"}, "params.keep: expected true or false"),
        ("update", {"id": "nobody"}, "there is no plugin nobody"),
        ("update", {"id": "talks"}, "is not a distribution that is installed here"),
        ("source", {"id": "talks"}, "was not written by a client"),
        ("options", {"id": "talks"}, "params.key: expected a text"),
        ("options", {"id": "talks", "key": "retries", "value": "x"}, "retries"),
        ("options", {"id": "talks", "key": "retries", "value": 9}, "retries"),
        (
            "options",
            {"id": "talks", "key": "apiKey", "value": {"$secret": "stripe"}},
            "a secret's name is host:<name>",
        ),
        (
            "options",
            {"id": "talks", "key": "apiKey", "value": {"$secret": "user:ada/a"}},
            "for no person",
        ),
        ("options", {"id": "talks", "key": "volume", "value": 9}, "volume"),
        ("install", {}, "params.source: expected a text"),
        ("install", {"source": "-r evil.txt"}, "-r evil.txt"),
        ("write", {"id": "talks", "source": "x = 1\n"}, "was not written by a client"),
        ("write", {"id": "No Slug", "source": "x = 1\n"}, "id"),
        ("write", {"id": "new", "source": "def apply(:\n"}, "source is no Python, line 1"),
        ("write", {"id": "new", "source": ""}, "source must be the text"),
        ("write", {"id": "new", "source": "x = 1\n", "manifest": 3}, "params.manifest"),
        ("write", {"id": "new", "source": "x = 1\n", "manifest": {"id": "other"}}, "other"),
    ],
)
def test_what_a_command_cannot_take_is_refused_32602_and_changes_nothing(
    hosted, command, params, words
):
    hosted.start(hosted.write("talks", TALKS, optionsSchema=SCHEMA))
    before, module = hosted.file.read_text(), hosted.module("talks")
    code, said = hosted.fails(command, **params)
    assert code == -32602
    assert words in said
    assert "\n" not in said
    assert hosted.file.read_text() == before
    assert hosted.module("talks") is module
    assert hosted.row("talks")["alerts"] == []


def test_a_plugin_a_flag_names_is_not_the_files_to_change(hosted):
    entry = hosted.write("talks", TALKS)
    hosted.list()
    hosted.start(plugin=(entry["source"],))
    assert hosted.plugins.running_plugins == {}  # this host reads its list alone at its start
    assert hosted.ask("apply") == {}
    assert list(hosted.plugins.running_plugins) == ["talks"]
    code, words = hosted.fails("disable", id="talks")
    assert (code, "configuration file does not list it" in words) == (-32602, True)


def test_an_option_of_a_plugin_a_flag_names_otherwise_is_set_in_the_files_entry(hosted):
    source = hosted.write("talks", TALKS)["source"]
    hosted.start({"source": source, "enabled": False}, plugin=(f"{source}/",))
    assert hosted.plugins.running_plugins == {}
    assert hosted.ask("options", id="talks", key="greeting", value="hi") == {"id": "talks"}
    assert hosted.listed[0]["options"] == {"greeting": "hi"}
    assert hosted.call("x-talks/say") == {"greeting": "hi"}


def test_a_file_that_cannot_be_read_any_more_is_32603_in_words(hosted):
    hosted.start(hosted.write("talks", TALKS))
    hosted.file.write_text("plugins: [\n")
    for command, params in (("disable", {"id": "talks"}), ("apply", {})):
        code, words = hosted.fails(command, **params)
        assert code == -32603
        assert "config.yaml" in words
    assert list(hosted.plugins.running_plugins) == ["talks"]


def test_an_entry_somebody_took_out_meanwhile_is_said_to_be_gone(hosted):
    hosted.start(hosted.write("talks", TALKS))
    hosted.list()
    code, words = hosted.fails("disable", id="talks")
    assert (code, "does not list" in words) == (-32602, True)


# -- options ------------------------------------------------------------------------------


def test_an_option_is_checked_written_and_applied_before_the_answer(hosted):
    hosted.start(hosted.write("talks", TALKS, optionsSchema=SCHEMA))
    assert hosted.ask("options", id="talks", key="retries", value=3) == {"id": "talks"}
    assert hosted.listed[0]["options"] == {"retries": 3}
    assert hosted.call("x-talks/say") == {"retries": 3}
    assert hosted.values["plugins.talks"] == {"retries": 3}
    assert hosted.ask("options", id="talks", key="retries") == {"id": "talks"}
    assert hosted.call("x-talks/say") == {}


def test_a_credential_is_answered_set_and_set_keeps_it(hosted):
    entry = {**hosted.write("talks", TALKS, optionsSchema=SCHEMA), "options": {"apiKey": "sk-1234"}}
    hosted.start(entry)
    assert hosted.values["plugins.talks"] == {"apiKey": "<set>"}
    hosted.ask("options", id="talks", key="apiKey", value="<set>")
    assert hosted.listed[0]["options"] == {"apiKey": "sk-1234"}
    hosted.ask("options", id="talks", key="env", value={"TOKEN": "abcd-efgh"})
    hosted.ask("options", id="talks", key="env", value={"TOKEN": "<set>", "PATH": "/bin"})
    assert hosted.listed[0]["options"]["env"] == {"TOKEN": "abcd-efgh", "PATH": "/bin"}
    assert hosted.values["plugins.talks"]["env"] == {"TOKEN": "<set>", "PATH": "<set>"}
    frames = repr(hosted.probe.frames)
    assert "sk-1234" not in frames


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("greeting", "<set>", "greeting"),
        ("apiKey", "<set>", "apiKey"),
        ("env", {"OTHER": "<set>"}, "env.OTHER"),
    ],
)
def test_set_that_stands_for_nothing_is_refused_by_its_place(hosted, key, value, place):
    entry = hosted.write("talks", TALKS, optionsSchema=SCHEMA)
    hosted.start({**entry, "options": {"env": {"TOKEN": "abcd-efgh"}}})
    before = hosted.file.read_text()
    code, words = hosted.fails("options", id="talks", key=key, value=value)
    assert code == -32602
    assert words.startswith(f"plugins.talks.options.{place} is <set> and stands for nothing")
    assert place in hosted.push("talks", {key: value})
    assert hosted.file.read_text() == before


def test_of_a_plugin_without_a_schema_what_was_shown_is_kept_and_no_more(hosted):
    options = {"greeting": "hello there", "list": ["a", "b"]}
    hosted.start({**hosted.write("talks", TALKS), "options": options})
    shown = hosted.values["plugins.talks"]
    assert shown == {"greeting": "<set>", "list": "<set>"}
    assert hosted.push("talks", {**shown, "new": "n"}) is None
    assert hosted.listed[0]["options"] == {**options, "new": "n"}
    assert "plugins.talks.options.other" in hosted.push("talks", {"other": "<set>"})


def test_a_reference_is_answered_as_it_is_written(hosted):
    entry = hosted.write("talks", TALKS, optionsSchema=SCHEMA)
    named = {"apiKey": {"fromEnv": "TALKS_KEY"}}
    hosted.start({**entry, "options": named}, environ={"TALKS_KEY": "sk-from-outside"})
    assert hosted.values["plugins.talks"] == named
    assert hosted.call("x-talks/say") == {"apiKey": "sk-from-outside"}


def test_of_a_plugin_without_a_schema_every_option_is_set(hosted):
    entry = {**hosted.write("talks", TALKS), "options": {"greeting": "hello there", "n": 3}}
    hosted.start(entry)
    assert hosted.values["plugins.talks"] == {"greeting": "<set>", "n": "<set>"}


def test_of_a_plugin_that_cannot_be_read_no_option_is_shown(hosted):
    entry = {**hosted.write("talks", TALKS), "options": {"greeting": "hello there"}}
    (hosted.folder / "talks" / "plugin.yaml").write_text("id: talks\nmain: [\n")
    hosted.start(entry)
    assert "hello there" not in repr(hosted.probe.frames)


def test_the_schema_of_an_option_is_one_the_protocol_knows(hosted):
    """The strict client of the kit refuses a property without a title, or with `integer`."""
    schema = {
        "type": "object",
        "$defs": {"name": {"type": "string", "maxLength": 5}},
        "properties": {
            **SCHEMA["properties"],
            "name": {"$ref": "#/$defs/name"},
            "either": {"anyOf": [{"type": "string"}, {"type": "object"}]},
            "list": {"items": {"type": ["null", "integer"]}, "minItems": 1},
            "open": {"type": "object", "additionalProperties": True},
            "loop": {"$ref": "#"},
        },
        "required": ["name"],
    }
    entry = hosted.write("talks", TALKS, optionsSchema=schema)
    hosted.start({**entry, "options": {"name": "ada"}})
    declared = hosted.host.store.state(ROOT)["config"]["schema"]["properties"]["plugins.talks"]
    assert declared["properties"]["retries"] == {
        "type": "number",
        "title": "retries",
        "maximum": 5,
    }
    assert declared["properties"]["name"] == {"type": "string", "title": "name", "maxLength": 5}
    assert declared["properties"]["list"]["items"] == {"type": "number", "title": "Item"}
    assert "either" not in declared["properties"]
    assert hosted.row("talks")["optionsSchema"] == schema


def test_options_come_through_the_roots_configuration_too(hosted):
    entry = hosted.write("talks", TALKS, optionsSchema=SCHEMA)
    hosted.start({**entry, "options": {"apiKey": "sk-1234", "greeting": "hi"}})
    assert hosted.push("talks", {"apiKey": "<set>", "retries": 2, "greeting": None}) is None
    assert hosted.listed[0]["options"] == {"apiKey": "sk-1234", "retries": 2}
    assert hosted.call("x-talks/say") == {"apiKey": "sk-1234", "retries": 2}
    assert hosted.values["plugins.talks"] == {"apiKey": "<set>", "retries": 2}
    assert hosted.push("talks", {"retries": 3}) is None  # what is not named is left
    assert hosted.listed[0]["options"] == {"apiKey": "sk-1234", "retries": 3}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("loud", "expected the options of the plugin"),
        ({"retries": "many"}, "retries"),
        ({"volume": 3}, "volume"),
    ],
)
def test_options_that_do_not_fit_are_refused_whole(hosted, value, words):
    hosted.start(hosted.write("talks", TALKS, optionsSchema=SCHEMA))
    before = hosted.file.read_text()
    if isinstance(value, dict):
        value = {"greeting": "hi", **value}
    assert words in hosted.push("talks", value)
    assert hosted.file.read_text() == before
    assert hosted.call("x-talks/say") == {}
    assert hosted.values["plugins.talks"] == {}


def test_a_push_that_cannot_be_written_is_refused_in_words(hosted):
    hosted.start(hosted.write("talks", TALKS, optionsSchema=SCHEMA))
    hosted.file.write_text("plugins: [\n")
    assert "config.yaml" in hosted.push("talks", {"greeting": "hi"})
    hosted.file.write_text("plugins: []\n")
    assert "does not list" in hosted.push("talks", {"greeting": "hi"})


def test_a_push_to_a_host_without_a_file_is_refused(hosted):
    from ahpd.config.plugins_file import PluginsFile
    from ahpd.testing.host import MemoryHost

    hosted.list(hosted.write("talks", TALKS))
    hosted.host = MemoryHost(plugins=PluginsFile(hosted.file).read().entries)
    hosted.probe = hosted.host.connect("ada", ROOT)
    assert "no configuration file" in hosted.push("talks", {"greeting": "hi"})
    with pytest.raises(Exception, match="x-ahpd/plugins/apply"):
        hosted.ask("apply")
    hosted.host.stop()


# -- restart --------------------------------------------------------------------------------


def restarts(hosted):
    return [
        params for method, params in hosted.probe.notifications if method == "x-ahpd/restartNeeded"
    ]


@pytest.mark.parametrize(
    ("command", "params"),
    [
        ("disable", {"id": "holder"}),
        ("options", {"id": "holder", "key": "a", "value": 1}),
        ("reload", {"id": "holder"}),
        ("remove", {"id": "holder"}),
    ],
)
def test_what_holds_a_port_answers_restart_and_stays(hosted, command, params):
    hosted.start(hosted.write("holder", HOLDS_A_PORT))
    module = hosted.module("holder")
    assert "ahpd.restartNeeded" not in hosted.values
    assert hosted.ask(command, **params) == {"id": "holder", "restart": True}
    assert hosted.module("holder") is module
    assert hosted.values["ahpd.restartNeeded"] is True
    assert restarts(hosted) == [{"channel": ROOT}]
    late = hosted.host.connect("late", ROOT)
    assert late.state(ROOT)["config"]["values"]["ahpd.restartNeeded"] is True
    assert [method for method, _ in late.notifications] == []


def test_a_restart_is_told_once_and_no_client_clears_it(hosted):
    hosted.start(hosted.write("holder", HOLDS_A_PORT))
    hosted.ask("disable", id="holder")
    hosted.ask("enable", id="holder")
    hosted.ask("options", id="holder", key="a", value=1)
    assert restarts(hosted) == [{"channel": ROOT}]
    action = {"type": "root/configChanged", "config": {"ahpd.restartNeeded": False}}
    with pytest.raises(Exception, match="this host sets it itself"):
        hosted.host.run(hosted.probe.perform(ROOT, action))
    assert hosted.values["ahpd.restartNeeded"] is True


def test_what_was_turned_off_and_on_again_waits_for_nothing(hosted):
    hosted.start(hosted.write("holder", HOLDS_A_PORT))
    assert hosted.ask("disable", id="holder")["restart"] is True
    assert hosted.ask("enable", id="holder") == {"id": "holder"}


def test_a_plugin_that_comes_with_a_port_goes_out_again_and_is_not_tried_at_every_change(hosted):
    code = "import builtins\n" + HOLDS_A_PORT.replace("): ", "): print('applied'); ")
    hosted.start(hosted.write("talks", TALKS))
    holder = hosted.write("holder", code.replace("print('applied')", "host.say('applied')"))
    hosted.list(*hosted.listed, holder)
    assert hosted.ask("apply") == {"restart": True, "waiting": ["holder"]}
    assert list(hosted.plugins.running_plugins) == ["talks"]
    assert hosted.row("holder")["loaded"] is False
    # Another plugin's change waits for nothing.
    assert hosted.ask("options", id="talks", key="a", value=1) == {"id": "talks"}
    assert hosted.ask("disable", id="holder") == {"id": "holder"}
    assert hosted.ask("apply") == {}
    assert hosted.ask("enable", id="holder") == {"id": "holder", "restart": True}


def test_a_name_the_file_does_not_hold_asks_for_a_restart(hosted):
    hosted.start(hosted.write("talks", TALKS))
    assert hosted.ask("reload", id="acme-helpers") == {"id": "acme-helpers", "restart": True}
    assert hosted.values["ahpd.restartNeeded"] is True


@pytest.mark.parametrize("how", ["a bad option", "no such plugin"])
def test_a_refused_command_marks_nothing(hosted, how):
    hosted.start(hosted.write("holder", HOLDS_A_PORT, optionsSchema=SCHEMA))
    if how == "a bad option":
        hosted.fails("options", id="holder", key="retries", value="x")
    else:
        hosted.fails("disable", id="nobody")
    assert "ahpd.restartNeeded" not in hosted.values
    assert restarts(hosted) == []


# -- the list as it is ---------------------------------------------------------------------


def test_apply_does_what_the_file_says_now(hosted):
    one, two = hosted.write("one", TALKS.replace("talks", "one")), hosted.write("two")
    hosted.start(one)
    hosted.list(two)
    assert hosted.ask("apply") == {}
    assert list(hosted.plugins.running_plugins) == ["two"]
    assert [(action["type"], action.get("id")) for action in hosted.said()][:1] == [
        ("x-ahpd-plugins/removed", "one")
    ]
    assert list(hosted.rows()) == ["two"]
    assert "plugins.one" not in hosted.values
    assert hosted.values["plugins.two"] == {}


def test_apply_tries_what_failed_again_and_says_what_went_wrong(hosted):
    bad = hosted.write("bad", "raise RuntimeError('not today')\n")
    hosted.start(bad)
    answer = hosted.ask("apply")
    assert ["not today" in line for line in answer["problems"]] == [True]
    hosted.write("bad", TALKS)
    assert hosted.ask("apply") == {}
    assert hosted.call("x-talks/say") == {}


def test_a_failure_is_answered_to_who_changed_that_plugin_alone(hosted):
    hosted.start(hosted.write("bad", "raise RuntimeError('not today')\n"), hosted.write("good"))
    assert hosted.ask("disable", id="good") == {"id": "good"}
    (line,) = hosted.ask("options", id="bad", key="a", value=1)["problems"]
    assert line.startswith("plugin bad skipped: ")


def test_a_reload_of_what_is_broken_on_disk_leaves_what_runs(hosted):
    hosted.start(hosted.write("talks", TALKS))
    (hosted.folder / "talks" / "plugin.yaml").write_text("id: [\n")
    answer = hosted.ask("reload", id="talks")
    assert "plugin.yaml" in answer["problems"][0]
    assert hosted.call("x-talks/say") == {}


def test_a_reload_finds_another_id_on_disk(hosted):
    entry = hosted.write("talks", TALKS)
    hosted.start(entry)
    (hosted.folder / "talks" / "plugin.yaml").write_text("id: speaks\nmain: main.py\n")
    assert hosted.ask("reload", id="talks") == {"id": "speaks"}
    assert list(hosted.plugins.running_plugins) == ["speaks"]
    assert list(hosted.rows()) == ["speaks"]
    # And back: nothing that was read is called so, and what is on disk is.
    (hosted.folder / "talks" / "plugin.yaml").write_text("id: talks\nmain: main.py\n")
    assert hosted.ask("reload", id="talks") == {"id": "talks"}
    assert list(hosted.plugins.running_plugins) == ["talks"]
    assert "ahpd.restartNeeded" not in hosted.values


def test_a_plugin_is_reloaded_by_its_source_too_and_what_went_wrong_is_answered(hosted):
    source = hosted.start(hosted.write("talks", TALKS)).listed[0]["source"]
    assert hosted.ask("reload", id=source) == {"id": source}
    hosted.write("talks", "raise RuntimeError('not today')\n")
    for command in ("reload", "enable"):
        assert "not today" in hosted.ask(command, id=source)["problems"][0]


# -- installed ----------------------------------------------------------------------------------


@pytest.fixture
def installed(hosted):
    """Installs a distribution `acme-<plugin>` into the plugin root; pip takes it out again."""
    site = site_packages(hosted.config / "plugin-root")

    async def pip(argv, environ, directory):
        assert "uninstall" in argv
        (info,) = site.glob(f"{argv[-1].replace('-', '_')}-*.dist-info")
        shutil.rmtree(info)
        return 0, ""

    def put(plugin, code, manifest="", name=None):
        hosted.config.joinpath("plugin-root", "bin").mkdir(parents=True, exist_ok=True)
        hosted.config.joinpath("plugin-root").chmod(0o700)
        write(hosted.config / "plugin-root", {"pyvenv.cfg": "", "bin/python": ""})
        package = f"acme_{plugin}"
        files = {f"{package}/__init__.py": code, f"{package}/plugin.yaml": manifest}
        install(site, f"acme-{plugin}", {name or plugin: package}, files)
        write(site, {"ahpd-host.pth": ""})
        return f"acme-{plugin}"

    before = list(sys.path)
    yield put, pip, site
    sys.path[:] = before
    for name in [name for name in sys.modules if name.startswith("acme_")]:
        del sys.modules[name]


APPLIES = "def apply(host, options): pass\n"


def test_an_installation_of_several_plugins_names_each(hosted, installed, monkeypatch):
    put, _, site = installed
    hosted.start()
    put("pair", APPLIES)
    points = {"one": "acme_pair", "two": "acme_pair.two"}
    install(site, "acme-pair", points, {"acme_pair/two.py": APPLIES})

    async def installing(source, base):
        return Installed(distribution="acme-pair", version="1.0", ids=("one", "two"))

    monkeypatch.setattr(hosted.host.side.root.installer, "install", installing)
    assert hosted.ask("install", source="acme-pair") == {"id": "one", "ids": ["one", "two"]}
    assert list(hosted.plugins.running_plugins) == ["one", "two"]


@pytest.mark.parametrize(
    ("manifest", "name", "asked"),
    [
        ("tilte: x\n", None, "dashy"),
        ("tilte: x\n", None, "acme-dashy"),
        ("", "-dashy", "acme-dashy"),
        ("", "-dashy", "-dashy"),
    ],
)
def test_what_cannot_be_loaded_is_uninstalled_too(hosted, installed, manifest, name, asked):
    put, pip, site = installed
    hosted.start(put("dashy", APPLIES, manifest, name))
    hosted.run_programs_by(pip)
    assert hosted.plugins.running_plugins == {}
    assert hosted.ask("remove", id=asked) == {"id": asked}
    assert hosted.listed == []
    assert not list(site.glob("acme_dashy-*"))


def test_what_could_not_be_uninstalled_is_said_to_be_off_the_list(hosted, installed):
    put, _, site = installed
    runs = Runs()
    runs.answer = (1, "ERROR: no room\n")
    hosted.start(put("dashy", APPLIES))
    hosted.run_programs_by(runs)
    assert hosted.fails("remove", id="dashy") == (
        -32603, "dashy is taken out of the list, and what is installed stays: no room",
    )  # fmt: skip
    assert hosted.listed == []
    assert list(site.glob("acme_dashy-*"))


@pytest.mark.parametrize("fault", ["raise RuntimeError(1)\n", None])
def test_an_update_loads_what_it_moved_whatever_its_version_says(
    hosted, installed, monkeypatch, fault
):
    put, _, _ = installed
    hosted.start(put("moves", fault or "OLD = True\n" + APPLIES))
    assert ("moves" in hosted.plugins.running_plugins) is (fault is None)

    async def update(distribution):
        put("moves", "NEW = True\n" + APPLIES)
        return Updated(before="1.0", after="1.0", moved=True)

    monkeypatch.setattr(hosted.host.side.root.installer, "update", update)
    assert hosted.ask("update", id="moves") == {"id": "moves", "from": "1.0", "to": "1.0"}
    assert hosted.module("moves").NEW


def test_an_update_of_what_cannot_be_loaded_says_so_each_time(hosted, installed, monkeypatch):
    put, _, _ = installed
    hosted.start(put("moves", APPLIES))

    async def update(distribution):
        put("moves", "raise RuntimeError('not today')\n")
        return Updated(before="1.0", after="1.0", moved=first.pop())

    first = [False, True]
    monkeypatch.setattr(hosted.host.side.root.installer, "update", update)
    for asked in ("moves", "acme-moves"):
        assert "not today" in hosted.ask("update", id=asked)["problems"][0]


# -- written in a client ----------------------------------------------------------------------

SAYS = (
    "from ahpd.interfaces import Method\n"
    "def apply(host, options):\n"
    "    async def say(params, caller): return {0!r}\n"
    "    host.register_method('x-new/say', Method(grant='new:say', handle=say))\n"
)


def test_a_plugin_is_written_read_back_written_again_and_removed(hosted):
    hosted.start()
    manifest = "title: New\ncategories: [mine]\n"
    assert hosted.ask("write", id="new", source=SAYS.format("one"), manifest=manifest) == {
        "id": "new"
    }
    assert hosted.call("x-new/say") == "one"
    folder = hosted.config / "plugin-root" / "plugins" / "new"
    assert hosted.listed == [str(folder)]
    row = hosted.row("new")
    assert (row["title"], row["loaded"], row["spec"]) == ("New", True, str(folder))
    read = hosted.ask("source", id="new")
    assert read["source"] == SAYS.format("one")
    assert read["manifest"].startswith(manifest)
    assert "id: new" in read["manifest"]
    assert hosted.ask("write", id="new", source=SAYS.format("two")) == {"id": "new"}
    assert hosted.call("x-new/say") == "two"
    assert len(hosted.listed) == 1
    assert hosted.ask("remove", id="new") == {"id": "new"}
    assert not folder.exists()
    assert hosted.listed == []
    assert hosted.fails("source", id="new")[0] == -32602


def test_a_written_plugin_is_kept_on_disk_where_that_is_asked(hosted):
    hosted.start()
    hosted.ask("write", id="new", source=SAYS.format("one"))
    assert hosted.ask("remove", id="new", keep=True) == {"id": "new"}
    assert (hosted.config / "plugin-root" / "plugins" / "new" / "plugin.yaml").exists()
    assert hosted.listed == []


def test_a_write_whose_requirements_fail_leaves_the_old_one_running(hosted):
    hosted.start()
    hosted.ask("write", id="new", source=SAYS.format("one"))
    runs = Runs()
    runs.answer = (1, "ERROR: No matching distribution found for nothing-such\n")
    hosted.run_programs_by(runs)
    code, words = hosted.fails(
        "write", id="new", source=SAYS.format("two"), manifest={"dependencies": ["nothing-such"]}
    )
    assert code == -32603
    assert "No matching distribution" in words or "cannot be made" in words
    assert hosted.call("x-new/say") == "one"
    assert hosted.ask("source", id="new")["source"] == SAYS.format("one")
    plugins = hosted.config / "plugin-root" / "plugins"
    assert sorted(each.name for each in plugins.iterdir() if each.name.startswith(".new")) == []


def test_a_written_plugin_that_fails_is_tried_again_when_it_is_written_again(hosted):
    hosted.start()
    (line,) = hosted.ask("write", id="new", source="raise ValueError('no')\n")["problems"]
    assert "ValueError: no" in line
    assert hosted.ask("write", id="new", source=SAYS.format("two")) == {"id": "new"}
    assert hosted.call("x-new/say") == "two"


def test_pip_that_fails_is_32603_with_its_own_reason(hosted):
    hosted.start()
    runs = Runs()
    runs.answer = (1, "ERROR: could not reach the index\n")
    hosted.run_programs_by(runs)
    code, words = hosted.fails("install", source="acme")
    assert (code, "could not reach the index" in words) == (-32603, True)
    assert hosted.listed == []
