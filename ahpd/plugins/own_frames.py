"""Where in a plugin's own code an exception came from, and what of it runs just now.

A log and a row hold no stack, and an exception alone (`KeyError: 'unit'`) tells an author nothing:
the last line of the plugin's own that ran says what to look at.
"""

from collections.abc import Iterable
from pathlib import Path
from traceback import walk_stack
from types import FrameType

from ahpd.plugins.found import Found
from ahpd.whose_code import Line, lines_of


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


def running_in(frame: FrameType, plugins: Iterable[Found]) -> tuple[Found, str] | None:
    """Whose code `frame` is in, or was called from last, and the line: `notebook.py:41`.

    The frame may be another thread's. None for nobody's of `plugins`.
    """
    for caller, line in walk_stack(frame):
        for found in plugins:
            if place := _place(caller.f_code.co_filename, line, found):
                return found, place
    return None


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
