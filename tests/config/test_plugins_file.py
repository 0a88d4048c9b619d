"""Entries of `plugins:` are changed where they stand, and everything else stays as it was."""

import json
import stat
import threading

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.config.errors import ConfigError
from ahpd.config.plugins_file import PluginsFile


@pytest.fixture
def file(tmp_path):
    """Makes the file `config.yaml` with a text, or `config.json`."""

    def make(text, name="config.yaml"):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return PluginsFile(path)

    return make


def text_of(file):
    return file.path.read_bytes().decode()


FULL = """\
# mine
port: 1 # p

plugins: # all of them
  # the first
  - ./one # one
  # the second
  - source: two # why
    # on or off
    enabled: false # off
    options: # theirs
      model: fast # m
      deep:
        n: 1
    grants: [a:b]
  - {source: three, options: {k: 1}}

# behind
demo: true
"""


def test_an_entry_is_added_behind_the_others(file):
    held = file(FULL)
    assert held.add("four")
    assert text_of(held) == FULL.replace(
        "  - {source: three, options: {k: 1}}\n",
        "  - {source: three, options: {k: 1}}\n  - four\n",
    )
    assert not held.add("four")
    assert not held.add({"source": "two"})


def test_an_entry_that_says_more_is_added_as_a_mapping(file):
    held = file("port: 1\n")
    assert held.add({"source": "a", "enabled": False})
    assert text_of(held) == "port: 1\nplugins:\n  - source: a\n    enabled: false\n"


