"""One tool call: asked about where it must be, run where it belongs, and told to the model."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import attrs
from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from ahpd.agents.output import ToolCall
from ahpd.interfaces import AgentFailure, ChatStart, ITurnOutput, ToolAnswer, TurnOver
from ahpd.protocol import State
from ahpd.wire.codec import encode
from ahpd_agent_openai import approvals, offered
from ahpd_agent_openai.calls import FinishedCall, arguments_of
from ahpd_agent_openai.offered import OfferedTool, OfferedTools
from ahpd_agent_openai.tools.values import CallContext, Described, ToolOutcome, failed
from ahpd_agent_openai.waiting import Interrupted, Interruption

log = Logger()

#: The longest result a model is told, in characters.
LONGEST_RESULT: Final = 256 * 1024
#: How much of arguments that are no JSON a model is shown again, in characters.
_SHOWN_BACK: Final = 1000


class IToolBox(Protocol):
    """The tools a session runs itself (`tools/`)."""

    def definitions(self) -> list[State]:
        """As a request holds them."""

    def describe(self, name: str, arguments: Mapping[str, Any]) -> Described:
        """What a call would do. Never raises."""

    async def run(self, name: str, arguments: Mapping[str, Any], call: CallContext) -> ToolOutcome:
        """Do it. Cancelled, it leaves nothing behind."""


@attrs.frozen(kw_only=True)
class Ran:
    """What became of a call: `text` for the model, `shown` (schema: ToolCallState) for the record."""

    text: str
    shown: State


class CallRunner:
    """Runs the calls of one turn. `mode` answers the mode of approval that is in force."""

    def __init__(
        self,
        start: ChatStart,
        output: ITurnOutput,
        tools: OfferedTools,
        box: IToolBox | None,
        mode: Callable[[], str],
        interruption: Interruption,
    ) -> None:
        self._start = start
        self._output = output
        self._tools = tools
        self._box = box
        self._mode = mode
        self._interruption = interruption

    def drawn(self, tool: OfferedTool) -> tuple[str, Mapping[str, Any]]:
        """What clients call a tool, and how its calls are drawn, before their input is known."""
        if tool.kind != offered.OWN or self._box is None:
            return tool.display_name, {}
        described = self._box.describe(tool.called, {})
        return described.display_name, described.meta

    async def run(self, call: FinishedCall, spoken: ToolCall) -> Ran:
        """Run one. Raises `Interrupted`, and `TurnOver` where the turn ended meanwhile."""
        tool = self._tools.find(call.name)
        if tool is None:
            words = f"There is no tool {call.name!r}. There are: {', '.join(self._tools.names())}."
            return self._not_run(call, spoken, call.name, words)
        if call.arguments is None:
            words = (
                "The call was not run: its arguments are no JSON object. They were: "
                f"{call.raw[:_SHOWN_BACK]}"
            )
            return self._not_run(call, spoken, self.drawn(tool)[0], words)
        arguments = dict(call.arguments)
        described = self._described(tool, arguments)
        decision = approvals.decide(self._mode(), described)
        if decision == "refuse":
            words = approvals.refusal(self._mode(), described)
            return self._not_run(call, spoken, described.display_name, words, described)
        answer = await self._asked(spoken, described, ask=decision == "ask")
        if answer is not None and not answer.approved:
            if answer.reason is None:
                return self._ruled_out(call, spoken, described)
            return _declined(call, spoken, described, answer)
        if answer is not None and answer.edited_input is not None:
            edited = _edited(described, arguments, answer.edited_input)
            if edited is None:
                return self._misedited(call, spoken, described, answer)
            arguments = edited
            described = self._described(tool, arguments)
        result, text = await self._result(tool, arguments, described, spoken)
        confirmed = "not-needed" if answer is None else answer.decided_by
        return Ran(text=text, shown=_completed(call, spoken, described, confirmed, result))

    def _described(self, tool: OfferedTool, arguments: Mapping[str, Any]) -> Described:
        if tool.kind == offered.OWN and self._box is not None:
            return self._box.describe(tool.called, arguments)
        return tool.described(arguments)

    async def _asked(
        self, spoken: ToolCall, described: Described, *, ask: bool
    ) -> ToolAnswer | None:
        """Say that the call is ready; what was decided where somebody is asked, else None."""
        fields: dict[str, Any] = {"_meta": dict(described.meta)} if described.meta else {}
        if ask and described.tool_input == described.permission.command:
            fields["editable"] = True  # what is shown is what runs, and all of it
        spoken.ready(
            described.invocation_message,
            described.tool_input,
            ask=ask,
            permission=described.permission,
            **fields,
        )
        if not ask:
            return None
        return await self._interruption.of(spoken.confirmed())

    # -- where it runs --------------------------------------------------------------------

    async def _result(
        self,
        tool: OfferedTool,
        arguments: dict[str, Any],
        described: Described,
        spoken: ToolCall,
    ) -> tuple[State, str]:
        """The result (schema: ToolCallResult), which was said, and its words for the model."""
        if tool.kind == offered.CLIENT:
            result = dict(await self._interruption.of(spoken.client_result()))
            return result, words_of(result)
        if tool.kind == offered.HOST:
            result = dict(await self._run_host(tool, arguments, spoken))
            self._say_result(spoken, result)
            return result, words_of(result)
        outcome = await self._run_own(tool, arguments, described, spoken)
        result = outcome.result()
        self._say_result(spoken, result)
        return result, outcome.text[:LONGEST_RESULT]

    async def _run_host(
        self, tool: OfferedTool, arguments: Mapping[str, Any], spoken: ToolCall
    ) -> Mapping[str, Any]:
        host = self._start.host
        if host is None:
            words = f"This host cannot run {tool.called}."
            return {"success": False, "pastTenseMessage": words, "error": {"message": words}}
        return await self._interruption.of(host.run_tool(tool.called, arguments, spoken.id))

    async def _run_own(
        self,
        tool: OfferedTool,
        arguments: Mapping[str, Any],
        described: Described,
        spoken: ToolCall,
    ) -> ToolOutcome:
        assert self._box is not None
        context = CallContext(
            session=self._start.session,
            chat=self._start.chat,
            turn_id=self._output.turn_id,
            tool_call_id=spoken.id,
            described=described,
            show=spoken.content,
        )
        try:
            return await self._interruption.of(self._box.run(tool.called, arguments, context))
        except (Interrupted, TurnOver, CancelledError, AgentFailure):
            raise
        except Exception:
            log.failure("the tool {name} failed", name=tool.called)
            return failed(
                f"{described.display_name} failed", "The tool itself failed; see the log."
            )

    def _say_result(self, spoken: ToolCall, result: State) -> None:
        self._output.emit(
            {
                "type": "chat/toolCallComplete",
                "turnId": self._output.turn_id,
                "toolCallId": spoken.id,
                "result": result,
            }
        )

    def _ruled_out(self, call: FinishedCall, spoken: ToolCall, described: Described) -> Ran:
        """A call the host's own rules refused: nobody was asked, so how it ends is ours to say."""
        words = f"{described.display_name} was not run: the rules of this host do not allow it."
        result = _unrun(described.display_name, words)
        self._say_result(spoken, result)
        return Ran(text=words, shown=_completed(call, spoken, described, "not-needed", result))

    def _misedited(
        self, call: FinishedCall, spoken: ToolCall, described: Described, answer: ToolAnswer
    ) -> Ran:
        """A call that was allowed with an input that says nothing."""
        words = (
            f"{described.display_name} was not run: the person edited its input, and what they"
            " made of it is no JSON object."
        )
        result = _unrun(described.display_name, words)
        self._say_result(spoken, result)
        shown = _completed(call, spoken, described, answer.decided_by, result)
        return Ran(text=words, shown=shown)

    def _not_run(
        self,
        call: FinishedCall,
        spoken: ToolCall,
        display: str,
        words: str,
        described: Described | None = None,
    ) -> Ran:
        """A call that is answered instead of being run."""
        shown_input = call.raw if described is None else described.tool_input
        message = f"Call {display}" if described is None else described.invocation_message
        spoken.ready(message, shown_input)
        result = _unrun(display, words)
        self._say_result(spoken, result)
        shown: State = {
            "status": "completed",
            "toolCallId": spoken.id,
            "toolName": call.name,
            "displayName": display,
            "invocationMessage": message,
            "toolInput": shown_input,
            "confirmed": "not-needed",
            **result,
        }
        return Ran(text=words, shown=shown)


