"""Text in the client's language: which catalog answers, what is translated, what is left out."""

import json

import pytest

from ahpd.plugins.texts import (
    CatalogsAtNeed,
    Texts,
    read_catalogs,
    translated,
    translated_meta,
    translated_options,
    translated_setting,
)

PT = {
    "meta": {"title": "Falado", "description": "Traz um catálogo."},
    "options": {
        "tone": {
            "title": "Tom",
            "description": "Como fala.",
            "enum": {"warm": "Caloroso", "true": "Sim", "3": "Três", "null": "Nada"},
            "enumDescriptions": {"cold": "Sem emoção."},
        }
    },
    "session": {"files": {"title": "Arquivos", "items": {"title": "Padrão"}}},
    "messages": {"needs.input": "Atenção."},
}
CATALOGS = {"pt": PT, "pt-BR": {"meta": {"title": "Falado do Brasil"}}}
HOSTS = {"pt": {"meta": {"title": "do host", "extra": "mais"}}, "de": {"meta": {"title": "Wirt"}}}


@pytest.mark.parametrize(
    ("locale", "text"),
    [
        ("pt-BR", "Falado do Brasil"),
        ("pt-br", "Falado do Brasil"),
        ("PT-BR", "Falado do Brasil"),
        ("pt", "Falado"),
        ("pt-PT", "Falado"),
        ("pt-Latn-BR", "Falado"),
        ("de-AT", "Wirt"),
        ("en", "Spoken"),
        ("", "Spoken"),
        (None, "Spoken"),
        (7, "Spoken"),
        ("pt_BR", "Spoken"),
        ("pt-" + "a" * 8 + "-" + "b" * 8 + "-" + "c" * 8 + "-" + "d" * 4, "Falado"),
        ("pt-" + "a" * 8 + "-" + "b" * 8 + "-" + "c" * 8 + "-" + "d" * 6, "Spoken"),
    ],
)
def test_the_tag_is_tried_and_then_its_language_alone(locale, text):
    assert translated(("meta", "title"), "Spoken", locale, CATALOGS, HOSTS) == text


def test_each_text_is_looked_up_on_its_own():
    path = ("meta", "description")
    assert translated(path, "English", "pt-BR", CATALOGS) == "Traz um catálogo."
    assert translated(("meta", "extra"), "English", "pt-BR", CATALOGS, HOSTS) == "mais"
    assert translated(("meta", "extra"), "English", "pt-BR", CATALOGS) == "English"
    assert translated(["messages", "needs.input"], "Attention.", "pt", CATALOGS) == "Atenção."
    assert translated(("meta",), "English", "pt", CATALOGS) == "English"
    assert translated(("meta", "title", "deeper"), "English", "pt", CATALOGS) == "English"
    assert (
        translated(("meta", "title"), "English", "pt", {"pt": {"meta": {"title": 5}}}) == "English"
    )


def test_the_plugins_language_comes_before_the_hosts_tag():
    hosts = {"pt-BR": {"meta": {"title": "host"}}}
    assert translated(("meta", "title"), "x", "pt-BR", {"pt": PT}, hosts) == "Falado"


def test_a_plugin_looks_its_messages_up_in_what_it_was_handed():
    texts = Texts(CATALOGS, HOSTS)
    assert dict(texts) == CATALOGS
    assert texts.translated(["messages", "needs.input"], "Attention.", "pt-BR") == "Atenção."
    assert texts.translated(["meta", "extra"], "More.", "pt-BR") == "mais"
    assert texts.translated(["messages", "needs.input"], "Attention.", None) == "Attention."
    assert Texts().translated(["meta", "title"], "English", "pt") == "English"


def test_a_manifest_has_its_title_and_description_translated():
    meta = {"title": "Spoken", "description": "Ships a catalog."}
    assert translated_meta(meta, "pt-BR", CATALOGS) == {
        "title": "Falado do Brasil",
        "description": "Traz um catálogo.",
    }
    assert translated_meta({"title": "Spoken"}, "fr", CATALOGS) == {"title": "Spoken"}


