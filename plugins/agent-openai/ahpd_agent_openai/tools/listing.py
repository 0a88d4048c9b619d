"""`list_files`: what is in a folder, or in the whole tree below it."""

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from ahpd.protocol.file_uris import shown
from ahpd_agent_openai.tools.arguments import Argument
from ahpd_agent_openai.tools.base import READS, ThreadedFileTool
from ahpd_agent_openai.tools.files import as_approved, words_for
from ahpd_agent_openai.tools.paths import Found
from ahpd_agent_openai.tools.tree.names import matches, patterns
from ahpd_agent_openai.tools.tree.walking import SKIPPED, walk
from ahpd_agent_openai.tools.values import (
    CallContext,
    ToolOutcome,
    ToolProblem,
    text_block,
)
from ahpd_agent_openai.tools.work import Watch, watched

#: Entries of one answer.
MOST_ENTRIES: Final = 1000
#: Seconds a listing may take.
LONGEST_LISTING: Final = 20.0


class ListFiles(ThreadedFileTool):
    """Lists a folder."""

    name = "list_files"
    title = "List Files"
    kind = "read"
    doing = "Listing"
    effects = READS
    description = (
        "List what is in a folder: one path a line, folders with a / behind them, links with an @."
        f" At most {MOST_ENTRIES} are given. A recursive listing does not go into"
        f" {', '.join(sorted(SKIPPED))}."
    )
    arguments = (
        Argument(
            name="path",
            kind="string",
            description="the folder; the workspace's first one where it is left out",
            longest=4096,
        ),
        Argument(
            name="recursive", kind="boolean", description="whether to list all that is below, too"
        ),
        Argument(
            name="pattern",
            kind="string",
            description="a glob of the paths wanted, `*.py` or `src/**/test_*`; implies recursive",
            longest=1000,
        ),
    )

    async def run(self, arguments: Mapping[str, Any], call: CallContext) -> ToolOutcome:
        """See `ITool.run`."""
        found = as_approved(self.workspace, arguments.get("path", "."), call)
        pattern = arguments.get("pattern")
        wanted = None if pattern is None else glob(pattern, "pattern")
        deep = arguments.get("recursive", False) or wanted is not None
        watch = Watch(self._seconds, LONGEST_LISTING)
        paths, more = await watched(
            self._run_blocking, watch, lambda: entries(found, deep, wanted, watch)
        )
        where = self.workspace.shown(found.path)
        text = "\n".join(paths) or "[nothing is there]"
        if more:
            text += f"\n[more than {MOST_ENTRIES}: narrow it down with a path or a pattern]"
        return ToolOutcome(text=text, past_tense=f"Listed {where}", content=[text_block(text)])


def glob(pattern: str, argument: str) -> list[list[str]]:
    """The patterns of a glob a model wrote. Raises `ToolProblem`."""
    try:
        return patterns(pattern)
    except ValueError as error:
        raise ToolProblem(f"`{argument}` {pattern!r}: {error}") from None


def entries(
    found: Found, deep: bool, wanted: list[list[str]] | None, go_on: Callable[[], None]
) -> tuple[list[str], bool]:
    """The lines of a listing, and whether there are more. Raises `ToolProblem`."""
    lines: list[str] = []
    try:
        for entry in walk(found.real, deep, go_on):
            if wanted is not None and not matches(wanted, entry.path):
                continue
            if len(lines) == MOST_ENTRIES:
                return lines, True
            mark = "/" if entry.is_folder else "@" if entry.is_link else ""
            lines.append(shown(entry.path) + mark)
    except NotADirectoryError:
        if os.path.lexists(found.real):
            raise ToolProblem(f"{found.shown} is no folder") from None
        raise ToolProblem(f"there is no {found.shown}") from None
    except OSError as error:
        raise ToolProblem(words_for(error, found)) from None
    return lines, False
