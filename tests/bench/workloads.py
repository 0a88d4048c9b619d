"""The actions and states that the in-process benches run on, made through the store."""

import time
from collections.abc import Callable
from typing import Any

from zope.interface import implementer

from ahpd.channels.envelope import Envelope
from ahpd.channels.store import ChannelStore, Journal
from ahpd.interfaces import ISubscriber
from ahpd.protocol.uris import ChannelKind, default_chat
from ahpd.wire.codec import Frame

SESSION = "ahp-session:/5f0e4c1a-8f6b-4f0c-9a7e-0d6f5b3c2a19"
CHAT = default_chat(SESSION)
STARTED = "2026-10-01T08:00:00.000Z"
IDLE = 1
_SENTENCE = "The quick brown fox reads the log, finds the line, and says what it means. "


@implementer(ISubscriber)
class Sink:
    """A subscriber that takes what a connection would: the encoded frame."""

    def __init__(self) -> None:
        self.frames = 0
        self.bytes = 0

    def deliver(self, envelope: Envelope) -> None:
        """Count the frame that a socket would be given."""
        self.frames += 1
        self.bytes += len(envelope.frame.payload)

    def notify(self, channel: str, method: str, frame: Frame) -> None:
        """Count it."""
        self.frames += 1

    def lagging(self) -> bool:
        """Never behind."""
        return False


def words(size: int) -> str:
    """Prose of exactly `size` characters."""
    return (_SENTENCE * (size // len(_SENTENCE) + 1))[:size]


def new_chat(store: ChannelStore, journal: Journal | None = None) -> None:
    """An empty chat held under `CHAT`, kept by `journal` where one is given."""
    store.open(
        CHAT,
        ChannelKind.CHAT,
        {
            "resource": CHAT,
            "title": "Bench",
            "status": IDLE,
            "modifiedAt": STARTED,
            "turns": [],
        },
        journal=journal,
    )


def start_turn(say: Callable[[dict[str, Any]], None], turn: str) -> None:
    """A turn begins, with one empty markdown part named like it."""
    say(
        {
            "type": "chat/turnStarted",
            "turnId": turn,
            "startedAt": STARTED,
            "message": {"text": f"Question of {turn}", "origin": {"kind": "user"}},
        }
    )
    say(
        {
            "type": "chat/responsePart",
            "turnId": turn,
            "part": {"kind": "markdown", "id": f"{turn}-text", "content": ""},
        }
    )


def delta(turn: str, content: str) -> dict[str, Any]:
    """One piece of the turn's answer."""
    return {"type": "chat/delta", "turnId": turn, "partId": f"{turn}-text", "content": content}


def whole_turn(say: Callable[[dict[str, Any]], None], turn: str) -> None:
    """A turn as a model makes one: some reasoning, an answer in pieces, its usage, its end."""
    start_turn(say, turn)
    thinking = {"kind": "reasoning", "id": f"{turn}-thought", "content": ""}
    say({"type": "chat/responsePart", "turnId": turn, "part": thinking})
    for _ in range(2):
        say(
            {
                "type": "chat/reasoning",
                "turnId": turn,
                "partId": f"{turn}-thought",
                "content": words(60),
            }
        )
    for _ in range(4):
        say(delta(turn, words(90)))
    usage = {"inputTokens": 1200, "outputTokens": 180}
    say({"type": "chat/usage", "turnId": turn, "usage": usage})
    say({"type": "chat/turnComplete", "turnId": turn, "duration": 2300})


def long_chat(turns: int) -> ChannelStore:
    """A store that holds a chat of that many turns."""
    store = ChannelStore()
    new_chat(store)
    for number in range(turns):
        whole_turn(lambda action: store.dispatch(CHAT, action), f"turn-{number}")
    held = len(store.state(CHAT)["turns"])
    if held != turns:
        raise RuntimeError(f"the chat holds {held} turns after {turns} were said")
    return store


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """The CPU time of `work`, on average over `times` runs in a row.

    It neither waits nor has a second thread, so its CPU time is what it takes on a
    machine that does nothing else.
    """
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times
