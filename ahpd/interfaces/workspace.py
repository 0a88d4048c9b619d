"""The workspace's side: which files are under a folder, and running a program for its output."""

from collections.abc import Sequence

from zope.interface import Interface


class ProgramFailure(Exception):
    """A program that gave no output to use; the words name it and say why."""


class IPrograms(Interface):
    """Runs a program to its end for what it prints."""

    async def output(argv: Sequence[str], directory: str, most: int, seconds: float) -> bytes:
        """Its standard output, run in `directory` (a path) with no input.

        Raises `ProgramFailure` where it cannot be started, exits with another code than 0,
        prints more than `most` bytes or takes longer than `seconds`. It is gone by then.
        """


class IWorkspaceFiles(Interface):
    """Which files a session's folders hold, for whoever mentions one in a message."""

    async def files(directory: str) -> Sequence[str]:
        """Paths of files under `directory` (a path), relative to it and written with `/`.

        As many as are listed in time, the same order each time; none for a folder that
        cannot be read. A byte of a name that is no UTF-8 is a surrogate escape.
        """
