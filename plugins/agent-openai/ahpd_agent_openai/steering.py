"""Messages into a running turn: they wait for the model's next step (CHATS.txt, steering)."""

from collections.abc import Mapping
from typing import Any

from ahpd.interfaces import IChatHost
from ahpd.protocol import State
from ahpd_agent_openai.prompt import message_content


class Steering:
    """What waits to be read. `read` takes it, `give_back` returns it unsent."""

    def __init__(self, host: IChatHost | None) -> None:
        self._host = host
        self._waiting: dict[str, Mapping[str, Any]] = {}

    def take(self, message_id: str, message: Mapping[str, Any]) -> None:
        """Keep it for the next step."""
        self._waiting[message_id] = message

    def withdraw(self, message_id: str) -> bool:
        """Give it back, unless a step has read it."""
        return self._waiting.pop(message_id, None) is not None

    def read(self) -> list[State]:
        """The messages that wait, as records; the host is told that they were read."""
        waiting, self._waiting = self._waiting, {}
        for message_id in waiting:
            if self._host is not None:
                self._host.steering_taken(message_id)
        return [
            {
                "k": "user",
                "content": message_content(
                    message["text"], message.get("attachments") or (), None, False
                ),
                "steering": message_id,
            }
            for message_id, message in waiting.items()
        ]

    def give_back(self) -> None:
        """The turn ended first: what no step read goes back to the host."""
        waiting, self._waiting = self._waiting, {}
        for message_id in waiting:
            if self._host is not None:
                self._host.steering_returned(message_id)
