"""Turns that tests ask for often: those that answer, wait and fail, and those that misbehave."""

from collections.abc import Awaitable, Callable

from ahpd.interfaces import AgentFailure
from ahpd.testing.agents.gates import Gate
from ahpd.testing.agents.turns import ScriptedTurn

#: What one turn does: returns when it is complete, raises when it failed.
Script = Callable[[ScriptedTurn], Awaitable[None]]


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
