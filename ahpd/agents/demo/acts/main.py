"""Runs turns, one after the other, until the host closes the input."""

from __future__ import annotations

from .pipes import Host, Stopped
from .reading import steps
from .turn import Failed, Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run_turn(host: Host, request: dict[str, Any]) -> None:
    """Run one turn from the step it is to begin with, and say its end."""
    turn = Turn(host, request)
    at = request.get("step", 0)
    try:
        if at == 0 and request.get("preamble"):
            turn.think(f"Before this message I was told: {request['preamble']}")
        found = steps(turn.text)
        for number in range(at, len(found)):
            at = number
            turn.rest()
            run, arguments = found[number]
            run(turn, *arguments)
            answer_steering(turn)
    except Stopped:
        turn.say("demo/end", stopped=True)
    except Failed as failed:
        turn.say(
            "demo/failed",
            errorType=failed.error_type,
            message=failed.message,
            resumable=failed.resumable,
            step=at,
            ids=turn.ids,
        )
    else:
        turn.say("demo/end", stopped=False)


def answer_steering(turn: Turn) -> None:
    """Between two steps: answer what was said while the last one ran."""
    turn.rest()
    while turn.signals.steered:
        turn.signals.steered = False
        for text in turn.wait_for("steering"):
            turn.markdown(f"You said meanwhile: {text}")


def main() -> None:
    """Run turns until the host closes the input."""
    host = Host()
    try:
        while True:
            run_turn(host, host.next_run())
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        pass
