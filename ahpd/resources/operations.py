"""The `resource*` commands as calls of one provider: what each needs, and what it answers.

What a provider does not provide is not there, in the words of the operation and the scheme
(PLUGINS.txt, "A resource scheme"). What it answers is the host's to say, so it has to be
exactly what the protocol declares.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import attrs
from zope.interface.interface import InterfaceClass

from ahpd.interfaces import (
    IListedResources,
    IResolvedResources,
    IResourceProvider,
    IWritableResources,
)
from ahpd.protocol import State
from ahpd.protocol.check import check_strict
from ahpd.protocol.methods import COMMANDS
from ahpd.resources.ranges import wanted


@attrs.frozen
class Operation:
    """One command, for the provider of its scheme."""

    needs: InterfaceClass
    """What a provider provides where it serves this."""
    call: Callable[[Any, State], Awaitable[Any]]
    """The result (schema: the command's) of `call(provider, params)`."""
    ends: tuple[str, ...] = ("uri",)
    """The params that are URIs; the first one's scheme says who is asked."""
    writes: tuple[str, ...] = ()
    """Those under which something else is once it is done."""


async def _read(provider: Any, params: State) -> Any:
    return await provider.read(params["uri"], wanted(params))


async def _list(provider: Any, params: State) -> Any:
    return {"entries": list(await provider.list(params["uri"]))}


async def _resolve(provider: Any, params: State) -> Any:
    follow = params.get("followSymlinks")
    return await provider.resolve(params["uri"], True if follow is None else follow)


async def _write(provider: Any, params: State) -> Any:
    await provider.write(params)
    return {}


async def _delete(provider: Any, params: State) -> Any:
    await provider.delete(params["uri"], bool(params.get("recursive")))
    return {}


async def _mkdir(provider: Any, params: State) -> Any:
    await provider.mkdir(params["uri"])
    return {}


async def _move(provider: Any, params: State) -> Any:
    await provider.move(params["source"], params["destination"], bool(params.get("failIfExists")))
    return {}


async def _copy(provider: Any, params: State) -> Any:
    await provider.copy(params["source"], params["destination"], bool(params.get("failIfExists")))
    return {}


_ONE: Final = ("uri",)
_TWO_ENDS: Final = ("source", "destination")

#: The commands a provider carries out, by method.
OPERATIONS: Final[Mapping[str, Operation]] = {
    "resourceRead": Operation(IResourceProvider, _read),
    "resourceList": Operation(IListedResources, _list),
    "resourceResolve": Operation(IResolvedResources, _resolve),
    "resourceWrite": Operation(IWritableResources, _write, writes=_ONE),
    "resourceDelete": Operation(IWritableResources, _delete, writes=_ONE),
    "resourceMkdir": Operation(IWritableResources, _mkdir, writes=_ONE),
    "resourceMove": Operation(IWritableResources, _move, _TWO_ENDS, _TWO_ENDS),
    "resourceCopy": Operation(IWritableResources, _copy, _TWO_ENDS, _TWO_ENDS[1:]),
}


def check_answer(method: str, answer: Any) -> None:
    """Raise `ShapeError` unless a provider's answer may be told as it is."""
    check_strict(answer, COMMANDS[method].result, at=f"{method}.result")
