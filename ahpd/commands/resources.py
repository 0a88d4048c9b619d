"""Resources: the nine `resource*` commands, and `createResourceWatch`."""

from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

from twisted.internet.interfaces import IReactorTime

from ahpd.commands.reading import ReadsInTurn
from ahpd.interfaces import Command, ICaller, IClientConnection, IResources, WatchRequest
from ahpd.protocol import State
from ahpd.protocol.uris import scheme

#: The questions whose answer may be large.
_READS: Final = ("resourceRead", "resourceList")
#: The other commands that are a question to whoever serves the URI.
_ASKED: Final = (
    "resourceResolve",
    "resourceWrite",
    "resourceDelete",
    "resourceMkdir",
    "resourceMove",
    "resourceCopy",
    "resourceRequest",
)


class Watches(Protocol):
    """Where watches are made."""

    def create(self, request: WatchRequest) -> Awaitable[str]:
        """The channel of a watch, which its first subscriber starts. Raises `RpcError`."""


def resource_commands(
    resources: IResources, watches: Watches, clock: IReactorTime
) -> Mapping[str, Command]:
    """The commands by their method; their params were checked for shape."""
    reads = ReadsInTurn(clock)

    def ask(method: str, caller: ICaller, params: State) -> Awaitable[Any]:
        answer: Awaitable[Any] = resources.ask(method, params)
        return answer

    def read(method: str, caller: IClientConnection, params: State) -> Awaitable[Any]:
        reading = partial(ask, method, caller, params)
        # This machine's files are there at once, and large. What has to be asked for
        # elsewhere is asked for together.
        if scheme(params["uri"]) == "file":
            return reads.read(caller, method, reading)
        return reading()

    async def create_resource_watch(caller: ICaller, params: State) -> State:
        return {"channel": await watches.create(_request(params))}

    commands: dict[str, Command] = {method: partial(ask, method) for method in _ASKED}
    commands |= {method: partial(read, method) for method in _READS}
    return {**commands, "createResourceWatch": create_resource_watch}


def _request(params: State) -> WatchRequest:
    return WatchRequest(
        root=params["uri"],
        recursive=bool(params.get("recursive")),
        includes=_items(params.get("includes")),
        excludes=_items(params.get("excludes")) or (),
    )


def _items(patterns: Mapping[str, Sequence[str]] | None) -> Sequence[str] | None:
    return None if patterns is None else tuple(patterns["items"])
