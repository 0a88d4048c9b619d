"""The `x-` channels that are served: who may watch them, what they read, what is said on them.

Their states are whoever's registered them: the channel store holds none, only who watches and
the one order things are said in. Source: PLUGINS.txt, "A channel of your own".
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.calling import awaited, called
from ahpd.channels.envelope import Envelope, NarrowedAction
from ahpd.channels.store import ChannelStore
from ahpd.extensions.audiences import Complaints, Narrowed
from ahpd.extensions.callers import Callers
from ahpd.extensions.collecting import Collector
from ahpd.extensions.names import on_scheme
from ahpd.interfaces import (
    Caller,
    Channel,
    IChannelHandle,
    IClientConnection,
    ISubscriber,
    Reader,
    Watching,
)
from ahpd.protocol import Action, State
from ahpd.protocol.errors import RpcError, internal_error
from ahpd.protocol.json_values import checked_text, misfit
from ahpd.wire.codec import Encoded, decode, encode

log = Logger()


@attrs.define(eq=False, repr=False)
class Taken:
    """A channel's state as it was read for one connection, and what was said since.

    Whoever takes it either joins or drops it, once.
    """

    name: str
    state: Encoded
    seq: int
    """The `serverSeq` the state is of."""
    _store: ChannelStore
    _collector: Collector

    def join(self, subscriber: ISubscriber) -> Sequence[Envelope]:
        """Have `subscriber` watch from now on; what it has to be sent behind the snapshot."""
        self.drop()
        self._store.subscribe(self.name, subscriber)
        return tuple(self._collector.kept)

    def drop(self) -> None:
        """Nobody watches after all. Again is no error."""
        self._store.unsubscribe(self.name, self._collector)

    @property
    def stale(self) -> bool:
        """Whether it is not worth joining: the channel went, or too much was said meanwhile."""
        collector = self._collector
        return collector.overrun or not self._store.is_watching(self.name, collector)


@implementer(IChannelHandle)
class ServedChannel:
    """One registered channel, for as long as it is served."""

    def __init__(
        self, scheme: str, channel: Channel, store: ChannelStore, callers: Callers
    ) -> None:
        self.scheme = scheme
        self.channel = channel
        self.served = True
        self._store = store
        self._callers = callers
        self._complaints = Complaints(scheme)
        self._clients: dict[str, int] = {}
        """How many URIs and connections each client watches."""

    # -- IChannelHandle -------------------------------------------------------------

    def publish(
        self,
        uri: str,
        action: Action,
        *,
        visible: Callable[[Reader | None, str], bool] | None = None,
        to: str | None = None,
        shown_to: Callable[[Caller], bool] | None = None,
    ) -> None:
        """See `IChannelHandle.publish`. `shown_to` narrows it by the whole of who asks."""
        if not self.served:
            raise RuntimeError(f"{self.scheme}: the channel is not served any more")
        name = self._named(uri)
        copy = self._checked(action)
        if visible is None and to is None and shown_to is None:
            self._store.dispatch(name, copy)
            return
        audience = Narrowed(self._callers, self._complaints, visible, to, shown_to)
        self._store.tell(NarrowedAction(channel=name, action=copy, audience=audience))

    def subscribers(self, uri: str) -> Sequence[Watching]:
        """See `IChannelHandle.subscribers`."""
        if not self.served:
            return ()
        found: dict[tuple[str, str | None], Watching] = {}
        for subscriber in self._store.watchers(self._named(uri)):
            caller = self._callers.watching(subscriber)
            if caller is not None:
                person = None if caller.reader is None else caller.reader.principal
                watching = Watching(client=caller.client, reader=caller.reader)
                found.setdefault((caller.client, person), watching)
        return tuple(found.values())

    def _named(self, uri: str) -> str:
        name = on_scheme(uri, self.scheme) if isinstance(uri, str) else None
        if name is None:
            raise ValueError(f"{self.scheme}: {str(uri)[:200]!r} is no URI of this scheme")
        return checked_text(name, f"{self.scheme}: the URI")

    def _checked(self, action: Action) -> Action:
        """A copy of `action`, which whoever published it may go on changing."""
        kind = action.get("type") if isinstance(action, Mapping) else None
        if not isinstance(kind, str) or not kind.startswith(f"{self.scheme}/"):
            raise ValueError(
                f"{self.scheme}: the type of an action begins with {self.scheme}/, found {kind!r}"
            )
        try:
            copy: Action = decode(encode(action))
        except Exception as wrong:
            found = misfit(action, "action") or wrong
            raise ValueError(f"{self.scheme}: {kind!a} is no JSON: {found}") from None
        return copy

    # -- a subscribe ------------------------------------------------------------------

    def enter(self, name: str, connection: IClientConnection) -> Taken | Awaitable[Taken]:
        """Let a connection in and read the channel for it. Raises `RpcError`."""
        caller = self._callers.of(connection)
        admitted = self._admitted(name, caller)
        if isawaitable(admitted):
            return self._entered_later(name, connection, caller, admitted)
        return self._read(name, connection, caller)

    async def _entered_later(
        self,
        name: str,
        connection: IClientConnection,
        caller: Caller,
        admitted: Awaitable[bool],
    ) -> Taken:
        answer = await self._careful(name, admitted)
        if answer is not True:
            raise self._denied(name, caller)
        self._check_served(name)
        taken = self._read(name, connection, caller)
        return taken if isinstance(taken, Taken) else await taken

    def _admitted(self, name: str, caller: Caller) -> bool | Awaitable[bool]:
        grant, authorize = self.channel.grant, self.channel.authorize
        if not grant or self._callers.holds(caller, grant):
            return True
        answer: Any = False
        if authorize is not None:
            try:
                answer = called(authorize, name, caller)
            except RpcError:
                raise
            except Exception:
                log.failure("who may watch {uri} could not be told", uri=name)
        if isawaitable(answer):
            return answer
        if answer is not True:
            raise self._denied(name, caller)
        return True

    async def _careful(self, name: str, admitted: Awaitable[bool]) -> bool:
        try:
            answer: bool = await awaited(admitted)
        except RpcError:
            raise
        except Exception:
            log.failure("who may watch {uri} could not be told", uri=name)
            return False
        return answer

    def _denied(self, name: str, caller: Caller) -> RpcError:
        return self._callers.denied(caller, self.channel.grant, f"Subscribing to {name}")

    def _read(
        self, name: str, connection: IClientConnection, caller: Caller
    ) -> Taken | Awaitable[Taken]:
        collector, before = Collector(connection), self._store.server_seq
        self._store.subscribe(name, collector)
        try:
            state: Any = called(self.channel.snapshot, name, caller)
            if isawaitable(state):
                return self._read_later(name, collector, before, state)
            collector.restart()  # what it said while it read is in what it read
            return self._taken(name, collector, self._store.server_seq, state)
        except Exception as error:
            raise self._unread(name, collector, error) from None

    async def _read_later(
        self, name: str, collector: Collector, seq: int, reading: Awaitable[State]
    ) -> Taken:
        try:
            state = await awaited(reading)
            self._check_served(name)
            return self._taken(name, collector, seq, state)
        except Exception as error:
            raise self._unread(name, collector, error) from None
        except BaseException:  # whoever waited for it waits no more
            self._store.unsubscribe(name, collector)
            raise

    def _taken(self, name: str, collector: Collector, seq: int, state: Any) -> Taken:
        if not isinstance(state, Mapping):
            raise TypeError(f"the state of {name} is {type(state).__name__}, and no object")
        return Taken(name, Encoded(_encoded(state, name)), seq, self._store, collector)

    def _unread(self, name: str, collector: Collector, error: Exception) -> RpcError:
        """How a channel that could not be read is refused; called where that is handled."""
        self._store.unsubscribe(name, collector)
        if isinstance(error, RpcError):
            return error
        log.failure("{uri} could not be read", uri=name)
        return internal_error(f"{name} could not be read; the host's log says why")

    def _check_served(self, name: str) -> None:
        if not self.served:
            raise internal_error(f"{name} went while it was being read")

    # -- who watches --------------------------------------------------------------------

    def watched(self, uri: str, subscriber: ISubscriber, began: bool) -> None:
        """A subscriber watches one of the channel's URIs, or does no more."""
        caller = self._callers.watching(subscriber)
        if caller is None:
            return
        count = self._clients.get(caller.client, 0) + (1 if began else -1)
        if count > 0:
            self._clients[caller.client] = count
        else:
            self._clients.pop(caller.client, None)
        if began:
            others = [one for one in self._store.watchers(uri) if one is not subscriber]
            if not any(getattr(one, "record", None) is not None for one in others):
                self._tell(self.channel.joined, uri)
        elif count <= 0:
            self._tell(self.channel.left, caller.client)

    def _tell(self, told: Callable[[str], object] | None, of: str) -> None:
        if told is None:
            return
        try:
            answer = called(told, of)
        except Exception:
            log.failure("{scheme}: what follows who watches it failed", scheme=self.scheme)
            return
        if isawaitable(answer):
            Deferred.fromCoroutine(self._told(answer))

    async def _told(self, answer: Awaitable[object]) -> None:
        try:
            await awaited(answer)
        except Exception:
            log.failure("{scheme}: what follows who watches it failed", scheme=self.scheme)


def _encoded(state: Mapping[str, Any], name: str) -> bytes:
    try:
        return encode(state)
    except Exception as wrong:
        found = misfit(state, "state") or wrong
        raise ValueError(f"the state of {name} is no JSON: {found}") from None
