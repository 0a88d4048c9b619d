"""Running a program to its end for what it prints."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from zope.interface import implementer

from ahpd.interfaces import IPrograms, ProgramFailure
from ahpd.processes.child import Child, Exit, IChildEvents
from ahpd.processes.launch import SpawnFailure
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.processes.waiting import Moment

#: What a person's shell may have said to git of one repository, and what makes it wait or write.
_ENVIRONMENT: Final[Mapping[str, str | None]] = {
    "GIT_DIR": None,
    "GIT_WORK_TREE": None,
    "GIT_INDEX_FILE": None,
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


@implementer(IChildEvents)
class _Output:
    """Gathers a child's output, and ends a child that prints too much."""

    def __init__(self, most: int) -> None:
        self.pieces: list[bytes] = []
        self.size = 0
        self.how: Exit | None = None
        self.over = Moment()
        self.child: Child | None = None
        self._most = most
        self._closed = False

    @property
    def too_much(self) -> bool:
        """Whether it printed more than it may."""
        return self.size > self._most

    def output_received(self, data: bytes) -> None:
        """See `IChildEvents`."""
        self.size += len(data)
        if not self.too_much:
            self.pieces.append(data)
        elif self.child is not None:
            self.child.kill()

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


@implementer(IPrograms)
class Programs:
    """Programs as children of the host, gone when it is."""

    def __init__(self, supervisor: ProcessSupervisor, reactor: Any) -> None:
        self._supervisor = supervisor
        self._reactor = reactor

    async def output(self, argv: Sequence[str], directory: str, most: int, seconds: float) -> bytes:
        """See `IPrograms.output`."""
        output = _Output(most)
        try:
            child = self._supervisor.spawn(output, argv, _ENVIRONMENT, cwd=directory)
        except SpawnFailure as failure:
            raise ProgramFailure(str(failure)) from None
        output.child = child
        child.close_input()
        try:
            in_time = await output.over.within(self._reactor, seconds)
        finally:
            if not output.over.happened:
                child.kill()
        await child.gone.wait()
        if output.too_much:
            raise ProgramFailure(f"{argv[0]} printed more than {most} bytes in {directory}")
        if not in_time:
            raise ProgramFailure(f"{argv[0]} took longer than {seconds:g} s in {directory}")
        if output.how is None or output.how.code != 0:
            raise ProgramFailure(f"{argv[0]} {output.how} in {directory}")
        return b"".join(output.pieces)
