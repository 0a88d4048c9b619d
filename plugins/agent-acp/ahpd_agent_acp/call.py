"""One tool call: what the agent reported of it by now, and what was said of it.

An ACP update of a call changes the fields it names and replaces them whole. AHP says a call
in steps - start, ready, content, complete - each once, so both are kept side by side.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final

import attrs

from ahpd.protocol import State
from ahpd_agent_acp.content import object_in, result_of, text_in
from ahpd_agent_acp.diffs import file_edit, shown
from ahpd_agent_acp.inputs import input_text, output_text
from ahpd_agent_acp.tool_names import NamedTool

#: The terminal content (schema: ToolResultTerminalContent) of a terminal an agent opened through
#: this host, by the id it was given; None for one it was not given. `final` asks for what the
#: command came to as well.
ShownTerminal = Callable[[str, bool], State | None]


def no_terminals(terminal_id: str, final: bool) -> State | None:
    """For an agent that opened none."""
    return None


#: What a client draws a call by (AHP.txt, `chat/toolCallStart`), by its ACP kind.
_TOOL_KINDS: Final = {"execute": "terminal", "read": "read", "search": "search"}


class Stage(Enum):
    """Where a call is in what was said of it."""

    STREAMING = "streaming"
    """It was started, and does not run."""
    ASKING = "asking"
    """A person is asked whether it may run."""
    WITHDRAWN = "withdrawn"
    """It was asked about in vain, and nobody is asked any more: it does not run."""
    REFUSED = "refused"
    """The host's rules refused it, which was said to nobody: its end alone is said."""
    RUNNING = "running"
    OVER = "over"
    """It has its end, or was not allowed: nothing more is said."""


@attrs.define(eq=False)
class Call:
    """A call of one turn."""

    id: str
    """As AHP knows it."""
    tool: NamedTool
    stage: Stage = Stage.STREAMING
    confirmed: str | None = None
    """How it came to be allowed, where it was asked about (schema: ToolCallConfirmationReason)."""
    held: str | None = None
    """The status it ended with while somebody was asked about it."""
    claimed: bool = False
    """A client's call that came through the endpoint: its client says its end."""
    wanted: bool = False
    """A client's call that the agent started, and whose input is not known yet."""

    # -- as the agent reported it -----------------------------------------------------
    title: str = ""
    kind: str | None = None
    raw_input: Any = None
    raw_output: Any = None
    content: Sequence[Any] = ()
    paths: Sequence[str] = ()
    allowed: Sequence[Mapping[str, Any]] = ()
    """The diffs a person was shown when they allowed it."""

    # -- as it was said -----------------------------------------------------------------
    said_title: str | None = None
    said_input: str | None = None
    said_kind: str | None = None
    said_content: list[State] = attrs.field(factory=list)
    _converted: Sequence[Any] | None = ()

    def take(self, update: Mapping[str, Any]) -> None:
        """Keep what an update names; a field of another type than its own counts for nothing."""
        self.title = text_in(update, "title") or self.title
        self.kind = text_in(update, "kind") or self.kind
        if update.get("rawInput") is not None:
            self.raw_input = update["rawInput"]
        if update.get("rawOutput") is not None:
            self.raw_output = update["rawOutput"]
        content = update.get("content")
        if isinstance(content, list):
            self.content = content
        locations = update.get("locations")
        if isinstance(locations, list):
            self.paths = [
                each["path"]
                for each in locations
                if isinstance(each, Mapping) and text_in(each, "path")
            ]

    def again(self, identifier: str) -> "Call":
        """A new call of the same tool, for one that is asked about after it was over."""
        return Call(
            identifier,
            self.tool,
            title=self.title,
            kind=self.kind,
            raw_input=self.raw_input,
            paths=self.paths,
        )

    @property
    def words(self) -> str:
        """What it does, for people."""
        return self.title or self.tool.display or self.tool.name

    @property
    def tool_kind(self) -> str | None:
        """See `_TOOL_KINDS`; None where clients have no way of their own to draw it."""
        return None if self.tool.of_a_server else _TOOL_KINDS.get(self.kind or "")

    @property
    def diffs(self) -> list[Mapping[str, Any]]:
        """The diffs among its content."""
        return [
            each
            for each in self.content
            if isinstance(each, Mapping) and each.get("type") == "diff"
        ]

    def read_shown_input(self) -> None:
        """Take what is shown for the arguments of a server's tool, where no input was named.

        Some agents put them before a person in words alone. Whoever runs the call needs them
        by the time it is allowed, and a client runs it then.
        """
        if self.raw_input is None and (self.tool.client is not None or self.tool.of_a_server):
            self.raw_input = _arguments_in(self.content)

    def input(self) -> str | None:
        """Its input as a call shows it."""
        return input_text(self.raw_input, self.kind)

    def asked_input(self) -> str | None:
        """The same for somebody who is asked: where the agent gave none, what it would change."""
        found = self.input()
        if found is None and self.diffs:
            return "\n\n".join(shown(diff) for diff in self.diffs)
        return found

    def unsay_content(self) -> None:
        """What was said of its content is gone: a readiness takes it away."""
        self.said_content, self._converted = [], None

    def converted(self, directory: str, terminals: ShownTerminal) -> list[State] | None:
        """Its content (schema: ToolResultContent); None where it is what was said already.

        Agents send the whole content with every update, so it is looked at before it is
        converted.
        """
        if self.content == self._converted:
            return None
        self._converted = self.content
        found = self._content(directory, terminals, final=False)
        if found == self.said_content:
            return None
        self.said_content = found
        return found

    def result(self, directory: str, terminals: ShownTerminal, success: bool) -> State:
        """What it came to (schema: ToolCallResult).

        An agent that showed a diff when it asked, and reports none in the end, made that edit.
        """
        content = self._content(directory, terminals, final=True)
        if success and not self.diffs:
            edits = (file_edit(diff, directory) for diff in self.allowed)
            content += [edit for edit in edits if edit is not None]
        if not content:
            text = output_text(self.raw_output)
            content = [{"type": "text", "text": text}] if text is not None else []
        result: State = {"success": success, "pastTenseMessage": self.words}
        if content:
            result["content"] = content
        if not success:
            said = next((each["text"] for each in content if each["type"] == "text"), None)
            result["error"] = {"message": said or f"{self.words} failed"}
        return result

    def _content(self, directory: str, terminals: ShownTerminal, final: bool) -> list[State]:
        found = (_item(each, directory, terminals, final) for each in self.content)
        return [item for item in found if item is not None]


def _arguments_in(content: Sequence[Any]) -> State | None:
    """The JSON object that a call's content is the text of; None for any other content."""
    if len(content) != 1 or not isinstance(content[0], Mapping):
        return None
    try:
        found = json.loads(text_in(object_in(content[0], "content"), "text") or "")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _item(item: Any, directory: str, terminals: ShownTerminal, final: bool) -> State | None:
    """One item of a call's content (ACP: ToolCallContent); None for what cannot be shown."""
    if not isinstance(item, Mapping):
        return None
    kind = item.get("type")
    if kind == "content":
        return result_of(object_in(item, "content"))
    if kind == "diff":
        return file_edit(item, directory)
    if kind == "terminal":
        terminal_id = text_in(item, "terminalId")
        return None if terminal_id is None else terminals(terminal_id, final)
    return None
