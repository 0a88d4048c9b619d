"""Code of others, a plugin's above all: called, awaited, and left behind when its time is over.

Cancelling is not enough, because code may catch the cancellation and wait on. So whoever waits
here goes on at the bound, whatever the call does then.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

log = Logger()


class Overdue(Exception):
    """It took longer than it may. It was cancelled, and nobody waits for it."""


def bounded(call: Callable[[], Any], seconds: float, clock: IReactorTime) -> "Deferred[Any]":
    """What `call()` answers, awaited where it is awaitable; fails with `Overdue` after `seconds`.

    What it raises is what this fails with, `SystemExit` and its like included: a plugin ends no
    daemon. Cancelling this cancels the call.
    """
    working = maybeDeferred(_called, call)
    if working.called and not working.paused:  # it did not have to be awaited
        return working
    waiting: Deferred[Any] = Deferred(lambda _: working.cancel())
    late = False

    def over() -> None:
        nonlocal late
        late = True
        working.cancel()
        waiting.errback(Overdue(f"it took longer than {seconds:g} s"))

    timer = clock.callLater(seconds, over)

    def stop_timer(result: Any) -> Any:
        if timer.active():
            timer.cancel()
        return result

    def done(result: Any) -> None:
        if not late and not waiting.called:
            waiting.callback(result)
        elif isinstance(result, Failure):
            log.debug("what was left behind failed: {why}", why=words_of(result.value))

    waiting.addBoth(stop_timer)
    working.addBoth(done)
    return waiting


def _called(call: Callable[[], Any]) -> Any:
    answer = call()
    if isinstance(answer, Awaitable) and not isinstance(answer, Deferred):
        return Deferred.fromCoroutine(_awaited(answer))
    return answer


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer


def words_of(error: BaseException | None) -> str:
    """What an exception is and says, in one line; one that cannot even be said is its type."""
    kind, words = type(error).__name__, said_by(error)
    return kind if words in ("", kind) else f"{kind}: {words}"


def said_by(error: BaseException | None) -> str:
    """What an exception says, in one line; empty of one that cannot be said."""
    try:
        # Half a character, which a byte of a file name may be, can be sent to nobody.
        said = str(error).encode(errors="backslashreplace").decode()
        return " ".join(said.split())[:500]
    except BaseException:  # what says it is code of others, too
        return ""
