"""Code of others, a plugin's above all, called so that what it raises can be handled.

Whatever it raises comes out as an ordinary `Exception` whose words can be said: what leaves the
interpreter, what other event loops raise (`asyncio.CancelledError` is no `Exception`), an error
that fails to say what it is. What passes is what is no failure of that code: the `CancelledError`
of a call that was cancelled, and the `GeneratorExit` of a coroutine that is closed.
"""

from collections.abc import Awaitable, Callable, Coroutine
from inspect import isawaitable
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from ahpd.bounded import said_by
from ahpd.interfaces import AgentFailure, RpcError
from ahpd.protocol.json_values import misfit


class Raised(Exception):
    """What code of others raised, where that is none of the errors one can handle.

    It says what that said, or else what it is, and its class has the name of what was raised.
    """


def called(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
    """What `function` answers, or an awaitable of it. Raises an `Exception` and nothing else."""
    try:
        return function(*arguments, **named)
    except BaseException as error:
        failure = plain_failure(error)
        if failure is error:
            raise
        raise failure from None


async def awaited(answer: Any) -> Any:
    """What `answer` comes to, awaited where it is awaitable.

    Raises an `Exception` and nothing else, and `CancelledError` only where this was cancelled,
    which cancels `answer`.
    """
    if not isawaitable(answer):
        return answer
    if type(answer) is Deferred and answer.called and not answer.paused:
        done = answer.result
        if not isinstance(done, Failure | Deferred):  # most of what plugins do is done at once
            return done
    waiting = _Waiting(_settled(answer))
    (outcome,) = await waiting
    if not isinstance(outcome, Failure):
        return outcome
    error: BaseException = outcome.value  # type: ignore[assignment]
    if waiting.was_cancelled and isinstance(error, CancelledError):
        raise error
    raise plain_failure(error).with_traceback(outcome.getTracebackObject()) from None


async def asked(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
    """What `function` answers, at once or later; raises as `awaited` does."""
    return await awaited(called(function, *arguments, **named))


def plain_failure(error: BaseException) -> Exception:
    """`error` where it can be handled, told and said; else a `Raised` in its place."""
    if isinstance(error, Exception) and not isinstance(error, CancelledError) and _sound(error):
        return error
    name = type(error).__name__
    kind = type(name, (Raised,), {"__doc__": Raised.__doc__})
    failure: Exception = kind(said_by(error) or name)
    return failure.with_traceback(error.__traceback__)


def _sound(error: Exception) -> bool:
    """Whether it can say what it is, and what it has for a client can be sent to one."""
    try:
        str(error)
        if isinstance(error, AgentFailure):
            return _is_text(error.message) and _is_text(error.error_type)
        if not isinstance(error, RpcError):
            return True
        code, data = error.code, error.data
        return type(code) is int and _is_text(error.message) and misfit(data, "data") is None
    except BaseException:
        return False


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and misfit(value, "text") is None


class _Waiting(Deferred[Any]):
    """Fires with a list of what `work` came to, a `Failure` where it raised.

    To cancel it cancels `work`, and whoever waits waits on until that has ended.
    """

    def __init__(self, work: Coroutine[Any, Any, Any]) -> None:
        super().__init__()
        self.was_cancelled = False
        self._work = Deferred.fromCoroutine(work)
        self._work.addBoth(lambda outcome: self.callback([outcome]))

    def cancel(self) -> None:
        """See `Deferred.cancel`."""
        self.was_cancelled = True
        self._work.cancel()


async def _settled(answer: Awaitable[Any]) -> Any:
    return await answer
