"""Where in a plugin's own code an exception came from, and what of it runs just now.

A log and a row hold no stack, and an exception alone (`KeyError: 'unit'`) tells an author nothing:
the last line of the plugin's own that ran says what to look at.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from traceback import walk_stack
from types import FrameType

import attrs

from ahpd.plugins.belongings import Belongings
from ahpd.plugins.found import Found
from ahpd.whose_code import Line, lines_of


@attrs.define(eq=False, repr=False)
class Owner:
    """A plugin, and what tells its modules, once that is known."""

    found: Found
    belongs: Belongings | None = None

    def __contains__(self, module: object) -> bool:
        """Whether a module of that name is the plugin's own."""
        if self.belongs is None or not isinstance(module, str):
            return False
        return self.belongs.has(module, sys.modules.get(module))


def raised_in(error: BaseException, found: Found) -> str:
    """` (notebook.py:41)`: the last line of a plugin that `error` came through, relative to its
    folder; empty where it came through none of it, as with what cannot be compiled."""
    return last_in(lines_of(error), found)


def last_in(lines: Iterable[Line], found: Found) -> str:
    """` (notebook.py:41)`: the last of `lines` that is a plugin's; empty where none is."""
    place = ""
    for _, file, number in lines:
        place = _place(file, number, found) or place
    return f" ({place})" if place else ""


def running_in(frame: FrameType, plugins: Iterable[Owner]) -> tuple[Owner, str] | None:
    """Whose code `frame` is in, or was called from last, and the line: `notebook.py:41`.

    The frame may be another thread's. None for nobody's of `plugins`.
    """
    for caller, line in walk_stack(frame):
        for owner in plugins:
            if place := _running_at(caller, line, owner):
                return owner, place
    return None


def _running_at(frame: FrameType, line: int, owner: Owner) -> str:
    """The line, where it is one of a plugin's files or of its modules wherever they are."""
    found, file = owner.found, Path(frame.f_code.co_filename)
    if place := _place(str(file), line, found):
        return place
    if frame.f_globals.get("__name__") not in owner:
        return ""
    inside = file.is_relative_to(found.root)
    return f"{file.relative_to(found.root) if inside else file.name}:{line}"


def inside_of(found: Found) -> Path:
    """What a plugin's own code lies in: its folder, or its one file."""
    # What lies beside a module without a package is everybody's.
    alone = found.kind != "standalone" and "." not in found.module
    return found.file if alone and found.file.name != "__init__.py" else found.folder


def _place(file: str, line: int, found: Found) -> str:
    path = Path(file)
    return (
        f"{path.relative_to(found.folder)}:{line}" if path.is_relative_to(inside_of(found)) else ""
    )
