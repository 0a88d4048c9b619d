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
from typing import Final

import attrs

from ahpd.permissions.rules import Named, Rule
from ahpd.protocol.globs import whole_path

_ESCAPED: Final = re.compile(r"\[([*?\[{])\]")
_MAGIC: Final = re.compile(r"[*?\[{]")


def candidates(path: str) -> tuple[str, ...] | None:
    """The paths that stand for `path`: as it is written and, where that differs, as it is.

    None where nobody can tell where it leads: it is relative, holds a NUL, runs in circles,
    or goes through a folder that is not ours to look into. What does not exist yet is looked
    up as far as it does.
    """
    if not path.startswith("/") or "\0" in path:
        return None
    try:
        real = _real(path)
    except (OSError, ValueError):
        return None
    written = posixpath.normpath(path)
    if written.startswith("//"):
        written = written[1:]
    return (written,) if real == written else (written, real)


def _real(path: str) -> str:
    """Raises `OSError` where it cannot be told."""
    found = os.path.realpath(path)
    missing: list[str] = []
    existing = found
    while existing != "/":
        try:
            mode = os.lstat(existing).st_mode
        except (FileNotFoundError, NotADirectoryError):
            missing.append(posixpath.basename(existing))
            existing = posixpath.dirname(existing)
            continue
        if stat.S_ISLNK(mode):
            raise OSError(f"{existing} is a link that leads in circles")
        break
    return posixpath.join(os.path.realpath(existing, strict=True), *reversed(missing))


def is_within(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or in it, as they are written."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def in_one_of(paths: Sequence[str], folders: Iterable[str]) -> bool:
    """Whether all `paths` are in one of `folders`: a link from one to another is not followed."""
    for folder in folders:
        roots = candidates(folder)
        if roots is not None and all(
            any(is_within(each, root) for root in roots) for each in paths
        ):
            return True
    return False


def touches(paths: Sequence[str], folders: Iterable[str]) -> bool:
    """Whether any of `paths` is in any of `folders`."""
    for folder in folders:
        roots = candidates(folder) or (posixpath.normpath(folder),)
        if any(is_within(each, root) for root in roots for each in paths):
            return True
    return False


@lru_cache(maxsize=4096)
def matcher(pattern: str) -> Callable[[str], bool] | None:
    """What a glob means among absolute paths; None for one that nobody can read."""
    try:
        return whole_path(pattern)
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
    """A path a call reads or writes, as `Read(...)` and `Edit(...)` rules look at it."""

    paths: tuple[str, ...] | None
    """`candidates` of it."""
    home: str
    folders: Sequence[str]

    def _globs(self, argument: str) -> list[str]:
        """The absolute globs a rule's argument is: one in no place is in each of the folders."""
        if argument == "~" or argument.startswith("~/"):
            return [glob_of(self.home) + argument[1:]]
        if argument.startswith(("/", "**")):
            return [argument]
        inside = argument.removeprefix("./")
        return [f"{glob_of(folder.rstrip('/'))}/{inside}" for folder in self.folders]

    def named_by(self, rule: Rule) -> Named:
        """A rule that refuses or asks names it by either path."""
        if self.paths is None:
            return Named.MAYBE
        for glob in self._globs(rule.argument or ""):
            matches = matcher(glob)
            if matches is None:
                return Named.MAYBE
            if any(map(matches, self.paths)):
                return Named.YES
        return Named.NO

    def allowed_by(self, rules: Iterable[Rule]) -> str | None:
        """Rules that approve have to name both paths, one rule the one and another the other."""
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
                if exactly and _exact(glob) is None:
                    continue
                matches = matcher(glob)
                found = {path for path in left if matches is not None and matches(path)}
                if found:
                    left, words = left - found, words or rule.text
            if not left:
                return words
        return None
