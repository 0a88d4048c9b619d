"""Paths as rules look at them: as they are written, and where they really lead.

What is looked up is links alone, at the moment of the question. What is swapped for a link
after that is for whoever opens the file to notice.
"""

import os
import posixpath
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

import attrs

from ahpd.permissions.looking import Look, directly
from ahpd.permissions.patience import ENDLESS, Patience
from ahpd.permissions.rules import Named, Rule
from ahpd.protocol.globs import whole_path

#: The longest path that is looked at, in bytes; the kernel opens no longer one.
MOST_PATH: Final = 4096
#: How many names one path may lead through, those in its links too.
_MOST_STEPS: Final = 1500
#: How many links one path may lead through, as the kernel has it.
_MOST_LINKS: Final = 40

#: How many characters a glob may have, each choice of its braces counted.
_MOST_GLOB: Final = 6000

_ESCAPED: Final = re.compile(r"\[([*?\[{])\]")
_MAGIC: Final = re.compile(r"[*?\[{]")


class Links:
    """Where paths lead, each looked up once for one question."""

    def __init__(self, look: Look = directly) -> None:
        """Raises `OutOfTime` wherever `look` does."""
        self._look = look
        self._found: dict[str, tuple[str, ...] | None] = {}

    def candidates(self, path: str) -> tuple[str, ...] | None:
        """The paths that stand for `path`: as it is written and, where that differs, as it is.

        None where nobody can tell where it leads: it is relative, too long, holds a NUL, runs
        in circles, leads through what is another file for every process (`/proc/self/cwd`),
        or goes through a folder that is not ours to look into. What does not exist yet is
        looked up as far as it does.
        """
        if path not in self._found:
            self._found[path] = self._candidates(path)
        return self._found[path]

    def all_candidates(self, paths: Iterable[str]) -> tuple[str, ...] | None:
        """The candidates of each of `paths`; None where those of one are not known."""
        found: dict[str, None] = {}
        for path in paths:
            candidates = self.candidates(path)
            if candidates is None:
                return None
            found |= dict.fromkeys(candidates)
        return tuple(found)

    def _candidates(self, path: str) -> tuple[str, ...] | None:
        if not path.startswith("/") or "\0" in path or len(path) > MOST_PATH:
            return None
        try:
            if len(os.fsencode(path)) > MOST_PATH:
                return None
            real = self._look(lambda: _real(path))
        except (OSError, ValueError):
            return None
        written = posixpath.normpath(path)
        if written.startswith("//"):
            written = written[1:]
        return (written,) if real == written else (written, real)

    def is_folder(self, path: str) -> bool:
        """Whether a folder is there."""
        return self._look(lambda: Path(path).is_dir())

    def finds_bare_repository(self, folder: str) -> bool:
        """Whether git, begun in `folder`, may take a folder without a `.git` for a repository.

        `folder` is one where it really is. One of a `.git` that is found first is no such.
        """
        return self._look(lambda: _finds_bare_repository(folder))

    def in_one_of(self, paths: Sequence[str], folders: Iterable[str]) -> bool:
        """Whether all `paths` are in one of `folders`: a link from one to another is not followed."""
        for folder in folders:
            roots = self.candidates(folder)
            if roots is not None and all(
                any(is_within(each, root) for root in roots) for each in paths
            ):
                return True
        return False

    def touches(self, paths: Sequence[str], folders: Iterable[str]) -> bool:
        """Whether any of `paths` is in any of `folders`."""
        for folder in folders:
            roots = self.candidates(folder) or (posixpath.normpath(folder),)
            if any(is_within(each, root) for root in roots for each in paths):
                return True
        return False


def _real(path: str) -> str:
    """Raises `OSError` where it cannot be told."""
    left = path.split("/")[::-1]
    found, links, steps = "", 0, 0
    while left:
        name = left.pop()
        if name in ("", "."):
            continue
        if name == "..":
            found = found.rpartition("/")[0]
            continue
        steps += 1
        there = f"{found}/{name}"
        if steps > _MOST_STEPS:
            raise OSError(f"{path} leads through more than {_MOST_STEPS} folders")
        if not _is_link(there):
            found = there
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(f"{path} leads through more than {_MOST_LINKS} links")
        if found == "/proc" or found.startswith("/proc/"):
            raise OSError(f"{there} is another file for every process")
        target = os.readlink(there)  # noqa: PTH115
        if target.startswith("/"):
            found = ""
        left += target.split("/")[::-1]
    return found or "/"


def _finds_bare_repository(folder: str) -> bool:
    at = folder
    for _ in range(_MOST_STEPS):
        there = [os.path.lexists(f"{at}/{name}") for name in ("HEAD", "objects", "commondir")]
        if there[0] and any(there[1:]):
            return True
        if at == "/" or os.path.lexists(f"{at}/.git"):
            return False
        at = posixpath.dirname(at)
    return True


def _is_link(path: str) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def is_within(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or in it, as they are written."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


@lru_cache(maxsize=16384)
def matcher(pattern: str) -> Callable[[str], bool] | None:
    """What a glob means among absolute paths; None for one that nobody can read."""
    try:
        return whole_path(pattern, _MOST_GLOB)
    except ValueError:
        return None


def glob_of(path: str) -> str:
    """The glob that means `path` and nothing else."""
    return re.sub(r"[*?\[{]", lambda found: f"[{found[0]}]", path)


def _exact(pattern: str) -> str | None:
    """The one path a glob means; None where it means more."""
    if _MAGIC.search(_ESCAPED.sub("", pattern)):
        return None
    return _ESCAPED.sub(r"\1", pattern)


@attrs.frozen
class PathSubject:
    """What a call reads or writes, as `Read(...)` and `Edit(...)` rules look at it."""

    paths: tuple[str, ...] | None
    """The candidates of all of it (`Links`)."""
    home: str
    folders: Sequence[str]
    patience: Patience = ENDLESS

    def _globs(self, argument: str) -> list[str]:
        """The absolute globs a rule's argument is: one in no place is in each of the folders."""
        if argument == "~" or argument.startswith("~/"):
            return [glob_of(self.home) + argument[1:]]
        if argument.startswith(("/", "**")):
            return [argument]
        inside = argument.removeprefix("./")
        return [f"{glob_of(folder.rstrip('/'))}/{inside}" for folder in self.folders]

    def named_by(self, rule: Rule) -> Named:
        """A rule that refuses or asks names it by any of its paths."""
        if self.paths is None:
            return Named.MAYBE
        for glob in self._globs(rule.argument or ""):
            self.patience.left()
            matches = matcher(glob)
            if matches is None:
                return Named.MAYBE
            if any(map(matches, self.paths)):
                return Named.YES
        return Named.NO

    def allowed_by(self, rules: Iterable[Rule]) -> str | None:
        """Rules that approve have to name all its paths, one rule the one and another the other."""
        return self._approved(rules, exactly=False)

    def allowed_exactly(self, rules: Iterable[Rule]) -> str | None:
        """As `allowed_by`, by rules that name one path alone."""
        return self._approved(rules, exactly=True)

    def _approved(self, rules: Iterable[Rule], exactly: bool) -> str | None:
        if self.paths is None:
            return None
        left, words = set(self.paths), ""
        for rule in rules:
            for glob in self._globs(rule.argument or ""):
                self.patience.left()
                if exactly and _exact(glob) is None:
                    continue
                matches = matcher(glob)
                found = {path for path in left if matches is not None and matches(path)}
                if found:
                    left, words = left - found, words or rule.text
            if not left:
                return words
        return None
