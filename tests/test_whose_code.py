"""The one line of a stack that is named: whose code it was."""

import json
import os
import sys
from pathlib import Path

import pytest

import ahpd
from ahpd.whose_code import disown, lines_of, own, place_words

OURS = str(Path(ahpd.__file__).with_name("record_store") / "values.py")
LIBRARY = os.path.join(sys.base_prefix, "lib", "json", "decoder.py")  # noqa: PTH118


@pytest.fixture
def acme(tmp_path):
    """The folder of a plugin that is loaded."""
    folder = tmp_path / "site-packages" / "acme"
    own(folder, "acme", folder)
    yield folder
    disown(folder, "acme", folder)


def line(file, number=3, function="run"):
    return (function, str(file), number)


@pytest.mark.parametrize("raised", [OURS, LIBRARY, "<frozen importlib>"])
def test_what_a_plugin_has_somebody_raise_is_at_the_plugins_line(acme, raised):
    stack = [line(OURS), line(acme / "sub" / "notes.py", 7, "heard"), line(raised)]
    assert place_words(stack) == " (in heard, sub/notes.py:7 of the plugin acme)"


def test_what_a_library_beside_the_plugin_raises_is_where_the_plugin_called_it(acme):
    stack = [line(acme / "notes.py", 7, "heard"), line(acme.parent / "library" / "deep.py")]
    assert place_words(stack) == " (in heard, notes.py:7 of the plugin acme)"
    disown(acme, "acme", acme)  # and where nobody knows it to be a plugin's
    assert place_words(stack) == " (in run, deep.py:3)"


def test_a_plugin_that_lies_in_the_interpreters_environment_is_known_by_its_folder():
    folder = Path(sys.prefix) / "lib" / "ahpd_acme"
    own(folder, "acme", folder)
    try:
        stack = [line(folder / "plugin.py", 7), line(OURS)]
        assert place_words(stack) == " (in run, plugin.py:7 of the plugin acme)"
    finally:
        disown(folder, "acme", folder)
    assert place_words(stack) == " (in run, values.py:3)"


def test_what_came_through_nobody_elses_code_is_at_its_own_line():
    assert place_words([line(LIBRARY), line(OURS, 9)]) == " (in run, values.py:9)"
    assert place_words([]) == ""
    assert place_words(lines_of(KeyError("never raised"))) == ""


def test_a_folder_that_two_plugins_share_names_neither(acme):
    own(acme, "other", acme)
    stack = [line(acme / "notes.py")]
    assert place_words(stack) == " (in run, notes.py:3)"
    disown(acme, "other", acme)
    assert place_words(stack).endswith(" of the plugin acme)")


def test_the_lines_of_an_error_are_those_it_came_through():
    try:
        json.loads("x")
    except ValueError as error:
        stack = lines_of(error)
    assert [each[0] for each in stack][-1] == "raw_decode"
    assert place_words(stack).startswith(
        " (in test_the_lines_of_an_error_are_those_it_came_through, test_whose_code.py:"
    )
