"""The host's YAML: JSON values in and out, and what is refused is refused in words."""

import math
import subprocess
import sys

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from ahpd.yaml_text import DEEPEST, parse_yaml, stringify_yaml

CHARACTERS = st.characters(exclude_categories=["Cs"])
AWKWARD = st.text(
    alphabet=st.one_of(
        CHARACTERS, st.sampled_from(" \t\n\r:-#'\"|>&*!%@`{}[],?0e.\\\0\x85\u2028\ufeff")
    )
)
KEYS = st.text(CHARACTERS) | AWKWARD
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(CHARACTERS)
    | AWKWARD
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner), max_leaves=25
)

#: Texts that some version of YAML takes for something else, or lays out in its own way.
TEXTS = [
    "yes", "no", "on", "off", "y", "n", "Yes", "ON", "true", "True", "null", "Null", "~", "=", "<<", "-", "?", ":", "|", ">", "&", "*", "!", "%", "@", "`", "#", "'", '"',
    "1", "1e3", "1_000", "0x1F", "0o7", "007", "+1", "-1", ".5", "5.", "1e+20", ".inf", "-.inf", ".nan", "12:30", "1:2:3", "2024-05-01",
    "2024-05-01 10:00:00", "0b11", "---", "...", "--- a", "- a", "a: b", "a #b", "a:", "[a]", "{a}",
    "", " ", "\n", "\n\n", " a", "a ", "\ta", "a\n", "a\nb", "a\n\n", "\na", "\n a", " a\nb", "a\n b",
    "a\n---\nb", "a\r\nb", "a\rb", "a\x85b", "a\u2028b", "\ufeffa", "a\ufeff", "\0", "\x1b[1m", "é",
    "日本語", "\U0001f600", "\ud7ff", "\ufffd", "\uffff", "\U0010ffff", "a\tb", "a\n\tb", "#\na", "'", "\\",
    "x" * 200, "x " * 200, "a\n" + "y " * 100, "|\n", "a: |\n  b\n", "%YAML 1.2", "? a", "!!int 5",
]  # fmt: skip


@given(VALUES)
@example({text: text for text in TEXTS})
@example([[text] for text in TEXTS])
@example({"a": {"b": [[], {}, [{}], {"c": []}]}, "": ""})
@example([1e20, -0.0, 1e-7, 5e-324, 1.7976931348623157e308, 10**300, True, 1, 1.0])
def test_every_json_value_reads_back_the_same(value):
    text = stringify_yaml(value)
    assert repr(parse_yaml(text)) == repr(value)


@given(VALUES)
@example({text: text for text in TEXTS})
def test_a_reader_of_the_older_yaml_reads_the_same(value):
    assert repr(yaml.safe_load(stringify_yaml(value))) == repr(value)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_alone_reads_back_the_same(text):
    assert parse_yaml(stringify_yaml(text)) == text


def test_what_is_written_is_pleasant_to_read():
    value = {"id": "motion", "words": "One.\n\nTwo.\n", "list": ["a", {"b": 1}], "none": []}
    assert stringify_yaml(value) == (
        "id: motion\nwords: |\n  One.\n\n  Two.\nlist:\n- a\n- b: 1\nnone: []\n"
    )
    assert stringify_yaml("text") == "text\n"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# nothing\n", None),
        ("\ufeffa: 1", {"a": 1}),
        ("a: yes\nb: 2024-05-01\nc: 12:30\nd: 1_000\n", {"a": "yes", "b": "2024-05-01", "c": "12:30", "d": "1_000"}),
        ("[true, True, null, ~, 1e3, 0x1F, 0o17, 007, -.5]", [True, True, None, None, 1000.0, 31, 15, 7, -0.5]),
        ("1: a\nnull: b\ntrue: c\n", {"1": "a", "null": "b", "true": "c"}),
        ("a: !!str 5\nb: !!int '5'\n", {"a": "5", "b": 5}),
        ("a: &x [1]\nb: *x\n", {"a": [1], "b": [1]}),
        ("<<: {a: 1}\n", {"<<": {"a": 1}}),
        ("a: 1\r\nb: |\r\n  x\r\n  y\r\n", {"a": 1, "b": "x\ny\n"}),
    ],
)  # fmt: skip
def test_plain_scalars_are_those_of_the_core_schema(text, value):
    assert repr(parse_yaml(text)) == repr(value)


