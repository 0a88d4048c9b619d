"""What the tools have in common: how one is offered, checked and described."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from ahpd.interfaces import Permission, ToolEffects
from ahpd.protocol import State
from ahpd_agent_openai.tools.arguments import Argument, checked, parameters
from ahpd_agent_openai.tools.paths import Found, Workspace
from ahpd_agent_openai.tools.values import CallContext, Described, ToolOutcome

#: Characters of a call's input that clients are shown.
LONGEST_INPUT: Final = 20_000

#: A tool that reads files and does nothing else.
READS: Final = ToolEffects(reads=True)


class Tool:
    """One tool; a subclass says what it is, describes its calls and runs them (`ITool`)."""

    name: ClassVar[str]
    title: ClassVar[str]
    kind: ClassVar[str]
    effects: ClassVar[ToolEffects]
    description: ClassVar[str]
    arguments: ClassVar[Sequence[Argument]]
    meta: ClassVar[Mapping[str, Any]] = {}

    def definition(self) -> State:
        """See `ITool.definition`."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": parameters(self.arguments),
            },
        }

    def checked(self, arguments: Any) -> dict[str, Any]:
        """See `ITool.checked`."""
        return checked(self.name, self.arguments, arguments)

    def described(self, arguments: Mapping[str, Any]) -> Described:
        """See `ITool.described`."""
        raise NotImplementedError

    async def run(self, arguments: Mapping[str, Any], call: CallContext) -> ToolOutcome:
        """See `ITool.run`."""
        raise NotImplementedError

    def _described(
        self, words: str, arguments: Mapping[str, Any], permission: Permission, **more: Any
    ) -> Described:
        return Described(
            display_name=self.title,
            invocation_message=words,
            permission=permission,
            effects=self.effects,
            meta=self.meta,
            **{"tool_input": shown_input(arguments), **more},
        )


class FileTool(Tool):
    """A tool that reads or writes what its `path` names."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def found(self, arguments: Mapping[str, Any]) -> Found:
        """What `path` means; the first folder where it is left out. Raises `ToolProblem`."""
        return self.workspace.find(arguments.get("path", "."))

    def about(self, words: str, arguments: Mapping[str, Any], found: Found) -> Described:
        """A call that does something to what was found."""
        return self._described(
            words,
            arguments,
            Permission(kind=self.kind, path=found.path),
            inside=found.inside,
            target=found.real,
        )


class ThreadedFileTool(FileTool):
    """A tool about one file or folder, whose work is done in a thread and given up in time.

    `run_blocking` does the work, and `seconds` is the clock that it is given up by.
    """

    doing: ClassVar[str]
    """What it does to the path, ahead of its name: `Reading`."""

    def __init__(
        self,
        workspace: Workspace,
        run_blocking: Callable[..., Awaitable[Any]],
        seconds: Callable[[], float],
    ) -> None:
        super().__init__(workspace)
        self._run_blocking = run_blocking
        self._seconds = seconds

    def described(self, arguments: Mapping[str, Any]) -> Described:
        """See `ITool.described`."""
        found = self.found(arguments)
        return self.about(f"{self.doing} {self.workspace.shown(found.path)}", arguments, found)


def shown_input(arguments: Mapping[str, Any]) -> str:
    """Arguments as clients are shown them."""
    text = json.dumps(dict(arguments), indent=2, ensure_ascii=False)
    return text if len(text) <= LONGEST_INPUT else text[:LONGEST_INPUT] + "…"


def clipped(text: str, longest: int) -> str:
    """One line of a text, for a sentence about it."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
