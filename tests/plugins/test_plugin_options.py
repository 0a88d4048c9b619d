"""Options: configured over defaults, held to the schema, and what they name read."""

import pytest
from pytest_twisted import ensureDeferred
from zope.interface import implementer

from ahpd.interfaces import ISecrets, SecretFailure
from ahpd.plugins.manifest import Manifest
from ahpd.plugins.options import ready_options, resolved_options, unset_options
from ahpd.plugins.skipped import Skipped

from .made import entry, found_as

SCHEMA = {
    "type": "object",
    "properties": {
        "command": {"type": "string"},
        "model": {"type": "string", "enum": ["fast", "careful"]},
        "retries": {"type": "integer", "minimum": 0},
        "limits": {"type": "object", "additionalProperties": {"type": "integer"}},
        "apiKey": {"type": "string", "writeOnly": True},
        "later": {"type": "string", "secretAtUse": True, "minLength": 3},
        "logins": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"key": {"type": "string", "secretAtUse": True}},
                "additionalProperties": {"type": "string"},
            },
        },
    },
    "required": ["command"],
}


def plugin(options=(), schema=SCHEMA):
    manifest = Manifest(id="mine", place="plugins[0]", options_schema=schema)
    return found_as(entry("./mine", options=dict(options)), manifest)


@implementer(ISecrets)
class Held:
    """Secrets of a vault."""

    def __init__(self, **held):
        self.held = {name.replace("__", ":"): value for name, value in held.items()}
        self.asked = []

    async def read(self, name, *, team=None, owner=None):
        self.asked.append((name, team, owner))
        if name not in self.held:
            raise SecretFailure(f"the vault holds no {name}")
        return self.held[name]

    async def keep(self, name, value):
        raise AssertionError

    async def forget(self, name):
        raise AssertionError


def refused(defaults, given, schema=SCHEMA):
    with pytest.raises(Skipped) as caught:
        ready_options(plugin(schema=schema), defaults, given)
    return caught.value.line


# -- defaults and the schema --------------------------------------------------------------


def test_what_is_configured_lies_over_the_modules_defaults():
    defaults = {"command": "run", "model": "fast", "limits": {"a": 1}}
    given = {"model": "careful", "limits": {"b": 2}}
    assert ready_options(plugin(), defaults, given) == (
        {"command": "run", "model": "careful", "limits": {"b": 2}},
        [],
    )


def test_what_the_schema_says_is_the_default_lies_under_both():
    schema = {
        "properties": {
            "a": {"type": "string", "default": "schema"},
            "b": {"type": "string", "default": "schema"},
            "c": {"type": "string", "default": "schema"},
        },
        "required": ["a"],
    }
    options, _ = ready_options(plugin(schema=schema), {"b": "module"}, {"c": "given"})
    assert options == {"a": "schema", "b": "module", "c": "given"}


def test_what_apply_is_handed_is_its_own():
    defaults = {"command": "run", "limits": {"a": 1}}
    options, _ = ready_options(plugin(), defaults, {})
    options["limits"]["a"] = 2
    assert defaults["limits"] == {"a": 1}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"command": 3}, "plugins.mine.options.command must be text"),
        ({}, "plugins.mine.options.command is missing"),
        ({"command": "x", "retries": -1}, "plugins.mine.options.retries must be "),
        ({"command": "x", "model": "slow"}, "plugins.mine.options.model must be "),
        ({"command": "x", "limits": {"a": "s3cret"}}, "plugins.mine.options.limits.a must be "),
    ],
)
def test_options_that_do_not_fit_skip_the_plugin_and_are_named(given, words):
    line = refused({}, given)
    assert line.startswith(f"plugin mine skipped: {words}")
    assert "s3cret" not in line
    assert "\n" not in line


def test_a_default_that_does_not_fit_is_told_alike():
    line = refused({"command": 3}, {})
    assert line.endswith("/nowhere/plugin.py: the value in defaults.command must be text")
    schema = {"type": "object", "properties": {"low": {"type": "integer", "default": "two"}}}
    assert refused({}, {}, schema) == (
        "plugin mine skipped: plugins[0]: the default in optionsSchema.properties.low must be a "
        "whole number"
    )
    # What somebody set in its place is theirs.
    assert refused({}, {"low": "x"}, schema).endswith(
        "plugins.mine.options.low must be a whole number"
    )


def test_an_option_nobody_knows_is_passed_through_with_a_line():
    options, lines = ready_options(plugin(), {}, {"command": "x", "extra": [1]})
    assert options == {"command": "x", "extra": [1]}
    assert lines == ["plugins.mine.options.extra is not an option mine knows; passed through"]


def test_options_without_a_schema_are_not_checked():
    given = {"anything": {"at": "all"}}
    assert ready_options(plugin(schema=None), {"more": 1}, given) == ({"more": 1, **given}, [])


