"""Where in a plugin's own code an exception came from.

A log and a row hold no stack, and an exception alone (`KeyError: 'unit'`) tells an author nothing:
the last line of the plugin's own that ran says what to look at.
"""

from pathlib import Path
from traceback import walk_tb

from ahpd.plugins.found import Found


def raised_in(error: BaseException, found: Found) -> str:
    """` (notebook.py:41)`: the last line of a plugin that `error` came through, relative to its
    folder; empty where it came through none of it, as with what cannot be compiled."""
    # What lies beside a module without a package is everybody's.
    alone = found.kind != "standalone" and "." not in found.module
    inside = found.file if alone and found.file.name != "__init__.py" else found.folder
    place = ""
    for frame, line in walk_tb(error.__traceback__):
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(inside):
            place = f" ({file.relative_to(found.folder)}:{line})"
    return place
