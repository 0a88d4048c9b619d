"""Sessions: `listSessions`, `createSession`, `disposeSession`."""

from collections.abc import Awaitable, Mapping

from ahpd.interfaces import Command, ICaller
from ahpd.protocol import State
from ahpd.sessions.service import SessionsService


def session_commands(service: SessionsService) -> Mapping[str, Command]:
    """The commands by their method; their params were checked for shape."""

    def list_sessions(caller: ICaller, params: State) -> State:
        return service.listing(params, caller.shown_row)

    def create_session(caller: ICaller, params: State) -> None:
        service.create(params, caller.record.client_id, caller.derives_chats)

    def dispose_session(caller: ICaller, params: State) -> Awaitable[None]:
        return service.dispose(params["channel"])

    return {
        "listSessions": list_sessions,
        "createSession": create_session,
        "disposeSession": dispose_session,
    }
