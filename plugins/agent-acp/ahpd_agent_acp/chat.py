"""One chat on an ACP agent: its turns, each a prompt in a program that is there when needed."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from twisted.internet.defer import CancelledError, Deferred, ensureDeferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.interfaces import (
    AgentFailure,
    ChatStart,
    IAgentChat,
    IConfiguredChat,
    ITurnOutput,
    TurnOver,
    TurnRequest,
)
from ahpd_agent_acp.handshake import SEND_FAILED
from ahpd_agent_acp.outcome import check_end
from ahpd_agent_acp.points import NewestPoints
from ahpd_agent_acp.prompts import prompt_of, transcript_of
from ahpd_agent_acp.record import Options
from ahpd_agent_acp.session import Ground, Session
from ahpd_agent_acp.settings import Applied, check_values
from ahpd_agent_acp.tasks import Shared, Tasks

log = Logger()

#: Seconds an agent has to end a turn that was stopped before its program is killed.
STOP_GRACE: Final = 4.0

#: A folder nobody vouched for.
UNTRUSTED: Final = "untrustedFolder"


class AgentSide(Protocol):
    """What a chat is told by its agent."""

    @property
    def ground(self) -> Ground:
        """What its conversations have in common."""

    @property
    def options(self) -> Options:
        """The record as it is now."""

    @property
    def model(self) -> str | None:
        """The model of a turn that names none."""

    @property
    def points(self) -> NewestPoints:
        """The newest turn of each conversation."""


class _Run:
    """One turn on its way. `work` is all of it; `prompting` says that the agent has the prompt."""

    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self.stopped = False
        self.prompting = False
        self.work: Deferred[None] | None = None
        self.deadline: IDelayedCall | None = None

    def over(self) -> None:
        """Nothing is left to kill for it."""
        if self.deadline is not None and self.deadline.active():
            self.deadline.cancel()


@implementer(IAgentChat, IConfiguredChat)
class AcpChat:
    """See the module. Its program is started at its first turn, and again after it is lost."""

    def __init__(self, side: AgentSide, start: ChatStart) -> None:
        self._side = side
        self._start = start
        self._conversation = None if start.resume is None else start.resume.conversation
        self._preamble = start.preamble
        self._wanted: Mapping[str, Any] = dict(start.config)
        self._applied = Applied()
        self._session: Session | None = None
        self._run: _Run | None = None
        self._tasks = Tasks(f"the chat {start.chat}")
        self._ending: Shared | None = None
        self._ran = False
        self._kept = True
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process of its program; None while it has none."""
        return None if self._session is None else self._session.server.pid

    # -- turns --------------------------------------------------------------------------

    async def run(self, turn: TurnRequest, output: ITurnOutput) -> None:
        """Run one turn (`IAgentChat.run`)."""
        if self._run is not None:
            raise RuntimeError("a turn of this chat is running already")
        if self._closed:
            raise AgentFailure("The chat is closed")
        run = self._run = _Run(turn.turn_id)
        try:
            run.work = ensureDeferred(self._turn(run, turn, output))
            if run.stopped:  # by what its own first words led to
                self._interrupt(run)
            await run.work
        except CancelledError:
            self._discard()
            if self._closed:
                raise AgentFailure("The chat was closed") from None
            if not run.stopped:
                raise
        except AgentFailure:
            if not run.stopped:
                raise
        finally:
            self._run = None
            run.over()
            if self._session is not None:
                self._session.end_turn()
                if not self._session.alive:
                    self._discard()

    async def _turn(self, run: _Run, turn: TurnRequest, output: ITurnOutput) -> None:
        session = await self._session_to_use()
        await self._applied.settle(session, self._wanted, turn.model, self._side.model)
        opened = session.opened
        assert opened is not None
        ahead = []
        if opened.fresh and not self._ran:
            told = self._start.instructions if session.has_host_tools else None
            ahead += [told or "", transcript_of(self._start.history)]
        ahead.append(self._preamble or "")
        blocks = prompt_of(turn, session.server.capabilities, ahead)
        session.begin_turn(output, turn.client_tools)
        run.prompting = True
        answering = ensureDeferred(session.prompt(blocks))
        self._ran, self._preamble = True, None
        answer = await answering
        reason = answer.get("stopReason")
        if session.turn is not None:
            session.turn.finished(reason if isinstance(reason, str) else None, answer.get("usage"))
        output.ended_at(turn.turn_id)
        await self._side.points.keep(session.id, turn.turn_id)
        if not run.stopped:
            check_end(reason, self._side.options.cut_turns, self._side.ground.what)

    # -- its program --------------------------------------------------------------------

    async def _session_to_use(self) -> Session:
        options = self._side.options
        session = self._session
        if session is not None and (
            not session.alive or session.options.program != options.program
        ):
            self._discard()
        if self._ending is not None:  # two programs do not work on one conversation
            await self._ending.result()
        if self._session is not None:
            self._keep(self._session)
            return self._session
        self._check_trust(options)
        source = await self._source()
        session = self._session = Session(
            self._side.ground, options, self._start, self._run_client_tool
        )
        held = bool(self._start.history) or self._ran
        try:
            opened = await session.open(self._conversation, source, held)
        except AgentFailure:
            self._discard()
            raise
        self._applied = Applied.of(session.heard)
        if opened.id != self._conversation:
            self._conversation, self._kept = opened.id, False
        self._keep(session)
        return session

    def _keep(self, session: Session) -> None:
        """Have the host keep the conversation's id; where its disk has no room, again next time."""
        if not self._kept and self._start.host is not None:
            self._start.host.kept_as(session.id)
        self._kept = True

    async def _source(self) -> str | None:
        """The conversation to copy, where this chat begins as a copy of one."""
        fork = self._start.fork
        if fork is None or self._conversation is not None:
            return None
        if fork.point is not None:
            newest = await self._side.points.of(fork.conversation)
            if newest != fork.point:
                raise AgentFailure(
                    f"{self._side.ground.what} copies a conversation whole, so it is forked at "
                    "its last turn and at no other",
                    SEND_FAILED,
                )
        return fork.conversation

    def _check_trust(self, options: Options) -> None:
        if self._start.trusted or options.honours_trust:
            return
        folders = ", ".join(self._start.working_directories) or "the default folder"
        raise AgentFailure(
            f"{self._side.ground.what} does not ask before it loads what a folder tells it to "
            f"do, and nobody has vouched for {folders}",
            UNTRUSTED,
        )

    def _discard(self) -> None:
        """Let go of the program; the next turn waits until it is gone and starts another."""
        session, self._session = self._session, None
        if session is None:
            return
        self._ending = self._tasks.spawn("ending the program", session.close())

    # -- calls of clients' tools --------------------------------------------------------

    async def _run_client_tool(
        self, client: str, name: str, arguments: Mapping[str, Any], call: str | None
    ) -> Mapping[str, Any]:
        """See `RunClientTool`: one that no reported call matched has a row of its own."""
        turn = None if self._session is None else self._session.turn
        if turn is None or turn.is_over:
            return _failed(f"No turn runs that {name} could be called in.")
        claimed = turn.claim_client_call(client, name, arguments)
        if claimed is None:
            if self._side.options.unreported_client_calls == "error":
                return _failed(f"No call of {name} was reported.")
            claimed = turn.hold_client_call(client, name, arguments)
        try:
            return await turn.output.client_result(claimed)
        except TurnOver:
            return _failed(f"The turn was over before {name} was done.")

    # -- settings, stop, close ----------------------------------------------------------

    def configure(self, values: Mapping[str, Any]) -> None:
        """Take the values, in the running turn too (`IConfiguredChat.configure`)."""
        session, run = self._session, self._run
        if session is not None and session.opened is not None:
            check_values(session.heard, values, self._wanted)
        self._wanted = dict(values)
        if session is not None and run is not None and run.prompting and session.alive:
            self._tasks.spawn("configuring", self._reconfigure(session))

    async def _reconfigure(self, session: Session) -> None:
        try:
            await self._applied.set_options(session, self._wanted)
        except AgentFailure as failed:
            log.warn("{words}", words=failed.message)

    async def stop(self, turn_id: str) -> None:
        """Have the turn ended; a program that does not end it is killed."""
        run = self._run
        if run is None or run.turn_id != turn_id or run.stopped:
            return
        run.stopped = True
        self._interrupt(run)

    def _interrupt(self, run: _Run) -> None:
        session = self._session
        if session is None or not run.prompting:
            if run.work is not None:
                run.work.cancel()
            return
        session.cancel()
        session.let_go()
        run.deadline = self._side.ground.ports.reactor.callLater(
            STOP_GRACE, session.kill, "was killed because it did not stop"
        )

    async def close(self) -> None:
        """End the program; a turn that runs fails."""
        self._closed = True
        run = self._run
        if run is not None and run.work is not None:
            run.work.cancel()
        self._discard()
        await self._tasks.wait()


def _failed(words: str) -> Mapping[str, Any]:
    return {"success": False, "pastTenseMessage": words, "error": {"message": words}}
