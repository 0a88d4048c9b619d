"""Programs that are run to their end for plugins' sake: pip, above all.

They are children of the host's, as every program it starts is, and gone when it is.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from zope.interface import implementer

from ahpd.processes.child import Exit, IOwnErrors
from ahpd.processes.launch import SpawnFailure
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.processes.waiting import Moment

#: How much of what a program prints is kept: the end, where it says what went wrong.
MOST_KEPT: Final = 256 * 1024


@implementer(IOwnErrors)
class _Run:
    """Gathers all that a child prints, in the order in which it came."""

    def __init__(self) -> None:
        self._printed = bytearray()
        self.how: Exit | None = None
        self.over = Moment()
        self._closed = False

    @property
    def printed(self) -> str:
        return self._printed.decode(errors="replace")

    def output_received(self, data: bytes) -> None:
        """See `IChildEvents`."""
        self._printed += data
        del self._printed[:-MOST_KEPT]

    def errors_received(self, data: bytes) -> None:
        """See `IChildErrors`."""
        self.output_received(data)

    def output_ended(self) -> None:
        """See `IChildEvents`."""
        self._closed = True
        self._finish()

    def exited(self, how: Exit) -> None:
        """See `IChildEvents`."""
        self.how = how
        self._finish()

    def _finish(self) -> None:
        if self.how is not None and self._closed:
            self.over.fire()


class ProgramRuns:
    """Runs programs, once there is what starts them: `supervisor` is set when the host is built."""

    def __init__(self) -> None:
        self.supervisor: ProcessSupervisor | None = None

    async def __call__(
        self, argv: Sequence[str], environ: Mapping[str, str], directory: Path
    ) -> tuple[int, str]:
        """The exit status and all that was printed; -1 where it could not be started, or died.

        `environ` is added to the host's own. Whoever stops waiting ends the program.
        """
        if self.supervisor is None:
            return -1, f"{argv[0]} could not be started: the host is not built yet"
        run = _Run()
        try:
            child = self.supervisor.spawn(run, argv, dict(environ), cwd=str(directory))
        except SpawnFailure as failure:
            return -1, str(failure)
        child.close_input()
        try:
            await run.over.wait()
        finally:
            if not run.over.happened:
                child.kill()
        await child.gone.wait()
        code = None if run.how is None else run.how.code
        return (-1 if code is None else code), run.printed
