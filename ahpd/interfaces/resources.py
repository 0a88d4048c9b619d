"""The resources' side: whoever serves a URI scheme, and what the host asks of clients.

A provider serves one scheme. Reading is required of it; everything else is an interface
of its own that it provides or does not, and what it does not provide clients are told is
not there (PLUGINS.txt, "A resource scheme"). Values are the wire's own (schema: the
`Resource*` params and results). Every method may raise `RpcError` of the resource family:
-32008 not found, -32009 permission denied, -32010 exists already, -32011 conflict.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import attrs
from zope.interface import Interface

from ahpd.protocol import State


@attrs.frozen(kw_only=True)
class Wanted:
    """How, and how much of, a resource is to be read."""

    encoding: str | None = None
    """`utf-8` or `base64`; None leaves it to the provider."""
    offset: int = 0
    """The first byte wanted."""
    length: int | None = None
    """How many bytes at most; None for all there are."""


class IResourceProvider(Interface):
    """Serves the resources of one scheme.

    A class says so with `@implementer(IResourceProvider)` of zope.interface, and names the others
    it provides beside it.
    """

    async def read(uri: str, wanted: Wanted) -> State:
        """What is there (schema: ResourceReadResult): `{"data": TEXT, "encoding": "utf-8",
        "contentType"?: "text/markdown"}`. `uri` is whole, `notes:/home`."""


class IListedResources(Interface):
    """A provider whose scheme has directories."""

    async def list(uri: str) -> Sequence[State]:
        """The entries of a directory (schema: DirectoryEntry): `{"name", "type": "file"}`."""


class IResolvedResources(Interface):
    """A provider that knows what a URI is."""

    async def resolve(uri: str, follow_symlinks: bool) -> State:
        """Schema: ResourceResolveResult."""


class IWritableResources(Interface):
    """A provider that can be written to."""

    async def write(params: Mapping[str, Any]) -> None:
        """Schema: ResourceWriteParams, checked."""

    async def delete(uri: str, recursive: bool) -> None:
        """Schema: ResourceDeleteParams."""

    async def mkdir(uri: str) -> None:
        """Make a directory and the parents it needs; one that is there is no error."""

    async def move(source: str, destination: str, fail_if_exists: bool) -> None:
        """Schema: ResourceMoveParams; both ends are of the provider's scheme."""

    async def copy(source: str, destination: str, fail_if_exists: bool) -> None:
        """Schema: ResourceCopyParams; both ends are of the provider's scheme."""


@attrs.frozen(kw_only=True)
class WatchRequest:
    """What to watch (schema: ResourceWatchState)."""

    root: str
    """A URI."""
    recursive: bool = False
    includes: Sequence[str] | None = None
    """Globs relative to the root; None reports everything that is not excluded."""
    excludes: Sequence[str] = ()

    def state(self) -> State:
        """As it travels (schema: ResourceWatchState)."""
        state: State = {"root": self.root, "recursive": self.recursive}
        if self.excludes:
            state["excludes"] = {"items": list(self.excludes)}
        if self.includes is not None:
            state["includes"] = {"items": list(self.includes)}
        return state


#: Takes one batch of changes (schema: ResourceChange), called in the reactor's thread.
Changed = Callable[[Sequence[State]], None]


class IResourceWatcher(Interface):
    """Something that is being watched."""

    def release() -> Awaitable[None]:
        """Watch no more; nothing is reported from this call on. Again is no error."""


class IWatchedResources(Interface):
    """A provider whose resources can be watched."""

    async def watch(request: WatchRequest, changed: Changed) -> IResourceWatcher:
        """Watch from when this returns. Raises `RpcError` where it cannot be watched."""


class IClientFiles(Interface):
    """The resources that clients alone have, by `vscode-agent-client:` URI (AHP.txt,
    "Server-to-client commands")."""

    async def ask(method: str, params: State) -> Any:
        """Send `params` of a `resource*` command, whose URIs are under the client scheme, to
        the client they name, with the URIs as that client knows them; its answer verbatim.

        Raises `RpcError` as the client refused, -32603 for a client that is not here and
        does not come back in 5 s.
        """

    async def watch(request: WatchRequest, changed: Changed) -> IResourceWatcher:
        """Have the client watch; the batches' URIs are under the client scheme."""


class IResources(Interface):
    """Every resource of the host, whatever its scheme: each goes to whoever serves it."""

    async def ask(method: str, params: State) -> Any:
        """One of the `resource*` commands (all but `createResourceWatch`), params checked: its
        result. Raises `RpcError`."""

    async def watch(request: WatchRequest, changed: Changed) -> IResourceWatcher:
        """Watch `request.root` wherever it is served."""

    def check_watched(root: str) -> None:
        """Raise `RpcError` where nobody watches resources of a root's scheme, -32601 as a rule."""
