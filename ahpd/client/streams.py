"""Envelopes as an asynchronous iterator."""

from collections import deque
from collections.abc import Callable

from twisted.internet.defer import Deferred

from ahpd.client.envelope import ActionEnvelope


class EnvelopeStream:
    """What is said from the moment the stream was made, in order, until its end.

    It ends when the connection goes or `close` is called, after what had arrived was
    taken. Nothing is dropped and nothing bounds what waits: take it as it comes. One
    task iterates over it.
    """

    def __init__(self, closed: Callable[["EnvelopeStream"], None]) -> None:
        self._waiting: deque[ActionEnvelope] = deque()
        self._taker: Deferred[None] | None = None
        self._ended = False
        self._closed = closed

    def put(self, envelope: ActionEnvelope) -> None:
        """Hand over one more envelope; for the client."""
        if not self._ended:
            self._waiting.append(envelope)
            self._wake()

    def end(self) -> None:
        """Say that nothing comes any more; for the client."""
        self._ended = True
        self._wake()

    def close(self) -> None:
        """Take no more; what has arrived can still be read."""
        self._closed(self)
        self.end()

    def _wake(self) -> None:
        taker, self._taker = self._taker, None
        if taker is not None:
            taker.callback(None)

    def __aiter__(self) -> "EnvelopeStream":
        return self

    async def __anext__(self) -> ActionEnvelope:
        while not self._waiting:
            if self._ended:
                raise StopAsyncIteration
            if self._taker is not None:
                raise RuntimeError("this stream is being iterated over already")
            self._taker = Deferred(self._taker_cancelled)
            await self._taker
        return self._waiting.popleft()

    def _taker_cancelled(self, _: Deferred[None]) -> None:
        self._taker = None