SCHEMA = {
    "type": "object",
    "required": ["tone"],
    "properties": {
        "tone": {
            "type": "string",
            "title": "Tone",
            "description": "How it speaks.",
            "enum": ["warm", "cold"],
        },
        "other": {"type": "string", "title": "Other"},
        "odd": True,
    },
}


def test_an_options_schema_is_translated_in_a_copy():
    before = json.dumps(SCHEMA)
    made = translated_options(SCHEMA, "pt", CATALOGS)
    assert made["properties"]["tone"] == {
        "type": "string",
        "title": "Tom",
        "description": "Como fala.",
        "enum": ["warm", "cold"],
        "enumLabels": ["Caloroso", "cold"],
        "enumDescriptions": ["", "Sem emoção."],
    }
    assert made["properties"]["other"] == SCHEMA["properties"]["other"]
    assert made["properties"]["odd"] is True
    assert made["required"] == ["tone"]
    assert json.dumps(SCHEMA) == before
    assert translated_options(SCHEMA, None, CATALOGS) == SCHEMA
    assert translated_options({"type": "object"}, "pt", CATALOGS) == {"type": "object"}


def test_labels_that_are_there_are_kept_where_no_catalog_has_one():
    schema = {
        "type": "string",
        "title": "Tone",
        "enum": ["warm", "cold", True, 3, None],
        "enumLabels": ["Warm", "Cold"],
        "enumDescriptions": ["Kind.", "Not kind.", "a", "b", "c"],
    }
    made = translated_options({"properties": {"tone": schema}}, "pt", CATALOGS)
    tone = made["properties"]["tone"]
    assert tone["enumLabels"] == ["Caloroso", "Cold", "Sim", "Três", "Nada"]
    assert tone["enumDescriptions"] == ["Kind.", "Sem emoção.", "a", "b", "c"]


def test_a_key_whose_values_are_data_keeps_its_labels():
    schema = {
        "type": "string",
        "title": "Tone",
        "enum": ["warm"],
        "enumLabels": ["Warm"],
        "enumDynamic": True,
    }
    made = translated_options({"properties": {"tone": schema}}, "pt", CATALOGS)
    assert made["properties"]["tone"] == {**schema, "title": "Tom"}


def test_a_sessions_setting_is_translated():
    schema = {"type": "array", "title": "Files", "items": {"type": "string", "title": "Pattern"}}
    made = translated_setting("files", schema, "pt-BR", CATALOGS)
    assert made == {
        "type": "array",
        "title": "Arquivos",
        "items": {"type": "string", "title": "Padrão"},
    }
    assert schema["title"] == "Files"
    assert translated_setting("none", schema, "pt-BR", CATALOGS) == schema


def test_what_has_no_text_is_given_none():
    schema = {"type": "array", "items": {"type": "string"}}
    assert translated_setting("files", schema, "pt", CATALOGS) == schema


# -- reading ---------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "package"
    (folder / "i18n").mkdir(parents=True)
    return folder


def test_catalogs_are_read_by_the_names_of_their_files(package):
    (package / "i18n" / "pt.json").write_text(json.dumps(PT))
    (package / "i18n" / "de-AT.yaml").write_text("meta:\n  title: Gesprochen\n")
    (package / "i18n" / "README.md").write_text("nothing")
    catalogs, lines = read_catalogs(package, "i18n")
    assert catalogs == {"pt": PT, "de-AT": {"meta": {"title": "Gesprochen"}}}
    assert lines == []


