"""Requests to an endpoint: one model's answer as it streams, and the list of models."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import (
    ConnectError,
    ConnectingCancelledError,
    ConnectionLost,
    ConnectionRefusedError,  # noqa: A004 - Twisted's
    DNSLookupError,
    TCPTimedOutError,
    TimeoutError,  # noqa: A004 - Twisted's
)
from twisted.python.failure import Failure

from ahpd.wire.codec import decode, encode
from ahpd_agent_openai import failures
from ahpd_agent_openai.body import Body
from ahpd_agent_openai.failures import EndpointFailure
from ahpd_agent_openai.targets import Target

#: Seconds a connection may take to be made.
CONNECT_TIMEOUT: Final = 30.0
#: How much of an answer that is no good one is read for its words, in bytes.
_MOST_READ: Final = 64 * 1024
#: The longest list of models taken, in bytes: a router's is about one MB.
_LONGEST_LIST: Final = 32 * 1024 * 1024


class EndpointClient:
    """Asks endpoints. `idle` is how many seconds one may be silent while it is waited for."""

    def __init__(self, reactor: Any, now: Callable[[], datetime], idle: float) -> None:
        self._reactor = reactor
        self._now = now
        self._idle = idle
        self._http: Any = None
        self._pool: Any = None
        self._open: set[Body] = set()

    def _client(self) -> Any:
        """The HTTP client, imported when first asked: a host may never need it."""
        if self._http is None:
            from treq.client import HTTPClient  # noqa: PLC0415
            from twisted.web.client import Agent, HTTPConnectionPool  # noqa: PLC0415

            self._pool = HTTPConnectionPool(self._reactor, persistent=True)
            self._pool.cachedConnectionTimeout = 30
            # A request that met a connection just being closed is sent again by our own rule.
            self._pool.retryAutomatically = False
            self._http = HTTPClient(
                Agent(self._reactor, connectTimeout=CONNECT_TIMEOUT, pool=self._pool)
            )
        return self._http

    async def close(self) -> None:
        """Let go of every connection: those in use, which would be kept once they were not, too."""
        for body in list(self._open):
            body.drop()
        if self._pool is not None:
            pool, self._pool, self._http = self._pool, None, None
            # Whoever read the end of a body is told before its connection goes to the pool.
            pool.cachedConnectionTimeout = 0
            await pool.closeCachedConnections()

    # -- requests -------------------------------------------------------------------------

    async def stream(self, target: Target, key: str | None, request: Mapping[str, Any]) -> Body:
        """The body of a chat completion. Raises `EndpointFailure`."""
        url = f"{target.base_url}/chat/completions"
        response = await self._ask(
            "POST", url, target, key, encode(request), "text/event-stream, application/json"
        )
        body = self._body(response, target)
        if 200 <= response.code < 300:
            return body
        raise await self._refusal(response, body, target, key)

    async def models(self, target: Target, key: str | None, seconds: float) -> Any:
        """What `GET <baseUrl>/models` answers, as JSON. Raises `EndpointFailure`."""
        work: Deferred[Any] = Deferred.fromCoroutine(self._models(target, key))
        late: list[bool] = []

        def give_up() -> None:
            late.append(True)
            work.cancel()

        timer = self._reactor.callLater(seconds, give_up)
        try:
            return await work
        except Exception:
            if late:  # a request that is cancelled fails in one of many words
                raise EndpointFailure(
                    f"{target.where} did not list its models within {seconds:g} seconds",
                    failures.SILENT,
                ) from None
            raise
        finally:
            if timer.active():
                timer.cancel()

    async def _models(self, target: Target, key: str | None) -> Any:
        response = await self._ask(
            "GET", f"{target.base_url}/models", target, key, None, "application/json"
        )
        body = self._body(response, target)
        if not 200 <= response.code < 300:
            raise await self._refusal(response, body, target, key)
        data = await _whole(body, _LONGEST_LIST)
        try:
            return decode(data)
        except ValueError:
            raise EndpointFailure(
                f"{target.where} answered what is no list of models. Check that baseUrl ends "
                "where /models begins.",
                failures.PROTOCOL,
            ) from None

    def _body(self, response: Any, target: Target) -> Body:
        body = Body(self._reactor, self._idle, target.where, self._open.discard)
        self._open.add(body)
        response.deliverBody(body)
        return body

    async def _ask(
        self,
        method: str,
        url: str,
        target: Target,
        key: str | None,
        data: bytes | None,
        accept: str,
    ) -> Any:
        own = {
            name: value
            for name, value in target.headers.items()
            if not (key and name.lower() == "authorization")
        }
        headers = {"Accept": accept, "User-Agent": "ahpd", **own}
        if data is not None:
            headers["Content-Type"] = "application/json"
        if key:
            headers["Authorization"] = f"Bearer {key}"
        asked: Deferred[Any] = self._client().request(
            method,
            url,
            headers=headers,
            data=data,
            allow_redirects=False,
            unbuffered=True,
            reactor=self._reactor,
        )
        late: list[bool] = []

        def give_up() -> None:
            late.append(True)
            asked.cancel()

        timer = self._reactor.callLater(self._idle, give_up)
        try:
            return await asked
        except Exception as error:
            if late:
                raise EndpointFailure(
                    f"{target.where} did not answer within {self._idle:g} seconds",
                    failures.SILENT,
                ) from None
            if isinstance(error, CancelledError):
                raise
            raise of_connection(error, target.where) from None
        finally:
            if timer.active():
                timer.cancel()

    async def _refusal(
        self, response: Any, body: Body, target: Target, key: str | None
    ) -> EndpointFailure:
        """What an answer that is no good one says went wrong."""
        try:
            data = await _whole(body, _MOST_READ)
        except EndpointFailure:
            data = b""
        except CancelledError:
            raise
        except Exception:  # the status says enough
            data = b""
        try:
            value = decode(data)
        except ValueError:
            text = data.decode(errors="replace")
            value = "it answered a page" if "<html" in text.lower() else text or "it gave no reason"
        after = response.headers.getRawHeaders("retry-after", [None])[0]
        return failures.of_status(
            target.where,
            response.code,
            value,
            model=target.model,
            retry_after=failures.seconds_of(after, self._now()),
            key_hint=target.key_hint,
            secrets=target.secrets(key),
        )


async def _whole(body: Body, most: int) -> bytes:
    """The body, the first `most` bytes of it."""
    pieces: list[bytes] = []
    length = 0
    try:
        while length < most and (piece := await body.read()) is not None:
            pieces.append(piece)
            length += len(piece)
    finally:
        body.drop()
    return b"".join(pieces)


def of_connection(error: BaseException, where: str) -> EndpointFailure:
    """What a connection that was not made, or broke, says went wrong."""
    for cause in _causes(error):
        if isinstance(cause, EndpointFailure):
            return cause
        if isinstance(cause, ConnectionRefusedError):
            return EndpointFailure(
                f"Nothing answers at {where}: the connection was refused. Is the server running?",
                failures.UNREACHABLE,
            )
        if isinstance(cause, DNSLookupError):
            return EndpointFailure(
                f"The host of {where} was not found. Check baseUrl and the network.",
                failures.UNREACHABLE,
            )
        if isinstance(cause, TimeoutError | TCPTimedOutError | ConnectingCancelledError):
            return EndpointFailure(
                f"{where} could not be reached in {CONNECT_TIMEOUT:g} seconds",
                failures.UNREACHABLE,
            )
        if _is_tls(cause):
            return EndpointFailure(
                f"No secure connection to {where}: {_tls_words(cause)}", failures.TLS
            )
    for cause in _causes(error):
        if isinstance(cause, ConnectError) and not isinstance(cause, ConnectionLost):
            return EndpointFailure(
                f"{where} could not be reached: {failures.quoted(str(cause))}",
                failures.UNREACHABLE,
            )
    return EndpointFailure(f"The connection to {where} broke", failures.CUT, retry=True)


def _causes(error: BaseException) -> list[BaseException]:
    """The error and what it was made of: Twisted wraps what went wrong in lists of failures."""
    found: list[BaseException] = [error]
    for at in found:
        reasons = getattr(at, "reasons", None) or ()
        found += [one.value for one in reasons if isinstance(one, Failure) and one.value]
        if at.__cause__ is not None:
            found.append(at.__cause__)
    return found


def _is_tls(error: BaseException) -> bool:
    module = type(error).__module__
    return module.startswith(("OpenSSL", "service_identity", "twisted.internet._sslverify"))


def _tls_words(error: BaseException) -> str:
    if type(error).__module__.startswith("OpenSSL") and error.args and error.args[0]:
        found = error.args[0]
        if isinstance(found, list) and found and isinstance(found[0], tuple):
            return failures.quoted(str(found[0][-1]))
        return failures.quoted(str(found))
    return "its certificate is for another name"
