"""A manifest is read and each of its fields checked, before anything of the plugin runs."""

import pytest

from ahpd.interfaces import PluginError
from ahpd.plugins.manifest import CONTRACTS, Link, Manifest, held_to_contracts
from ahpd.plugins.manifest_fields import manifest_of
from ahpd.plugins.manifest_files import manifest_file, read_manifest
from ahpd.plugins.skipped import Skipped

from .made import write

WHOLE = """
id: notes
title: Notes
version: 1.2.0
description: Adds the notes channel and its command.
categories: [connector, tool]
links:
  - {title: Repository, url: "https://example.com/notes"}
contracts:
  channels: [x-notes]
  methods: [x-notes/*]
  routes:
icons:
  - {src: ./icon.svg}
  - {src: ./dark.png, theme: dark, sizes: [48x48], contentType: image/png}
optionsSchema:
  type: object
  properties:
    command: {type: string}
  required: [command]
requires: ahpd>=0.1,<0.2
i18n: i18n
main: notes.py
dependencies: ["requests>=2"]
"""


def test_every_field_is_read(tmp_path):
    write(tmp_path, {"plugin.yaml": WHOLE})
    read = read_manifest(tmp_path / "plugin.yaml", "./x")
    assert read == Manifest(
        id="notes",
        place=str(tmp_path / "plugin.yaml"),
        title="Notes",
        version="1.2.0",
        description="Adds the notes channel and its command.",
        categories=("connector", "tool"),
        links=(Link(title="Repository", url="https://example.com/notes"),),
        contracts={"channels": ("x-notes",), "methods": ("x-notes/*",), "routes": ()},
        icons=(
            {"src": "./icon.svg"},
            {
                "src": "./dark.png",
                "contentType": "image/png",
                "sizes": ["48x48"],
                "theme": "dark",
            },
        ),
        options_schema={
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
        requires="ahpd>=0.1,<0.2",
        texts="i18n",
        main="notes.py",
        dependencies=("requests>=2",),
    )


def test_a_manifest_in_json_says_the_same(tmp_path):
    write(tmp_path, {"plugin.json": '{"id": "notes", "name": "Notes", "main": "notes.py"}'})
    read = read_manifest(manifest_file(tmp_path, "notes"), "notes")
    assert (read.id, read.title, read.main, read.contracts) == ("notes", "Notes", "notes.py", None)


def test_two_manifests_in_one_folder_are_refused(tmp_path):
    write(tmp_path, {"plugin.json": "{}", "plugin.yaml": ""})
    with pytest.raises(Skipped, match=r"plugin\.yaml and plugin\.json are both its manifest"):
        manifest_file(tmp_path, "notes")


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"optionsschema": {}}, "optionsschema is an unknown key (did you mean optionsSchema?)"),
        ({"options_schema": {}}, "options_schema is an unknown key (did you mean optionsSchema?)"),
        ({"colour": "red"}, "colour is an unknown key; the keys are id, title, "),
        ({"options": {"model": True}}, "options is not read: declare the options in optionsSchema"),
        ({"ahpd": {}}, "ahpd is not read: write its keys at the top level"),
        ({"entry": "x"}, "entry is not read: write main"),
        ({"peerDependencies": {}}, "peerDependencies is not read: write requires"),
        ({"title": 5}, "title must be text (quote it)"),
        ({"version": 1.0}, "version must be text (quote it)"),
        ({"title": "A", "name": "B"}, "name is another word for title: write one of them"),
        ({"description": ["a"]}, "description must be text"),
        ({"categories": "agent"}, "categories must be a list of texts"),
        ({"categories": ["agent", 3]}, "categories[1] must be text"),
        ({"links": [{"title": "Docs"}]}, "links[0].url is missing"),
        ({"links": ["https://x"]}, "links[0] must be a mapping with title"),
        (
            {"links": [{"title": "Docs", "url": "javascript:x"}]},
            "links[0].url must be an http: or https: URL",
        ),
        ({"links": [{"titel": "Docs"}]}, "links[0].titel is an unknown key (did you mean title?)"),
        ({"contracts": ["tools"]}, "contracts must be a mapping of kinds to lists of names"),
        ({"contracts": {"tool": []}}, "contracts.tool is an unknown key (did you mean tools?)"),
        ({"contracts": {"tools": "x"}}, "contracts.tools must be a list of texts"),
        ({"icons": [{"theme": "dark"}]}, "icons[0].src is missing"),
        ({"icons": [{"src": "a.svg", "theme": "blue"}]}, "icons[0].theme must be light or dark"),
        ({"icons": [{"src": "a.svg", "sizes": "any"}]}, "icons[0].sizes must be a list of texts"),
        ({"icons": [{"src": "a.svg", "size": "any"}]}, "icons[0].size is an unknown key"),
        ({"icons": {"src": "a.svg"}}, "icons must be a list"),
        ({"optionsSchema": []}, "optionsSchema must be a JSON Schema"),
        ({"optionsSchema": {"type": "string"}}, "optionsSchema.type must be object"),
        (
            {"optionsSchema": {"properties": {"a": "string"}}},
            "optionsSchema.properties.a must be a JSON Schema",
        ),
        (
            {"optionsSchema": {"properties": {"a": {"type": "strng"}}}},
            "optionsSchema.properties.a.type must be one of string, number",
        ),
        (
            {"optionsSchema": {"properties": {"a": {"type": ["string", "nul"]}}}},
            "optionsSchema.properties.a.type must be one of string, number",
        ),
        ({"optionsSchema": {"required": "a"}}, "optionsSchema.required must be a list of texts"),
        ({"requires": "twisted>=25"}, "requires must be a requirement on ahpd"),
        ({"requires": "ahpd>>1"}, "requires is no requirement that can be read: ahpd>>1"),
        ({"dependencies": ["-e ."]}, "dependencies[0] is no requirement that can be read: -e ."),
        ({"i18n": True}, "i18n must be text"),
        ({"main": ""}, "main must be text"),
    ],
)
def test_a_field_that_is_wrong_is_named_with_its_file_on_one_line(keys, words):
    with pytest.raises(Skipped) as caught:
        manifest_of({"id": "notes", **keys}, "/x/plugin.yaml")
    assert caught.value.why.startswith(f"/x/plugin.yaml: {words}")
    assert caught.value.line.startswith("plugin notes skipped: /x/plugin.yaml: ")
    assert "\n" not in caught.value.line
    assert caught.value.state == "error"


