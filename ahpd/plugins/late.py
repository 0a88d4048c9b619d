"""What a plugin holds before there is what it stands for: a channel's handle, a collection."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.interfaces import (
    IChannelHandle,
    IRecords,
    PluginError,
    Reader,
    RecordChange,
    RecordOptions,
    RecordsFailure,
    Watching,
)
from ahpd.plugins.world import World
from ahpd.protocol import Action, State

log = Logger(namespace="ahpd.plugin")


@implementer(IChannelHandle)
class LateHandle:
    """The handle of a channel whose host may not be built yet, or may have taken it back."""

    def __init__(self, world: World, plugin: str, scheme: str) -> None:
        self._world = world
        self._plugin = plugin
        self._scheme = scheme
        self._gone = False

    def _handle(self) -> IChannelHandle:
        side = self._world.built
        if side is None:
            raise RuntimeError(f"{self._scheme}: nothing is published before the host is built")
        handle = None if self._gone else side.channel(self._plugin, self._scheme)
        if handle is None:
            raise RuntimeError(f"{self._scheme}: the plugin {self._plugin} has no such channel")
        return handle

    def publish(
        self,
        uri: str,
        action: Action,
        *,
        visible: Callable[[Reader | None, str], bool] | None = None,
        to: str | None = None,
    ) -> None:
        """See `IChannelHandle.publish`."""
        self._handle().publish(uri, action, visible=visible, to=to)

    def subscribers(self, uri: str) -> Sequence[Watching]:
        """See `IChannelHandle.subscribers`."""
        return self._handle().subscribers(uri)

    def close(self) -> None:
        """The plugin was unloaded: what it serves when it is loaded again is not this one's."""
        self._gone = True


class Collections:
    """Which plugin opened which collection: a name is one plugin's."""

    def __init__(self) -> None:
        self._owners: dict[str, str] = {}

    def take(self, name: str, plugin: str) -> None:
        """Raises `PluginError` for a name another plugin opened."""
        owner = self._owners.setdefault(name, plugin)
        if owner != plugin:
            raise PluginError(f"the records {name} are the plugin {owner}'s")

    def forget(self, plugin: str) -> None:
        """The plugin is gone: its names are free."""
        for name in [name for name, owner in self._owners.items() if owner == plugin]:
            del self._owners[name]


@implementer(IRecords)
class LateRecords:
    """A collection of a record store that may not be known yet: each call waits for it, and for
    the `apply` of who opened it (`applied`), so that what waits at a start waits at a reload."""

    def __init__(
        self,
        world: World,
        name: str,
        options: RecordOptions,
        applied: Callable[[Callable[[], None]], None] = lambda call: call(),
    ) -> None:
        self._world = world
        self._applied = applied
        self._name = name
        self._options = options
        self._opened: Any = None
        self._watching: dict[object, Callable[[], None]] = {}
        self._gone = False

    async def _records(self) -> Any:
        applied: Deferred[None] = Deferred()
        self._applied(lambda: applied.callback(None))
        await applied
        store = await self._world.record_store()
        if self._gone:
            raise RecordsFailure(f"records {self._name}: the plugin that opened them is gone")
        return self._open(store)

    def _open(self, store: Any) -> Any:
        if store is None:
            raise RecordsFailure(
                f"records {self._name} cannot be read: this host has no record store"
            )
        if self._opened is None:
            self._opened = store.collection(self._name, self._options)
        return self._opened

    async def get(self, identifier: str) -> State | None:
        """See `IRecords.get`."""
        found: State | None = await (await self._records()).get(identifier)
        return found

    async def list(self) -> Sequence[State]:
        """See `IRecords.list`."""
        found: Sequence[State] = await (await self._records()).list()
        return found

    async def find(self, match: Mapping[str, object]) -> Sequence[State]:
        """See `IRecords.find`."""
        found: Sequence[State] = await (await self._records()).find(match)
        return found

    async def put(self, record: State) -> None:
        """See `IRecords.put`."""
        await (await self._records()).put(record)

    async def remove(self, identifier: str) -> bool:
        """See `IRecords.remove`."""
        removed: bool = await (await self._records()).remove(identifier)
        return removed

    def watch(self, changed: Callable[[RecordChange], None]) -> Callable[[], None]:
        """See `IRecords.watch`. It begins once the store is known; one that was unloaded watches
        nothing."""
        key = object()
        if self._gone:
            return lambda: None
        self._watching[key] = lambda: None
        self._world.when_records(lambda store: self._watch(key, store, changed))

        def stop() -> None:
            self._watching.pop(key, lambda: None)()

        return stop

    def _watch(self, key: object, store: Any, changed: Callable[[RecordChange], None]) -> None:
        if key not in self._watching:
            return
        try:
            self._watching[key] = self._open(store).watch(changed)
        except Exception as failure:
            # Whoever watches is not here to be told, and the others are; a call says it too.
            self._watching.pop(key, None)
            log.error(
                "records {name} are not watched: {kind}: {words}",
                name=self._name,
                kind=type(failure).__name__,
                words=str(failure),
            )

    def close(self) -> None:
        """Watch no more, and read no more."""
        self._gone = True
        watching, self._watching = self._watching, {}
        for stop in watching.values():
            stop()