def test_a_broken_catalog_costs_itself_and_a_line(package, tmp_path):
    folder = package / "i18n"
    (folder / "pt.json").write_text(json.dumps(PT))
    (folder / "a.json").write_text("{")
    (folder / "b.yaml").write_text("a: 1\na: 2\n")
    (folder / "c.json").write_text("[]")
    (folder / "d.json").write_bytes(b"\xff")
    (folder / "e.json").mkdir()
    (folder / "f.json").symlink_to("nowhere")
    (folder / "g.json").write_text("[" * 100_000)
    (folder / "h.json").write_text(" " * (1024 * 1024 + 1))
    (folder / "no_locale.json").write_text("{}")
    (folder / "pt.yaml").write_text("meta: {}\n")
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps({"meta": {"title": "secret"}}))
    (folder / "xx.json").symlink_to(outside)
    catalogs, lines = read_catalogs(package, "i18n")
    assert catalogs == {"pt": PT}
    said = {line.split(" are left out: ")[0]: line.split(" are left out: ")[1] for line in lines}
    assert len(said) == len(lines)
    assert {name.removeprefix("the texts i18n/"): words for name, words in said.items()} == {
        "a.json": "line 1: not JSON: Expecting property name enclosed in double quotes",
        "b.yaml": "line 2: a key that stands on line 1 already",
        "c.json": "it is no mapping of blocks",
        "d.json": "a byte that is not UTF-8 at offset 0",
        "e.json": "it is no file",
        "f.json": "No such file or directory",
        "g.json": "nested too deeply",
        "h.json": "it is larger than 1048576 bytes",
        "no_locale.json": "its name is no locale",
        "pt.yaml": "there is another file of this locale",
        "xx.json": "it is not in the package",
    }


@pytest.mark.parametrize("folder", ["..", "../other", "/etc", "linked"])
def test_a_folder_outside_the_package_is_refused(package, tmp_path, folder):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "pt.json").write_text(json.dumps(PT))
    (package / "linked").symlink_to(tmp_path / "other")
    catalogs, lines = read_catalogs(package, folder)
    assert catalogs == {}
    assert lines == [f"the texts in {folder} are left out: the folder is not in the package"]


def test_a_folder_that_is_not_there_costs_a_line(package):
    assert read_catalogs(package, "none") == (
        {},
        ["the texts in none are left out: No such file or directory"],
    )


def test_a_package_that_is_a_link_is_read(package, tmp_path):
    (package / "i18n" / "pt.json").write_text(json.dumps(PT))
    (tmp_path / "link").symlink_to(package)
    assert read_catalogs(tmp_path / "link", "i18n") == ({"pt": PT}, [])


def test_a_catalog_is_read_when_its_locale_is_asked_for_and_once(package):
    folder = package / "i18n"
    held = CatalogsAtNeed(package, "i18n")
    (folder / "pt.json").write_text(json.dumps(PT))
    (folder / "de-AT.yaml").write_text("meta:\n  title: Gesprochen\n")
    assert translated(("meta", "title"), "Spoken", "en", held) == "Spoken"
    assert translated(("meta", "title"), "Spoken", "PT-br", held) == "Falado"
    (folder / "pt.json").unlink()
    assert translated(("meta", "title"), "Spoken", "pt", held) == "Falado"
    (folder / "de-AT.yaml").write_text("meta:\n  title: Gesagt\n")
    assert translated(("meta", "title"), "Spoken", "de-at", held) == "Gesagt"
    assert (list(held), len(held)) == (["de-AT", "pt"], 2)


def test_a_broken_catalog_that_is_read_at_need_translates_nothing(package):
    folder = package / "i18n"
    (folder / "de.json").write_text("[" * 100_000)
    (folder / "fr.json").write_text("{")
    (folder / "fr.yaml").write_text("meta:\n  title: Parlé\n")
    (folder / "pt.json").symlink_to("nowhere")
    held = CatalogsAtNeed(package, "i18n")
    texts = {tag: translated(("meta", "title"), "Spoken", tag, held) for tag in ("de", "fr", "pt")}
    assert texts == {"de": "Spoken", "fr": "Parlé", "pt": "Spoken"}
    for outside in ("..", "none"):
        assert dict(CatalogsAtNeed(package, outside)) == {}
