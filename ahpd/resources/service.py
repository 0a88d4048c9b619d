"""Every resource of the host: each goes by its scheme to whoever serves it.

`file:` goes to the files of this machine, `vscode-agent-client:` to the client it names, a
registered scheme to its provider (PLUGINS.txt, "A resource scheme"). The rules are one
each:

- No scheme, no resource: -32602. A scheme nobody serves: -32601 `nothing here serves notes:`.
  What a provider does not do: -32601 with the operation and the scheme.
- A move and a copy are carried out by the source's store, which refuses in its own words an
  end it cannot write (AHP.txt, `resourceMove`). No store can carry out the half of another,
  so two ends of different schemes are refused -32602 before anybody is asked. Clients share
  one scheme: between two of them the source's is asked.
- `resourceRequest` is answered yes for any URI and logged; it withholds nothing. Under the
  client scheme it is asked of the client.
"""

from collections.abc import Mapping
from typing import Any, Final

from twisted.internet.defer import CancelledError
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.calling import asked
from ahpd.interfaces import (
    Changed,
    IClientFiles,
    IEvents,
    IResourceProvider,
    IResources,
    IResourceWatcher,
    IWatchedResources,
    RpcError,
    WatchRequest,
)
from ahpd.protocol import State
from ahpd.protocol.check import ShapeError
from ahpd.protocol.client_uris import CLIENT_SCHEME
from ahpd.protocol.errors import METHOD_NOT_FOUND, internal_error, invalid_params
from ahpd.protocol.reserved import registrable
from ahpd.protocol.uris import scheme
from ahpd.resources.operations import OPERATIONS, Operation, check_answer

log = Logger()

_WATCH: Final = "createResourceWatch"
_REQUEST: Final = "resourceRequest"
#: The event of a URI that something else is under from now on.
_WRITTEN: Final = "resource_write"


@implementer(IResources)
class Resources:
    """`providers` are the host's own, by scheme in lower case, `file` for one.

    Each provides `IResourceProvider` and as much more as it serves. `clients` has what
    clients alone have; without it nothing serves the client scheme.
    """

    def __init__(
        self, providers: Mapping[str, Any] | None = None, clients: IClientFiles | None = None
    ) -> None:
        self._providers = dict(providers or {})
        self._clients = clients
        #: Who is told of what was written; set by whoever composes the host.
        self.events: IEvents | None = None

    def register(self, name: str, provider: Any) -> None:
        """Have `provider` serve the scheme `name`.

        Raises `ValueError` in words for a scheme that is no scheme, is reserved or is
        served already, and for a provider that cannot be read.
        """
        wanted = registrable(name)
        if wanted in self._providers:
            raise ValueError(f"the scheme {wanted} is served already")
        if not IResourceProvider.providedBy(provider):
            raise ValueError(f"what is to serve {wanted} cannot be read: no IResourceProvider")
        self._providers[wanted] = provider

    def serves(self, name: str) -> bool:
        """Whether somebody serves the scheme `name`."""
        return name.lower() in self._providers

    def unregister(self, name: str) -> None:
        """Nobody serves a registered scheme any more; one nobody registered is no error."""
        self._providers.pop(registrable(name), None)

    async def ask(self, method: str, params: State) -> Any:
        """See `IResources.ask`."""
        if method == _REQUEST:
            return await self._request(params)
        operation = OPERATIONS[method]
        served = self._route(operation, params)
        if served == CLIENT_SCHEME and self._clients is not None:
            answer = await self._clients.ask(method, params)
        else:
            provider = self._provider(served)
            if not operation.needs.providedBy(provider):
                raise _not_served(method, served)
            answer = await _carried_out(method, served, operation, provider, params)
        if operation.writes and self.events is not None and self.events.listened(_WRITTEN):
            for key in operation.writes:
                self.events.emit(_WRITTEN, {"uri": params[key]})
        return answer

    async def watch(self, request: WatchRequest, changed: Changed) -> IResourceWatcher:
        """See `IResources.watch`."""
        self.check_watched(request.root)
        served = _scheme("uri", request.root)
        if served == CLIENT_SCHEME and self._clients is not None:
            return await self._clients.watch(request, changed)
        provider = self._provider(served)
        try:
            watcher: IResourceWatcher = await asked(provider.watch, request, changed)
        except (RpcError, CancelledError):
            raise
        except Exception:
            raise _failed(_WATCH, served) from None
        return watcher

    def check_watched(self, root: str) -> None:
        """See `IResources.check_watched`."""
        served = _scheme("uri", root)
        if served == CLIENT_SCHEME and self._clients is not None:
            return
        if not IWatchedResources.providedBy(self._provider(served)):
            raise _not_served(_WATCH, served)

    async def _request(self, params: State) -> Any:
        if scheme(params["uri"]) == CLIENT_SCHEME and self._clients is not None:
            return await self._clients.ask(_REQUEST, params)
        writes = bool(params.get("write"))
        reads = bool(params.get("read")) or not writes
        modes = " and ".join(mode for mode, on in (("read", reads), ("write", writes)) if on)
        log.info("access to {uri} granted: {modes}", uri=params["uri"][:200], modes=modes)
        return {}

    # -- who is asked -----------------------------------------------------------------

    def _route(self, operation: Operation, params: State) -> str:
        """The scheme whose store is asked. Raises `RpcError`."""
        first, *others = operation.ends
        served = _scheme(first, params[first])
        for key in others:
            other = _scheme(key, params[key])
            if other != served:
                raise invalid_params(
                    f"params.{key}: {other}: is another scheme than {served}: of "
                    f"params.{first}, and neither's store can carry out the other's half"
                )
        return served

    def _provider(self, served: str) -> Any:
        provider = self._providers.get(served)
        if provider is None:
            raise RpcError(METHOD_NOT_FOUND, f"nothing here serves {served[:100]}:")
        return provider


def _scheme(key: str, uri: str) -> str:
    found = scheme(uri)
    if not found:
        raise invalid_params(f"params.{key}: expected a URI with a scheme, found {uri[:200]!r}")
    return found


def _not_served(method: str, served: str) -> RpcError:
    return RpcError(METHOD_NOT_FOUND, f"{method} is not served for {served}:")


def _failed(method: str, served: str) -> RpcError:
    """What is raised in place of a provider's failure, which is in the log."""
    log.failure("{method} of {scheme}: failed", method=method, scheme=served)
    return internal_error(f"{method} of {served}: failed; the host's log says why")


async def _carried_out(
    method: str, served: str, operation: Operation, provider: Any, params: State
) -> Any:
    """The provider's answer. What it raises but `RpcError` is told in safe words."""
    try:
        answer = await asked(operation.call, provider, params)
    except (RpcError, CancelledError):
        raise
    except Exception:
        raise _failed(method, served) from None
    try:
        check_answer(method, answer)
    except ShapeError as error:
        log.error(
            "the provider of {scheme}: answered what AHP does not declare: {words}",
            scheme=served,
            words=str(error),
        )
        raise internal_error(f"{method} of {served}: had no answer; the log says why") from None
    return answer
