"""A connection inside the process, for plugins and tests.

A message is handed over on a later turn of the clock, in order and never from inside
the call that sent it. A `Link` is the wire itself: a test may hold what travels one
way, as a reader does that stands still, or cut it.
"""

from collections import deque
from collections.abc import Callable

import attrs
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.interfaces import IConnection, IMessageHandler, IPeerFactory
from ahpd.wire.codec import Frame

_log = Logger()


@implementer(IConnection)
class MemoryConnection:
    """One end of a link: what is sent here arrives at the other end."""

    def __init__(self, name: str, clock: IReactorTime) -> None:
        self.name = name
        self.address: str | None = None
        self.forwarded_for: str | None = None
        self.report_pending = False
        """Say in `pending_bytes` what the other end has not taken, as a socket does."""
        self._clock = clock
        self._link: Link | None = None
        self._handler: IMessageHandler | None = None
        self._outbox: deque[bytes] = deque()
        self._waiting = 0
        self._held = False
        self._closing: str | None = None
        self._timer: IDelayedCall | None = None

    # -- IConnection -----------------------------------------------------------

    def send(self, frame: Frame) -> None:
        if self._closing is not None or self._link is None or self._link.ended:
            return
        self._outbox.append(frame.payload)
        self._waiting += len(frame.payload)
        self._schedule()

    def pending_bytes(self) -> int | None:
        """None: an in-process pair is never behind (AHP.txt, "A client that stops reading")."""
        return self._waiting if self.report_pending else None

    def progressing(self) -> bool:
        return not (self._held and self._outbox)

    def close(self, code: int, reason: str) -> None:
        if self._closing is None:
            self._closing = f"closed: {code} {reason}".rstrip()
            self._schedule()

    def abort(self) -> None:
        if self._link is not None:
            self._link.cut("cut off")

    # -- the way to the other end ----------------------------------------------

    def hold(self) -> None:
        """Let nothing sent here arrive, as if the other end had stopped reading."""
        self._held = True

    def release(self) -> None:
        """Let what was held arrive, on a later turn."""
        self._held = False
        self._schedule()

    def _schedule(self) -> None:
        idle = not self._outbox and self._closing is None
        if self._timer is None and not self._held and not idle:
            self._timer = self._clock.callLater(0, self._deliver)

    def _deliver(self) -> None:
        self._timer = None
        link = self._link
        if link is None:
            return
        # What the receiver answers with now goes on a later turn; so does what it sends
        # itself through the other end.
        for _ in range(len(self._outbox)):
            if link.ended or self._held:
                return
            message = self._outbox.popleft()
            self._waiting -= len(message)
            link.other(self).receive(message)
        if self._closing is not None and not self._outbox:
            link.end(self._closing)
        else:
            self._schedule()

    def receive(self, message: bytes) -> None:
        """A message from the other end; nothing once this end closed."""
        if self._handler is None or self._closing is not None:
            return
        try:
            self._handler.message_received(message)
        except Exception:
            _log.failure("{name}: its handler failed on a message", name=self.name)
            self.close(1011, "internal error")

    def attach(self, link: "Link", handler: IMessageHandler | None) -> None:
        """Called once by `pair` for the link, and once more for the handler."""
        self._link = link
        self._handler = handler

    def lose(self, reason: str) -> None:
        """The link is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._outbox.clear()
        self._waiting = 0
        handler, self._handler = self._handler, None
        if handler is not None:
            try:
                handler.connection_lost(reason)
            except Exception:
                _log.failure("{name}: its handler failed at the connection's end", name=self.name)


class Link:
    """The wire between two ends. Either end's close, or `cut`, ends it once for both."""

    def __init__(
        self, clock: IReactorTime, server: MemoryConnection, client: MemoryConnection
    ) -> None:
        self.server = server
        self.client = client
        self.ended = False
        self._clock = clock

    def other(self, end: MemoryConnection) -> MemoryConnection:
        """The end that `end` sends to."""
        return self.client if end is self.server else self.server

    def cut(self, reason: str = "the connection was cut") -> None:
        """Drop what travels and end both sides, as a network does that goes away."""
        self.end(reason)

    def end(self, reason: str) -> None:
        """Tell both handlers on the next turn; nothing is delivered any more."""
        if self.ended:
            return
        self.ended = True
        self._clock.callLater(0, self._lose, reason)

    def _lose(self, reason: str) -> None:
        self.server.lose(reason)
        self.client.lose(reason)


@attrs.frozen
class MemoryPair:
    """A connected pair: the handlers both factories made, and the wire between them."""

    server: IMessageHandler
    client: IMessageHandler
    link: Link


def pair(
    clock: IReactorTime,
    server_factory: IPeerFactory,
    client_factory: IPeerFactory,
    name: str = "memory",
    prepare: Callable[[Link], None] | None = None,
) -> MemoryPair:
    """Connect two peers inside the process; each factory is called before this returns.

    `name` is what the host's side calls the connection. `prepare` is shown the link
    before either factory is, to hold an end from the start.
    """
    server = MemoryConnection(name, clock)
    client = MemoryConnection(f"{name} (client)", clock)
    link = Link(clock, server, client)
    for end in (server, client):
        end.attach(link, None)
    if prepare is not None:
        prepare(link)
    handlers = []
    for end, factory in ((server, server_factory), (client, client_factory)):
        handler = factory.accept(end)
        end.attach(link, handler)
        handlers.append(handler)
    return MemoryPair(handlers[0], handlers[1], link)
