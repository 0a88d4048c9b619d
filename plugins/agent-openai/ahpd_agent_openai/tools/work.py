"""Work in threads that can be given up: it looks up between two steps and ends."""

from collections.abc import Awaitable, Callable
from typing import Any

from twisted.internet.defer import CancelledError, Deferred

from ahpd_agent_openai.tools.values import ToolProblem


class GivenUp(Exception):
    """Nobody waits for it any more."""


class TookTooLong(ToolProblem):
    """It was given so many seconds and used them."""


class Watch:
    """Called by work between its steps: raises once it was given up, or has run too long.

    `seconds` is a clock that may be read in any thread (`time.monotonic`).
    """

    def __init__(self, seconds: Callable[[], float], longest: float) -> None:
        self._seconds = seconds
        self._longest = longest
        self._until = seconds() + longest
        self._given_up = False

    def give_up(self) -> None:
        """Nobody waits any more."""
        self._given_up = True

    def __call__(self) -> None:
        """Raise `GivenUp` or `TookTooLong` where it is time to."""
        if self._given_up:
            raise GivenUp
        if self._seconds() > self._until:
            raise TookTooLong(f"it took longer than {self._longest:g} s and was given up")


async def watched(
    run_blocking: Callable[..., Awaitable[Any]], watch: Watch, work: Callable[[], Any]
) -> Any:
    """The result of `work` in a thread, which calls `watch`. Cancelled, it is given up."""
    try:
        return await run_blocking(work)
    finally:
        watch.give_up()


async def to_its_end(work: "Deferred[Any]") -> Any:
    """The result of work that must not be left half done.

    Whoever cancels this waits for the work's end all the same, and is cancelled then.
    """
    apart: Deferred[None] = Deferred()
    over: Deferred[None] = Deferred()
    outcome: list[Any] = []

    def done(result: Any) -> None:
        outcome.append(result)
        over.callback(None)
        if not apart.called:
            apart.callback(None)

    work.addBoth(done)
    try:
        await apart
    except CancelledError:
        if not over.called:
            await over
        raise
    settled: Deferred[Any] = Deferred()
    settled.callback(outcome[0])
    return await settled
