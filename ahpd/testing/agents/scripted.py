"""The agent a test writes, and its chats, where what happened to them is there to read."""

import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from zope.interface import implementer

from ahpd.interfaces import (
    AgentAbilities,
    AgentFailure,
    ChatStart,
    IAgent,
    IAgentChat,
    IConfiguredChat,
    ICustomizedChat,
    IDelegatingChat,
    IMcpChat,
    IResumingChat,
    ISteeredChat,
    ITurnOutput,
    TurnRequest,
)
from ahpd.protocol import State
from ahpd.testing.agents.gates import Gate
from ahpd.testing.agents.scripts import Script, echo
from ahpd.testing.agents.turns import ScriptedTurn, ScriptedWorker, Steered, Steering


@implementer(
    IAgentChat,
    ISteeredChat,
    IResumingChat,
    IConfiguredChat,
    IDelegatingChat,
    ICustomizedChat,
    IMcpChat,
)
class ScriptedChat:
    """One chat on a `ScriptedAgent`. It can all there is; its agent says what it declares.

    What it was asked is in lists: `turns`, `stops`, `resumed`, `steered`, `withdrawn`,
    `configured`, `stopped_workers`, `toggled`, `started_servers`, `stopped_servers`,
    `left_starting`. Misbehaviours are attributes, for all chats of an agent set there.
    """

    def __init__(self, agent: "ScriptedAgent", start: ChatStart) -> None:
        self.agent = agent
        self.start = start
        self.turns: list[TurnRequest] = []
        self.stops: list[str] = []
        self.resumed: list[TurnRequest] = []
        self.steered: list[Steered] = []
        self.withdrawn: list[str] = []
        self.configured: list[Mapping[str, Any]] = []
        self.stopped_workers: list[str] = []
        self.toggled: list[tuple[str, bool]] = []
        self.started_servers: list[str] = []
        self.stopped_servers: list[str] = []
        self.left_starting: list[str] = []
        self.workers: dict[str, ScriptedWorker] = {}
        self.closed = False
        self._steering = Steering()
        self._numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: itertools.count(1))
        self._kept = False
        self._turn_id: str | None = None
        self._running: Deferred[None] | None = None
        self._ending = False

    # -- turns --------------------------------------------------------------------

    async def run(self, turn: TurnRequest, output: ITurnOutput) -> None:
        """Run the agent's next script."""
        await self._run(turn, output, resumed=False)

    async def resume(self, turn: TurnRequest, output: ITurnOutput) -> None:
        """Run the agent's next script, for a turn that failed (`ScriptedTurn.resumed`)."""
        self.resumed.append(turn)
        await self._run(turn, output, resumed=True)

    async def _run(self, turn: TurnRequest, output: ITurnOutput, *, resumed: bool) -> None:
        if self._turn_id is not None:
            raise RuntimeError("a turn of this chat is running already")
        if self.closed:
            raise AgentFailure("The chat is closed")
        if not resumed:
            self.turns.append(turn)
            self.agent.turns.append(turn)
        self._turn_id, self._ending = turn.turn_id, False
        script = self.agent.take_script()
        scripted = ScriptedTurn(
            turn,
            output,
            host=self.start.host,
            steering=self._steering,
            workers=self.workers,
            numbers=self._numbers[turn.turn_id],
            resumed=resumed,
        )
        try:
            self._keep()
            self._running = Deferred.fromCoroutine(_run(script, scripted))
            if self._ending:  # stopped by what its own first words led to
                self._running.cancel()
            await self._running
        except CancelledError:
            if self.closed:
                raise AgentFailure("The chat was closed") from None
            if not self._ending:
                raise
        finally:
            self._turn_id = self._running = None
            self._return_steering()

    def _keep(self) -> None:
        name = self.agent.keeps_as
        if name is not None and not self._kept and self.start.host is not None:
            self._kept = True
            self.start.host.kept_as(name(self.start))

    def _return_steering(self) -> None:
        if self.agent.keeps_steering or self.start.host is None:
            return
        while self._steering.messages:
            self.start.host.steering_returned(self._steering.messages.pop(0).id)

    async def stop(self, turn_id: str) -> None:
        """Cancel the running script, unless the agent ignores stops."""
        self.stops.append(turn_id)
        if turn_id == self._turn_id and not self.agent.ignores_stop:
            self._end_run()

    async def close(self) -> None:
        """Cancel the running script; the chat takes no more turns."""
        if self.agent.close_gate is not None:
            await self.agent.close_gate.passed()
        self.closed = True
        self._end_run()

    def _end_run(self) -> None:
        self._ending = True
        if self._running is not None:
            self._running.cancel()

    # -- steering -----------------------------------------------------------------

    def steer(self, message_id: str, message: Mapping[str, Any]) -> bool:
        """Take it where a turn runs and the agent `takes_steering`; `steering()` reads it."""
        steered = Steered(message_id, message)
        self.steered.append(steered)
        takes = self.agent.takes_steering
        taken = self._turn_id is not None and (takes(steered) if callable(takes) else takes)
        if taken:
            self._steering.put(steered)
        return taken

    def withdraw(self, message_id: str) -> bool:
        """Give it back where the agent `withdraws` and no script has read it."""
        self.withdrawn.append(message_id)
        return self.agent.withdraws and self._steering.take(message_id)

    # -- what else it can -----------------------------------------------------------

    def configure(self, values: Mapping[str, Any]) -> None:
        """Keep the values, or raise the agent's `configure_failure`."""
        self.configured.append(dict(values))
        _raise(self.agent.configure_failure)

    async def stop_worker(self, tool_call_id: str) -> None:
        """Tell the worker's script (`ScriptedWorker.until_stopped`)."""
        self.stopped_workers.append(tool_call_id)
        worker = self.workers.get(tool_call_id)
        if worker is not None:
            worker.stop()

    async def toggle(self, customization_id: str, enabled: bool) -> None:
        """Keep it, or raise the agent's `toggle_failure`."""
        self.toggled.append((customization_id, enabled))
        self._known(customization_id)
        _raise(self.agent.toggle_failure)

    async def start_server(self, server_id: str) -> None:
        """Keep it, or raise the agent's `server_failure`."""
        self.started_servers.append(server_id)
        self._known(server_id)
        _raise(self.agent.server_failure)

    async def stop_server(self, server_id: str) -> None:
        """Keep it, or raise the agent's `server_failure`."""
        self.stopped_servers.append(server_id)
        self._known(server_id)
        _raise(self.agent.server_failure)

    def leave_server_starting(self, server_id: str) -> None:
        """Keep it."""
        self.left_starting.append(server_id)

    def _known(self, identifier: str) -> None:
        known = self.agent.known_ids
        if known is not None and identifier not in known:
            raise AgentFailure(f"There is no {identifier}", "notFound")


