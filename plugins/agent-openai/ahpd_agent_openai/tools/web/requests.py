"""One request after another until there is an answer: checked, bounded, and without a trace.

What is sent is what is asked for and no more: no cookie, no credential, no referrer, and by
no proxy. Every hop is a request of its own, whose URL is read, whose name is resolved and
whose addresses are checked as the first one's were.
"""

import io
import re
from collections.abc import Callable
from typing import Any, Final

import attrs
from twisted.internet.defer import CancelledError, Deferred

from ahpd_agent_openai.tools.values import ToolProblem
from ahpd_agent_openai.tools.web.asking import Answer, Ask
from ahpd_agent_openai.tools.web.bodies import ACCEPTED, Body, Unpacker
from ahpd_agent_openai.tools.web.connecting import (
    Permits,
    Pinned,
    Resolve,
    addresses_of,
    nothing_else,
)
from ahpd_agent_openai.tools.web.urls import Target, followed, target

#: Bytes of a body, unpacked; and of everything that comes through a connection.
LARGEST_BODY: Final = 4 * 1024 * 1024
_HEADERS: Final = 256 * 1024
#: Seconds all of a request may take, its redirects with it.
LONGEST_REQUEST: Final = 30.0
_REDIRECTS: Final = (301, 302, 303, 307, 308)

#: Makes the TLS side of a connection to a host of this name.
MakeTls = Callable[[str], Any]


def verified_tls(host: str) -> Any:
    """TLS that asks for the certificate of `host`, trusted as the system trusts."""
    from twisted.internet.ssl import optionsForClientTLS  # noqa: PLC0415 - takes 50 ms

    return optionsForClientTLS(host)


@attrs.frozen
class Web:
    """Makes requests. `resolve` and `permits` say what names and addresses are reached."""

    reactor: Any
    resolve: Resolve
    agent: str
    """What requests say of who makes them (`User-Agent`)."""
    permits: Permits = nothing_else
    make_tls: MakeTls = verified_tls
    longest: float = LONGEST_REQUEST
    largest: int = LARGEST_BODY

    async def ask(self, ask: Ask) -> Answer:
        """The answer. Raises `ToolProblem`; cancelled, its connection is closed."""
        work = Deferred.fromCoroutine(self._ask(ask))
        late = self.reactor.callLater(self.longest, work.cancel)
        try:
            answer: Answer = await work
        except Exception:
            if late.active():
                raise
            raise ToolProblem(f"there was no whole answer within {self.longest:g} s") from None
        finally:
            if late.active():
                late.cancel()
        return answer

    async def _ask(self, ask: Ask) -> Answer:
        here = target(ask.url)
        for _ in range(ask.redirects + 1):
            found = await self._hop(here, ask)
            if isinstance(found, Answer):
                return found
            there = followed(here, found)
            if not there.is_of(here):
                return Answer(
                    url=here.url, status=302, kind="", charset=None, data=b"", leads_to=there.url
                )
            here = there
        raise ToolProblem(f"it redirects more than {ask.redirects} times")

    async def _hop(self, here: Target, ask: Ask) -> "Answer | str":
        """The answer of one request, or where it redirects to."""
        addresses = await addresses_of(here, self.resolve, self.permits)
        creator = self.make_tls(here.host) if here.scheme == "https" else None
        endpoint = Pinned(
            self.reactor, here, addresses, creator, self.largest + self.largest // 8 + _HEADERS
        )
        try:
            return await self._answer(here, ask, endpoint)
        except (ToolProblem, CancelledError):
            raise
        except Exception as error:
            if endpoint.too_much:
                raise ToolProblem("it answers with more than is taken of any page") from None
            raise ToolProblem(f"{here.host} did not answer: {_words(error)}") from None
        finally:
            endpoint.abort()

    async def _answer(self, here: Target, ask: Ask, endpoint: Pinned) -> "Answer | str":
        from twisted.web.client import Agent, FileBodyProducer  # noqa: PLC0415 - loaded late
        from twisted.web.http_headers import Headers  # noqa: PLC0415

        headers = Headers()
        for name, value in {
            "User-Agent": self.agent, "Accept-Encoding": ACCEPTED, **ask.headers
        }.items():  # fmt: skip
            headers.addRawHeader(name, value)
        body = None if ask.body is None else FileBodyProducer(io.BytesIO(ask.body))
        agent = Agent.usingEndpointFactory(self.reactor, _Only(endpoint))
        response = await agent.request(ask.method.encode(), here.url.encode(), headers, body)
        if response.code in _REDIRECTS:
            location = _header(response, "location")
            if not location:
                raise ToolProblem(f"it redirects (HTTP {response.code}) and does not say where to")
            return location
        kind, charset = _media(_header(response, "content-type"))
        if not ask.wanted(kind):
            return Answer(url=here.url, status=response.code, kind=kind, charset=charset, data=b"")
        unpacker = Unpacker(_header(response, "content-encoding"), self.largest)
        received = Body(unpacker)
        response.deliverBody(received)
        await received.over
        return Answer(
            url=here.url,
            status=response.code,
            kind=kind,
            charset=charset,
            data=bytes(unpacker.data),
            cut=unpacker.full or not received.whole,
        )


class _Only:
    """Has an agent connect by one endpoint, whatever it is asked for."""

    def __init__(self, endpoint: Pinned) -> None:
        self._endpoint = endpoint

    def endpointForURI(self, uri: Any) -> Pinned:
        """See `IAgentEndpointFactory`."""
        return self._endpoint


def _header(response: Any, name: str) -> str:
    values = response.headers.getRawHeaders(name.encode()) or [b""]
    return str(values[0].decode("utf-8", "replace"))[:8192]


def _media(said: str) -> tuple[str, str | None]:
    """A media type and its charset, as `Content-Type` says them."""
    kind, _, parameters = said.partition(";")
    found = re.search(
        r"charset\s{0,8}=\s{0,8}\"?([A-Za-z0-9_:.-]{1,40})", parameters, re.IGNORECASE
    )
    return kind.strip().lower()[:100], None if found is None else found[1].lower()


def _words(error: Exception) -> str:
    """What went wrong with a connection, in one line."""
    reasons = getattr(error, "reasons", None)
    if reasons:  # what an agent's failures are made of
        error = reasons[0].value
    name = type(error).__name__
    words = " ".join(str(error).split())[:300]
    return words if words else name
