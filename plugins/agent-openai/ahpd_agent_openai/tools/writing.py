"""`write_file` and `edit_file`."""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ahpd.interfaces import ToolEffects
from ahpd.protocol import State
from ahpd.protocol.file_uris import file_uri
from ahpd_agent_openai.tools.arguments import Argument
from ahpd_agent_openai.tools.base import FileTool
from ahpd_agent_openai.tools.files import LARGEST_EDITED, Files, as_approved
from ahpd_agent_openai.tools.paths import Found, Workspace
from ahpd_agent_openai.tools.replacing import lines_changed, replaced
from ahpd_agent_openai.tools.text_files import Encoding, NotText, decoded
from ahpd_agent_openai.tools.values import CallContext, Described, ToolOutcome, ToolProblem

#: Characters a model may write at once.
LONGEST_CONTENT: Final = 2_000_000

_PATH: Final = Argument(
    name="path",
    kind="string",
    description="the file, absolute or relative to the workspace's first folder",
    required=True,
    longest=4096,
)


@attrs.define
class _Edit:
    """What a write came to; filled in while it is done."""

    size: int = 0
    count: int = 0
    created: bool = False
    added: int | None = None
    removed: int | None = None

    def block(self, found: Found) -> State:
        """Schema: ToolResultFileEditContent."""
        uri = file_uri(found.real)
        block: State = {
            "type": "fileEdit",
            "after": {"uri": uri, "content": {"uri": uri, "sizeHint": self.size}},
        }
        if self.added is not None and self.removed is not None:
            block["diff"] = {"added": self.added, "removed": self.removed}
        return block

    def lines(self) -> str:
        """How many lines, in words for the model; nothing where nobody counted."""
        if self.added is None or self.removed is None:
            return ""
        return f" ({self.added} lines added, {self.removed} removed)"


class _WritingTool(FileTool):
    kind = "write"
    effects = ToolEffects(reads=True, writes=True, destructive=True)

    def __init__(self, workspace: Workspace, files: Files) -> None:
        super().__init__(workspace)
        self._files = files


class WriteFile(_WritingTool):
    """Writes a whole file."""

    name = "write_file"
    title = "Write File"
    description = (
        "Write a whole text file, in UTF-8: a new one, with the folders it needs, or in place of"
        " what is there. To change a part of a file use edit_file."
    )
    arguments = (
        _PATH,
        Argument(
            name="content",
            kind="string",
            description="all the file is to hold",
            required=True,
            longest=LONGEST_CONTENT,
            empty=True,
        ),
    )

    def described(self, arguments: Mapping[str, Any]) -> Described:
        """See `ITool.described`."""
        found = self.found(arguments)
        return self.about(f"Writing {self.workspace.shown(found.path)}", arguments, found)

    async def run(self, arguments: Mapping[str, Any], call: CallContext) -> ToolOutcome:
        """See `ITool.run`."""
        found = as_approved(self.workspace, arguments["path"], call)
        content: str = arguments["content"]
        edit = _Edit()

        def change(old: bytes | None, is_there: bool) -> bytes:
            data = content.encode()
            edit.size, edit.created = len(data), not is_there
            before = "" if not is_there else None if old is None else _as_text(old)
            edit.added, edit.removed = (
                (None, None) if before is None else lines_changed(before, content)
            )
            return data

        await self._files.write(found, change, make=True)
        where = self.workspace.shown(found.path)
        verb = "Created" if edit.created else "Wrote"
        return ToolOutcome(
            text=f"{verb} {found.shown}, {edit.size} bytes{edit.lines()}.",
            past_tense=f"{verb} {where}",
            content=[edit.block(found)],
        )


class EditFile(_WritingTool):
    """Replaces a piece of a file."""

    name = "edit_file"
    title = "Edit File"
    description = (
        "Replace a piece of a text file by another. `old_text` must be in the file exactly as it"
        " is written there, spaces and all, and once; with `replace_all` every occurrence is"
        " replaced. The file keeps its encoding and its line ends."
    )
    arguments = (
        _PATH,
        Argument(
            name="old_text",
            kind="string",
            description="the piece that is replaced",
            required=True,
            longest=LONGEST_CONTENT,
        ),
        Argument(
            name="new_text",
            kind="string",
            description="what takes its place; empty removes it",
            required=True,
            longest=LONGEST_CONTENT,
            empty=True,
        ),
        Argument(
            name="replace_all", kind="boolean", description="whether to replace every occurrence"
        ),
    )

    def described(self, arguments: Mapping[str, Any]) -> Described:
        """See `ITool.described`."""
        found = self.found(arguments)
        return self.about(f"Editing {self.workspace.shown(found.path)}", arguments, found)

    async def run(self, arguments: Mapping[str, Any], call: CallContext) -> ToolOutcome:
        """See `ITool.run`."""
        found = as_approved(self.workspace, arguments["path"], call)
        everywhere = arguments.get("replace_all", False)
        edit = _Edit()

        def change(old: bytes | None, is_there: bool) -> bytes:
            before, encoding = _to_edit(found, old, is_there)
            after = replaced(
                before, arguments["old_text"], arguments["new_text"], everywhere=everywhere
            )
            data = encoding.encoded(after.text)
            edit.size, edit.count = len(data), after.count
            edit.added, edit.removed = lines_changed(before, after.text)
            return data

        await self._files.write(found, change, make=False)
        where = self.workspace.shown(found.path)
        often = "" if edit.count == 1 else f" in {edit.count} places"
        return ToolOutcome(
            text=f"Edited {found.shown}{often}{edit.lines()}.",
            past_tense=f"Edited {where}",
            content=[edit.block(found)],
        )


def _to_edit(found: Found, old: bytes | None, is_there: bool) -> tuple[str, Encoding]:
    """The text to edit and its encoding. Raises `ToolProblem`."""
    if not is_there:
        raise ToolProblem(f"there is no {found.shown}: write it with write_file")
    if old is None:
        raise ToolProblem(
            f"{found.shown} has more than the {LARGEST_EDITED} bytes a file may have that is edited"
        )
    try:
        return decoded(old)
    except NotText:
        raise ToolProblem(f"{found.shown} is no text, and cannot be edited as such") from None


def _as_text(data: bytes) -> str | None:
    try:
        return decoded(data)[0]
    except NotText:
        return None
