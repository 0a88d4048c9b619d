"""Reads in turn: a connection is answered one after the other, as fast as it takes them.

An answer may be large, a file's or a folder's, and a client may ask for many at once.
Answered all together they would be held in memory until the last of them was sent, and the
client would be closed for not reading what it is reading (`ahpd/peers/outbox.py`).
"""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import deferLater

from ahpd.interfaces import ClientGone, IClientConnection

#: How often a read that waits for its client looks again, in seconds.
_LOOK_AGAIN: Final = 0.005

#: How long a read holds back the next one of its connection, in seconds: one that waits for
#: a disk that does not answer is to hold back nothing else.
LONG: Final = 1.0


@attrs.define(eq=False, repr=False)
class _Line:
    """The reads of one kind of one connection. Who is first has its turn."""

    waiting: deque[Deferred[None]] = attrs.field(factory=deque)
    turn: object | None = None
    over: IDelayedCall | None = None


class ReadsInTurn:
    """Turns at reading. Each connection has a line for each kind of read, its method."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._lines: dict[tuple[int, str], _Line] = {}

    async def read(
        self, caller: IClientConnection, kind: str, work: Callable[[], Awaitable[Any]]
    ) -> Any:
        """What `work()` comes to, begun once the reads before it are answered and taken.

        Raises `ClientGone` for a client that went meanwhile, and nothing was read for it.
        """
        key = (caller.connection_id, kind)
        line = self._lines.setdefault(key, _Line())
        if line.turn is not None:
            waiting: Deferred[None] = Deferred()
            line.waiting.append(waiting)
            await waiting
        turn = line.turn = object()
        try:
            await self._until_taken(caller)
            line.over = self._clock.callLater(LONG, self._next, key, turn)
            return await work()
        finally:
            self._next(key, turn)

    async def _until_taken(self, caller: IClientConnection) -> None:
        while caller.lagging():
            await deferLater(self._clock, _LOOK_AGAIN)
        if not caller.connected:
            raise ClientGone("The client went before it was answered")

    def _next(self, key: tuple[int, str], turn: object) -> None:
        """The turn is over, unless it was before."""
        line = self._lines.get(key)
        if line is None or line.turn is not turn:
            return
        if line.over is not None and line.over.active():
            line.over.cancel()
        line.over = None
        if not line.waiting:
            del self._lines[key]
            return
        line.turn = object()  # nobody's, until whoever is next has it
        # In the reactor's next turn: by then the answer is on its way, and is looked at.
        self._clock.callLater(0, line.waiting.popleft().callback, None)
