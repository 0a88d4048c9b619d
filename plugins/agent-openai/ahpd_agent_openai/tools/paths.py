"""Which file a path of the model's means, and whether it is in the session's folders.

A path is absolute, a `file:` URI, or relative to the session's first folder. `..` and `.`
are taken out of its text before any link is looked at, as a resource command's are. Then
every link is resolved, that of a target which is not there yet too: `real` is what would be
opened, and nothing else is (`tree.walking`, `files.Held`).

What is left to a race: a folder on the way may itself be *moved* elsewhere, links or none,
between the look and the use; what is written then is in the folder that has the checked path
at that moment. Where the system has no `/proc` a write is named by its path a second time,
and a link that takes a folder's place in between is followed.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import attrs

from ahpd.protocol.file_uris import path_of, shown
from ahpd_agent_openai.tools.values import ToolProblem


@attrs.frozen(kw_only=True)
class Found:
    """What a path means."""

    path: str
    """Absolute, as it was asked for: what people and the host's rules are shown."""
    real: str
    """Absolute, every link resolved."""
    inside: bool
    """Whether `real` is in one of the session's folders."""

    @property
    def shown(self) -> str:
        """The path as text that travels."""
        return shown(self.path)


class Workspace:
    """The folders of a session. `folders` are its `file:` URIs, the primary first.

    Those of another machine are passed over. `default` is where a session works that has none:
    its relative paths begin there, and it counts as its folder.
    """

    def __init__(self, folders: Sequence[str], default: Path) -> None:
        paths = [path for path in map(path_of, folders) if path is not None]
        self.folders = tuple(os.path.normpath(path) for path in paths) or (
            os.path.normpath(Path(default).absolute()),
        )

    @property
    def first(self) -> str:
        """Where relative paths begin and commands run."""
        return self.folders[0]

    def find(self, given: str) -> Found:
        """What a path means. Raises `ToolProblem` for one that means nothing here."""
        path = os.path.normpath(os.path.join(self.first, _named(given)))  # noqa: PTH118
        path = "/" + path.lstrip("/")
        try:
            real = os.path.realpath(path)
        except (OSError, ValueError) as error:
            raise ToolProblem(f"`path` {given!r} cannot be followed: {error}") from None
        return Found(path=path, real=real, inside=self.holds(real))

    def holds(self, real: str) -> bool:
        """Whether a path without links is one of the folders or in one, links of those resolved."""
        return any(_is_within(real, os.path.realpath(folder)) for folder in self.folders)

    def shown(self, path: str) -> str:
        """A path as people are shown it: relative where it is below the first folder."""
        if path != self.first and _is_within(path, self.first):
            return shown(os.path.relpath(path, self.first))
        return shown(path)


def _named(given: str) -> str:
    if "\0" in given:
        raise ToolProblem("`path` holds a NUL, which no path has")
    if given == "~" or given.startswith("~/"):
        raise ToolProblem("`path` begins with ~, which is not expanded here: name it in full")
    if given.lower().startswith("file:"):
        path = path_of(given)
        if path is None:
            raise ToolProblem(f"`path` {given!r} is no file: URI of this machine")
        return path
    return given


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
