"""`ahpd doctor` looks at plugins: a line for each, and a failure for one that would be skipped."""

import pytest


@pytest.fixture
def plugin(command):
    """Makes a plugin whose code nothing may run, and answers its folder."""

    def make(name, more="", manifest=None):
        folder = command.work / name
        folder.mkdir()
        text = f"id: {name}\nmain: ./main.py\n{more}" if manifest is None else manifest
        (folder / "plugin.yaml").write_text(text)
        (folder / "main.py").write_text("raise RuntimeError('doctor runs nothing')\n")
        return folder

    return make


NEEDS = "optionsSchema: {type: object, properties: {key: {type: string}}, required: [key]}\n"


def checks(command, status=0):
    found = command.answer("doctor", "--port", "0", status=status)["checks"]
    return {one["about"]: one for one in found if one["subject"] == "plugins"}


def test_a_host_without_plugins_is_told_nothing_of_them(command):
    assert checks(command) == {}


def test_one_that_would_be_loaded_or_is_turned_off_is_well(command, plugin):
    plugin("fine", "contracts: {}\n")
    plugin("resting", NEEDS)
    command.write(
        "plugins:\n- ./fine\n- {source: ./resting, enabled: false}\n- {source: ./gone, enabled: false}\n"
    )
    found = checks(command)
    assert {about: one["level"] for about, one in found.items()} == {
        "fine": "ok", "resting": "ok", "./gone": "ok",
    }  # fmt: skip
    assert found["fine"]["words"] == f"ready: {command.work}/fine/main.py"
    assert found["resting"]["words"] == "disabled: it is not loaded"


def test_each_that_would_be_skipped_is_a_problem_with_what_mends_it(command, plugin):
    plugin("unset", NEEDS)
    plugin("misfit", NEEDS)
    plugin("old", "requires: ahpd<0.0.1\n")
    plugin("wrong", manifest="id: wrong\nmain: ./main.py\ntilte: Wrong\n")
    command.write(
        "plugins:\n- ./unset\n- {source: ./misfit, options: {key: 3}}\n- ./old\n- ./wrong\n"
        "- ./gone\n- nothing-such\n"
    )
    found = checks(command, status=1)
    assert {one["level"] for one in found.values()} == {"problem"}
    words = {about: one["words"] for about, one in found.items()}
    assert words["unset"] == "unconfigured: plugins.unset.options.key must be set"
    assert words["misfit"] == "unconfigured: plugins.misfit.options.key must be text"
    assert words["old"].startswith("incompatible: ")
    assert "tilte is an unknown key" in words["wrong"]
    assert words["./gone"].startswith("missing: Plugin ./gone is not there")
    mends = {about: one["mend"] for about, one in found.items()}
    assert mends["unset"] == "ahpd plugin config unset key VALUE"
    assert mends["old"] == "ahpd plugin disable old, or have its plugin.yaml admit this ahpd"
    assert mends["./gone"] == "ahpd plugin remove ./gone"
    assert mends["nothing-such"].startswith("ahpd plugin install nothing-such, or ")


def test_an_option_nobody_knows_and_a_default_that_does_not_fit_are_said(command, plugin):
    schema = "optionsSchema: {type: object, properties: {low: {type: integer, default: %s}}}\n"
    plugin("fine", schema % 2)
    plugin("wrong", schema % "two")
    command.write("plugins:\n- {source: ./fine, options: {lwo: 3}}\n- ./wrong\n")
    found = checks(command, status=1)
    unknown = "plugins.fine.options.lwo is not an option fine knows; passed through"
    assert found["fine"]["level"] == "ok"
    assert found["fine"]["words"].endswith(
        f"main.py, and says nothing of what it registers; {unknown}"
    )
    said = (
        f"error: {command.work}/wrong/plugin.yaml: the default in optionsSchema.properties.low "
        "must be a whole number"
    )
    assert found["wrong"]["words"] == said
    assert command.run("plugin", "list", status=0).stderr == f"ahpd: warning: {unknown}\n"


def test_an_agent_whose_engine_a_plugin_brings_is_no_problem(command, plugin):
    plugin("brings", "contracts: {engines: [orders]}\n")
    command.write(
        "plugins: [./brings]\n"
        "agents:\n- {id: mine, engine: orders, name: Mine}\n- {id: odd, engine: nothing, name: Odd}\n"
    )
    found = command.answer("doctor", "--port", "0", status=1)["checks"]
    levels = {one["subject"]: one["level"] for one in found if one["subject"] in ("mine", "odd")}
    assert levels == {"mine": "ok", "odd": "problem"}


# -- what options name --------------------------------------------------------------------------

KEYS = """
optionsSchema:
  type: object
  properties: {key: {type: string}, later: {type: string, secretAtUse: true}}
"""


