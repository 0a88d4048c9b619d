"""What the loop and the tools say to each other.

A call goes through three steps: `ToolBox.describe` says what it would do, `approvals.decide`
and the host's people whether it may, `ToolBox.run` does it. What was described comes along
to the run (`CallContext.described`), so that a call that leads elsewhere by then is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs

from ahpd.interfaces import Permission, ToolEffects
from ahpd.protocol import State


class ToolProblem(Exception):
    """A call that cannot be done; the words go to the model and to clients."""


@attrs.frozen(kw_only=True)
class Described:
    """What a call would do, before anybody decides whether it may."""

    display_name: str
    """What clients call the tool."""
    invocation_message: str
    """What it will do, in the present."""
    permission: Permission
    """What it asks to be allowed (`ITurnOutput.emit`)."""
    effects: ToolEffects
    """What the tool declares of itself."""
    inside: bool = True
    """Whether what it touches is in the session's folders, links resolved. True of what touches
    no file; a command's is False, as nobody knows."""
    tool_input: str = ""
    """What `chat/toolCallReady` shows as its input: the bare command of a shell, else JSON."""
    meta: Mapping[str, Any] = attrs.field(factory=dict)
    """For `_meta` of `chat/toolCallStart` and `chat/toolCallReady`: how it is drawn."""
    target: str | None = None
    """The file it reads or writes, where the path really led when it was described."""
    problem: str | None = None
    """What is wrong with its name or arguments, in words for the model. Running such a call
    does nothing but answer them, so nobody need be asked about it."""


def _unseen(content: Sequence[State]) -> None:
    """Nobody is shown what a call has so far."""


@attrs.frozen(kw_only=True)
class CallContext:
    """Where a call is made from."""

    session: str
    """The session's URI."""
    chat: str
    """The chat's URI."""
    turn_id: str
    tool_call_id: str
    described: Described | None = None
    """What was decided about; None describes it anew."""
    show: Callable[[Sequence[State]], None] = _unseen
    """Shows clients what there is while it runs (schema: ToolResultContent, all of it): say it
    as `chat/toolCallContentChanged`."""


@attrs.frozen(kw_only=True)
class ToolOutcome:
    """What became of a call."""

    text: str
    """What the model is told."""
    past_tense: str
    """What was done, or not, in words for people."""
    success: bool = True
    content: Sequence[State] = ()
    """What clients are shown (schema: ToolResultContent)."""

    def result(self) -> State:
        """As clients are told (schema: ToolCallResult)."""
        result: State = {"success": self.success, "pastTenseMessage": self.past_tense}
        if self.content:
            result["content"] = list(self.content)
        if not self.success:
            result["error"] = {"message": self.text[:LONGEST_ERROR]}
        return result


#: Characters of a failed call's words that clients are told as its error.
LONGEST_ERROR = 2000


def failed(past_tense: str, words: str) -> ToolOutcome:
    """A call that did nothing, and why."""
    return ToolOutcome(text=words, past_tense=past_tense, success=False)


def text_block(text: str) -> State:
    """Schema: ToolResultTextContent."""
    return {"type": "text", "text": text}


class ITool(Protocol):
    """One tool. Arguments are those `arguments.checked` took."""

    @property
    def name(self) -> str:
        """What the model calls it by."""

    @property
    def title(self) -> str:
        """What people call it."""

    @property
    def kind(self) -> str:
        """Its kind of permission (`Permission.kind`)."""

    @property
    def effects(self) -> ToolEffects:
        """What it declares of itself."""

    @property
    def meta(self) -> Mapping[str, Any]:
        """How its calls are drawn (`Described.meta`)."""

    def definition(self) -> State:
        """As a model is offered it (an OpenAI function tool)."""

    def checked(self, arguments: Any) -> dict[str, Any]:
        """The arguments, checked. Raises `ToolProblem` that names every one that is wrong."""

    def described(self, arguments: Mapping[str, Any]) -> Described:
        """What the call would do. Raises `ToolProblem`."""

    async def run(self, arguments: Mapping[str, Any], call: CallContext) -> ToolOutcome:
        """Do it. Raises `ToolProblem`; cancelled, it leaves nothing behind."""