def test_a_file_that_is_not_there_is_made_for_its_owner_alone(tmp_path):
    held = PluginsFile(tmp_path / "new" / "config.yaml")
    assert held.read().entries == ()
    assert held.add("a")
    assert text_of(held) == "# Written by `ahpd plugin`; edit it as you like.\nplugins:\n  - a\n"
    assert stat.S_IMODE(held.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(held.path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("source", "gone"),
    [
        ("./one", "  - ./one # one\n"),
        (
            "two",
            FULL[FULL.index("  - source: two") : FULL.index("  - {source: three")],
        ),
        ("three", "  - {source: three, options: {k: 1}}\n"),
    ],
)
def test_an_entry_is_taken_out_and_nothing_else(file, source, gone):
    held = file(FULL)
    assert held.remove(source)
    assert text_of(held) == FULL.replace(gone, "")
    assert not held.remove(source)


def test_the_last_entry_leaves_an_empty_list(file):
    held = file("plugins:\n- a # a\n# c\nport: 1\n")
    assert held.remove("a")
    assert text_of(held) == "plugins: [] # a\n# c\nport: 1\n"
    assert held.add("b")
    assert held.read().entries[0].source == "b"


def test_every_entry_of_a_source_is_taken_out(file):
    held = file("plugins: [a, b, a]\n")
    assert held.remove("a")
    assert yaml.safe_load(text_of(held)) == {"plugins": ["b"]}


def test_a_source_alone_becomes_a_mapping_when_it_is_turned_off(file):
    held = file(FULL)
    assert held.switch("./one", False)
    assert text_of(held) == FULL.replace(
        "  - ./one # one\n", "  - source: ./one # one\n    enabled: false\n"
    )
    assert not held.switch("./one", False)


def test_an_entry_is_turned_on_by_taking_the_word_out(file):
    held = file(FULL)
    assert held.switch("two", True)
    assert text_of(held) == FULL.replace("    enabled: false # off\n", "")
    assert not held.switch("two", True)


def test_what_says_that_it_is_on_is_left_as_it_is(file):
    held = file("plugins:\n- {source: a, enabled: true}\n")
    assert not held.switch("a", True)
    assert held.switch("a", False)
    assert not held.read().entries[0].enabled


def test_the_first_key_behind_the_dash_is_taken_out(file):
    held = file("plugins:\n  - enabled: false # off\n    # the source\n    source: a\n")
    assert held.switch("a", True)
    assert text_of(held) == "plugins:\n  - # the source\n    source: a\n"


@pytest.mark.parametrize(
    ("source", "key", "value", "before", "after"),
    [
        ("two", "model", "slow", "model: fast # m", 'model: "slow" # m'),
        (
            "two", "retries", 3,
            "      deep:\n        n: 1\n", "      deep:\n        n: 1\n      retries: 3\n",
        ),
        ("two", "deep", [1, {"a": None}], "deep:\n        n: 1\n", 'deep: [1, {"a": null}]\n'),
        (
            "./one", "k", {"$secret": "host:x"},
            "  - ./one # one\n",
            "  - source: ./one # one\n    options:\n      k:\n        $secret: host:x\n",
        ),
        ("three", "k", 2, "{k: 1}", "{k: 2}"),
        ("three", "j", 2, "{k: 1}", '{"k": 1, "j": 2}'),
    ],
)  # fmt: skip
def test_an_option_is_set_where_it_stands(file, source, key, value, before, after):
    held = file(FULL)
    assert held.set_option(source, key, value)
    assert text_of(held) == FULL.replace(before, after)
    assert not held.set_option(source, key, value)


def test_an_option_that_was_a_number_and_is_a_truth_now_is_another(file):
    held = file("plugins:\n- {source: a, options: {k: 1}}\n")
    assert held.set_option("a", "k", True)
    assert held.read().entries[0].options == {"k": True}


def test_an_option_is_taken_out(file):
    held = file(FULL)
    assert held.unset_option("two", "deep")
    assert text_of(held) == FULL.replace("      deep:\n        n: 1\n", "")
    assert held.unset_option("two", "model")
    assert held.read().entries[1].options == {}
    assert not held.unset_option("two", "model")


def test_empty_options_take_one(file):
    held = file("plugins:\n- source: a\n  options: # none\n  grants: []\n")
    assert held.set_option("a", "k", 1)
    assert text_of(held) == 'plugins:\n- source: a\n  options: {"k": 1} # none\n  grants: []\n'


def test_an_entry_that_is_not_listed_is_no_entry(file):
    held = file(FULL)
    for change in (
        lambda: held.switch("four", True),
        lambda: held.set_option("four", "k", 1),
        lambda: held.unset_option("four", "k"),
    ):
        with pytest.raises(KeyError):
            change()
    assert text_of(held) == FULL


def test_an_old_entry_is_moved_over_when_it_changes(file):
    held = file("plugins:\n  - name: a # mine\n    grants: [x:y]\n  - name: b\n")
    assert held.switch("a", False)
    assert text_of(held) == (
        "plugins:\n  - source: a # mine\n    grants: [x:y]\n    enabled: false\n  - name: b\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "plugins: [a, b, {source: c, options: {k: [1, 2]}}]\nport: 1\n",
        "plugins:\n- &x a\n- b\n- source: c\n  options: &o\n    k: 1\nengines: {demo: *o}\n",
        "plugins:\n-\n  source: a\n-\n  source: b\n- source: >-\n    c\n",
        'plugins:\r\n- "a"\r\n- source: b\r\n  options: {}\r\n',
        "{plugins: [a, {source: b}]}\n",
        "plugins:\n- a\n- source: b\n  options:\n    text: |\n      x\n\n      y\n\n# c\nport: 1",
        "---\nplugins:\n    - source: 'a'\n    -   source: b\n        enabled: false\n...\n",
    ],
)
def test_however_it_is_written_it_says_what_was_asked_for(file, text):
    held = file(text)
    for source in ("a", "b"):
        before = yaml.safe_load(text_of(held))
        held.switch(source, True)
        held.switch(source, False)
        held.set_option(source, "k", "v")
        held.set_option(source, "l", [])
        held.unset_option(source, "k")
        after = yaml.safe_load(text_of(held))
        entry = next(
            item for item in after["plugins"] if isinstance(item, dict) and item["source"] == source
        )
        assert entry["enabled"] is False
        assert entry["options"]["l"] == []
        assert "k" not in entry["options"]
        assert len(after["plugins"]) == len(before["plugins"])
        assert {**before, "plugins": 0} == {**after, "plugins": 0}
    held.remove("a")
    assert "a" not in [entry.source for entry in held.read().entries]


