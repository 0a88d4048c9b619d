"""The kit's `Daemon` finds what a process may not do: with programs that do it."""

import signal
import sys

import pytest
import pytest_twisted

from ahpd.testing.daemon import Daemon

LISTENING = "print('listening on ws://127.0.0.1:1', flush=True)"
UNTIL_ASKED = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(STATUS))\n"
    f"{LISTENING}\n"
    "while True: time.sleep(0.05)"
)


@pytest.fixture
def daemon(tmp_path):
    """Makes daemons out of the text of a Python program."""
    from twisted.internet import reactor

    def daemon(program, **options):
        program = (sys.executable, "-c", program)
        return Daemon(reactor, tmp_path / "daemon", program=program, **options)

    return daemon


@pytest_twisted.ensureDeferred
async def test_one_that_ends_as_it_should_is_left_in_peace(daemon):
    async with daemon(UNTIL_ASKED.replace("STATUS", "0")) as started:
        assert started.url == "ws://127.0.0.1:1"
        assert started.running
    assert not started.running


@pytest.mark.parametrize(
    ("program", "found"),
    [
        (UNTIL_ASKED.replace("STATUS", "3"), "status 3"),
        (f"import sys; print('Traceback', file=sys.stderr)\n{UNTIL_ASKED}", "Traceback"),
        (f"print('it is s3cret')\n{UNTIL_ASKED}", "a secret was said"),
        (
            "import subprocess, sys\n"
            "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],"
            f" start_new_session=True)\n{UNTIL_ASKED}",
            "the end of all it had started",
        ),
    ],
)
@pytest_twisted.ensureDeferred
async def test_one_that_does_not_is_found_out(daemon, program, found):
    started = daemon(program.replace("STATUS", "0"))
    started.patience = 2.0
    started.secrets.append("s3cret")
    await started.start()
    with pytest.raises(AssertionError, match=found):
        await started.leave()
    assert started.left() == []


@pytest_twisted.ensureDeferred
async def test_one_that_ends_before_it_listens_says_why(daemon):
    with pytest.raises(AssertionError, match=r"status 1: .*out of luck"):
        await daemon("raise SystemExit('out of luck')").start()


@pytest_twisted.ensureDeferred
async def test_one_that_was_killed_has_ended_as_a_killed_one_does(daemon):
    started = await daemon(UNTIL_ASKED.replace("STATUS", "0")).start()
    await started.kill()
    assert started.process.returncode == -signal.SIGKILL
    await started.leave()


@pytest_twisted.ensureDeferred
async def test_one_that_was_killed_runs_again_and_is_judged_anew(daemon):
    says = f"import os; print('this is', os.getpid(), flush=True)\n{UNTIL_ASKED}"
    started = daemon(says.replace("STATUS", "3"))
    pids = []
    for _ in range(3):
        await started.start()
        assert started.output.startswith(f"this is {started.pid}\n")
        pids.append(started.pid)
        await started.kill()
    aside = [started.directory / f"stdout.{number}" for number in range(2)]
    said = [path.read_text().splitlines()[0] for path in aside]
    assert said == [f"this is {pid}" for pid in pids[:2]]
    await started.start()
    with pytest.raises(AssertionError, match="status 3"):
        await started.leave()


@pytest_twisted.ensureDeferred
async def test_one_with_another_home_and_a_shell_has_them_and_is_found_out_by_it(daemon, tmp_path):
    # Started by one that is gone again, so nothing but its home says whose it is.
    orphan = (
        "import os, subprocess, sys\n"
        "print('at', os.environ['HOME'], os.environ['SHELL'], flush=True)\n"
        'code = \'import subprocess, sys; subprocess.Popen([sys.executable, "-c", '
        '"import time; time.sleep(600)"], start_new_session=True)\'\n'
        f"subprocess.run([sys.executable, '-c', code])\n{UNTIL_ASKED}"
    )
    preset = {"HOME": str(tmp_path), "SHELL": "/bin/other"}
    started = daemon(orphan.replace("STATUS", "0"), preset=preset)
    started.patience = 2.0
    await started.start()
    assert started.output.startswith(f"at {tmp_path} /bin/other\n")
    with pytest.raises(AssertionError, match="the end of all it had started"):
        await started.leave()
    assert started.left() == []
