"""What an answer of many megabytes costs in memory: itself, and little more."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .cost_of_an_answer import ANSWER, MIB

PROGRAM = Path(__file__).with_name("cost_of_an_answer.py")


@pytest.fixture
def measured(tmp_path):
    """Measures one thing in a process of its own, by its name there; the figures."""

    def measured(name):
        ran = subprocess.run(
            [sys.executable, "-P", str(PROGRAM), name, str(tmp_path / "data")],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    return measured


def test_a_long_answer_is_held_once_and_kept_without_a_copy_of_it(measured):
    took = measured("streamed_and_ended")
    assert took["streaming"] < ANSWER + 2 * MIB
    assert took["folding"] < 2 * MIB


def test_a_running_answer_is_written_whole_without_a_copy_of_it(measured):
    took = measured("written_while_it_runs")
    assert took["writing"] < 2 * MIB
    assert ANSWER < took["written"] < ANSWER + MIB


def test_what_is_asleep_costs_nothing_and_waking_it_twice_its_size(measured):
    took = measured("asleep_and_woken")
    assert took["asleep"] < MIB
    assert took["waking"] < 2 * ANSWER + 2 * MIB
    assert took["awake"] < ANSWER + 2 * MIB
