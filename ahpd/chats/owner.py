"""What a chat asks of the session it is in, and what all chats of a host share."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

import attrs
from twisted.internet.interfaces import IReactorTime

from ahpd.channels.envelope import Envelope
from ahpd.channels.store import ChannelStore
from ahpd.chats.tasks import Tasks
from ahpd.interfaces import IAgent
from ahpd.protocol import Action, State
from ahpd.protocol.timestamps import stamp


@attrs.frozen(kw_only=True)
class Surroundings:
    """What every session and chat of one host works with."""

    store: ChannelStore
    clock: IReactorTime
    now: Callable[[], datetime]
    """The wall clock, aware."""
    ids: Callable[[], str]
    """A new id at each call, never the same twice (a UUID's text)."""
    delta_window: float = 0.0
    """Seconds within which deltas of one part are said as one; 0 merges none."""
    tasks: Tasks = attrs.field(factory=Tasks)

    def stamp(self) -> str:
        """The moment now, as it travels."""
        return stamp(self.now())


@attrs.frozen
class TurnFailure:
    """How a turn ended badly (schema: ErrorInfo, and whether it can be resumed)."""

    error_type: str
    message: str
    resumable: bool = False

    def part(self) -> State:
        """The error part its `chat/error` carries (schema: ErrorResponsePart)."""
        part: State = {"kind": "error", "error": self.info()}
        if self.resumable:
            part["resumable"] = True
        return part

    def info(self) -> State:
        """The error alone (schema: ErrorInfo)."""
        return {"errorType": self.error_type, "message": self.message}


class ChatOwner(Protocol):
    """A session, as its chats see it. Any chat may be moved to another one."""

    uri: str

    @property
    def closing(self) -> bool:
        """Whether the host is going: nothing of its own accord starts any more."""

    @property
    def archived(self) -> bool:
        """Whether the session is archived."""

    @property
    def agent(self) -> IAgent:
        """The agent its chats run on."""

    @property
    def working_directories(self) -> tuple[str, ...]:
        """`file:` URIs, the primary first."""

    @property
    def config_values(self) -> Mapping[str, Any]:
        """The configuration in force."""

    def config_refused(self, action: Action) -> str | None:
        """Why a `session/configChanged` is not taken, in words; None when it is."""

    def turn_refused(self, chat_archived: bool) -> TurnFailure | None:
        """Why a turn may not start now; None when it may."""

    def turn_admitted(self, chat: str, message: State) -> None:
        """A turn of `chat` was said and will run: a title is owed by now."""

    def turn_handed(self) -> None:
        """A turn is about to be handed to its backend."""

    def turn_unhanded(self, failure: TurnFailure) -> None:
        """A turn ended in `failure` before its backend had it."""

    def chat_moved(self, chat: str, envelope: Envelope) -> None:
        """`envelope`, no delta, was applied on `chat`'s channel."""

    def activity_moved(self) -> None:
        """A chat began or stopped running a turn."""
