"""The programs that tests drive: looked for, and installed where that can be done.

Run ahead of the tests by tox, or alone (`python tests/programs.py`). A program that is not
here afterwards is no error: the tests that need it say so and are skipped.
"""

import os
import shutil
import subprocess
import sys

#: By program: the Debian package it comes in.
PACKAGES = {
    "bash": "bash",
    "zsh": "zsh",
    "fish": "fish",
    "sh": "dash",
    "vim": "vim",
    "less": "less",
}

#: Seconds each step may take, and apt-get waits for another one to be done.
PATIENCE = 300
LOCKED = 120


def missing():
    """The programs that are not on the PATH."""
    return [name for name in PACKAGES if shutil.which(name) is None]


def privileges():
    """What to put before a command so that it may install; None where nothing helps."""
    if os.geteuid() == 0:
        return []
    sudo = shutil.which("sudo")
    return [sudo, "-n"] if sudo is not None and run([sudo, "-n", "true"]) else None


def run(command):
    """Whether `command` ended well, in time. What it printed is shown where it did not."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        print(failure, file=sys.stderr)
        return False
    if done.returncode:
        print(done.stdout.decode(errors="replace")[-1000:], file=sys.stderr)
    return done.returncode == 0


def install(packages, before):
    """Installs Debian packages; whether that worked. It is tried again with a new list."""
    apt = [*before, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y"]
    apt += ["-o", f"DPkg::Lock::Timeout={LOCKED}"]
    wanted = [*apt, "install", "--no-install-recommends", *packages]
    return run(wanted) or (run([*apt, "update"]) and run(wanted))


def main():
    names = missing()
    if not names:
        return
    print(f"tests need {', '.join(names)}: installing")
    before = privileges() if shutil.which("apt-get") is not None else None
    if before is not None:
        install(sorted({PACKAGES[name] for name in names}), before)
    for name in missing():
        print(f"{name} is not installed: tests that drive it are skipped", file=sys.stderr)


if __name__ == "__main__":
    main()
