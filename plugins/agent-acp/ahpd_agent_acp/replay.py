"""A conversation as its agent replays it, as the turns it was.

A replay (`session/load`) is the same updates a turn is made of, with the person's words
among them; it says no times. So each turn is said as it would be while it runs, to the
reducer of chats, and what that makes of it is the turn.
"""

from collections.abc import Mapping
from typing import Any, Final

from zope.interface import implementer

from ahpd.interfaces import (
    InputAnswer,
    ITurnOutput,
    IWorkerOutput,
    Permission,
    ReadConversation,
    ToolAnswer,
    TurnOver,
)
from ahpd.protocol import Action, State
from ahpd.protocol.reducers.chat import reduce
from ahpd.protocol.status import IDLE
from ahpd.protocol.text import plain
from ahpd_agent_acp.content import attachment_of, markdown_of, object_in, text_in
from ahpd_agent_acp.news import SessionNews, tell
from ahpd_agent_acp.tool_names import ToolNames
from ahpd_agent_acp.updates import TurnUpdates

#: What the reducer needs and no replay says: it is taken out of the turns again.
_NO_TIME: Final = "1970-01-01T00:00:00.000Z"


@implementer(ITurnOutput)
class _Folded:
    """A turn that is over: what is said of it goes into a chat's state; nobody answers it."""

    def __init__(self, turn_id: str, chat: State) -> None:
        self.turn_id = turn_id
        self._chat = chat

    def emit(self, action: Action, permission: Permission | None = None) -> None:
        """See `ITurnOutput.emit`."""
        reduce(self._chat, action)

    async def drained(self) -> None:
        """See `ITurnOutput.drained`."""

    async def confirmed(self, tool_call_id: str) -> ToolAnswer:
        """Nobody answers."""
        raise TurnOver

    async def result_confirmed(self, tool_call_id: str) -> ToolAnswer:
        """Nobody answers."""
        raise TurnOver

    async def client_result(self, tool_call_id: str) -> Mapping[str, Any]:
        """Nobody answers."""
        raise TurnOver

    async def answered(self, request_id: str) -> InputAnswer:
        """Nobody answers."""
        raise TurnOver

    def worker(self, tool_call_id: str, message: Mapping[str, Any], title: str) -> IWorkerOutput:
        """There is none any more."""
        raise TurnOver

    def ended_at(self, point: str) -> None:
        """See `ITurnOutput.ended_at`."""


class _Message:
    """The person's words of one turn, while they come in."""

    def __init__(self, identifier: str | None) -> None:
        self.identifier = identifier
        self._text: list[str] = []
        self._attachments: list[State] = []

    def add(self, block: Mapping[str, Any]) -> None:
        """One block of the prompt."""
        attachment = attachment_of(block)
        if attachment is not None:
            self._attachments.append(attachment)
        else:
            self._text.append(markdown_of(block))

    def said(self) -> State:
        """Schema: Message."""
        message: State = {"text": "".join(self._text), "origin": {"kind": "user"}}
        if self._attachments:
            message["attachments"] = self._attachments
        return message


class ReplayBuilder:
    """Makes turns of a replay, update by update; `read` answers them.

    Turns are named by the `conversation`, the agent's own id of it, and their number in it,
    so that a replay names them as the one before did.
    """

    def __init__(
        self,
        conversation: str,
        *,
        names: ToolNames | None = None,
        news: SessionNews | None = None,
        directory: str = "/",
    ) -> None:
        self._conversation = conversation
        self._names = names
        self._news = news
        self._directory = directory
        self._chat: State = {"turns": [], "status": IDLE, "modifiedAt": _NO_TIME}
        self._message: _Message | None = None
        self._turn: TurnUpdates | None = None
        self._count = 0

    def update(self, update: Mapping[str, Any]) -> None:
        """One `session/update` of the replay: its `update` object."""
        if tell(update, self._news):
            return
        if update.get("sessionUpdate") == "user_message_chunk":
            self._said(update)
            return
        if self._turn is None:
            self._begin()
        assert self._turn is not None
        self._turn.update(update)

    def _said(self, update: Mapping[str, Any]) -> None:
        identifier = text_in(update, "messageId")
        message = self._message
        if message is not None and self._turn is None:
            another = None not in (identifier, message.identifier)
            if not another or identifier == message.identifier:
                message.add(object_in(update, "content"))
                return
        self._end()
        self._message = _Message(identifier)
        self._message.add(object_in(update, "content"))

    def _begin(self) -> None:
        """A turn begins with what was said, or with nothing where the agent speaks first."""
        message = self._message or _Message(None)
        self._count += 1
        output = _Folded(f"{self._conversation}:{self._count}", self._chat)
        reduce(
            self._chat,
            {
                "type": "chat/turnStarted",
                "turnId": output.turn_id,
                "startedAt": _NO_TIME,
                "message": message.said(),
            },
        )
        self._turn = TurnUpdates(output, names=self._names, directory=self._directory)

    def _end(self) -> None:
        if self._turn is None and self._message is not None:
            self._begin()
        if self._turn is not None:
            self._turn.finished(None)
            turn_id = self._turn.turn_id
            reduce(self._chat, {"type": "chat/turnComplete", "turnId": turn_id, "duration": 0})
        self._turn = self._message = None

    def read(self, point: str | None = None) -> ReadConversation:
        """The turns, once the replay is over. `point` names where the last of them ended."""
        self._end()
        turns = [plain(turn) for turn in self._chat["turns"]]
        for turn in turns:
            del turn["startedAt"], turn["duration"]
        points = {turns[-1]["id"]: point} if turns and point is not None else {}
        return ReadConversation(turns=turns, points=points)
