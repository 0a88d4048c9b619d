"""`search_files`: the lines of a tree that match, found in a process of its own.

Why a process and not a thread: a pattern comes from a model, and one that backtracks without
end holds Python's interpreter lock while it matches; nothing can interrupt it. A child can
be killed, and is, when its time is up or nobody waits any more. It is Python's own search
on every machine: that a faster program is installed somewhere would make patterns mean
something else there.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from ahpd.wire.lines import LineReader, LineTooLong
from ahpd_agent_openai.tools.arguments import Argument
from ahpd_agent_openai.tools.base import READS, FileTool, clipped
from ahpd_agent_openai.tools.children import run_child
from ahpd_agent_openai.tools.files import as_approved
from ahpd_agent_openai.tools.listing import glob
from ahpd_agent_openai.tools.paths import Workspace
from ahpd_agent_openai.tools.values import (
    CallContext,
    Described,
    ToolOutcome,
    ToolProblem,
    text_block,
)

#: Matches of one answer, and bytes of it.
MOST_MATCHES: Final = 200
LONGEST_ANSWER: Final = 60_000
#: Seconds a search may take.
LONGEST_SEARCH: Final = 20.0

#: Where the package `tree` is, which the child imports and nothing else of ours.
_HOME: Final = str(Path(__file__).parent)
_PROGRAM: Final = (
    "import sys; sys.path.append(sys.argv[1]); from tree.searching import main; main()"
)
_LONGEST_LINE: Final = 64 * 1024


@attrs.define
class _Matches:
    """What the child told so far."""

    lines: list[str] = attrs.field(factory=list)
    size: int = 0
    full: bool = False
    last: dict[str, Any] = attrs.field(factory=dict)
    _reader: LineReader = attrs.field(factory=lambda: LineReader(_LONGEST_LINE))

    def received(self, data: bytes) -> None:
        """A piece of what the child printed."""
        for line in self._reader.feed(data):
            if isinstance(line, LineTooLong):
                continue
            told = json.loads(line)
            if "path" not in told:
                self.last = told
                continue
            self._take(told)

    def _take(self, told: Mapping[str, Any]) -> None:
        where = f"{told['path']}:" if told["path"] else ""
        line = f"{where}{told['line']}: {told['text']}"
        self.size += len(line) + 1
        if self.size > LONGEST_ANSWER:
            self.full = True
        if not self.full:
            self.lines.append(line)


class SearchFiles(FileTool):
    """Searches files."""

    name = "search_files"
    title = "Search Files"
    kind = "read"
    effects = READS
    description = (
        "Search the text files below a folder, or one file, line by line. Each match is told as"
        " path:line: text. The pattern is a regular expression as Python reads it, or plain text"
        f" with `literal`. At most {MOST_MATCHES} matches are given; binary files, links and"
        " folders such as .git and node_modules are left out."
    )
    arguments = (
        Argument(
            name="pattern",
            kind="string",
            description="what to look for",
            required=True,
            longest=2000,
        ),
        Argument(
            name="path",
            kind="string",
            description="a folder or a file; the workspace's first folder where it is left out",
            longest=4096,
        ),
        Argument(name="literal", kind="boolean", description="whether the pattern is plain text"),
        Argument(
            name="ignore_case", kind="boolean", description="whether case makes no difference"
        ),
        Argument(
            name="include",
            kind="string",
            description="a glob of the files to look through, `*.py` or `src/**`",
            longest=1000,
        ),
    )

    def __init__(self, workspace: Workspace, reactor: Any, supervisor: Any) -> None:
        super().__init__(workspace)
        self._reactor = reactor
        self._supervisor = supervisor

    def described(self, arguments: Mapping[str, Any]) -> Described:
        """See `ITool.described`."""
        found = self.found(arguments)
        what, where = clipped(arguments["pattern"], 80), self.workspace.shown(found.path)
        return self.about(f"Searching {where} for {what}", arguments, found)

    async def run(self, arguments: Mapping[str, Any], call: CallContext) -> ToolOutcome:
        """See `ITool.run`."""
        found = as_approved(self.workspace, arguments.get("path", "."), call)
        include = arguments.get("include")
        if include is not None:
            glob(include, "include")
        request = {
            "root": os.fsencode(found.real).hex(),
            "pattern": arguments["pattern"],
            "literal": arguments.get("literal", False),
            "ignore_case": arguments.get("ignore_case", False),
            "glob": include,
            "most": MOST_MATCHES,
        }
        matches = _Matches()
        ended = await run_child(
            self._reactor,
            self._supervisor,
            # Alone: no package of a person's, no module of the folder it is in.
            [sys.executable, "-I", "-S", "-B", "-c", _PROGRAM, _HOME],
            given=json.dumps(request).encode(),
            received=matches.received,
            seconds=LONGEST_SEARCH,
            cwd="/",
            name="search_files",
        )
        if "problem" in matches.last:
            raise ToolProblem(f"`pattern` {arguments['pattern']!r}: {matches.last['problem']}")
        if "unreachable" in matches.last:
            raise ToolProblem(f"{found.shown} cannot be searched: {matches.last['unreachable']}")
        notices = _notices(matches, ended.in_time, ended.words)
        text = "\n".join([*(matches.lines or ["[no match]"]), *notices])
        count = len(matches.lines)
        what = f"{count} match{'' if count == 1 else 'es'}"
        where = self.workspace.shown(found.path)
        return ToolOutcome(
            text=text,
            past_tense=f"Searched {where} for {clipped(arguments['pattern'], 80)}: {what}",
            success=bool(matches.last) or bool(count),
            content=[text_block(text)],
        )


def _notices(matches: _Matches, in_time: bool, how: str) -> list[str]:
    notices = []
    if not in_time:
        notices.append(
            f"[the search was ended after {LONGEST_SEARCH:g} s and is not complete: use a"
            " simpler pattern, plain text with `literal`, or a narrower path]"
        )
    elif not matches.last:
        notices.append(f"[the search is not complete: its program {how}]")
    if matches.full or matches.last.get("more"):
        notices.append("[there are more matches: narrow the search down]")
    if matches.last.get("left_out"):
        notices.append(f"[{matches.last['left_out']} files are too large and were left out]")
    return notices
