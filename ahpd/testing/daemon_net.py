"""What a daemon printed, kept and started, searched for planted secrets."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from ahpd.testing.planted import argument_leaks, check_silent, kept_leaks, leak
from ahpd.testing.processes import descendants


class DaemonNet:
    """One daemon's. `printed` is the folder its output goes to, a file for each of its lives;
    `folders` are those it keeps things in. `may_hold` are the files in which one may stand."""

    def __init__(self, printed: Path, folders: Sequence[Path], *may_hold: Path) -> None:
        self.may_hold = list(may_hold)
        self._printed = printed
        self._folders = folders
        self._argued: list[str] = []

    def look(self, process: "subprocess.Popen[bytes] | None") -> None:
        """Look at what runs now, and at its arguments: it may be gone when somebody asks."""
        if process is not None and process.poll() is None:
            self._argued += argument_leaks((process.pid, *descendants(process.pid)))

    def printed(
        self, arguments: Sequence[str], done: "subprocess.CompletedProcess[str]"
    ) -> "subprocess.CompletedProcess[str]":
        """Look at what a command printed. `ahpd config` alone prints the file as it is."""
        if arguments[:1] != ("config",):
            said = done.stdout + done.stderr
            check_silent(said, f"what ahpd {' '.join(arguments[:1])} printed")
        return done

    def check(self, process: "subprocess.Popen[bytes] | None") -> None:
        """Raise `AssertionError` where one came up; `process` is looked at once more."""
        self.look(process)
        lives = [file for name in ("stdout", "stderr") for file in self._printed.glob(f"{name}*")]
        found = [f"{file}: ...{said}..." for file in lives if (said := leak(file.read_bytes()))]
        for folder in self._folders:
            found += kept_leaks(folder, self.may_hold)
        found += dict.fromkeys(self._argued)
        assert not found, "a planted secret came up: " + "\n".join(found)
