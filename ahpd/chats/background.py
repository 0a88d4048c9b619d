"""What runs on behind the turns of a chat, as rows clients are shown.

A backend reports all of it, each time; the host makes the rows, so that one shape serves
every backend. Source: AHP.txt, `chat/backgroundWorkSet` and `vscode/stopBackgroundWork`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from twisted.logger import Logger

from ahpd.interfaces import BackgroundTask
from ahpd.protocol import Action, State

log = Logger()

#: Says in a row's `_meta` that its work can be stopped.
STOPPABLE: Final = "vscode.stopBackgroundWork"


class BackgroundWork:
    """The rows of one chat, as they were last said.

    `say` says an action on the chat's channel. `rows` are what its state holds already:
    rows of an earlier run, until the first report or `clear` takes them down.
    """

    __slots__ = ("_rows", "_say", "_tasks")

    def __init__(self, say: Callable[[Action], None], rows: Sequence[State] = ()) -> None:
        self._say = say
        self._rows: dict[str, State] = {row["id"]: row for row in rows}
        self._tasks: Mapping[str, BackgroundTask] = {}

    def report(self, tasks: Sequence[BackgroundTask]) -> None:
        """All that runs now: a row is said once, and again only when it moved."""
        found = {}
        for task in tasks:
            row = row_of(task)
            if row is None:
                log.warn("background work {id} is of no kind there is; not shown", id=task.id)
            else:
                found[task.id] = row
        self._tasks = {task.id: task for task in tasks if task.id in found}
        for identifier in [held for held in self._rows if held not in found]:
            del self._rows[identifier]
            self._say({"type": "chat/backgroundWorkRemoved", "id": identifier})
        for identifier, row in found.items():
            if self._rows.get(identifier) != row:
                self._rows[identifier] = row
                self._say({"type": "chat/backgroundWorkSet", "work": row})

    def clear(self) -> None:
        """Nothing runs any more: the backend is down."""
        self.report(())

    async def stop(self, identifier: str) -> bool:
        """Have the backend stop one; whether it was asked to. Raises what its stop raises.

        The row stays until the backend reports that the work has ended.
        """
        task = self._tasks.get(identifier)
        if task is None or task.stop is None:
            return False
        await task.stop()
        return True


def row_of(task: BackgroundTask) -> State | None:
    """The row (schema: BackgroundWork) of a task; None for one whose id names no kind."""
    kind = task.id.partition(":")[0]
    row: State = {
        "id": task.id,
        "kind": kind,
        "label": task.label,
        "startedAt": task.started_at,
    }
    if kind == "shell":
        row["command"] = task.command or ""
    elif kind == "subagent" and task.worker is not None:
        row["chat"] = task.worker
    else:
        return None
    if task.stop is not None:
        row["_meta"] = {STOPPABLE: True}
    return row
