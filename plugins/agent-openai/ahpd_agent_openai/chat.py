"""One conversation of this engine: its record, its settings, and the turns it is given."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol

import attrs
from twisted.internet.defer import CancelledError, Deferred
from zope.interface import implementer

from ahpd.interfaces import (
    AgentFailure,
    ChatStart,
    IAgentChat,
    IConfiguredChat,
    IResumingChat,
    ISteeredChat,
    ITurnOutput,
    TurnOver,
    TurnRequest,
)
from ahpd.protocol import State
from ahpd.protocol.timestamps import stamp
from ahpd_agent_openai.catalogue import Catalogue
from ahpd_agent_openai.client import EndpointClient
from ahpd_agent_openai.conversation import VERSION
from ahpd_agent_openai.exchange import Dispensed, Exchange
from ahpd_agent_openai.loop import GO_ON, Plan, TurnRun, begun_records
from ahpd_agent_openai.offered import OfferedTools
from ahpd_agent_openai.prompt import system_prompt, user_content
from ahpd_agent_openai.running import CallRunner, IToolBox
from ahpd_agent_openai.session import Choices, choices, level_of
from ahpd_agent_openai.settings import UNKNOWN_CONTEXT, Settings
from ahpd_agent_openai.speaking import Speaker
from ahpd_agent_openai.steering import Steering
from ahpd_agent_openai.store import ConversationLog, ConversationStore
from ahpd_agent_openai.targets import Target, Targets
from ahpd_agent_openai.waiting import Interrupted, Interruption

#: How far apart the numbers of parts are that two runs of one turn say.
_RUN: Final = 100_000
_LONGEST_TITLE: Final = 100


class ISessionTools(IToolBox, Protocol):
    """A toolbox with what a chat needs of it beside its calls."""

    async def instructions(self) -> str | None:
        """What the session's memory says to a model; None where there is nothing."""

    async def close(self) -> None:
        """Let go of what runs for it."""


@attrs.frozen(kw_only=True)
class Workshop:
    """What the chats of one agent work with."""

    provider: str
    settings: Settings
    reactor: Any
    now: Callable[[], datetime]
    ids: Callable[[], str]
    default_directory: str
    client: EndpointClient
    targets: Targets
    catalogue: Catalogue
    store: ConversationStore
    open_tools: Callable[[ChatStart], ISessionTools | None]
    dispensed: Dispensed = attrs.field(factory=dict)


@attrs.define(eq=False)
class _Running:
    turn_id: str
    interruption: Interruption
    ended: "list[Deferred[None]]" = attrs.field(factory=list)


