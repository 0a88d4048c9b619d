"""Where a backend says what its turn does: the host's hottest path."""

from typing import Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import deferLater
from zope.interface import implementer

from ahpd.channels.store import ChannelStore
from ahpd.interfaces import ITurnOutput
from ahpd.protocol import Action
from ahpd.protocol.actions import TURN_ACTIONS

#: What appends to something, and the key that names what it appends to.
DELTAS: Final = {
    "chat/delta": "partId",
    "chat/reasoning": "partId",
    "chat/toolCallDelta": "toolCallId",
}

#: The one thing a backend says that names no turn.
_OF_THE_CHAT: Final = "chat/activityChanged"
_OF_A_TURN: Final = TURN_ACTIONS - {_OF_THE_CHAT}

#: Characters held back to be merged at most. What is held is in no client's queue, so it
#: would get round a backend's waiting for them; and a piece this large costs little to send.
MOST_HELD: Final = 64 * 1024

#: How often a backend that was asked to wait looks again, in seconds.
_LOOK_AGAIN: Final = 0.01
#: The longest one `drained` waits, in seconds: a client that takes longer is the peer's to end.
_LONGEST_WAIT: Final = 30.0


@implementer(ITurnOutput)
class TurnOutput:
    """One turn's voice on its chat's channel.

    Deltas of one part that come within `window` seconds of the first of them are said
    as one, up to `MOST_HELD`; 0 says each as it comes. Whoever says anything else on
    the chat calls `flush` first, so that the order of what was said is kept.
    """

    __slots__ = (
        "_chat",
        "_clock",
        "_dispatch",
        "_ended",
        "_held",
        "_held_length",
        "_key",
        "_session",
        "_store",
        "_timer",
        "_window",
        "turn_id",
    )

    def __init__(
        self,
        store: ChannelStore,
        clock: IReactorTime,
        session: str,
        chat: str,
        turn_id: str,
        window: float,
    ) -> None:
        self.turn_id = turn_id
        self._store = store
        self._dispatch = store.dispatch
        self._clock = clock
        self._session = session
        self._chat = chat
        self._window = window
        self._held: list[str] = []
        self._held_length = 0
        self._key: tuple[str, str] = ("", "")
        self._timer: IDelayedCall | None = None
        self._ended = False

    def emit(self, action: Action) -> None:
        """See `ITurnOutput.emit`."""
        if self._ended:
            return
        kind = action["type"]
        if kind not in _OF_A_TURN:
            if kind != _OF_THE_CHAT:
                raise ValueError(f"a turn's output does not say {kind}: the host or a client does")
            self.flush()
            self._dispatch(self._chat, dict(action))
            return
        if action.get("turnId", self.turn_id) != self.turn_id:
            return  # about a turn that is not this one's to speak of
        if self._window and self._merged(kind, action):
            return
        if self._held:
            self.flush()
        self._dispatch(self._chat, {**action, "turnId": self.turn_id})

    def _merged(self, kind: str, action: Action) -> bool:
        names = DELTAS.get(kind)
        if names is None or "_meta" in action or "invocationMessage" in action:
            return False
        content, target = action.get("content"), action.get(names)
        if not isinstance(content, str) or not isinstance(target, str):
            return False
        if not (self._held and self._key == (kind, target)):
            self.flush()
            self._key = (kind, target)
            self._timer = self._clock.callLater(self._window, self._due)
        self._held.append(content)
        self._held_length += len(content)
        if self._held_length >= MOST_HELD:
            self.flush()
        return True

    def _due(self) -> None:
        self._timer = None
        self.flush()

    def flush(self) -> None:
        """Say now what was held back to be merged."""
        if not self._held:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        kind, target = self._key
        content = "".join(self._held)
        self._held.clear()
        self._held_length = 0
        self._dispatch(
            self._chat,
            {"type": kind, "turnId": self.turn_id, DELTAS[kind]: target, "content": content},
        )

    def end(self) -> None:
        """The turn is over: what is held goes out, and nothing more is taken."""
        self.flush()
        self._ended = True

    async def drained(self) -> None:
        """See `ITurnOutput.drained`. One wait is at most 30 seconds."""
        watched = (self._chat, self._session)
        until = self._clock.seconds() + _LONGEST_WAIT
        while not self._ended and self._store.lagging(watched) and self._clock.seconds() < until:
            await deferLater(self._clock, _LOOK_AGAIN)