def test_a_schema_that_is_none_skips_the_plugin():
    line = refused({}, {"command": "x"}, {"properties": {"command": {"type": "texts"}}})
    assert line.startswith("plugin mine skipped: plugins.mine.options cannot be checked")


@pytest.mark.parametrize(
    ("options", "unset"),
    [({}, ["command"]), ({"command": ""}, []), ({"command": {"$env": "X"}}, [])],
)
def test_what_must_be_set_and_is_not_is_told_without_the_module(options, unset):
    assert unset_options(plugin(options)) == unset


# -- what they name -------------------------------------------------------------------------


@ensureDeferred
async def test_a_secret_of_the_host_is_read_and_held_to_the_schema():
    vault, read = Held(host__stripe="sk-live"), []
    options = {"command": "x", "apiKey": {"$secret": "host:stripe"}, "limits": {"a": 1}}
    found = plugin(options)
    given = await resolved_options(found, vault, {}, read)
    assert given == {"command": "x", "apiKey": "sk-live", "limits": {"a": 1}}
    assert options["apiKey"] == {"$secret": "host:stripe"}
    assert vault.asked == [("host:stripe", None, None)]
    assert read == ["sk-live"]
    assert ready_options(found, {}, given)[0] == given


@pytest.mark.parametrize("kind", ["fromEnv", "$env"])
@ensureDeferred
async def test_a_variable_is_read_wherever_it_is_named(kind):
    options = {"logins": [{"name": "a"}, {"name": {kind: "NAME"}}]}
    given = await resolved_options(plugin(options, None), Held(), {"NAME": "b"})
    assert given == {"logins": [{"name": "a"}, {"name": "b"}]}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"$secret": "host:gone"}, "apiKey names host:gone: the vault holds no host:gone"),
        ({"$secret": "user:ada/key"}, "apiKey names user:ada/key: a plugin is loaded for no team"),
        ({"$secret": "team:a/key"}, "apiKey names team:a/key: a plugin is loaded for no team"),
        ({"$secret": 3}, "apiKey.$secret must be text"),
        ({"$secret": "sk_live_1"}, "apiKey names no secret: a secret's name is host:<name>, "),
        ({"$secret": "host:agent/a/key"}, "apiKey names host:agent/a/key, which is kept for a "),
        ({"fromEnv": "GONE"}, "apiKey names the variable GONE, which is not in the environment"),
        ({"$env": "EMPTY"}, "apiKey names the variable EMPTY, which is empty in the environment"),
    ],
)
@ensureDeferred
async def test_what_cannot_be_read_skips_the_plugin_naming_the_option(value, words):
    vault = Held(**{"user__ada/key": "hers", "team__a/key": "theirs"})
    with pytest.raises(Skipped) as caught:
        await resolved_options(plugin({"apiKey": value}), vault, {"EMPTY": ""})
    assert caught.value.line.startswith(f"plugin mine skipped: plugins.mine.options.{words}")
    assert "sk_live" not in caught.value.line


@ensureDeferred
async def test_what_is_read_at_use_is_handed_over_as_it_is_written_and_read_only():
    vault = Held()
    options = {
        "command": "x",
        "later": {"$secret": "user:ada/key"},
        "logins": [{"key": {"$secret": "host:a"}}, {"key": "plain"}],
    }
    found = plugin(options)
    given = await resolved_options(found, vault, {})
    ready, lines = ready_options(found, {}, given)
    assert ready == options
    assert lines == []
    assert vault.asked == []
    for reference in (ready["later"], ready["logins"][0]["key"]):
        with pytest.raises(TypeError):
            reference["$secret"] = "host:other"
    ready["logins"][1]["key"] = "a write to the rest is the plugin's own affair"
    assert options["logins"][1] == {"key": "plain"}


def test_a_plain_text_in_a_field_that_is_read_at_use_is_checked():
    assert refused({}, {"command": "x", "later": "ab"}).startswith(
        "plugin mine skipped: plugins.mine.options.later must "
    )
    assert "later must be text" in refused({}, {"command": "x", "later": 5})


def test_a_default_may_name_a_secret_where_it_is_read_at_use_alone():
    named = {"$secret": "host:a"}
    options, _ = ready_options(plugin(), {"later": named}, {"command": "x"})
    assert options["later"] == named
    assert refused({"apiKey": named}, {"command": "x"}) == (
        "plugin mine skipped: plugins.mine.options.apiKey names a value, "
        "and its field is not marked secretAtUse"
    )


@ensureDeferred
async def test_a_mark_is_read_through_what_the_schema_refers_to():
    schema = {
        "$defs": {"key": {"type": "string", "secretAtUse": True}},
        "properties": {"keys": {"additionalProperties": {"anyOf": [{"$ref": "#/$defs/key"}]}}},
    }
    options = {"keys": {"a": {"$secret": "host:a"}}}
    assert await resolved_options(plugin(options, schema), Held(), {}) == options