def test_a_field_of_a_file_is_named_with_its_line(tmp_path):
    write(tmp_path, {"plugin.yaml": "id: notes\nlinks:\n  - title: Docs\n    url: docs\n"})
    with pytest.raises(Skipped, match=r"plugin\.yaml:4: links\[0\]\.url must be an http: or https"):
        read_manifest(tmp_path / "plugin.yaml", "./x")


def test_a_file_that_cannot_be_parsed_is_refused_in_one_line(tmp_path):
    write(tmp_path, {"plugin.yaml": "id: [notes\n"})
    with pytest.raises(Skipped, match=r"plugin\.yaml:\d: not YAML") as caught:
        read_manifest(tmp_path / "plugin.yaml", "./x")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["My_Plugin", "@acme/agent-mine", "9lives", "a" * 41, "-a", "é"])
def test_an_id_that_is_no_slug_skips_the_plugin(name):
    with pytest.raises(Skipped) as caught:
        manifest_of({"id": name}, "plugins[0]")
    assert caught.value.line == (
        f"plugin {name} skipped: its name is not a slug: the id {name!r} in plugins[0] is to be "
        "small letters, digits and dashes, at most 40, a letter first"
    )


@pytest.mark.parametrize("name", ["a", "agent-mine", "a" * 40, "b2"])
def test_a_slug_is_an_id(name):
    assert manifest_of({"id": name}, "plugins[0]").id == name


def test_a_manifest_without_an_id_is_refused_unless_something_else_says_it():
    with pytest.raises(Skipped, match=r"^plugins\[0\]: id is missing"):
        manifest_of({}, "plugins[0]")
    assert manifest_of({}, "plugins[0]", id_if_none="notes").id == "notes"
    with pytest.raises(Skipped, match="id is 'other', and the entry point is called 'notes'"):
        manifest_of({"id": "other"}, "plugins[0]", id_if_none="notes")


# -- contracts -------------------------------------------------------------------------


def declared(**contracts):
    return manifest_of({"id": "notes", "contracts": contracts}, "plugins[0]")


def test_a_plugin_that_declares_nothing_may_register_anything():
    plain = manifest_of({"id": "notes"}, "plugins[0]")
    for kind in CONTRACTS:
        held_to_contracts(plain, kind, "whatever")


@pytest.mark.parametrize("entry", ["x-notes", "x-*", "*", "x-notes*"])
def test_a_name_the_contracts_list_may_be_registered(entry):
    held_to_contracts(declared(channels=["x-other", entry]), "channels", "x-notes")


@pytest.mark.parametrize("entry", ["x-notes", "x-notes-*", "X-NOTE", "*-note", ""])
def test_a_name_the_contracts_do_not_list_is_refused(entry):
    listing = [entry] if entry else []
    with pytest.raises(PluginError) as caught:
        held_to_contracts(declared(channels=listing), "channels", "x-note")
    words = "channels needs x-note to be a name in contracts.channels"
    assert str(caught.value) == (f"{words}, which lists {entry}" if entry else words)


def test_a_kind_the_contracts_leave_out_is_refused():
    with pytest.raises(PluginError, match=r"^tools needs x to be a name in contracts\.tools$"):
        held_to_contracts(declared(), "tools", "x")


@pytest.mark.parametrize("kind", [kind for kind, named in CONTRACTS.items() if not named])
@pytest.mark.parametrize("name", [None, ""])
def test_what_has_no_name_needs_one_entry(kind, name):
    held_to_contracts(declared(**{kind: ["*"]}), kind, name)
    for contracts in ({}, {kind: []}):
        with pytest.raises(PluginError) as caught:
            held_to_contracts(declared(**contracts), kind, name)
        assert str(caught.value) == (
            f"{kind} needs the registration to be one entry in contracts.{kind}"
        )