@implementer(IAgentChat, ISteeredChat, IResumingChat, IConfiguredChat)
class OpenAIChat:
    """A chat over an endpoint. `log` is its record where it goes on with one, `before` what a
    new one begins with."""

    def __init__(
        self,
        workshop: Workshop,
        start: ChatStart,
        log: ConversationLog | None,
        before: Sequence[State] = (),
    ) -> None:
        self._workshop = workshop
        self._start = start
        self._log = log
        self._before = before
        self._chosen: Choices = choices(workshop.provider, workshop.settings, start.config)
        self._preamble = start.preamble
        self._steering = Steering(start.host)
        self._tools = workshop.open_tools(start)
        self._running: _Running | None = None
        self._closed = False

    # -- turns ----------------------------------------------------------------------------

    async def run(self, turn: TurnRequest, output: ITurnOutput) -> None:
        """Run one turn (`IAgentChat.run`)."""
        await self._guarded(turn, output, resumed=False)

    async def resume(self, turn: TurnRequest, output: ITurnOutput) -> None:
        """Run on a turn that failed, behind what it had said (`IResumingChat.resume`)."""
        await self._guarded(turn, output, resumed=True)

    async def _guarded(self, turn: TurnRequest, output: ITurnOutput, *, resumed: bool) -> None:
        if self._running is not None:
            raise RuntimeError("a turn of this chat is running already")
        if self._closed:
            raise AgentFailure("The chat is closed")
        running = self._running = _Running(turn.turn_id, Interruption())
        try:
            await self._run_turn(turn, output, running.interruption, resumed=resumed)
        except (Interrupted, TurnOver, CancelledError):
            if self._closed:
                raise AgentFailure("The chat was closed while its turn ran") from None
        finally:
            self._running = None
            self._steering.give_back()
            for ended in running.ended:
                ended.callback(None)

    async def _run_turn(
        self, turn: TurnRequest, output: ITurnOutput, interruption: Interruption, *, resumed: bool
    ) -> None:
        target = self._workshop.targets.of(
            None if turn.model is None else turn.model["id"], self._chosen.values
        )
        plan = await self._plan(turn, target, interruption)
        log = self._begin(turn, target, resumed=resumed)
        output.ended_at(turn.turn_id)
        began = self._workshop.now()
        run = self._made_run(plan, turn, output, log, interruption)
        state = "error"
        try:
            await run.run()
            state = "complete"
        except (Interrupted, TurnOver, CancelledError):
            state = "cancelled"
            raise
        finally:
            await self._end(log, turn, began, state, run.usage)

    def _made_run(
        self,
        plan: Plan,
        turn: TurnRequest,
        output: ITurnOutput,
        log: ConversationLog,
        interruption: Interruption,
    ) -> TurnRun:
        workshop = self._workshop
        tools = OfferedTools(
            [] if self._tools is None else self._tools.definitions(),
            self._start.server_tools,
            turn.client_tools,
        )
        runner = CallRunner(
            self._start, output, tools, self._tools, lambda: self._chosen.mode, interruption
        )
        speaker = Speaker(output, self._first_part(log, turn), tools.find, runner.drawn)
        exchange = Exchange(
            workshop.reactor,
            workshop.client,
            workshop.dispensed,
            workshop.settings.max_retries,
            interruption,
            output,
        )
        return TurnRun(
            plan, log, output, speaker, tools, runner, exchange, self._steering, interruption
        )

    async def _plan(self, turn: TurnRequest, target: Target, interruption: Interruption) -> Plan:
        workshop, start = self._workshop, self._start
        settings = workshop.settings
        memory = None if self._tools is None else await interruption.of(self._tools.instructions())

        def system() -> str:
            chosen = self._chosen
            return system_prompt(
                start, workshop.default_directory, chosen.instructions, chosen.mode, memory
            )

        def key() -> str | None:
            lent = None if start.host is None else start.host.credential(target.resource)
            return lent or target.key

        return Plan(
            target=target,
            level=level_of(turn.model, self._chosen),
            context=workshop.catalogue.context(target),
            compact_tokens=settings.compact_tokens,
            compact_at=settings.compact_at,
            unknown_context=UNKNOWN_CONTEXT,
            max_steps=settings.max_steps,
            system=system,
            key=key,
        )

    # -- the record -----------------------------------------------------------------------

    def _begin(self, turn: TurnRequest, target: Target, *, resumed: bool) -> ConversationLog:
        """The conversation with this turn begun in it; kept before the model is asked."""
        log = self._log
        vision = self._workshop.catalogue.vision(target)
        if log is not None and resumed and log.kept.has(turn.turn_id):
            records: list[State] = [{"k": "again", "turn": turn.turn_id}]
            if _broke_off(log.kept.records):
                records.append({"k": "user", "content": GO_ON})
            log.add(*records)
            return log
        content = user_content(turn, self._preamble, vision)
        begun = begun_records(turn, content, stamp(self._workshop.now()))
        if log is None:
            log = self._log = self._workshop.store.begun(self._head(turn), self._before)
            self._before = ()
            log.add(begun)
            if self._start.host is not None:
                self._start.host.kept_as(log.id)
        else:
            log.add(begun)
        self._preamble = None
        return log

    def _head(self, turn: TurnRequest) -> State:
        first = next((line for line in turn.text.splitlines() if line.strip()), "")
        return {
            "k": "head",
            "v": VERSION,
            "id": self._workshop.ids(),
            "at": stamp(self._workshop.now()),
            "title": first.strip()[:_LONGEST_TITLE],
            "directories": list(self._start.working_directories),
        }

    async def _end(
        self, log: ConversationLog, turn: TurnRequest, began: datetime, state: str, usage: State
    ) -> None:
        now = self._workshop.now()
        record: State = {
            "k": "end",
            "turn": turn.turn_id,
            "at": stamp(now),
            "state": state,
            "ms": max(0, round((now - began).total_seconds() * 1000)),
        }
        if usage:
            record["usage"] = usage
        log.add(record)
        await log.settle()

    def _first_part(self, log: ConversationLog, turn: TurnRequest) -> int:
        """The number of the turn's first part, past those earlier runs of it have said."""
        numbers = [0]
        for before in self._start.history:
            if before["id"] == turn.turn_id:
                numbers += [_number(part) for part in before["responseParts"]]
        runs = log.kept.runs_of(turn.turn_id)
        return max(*numbers, (runs - 1) * _RUN) + 1

    # -- messages into a running turn -------------------------------------------------------

    def steer(self, message_id: str, message: Mapping[str, Any]) -> bool:
        """Keep it for the model's next step (`ISteeredChat.steer`)."""
        if self._running is None or self._running.interruption.happened:
            return False
        self._steering.take(message_id, message)
        return True

    def withdraw(self, message_id: str) -> bool:
        """Give it back, unless a step has read it (`ISteeredChat.withdraw`)."""
        return self._steering.withdraw(message_id)

    # -- settings, stop and close -----------------------------------------------------------

    def configure(self, values: Mapping[str, Any]) -> None:
        """Approvals and instructions at once, the rest with the next turn."""
        self._chosen = choices(self._workshop.provider, self._workshop.settings, values)

    async def stop(self, turn_id: str) -> None:
        """Interrupt the running turn, whatever it waits for."""
        if self._running is not None and self._running.turn_id == turn_id:
            self._running.interruption.fire()

    async def close(self) -> None:
        """End what runs, and let go of the record's file and of what the tools hold."""
        self._closed = True
        running = self._running
        if running is not None:
            ended: Deferred[None] = Deferred()
            running.ended.append(ended)
            running.interruption.fire()
            await ended
        tools, self._tools = self._tools, None
        await _close_tools(tools)
        if self._log is not None:
            self._log.close()


def _close_tools(tools: ISessionTools | None) -> Awaitable[None]:
    return _nothing() if tools is None else tools.close()


async def _nothing() -> None:
    pass


def _broke_off(records: Sequence[State]) -> bool:
    """Whether the last answer in a record is one that broke off."""
    for record in reversed(records):
        if record["k"] == "assistant":
            return bool(record.get("partial"))
        if record["k"] in ("turn", "tool", "user"):
            return False
    return False


def _number(part: Mapping[str, Any]) -> int:
    """The number in a part's id, or in its call's."""
    named = part["toolCall"]["toolCallId"] if "toolCall" in part else part.get("id", "")
    number = str(named).rpartition(":")[2].partition("c")[0]
    return int(number) if number.isascii() and number.isdigit() else 0
