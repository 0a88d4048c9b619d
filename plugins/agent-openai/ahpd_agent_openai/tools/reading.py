"""`read_file`: the lines of a text file, as many as a model can do with at once."""

import io
import os
from collections.abc import Callable, Mapping
from typing import IO, Any, Final

import attrs

from ahpd_agent_openai.tools.arguments import Argument
from ahpd_agent_openai.tools.base import READS, ThreadedFileTool
from ahpd_agent_openai.tools.files import as_approved, open_to_read
from ahpd_agent_openai.tools.paths import Found
from ahpd_agent_openai.tools.text_files import SNIFFED, Encoding, NotText, encoding_of
from ahpd_agent_openai.tools.values import (
    CallContext,
    ToolOutcome,
    ToolProblem,
    text_block,
)
from ahpd_agent_openai.tools.work import Watch, watched

#: Lines read where a call does not say how many, and at most.
USUAL_LINES: Final = 2000
MOST_LINES: Final = 10_000
#: Characters of one answer, and of one line of it.
MOST_CHARACTERS: Final = 100_000
LONGEST_LINE: Final = 4000
#: Seconds a read may take.
LONGEST_READ: Final = 20.0


@attrs.frozen
class Part:
    """Some lines of a file."""

    text: str
    first: int
    last: int
    """The number of the last line of `text`; `first - 1` where there is none."""
    more: bool
    """Whether lines follow."""
    cut: int
    """How many of its lines are not there in full."""


class ReadFile(ThreadedFileTool):
    """Reads a part of a text file."""

    name = "read_file"
    title = "Read File"
    kind = "read"
    doing = "Reading"
    effects = READS
    description = (
        "Read a text file. Lines are given as they are, without numbers; a notice says which"
        " lines they are and whether more follow. Read large files in parts."
    )
    arguments = (
        Argument(
            name="path",
            kind="string",
            description="the file, absolute or relative to the workspace's first folder",
            required=True,
            longest=4096,
        ),
        Argument(
            name="start_line",
            kind="integer",
            description="the first line wanted, counted from 1",
            least=1,
        ),
        Argument(
            name="line_count",
            kind="integer",
            description=f"how many lines at most; {USUAL_LINES} where it is left out",
            least=1,
            most=MOST_LINES,
        ),
    )

    async def run(self, arguments: Mapping[str, Any], call: CallContext) -> ToolOutcome:
        """See `ITool.run`."""
        found = as_approved(self.workspace, arguments["path"], call)
        first = arguments.get("start_line", 1)
        count = arguments.get("line_count", USUAL_LINES)
        watch = Watch(self._seconds, LONGEST_READ)
        part: Part = await watched(
            self._run_blocking, watch, lambda: read_part(found, first, count, watch)
        )
        text = _with_notice(part)
        return ToolOutcome(
            text=text,
            past_tense=f"Read {self.workspace.shown(found.path)}{_lines(part)}",
            content=[text_block(text)],
        )


def read_part(found: Found, first: int, count: int, go_on: Callable[[], None]) -> Part:
    """Lines `first` and on of a file, `count` at most. Raises `ToolProblem`."""
    with os.fdopen(open_to_read(found), "rb") as raw:
        start = raw.read(SNIFFED)
        try:
            encoding = encoding_of(start, whole=len(start) < SNIFFED)
        except NotText:
            size = os.fstat(raw.fileno()).st_size
            raise ToolProblem(f"{found.shown} is no text: a binary file of {size} bytes") from None
        raw.seek(len(encoding.mark))
        return _part(raw, encoding, first, count, go_on)


def _part(
    raw: io.BufferedReader, encoding: Encoding, first: int, count: int, go_on: Callable[[], None]
) -> Part:
    stream = io.TextIOWrapper(raw, encoding=encoding.name, errors="replace", newline="\n")
    try:
        for _ in range(first - 1):
            line, _ = _next_line(stream, go_on)
            if line is None:
                return Part("", first, first - 1, more=False, cut=0)
        lines: list[str] = []
        size = cut = 0
        more = False
        while (found := _next_line(stream, go_on))[0] is not None:
            line, whole = found
            assert line is not None
            size += len(line)
            if len(lines) == count or (lines and size > MOST_CHARACTERS):
                more = True
                break
            lines.append(line)
            cut += not whole
        return Part("".join(lines), first, first + len(lines) - 1, more=more, cut=cut)
    finally:
        stream.detach()  # the descriptor is whoever's opened it


def _next_line(stream: IO[str], go_on: Callable[[], None]) -> tuple[str | None, bool]:
    """The next line, None at the end, and whether it is whole; of a long one, its start."""
    go_on()
    line = stream.readline(LONGEST_LINE)
    if not line:
        return None, True
    whole = True
    last = line
    while len(last) == LONGEST_LINE and not last.endswith("\n"):
        go_on()
        last = stream.readline(LONGEST_LINE)
        whole = whole and not last.strip("\n")
        if last.endswith("\n") or not last:
            line += "\n" if last else ""
            break
    return line.replace("\r\n", "\n"), whole


def _with_notice(part: Part) -> str:
    if part.last < part.first:
        if part.first == 1:
            return "[the file is empty]"
        return f"[the file has fewer than {part.first} lines]"
    notices = []
    if part.more:
        notices.append(
            f"lines {part.first} to {part.last}; more follow, from line {part.last + 1} on"
        )
    elif part.first > 1:
        notices.append(f"lines {part.first} to {part.last}, the last one")
    if part.cut:
        notices.append(f"{part.cut} of the lines are cut off after {LONGEST_LINE} characters")
    if not notices:
        return part.text
    gap = "" if part.text.endswith("\n") else "\n"
    return f"{part.text}{gap}[{'; '.join(notices)}]"


def _lines(part: Part) -> str:
    if part.first == 1 and not part.more:
        return ""
    return f", lines {part.first} to {max(part.last, part.first)}"
