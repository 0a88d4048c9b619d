"""Fetching an icon: one GET over HTTPS, bounded in bytes and in time."""

from typing import Any, Final, cast
from urllib.parse import urljoin, urlsplit

from twisted.internet import defer
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

from ahpd.plugins.icons import Fetch, Fetched, IconUnread

#: How often a server may send on, each time to another `https:` address.
_MOST_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_OK: Final = 200


def icon_fetch(reactor: Any, agent: Any = None) -> Fetch:
    """A `Fetch` through `agent` (`IAgent`), an HTTPS client of its own where none is given."""

    async def fetch(url: str, limit: int, timeout: float) -> Fetched:  # noqa: ASYNC109
        nonlocal agent
        if agent is None:
            agent = _agent(reactor)
        asked: Deferred[Fetched] = Deferred.fromCoroutine(_fetched(agent, url, limit))
        asked.addTimeout(timeout, cast("IReactorTime", reactor))
        try:
            return await asked
        except IconUnread:
            raise
        except (defer.TimeoutError, CancelledError):
            raise IconUnread(f"its server took longer than {timeout:g} s") from None
        except Exception as error:
            # What a client raises may quote the URL, and with it what it carries in secret.
            raise IconUnread(f"it cannot be fetched ({type(error).__name__})") from None

    return fetch


def _agent(reactor: Any) -> Any:
    from twisted.web.client import Agent  # noqa: PLC0415 - for those who have such an icon

    return Agent(reactor)


async def _fetched(agent: Any, url: str, limit: int) -> Fetched:
    from twisted.web.http_headers import Headers  # noqa: PLC0415

    for _ in range(_MOST_REDIRECTS + 1):
        if urlsplit(url).scheme.lower() != "https":
            raise IconUnread("its server sends on to what is not https:")
        headers = Headers({"Accept": ["image/*"], "User-Agent": ["ahpd"]})
        response = await agent.request(b"GET", url.partition("#")[0].encode("ascii"), headers)
        if response.code not in _REDIRECTS:
            break
        _abort(response)
        places = response.headers.getRawHeaders("location") or [""]
        url = urljoin(url, places[0])
    else:
        raise IconUnread(f"its server sends on more than {_MOST_REDIRECTS} times")
    if response.code != _OK:
        _abort(response)
        raise IconUnread(f"its server answered {response.code}")
    kinds = response.headers.getRawHeaders("content-type") or [""]
    body = _Body(limit)
    response.deliverBody(body)
    return Fetched(kinds[0].partition(";")[0].strip(), await body.received)


def _abort(response: Any) -> None:
    """Hang up on a body nobody reads."""
    ignored = Protocol()
    response.deliverBody(ignored)
    hang_up(ignored.transport)


class _Body(Protocol):
    """Gathers a body, and hangs up on one that is longer than `limit`."""

    def __init__(self, limit: int) -> None:
        self.received: Deferred[bytes] = Deferred(lambda _: hang_up(self.transport))
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0

    def dataReceived(self, data: bytes) -> None:
        if self.received.called:
            return
        self._size += len(data)
        self._pieces.append(data)
        if self._limit and self._size > self._limit:
            self.received.errback(IconUnread(f"it is larger than {self._limit} bytes"))
            hang_up(self.transport)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        from twisted.web.client import ResponseDone  # noqa: PLC0415
        from twisted.web.http import PotentialDataLoss  # noqa: PLC0415

        if self.received.called:
            return
        if reason.check(ResponseDone, PotentialDataLoss):
            self.received.callback(b"".join(self._pieces))
        else:
            self.received.errback(IconUnread("its server hung up"))


def hang_up(transport: Any) -> None:
    """End a connection at once, whatever stands before it."""
    if transport is not None:
        (getattr(transport, "abortConnection", None) or transport.loseConnection)()
