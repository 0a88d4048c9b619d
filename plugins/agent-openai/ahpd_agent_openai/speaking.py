"""A model's answer as clients hear it: pieces become parts of the turn while they arrive."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ahpd.agents.output import TextPart, ToolCall, TurnWriter
from ahpd.interfaces import ITurnOutput
from ahpd.protocol import State
from ahpd_agent_openai.completion import CallSaid, Piece, Said
from ahpd_agent_openai.offered import HOST, OfferedTool


class Speaker:
    """Says the answers of one turn, one request after the other.

    `first` is the number of the turn's first part (`TurnWriter`). `find` knows the tools by
    the model's names, and `drawn` what a call's start says of how it is drawn.
    """

    def __init__(
        self,
        output: ITurnOutput,
        first: int,
        find: Callable[[str], OfferedTool | None],
        drawn: Callable[[OfferedTool], tuple[str, Mapping[str, Any]]],
    ) -> None:
        self.writer = TurnWriter(output, first)
        self._output = output
        self._find = find
        self._drawn = drawn
        self._first = first
        self._begun = 0
        self._part: TextPart | None = None
        self._kind = ""
        self.spoke = False
        """Whether anything was said in this turn."""
        self.said = False
        """Whether the request that runs now has said anything."""
        self.calls: dict[int, ToolCall] = {}
        """The calls of that request, by their numbers."""

    def new_request(self) -> None:
        """What is said from now on is of another request."""
        self._part, self._kind = None, ""
        self.said = False
        self.calls = {}

    def say(self, pieces: Sequence[Piece]) -> None:
        """Say pieces in order; neighbours of a kind go in one action."""
        held: list[str] = []
        kind = ""
        for piece in pieces:
            if isinstance(piece, Said):
                if piece.kind != kind and held:
                    self._grow(kind, "".join(held))
                    held = []
                kind = piece.kind
                held.append(piece.text)
                continue
            if held:
                self._grow(kind, "".join(held))
                held = []
            self._call(piece)
        if held:
            self._grow(kind, "".join(held))

    def _grow(self, kind: str, text: str) -> None:
        self.said = self.spoke = True
        if self._part is not None and self._kind == kind:
            self._part.append(text)
            return
        self._kind = kind
        opened = self.writer.reasoning if kind == "reasoning" else self.writer.markdown
        self._part = opened(text)

    def _call(self, piece: CallSaid) -> None:
        self.said = self.spoke = True
        self._part, self._kind = None, ""
        call = self.calls.get(piece.number)
        if call is None:
            call = self.calls[piece.number] = self.begin_call(piece.name)
        if piece.piece:
            call.input(piece.piece)

    def begin_call(self, name: str) -> ToolCall:
        """Say that a call of that name begins."""
        self._begun += 1
        identifier = f"{self._output.turn_id}:{self._first}c{self._begun}"
        tool = self._find(name)
        display, meta = (name, {}) if tool is None else self._drawn(tool)
        action: State = {
            "type": "chat/toolCallStart",
            "turnId": self._output.turn_id,
            "toolCallId": identifier,
            "toolName": name if tool is None else _called(tool),
            "displayName": display,
        }
        if tool is not None and tool.client is not None:
            action["contributor"] = {"kind": "client", "clientId": tool.client}
        if meta:
            action["_meta"] = dict(meta)
        self._output.emit(action)
        return ToolCall(self._output, identifier)

    def notice(self, words: str) -> None:
        """Tell the person something that is not the model's to say."""
        self._part, self._kind = None, ""
        self._output.emit(
            {
                "type": "chat/responsePart",
                "turnId": self._output.turn_id,
                "part": {"kind": "systemNotification", "content": words},
            }
        )


def _called(tool: OfferedTool) -> str:
    """The `toolName` of a call: a client's as it was announced, and one of the host's so that
    its own name ends it, whatever the model had to call it."""
    if tool.client is not None:
        return tool.called
    if tool.kind == HOST and tool.name != tool.called:
        return f"{HOST}__{tool.called}"
    return tool.name