def test_an_alias_is_a_value_of_its_own():
    value = parse_yaml("a: &x [1]\nb: *x\n")
    value["a"].append(2)
    assert value["b"] == [1]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "stands on line 1 already"),
        ("a: 1\n'a': 3\n", 2, "stands on line 1 already"),
        ("1: a\n'1': b\n", 2, "stands on line 1 already"),
        ("a:\n  b: 1\n  b: 2\n", 3, "stands on line 2 already"),
        ("a: [1\nb: 2\n", 2, ""),
        ("a: b: hunter2\n", 1, "mapping values are not allowed here"),
        ("a: 1\n\tb: 2\n", 2, ""),
        ("a: !secret hunter2\n", 1, "a tag this host does not read"),
        ("a: !!python/object:os.system {}\n", 1, "a tag this host does not read"),
        ("a: !!binary aGk=\n", 1, "a tag this host does not read"),
        ("a: !!set {x}\n", 1, "a tag this host does not read"),
        ("a: !!int hunter2\n", 1, "a tag this host does not read"),
        ("a: 1\nb: .inf\n", 2, "a number JSON does not have"),
        ("a: .nan\n", 1, "a number JSON does not have"),
        ("a: 1e999\n", 1, "a number that is too large"),
        ("a: " + "9" * 5000, 1, "a number that is too long"),
        ("a: 0x" + "f" * 5000, 1, "a number that is too long"),
        ("? [a]\n: b\n", 1, "a key that is no text"),
        ("a: 1\nb: *hunter2\n", 2, "undefined alias"),
        ("a: &x\n  b: *x\n", 1, "an alias of what holds it"),
        ("a: 1\n---\nb: 2\n", 2, ""),
        ("a: 1\nb: \0\n", 2, "U+0000"),
        ("a: \x07\n", 1, "U+0007"),
        ("a: 1\n" + "[" * (DEEPEST + 2) + "]" * (DEEPEST + 2), None, ""),
    ],
)  # fmt: skip
def test_what_is_refused_is_named_with_its_line_and_not_quoted(text, line, words):
    with pytest.raises(ValueError) as refused:
        parse_yaml(text)
    said = str(refused.value)
    assert said.startswith(f"line {line}: ") or line is None
    assert words in said
    assert "hunter2" not in said


def test_deep_nesting_is_refused_and_not_a_crash():
    for text in ("[" * 100_000, "- " * 100_000, "{a: " * 100_000, "[" * 70 + "]" * 70):
        with pytest.raises(ValueError, match="nest"):
            parse_yaml(text)
    assert parse_yaml("[" * DEEPEST + "]" * DEEPEST)


def test_aliases_cannot_blow_a_document_up():
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    with pytest.raises(ValueError, match="aliases make too much"):
        parse_yaml(bomb)
    text = "a: &a " + "x" * 100_000 + "\nb: [" + "*a, " * 1000 + "]\n"
    with pytest.raises(ValueError, match="aliases make too much"):
        parse_yaml(text)


def test_what_is_no_json_is_not_written():
    cyclic = []
    cyclic.append(cyclic)
    for value, at in (
        (math.inf, "the value"),
        ({"a": [math.nan]}, "the value.a[0]"),
        ({1: 2}, "a key that is no text"),
        ({"a": (1, 2)}, "the value.a"),
        ({"a": b"x"}, "the value.a"),
        ({"a": "\ud800"}, "the value.a"),
        (object(), "the value"),
        (10**5000, "the value"),
        (cyclic, "nests too deeply"),
    ):
        with pytest.raises(ValueError) as refused:
            stringify_yaml(value)
        assert at in str(refused.value)


def test_nobody_pays_for_yaml_who_has_none():
    code = "import sys, ahpd.yaml_text; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
