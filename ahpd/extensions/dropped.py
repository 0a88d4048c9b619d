"""What of the plugins' own was dropped: each thing is reported once, for as long as it lasts."""

from collections.abc import Callable, Collection

from twisted.logger import Logger

log = Logger()

#: Told of something of a plugin's that was dropped: the plugin's id, and a line that says what.
Report = Callable[[str, str], None]


def logged(plugin: str, line: str) -> None:
    """Say it in the log alone."""
    log.warn("plugin {plugin}: {line}", plugin=plugin, line=line)


class Dropped:
    """The lines of one kind of contribution. Every fold names them all again."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._said: set[tuple[str, str]] = set()

    def are(self, lines: Collection[tuple[str, str]]) -> None:
        """These are the plugins and lines now: the new ones are reported."""
        for plugin, line in lines:
            if (plugin, line) not in self._said:
                self._report(plugin, line)
        self._said = set(lines)
