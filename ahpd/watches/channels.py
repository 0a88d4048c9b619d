"""The channels of watches: attached at the first subscribe, let go of a while after the last.

AHP.txt, `createResourceWatch`: the last unsubscribe, or the close of the last connection
subscribed, releases the watcher after 30 s, which a subscribe calls off. So a client that
drops and comes back goes on with the watch it has, and is replayed what it missed.
"""

from collections.abc import Awaitable, Coroutine, Sequence
from functools import partial
from typing import Any, Final

import attrs
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ahpd.calling import asked
from ahpd.channels.store import ChannelStore
from ahpd.interfaces import IChannelSource, IResources, IResourceWatcher
from ahpd.protocol import State
from ahpd.protocol.client_uris import is_client_uri
from ahpd.protocol.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    SESSION_NOT_FOUND,
    RpcError,
    internal_error,
)
from ahpd.protocol.uris import ChannelKind
from ahpd.watches.names import request_of

log = Logger()

#: How long a watch nobody is subscribed to goes on, in seconds.
GRACE: Final = 30.0
#: How many resources one host watches at a time.
MOST_WATCHES: Final = 512


@attrs.define(eq=False, repr=False)
class _Watch:
    """A watch that is attached."""

    watcher: IResourceWatcher
    letting_go: IDelayedCall | None = None


@implementer(IChannelSource)
class WatchChannels:
    """The watches of one host, by channel. `most` bounds how many are attached at a time."""

    def __init__(
        self,
        store: ChannelStore,
        resources: IResources,
        clock: IReactorTime,
        most: int = MOST_WATCHES,
    ) -> None:
        self._store = store
        self._resources = resources
        self._clock = clock
        self._most = most
        self._watches: dict[str, _Watch] = {}
        #: Who waits for a watch that is being attached.
        self._attaching: dict[str, list[Deferred[None]]] = {}
        #: What is under way and belongs to nobody else.
        self._under_way: set[Deferred[None]] = set()
        self._stopped = False

    # -- IChannelSource ------------------------------------------------------------

    def resolve(self, channel: str) -> str | None:
        """See `IChannelSource.resolve`. A channel is held under the name it was asked by."""
        return None if request_of(channel) is None else channel

    def ready(self, channel: str) -> Awaitable[None] | None:
        """See `IChannelSource.ready`: done once nothing that happens from then on is missed.

        Raises `RpcError`: -32001 for what this host cannot watch, -32603 where it could and a
        limit is met. The channel is not open then.
        """
        if self._store.is_open(channel):
            return None
        waiting: Deferred[None] = Deferred()
        attaching = self._attaching.get(channel)
        if attaching is not None:
            attaching.append(waiting)
        else:
            self._attaching[channel] = [waiting]
            self._go_on(self._attach_for_all(channel))
        return waiting

    def sought(self, channel: str) -> Awaitable[None] | None:
        """See `IChannelSource.sought`. A name that says nothing is looked for nowhere."""
        return None

    async def stop(self) -> None:
        """Let go of every watch, of those being attached too."""
        self._stopped = True
        for channel in tuple(self._watches):
            self._let_go(channel)
        if self._under_way:
            await DeferredList(list(self._under_way))

    # -- attaching -------------------------------------------------------------------

    async def _attach_for_all(self, channel: str) -> None:
        failure: Failure | None = None
        try:
            await self._attach(channel)
        except Exception:
            failure = Failure()
        for waiting in self._attaching.pop(channel):
            if failure is None:
                waiting.callback(None)
            else:
                waiting.errback(failure)

    async def _attach(self, channel: str) -> None:
        request = request_of(channel)
        if request is None:
            raise _not_found(channel)
        if self._stopped:
            raise internal_error(f"This host is stopping: {channel}")
        if len(self._watches) + len(self._attaching) > self._most:
            log.error(
                "{root} is not watched: there are {most} watches",
                root=request.root,
                most=self._most,
            )
            raise internal_error(f"This host watches {self._most} resources, the most it does")
        try:
            watcher = await self._resources.watch(request, partial(self._changed, channel))
        except RpcError as error:
            log.info("{root} cannot be watched: {words}", root=request.root, words=error.message)
            # What a client answers is passed on; a limit that is met says how to raise it.
            relayed = is_client_uri(request.root) and error.code != INVALID_PARAMS
            if relayed or error.code == INTERNAL_ERROR:
                raise
            raise _not_found(channel) from error
        if self._stopped:
            await asked(watcher.release)
            raise internal_error(f"This host is stopping: {channel}")
        watch = self._watches[channel] = _Watch(watcher)
        self._store.open(
            channel,
            ChannelKind.RESOURCE_WATCH,
            request.state(),
            watched=partial(self._watched, channel),
        )
        self._let_go_later(channel, watch)  # until whoever this is for has subscribed

    def _changed(self, channel: str, changes: Sequence[State]) -> None:
        """Say one batch; an empty one must not be (schema: ResourceWatchChangedAction)."""
        if changes and channel in self._watches:
            action: State = {"type": "resourceWatch/changed", "changes": {"items": list(changes)}}
            self._store.dispatch(channel, action)

    # -- letting go -------------------------------------------------------------------

    def _watched(self, channel: str, somebody: bool) -> None:
        watch = self._watches[channel]
        if somebody:
            _call_off(watch)
        else:
            self._let_go_later(channel, watch)

    def _let_go_later(self, channel: str, watch: _Watch) -> None:
        _call_off(watch)
        watch.letting_go = self._clock.callLater(GRACE, self._let_go, channel)

    def _let_go(self, channel: str) -> None:
        watch = self._watches.pop(channel)
        _call_off(watch)
        # A client that is away and comes for it later is owed its state: what happened
        # until then nobody saw.
        self._store.close(channel)
        self._go_on(self._released(channel, watch.watcher))

    async def _released(self, channel: str, watcher: IResourceWatcher) -> None:
        try:
            await asked(watcher.release)
        except Exception:
            log.failure("{channel} could not be released", channel=channel)

    def _go_on(self, work: Coroutine[Any, Any, None]) -> None:
        """Do `work` to its end; it never raises."""
        under_way: Deferred[None] = Deferred.fromCoroutine(work)
        self._under_way.add(under_way)
        under_way.addBoth(lambda _: self._under_way.discard(under_way))


def _call_off(watch: _Watch) -> None:
    call, watch.letting_go = watch.letting_go, None
    if call is not None and call.active():
        call.cancel()


def _not_found(channel: str) -> RpcError:
    return RpcError(SESSION_NOT_FOUND, f"Resource watch not found: {channel}")
