"""A backend a test writes turn by turn: in-process, deterministic, and as rude as wanted.

A test hands `ScriptedAgent` one script per turn, an async function that is given the
turn and says what it likes. A `Gate` holds a script until the test lets it pass, so
that nothing depends on time.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from zope.interface import implementer

from ahpd.interfaces import (
    AgentFailure,
    ChatStart,
    IAgent,
    IAgentChat,
    ITurnOutput,
    TurnRequest,
)
from ahpd.protocol import Action, State


class Gate:
    """A point scripts wait at until a test opens it. `arrived` counts those that came."""

    def __init__(self) -> None:
        self.arrived = 0
        self.is_open = False
        self._waiting: list[Deferred[None]] = []
        self._watching: list[Deferred[None]] = []

    async def passed(self) -> None:
        """For the script: go through, or wait until the gate is open."""
        self.arrived += 1
        watching, self._watching = self._watching, []
        for deferred in watching:
            deferred.callback(None)
        if not self.is_open:
            deferred = Deferred(self._forget)
            self._waiting.append(deferred)
            await deferred

    async def reached(self) -> None:
        """For the test: wait until some script has come here."""
        if not self.arrived:
            deferred: Deferred[None] = Deferred()
            self._watching.append(deferred)
            await deferred

    def open(self) -> None:
        """Let everybody pass, now and later."""
        self.is_open = True
        self.let_pass(len(self._waiting))

    def let_pass(self, count: int = 1) -> None:
        """Let the first `count` of those that wait pass."""
        passing, self._waiting = self._waiting[:count], self._waiting[count:]
        for deferred in passing:
            deferred.callback(None)

    def _forget(self, deferred: "Deferred[None]") -> None:
        if deferred in self._waiting:
            self._waiting.remove(deferred)


class ScriptedTurn:
    """What a script is given: the request, the output, and short ways to say the usual."""

    def __init__(self, request: TurnRequest, output: ITurnOutput) -> None:
        self.request = request
        self.output = output
        self._parts = 0

    def new_id(self) -> str:
        """An id for a part or a tool call, unique within the chat."""
        self._parts += 1
        return f"{self.request.turn_id}:{self._parts}"

    def say(self, kind: str, **fields: Any) -> None:
        """Emit one action of this turn: `say("chat/delta", partId=..., content=...)`."""
        self.output.emit({"type": kind, "turnId": self.request.turn_id, **fields})

    def markdown(self, text: str = "") -> str:
        """Open a markdown part and return its id."""
        return self._open("markdown", text)

    def reasoning(self, text: str = "") -> str:
        """Open a reasoning part and return its id."""
        return self._open("reasoning", text)

    def _open(self, kind: str, text: str) -> str:
        part = self.new_id()
        self.say("chat/responsePart", part={"kind": kind, "id": part, "content": text})
        return part

    def delta(self, part: str, text: str) -> None:
        """Append to a markdown part."""
        self.say("chat/delta", partId=part, content=text)

    def think(self, part: str, text: str) -> None:
        """Append to a reasoning part."""
        self.say("chat/reasoning", partId=part, content=text)

    def tool(self, name: str, text: str) -> str:
        """A whole tool call that needs no asking and answers `text`; returns its id."""
        call = self.new_id()
        self.say("chat/toolCallStart", toolCallId=call, toolName=name, displayName=name)
        self.say("chat/toolCallDelta", toolCallId=call, content="{}")
        self.say(
            "chat/toolCallReady",
            toolCallId=call,
            invocationMessage=f"Running {name}",
            toolInput="{}",
            confirmed="not-needed",
        )
        content = [{"type": "text", "text": text}]
        result = {"success": True, "pastTenseMessage": f"Ran {name}", "content": content}
        self.say("chat/toolCallComplete", toolCallId=call, result=result)
        return call

    async def forever(self) -> None:
        """Wait until the turn is stopped."""
        await Deferred()


#: What one turn does: returns when it is complete, raises when it failed.
Script = Callable[[ScriptedTurn], Awaitable[None]]


# -- scripts ----------------------------------------------------------------------


async def echo(turn: ScriptedTurn) -> None:
    """Say the message back, in two deltas of one part."""
    part = turn.markdown()
    half = len(turn.request.text) // 2
    for piece in (turn.request.text[:half], turn.request.text[half:]):
        if piece:
            turn.delta(part, piece)


def answers(*pieces: str) -> Script:
    """A script that streams `pieces` into one part."""

    async def script(turn: ScriptedTurn) -> None:
        part = turn.markdown()
        for piece in pieces:
            turn.delta(part, piece)

    return script


def streams(count: int, size: int) -> Script:
    """A script that says `count` deltas of `size` characters, as fast as the host takes them."""

    async def script(turn: ScriptedTurn) -> None:
        part = turn.markdown()
        for _ in range(count):
            turn.delta(part, "." * size)
            await turn.output.drained()

    return script


def fails(message: str, error_type: str = "agentError", resumable: bool = False) -> Script:
    """A script that begins to answer and then fails."""

    async def script(turn: ScriptedTurn) -> None:
        turn.markdown("so far")
        raise AgentFailure(message, error_type, resumable)

    return script


def raises(error: Exception) -> Script:
    """A script with a bug: an exception that is no `AgentFailure`."""

    async def script(turn: ScriptedTurn) -> None:
        raise error

    return script


def waits_at(gate: Gate, *pieces: str) -> Script:
    """A script that opens a part, waits at `gate`, and streams `pieces` after it."""

    async def script(turn: ScriptedTurn) -> None:
        part = turn.markdown()
        await gate.passed()
        for piece in pieces:
            turn.delta(part, piece)

    return script


async def never_ends(turn: ScriptedTurn) -> None:
    """Open a part and wait until the turn is stopped."""
    turn.markdown("waiting")
    await turn.forever()


async def ends_itself(turn: ScriptedTurn) -> None:
    """Misbehave: say the turn's end, which is the host's to say."""
    turn.say("chat/turnComplete", duration=0)


async def speaks_of_another_turn(turn: ScriptedTurn) -> None:
    """Misbehave: say something under a turn id that is not this turn's, then answer."""
    part = turn.markdown()
    turn.output.emit(
        {"type": "chat/delta", "turnId": "another-turn", "partId": part, "content": "lost"}
    )
    turn.delta(part, "kept")


