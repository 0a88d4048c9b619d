"""What a backend leaves behind: processes, timers and open files, counted before and after.

What there is at the first count is the test's and the host's. Processes and open files are
read from `/proc`, and are not counted where there is none.
"""

import os
from pathlib import Path

import attrs

from ahpd.testing.agent_contract.contract import AgentContract
from ahpd.testing.agent_contract.said import expect
from ahpd.testing.processes import descendants, marks

_OWN_FILES = Path("/proc/self/fd")
#: Seconds that what is on its way out has.
_PATIENCE = 2.0
_STEP = 0.05


@attrs.frozen(kw_only=True)
class Held:
    """What this process holds now."""

    children: frozenset[int]
    timers: frozenset[object]
    files: frozenset[tuple[str, str]]


def children(contract: AgentContract) -> frozenset[int]:
    """The processes that descend from this one, and those of the contract's supervisor."""
    found = set()
    if _OWN_FILES.exists():
        found = set(marks(descendants(os.getpid())))
    if contract.supervisor is not None:
        found |= {child.pid for child in contract.supervisor.children}
    return frozenset(found)


def held(contract: AgentContract) -> Held:
    """All of it."""
    return Held(
        children=children(contract),
        timers=frozenset(call for call in contract.reactor.getDelayedCalls() if call.active()),
        files=frozenset(_files()),
    )


def _files() -> list[tuple[str, str]]:
    found = []
    for entry in _OWN_FILES.iterdir() if _OWN_FILES.exists() else ():
        try:
            found.append((entry.name, str(entry.readlink())))
        except OSError:  # what the directory was read through
            continue
    return found


async def check_nothing_left(contract: AgentContract, before: Held) -> None:
    """Nothing is held that was not `before`, or is not in a moment."""
    waited = 0.0
    while True:
        now = held(contract)
        processes = now.children - before.children
        timers = now.timers - before.timers
        files = now.files - before.files
        if not (processes or timers or files):
            return
        if waited >= _PATIENCE:
            break
        await contract.settled(_STEP)
        waited += _STEP
    expect(not processes, f"processes were left: {sorted(processes)}")
    expect(not timers, f"timers were left: {sorted(map(str, timers))}")
    expect(not files, f"open files were left: {sorted(target for _, target in files)}")


def files_of(folder: Path) -> dict[str, bytes]:
    """The files under a folder by name, with what is in them: a value to compare effects by."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
