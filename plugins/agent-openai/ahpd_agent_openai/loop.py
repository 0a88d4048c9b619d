"""One turn: the model is asked, its tool calls are run, and it is asked again until it is done."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import attrs

from ahpd.interfaces import AgentFailure, ITurnOutput, TurnRequest
from ahpd.protocol import State
from ahpd_agent_openai import compaction, failures
from ahpd_agent_openai.completion import Completion, Usage
from ahpd_agent_openai.conversation import request_messages
from ahpd_agent_openai.exchange import Exchange
from ahpd_agent_openai.failures import EndpointFailure
from ahpd_agent_openai.offered import OfferedTools
from ahpd_agent_openai.running import CallRunner
from ahpd_agent_openai.speaking import Speaker
from ahpd_agent_openai.store import ConversationLog
from ahpd_agent_openai.targets import Target
from ahpd_agent_openai.waiting import Interruption

STEP_LIMIT: Final = "stepLimit"
EMPTY: Final = "emptyAnswer"

#: How endpoints say that an answer came to the limit of output.
_CUT_SHORT: Final = frozenset({"length", "max_tokens", "max_output_tokens"})

#: What a model is told whose answer broke off, when its turn is run again.
GO_ON: Final = (
    "Your answer broke off; what you had said is above. Go on exactly where it broke off, "
    "without repeating it."
)


@attrs.frozen(kw_only=True)
class Plan:
    """What one turn is run with."""

    target: Target
    level: str
    """The thinking level; `off` sends none."""
    context: int | None
    """How many tokens the model holds, where somebody said."""
    compact_tokens: int | None
    compact_at: float
    unknown_context: int
    max_steps: int
    system: Callable[[], str]
    """The system message, read anew for each request."""
    key: Callable[[], str | None]
    """The key now: a lent one may be taken back."""

    def threshold(self) -> int:
        """The size at which the conversation is compacted, in tokens."""
        return compaction.threshold(
            self.context, self.compact_tokens, self.compact_at, self.unknown_context
        )


class ISteering(Protocol):
    """What waits to go into the turn."""

    def read(self) -> list[State]:
        """Records of the kind `user` for the messages that wait; they are taken by this."""


class TurnRun:
    """One turn that runs. `usage` is what it has cost so far."""

    def __init__(
        self,
        plan: Plan,
        log: ConversationLog,
        output: ITurnOutput,
        speaker: Speaker,
        tools: OfferedTools,
        runner: CallRunner,
        exchange: Exchange,
        steering: ISteering,
        interruption: Interruption,
    ) -> None:
        self.usage: State = {}
        self._plan = plan
        self._log = log
        self._output = output
        self._speaker = speaker
        self._tools = tools
        self._runner = runner
        self._exchange = exchange
        self._steering = steering
        self._interruption = interruption
        self._reported = 0
        self._reported_at = 0
        self._spent = Usage(input=0, output=0)

    async def run(self) -> None:
        """Run it to its end. Raises `AgentFailure`, and `Interrupted`."""
        for _ in range(self._plan.max_steps):
            self._interruption.check()
            self._log.add(*self._steering.read())
            await self._compact(self._plan.threshold())
            completion = await self._answer()
            self._account(completion)
            if completion.finish in _CUT_SHORT:
                self._cut_short(completion)
                return
            self._keep(completion)
            if not completion.calls:
                if not self._speaker.spoke:
                    raise AgentFailure("The model answered nothing.", EMPTY, True)
                return
            await self._run_calls(completion)
        raise AgentFailure(
            f"The turn was ended after {self._plan.max_steps} steps. Resume it to go on.",
            STEP_LIMIT,
            True,
        )

    # -- asking ---------------------------------------------------------------------------

    async def _answer(self) -> Completion:
        """The model's answer; once more on a shorter conversation where it was too long."""
        try:
            return await self._ask()
        except EndpointFailure as failure:
            if failure.error_type != failures.OVERFLOW or self._speaker.said:
                raise
            size = compaction.estimate(self._log.kept.messages)
            room = min(self._plan.threshold(), int(size * 0.6))
            if not await self._compact(room, forced=True):
                raise
        return await self._ask()

    async def _ask(self) -> Completion:
        def make(without: frozenset[str]) -> Mapping[str, Any]:
            messages = request_messages(
                self._plan.system(), self._log.kept.messages, images="images" not in without
            )
            functions = [] if "tools" in without else self._tools.functions()
            return self._request(messages, functions, without)

        try:
            return await self._exchange.ask(
                self._plan.target, self._plan.key(), make, self._speaker
            )
        except BaseException:
            self._keep_partial()
            raise

    def _request(
        self, messages: list[State], functions: list[State], without: frozenset[str]
    ) -> State:
        request: State = {
            "model": self._plan.target.model,
            "messages": messages,
            "stream": True,
        }
        if "usage" not in without:
            request["stream_options"] = {"include_usage": True}
        if functions:
            request["tools"] = functions
        if self._plan.level != "off":
            request["reasoning_effort"] = self._plan.level
        return request

    # -- what came back -------------------------------------------------------------------

    def _keep(self, completion: Completion, *, partial: bool = False) -> None:
        calls = [] if partial else completion.calls
        record: State = {
            "k": "assistant",
            "text": completion.text,
            # Endpoints read the arguments they are sent back: what is no JSON would fail each
            # later request.
            "calls": [
                {
                    "id": call.id,
                    "name": call.name,
                    "arguments": "{}" if call.arguments is None else call.raw,
                }
                for call in calls
            ],
        }
        if completion.reasoning:
            record["reasoning"] = completion.reasoning
            record["field"] = completion.reasoning_field
        if partial:
            record["partial"] = True
        self._log.add(record)

    def _keep_partial(self) -> None:
        """What was said of an answer that broke off: its calls were never whole."""
        partial, self._exchange.partial = self._exchange.partial, None
        if partial is not None and partial.text:
            self._keep(partial, partial=True)

    def _cut_short(self, completion: Completion) -> None:
        """The model came to its limit of output: what it called is not known to be whole."""
        self._keep(completion, partial=True)
        if completion.calls:
            raise AgentFailure(
                "The model reached its limit of output in the middle of a tool call, which was "
                "not run. Resume the turn to have it try again.",
                failures.OUTPUT_LIMIT,
                True,
            )
        self._speaker.notice("The answer was cut off at the model's limit of output.")

    def _account(self, completion: Completion) -> None:
        """Tell what the turn has cost so far, where the endpoint says."""
        usage = completion.usage
        if usage is None:
            return
        self._reported = usage.input + usage.output
        self._reported_at = len(self._log.kept.messages) + 1
        spent = self._spent = Usage(
            input=self._spent.input + usage.input,
            output=self._spent.output + usage.output,
            cached=self._spent.cached + usage.cached,
        )
        self.usage = {
            "inputTokens": spent.input,
            "outputTokens": spent.output,
            "model": self._plan.target.ref,
        }
        if spent.cached:
            self.usage["cacheReadTokens"] = spent.cached
        self._output.emit(
            {"type": "chat/usage", "turnId": self._output.turn_id, "usage": dict(self.usage)}
        )

    async def _run_calls(self, completion: Completion) -> None:
        """Run the calls one after the other, in the order they were made."""
        for call in completion.calls:
            self._interruption.check()
            spoken = self._speaker.calls.get(call.number)
            if spoken is None:
                spoken = self._speaker.begin_call(call.name)
            ran = await self._runner.run(call, spoken)
            self._log.add({"k": "tool", "id": call.id, "text": ran.text, "call": ran.shown})

    # -- making room ----------------------------------------------------------------------

    def _size(self) -> int:
        """About how many tokens the conversation is: as it was reported, and what came since."""
        messages = self._log.kept.messages
        estimated = compaction.estimate(messages)
        if not self._reported or self._reported_at > len(messages):
            return estimated
        return max(estimated, self._reported + compaction.estimate(messages[self._reported_at :]))

    async def _compact(self, room: int, *, forced: bool = False) -> bool:
        """Compact the conversation where it is as large as `room`; whether it was."""
        size = self._size()
        if size < room and not forced:
            return False
        messages = self._log.kept.messages
        kept = compaction.kept_of(messages, room)
        if kept is None:
            return False
        front = messages[: len(messages) - kept]
        summary = await self._summary(front, room)
        self._log.add({"k": "summary", "text": summary, "keep": kept})
        self._reported = 0
        after = compaction.estimate(self._log.kept.messages)
        self._speaker.notice(
            f"The conversation was compacted: of about {size} tokens the model is sent about "
            f"{after} from here on. Nothing of the transcript is lost."
        )
        return True

    async def _summary(self, front: list[State], room: int) -> str:
        self._output.emit(
            {"type": "chat/activityChanged", "activity": "Compacting the conversation"}
        )
        messages = compaction.summary_request(front, room)
        try:
            completion = await self._exchange.ask(
                self._plan.target,
                self._plan.key(),
                lambda without: {**self._request(messages, [], without)},
                None,
            )
        except EndpointFailure as failure:
            if failure.error_type not in (failures.OVERFLOW, failures.FILTERED):
                raise
            return compaction.without_summary(front)
        finally:
            self._exchange.partial = None
            self._output.emit({"type": "chat/activityChanged"})
        self._account(completion)
        return completion.text.strip() or compaction.without_summary(front)


def begun_records(turn: TurnRequest, content: Any, at: str) -> State:
    """The record a turn begins with."""
    return {
        "k": "turn",
        "turn": turn.turn_id,
        "at": at,
        "message": dict(turn.message),
        "content": content,
    }
