"""Whose code failed, or waits: the one line that is named of a stack.

A stack goes into no log and to no client. What is raised is raised deep in a library or in this
program, and the mistake is mostly where a plugin called it: so the line that is named is the last
one of a plugin. Where none is known to be a plugin's it is the last that is neither this program's
nor came with its interpreter, and else the last of all.

Which folders are plugins' is known for the whole process, as its modules are.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from traceback import walk_tb
from typing import Any, Final

#: A function, its file and the number of a line, and whatever else a frame says.
Line = Sequence[Any]

#: This program's own code.
_OURS: Final = Path(__file__).parent
#: The plugins whose code lies in a folder, or is one file; each with the folder lines are told in.
_THEIRS: Final[dict[Path, list[tuple[str, Path]]]] = {}


def own(inside: Path, plugin: str, folder: Path) -> None:
    """What lies in `inside`, a folder or a file, is code of `plugin`, which is in `folder`."""
    _THEIRS.setdefault(inside, []).append((plugin, folder))


def disown(inside: Path, plugin: str, folder: Path) -> None:
    """It is not any more. Once for each `own`; again is no error."""
    held = _THEIRS.get(inside, [])
    if (plugin, folder) in held:
        held.remove((plugin, folder))
    if not held:
        _THEIRS.pop(inside, None)


def lines_of(error: BaseException) -> Sequence[Line]:
    """The lines an exception came through; none of one that was never raised."""
    return [
        (frame.f_code.co_name, frame.f_code.co_filename, line)
        for frame, line in walk_tb(error.__traceback__)
    ]


def place_words(lines: Iterable[Line]) -> str:
    """` (in heard, notebook.py:61 of the plugin notes)`: the line to look at; empty of none."""
    lines = list(lines)
    if not lines:
        return ""
    known = [line for line in lines if _owners(line[1])]
    others = [line for line in lines if not _installed(line[1])]
    function, file, number = (known or others or lines)[-1][:3]
    owners = _owners(file)
    place = Path(file).relative_to(owners[0][1]) if owners else Path(file).name
    # What several plugins share is said to be none's.
    plugins = {plugin for plugin, _ in owners}
    whose = f" of the plugin {owners[0][0]}" if len(plugins) == 1 else ""
    return f" (in {function}, {place}:{number}{whose})"


def _owners(file: str) -> Sequence[tuple[str, Path]]:
    path = Path(file)
    return next((_THEIRS[each] for each in (path, *path.parents) if each in _THEIRS), ())


def _installed(file: str) -> bool:
    """Whether a file is this program's, or came with the interpreter or its environment."""
    return file.startswith("<") or any(Path(file).is_relative_to(place) for place in _places())


def _places() -> Iterator[Path | str]:
    yield from (_OURS, sys.prefix, sys.base_prefix)
    if _OURS.parent.name in ("site-packages", "dist-packages"):  # installed for one user alone
        yield _OURS.parent
