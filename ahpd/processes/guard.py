"""What a child started, and the guard that ends it when the host cannot.

A child leads its own session, so its group can be signalled as one. What it starts
may leave that group, or be orphaned; those are found by parentage and by the mark
the host put into the child's environment, which is inherited. Where there is no
`/proc` only the group is known.

This file also runs as a program, `python -I -S guard.py`: one small process for the
whole host, told of every child over its standard input. When that closes, the host is
gone (killed, perhaps), and the guard ends every family it still knows. It therefore
imports nothing but what a bare interpreter has at hand, and nothing of this package.

Lines the guard reads: `* MARK` for a child that is about to be started and `/ MARK` for
one that could not be, `+ PID MARK` for one that was, `- PID` for one whose family is gone.
"""

from __future__ import annotations

import os
import signal
import time

#: The environment variable that carries a child's mark. Whatever runs in a terminal sees
#: it, so it has a name that is none of the host's settings'.
MARK_NAME = "PROCESS_FAMILY"

#: Seconds the guard leaves a family between SIGTERM and SIGKILL, and after that.
GUARD_GRACE = 2.0

#: Seconds within which what was about to be started carries its mark, if it will at all.
START_GRACE = 0.5

_PROC = "/proc"


class Process:
    """One line of the process table. `start` is in clock ticks since boot; a pid with the
    same `start` is the same process, whatever else that pid was used for."""

    __slots__ = ("group", "parent", "pid", "session", "start", "zombie")

    def __init__(
        self, pid: int, parent: int, group: int, session: int, start: int, zombie: bool
    ) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.session = session
        self.start = start
        self.zombie = zombie

    def __repr__(self) -> str:
        return f"Process({self.pid}, parent={self.parent}, start={self.start})"