def _raise(failure: AgentFailure | None) -> None:
    if failure is not None:
        raise failure


async def _run(script: Script, turn: ScriptedTurn) -> None:
    await script(turn)


@implementer(IAgent)
class ScriptedAgent:
    """An agent whose turns a test writes.

    Each turn takes the next of the scripts that `then` added, and `always` where there
    is none. `keeps_as` names the conversation of a chat, said at its first turn.
    Misbehaviours are attributes: `open_failure` (raised by `open_chat`), `open_gate` and
    `close_gate` (where those wait), `ignores_stop`, `takes_steering` (or a function that
    decides), `withdraws`, `keeps_steering` (does not hand back what its turn did not
    read), `configure_failure`, `toggle_failure`, `server_failure`. `known_ids` are those of
    the customizations and servers it has; None is any.
    """

    def __init__(
        self,
        provider: str = "scripted",
        *,
        always: Script = echo,
        models: Sequence[str] = ("scripted-1",),
        capabilities: Mapping[str, Any] | None = None,
        abilities: AgentAbilities | None = None,
    ) -> None:
        self.provider = provider
        self.always = always
        self.models = tuple(models)
        self.capabilities = {"multipleChats": {}} if capabilities is None else dict(capabilities)
        self.abilities = AgentAbilities() if abilities is None else abilities
        self.schema: State = {"type": "object", "properties": {}}
        self.more_info: State = {}
        self.chats: list[ScriptedChat] = []
        self.turns: list[TurnRequest] = []
        self.keeps_as: Callable[[ChatStart], str] | None = None
        self.open_failure: AgentFailure | None = None
        self.open_gate: Gate | None = None
        self.close_gate: Gate | None = None
        self.ignores_stop = False
        self.takes_steering: bool | Callable[[Steered], bool] = True
        self.withdraws = True
        self.keeps_steering = False
        self.configure_failure: AgentFailure | None = None
        self.toggle_failure: AgentFailure | None = None
        self.server_failure: AgentFailure | None = None
        self.known_ids: Collection[str] | None = None
        self._scripts: deque[Script] = deque()

    def then(self, *scripts: Script) -> "ScriptedAgent":
        """Add scripts for the turns to come, one each."""
        self._scripts.extend(scripts)
        return self

    def take_script(self) -> Script:
        """The script of the turn that begins now."""
        return self._scripts.popleft() if self._scripts else self.always

    def info(self) -> State:
        """What clients are shown (`IAgent.info`), with the fields of `more_info`."""
        return {
            "provider": self.provider,
            "displayName": self.provider.capitalize(),
            "description": "Says what a test wrote",
            "models": [
                {"id": model, "provider": self.provider, "name": model} for model in self.models
            ],
            "capabilities": dict(self.capabilities),
            **self.more_info,
        }

    def config_schema(self, working_directory: str | None, values: Mapping[str, Any]) -> State:
        """`schema`, whatever is asked."""
        return self.schema

    async def open_chat(self, start: ChatStart) -> IAgentChat:
        """A chat, kept in `chats`."""
        if self.open_gate is not None:
            await self.open_gate.passed()
        if self.open_failure is not None:
            raise self.open_failure
        chat = ScriptedChat(self, start)
        self.chats.append(chat)
        return chat
