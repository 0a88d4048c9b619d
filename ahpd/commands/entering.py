"""The `x-` channels a handshake names: each is read ahead of the one step that joins them all."""

from collections.abc import Awaitable, Coroutine, Iterable, Sequence
from typing import Any

from twisted.logger import Logger

from ahpd.extensions.channels import Taken
from ahpd.extensions.registry import Extensions
from ahpd.peers.peer import Peer
from ahpd.protocol.errors import RpcError

log = Logger()


class Entering:
    """What was read for one connection. What is in `taken` is joined, or dropped with `drop`."""

    def __init__(self, extensions: Extensions | None, peer: Peer, channels: Iterable[str]) -> None:
        self.taken: dict[str, Taken] = {}
        """By the channel as it was spelled; one that could not be read is not here."""
        self._waiting: list[tuple[str, Awaitable[Taken]]] = []
        for channel in dict.fromkeys(channels):
            name = None if extensions is None else extensions.resolve(channel)
            if extensions is None or name is None:
                continue
            try:
                entered = extensions.enter(name, peer)
            except RpcError as error:
                _refused(channel, error)
                continue
            if isinstance(entered, Taken):
                self._keep(channel, entered)
            else:
                self._waiting.append((channel, entered))

    def reading(self) -> Sequence[Coroutine[Any, Any, None]]:
        """What has to be awaited before everything is in `taken`."""
        waiting, self._waiting = self._waiting, []
        return [self._read(channel, entered) for channel, entered in waiting]

    async def _read(self, channel: str, entered: Awaitable[Taken]) -> None:
        try:
            self._keep(channel, await entered)
        except RpcError as error:
            _refused(channel, error)

    def _keep(self, channel: str, taken: Taken) -> None:
        if any(held.name == taken.name for held in self.taken.values()):
            taken.drop()  # another spelling of it
        else:
            self.taken[channel] = taken

    def drop_stale(self) -> None:
        """Leave out what was read and is not worth joining any more, before anything is joined."""
        for channel, taken in list(self.taken.items()):
            if taken.stale:
                taken.drop()
                del self.taken[channel]

    def drop(self) -> None:
        """Nobody joins."""
        for taken in self.taken.values():
            taken.drop()
        self.taken.clear()


def _refused(channel: str, error: RpcError) -> None:
    log.info("{channel} was not subscribed: {words}", channel=channel, words=error.message)