def read_process(pid: int) -> Process | None:
    """The process that has `pid` now, or None."""
    try:
        fd = os.open(f"{_PROC}/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        stat = os.read(fd, 4096)
    except OSError:
        return None
    finally:
        os.close(fd)
    # The name, field 2, is in parentheses and may hold anything, so count from its end.
    fields = stat[stat.rfind(b")") + 2 :].split()
    if len(fields) < 20:
        return None
    return Process(
        pid,
        int(fields[1]),
        int(fields[2]),
        int(fields[3]),
        int(fields[19]),
        fields[0] in (b"Z", b"X"),
    )


class Table:
    """The processes of one moment, looked up by what makes them of a family.

    `host` is the pid of the host: what descends from it is of the family of one of its
    children, by parentage. Anybody else who was started at `since` or later may be an
    orphan of such a family, and is known by its mark.
    """

    def __init__(self, processes: list[Process], host: int, since: int) -> None:
        self.by_pid = {process.pid: process for process in processes}
        self._children: dict[int, list[Process]] = {}
        self._group: dict[int, list[Process]] = {}
        self._session: dict[int, list[Process]] = {}
        for process in processes:
            self._children.setdefault(process.parent, []).append(process)
            self._group.setdefault(process.group, []).append(process)
            self._session.setdefault(process.session, []).append(process)
        self._host = host
        self._since = since
        self._by_mark: dict[bytes, list[Process]] | None = None

    def together_with(self, leader: int) -> list[Process]:
        """`leader` itself, its group and its session."""
        itself = [self.by_pid[leader]] if leader in self.by_pid else []
        return itself + self._group.get(leader, []) + self._session.get(leader, [])

    def with_descendants(self, processes: list[Process]) -> dict[int, Process]:
        """`processes` and all that descends from them, by pid."""
        found = {process.pid: process for process in processes}
        waiting = list(found)
        while waiting:
            for child in self._children.get(waiting.pop(), ()):
                if child.pid not in found:
                    found[child.pid] = child
                    waiting.append(child.pid)
        return found

    def marked(self, mark: bytes) -> list[Process]:
        """The processes that descend from the host no more and carry `mark`."""
        if self._by_mark is None:
            self._by_mark = {}
            host = [self.by_pid[self._host]] if self._host in self.by_pid else []
            known = self.with_descendants(host)
            for process in self.by_pid.values():
                if process.start >= self._since and process.pid not in known:
                    found = _mark_of(process.pid)
                    if found is not None:
                        self._by_mark.setdefault(found, []).append(process)
        return self._by_mark.get(mark, [])


def read_table(host: int, since: int) -> Table:
    """The process table now; empty where the system has no `/proc`."""
    try:
        names = os.listdir(_PROC)  # noqa: PTH208 - pathlib costs the guard its start
    except OSError:
        names = []
    found = [read_process(int(name)) for name in names if name.isdigit()]
    return Table([process for process in found if process is not None], host, since)


def _mark_of(pid: int) -> bytes | None:
    try:
        fd = os.open(f"{_PROC}/{pid}/environ", os.O_RDONLY)
    except OSError:
        return None  # gone, or another user's
    environ = b""
    try:
        while piece := os.read(fd, 65536):
            environ += piece
    except OSError:
        return None
    finally:
        os.close(fd)
    name = MARK_NAME.encode() + b"="
    for variable in environ.split(b"\0"):
        if variable.startswith(name):
            return variable[len(name) :]
    return None


class Family:
    """A child and everything descended from it.

    `leader` is the child's pid. `anchored` holds as long as the host has not reaped
    the leader: until then its pid names its group and session beyond doubt. The guard
    outlives the host and sees no reaping; to it a leader that started at another time
    is somebody else under that number. A leader of 0 is not known: the host died while it
    started it, and the mark is all there is.
    """

    __slots__ = ("_known", "_mark", "anchored", "leader", "started")

    def __init__(self, leader: int, mark: str) -> None:
        self.leader = leader
        self.anchored = leader > 0
        self._mark = mark.encode()
        self._known: dict[int, int] = {}
        first = read_process(leader)
        self.started = 0 if first is None else first.start

    def look(self, table: Table) -> list[Process]:
        """The members that are running, as `table` has them, and remember them.

        One that was a member stays one, whoever its parent is now.
        """
        if not table.by_pid:
            return self._look_at_group()
        members = [
            process
            for pid, start in self._known.items()
            if (process := table.by_pid.get(pid)) is not None and process.start == start
        ]
        leader = table.by_pid.get(self.leader)
        if leader is not None and leader.start != self.started:
            self.anchored = False
        if self.anchored:
            members += table.together_with(self.leader)
        members += table.marked(self._mark)
        found = table.with_descendants(members)
        found.pop(os.getpid(), None)
        self._known = {process.pid: process.start for process in found.values()}
        return [process for process in found.values() if not process.zombie]

    def _look_at_group(self) -> list[Process]:
        if not self.leader:
            return []
        try:
            os.killpg(self.leader, 0)
        except OSError:
            return []
        # A negative pid is what `kill` takes for a whole group.
        return [Process(-self.leader, 0, self.leader, self.leader, 0, False)]

    def signal(self, members: list[Process], number: int) -> None:
        """Send a signal to `members`, and to the group at once while its name is certain."""
        if self.anchored:
            _send(-self.leader, number)
        for member in members:
            if not (self.anchored and member.group == self.leader):
                _send(member.pid, number)


def _send(pid: int, number: int) -> None:
    try:  # noqa: SIM105 - contextlib costs the guard its start
        os.kill(pid, number)
    except OSError:
        pass  # gone since we looked, which is what was wanted


# -- the guard as a program -------------------------------------------------------


def _end_all(families: list[Family], grace: float) -> None:
    """SIGTERM, then SIGKILL after `grace` seconds, until nobody is left or `grace` again passed."""
    begun = time.monotonic()
    number = signal.SIGTERM
    signalled: set[int] = set()
    since = min((family.started for family in families), default=0)
    starting = any(not family.leader for family in families)
    while time.monotonic() - begun < 2 * grace:
        table = read_table(os.getpid(), since)
        left = 0
        for family in families:
            members = family.look(table)
            left += len(members)
            fresh = [m for m in members if m.pid not in signalled]
            family.signal(members if number == signal.SIGKILL else fresh, number)
            signalled.update(member.pid for member in fresh)
        if not left and (not starting or time.monotonic() - begun > START_GRACE):
            return
        time.sleep(0.02)
        if time.monotonic() - begun > grace:
            number = signal.SIGKILL


def main() -> None:
    """Read what the host says until it is gone, then end what it left."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    families: dict[int, Family] = {}
    starting: dict[str, None] = {}
    rest = b""
    while piece := os.read(0, 65536):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            verb, *words = line.decode().split(" ")
            if verb == "*":
                starting[words[0]] = None
            elif verb == "/":
                starting.pop(words[0], None)
            elif verb == "+":
                starting.pop(words[1], None)
                families[int(words[0])] = Family(int(words[0]), words[1])
            else:
                families.pop(int(words[0]), None)
    begun = [Family(0, mark) for mark in starting]
    _end_all([*families.values(), *begun], GUARD_GRACE)


if __name__ == "__main__":
    main()
