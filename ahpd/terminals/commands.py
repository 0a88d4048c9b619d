"""Which command runs in a terminal, by the marks of its shell.

A shell may mark less than it should, twice (its own marks and a plugin's), or have another
shell in it. What is said here is in order all the same: a command starts, and is finished
before another one starts or a prompt is drawn.
"""

from ahpd.terminals.echoed import EchoedLine
from ahpd.terminals.marks import (
    CommandFinished,
    CommandStarted,
    CwdChanged,
    LineSaid,
    Mark,
    PromptEnded,
    PromptStarted,
)

Said = PromptStarted | PromptEnded | CommandStarted | CommandFinished | CwdChanged


class Commands:
    """Makes of a shell's marks what is said of its commands and its folder."""

    __slots__ = ("_echo", "_line", "_path", "_running")

    def __init__(self) -> None:
        self._echo = EchoedLine()
        self._line: str | None = None
        self._path: str | None = None
        self._running = False

    def shown(self, text: str) -> None:
        """Text between two marks."""
        if self._echo.listening:
            self._echo.add(text)

    def marked(self, mark: Mark) -> list[Said]:
        """What `mark` says that was not said before."""
        match mark:
            case PromptStarted():
                self._line = None
                return [*self._over(None), mark]
            case PromptEnded():
                self._echo.begin()
                return [*self._over(None), mark]
            case LineSaid():
                if not self._running:
                    self._line = mark.line
                return []
            case CommandStarted():
                return self._started(mark.line)
            case CommandFinished():
                return self._over(mark.code)
            case CwdChanged():
                if mark.path == self._path:
                    return []
                self._path = mark.path
                return [mark]

    def _started(self, line: str | None) -> list[Said]:
        """A command's line is what its mark says, else what the shell said ahead of it, else
        what was shown since the prompt."""
        if self._running:
            return []
        self._running = True
        if line is None:
            line = self._line if self._line is not None else self._echo.line()
        self._line = None
        self._echo.end()
        return [CommandStarted(line)]

    def _over(self, code: int | None) -> list[Said]:
        """The command that runs is finished; nothing where none does.

        At a prompt it is so without a code: the shell did not say one, or the command is
        another shell, whose prompt this is.
        """
        if not self._running:
            return []
        self._running = False
        return [CommandFinished(code)]