def _unrun(display: str, words: str) -> State:
    """The result of a call that was answered instead (schema: ToolCallResult)."""
    return {
        "success": False,
        "pastTenseMessage": f"{display} was not run",
        "error": {"message": words[:2000]},
    }


def _completed(
    call: FinishedCall, spoken: ToolCall, described: Described, confirmed: str, result: State
) -> State:
    return {
        "status": "completed",
        "toolCallId": spoken.id,
        "toolName": call.name,
        "displayName": described.display_name,
        "invocationMessage": described.invocation_message,
        "toolInput": described.tool_input,
        "confirmed": confirmed,
        **result,
    }


def _declined(
    call: FinishedCall, spoken: ToolCall, described: Described, answer: ToolAnswer
) -> Ran:
    skipped = answer.reason == "skipped"
    words = "The person skipped this call." if skipped else "The person did not allow this call."
    if answer.message:
        words += f" They said: {answer.message}"
    if answer.suggestion is not None:
        words += f" They suggest instead: {answer.suggestion.get('text', '')}"
    shown: State = {
        "status": "cancelled",
        "toolCallId": spoken.id,
        "toolName": call.name,
        "displayName": described.display_name,
        "invocationMessage": described.invocation_message,
        "toolInput": described.tool_input,
        "reason": "skipped" if skipped else "denied",
    }
    if answer.message:
        shown["reasonMessage"] = answer.message
    return Ran(text=words, shown=shown)


def _edited(described: Described, arguments: dict[str, Any], edited: str) -> dict[str, Any] | None:
    """The arguments as the person edited what they were shown: a command, or JSON.

    None for what is neither: what they did not mean to run is not run in its place.
    """
    if described.permission.kind == "shell":
        return {**arguments, "command": edited}
    changed = arguments_of(edited)
    return None if changed is None else dict(changed)


def words_of(result: Mapping[str, Any]) -> str:
    """What a result (schema: ToolCallResult) tells a model."""
    content: Sequence[Mapping[str, Any]] = result.get("content") or ()
    pieces = [_words_of_block(block) for block in content]
    structured = result.get("structuredContent")
    if structured is not None and not any(block["type"] == "text" for block in content):
        pieces.append(encode(structured).decode())
    error = result.get("error")
    if error is not None:
        pieces.insert(0, f"It failed: {error.get('message', '')}")
    text = "\n".join(piece for piece in pieces if piece)
    if not text:
        past = result["pastTenseMessage"]
        text = past if isinstance(past, str) else str(past.get("markdown", ""))
    return text[:LONGEST_RESULT]


def _words_of_block(block: Mapping[str, Any]) -> str:
    match block["type"]:
        case "text":
            return str(block["text"])
        case "resource":
            return f"({block['uri']})"
        case "embeddedResource":
            return f"(a file of the type {block['contentType']})"
        case _:
            return ""
