"""The sessions of a host: made, found, listed and disposed of, with their chats.

It knows which session, chat and annotations channels exist (`IChannelSource`), and
holds the two handlers of what clients dispatch there.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, cast

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.channels.store import ChannelStore
from ahpd.chats.actions import ChatActions
from ahpd.chats.chat import CLOSE_GRACE, STOP_GRACE, Chat
from ahpd.chats.history import tell_page
from ahpd.chats.owner import Surroundings
from ahpd.chats.rows import summary_of
from ahpd.chats.tasks import finished
from ahpd.interfaces import IAgent, IChannelSource
from ahpd.protocol import State
from ahpd.protocol.errors import (
    ALREADY_EXISTS,
    SESSION_ALREADY_EXISTS,
    RpcError,
    internal_error,
    invalid_params,
    resource_not_found,
    session_not_found,
)
from ahpd.protocol.uris import (
    ChannelKind,
    kind_of,
    scheme,
    session_id,
    session_of_default_chat,
)
from ahpd.sessions.actions import SessionActions
from ahpd.sessions.annotations import AnnotationActions, session_of_annotations
from ahpd.sessions.catalogue import Catalogue
from ahpd.sessions.config import chosen, resolved
from ahpd.sessions.creation import (
    checked_active_client,
    checked_chat_uri,
    checked_directories,
    checked_session_uri,
    checked_title,
    chosen_agent,
    mint_default_chat,
    new_chat_state,
    new_session_state,
)
from ahpd.sessions.session import Session

log = Logger()

#: How long a client waits at most for the backend of what it disposed of, in seconds.
LONGEST_CLOSE: Final = STOP_GRACE + CLOSE_GRACE + 1.0


@implementer(IChannelSource)
class SessionsService(Service):
    """The catalogue and everything in it.

    `agents` are the agents this host offers by provider, the first one the default;
    `now` is the wall clock (aware), `ids` a source of new ids, `delta_window_ms` the
    time within which deltas of one part are said as one (0: none are).
    """

    def __init__(
        self,
        store: ChannelStore,
        agents: Mapping[str, IAgent],
        clock: IReactorTime,
        now: Callable[[], datetime],
        ids: Callable[[], str],
        delta_window_ms: float = 0,
    ) -> None:
        self.setName("sessions")  # type: ignore[no-untyped-call]
        self._world = Surroundings(
            store=store, clock=clock, now=now, ids=ids, delta_window=delta_window_ms / 1000
        )
        self._store = store
        self._agents = agents
        self._catalogue: Catalogue[Session] = Catalogue(self._world)
        self._chats: dict[str, Chat] = {}
        self._schemas: dict[str, State] = {}
        self.session_actions = SessionActions(store, self.find)
        self.chat_actions = ChatActions(store, self.find_chat, _is_default)
        self.annotation_actions = AnnotationActions(store, self._annotations)

    # -- finding ----------------------------------------------------------------

    def find(self, uri: str) -> Session | None:
        """The session `uri` names: under its own name, `ahp-session:` or an agent's scheme."""
        session = self._catalogue.get(session_id(uri))
        if session is None or session.uri == uri:
            return session
        name = scheme(uri)
        known = name == "ahp-session" or name == scheme(session.uri) or name in self._agents
        return session if known else None

    def find_chat(self, uri: str) -> Chat | None:
        """The chat of this URI, or the default chat it is derived for."""
        chat = self._chats.get(uri)
        if chat is not None:
            return chat
        named = session_of_default_chat(uri)
        session = None if named is None else self.find(named)
        if session is None or session_of_default_chat(session.default_chat) is None:
            return None
        return self._chats.get(session.default_chat)

    def resolve(self, channel: str) -> str | None:
        """See `IChannelSource.resolve`."""
        kind = kind_of(channel)
        if kind is ChannelKind.SESSION:
            session = self.find(channel)
            return None if session is None else session.uri
        if kind is ChannelKind.CHAT:
            chat = self.find_chat(channel)
            return None if chat is None else chat.uri
        if kind is ChannelKind.ANNOTATIONS:
            session = self.find(session_of_annotations(channel))
            return None if session is None else session.annotations
        return None

    def ready(self, channel: str) -> None:
        """See `IChannelSource.ready`: everything is held already but an unopened annotations."""
        if kind_of(channel) is ChannelKind.ANNOTATIONS:
            self._annotations(channel)

    def _annotations(self, channel: str) -> str | None:
        session = self.find(session_of_annotations(channel))
        if session is None:
            return None
        session.open_annotations()
        return session.annotations

    def __len__(self) -> int:
        return len(self._catalogue)

    # -- sessions ---------------------------------------------------------------

    def create(self, params: Mapping[str, Any], client_id: str) -> None:
        """`createSession`: a session held, announced to nobody before its first message.

        Asked again for what is there it keeps what is there. Raises `RpcError` -32602,
        -32002 and -32003 as AHP.txt says.
        """
        uri = checked_session_uri(params["channel"])
        client = params.get("activeClient")
        checked_active_client(client, client_id)
        provider = params.get("provider")
        held = self._catalogue.get(session_id(uri))
        if held is not None:
            if held.uri != uri or provider not in (None, held.agent.provider):
                raise RpcError(
                    SESSION_ALREADY_EXISTS,
                    f"Session already exists: {held.uri} ({held.agent.provider})",
                )
            return
        if self._catalogue.closing:
            raise internal_error("The host is shutting down and makes no new session.")
        agent = chosen_agent(self._agents, provider, uri)
        directories = checked_directories(agent, params.get("workingDirectories") or ())
        config = chosen(agent, next(iter(directories), None), params.get("config") or {})
        self._share_schema(agent, config)
        self._open(agent, uri, directories, config, client)

    def _open(
        self, agent: IAgent, uri: str, directories: list[str], config: State, client: State | None
    ) -> None:
        chat = new_chat_state(self._world, mint_default_chat(self._world))
        state = new_session_state(agent, summary_of(chat), directories, config, client)
        session = Session(self._world, self._catalogue, agent, state, uri, self._world.stamp())
        self._catalogue.add(session)
        self._chats[chat["resource"]] = session.open_chat(chat)

    def _share_schema(self, agent: IAgent, config: State) -> None:
        """Hold one copy of a schema that thousands of sessions have alike."""
        last = self._schemas.get(agent.provider)
        if last == config["schema"]:
            config["schema"] = last
        else:
            self._schemas[agent.provider] = config["schema"]

    async def dispose(self, channel: str) -> None:
        """`disposeSession`: gone from the catalogue at once; returns when its backends are down.

        Raises `RpcError` -32001 for a session nobody has.
        """
        session = self.find(channel)
        if session is None:
            raise session_not_found(channel)
        chats = list(session.chats.values())
        for chat in chats:  # what ends one chat's turn moves its session, which reads them all
            chat.cancel()
        for chat in chats:
            del self._chats[chat.uri]
            self._store.close(chat.uri)
        session.close()
        self._catalogue.remove(session)
        closing = [self._closing(chat) for chat in chats]
        for done in closing:
            await done

    def _closing(self, chat: Chat) -> "Deferred[None]":
        """Fires when the chat's backend is down, or has had all the time it is given."""
        closed = finished(self._world.tasks.spawn(f"closing {chat.uri}", chat.close()))

        def given_up(result: object, seconds: float) -> None:
            log.error("the agent of {chat} does not let go; left to itself", chat=chat.uri)

        return closed.addTimeout(LONGEST_CLOSE, self._world.clock, given_up)

    def listing(self, params: Mapping[str, Any]) -> State:
        """`listSessions` (schema: ListSessionsResult)."""
        return self._catalogue.listing(params.get("limit"), params.get("cursor"))

    def resolve_config(self, params: Mapping[str, Any]) -> State:
        """`resolveSessionConfig` (schema: ResolveSessionConfigResult)."""
        agent = chosen_agent(self._agents, params.get("provider"), "")
        directory = params.get("workingDirectory")
        return resolved(agent, directory, params.get("config") or {})

    # -- chats --------------------------------------------------------------------

    def create_chat(self, params: Mapping[str, Any]) -> None:
        """`createChat`: a plain chat beside the ones its session has.

        Raises `RpcError` as AHP.txt says: -32001 for an unknown session, -32010 for a
        chat that is there, -32602 for the rest.
        """
        session = self.find(params["channel"])
        if session is None:
            raise session_not_found(params["channel"])
        source = params.get("source")
        if source is not None:
            raise invalid_params(
                f"source.kind: a chat made out of another ({source.get('kind')!r}) is not served "
                "by this host yet; leave source out for a plain chat"
            )
        if params.get("provider") is not None:
            raise invalid_params("provider: a chat runs on its session's agent; leave it out")
        message = params.get("initialMessage")
        if message is not None and message["origin"]["kind"] != "user":
            raise invalid_params(
                f"initialMessage.origin.kind: found {message['origin']['kind']!r}, expected 'user'"
            )
        chat = self.find_chat(params["chat"])
        if chat is None:
            chat = self._add_chat(session, params)
        elif chat.uri != session.default_chat:
            raise RpcError(ALREADY_EXISTS, f"Chat already exists: {params['chat']}")
        if message is not None:
            chat.start_message(message)

    def _add_chat(self, session: Session, params: Mapping[str, Any]) -> Chat:
        uri = checked_chat_uri(params["chat"], session.default_chat)
        directories = params.get("workingDirectories")
        if directories is not None:
            held = session.working_directories
            for index, directory in enumerate(directories):
                if directory not in held:
                    raise invalid_params(
                        f"workingDirectories[{index}]: {directory!r} is no folder of the session"
                    )
        title = checked_title(params.get("title"))
        state = new_chat_state(self._world, uri, title, directories, read=True)
        chat = self._chats[uri] = session.add_chat(state)
        return chat

    async def dispose_chat(self, channel: str) -> None:
        """`disposeChat`: a default chat, and one nobody has, are left as they are."""
        chat = self.find_chat(channel)
        if chat is None or _is_default(chat):
            return
        chat.cancel()
        del self._chats[chat.uri]
        _session(chat).drop_chat(chat)
        await self._closing(chat)

    def fetch_turns(self, channel: str, cursor: str | None) -> State:
        """`fetchTurns`: the page before `cursor`, said on the chat's channel for all watching.

        Raises `RpcError` -32001 for a chat nobody has, -32602 for a cursor that names no
        turn of it.
        """
        chat = self.find_chat(channel)
        if chat is None:
            raise resource_not_found(channel)
        if cursor is None:
            return {}
        if not tell_page(self._store, chat, cursor):
            raise invalid_params(f"cursor: {cursor!r} names no turn of {chat.uri}")
        return {}

    # -- the end ------------------------------------------------------------------

    async def drain(self) -> None:
        """Start no turn any more, end the running ones as interrupted, close every backend."""
        self._catalogue.closing = True
        for chat in tuple(self._chats.values()):
            chat.interrupt()
            if chat.is_open:
                self._world.tasks.spawn(f"closing {chat.uri}", chat.release())
        await self._world.tasks.settled()
        self._catalogue.flush_all()

    def stopService(self) -> "Deferred[None]":
        """Returns when every chat's backend is down."""
        super().stopService()  # type: ignore[no-untyped-call]
        return Deferred.fromCoroutine(self.drain())


def _session(chat: Chat) -> Session:
    return cast("Session", chat.owner)


def _is_default(chat: Chat) -> bool:
    return _session(chat).default_chat == chat.uri
