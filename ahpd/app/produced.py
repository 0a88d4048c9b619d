"""What a running call of this host's own tools has produced so far, said on its chat.

Source: PLUGINS.txt, "An adapter of your own" (`call.setContent`); AHP.txt,
`chat/toolCallContentChanged`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ahpd.channels.store import ChannelStore
from ahpd.interfaces import ToolCallContext
from ahpd.protocol import Action, State
from ahpd.protocol.check import check_strict
from ahpd.protocol.json_values import json_copy
from ahpd.protocol.shapes.chat_actions import ChatToolCallContentChangedAction


class ProducedContent:
    """Says it. `find(uri)` answers the chat of a URI, None for one that is gone."""

    def __init__(self, store: ChannelStore, find: Callable[[str], Any]) -> None:
        self._store = store
        self._find = find

    def __call__(self, context: ToolCallContext) -> Callable[[Sequence[State]], None] | None:
        """What replaces the content of the call of `context`; None where its chat is gone.

        It raises `ValueError` for content that is none (schema: ToolResultContent), and says
        nothing of a call that its backend does not show as running: one it made under another
        name, or that is over.
        """
        if self._find(context.chat) is None:
            return None

        def say(content: Sequence[State]) -> None:
            chat = self._find(context.chat)
            action: Action = {
                "type": "chat/toolCallContentChanged",
                "turnId": "",
                "toolCallId": context.tool_call_id,
                "content": json_copy(list(content), "what a call produced"),
            }
            check_strict(action, ChatToolCallContentChangedAction, "what a call produced")
            turn = None if chat is None else chat.state.get("activeTurn")
            if turn is not None and context.tool_call_id in _running(turn):
                self._store.dispatch(chat.uri, {**action, "turnId": turn["id"]})

        return say


def _running(turn: State) -> Iterator[str]:
    """The ids of the calls of a turn that run."""
    for part in turn["responseParts"]:
        if part["kind"] == "toolCall" and part["toolCall"]["status"] == "running":
            yield part["toolCall"]["toolCallId"]
