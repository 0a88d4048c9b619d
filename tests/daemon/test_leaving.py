"""A process that leaves whatever its threads do."""

import subprocess
import sys
import textwrap

BEGINS = """
import sys, threading, time
from twisted.logger import globalLogBeginner, textFileLogObserver
globalLogBeginner.beginLoggingTo([textFileLogObserver(sys.stdout)], redirectStandardIO=False)
import os
from ahpd.daemon.leaving import Leaving

leaving = Leaving(0.3, lambda status: (sys.stdout.flush(), os._exit(status)))
leaving.begin()
leaving.begin()

def works():
    time.sleep(60)
"""


def left(code):
    """The exit status of a process that runs this, and what it said."""
    done = subprocess.run(
        [sys.executable, "-c", BEGINS + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_reactors_thread_that_blocks_holds_no_process():
    status, said = left("works()")
    assert status == 1
    assert said.count("\n") == 1
    assert "not gone 0.3 seconds after the stop began; leaving all the same: " in said
    assert "leaving all the same: thread MainThread is at works in " in said


def test_a_thread_that_is_no_daemon_is_named_and_holds_no_process_that_is_done():
    code = """
    threading.Thread(target=works, name="works").start()
    threading.Thread(target=works, name="unasked", daemon=True).start()
    leaving.drained({status})
    """
    for expected in (0, 1):
        status, said = left(code.format(status=expected))
        assert status == expected
        # There is no log any more: it is said where that was, on standard error.
        assert said.startswith("ahpd: not gone 0.")
        assert ": thread works is at " in said
        assert "MainThread" not in said
        assert "unasked" not in said


def test_a_process_that_is_gone_in_time_says_nothing():
    assert left("leaving.drained(1)") == (0, "")
