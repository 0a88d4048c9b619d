"""Connections to an address that was checked, whatever its name means by then.

A name is resolved once for each request, every address it has is checked, and the request's
connection goes to one of those addresses and nowhere else. TLS asks for the certificate of
the name, and the request is for the name's host. No proxy is used, whatever the environment
says, and a connection serves one request.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, TCP6ClientEndpoint, wrapClientTLS
from twisted.internet.error import ConnectingCancelledError
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from zope.interface import implementer

from ahpd_agent_openai.tools.values import ToolProblem
from ahpd_agent_openai.tools.web.addresses import Address, read, refusal
from ahpd_agent_openai.tools.web.urls import Target

#: Looks a name up: its addresses, as text.
Resolve = Callable[[str], Awaitable[Sequence[str]]]
#: Whether an address that is not public may be reached on a port.
Permits = Callable[[Address, int], bool]

#: Seconds one address has to answer, and how many of a name's are tried.
CONNECT_SECONDS: Final = 8
MOST_TRIED: Final = 3


def nothing_else(address: Address, port: int) -> bool:
    """No address that is not public may be reached."""
    return False


def reactor_names(reactor: Any) -> Resolve:
    """Looks names up as the system does, in the reactor's threads."""

    async def resolve(name: str) -> Sequence[str]:
        found: list[str] = []
        over: Deferred[None] = Deferred()
        reactor.nameResolver.resolveHostName(_Receiver(found, over), name, 0)
        await over
        return found

    return resolve


class _Receiver:
    """Gathers the addresses of a name (`IResolutionReceiver`)."""

    def __init__(self, found: list[str], over: "Deferred[None]") -> None:
        self._found = found
        self._over = over

    def resolutionBegan(self, resolution: Any) -> None:
        """It is looked up."""

    def addressResolved(self, address: Any) -> None:
        """One address it has."""
        self._found.append(address.host)

    def resolutionComplete(self) -> None:
        """These are all."""
        if not self._over.called:
            self._over.callback(None)


async def addresses_of(target: Target, resolve: Resolve, permits: Permits) -> list[Address]:
    """The addresses a request for `target` may go to. Raises `ToolProblem`.

    One address among several that may not be reached refuses the name: who answers so means
    to lead somewhere.
    """
    if target.address is not None:
        found: list[Address] = [target.address]
    else:
        found = [_address(text, target) for text in await resolve(target.host)]
    if not found:
        raise ToolProblem(f"{target.host} has no address: there is no such host")
    for address in found:
        why = refusal(address)
        if why is not None and not permits(address, target.port):
            raise ToolProblem(f"{target.host} is not fetched from: its address {address} is {why}")
    return list(dict.fromkeys(found))[:MOST_TRIED]


def _address(text: str, target: Target) -> Address:
    address = read(text)
    if address is None:
        raise ToolProblem(f"{target.host} has an address that cannot be read: {text[:60]!r}")
    return address


class _Counted(ProtocolWrapper):
    """A connection that is broken off once more than so much came through it."""

    def dataReceived(self, data: bytes) -> None:
        """See `IProtocol.dataReceived`."""
        left = self.factory.left = self.factory.left - len(data)
        if left < 0:
            self.factory.too_much = True
            self.abort()
            return
        ProtocolWrapper.dataReceived(self, data)

    def abort(self) -> None:
        """Close it now, whatever the other side says."""
        transport: Any = self.transport
        if transport is not None:
            transport.abortConnection()


class _Counting(WrappingFactory):
    protocol = _Counted
    noisy = False

    def __init__(self, wrapped: Any, most: int) -> None:
        super().__init__(wrapped)  # type: ignore[no-untyped-call]
        self.left = most
        self.too_much = False


@implementer(IStreamClientEndpoint)
class Pinned:
    """The endpoint of one request: connects to one of `addresses`, by nothing but them.

    At most `most` bytes come through it, headers and all. `creator` makes the TLS side of a
    connection (`IOpenSSLClientConnectionCreator`), None for none.
    """

    def __init__(
        self, reactor: Any, target: Target, addresses: Sequence[Address], creator: Any, most: int
    ) -> None:
        self._reactor = reactor
        self._target = target
        self._addresses = addresses
        self._creator = creator
        self._most = most
        self._made: _Counting | None = None
        self._connection: Any = None

    @property
    def too_much(self) -> bool:
        """Whether it was broken off because more came than may."""
        return self._made is not None and self._made.too_much

    def connect(self, factory: Any) -> "Deferred[Any]":
        """See `IStreamClientEndpoint.connect`."""
        return Deferred.fromCoroutine(self._connect(factory))

    async def _connect(self, factory: Any) -> Any:
        problem: Exception | None = None
        for address in self._addresses:
            self._made = _Counting(factory, self._most)
            try:
                self._connection = await self._endpoint(address).connect(self._made)
            except (CancelledError, ConnectingCancelledError):
                raise
            except Exception as error:
                problem = error
            else:
                return self._connection.wrappedProtocol
        assert problem is not None
        raise problem

    def _endpoint(self, address: Address) -> Any:
        kind = TCP6ClientEndpoint if address.version == 6 else TCP4ClientEndpoint
        plain = kind(self._reactor, str(address), self._target.port, timeout=CONNECT_SECONDS)
        return plain if self._creator is None else wrapClientTLS(self._creator, plain)

    def abort(self) -> None:
        """Close the connection now; there may be none."""
        if self._connection is not None:
            self._connection.abort()
