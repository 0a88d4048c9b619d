"""Looking through a tree for lines that match: what runs in a process of its own.

It reads one JSON request from its input and prints one JSON line for each match, then one
that says how it went. Python's expressions hold the interpreter while they match and cannot
be interrupted, so a pattern that runs away takes this process, which is killed, and nobody
else (`search.py` is the host's side).
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

from .names import matches, patterns
from .walking import open_folder, open_in, walk

#: Bytes of a file that is looked through, and of a line: a longer one is looked through so far.
LARGEST_FILE = 8 * 1024 * 1024
LONGEST_LINE = 4000
#: Characters of a line that are told.
TOLD = 500


class Expression:
    """What is looked for."""

    def __init__(self, request: "dict[str, Any]") -> None:
        """Raises `re.error`."""
        pattern = re.escape(request["pattern"]) if request["literal"] else request["pattern"]
        self._compiled = re.compile(pattern, re.IGNORECASE if request["ignore_case"] else 0)

    def lines(self, data: bytes) -> "Iterator[tuple[int, str]]":
        """The lines that match, by number."""
        for number, line in enumerate(data.split(b"\n"), 1):
            text = line[:LONGEST_LINE].rstrip(b"\r").decode("utf-8", "replace")
            if self._compiled.search(text) is not None:
                yield number, text[:TOLD] + ("…" if len(text) > TOLD else "")


def files(root: str, globs: "list[list[str]] | None") -> "Iterator[tuple[str, int | None]]":
    """Every file to look through: its path below the root and a descriptor of it.

    The root may be a file itself, whose path is "". None stands for one that cannot be read.
    """
    parent, _, name = root.rpartition("/")
    if name:
        folder = open_folder(parent)
        try:
            file = _opened(folder, name)
        finally:
            os.close(folder)
        if file is not None:
            yield "", file
            return
    for entry in walk(root, True, lambda: None):
        if entry.is_folder or entry.is_link:
            continue
        if globs is None or matches(globs, entry.path):
            yield entry.path, _opened(entry.folder, entry.name)


def _opened(folder: int, name: str) -> "int | None":
    try:
        return open_in(folder, name)
    except OSError:
        return None


def search(request: "dict[str, Any]") -> "Iterator[dict[str, Any]]":
    """What is told, a value at a time; the last one has `done`."""
    wanted = Expression(request)
    globs = None if request["glob"] is None else patterns(request["glob"])
    found = looked = left_out = 0
    for path, file in files(request["root"], globs):
        if file is None:
            continue
        with os.fdopen(file, "rb") as stream:
            data = stream.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            left_out += 1
            continue
        if b"\0" in data[:8192]:
            continue
        looked += 1
        for number, line in wanted.lines(data):
            if found == request["most"]:
                yield {"done": True, "more": True, "looked": looked, "left_out": left_out}
                return
            found += 1
            yield {
                "path": os.fsencode(path).decode("utf-8", "replace"),
                "line": number,
                "text": line,
            }
    yield {"done": True, "more": False, "looked": looked, "left_out": left_out}


def tell(value: "dict[str, Any]") -> None:
    """One line of the answer."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def main() -> None:
    """One request, answered."""
    request = json.loads(sys.stdin.buffer.read())
    request["root"] = os.fsdecode(bytes.fromhex(request["root"]))
    try:
        for value in search(request):
            tell(value)
    except re.error as error:
        tell({"problem": f"it is no regular expression: {error}"})
    except RecursionError:
        tell({"problem": "it is nested too deeply"})
    except OSError as error:
        tell({"unreachable": error.strerror or str(error)})
