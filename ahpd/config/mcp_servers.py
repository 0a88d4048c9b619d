"""The configured MCP servers as they are now: the file is read again when it has moved.

A session is offered what the file says at its start, so an edit needs no restart. One that
cannot be used costs nothing but itself: what was read last stays, and a line says so once.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from ahpd.config import document
from ahpd.config.errors import ConfigError, WrongValue
from ahpd.config.kinds import visible
from ahpd.config.mappings import EMPTY, McpServers
from ahpd.config.references import Unresolved, resolve

_KEY = "mcpServers"


@attrs.define
class McpServersFile:
    """Reads `mcpServers` of the configuration file `path`; None where there is no file to read.

    `held` is what the start read. `environ` is what references in it are read from. `report`
    is told of a bad edit, and of a server that is left out, in one line each time it is new.
    """

    _path: Path | None
    _held: Mapping[str, Mapping[str, Any]]
    _environ: Mapping[str, str] = attrs.field(repr=False)
    _report: Callable[[str], object]
    _seen: tuple[int, ...] | None = None
    _said: set[str] = attrs.field(factory=set)
    _was_there: bool = False

    def current(self) -> Mapping[str, Mapping[str, Any]]:
        """The servers by name with every reference read, as `ChatStart.mcp_servers` has them.

        One whose reference cannot be read is left out.
        """
        self._look()
        servers: dict[str, Mapping[str, Any]] = {}
        for name, entry in self._held.items():
            try:
                servers[name] = resolve(entry, self._environ, f"{_KEY}.{visible(name)}")
            except Unresolved as missing:
                self._say(f"{missing}; the server is left out")
        return servers

    def _look(self) -> None:
        """Read the file where it is another one than it was."""
        if self._path is None:
            return
        try:
            status = os.stat(self._path)  # noqa: PTH116
        except OSError as error:
            # An editor may be between taking the old file away and putting the new one there.
            if self._was_there:
                self._say(f"{self._path}: {error.strerror}; {_KEY} stays as it was read last")
            self._seen = None
            return
        self._was_there = True
        mark = (status.st_mtime_ns, status.st_size, status.st_ino)
        if mark == self._seen:
            return
        self._seen = mark
        try:
            self._held = _read(self._path)
        except ConfigError as wrong:
            self._say(f"{wrong}; {_KEY} stays as it was read last")
        else:
            self._said.clear()

    def _say(self, words: str) -> None:
        if words not in self._said:
            self._said.add(words)
            self._report(words)


def _read(path: Path) -> Mapping[str, Mapping[str, Any]]:
    read = document.read(path)
    if _KEY not in read.values:
        return EMPTY
    try:
        return McpServers().check(read.values[_KEY], path.parent.resolve())
    except WrongValue as wrong:
        raise ConfigError(
            f"{read.place(_KEY, wrong.at)}: {_KEY}{visible(wrong.at)}: found {wrong.found}, "
            f"allowed: {wrong.allowed}"
        ) from None
