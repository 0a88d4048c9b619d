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
