"""Programs that are installed for these tests alone, each into a folder of its own.

They stay there for the next run: `$XDG_CACHE_HOME/ahpd-tests`, or the cache of pytest. Nothing
is installed into the environment the tests run in, or for the machine.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

#: Seconds one installation may take.
PATIENCE = 420

#: Written into a folder once all of it is there.
_DONE = "installed"


class NotInstalled(Exception):
    """In words, why something could not be."""


class Installer:
    """Installs into `folder`. `say` is told, a line each, what took long."""

    def __init__(self, folder, say):
        self.folder = folder
        self._say = say

    def npm(self, package, version):
        """An npm package and what it needs; the folder its commands are in."""
        for program in ("node", "npm"):
            if shutil.which(program) is None:
                raise NotInstalled(f"{package} needs {program}, which is not here")
        name = package.lstrip("@").replace("/", "-")
        command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel", "error"]
        with self._place(f"npm-{name}-{version}") as (place, missing):
            if missing:
                (place / "package.json").write_text("{}")
                self._run([*command, f"{package}@{version}"], place)
        return place / "node_modules" / ".bin"

    def pip(self, name, *requirements):
        """Python distributions, in a virtual environment of their own; its interpreter."""
        with self._place(name) as (place, missing):
            python = place / "env" / "bin" / "python"
            if missing:
                self._run([sys.executable, "-m", "venv", str(place / "env")], place)
                self._run([python, "-m", "pip", "install", "-q", *requirements], place)
        return python

    def source(self, distribution, version):
        """The folder with the unpacked source distribution of something on the pip registry."""
        wanted = f"{distribution}=={version}"
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
        with self._place(f"source-{distribution}-{version}") as (place, missing):
            if missing:
                self._run([*command, "--no-binary", ":all:", "--dest", place, wanted], place)
                (archive,) = place.glob("*.tar.gz")
                shutil.unpack_archive(archive, place, filter="data")
        (unpacked,) = (found for found in place.iterdir() if found.is_dir())
        return unpacked

    @contextmanager
    def _place(self, name):
        """A folder, and whether something is to be put there: one run of the tests at a time."""
        self.folder.mkdir(parents=True, exist_ok=True)
        place = self.folder / name
        with (self.folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (place / _DONE).exists():
                yield place, False
                return
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            began = time.monotonic()
            yield place, True
            (place / _DONE).touch()
            self._say(f"installed {name} in {time.monotonic() - began:.1f} s")

    def _run(self, command, place):
        words = " ".join(map(str, command[1:]))
        try:
            done = subprocess.run(
                [str(part) for part in command],
                cwd=place,
                env={**os.environ, "npm_config_update_notifier": "false"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=PATIENCE,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as failure:
            raise NotInstalled(f"{words}: {failure}") from None
        if done.returncode:
            said = done.stdout.decode(errors="replace").strip()[-600:]
            raise NotInstalled(f"{words}: {said}")
