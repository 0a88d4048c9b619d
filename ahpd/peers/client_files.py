"""What clients alone have, by `vscode-agent-client:` URI (AHP.txt, "Server-to-client commands").

A request goes to the client its URI names, about the URI as that client knows it, and the
answer or the refusal comes back as the client gave it.

A move and a copy go to the client of the source. Their destination is unwrapped where it is
the same client's. One of another client goes as it is, which is the name the source's client
knows it by: it refuses in its own words what it cannot write, and never writes to a file of
its own that happens to have that path.

A client may name any client, itself too. What is nested under the client scheme is sent as
it is, one layer off: nothing of it is looked into, so nothing goes round.
"""

from collections.abc import Mapping
from typing import Any, Final

from twisted.application.service import Service
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.interfaces import (
    Changed,
    Command,
    IClientFiles,
    IClients,
    IResourceWatcher,
    WatchRequest,
)
from ahpd.peers.client_requests import GRACE, ClientRequests
from ahpd.peers.client_watches import ClientWatches
from ahpd.protocol import State
from ahpd.protocol.check import ShapeError, check
from ahpd.protocol.client_uris import ClientUri, is_client_uri, unwrapped
from ahpd.protocol.errors import internal_error, invalid_params
from ahpd.protocol.methods import COMMANDS

log = Logger()

#: The URIs of a request, by method: `uri` alone where it is not here.
_ENDS: Final = {
    "resourceMove": ("source", "destination"),
    "resourceCopy": ("source", "destination"),
}
#: Their results declare nothing but that it was done.
_DONE: Final = frozenset(
    {
        "resourceWrite",
        "resourceDelete",
        "resourceMkdir",
        "resourceMove",
        "resourceCopy",
        "resourceRequest",
    }
)


@implementer(IClientFiles)
class ClientFiles(Service):
    """Relays to clients. At the stop nothing is waited for any more."""

    name = "client files"

    def __init__(self, clients: IClients, clock: IReactorTime) -> None:
        self._requests = ClientRequests(clients, clock)
        self._watches = ClientWatches(clients, self._requests)

    def notifications(self) -> Mapping[str, Command]:
        """The notifications served here, by method: what clients say on watches of theirs."""
        return self._watches.notifications()

    async def ask(self, method: str, params: State) -> Any:
        """See `IClientFiles.ask`.

        An answer may hold more than the protocol declares. One that holds less is none, and
        is told as -32603.
        """
        target, known = _as_known(method, params)
        _, answer = await self._requests.ask(target.client_id, method, known, grace=GRACE)
        return _answered(method, target, answer)

    async def watch(self, request: WatchRequest, changed: Changed) -> IResourceWatcher:
        """See `IClientFiles.watch`."""
        target = _target("params.uri", request.root)
        return await self._watches.watch(target, request, changed)

    def stopService(self) -> None:
        """Let go of what is watched, and end what is asked."""
        super().stopService()  # type: ignore[no-untyped-call]
        self._watches.stop()
        self._requests.stop()


def _as_known(method: str, params: State) -> tuple[ClientUri, State]:
    """Whose request it is, and the params as that client knows them."""
    first, *others = _ENDS.get(method, ("uri",))
    target = _target(f"params.{first}", params[first])
    known = {**params, first: target.uri}
    for key in others:
        if is_client_uri(params[key]):
            end = _target(f"params.{key}", params[key])
            known[key] = end.uri if end.client_id == target.client_id else params[key]
    return target, known


def _target(path: str, uri: str) -> ClientUri:
    try:
        return unwrapped(uri)
    except ValueError as error:
        raise invalid_params(f"{path}: {error}") from None


def _answered(method: str, target: ClientUri, answer: Any) -> Any:
    if method in _DONE and not isinstance(answer, Mapping):
        return {}  # it was done, and to say otherwise would have it done twice
    try:
        check(answer, COMMANDS[method].result, at="result")
    except ShapeError as error:
        log.info(
            "client {client} answered {method} of {uri} with none: {words}",
            client=target.client_id,
            method=method,
            uri=target.uri[:200],
            words=str(error),
        )
        raise internal_error(f"The client's answer to {method} is none: {error}") from None
    return answer
