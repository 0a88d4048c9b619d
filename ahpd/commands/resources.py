"""Resources: the nine `resource*` commands, and `createResourceWatch`."""

from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

from ahpd.interfaces import Command, ICaller, IResources, WatchRequest
from ahpd.protocol import State

#: The commands that are a question to whoever serves the URI.
_ASKED: Final = (
    "resourceRead",
    "resourceList",
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


def resource_commands(resources: IResources, watches: Watches) -> Mapping[str, Command]:
    """The commands by their method; their params were checked for shape."""

    def ask(method: str, caller: ICaller, params: State) -> Awaitable[Any]:
        answer: Awaitable[Any] = resources.ask(method, params)
        return answer

    async def create_resource_watch(caller: ICaller, params: State) -> State:
        return {"channel": await watches.create(_request(params))}

    commands: dict[str, Command] = {method: partial(ask, method) for method in _ASKED}
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
