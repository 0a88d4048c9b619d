"""Code of others, a plugin's above all: called, awaited, and left behind when its time is over.

Cancelling is not enough, because code may catch the cancellation and wait on. So whoever waits
here goes on at the bound, whatever the call does then.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ahpd.protocol.characters import whole

log = Logger()


class Overdue(Exception):
    """It took longer than it may. It was cancelled, and nobody waits for it.

    `waits_at` are the lines it waited at, from the outermost coroutine inwards: each a function,
    a file and a number (`ahpd.whose_code`).
    """

    def __init__(self, words: str, waits_at: Sequence[tuple[str, str, int]] = ()) -> None:
        super().__init__(words)
        self.waits_at = waits_at


def bounded(call: Callable[[], Any], seconds: float, clock: IReactorTime) -> "Deferred[Any]":
    """What `call()` answers, awaited where it is awaitable; fails with `Overdue` after `seconds`.

    What it raises is what this fails with, `SystemExit` and its like included: a plugin ends no
    daemon. Cancelling this cancels the call.
    """
    answers: list[Any] = []
    working = maybeDeferred(_called, call, answers.append)
    if working.called and not working.paused:  # it did not have to be awaited
        return working
    waiting: Deferred[Any] = Deferred(lambda _: working.cancel())
    late = False

    def over() -> None:
        nonlocal late
        late = True
        waits_at = tuple(_waits_at(answers))  # before it is cancelled, and waits no more
        working.cancel()
        waiting.errback(Overdue(f"it took longer than {seconds:g} s", waits_at))

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


def awhile(working: "Deferred[Any]", seconds: float, clock: IReactorTime) -> "Deferred[bool]":
    """Whether `working` is over within `seconds`; where it is not, it goes on.

    What it comes to, a failure above all, stays whoever's who began it.
    """
    timer: list[IDelayedCall] = []
    waiting: Deferred[bool] = Deferred(lambda _: timer[0].cancel())

    def over(result: Any) -> Any:
        if not waiting.called:
            for one in timer:
                one.cancel()
            waiting.callback(True)
        return result

    working.addBoth(over)
    if not waiting.called:
        timer.append(clock.callLater(seconds, waiting.callback, False))
    return waiting


def _called(call: Callable[[], Any], answered: Callable[[Any], None]) -> Any:
    answer = call()
    if isinstance(answer, Awaitable) and not isinstance(answer, Deferred):
        answered(answer)
        return Deferred.fromCoroutine(_awaited(answer))
    return answer


def _waits_at(answers: Iterable[Any]) -> Iterator[tuple[str, str, int]]:
    for answer in answers:
        inner = answer
        while (frame := getattr(inner, "cr_frame", None)) is not None:
            yield frame.f_code.co_name, frame.f_code.co_filename, frame.f_lineno
            inner = inner.cr_await


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer


def words_of(error: BaseException | None) -> str:
    """What an exception is and says, in one line; one that cannot even be said is its type."""
    kind, words = type(error).__name__, said_by(error)
    return kind if words in ("", kind) else f"{kind}: {words}"


def said_by(error: BaseException | None) -> str:
    """What an exception says, in one line; empty of one that cannot be said."""
    try:
        return " ".join(whole(str(error)).split())[:500]
    except BaseException:  # what says it is code of others, too
        return ""
