"""Chats: `createChat`, `moveChat`, `disposeChat`, `fetchTurns`."""

from collections.abc import Awaitable, Mapping

from ahpd.chats.attached import kept_first
from ahpd.interfaces import AgentFailure, Command, ICaller
from ahpd.protocol import State
from ahpd.protocol.errors import internal_error, invalid_params, session_not_found
from ahpd.protocol.uris import ChannelKind, canonical, kind_of
from ahpd.sessions.service import SessionsService


def chat_commands(service: SessionsService) -> Mapping[str, Command]:
    """The commands by their method; their params were checked for shape."""

    def make_chat(params: State) -> Awaitable[None] | None:
        return service.opening.open(params)

    def create_chat(caller: ICaller, params: State) -> Awaitable[None] | None:
        session = service.find(params["channel"])
        if session is None or "initialMessage" not in params:
            return make_chat(params)
        client = caller.record.client_id
        return kept_first(
            service.attachments, lambda: session.uri, params, client, make_chat, "initialMessage"
        )

    def move_chat(caller: ICaller, params: State) -> State:
        target = params["destination"].get("session")
        if isinstance(target, str) and not caller.sees(target):
            raise session_not_found(target)
        return service.move_chat(params, caller.record.client_id)

    def dispose_chat(caller: ICaller, params: State) -> Awaitable[None]:
        return service.dispose_chat(params["channel"])

    def fetch_turns(caller: ICaller, params: State) -> State:
        return service.fetch_turns(params["channel"], params.get("cursor"))

    async def stop_background_work(caller: ICaller, params: State) -> State:
        uri, work = _work_named(params)
        chat = service.find_chat(uri)
        try:
            stopped = chat is not None and await chat.work.stop(work)
        except AgentFailure as failed:
            raise internal_error(failed.message) from None
        return {"stopped": stopped}

    return {
        "createChat": create_chat,
        "moveChat": move_chat,
        "disposeChat": dispose_chat,
        "fetchTurns": fetch_turns,
        "vscode/stopBackgroundWork": stop_background_work,
    }


def _work_named(params: State) -> tuple[str, str]:
    """The chat and the entry `vscode/stopBackgroundWork` is about (AHP.txt, of that name).

    Raises `RpcError` -32602.
    """
    uri, work = params.get("chat"), params.get("id")
    if not isinstance(uri, str) or kind_of(canonical(uri)) is not ChannelKind.CHAT:
        raise invalid_params(f"chat: found {uri!r}, expected the URI of a chat")
    if not isinstance(work, str) or not work:
        raise invalid_params(f"id: found {work!r}, expected the id of an entry")
    return uri, work