def speaks_after_the_end(later: "list[Callable[[], None]]") -> Script:
    """Misbehave: leave in `later` a function that says a delta when the turn is over."""

    async def script(turn: ScriptedTurn) -> None:
        part = turn.markdown("in time")
        later.append(lambda: turn.delta(part, "too late"))

    return script


# -- the agent --------------------------------------------------------------------


@implementer(IAgentChat)
class ScriptedChat:
    """One chat on a `ScriptedAgent`; what happened to it is there to read."""

    def __init__(self, agent: "ScriptedAgent", start: ChatStart) -> None:
        self.agent = agent
        self.start = start
        self.turns: list[TurnRequest] = []
        self.stops: list[str] = []
        self.closed = False
        self._turn_id: str | None = None
        self._running: Deferred[None] | None = None
        self._ending = False

    async def run(self, turn: TurnRequest, output: ITurnOutput) -> None:
        """Run the agent's next script."""
        if self._turn_id is not None:
            raise RuntimeError("a turn of this chat is running already")
        if self.closed:
            raise AgentFailure("The chat is closed")
        self.turns.append(turn)
        self.agent.turns.append(turn)
        self._turn_id, self._ending = turn.turn_id, False
        script = self.agent.take_script()
        try:
            self._running = Deferred.fromCoroutine(_run(script, ScriptedTurn(turn, output)))
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


async def _run(script: Script, turn: ScriptedTurn) -> None:
    await script(turn)


@implementer(IAgent)
class ScriptedAgent:
    """An agent whose turns a test writes.

    Each turn takes the next of the scripts that `then` added, and `always` where there
    is none. Misbehaviours are attributes: `open_failure` (raised by `open_chat`),
    `open_gate` and `close_gate` (where those wait), `ignores_stop`.
    """

    def __init__(
        self,
        provider: str = "scripted",
        always: Script = echo,
        models: Sequence[str] = ("scripted-1",),
        capabilities: Mapping[str, Any] | None = None,
    ) -> None:
        self.provider = provider
        self.always = always
        self.models = tuple(models)
        self.capabilities = {"multipleChats": {}} if capabilities is None else dict(capabilities)
        self.schema: State = {"type": "object", "properties": {}}
        self.chats: list[ScriptedChat] = []
        self.turns: list[TurnRequest] = []
        self.open_failure: AgentFailure | None = None
        self.open_gate: Gate | None = None
        self.close_gate: Gate | None = None
        self.ignores_stop = False
        self._scripts: deque[Script] = deque()

    def then(self, *scripts: Script) -> "ScriptedAgent":
        """Add scripts for the turns to come, one each."""
        self._scripts.extend(scripts)
        return self

    def take_script(self) -> Script:
        """The script of the turn that begins now."""
        return self._scripts.popleft() if self._scripts else self.always

    def info(self) -> State:
        """What clients are shown (`IAgent.info`)."""
        return {
            "provider": self.provider,
            "displayName": self.provider.capitalize(),
            "description": "Says what a test wrote",
            "models": [
                {"id": model, "provider": self.provider, "name": model} for model in self.models
            ],
            "capabilities": dict(self.capabilities),
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


@implementer(ITurnOutput)
class RecordedOutput:
    """Keeps what a turn says. A `room` gate makes `drained` wait, as a slow client would."""

    def __init__(self, turn_id: str, room: Gate | None = None) -> None:
        self.turn_id = turn_id
        self.actions: list[Action] = []
        self.room = room

    def emit(self, action: Action) -> None:
        """Keep it."""
        self.actions.append(action)

    async def drained(self) -> None:
        """Wait for room where a gate says there is none."""
        if self.room is not None:
            await self.room.passed()

    def text(self) -> str:
        """All the markdown said, parts one after the other."""
        pieces = []
        for action in self.actions:
            if action["type"] == "chat/delta":
                pieces.append(action["content"])
            elif action["type"] == "chat/responsePart" and action["part"]["kind"] == "markdown":
                pieces.append(action["part"]["content"])
        return "".join(pieces)
