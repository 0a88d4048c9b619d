"""Other processes, seen from outside: whether one is there, and whether it is still the same."""

import os
import select
import signal
import subprocess
import time
from pathlib import Path


def start_mark(pid: int) -> str | None:
    """An opaque text that tells a process from a later one with its number.

    None when no such process runs; one that ended and was not reaped does not run.
    """
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            # The name, in parentheses, may hold anything: what follows the last one counts.
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            return None
        if fields[0] in ("Z", "X"):
            return None
        return f"{_boot()}/{fields[19]}"
    found = subprocess.run(  # noqa: S603 - a number, and a fixed command
        ["/bin/ps", "-o", "lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
        env={"LC_ALL": "C", "TZ": "UTC"},
    )
    return found.stdout.strip() or None


def _boot() -> str:
    # Ticks since a boot say nothing without the boot they are counted from.
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "boot"


def end(pid: int, mark: str, number: signal.Signals, seconds: float) -> bool:
    """Signal the process and wait until it is gone; whether it is within `seconds`.

    A process that is gone already, or another one under its number, counts as gone.
    """
    if not hasattr(os, "pidfd_open"):
        return _end_polling(pid, mark, number, seconds)
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    except OSError:  # an old kernel, or one that is told to refuse it
        return _end_polling(pid, mark, number, seconds)
    try:
        # Checked after it was opened: from here on the descriptor is this process's alone.
        if start_mark(pid) != mark:
            return True
        signal.pidfd_send_signal(descriptor, number)
        return bool(select.select([descriptor], [], [], seconds)[0])
    except ProcessLookupError:
        return True
    finally:
        os.close(descriptor)


def _end_polling(pid: int, mark: str, number: signal.Signals, seconds: float) -> bool:
    if start_mark(pid) != mark:
        return True
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return True
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if start_mark(pid) != mark:
            return True
        time.sleep(0.05)
    return start_mark(pid) != mark
