"""Flags, twistd's options and the documentation are all made of the one declaration."""

import re
from pathlib import Path

import attrs
import click
import pytest

from ahpd import tap
from ahpd.cli.main import root
from ahpd.config.kinds import Switch
from ahpd.config.settings import FILED, FLAGGED, OPTIONS, Settings

ROOT = Path(__file__).parent.parent.parent

#: The keys the host's users were promised.
PROMISED = {
    "host", "port", "paths", "connectionToken", "connectionTokenFile", "withoutConnectionToken",
    "stdio", "wire", "deltaWindowMs", "clientQueueBytes", "replayBytes", "demo",
    "sessions", "dataDirectory", "sessionsSync", "closedChats",
    "agentIdleSeconds", "sessionIdleSeconds",
    "agents", "engines", "mcpServers", "eligibleForAutoApproval", "managedSettingsPermissions",
    "managedRules", "terminalAutoApproveDefaults", "advancedTools",
    "plugins", "pluginEntryOutside", "routes", "iconLimitBytes", "iconTimeoutMs",
}  # fmt: skip


def flags_of(option):
    found = {f"--{option.flag}"}
    if isinstance(option.kind, Switch):
        found.add(f"--{option.kind.negative}")
    if option.singular:
        found.add(f"--{option.singular}")
    return found


def test_every_promised_key_is_declared():
    assert {option.key for option in OPTIONS} >= PROMISED


def test_what_nests_and_what_the_operator_manages_is_no_flag():
    assert {option.key for option in OPTIONS if option not in FLAGGED} == {
        "agents", "engines", "mcpServers", "eligibleForAutoApproval",
        "managedSettingsPermissions", "managedRules", "terminalAutoApproveDefaults",
        "advancedTools",
        "plugins", "pluginEntryOutside", "routes", "iconLimitBytes", "iconTimeoutMs",
    }  # fmt: skip


def test_what_only_a_command_line_says_is_no_key():
    assert [option.flag for option in OPTIONS if option not in FILED] == [
        "plugin", "no-plugins", "plugin-option",
    ]  # fmt: skip


def test_every_field_is_an_option_but_those_that_are_derived():
    assert {field.name for field in attrs.fields(Settings)} - {
        option.name for option in OPTIONS
    } == {"listens", "config_file", "config_directory", "variable_secrets"}


def test_only_the_token_is_a_secret():
    assert [option.key for option in OPTIONS if option.secret] == ["connectionToken"]


@pytest.mark.parametrize("command", [root, root.commands["start"], root.commands["config"]])
def test_the_command_has_a_flag_for_each_option_and_no_other(command):
    own = {"--json", "-h", "--help", "--version", "--config-file"}
    with click.Context(command, help_option_names=["-h", "--help"]) as context:
        found = {
            name
            for parameter in command.get_params(context)
            for name in (*parameter.opts, *parameter.secondary_opts)
        }
    assert found - own == set().union(*(flags_of(option) for option in FLAGGED))


def test_twistd_has_the_same_flags():
    names = {f"--{name.removesuffix('=')}" for name in tap.Options().longOpt}
    own = {"--help", "--version", "--config-file"}
    assert names - own == set().union(*(flags_of(option) for option in FLAGGED))


def documented(name):
    """The rows of a table between its two marks."""
    text = (ROOT / "docs" / "configuration.md").read_text()
    table = re.search(rf"<!-- {name}: .*?-->\n(.*?)<!-- end of {name} -->", text, re.DOTALL)
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table[1].splitlines()
        if line.startswith("| `")
    ]


def test_the_documentation_lists_each_option_as_it_is_declared():
    assert documented("options") == [
        [f"`{option.key}`", option.kind.allowed, option.default_words, option.help]
        for option in FILED
    ]


def test_the_documentation_lists_each_flag_that_is_no_key_as_it_is_declared():
    assert documented("flags") == [
        [f"`--{option.flag}`", option.kind.allowed, option.help]
        for option in OPTIONS
        if option not in FILED
    ]


def test_a_default_that_is_a_value_passes_its_own_check(tmp_path):
    for option in FILED:
        if option.default not in (None, ()):
            assert option.kind.check(option.default, tmp_path) == option.default
