"""The record of the background daemon: `daemon.json` in the state directory, mode 0600.

One in the foreground or under twistd that listens has `foreground-<pid>.json`, for commands that ask
a daemon.

It holds what `status` shows and what `restart` starts again with, a token given by
flag included. It is written whole or not at all. A record whose process is gone, or
whose number went to another process, is stale: nobody has to remove it.
"""

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import attrs

import ahpd
from ahpd.daemon.process import start_mark
from ahpd.private_folders import make_private

RECORD_FILE: Final = "daemon.json"
_FOREGROUND: Final = "foreground-{}.json"
LOG_FILE: Final = "daemon.log"
LOCK_FILE: Final = "daemon.lock"


@attrs.frozen(kw_only=True)
class Launch:
    """What a daemon is started with: flags as they were given, and from where."""

    flags: dict[str, Any]
    """By option name: text, true or false, or a list of texts."""
    config_file: str | None
    """The file named by `--config-file`, absolute; None for the usual place."""
    directory: str
    """The working directory."""


@attrs.frozen(kw_only=True)
class Record:
    """A daemon that listens, or did."""

    pid: int
    start_time: str
    """Tells the process from a later one with its number; see `process.start_mark`."""
    started: str
    """When it began to listen, ISO 8601 with its offset."""
    url: str
    version: str
    log: str
    """Its log file; empty of one in the foreground."""
    launch: Launch


def of_this_process(url: str, launch: Launch, log: str = "") -> Record:
    """The record of this process, which listens from now on."""
    return Record(
        pid=os.getpid(),
        start_time=start_mark(os.getpid()) or "",
        started=datetime.now(UTC).astimezone().isoformat(timespec="seconds"),
        url=url,
        version=ahpd.__version__,
        log=log,
        launch=launch,
    )


def read(directory: Path, name: str = RECORD_FILE) -> Record | None:
    """The record in a state directory; None where there is none or it says nothing usable.

    Raises `OSError` when it is there and cannot be read.
    """
    try:
        data = (directory / name).read_bytes()
    except FileNotFoundError:
        return None
    try:
        held = json.loads(data)
        launch = held["launch"]
        return Record(
            pid=int(held["pid"]),
            start_time=str(held["startTime"]),
            started=str(held["started"]),
            url=str(held["url"]),
            version=str(held["version"]),
            log=str(held["log"]),
            launch=Launch(
                flags=dict(launch["flags"]),
                config_file=launch["configFile"],
                directory=str(launch["directory"]),
            ),
        )
    except (ValueError, KeyError, TypeError):
        return None


def write(directory: Path, record: Record, name: str = RECORD_FILE) -> None:
    """Replace the record. Raises `OSError`."""
    content = {
        "pid": record.pid,
        "startTime": record.start_time,
        "started": record.started,
        "url": record.url,
        "version": record.version,
        "log": record.log,
        "launch": launch_to_json(record.launch),
    }
    draft = directory / f".{name}.{secrets.token_hex(4)}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(directory / name)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def keep_foreground(directory: Path, url: str, launch: Launch) -> None:
    """Note that this process listens, for whoever asks a daemon that is in no background.

    A host serves without a place for its state, too: what cannot be written is left. The notes of
    processes that were killed go.
    """
    with contextlib.suppress(OSError):
        make_private(directory)
        for name in _foreground_names(directory):
            if not (held := read(directory, name)) or start_mark(held.pid) != held.start_time:
                (directory / name).unlink(missing_ok=True)
        write(directory, of_this_process(url, launch), _FOREGROUND.format(os.getpid()))


def remove_foreground(directory: Path) -> None:
    """Take that note away."""
    remove(directory, os.getpid(), _FOREGROUND.format(os.getpid()))


def in_foreground(directory: Path) -> list[Record]:
    """The daemons in a foreground that run, who began last first. Raises `OSError`."""
    found = [read(directory, name) for name in _foreground_names(directory)]
    running = [held for held in found if held and start_mark(held.pid) == held.start_time]
    return sorted(running, key=lambda held: (held.started, held.pid), reverse=True)


def _foreground_names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.glob(_FOREGROUND.format("*")))


def launch_to_json(launch: Launch) -> dict[str, Any]:
    """A launch as the record and the daemon's standard input hold it."""
    return {
        "flags": launch.flags,
        "configFile": launch.config_file,
        "directory": launch.directory,
    }


def remove(directory: Path, pid: int, name: str = RECORD_FILE) -> None:
    """Take the record away if it is still that process's."""
    with contextlib.suppress(OSError):
        held = read(directory, name)
        if held is not None and held.pid == pid:
            (directory / name).unlink(missing_ok=True)


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the state directory for one start or stop; waits for another one that is under way.

    Raises `OSError` when the directory cannot be made or written.
    """
    make_private(directory)
    # Not inherited by the daemon, which would hold it for as long as it runs.
    descriptor = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
