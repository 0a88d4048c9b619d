"""Diffs an agent reports, as edits of files: which file, and how many lines moved.

An ACP diff is `{"path", "oldText", "newText"}`; without an old text the agent made the
file. Most agents say an empty one there, and some add in `_meta.kind` which it is: `add`,
`modify` or `delete`. A host that keeps no sides of its own names the file as it is. Source:
PLUGINS.txt, "What the server may ask the host for".
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ahpd.protocol import State
from ahpd.protocol.file_uris import file_uri, path_of
from ahpd_agent_acp.content import object_in, text_in

#: Lines of a change that are shown to somebody who is asked about it.
_MOST_SHOWN: Final = 200
#: Lines around it.
_AROUND: Final = 3


def absolute(path: str, directory: str) -> str:
    """The path an agent named, a relative one from its session's folder; `file:` URIs too."""
    named = path_of(path) if path.startswith("file:") else None
    path = path if named is None else named
    return path if path.startswith("/") else f"{directory.rstrip('/')}/{path}"


def file_edit(diff: Mapping[str, Any], directory: str) -> State | None:
    """The edit (schema: ToolResultFileEditContent); None for what is no diff."""
    path, old, new = diff.get("path"), diff.get("oldText"), diff.get("newText")
    if not isinstance(path, str) or not path or not isinstance(new, str):
        return None
    uri = file_uri(absolute(path, directory))
    side = {"uri": uri, "content": {"uri": uri}}
    edit: State = {"type": "fileEdit"}
    if not _made(diff):
        edit["before"] = side
    if text_in(object_in(diff, "_meta"), "kind") != "delete":
        edit["after"] = side
    edit["diff"] = counted(old if isinstance(old, str) else "", new)
    return edit


def _made(diff: Mapping[str, Any]) -> bool:
    """Whether a diff is of a file the agent made."""
    said = text_in(object_in(diff, "_meta"), "kind")
    return not isinstance(diff.get("oldText"), str) or (
        not diff["oldText"] and said in (None, "add")
    )


def counted(old: str, new: str) -> State:
    """How many lines each side has that the other lacks (schema: FileEditDiffStats).

    A line that only moved counts for nothing, and the cost is that of reading both once.
    """
    before, after = Counter(old.splitlines()), Counter(new.splitlines())
    return {"added": (after - before).total(), "removed": (before - after).total()}


def shown(diff: Mapping[str, Any]) -> str:
    """A diff as text for somebody who is to allow it: what goes, what comes, three lines around.

    Everything between the first line that differs and the last is shown as changed.
    """
    path, old, new = diff.get("path"), diff.get("oldText"), diff.get("newText")
    before = old.splitlines() if isinstance(old, str) else []
    after = new.splitlines() if isinstance(new, str) else []
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    gone, come = before[start : len(before) - end], after[start : len(after) - end]
    head = before[max(0, start - _AROUND) : start]
    tail = after[len(after) - end :][:_AROUND]
    lines = [f" {line}" for line in head]
    lines += _cut([f"-{line}" for line in gone]) + _cut([f"+{line}" for line in come])
    lines += [f" {line}" for line in tail]
    title = f"{path} (new file)" if _made(diff) else str(path)
    return "\n".join([title, *lines])


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines both begin with."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _cut(lines: list[str]) -> list[str]:
    if len(lines) <= _MOST_SHOWN:
        return lines
    more = len(lines) - _MOST_SHOWN
    return [*lines[:_MOST_SHOWN], f"{lines[0][0]} … {more} more lines"]
