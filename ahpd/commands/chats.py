"""Chats: `createChat`, `disposeChat`, `fetchTurns`."""

from collections.abc import Awaitable, Mapping

from ahpd.interfaces import Command, ICaller
from ahpd.protocol import State
from ahpd.sessions.service import SessionsService


def chat_commands(service: SessionsService) -> Mapping[str, Command]:
    """The commands by their method; their params were checked for shape."""

    def create_chat(caller: ICaller, params: State) -> None:
        service.create_chat(params)

    def dispose_chat(caller: ICaller, params: State) -> Awaitable[None]:
        return service.dispose_chat(params["channel"])

    def fetch_turns(caller: ICaller, params: State) -> State:
        return service.fetch_turns(params["channel"], params.get("cursor"))

    return {
        "createChat": create_chat,
        "disposeChat": dispose_chat,
        "fetchTurns": fetch_turns,
    }
