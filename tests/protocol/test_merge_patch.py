"""Changes are laid over an object as JSON Merge Patch has it (RFC 7396, appendix A)."""

import pytest

from ahpd.protocol.merge_patch import merge


@pytest.mark.parametrize(
    ("target", "changes", "made"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": 7}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)
def test_it_makes_of_a_target_and_changes_what_the_standard_says(target, changes, made):
    merge(target, changes)
    assert target == made


def test_what_was_laid_over_is_not_moved_by_what_comes_later():
    changes = {"a": {"b": 1}}
    target = {}
    merge(target, changes)
    merge(target, {"a": {"b": 2}})
    assert changes == {"a": {"b": 1}}
