"""`createResourceWatch`, and the service that owns what it watches."""

from collections.abc import Awaitable
from typing import Final

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from ahpd.channels.store import ChannelStore
from ahpd.interfaces import IResources, WatchRequest
from ahpd.protocol.client_uris import is_client_uri, unwrapped
from ahpd.protocol.errors import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    NOT_FOUND,
    PERMISSION_DENIED,
    RpcError,
    invalid_params,
    permission_denied,
)
from ahpd.protocol.globs import WatchFilter
from ahpd.protocol.uris import ROOT
from ahpd.watches.channels import MOST_WATCHES, WatchChannels
from ahpd.watches.names import channel_of

_FOLDER: Final = "directory"
#: What a read is asked with that is to say no more than whether it may be.
_NO_BYTES: Final = {"ahpd.range": {"length": 0}}


class ResourceWatches(Service):
    """The resource watches of one host (AHP.txt, `createResourceWatch`)."""

    name = "watches"

    def __init__(
        self,
        store: ChannelStore,
        resources: IResources,
        clock: IReactorTime,
        most: int = MOST_WATCHES,
    ) -> None:
        self._resources = resources
        #: Which channels are watches' (`IChannelSource`).
        self.channels = WatchChannels(store, resources, clock, most)

    async def create(self, request: WatchRequest) -> str:
        """The channel of a watch. Nothing is watched before its first subscribe.

        Raises `RpcError`: -32602 for a pattern nobody can read and for what is no resource's
        URI, -32601 for a scheme nobody watches, -32008 for a root that is not there and
        -32009 for one this host may not read. Of a client's resource the client is asked
        at the first subscribe.
        """
        try:
            WatchFilter(request.includes, request.excludes)
        except ValueError as error:
            raise invalid_params(f"params: {error}") from None
        self._resources.check_watched(request.root)
        channel = channel_of(request)
        if is_client_uri(request.root):
            try:
                unwrapped(request.root)
            except ValueError as error:
                raise invalid_params(f"params.uri: {error}") from None
        else:
            await self._check(request.root)
        return channel

    async def _check(self, root: str) -> None:
        """Raise `RpcError` unless the root is there and may be read."""
        is_read = False
        try:
            found = await self._asked("resourceResolve", root)
            if found is not None and found["type"] == _FOLDER:
                await self._asked("resourceList", root)
            elif found is not None:
                is_read = True
                await self._asked("resourceRead", root, _meta=_NO_BYTES)
        except RpcError as error:
            if is_read and error.code == INVALID_PARAMS:
                return  # a pipe or a device: there, and nothing to be read
            if error.code == NOT_FOUND:
                raise RpcError(NOT_FOUND, f"Resource not found: {root}") from error
            if error.code == PERMISSION_DENIED:
                raise permission_denied(f"Permission denied: {root}") from error
            raise

    async def _asked(self, method: str, root: str, **more: object) -> dict[str, object] | None:
        """An answer; None of a provider that has no such question."""
        try:
            answer: dict[str, object] = await self._resources.ask(
                method, {"channel": ROOT, "uri": root, **more}
            )
        except RpcError as error:
            if error.code == METHOD_NOT_FOUND:
                return None
            raise
        return answer

    def stopService(self) -> Awaitable[None]:
        """Let go of every watch; done when all are."""
        super().stopService()  # type: ignore[no-untyped-call]
        return Deferred.fromCoroutine(self.channels.stop())
