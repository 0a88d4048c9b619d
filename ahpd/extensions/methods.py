"""The `x-` commands that are served: who may send one, and what it is answered.

Source: PLUGINS.txt, "A command of your own".
"""

from collections.abc import Awaitable, Mapping
from inspect import isawaitable
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ahpd.calling import awaited, called
from ahpd.extensions.callers import Callers
from ahpd.interfaces import Caller, IClientConnection, Method
from ahpd.protocol.errors import RpcError, internal_error
from ahpd.protocol.json_values import misfit
from ahpd.wire.codec import Encoded, encode

log = Logger()


@attrs.frozen(eq=False, repr=False)
class ServedMethod:
    """One registered command, as the peers call it (`Command`)."""

    name: str
    method: Method
    _callers: Callers
    _waiting: "dict[Deferred[Any], Deferred[Any]]" = attrs.field(factory=dict, init=False)
    """What callers wait for, and the work behind it."""

    def drop(self) -> None:
        """It is served no more: who waits for it is told, and the work is cancelled."""
        for waiting, working in tuple(self._waiting.items()):
            waiting.errback(internal_error(f"{self.name} went before it answered"))
            working.cancel()

    def __call__(self, connection: IClientConnection, params: dict[str, Any]) -> Any:
        """Answer one request: JSON, or an awaitable of it. Raises `RpcError` and nothing else."""
        caller = self._callers.of(connection)
        if not self.method.grant or self._callers.holds(caller, self.method.grant):
            return self._handled(params, caller)
        admitted: Any = False
        if self.method.authorize is not None:
            try:
                admitted = called(self.method.authorize, params, caller)
            except Exception as error:
                raise self._refused(caller, error) from None
        if isawaitable(admitted):
            return self._admitted_later(params, caller, admitted)
        if admitted is not True:
            raise self._denied(caller)
        return self._handled(params, caller)

    async def _admitted_later(
        self, params: Mapping[str, Any], caller: Caller, admitted: Awaitable[bool]
    ) -> Any:
        try:
            answer = await awaited(admitted)
        except Exception as error:
            raise self._refused(caller, error) from None
        if answer is not True:
            raise self._denied(caller)
        result = self._handled(params, caller)
        return await result if isawaitable(result) else result

    def _handled(self, params: Mapping[str, Any], caller: Caller) -> Any:
        try:
            result = called(self.method.handle, params, caller)
            return self._handled_later(result) if isawaitable(result) else self._json(result)
        except Exception as error:
            raise self._failed(error) from None

    async def _handled_later(self, result: Awaitable[Any]) -> Any:
        working = Deferred.fromCoroutine(awaited(result))
        # Code that catches its cancellation keeps nobody waiting.
        waiting: Deferred[Any] = Deferred(lambda _: working.cancel())
        self._waiting[waiting] = working
        working.addBoth(lambda answer: None if waiting.called else waiting.callback(answer))
        try:
            return self._json(await waiting)
        except Exception as error:
            raise self._failed(error) from None
        finally:
            self._waiting.pop(waiting, None)

    def _json(self, result: Any) -> Encoded:
        """The result as it travels, so that one that is no JSON is found while it has a name."""
        try:
            return Encoded(encode(result))
        except Exception as wrong:
            found = misfit(result, "result") or wrong
            raise TypeError(f"its result is no JSON: {found}") from None

    def _refused(self, caller: Caller, error: Exception) -> RpcError:
        """`authorize` raised; called where that is handled."""
        if isinstance(error, RpcError):
            return error
        log.failure("who may send {method} could not be told", method=self.name)
        return self._denied(caller)

    def _denied(self, caller: Caller) -> RpcError:
        return self._callers.denied(caller, self.method.grant, self.name)

    def _failed(self, error: Exception) -> RpcError:
        """`handle` raised; called where that is handled."""
        if isinstance(error, RpcError):
            return error
        log.failure("{method} failed", method=self.name)
        return internal_error(f"{self.name} failed; the host's log says why")
