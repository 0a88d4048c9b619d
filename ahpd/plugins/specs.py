"""What a plugin's `source` names, told by how it is written.

Source: PLUGINS.txt, "Where a spec is resolved".
"""

import os
import re
from pathlib import Path
from typing import Final, Literal

import attrs

from ahpd.plugins.manifest_files import NAMES
from ahpd.plugins.skipped import Skipped

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_SEPARATORS: Final = re.compile(r"[-_.]+")


@attrs.frozen
class Spec:
    """A source: an installed distribution (or one of its plugins) by name, or a path."""

    text: str
    kind: Literal["name", "path"]


def spec_of(source: str) -> Spec:
    """What `source` is. Raises `Skipped` where it can be neither a name nor a path."""
    if is_path(source):
        return Spec(source, "path")
    if _NAME.fullmatch(source):
        return Spec(source, "name")
    if _SCHEME.match(source) or " @ " in source:
        why = "is an address; `ahpd plugin install` installs it and names what it installed"
    elif re.match(_NAME.pattern + r"\s*[\[<>=!~;@(]", source):
        why = "says a version or extras; a plugin is named by its distribution alone"
    else:
        why = "is neither the name of a distribution nor a path"
    raise Skipped(f"the source {source!r} {why}", source)


def is_path(source: str) -> bool:
    """Whether `source` is written as a path: with a slash, a dot before it, or a file's ending."""
    if _SCHEME.match(source) or " @ " in source:
        return False
    return "/" in source or source in {".", "..", "~"} or source.endswith(".py") or source in NAMES


def normalized(name: str) -> str:
    """The name of a distribution as an index compares it."""
    return _SEPARATORS.sub("-", name).lower()


def places_of(source: str, working_directory: Path, config_dir: Path) -> list[Path]:
    """Where a path is looked for, in order: the working directory, then the configuration's."""
    path = Path(source).expanduser()
    places = [path] if path.is_absolute() else [working_directory / path, config_dir / path]
    # Without `.` and `..`, for words; pathlib alone would go through links on the way.
    return list(dict.fromkeys(Path(os.path.normpath(place)) for place in places))
