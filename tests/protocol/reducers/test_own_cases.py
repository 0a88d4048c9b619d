"""Every action of the protocol, on every kind of channel, by cases of our own.

A file of `cases/` holds one kind of channel: `KIND`, and `CASES` by what they show, each
`(state, actions, expected)`. What a case shows begins with the type of action it is about.
"""

import copy
import runpy
from pathlib import Path

import pytest

from ahpd.protocol.actions import ACTIONS
from ahpd.protocol.reducers import REDUCERS
from ahpd.protocol.text import plain

_CASES = [
    pytest.param(loaded["KIND"], *case, id=shows)
    for loaded in map(runpy.run_path, sorted(map(str, Path(__file__).parent.glob("cases/*.py"))))
    for shows, case in loaded["CASES"].items()
]


def _type_of(case):
    return case.id.partition(":")[0]


@pytest.mark.parametrize(("kind", "state", "actions", "expected"), _CASES)
def test_the_action_makes_of_the_state(kind, state, actions, expected):
    said = copy.deepcopy(actions)
    reduced = copy.deepcopy(state)
    for action in actions:
        reduced = REDUCERS[kind](reduced, action)
    assert plain(reduced) == expected
    assert actions == said


@pytest.mark.parametrize("action_type", ACTIONS)
def test_each_type_of_action_has_a_case(action_type):
    assert action_type in {_type_of(case) for case in _CASES}


def test_each_case_is_about_an_action_it_sends():
    for case in _CASES:
        _, _, actions, _ = case.values
        assert _type_of(case) in {action["type"] for action in actions}, case.id


@pytest.mark.parametrize("kind", REDUCERS, ids=lambda kind: kind.value)
def test_a_type_nobody_knows_changes_nothing(kind):
    state = {"title": "as it was"}
    reduced = REDUCERS[kind](state, {"type": f"{kind.value}/fromTheFuture", "title": "changed"})
    assert reduced is state
    assert state == {"title": "as it was"}
