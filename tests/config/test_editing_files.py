"""Agents and keys are written into a file, and everything else in it stays as it was."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.config.editing import Changes, as_text, edited
from ahpd.config.errors import ConfigError

PATH = Path("/x/config.yaml")
NEW = {"id": "new", "engine": "acp", "config": {"args": ["a b", "x: y", "#"], "n": "12"}}
ITEM = "- id: new\n  engine: acp\n  config:\n    args:\n    - a b\n    - 'x: y'\n    - '#'\n    n: '12'\n"


def indented(indent):
    return "".join(f"{' ' * indent}{line}\n" for line in ITEM.splitlines())


def add(text, **values):
    return edited(PATH, text, Changes(agents=[NEW], values=values))


def test_a_file_that_is_not_there_yet_is_written():
    after = add("", demo=False, paths=["/a b"])
    assert after == (
        "# Written by `ahpd configure`; edit it as you like.\n"
        'demo: false\npaths: ["/a b"]\nagents:\n' + indented(2)
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("port: 1", "port: 1\nagents:\n" + indented(2)),
        ("# c\nport: 1 # d\n\n", "# c\nport: 1 # d\n\nagents:\n" + indented(2)),
        ("agents:\n", "agents:\n" + indented(2)),
        ("agents: # none\nport: 1\n", "agents:\n" + indented(2).rstrip() + " # none\nport: 1\n"),
        ("agents: []\nport: 1\n", "agents:\n" + indented(2) + "port: 1\n"),
        (
            "agents:\n- id: a # x\n  engine: demo # y\n\n# z\nport: 1\n",
            "agents:\n- id: a # x\n  engine: demo # y\n" + ITEM + "\n# z\nport: 1\n",
        ),
        (
            "agents:\n    - {id: a, engine: demo}\n",
            "agents:\n    - {id: a, engine: demo}\n" + indented(4),
        ),
        (
            "agents:\n  - id: a\n    engine: demo\n    description: |\n      two\n      lines\nport: 1\n",
            "agents:\n  - id: a\n    engine: demo\n    description: |\n      two\n      lines\n"
            + indented(2) + "port: 1\n",
        ),
        (
            "agents: [{id: a, engine: demo}] # one\n",
            "agents:\n  - id: a\n    engine: demo\n" + indented(2).rstrip("\n") + " # one\n",
        ),
        ("---\nport: 1\n...\n", "---\nport: 1\nagents:\n" + indented(2) + "...\n"),
        ("port: 1\r\n# c\r\n", ("port: 1\n# c\nagents:\n" + indented(2)).replace("\n", "\r\n")),
    ],
)  # fmt: skip
def test_agents_are_added_and_all_else_stays(before, after):
    assert add(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("demo: true # d\nport: 1\n", 'demo: false # d\nport: 1\npaths: ["/a"]\n'),
        ("paths:\n  - /x # x\n\n# c\ndemo:\n", 'paths: ["/a"] # x\n\n# c\ndemo: false\n'),
        ("paths: [\n  /x,\n]\ndemo: &a yes\n", 'paths: ["/a"]\ndemo: false\n'),
    ],
)
def test_keys_are_set_where_they_stand(before, after):
    changes = Changes(values={"demo": False, "paths": ["/a"]})
    assert edited(PATH, before, changes) == after


@pytest.mark.parametrize("text", ["{port: 1}\n", "a: &x [1]\nagents: &y []\nb: *y\n", "null\n"])
def test_what_cannot_be_added_to_is_refused_with_what_to_add(text):
    with pytest.raises(ConfigError) as caught:
        add(text)
    words, by_hand = str(caught.value).split("add this by hand:\n")
    assert "\n" not in words
    assert yaml.safe_load(by_hand) == {"agents": [NEW]}


def test_json_is_written_as_json():
    after = edited(PATH.with_suffix(".json"), '{"port": 1, "x": [1]}', Changes(agents=[NEW]))
    assert after.startswith('{\n  "port": 1,\n')
    assert yaml.safe_load(after) == {"port": 1, "x": [1], "agents": [NEW]}


def test_what_two_records_share_is_written_twice():
    shared = ["a"]
    rows = [{"id": name, "engine": "acp", "config": {"args": shared}} for name in "ab"]
    after = edited(PATH, "", Changes(agents=rows))
    assert "&" not in after
    assert yaml.safe_load(as_text(Changes(agents=rows)))["agents"] == rows


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cn")), max_size=20)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"id": TEXTS, "engine": TEXTS},
        optional={"config": st.dictionaries(TEXTS, TEXTS | st.booleans() | st.integers())},
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, more=ROWS, flag=st.booleans(), folder=TEXTS)
def test_whatever_is_written_reads_back_as_it_was_meant(rows, more, flag, folder):
    text = edited(PATH, "# mine\nport: 1 # p\n", Changes(agents=rows))
    text = edited(PATH, text, Changes(agents=more, values={"demo": flag, "paths": [folder]}))
    assert text.startswith("# mine\nport: 1 # p\n")
    assert yaml.safe_load(text) == {
        "port": 1,
        "demo": flag,
        "paths": [folder],
        "agents": [*rows, *more],
    }
