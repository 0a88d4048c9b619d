"""A start in the background is waited for while it says what it is at, and no longer."""

import sys

import pytest
from twisted.internet.task import Clock

from ahpd.daemon import background, record
from ahpd.daemon.background import DaemonError
from ahpd.daemon.progress import EVERY, Progress
from ahpd.daemon.record import Launch

LAUNCH = Launch(flags={}, config_file=None, directory="/")

STEPS = """
    for name in ("one", "two", "three", "four"):
        time.sleep(0.6)
        say({"at": f"loading the plugin {name}"})
"""


@pytest.fixture
def started(tmp_path, monkeypatch):
    """What comes of a start whose child runs `code`; a start may say nothing for a second."""

    def start(code):
        script = tmp_path / "child"
        script.write_text(
            f"#!{sys.executable}\nimport json, time\n"
            "def say(value):\n    print(json.dumps(value), flush=True)\n"
            f"if True:\n{code}"
        )
        script.chmod(0o700)
        monkeypatch.setattr(background, "START_SECONDS", 1.0)
        monkeypatch.setattr(background.sys, "executable", str(script))
        return background.start(tmp_path, LAUNCH, [], [])

    return start


def test_a_start_that_says_what_it_is_at_is_waited_for(started, tmp_path):
    ends = STEPS + '    say({"error": "the port is in use", "status": 3})\n'
    with pytest.raises(DaemonError) as found:
        started(ends)
    assert (str(found.value), found.value.status) == ("the port is in use", 3)


def test_one_that_says_nothing_more_is_given_up_and_what_it_was_at_is_said(started, tmp_path):
    with pytest.raises(DaemonError) as found:
        started(STEPS + "    time.sleep(60)\n")
    assert str(found.value) == (
        "it did not listen, and said nothing for 1 seconds; it was loading the plugin four; "
        f"see {tmp_path / record.LOG_FILE}"
    )


def test_one_that_never_said_anything_is_given_up(started, tmp_path):
    with pytest.raises(DaemonError) as found:
        started("    time.sleep(60)\n")
    assert str(found.value) == (
        f"it did not listen, and said nothing for 1 seconds; see {tmp_path / record.LOG_FILE}"
    )


def test_what_a_start_is_at_is_said_again_while_it_lasts():
    clock, said = Clock(), []
    progress = Progress(clock, said.append)
    progress.step("loading the plugin slow")
    clock.pump([EVERY] * 3)
    assert said == ["loading the plugin slow"] * 4
    progress.step("loading the plugin next")
    progress.step(None)
    clock.pump([EVERY] * 3)
    assert said[4:] == ["loading the plugin next", "starting"]
    assert clock.getDelayedCalls() == []