def test_json_stays_json(file):
    held = file('{"port": 1, "plugins": ["a", {"name": "b"}]}', "config.json")
    held.switch("a", False)
    held.set_option("b", "k", {"deep": [1]})
    held.add("c")
    assert json.loads(text_of(held)) == {
        "port": 1,
        "plugins": [
            {"source": "a", "enabled": False},
            {"source": "b", "options": {"k": {"deep": [1]}}},
            "c",
        ],
    }
    held.remove("a")
    assert [entry.source for entry in held.read().entries] == ["b", "c"]


def test_the_mode_and_a_link_stay(file, tmp_path):
    held = file("plugins: [a]\n")
    held.path.chmod(0o640)
    link = tmp_path / "elsewhere.yaml"
    link.symlink_to(held.path)
    assert PluginsFile(link).switch("a", False)
    assert link.is_symlink()
    assert stat.S_IMODE(held.path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == sorted([held.path, link], key=list(tmp_path.iterdir()).index)


def test_a_file_that_is_marked_read_only_is_left_alone(file):
    held = file("plugins: [a]\n")
    held.path.chmod(0o400)
    with pytest.raises(ConfigError, match="read-only"):
        held.switch("a", False)
    assert text_of(held) == "plugins: [a]\n"


@pytest.mark.parametrize("text", ["plugins: 3\n", "plugins: [3]\n", "plugins:\n- {}\n"])
def test_what_cannot_be_read_is_refused_in_words(file, text):
    with pytest.raises(ConfigError, match=r"config\.yaml:\d: plugins"):
        file(text).read()


def test_reading_says_which_grants_were_dropped(file):
    held = file("plugins:\n- {source: a, grants: [b]}\n")
    (warning,) = held.read().warnings
    assert warning.startswith(f"{held.path}: plugins[0].grants: 'b' names no operation")


def test_changes_made_at_once_are_all_there(file):
    held = file("port: 1\n")
    workers = [
        threading.Thread(target=PluginsFile(held.path).add, args=(f"p{index}",))
        for index in range(12)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert {entry.source for entry in held.read().entries} == {f"p{index}" for index in range(12)}


SOURCES = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cn", "Zl", "Zp")),
    min_size=1,
    max_size=12,
).filter(lambda text: text.strip() and not text.startswith("-"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | SOURCES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SOURCES, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=80, deadline=None)
@given(
    sources=st.lists(SOURCES, min_size=1, max_size=3, unique=True),
    options=st.dictionaries(SOURCES, VALUES, max_size=3),
    flow=st.booleans(),
)
def test_whatever_is_written_reads_back_as_it_was_meant(tmp_path_factory, sources, options, flow):
    path = tmp_path_factory.mktemp("any") / "config.yaml"
    start = {"port": 1, "plugins": ["first", {"source": "second", "options": {"o": 1}}]}
    path.write_text("# mine\n" + yaml.safe_dump(start, default_flow_style=flow, sort_keys=False))
    held = PluginsFile(path)
    for source in sources:
        held.add(source)
        held.switch(source, False)
        for key, value in options.items():
            held.set_option(source, key, value)
    text = path.read_text()
    assert text.startswith("# mine\n")
    said = yaml.safe_load(text)
    assert said["plugins"][:2] == start["plugins"]
    for source, item in zip(sources, said["plugins"][2:], strict=True):
        assert item["source"] == source
        assert item["enabled"] is False
        assert item.get("options", {}) == options
        for key in options:
            held.unset_option(source, key)
        held.remove(source)
    assert yaml.safe_load(path.read_text()) == start
