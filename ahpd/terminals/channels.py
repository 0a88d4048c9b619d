"""Terminals that are gone and are still named: their channels, while somebody looks.

A call in a transcript names the terminal it ran in. What that terminal held is kept in
the store; a subscribe opens its channel on that state, exited, and nothing is said on it
(AHP.txt, `terminal/exited`).
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.channels.store import ChannelStore
from ahpd.interfaces import IChannelSource, StoreFailure
from ahpd.protocol.errors import internal_error, resource_not_found
from ahpd.protocol.uris import ChannelKind
from ahpd.wire.codec import decode

log = Logger()

#: How long a channel stays open that was asked for and that nobody watches, in seconds: a
#: client that comes back waits for all of its channels before it watches any.
UNWATCHED: Final = 30.0


@implementer(IChannelSource)
class TerminalChannels:
    """Opens what is kept of terminals. `kept` reads it: an encoded TerminalState, or None.

    It may raise `StoreFailure`, which is in the log then, and the terminal unknown.
    """

    def __init__(
        self, store: ChannelStore, clock: IReactorTime, kept: Callable[[str], bytes | None]
    ) -> None:
        self._store = store
        self._clock = clock
        self._kept = kept
        self._unwatched: dict[str, IDelayedCall] = {}
        self._stopped = False

    def resolve(self, channel: str) -> str | None:
        """See `IChannelSource.resolve`. What is open needs no resolving."""
        return channel if self.is_kept(channel) else None

    def is_kept(self, channel: str) -> bool:
        """Whether anything is kept of a terminal of this URI that can be read."""
        return self._found(channel) is not None

    def _found(self, channel: str) -> bytes | None:
        # A handshake may name it among others: it is no reason to refuse them all.
        try:
            return self._kept(channel)
        except StoreFailure as failure:
            log.error("{channel} cannot be read: {words}", channel=channel, words=str(failure))
            return None

    def ready(self, channel: str) -> None:
        """See `IChannelSource.ready`. Never has to be waited for."""
        if self._store.is_open(channel):
            return
        kept = self._found(channel)
        if kept is None:
            raise resource_not_found(channel)
        try:
            state = decode(kept)
        except ValueError:
            log.failure("what is kept of the terminal {channel} is not JSON", channel=channel)
            raise internal_error(f"What is kept of {channel} cannot be read") from None
        watched = partial(self._watched, channel)
        self._store.open(channel, ChannelKind.TERMINAL, state, watched=watched)
        if not self._stopped:
            self._unwatched[channel] = self._clock.callLater(UNWATCHED, self._released, channel)

    def sought(self, channel: str) -> None:
        """See `IChannelSource.sought`: there is nowhere else to look."""

    def stop(self) -> None:
        """Leave nothing on the clock, whoever asks for a channel from now on."""
        self._stopped = True
        for channel in tuple(self._unwatched):
            self._unwatched.pop(channel).cancel()

    def _watched(self, channel: str, somebody: bool) -> None:
        if not somebody:
            self._store.release(channel)
        waiting = self._unwatched.pop(channel, None)
        if waiting is not None:
            waiting.cancel()

    def _released(self, channel: str) -> None:
        del self._unwatched[channel]
        if not self._store.watchers(channel):
            self._store.release(channel)
