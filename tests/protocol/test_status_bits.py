"""The bits of a status: one activity, flags beside it, and what nobody here knows kept."""

import pytest

from ahpd.protocol import status

UNKNOWN = 2**31 | 128


@pytest.mark.parametrize(
    "before", [status.IDLE, status.ERROR, status.IN_PROGRESS, status.INPUT_NEEDED]
)
@pytest.mark.parametrize(
    "after", [status.IDLE, status.ERROR, status.IN_PROGRESS, status.INPUT_NEEDED]
)
def test_an_activity_takes_the_place_of_another_and_of_nothing_else(before, after):
    beside = status.IS_READ | status.IS_ARCHIVED | UNKNOWN
    assert status.with_activity(before | beside, after) == after | beside


def test_waiting_for_a_person_is_still_in_progress():
    assert status.INPUT_NEEDED & status.IN_PROGRESS == status.IN_PROGRESS


@pytest.mark.parametrize("flag", [status.IS_READ, status.IS_ARCHIVED])
def test_a_flag_is_set_and_cleared_beside_everything_else(flag):
    beside = status.INPUT_NEEDED | UNKNOWN
    assert status.with_flag(beside, flag, True) == beside | flag
    assert status.with_flag(beside | flag, flag, True) == beside | flag
    assert status.with_flag(beside | flag, flag, False) == beside
