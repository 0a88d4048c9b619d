"""Where in a plugin's own code an exception came from, and what of it runs just now.

A log and a row hold no stack, and an exception alone (`KeyError: 'unit'`) tells an author nothing:
the last line of the plugin's own that ran says what to look at.
"""

from collections.abc import Iterable
from pathlib import Path
from traceback import walk_stack, walk_tb
from types import FrameType

from ahpd.plugins.found import Found


def raised_in(error: BaseException, found: Found) -> str:
    """` (notebook.py:41)`: the last line of a plugin that `error` came through, relative to its
    folder; empty where it came through none of it, as with what cannot be compiled."""
    place = ""
    for frame, line in walk_tb(error.__traceback__):
        place = _place(frame, line, found) or place
    return f" ({place})" if place else ""


def running_in(frame: FrameType, plugins: Iterable[Found]) -> tuple[Found, str] | None:
    """Whose code `frame` is in, or was called from last, and the line: `notebook.py:41`.

    The frame may be another thread's. None for nobody's of `plugins`.
    """
    for caller, line in walk_stack(frame):
        for found in plugins:
            if place := _place(caller, line, found):
                return found, place
    return None


def _place(frame: FrameType, line: int, found: Found) -> str:
    # What lies beside a module without a package is everybody's.
    alone = found.kind != "standalone" and "." not in found.module
    inside = found.file if alone and found.file.name != "__init__.py" else found.folder
    file = Path(frame.f_code.co_filename)
    return f"{file.relative_to(found.folder)}:{line}" if file.is_relative_to(inside) else ""
