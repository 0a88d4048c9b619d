"""The process table, as a test looks at it: Linux's `/proc`."""

from collections.abc import Iterable
from pathlib import Path


def processes() -> list[int]:
    """The ids of all processes there are."""
    proc = Path("/proc")
    return [int(entry.name) for entry in proc.iterdir() if entry.name.isdigit()]


def fields_of(pid: int) -> list[str]:
    """The fields of `/proc/PID/stat` from the state on; empty for one that runs no more."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    fields = stat.rpartition(")")[2].split()
    return [] if fields[0] in {"Z", "X"} else fields


def marks(pids: Iterable[int]) -> dict[int, str]:
    """When each process that runs was started, which tells it from a later one of its number."""
    return {pid: fields[19] for pid in pids if (fields := fields_of(pid))}


def descendants(pid: int) -> set[int]:
    """The processes that descend from one, by parentage; an orphan descends from it no more."""
    parents = {one: int(fields[1]) for one in processes() if (fields := fields_of(one))}
    found: set[int] = set()
    added = {pid}
    while added:
        added = {one for one, parent in parents.items() if parent in added and one not in found}
        found |= added
    return found


def read(pid: int, name: str) -> bytes:
    """One of the files of a process: `cmdline`, `environ`; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