def test_a_secret_that_is_not_there_is_a_problem_as_a_load_has_it(command, plugin):
    plugin("larder", KEYS)
    command.write(
        "plugins:\n- source: ./larder\n"
        "  options: {key: {$secret: 'host:nope'}, later: {$secret: 'host:later'}}\n"
    )
    one = checks(command, status=1)["larder"]
    assert one["level"] == "problem"
    assert one["words"].endswith(
        "; plugins.larder.options.key names host:nope: the vault holds no host:nope"
    )
    assert one["mend"] == "ahpd vault set host:nope"
    vault = command.config / "vault.json"
    vault.write_text('{"host:nope": "a value nobody says"}')
    vault.chmod(0o600)
    said = command.run("doctor", "--port", "0", status=0)
    assert "a value nobody says" not in said.stdout + said.stderr
    assert checks(command)["larder"]["level"] == "ok"


def test_a_variable_that_is_not_there_is_a_problem(command, plugin):
    plugin("larder", KEYS)
    command.write("plugins:\n- {source: ./larder, options: {key: {$env: LARDER_KEY}}}\n")
    one = checks(command, status=1)["larder"]
    assert "names the variable LARDER_KEY, which is not in the environment" in one["words"]
    assert one["mend"] == "export LARDER_KEY=VALUE"
    command.environ["LARDER_KEY"] = "a value"
    assert checks(command)["larder"]["level"] == "ok"


def test_nothing_is_missed_of_a_vault_that_a_plugin_brings(command, plugin):
    plugin("larder", KEYS)
    plugin("keeps", "contracts: {ports: [vault]}\n")
    command.write(
        "plugins:\n- ./keeps\n- {source: ./larder, options: {key: {$secret: 'host:nope'}}}\n"
    )
    assert checks(command)["larder"]["level"] == "ok"


# -- beside a daemon ----------------------------------------------------------------------------

FINE = "def apply(host, options):\n    pass\n"
HOLDS_A_PORT = """
def apply(host, options):
    host.register_command_parser(lambda line: [])
"""
DEMO = "agents:\n- {id: mine, engine: demo, name: Mine}\n"


def beside(command, status=0):
    """What it says of plugins where no flag keeps it from asking the daemon."""
    found = command.answer("doctor", status=status)["checks"]
    return {one["about"]: one for one in found if one["subject"] == "plugins"}


@pytest.mark.parametrize("agents", ["", DEMO], ids=["alone", "with agents to check"])
def test_what_a_daemon_could_not_load_is_a_problem_and_why(command, plugin, agents):
    for name in ("fine", "broken", "empty"):
        plugin(name)
    (command.work / "fine" / "main.py").write_text(FINE)
    (command.work / "broken" / "main.py").write_text("def apply(host, options:\n")
    (command.work / "empty" / "main.py").write_text("")
    command.write(f"{agents}plugins: [./fine, ./broken, ./empty]\n")
    command.answer("start", "--port", "0")
    found = beside(command, status=1)
    assert {name: one["level"] for name, one in found.items()} == {
        "fine": "ok", "broken": "problem", "empty": "problem",
    }  # fmt: skip
    assert found["fine"]["words"].endswith(
        "/fine/main.py, and says nothing of what it registers; loaded"
    )
    assert "ready: " in found["broken"]["words"]
    assert "; not loaded: " in found["broken"]["words"]
    assert "SyntaxError" in found["broken"]["words"]
    assert "does not export an apply function" in found["empty"]["words"]
    assert found["empty"]["mend"] == "ahpd plugin reload empty, once what it says is mended"


def test_what_waits_for_a_daemon_is_said_with_the_command_that_ends_it(command, plugin):
    plugin("fine")
    plugin("parser")
    (command.work / "fine" / "main.py").write_text(FINE)
    (command.work / "parser" / "main.py").write_text(HOLDS_A_PORT)
    command.write("plugins: [./fine]\n")
    command.answer("start", "--port", "0")
    command.write("plugins: [./fine, ./parser]\n")
    one = beside(command)["parser"]
    assert (one["level"], one["mend"]) == ("warning", "ahpd plugin apply")
    assert one["words"].endswith("; not loaded: the daemon has not read the file since it changed")
    line = command.run("plugin", "list", status=0).stdout.splitlines()[1]
    assert line.endswith(": the daemon has not read the file since it changed: ahpd plugin apply")
    command.run("plugin", "apply", status=0)
    one = beside(command)["parser"]
    assert (one["level"], one["mend"]) == ("warning", "ahpd restart")
    line = command.run("plugin", "list", status=0).stdout.splitlines()[1]
    assert line.endswith(": not loaded: it waits for the daemon's next start: ahpd restart")
    command.run("restart", status=0)
    assert beside(command)["parser"]["level"] == "ok"
    command.run("plugin", "disable", "parser", status=0)
    one = beside(command)["parser"]
    assert (one["level"], one["mend"]) == ("warning", "ahpd restart")
    assert one["words"].startswith("disabled: ")
    assert one["words"].endswith("; still loaded: it waits for the daemon's next start")


def test_what_runs_and_could_not_be_started_again_is_said_as_both(command, plugin):
    plugin("fine")
    (command.work / "fine" / "main.py").write_text(FINE)
    command.write("plugins: [./fine]\n")
    command.answer("start", "--port", "0")
    (command.work / "fine" / "plugin.yaml").write_text("id: fine\ntilte: Fine\n")
    one = beside(command, status=1)
    (one,) = one.values()
    assert one["level"] == "problem"
    assert "tilte is an unknown key" in one["words"]
    assert one["words"].endswith("; the daemon runs it as it was")
