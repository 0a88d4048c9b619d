"""Sessions: `listSessions`, `createSession`, `disposeSession`."""

from collections.abc import Awaitable, Mapping

from ahpd.credentials.service import Credentials, refuse_without
from ahpd.interfaces import Command, IAgent, ICaller
from ahpd.protocol import State
from ahpd.protocol.uris import canonical
from ahpd.sessions.service import SessionsService


def session_commands(
    service: SessionsService, credentials: Credentials | None = None
) -> Mapping[str, Command]:
    """The commands by their method; their params were checked for shape.

    Without `credentials` every agent may be used by anybody.
    """

    def list_sessions(caller: ICaller, params: State) -> State:
        return service.listing(params, caller.shown_row)

    def create_session(caller: ICaller, params: State) -> None:
        def admit(agent: IAgent) -> None:
            if credentials is not None:
                refuse_without(agent.info(), credentials, caller.connection_id)

        client = caller.record.client_id
        service.create(params, client, caller.derives_chats, admit)
        if credentials is not None:
            credentials.askers.made(canonical(params["channel"]), client)

    def dispose_session(caller: ICaller, params: State) -> Awaitable[None]:
        return service.dispose(params["channel"])

    return {
        "listSessions": list_sessions,
        "createSession": create_session,
        "disposeSession": dispose_session,
    }
