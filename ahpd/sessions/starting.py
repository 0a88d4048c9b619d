"""Sessions and chats that are started from inside of the host: by its tools, and by plugins.

It is the road a client's `createSession` and `createChat` take; what it adds is the first turn, and
that nothing is left of one whose first turn could not be kept. A plugin starts work for an owner,
whose grants are asked about first. Sources: PLUGINS.txt, "Starting a session as an owner" and
"Starting a chat on a backend".
"""

from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ahpd.chats.admission import refused
from ahpd.chats.chat import Chat
from ahpd.interfaces import ChatRequest, IAccess, SessionRequest, StoreFailure
from ahpd.protocol import State
from ahpd.protocol.errors import (
    PERMISSION_DENIED,
    RpcError,
    internal_error,
    invalid_params,
    session_not_found,
)
from ahpd.protocol.uris import default_chat, opaque_chat, session_of_chat
from ahpd.sessions.asked_for import (
    checked_chat,
    checked_name,
    checked_owner,
    checked_session,
)
from ahpd.sessions.chat_creation import RunsOn
from ahpd.sessions.config import HOST_KEYS, agents_own, chosen
from ahpd.sessions.creation import OWNER_KEY, chosen_agent
from ahpd.sessions.session import Session
from ahpd.wire.codec import encode

if TYPE_CHECKING:
    from ahpd.sessions.service import SessionsService

log = Logger()

#: The fact of a session that says whose it is.
OWNER: Final = "owner"
#: Where clients read who sent a message, on a host that knows its users.
SENDER_KEY: Final = "ahpd.sender"


async def begin_session(
    service: "SessionsService",
    params: Mapping[str, Any],
    *,
    title: str | None = None,
    message: State | None = None,
    facts: Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Session:
    """Make a session (schema: CreateSessionParams), called `title`, with its first turn begun.

    `facts` are kept with it and shown to nobody; `meta` is shown in its `_meta`. Raises
    `RpcError`, and there is no session then.
    """
    service.create(params, "")
    session = service.find(params["channel"])
    assert session is not None, "it was made just now"
    try:
        if facts:
            service.registry.world.note(session.uri, facts)
        if meta:
            shown = {**(session.state.get("_meta") or {}), **meta}
            session.say({"type": "session/metaChanged", "_meta": shown})
        if title is not None:
            session.say({"type": "session/titleChanged", "title": title})
        if message is not None:
            begin_turn(session.chats[session.default_chat], message)
    except (StoreFailure, RpcError) as failed:
        await _undone(session.uri, service.dispose(session.uri))
        if isinstance(failed, StoreFailure):
            raise internal_error(f"{session.uri} could not be saved: {failed}") from None
        raise
    return session


async def begin_chat(
    service: "SessionsService",
    params: Mapping[str, Any],
    *,
    message: State | None = None,
    runs_on: RunsOn | None = None,
    preambles: bool = False,
) -> Chat:
    """Make a chat (schema: CreateChatParams) with its first turn begun.

    With `preambles` what plugins put ahead of its first message is asked for first. Raises
    `RpcError`, and there is no chat then.
    """
    creation = service.chat_creation
    planned = creation.plan(params, runs_on)
    told = await service.preambles.asked(planned) if preambles and planned.is_new else None
    chat = creation.make(planned, told)
    try:
        if message is not None:
            begin_turn(chat, message)
    except RpcError:
        await _undone(chat.uri, service.dispose_chat(chat.uri))
        raise
    return chat


async def _undone(uri: str, disposing: Awaitable[None]) -> None:
    """Take away what was made for nothing; what keeps that from being done is in the log."""
    try:
        await disposing
    except RpcError as failed:
        log.error("{uri} stays though it was not begun: {words}", uri=uri, words=failed.message)


def begin_turn(chat: Chat, message: State) -> None:
    """Start a turn. Raises `RpcError` where it may not, or could not be said or kept: there is
    none then."""
    failure = refused(chat)
    if failure is not None:
        raise invalid_params(failure.message)
    try:
        encode(message)
    except Exception as wrong:
        raise invalid_params(f"message: cannot be said: {wrong}") from None
    before = set(chat.known_turns())
    chat.start_message(message)
    if chat.known_turns() <= before:
        raise internal_error(f"The message to {chat.uri} could not be saved.")


def mint_chat(session: str, default: str, identifier: str) -> str:
    """The URI of a new chat of a session: of the kind its default one's is (AHP.txt, "Chat URIs")."""
    if session_of_chat(default) is None:
        return opaque_chat(identifier)
    return default_chat(session).replace("//default/", f"//{identifier}/", 1)


class SessionStarts:
    """What plugins start. `access` says what owners may do."""

    def __init__(self, service: "SessionsService", access: IAccess) -> None:
        self._service = service
        self._access = access
        self._world = service.registry.world

    # -- sessions -----------------------------------------------------------------------

    async def start_session(self, request: SessionRequest, plugin: str) -> str:
        """Start a session for an owner; its URI. Raises `RpcError`, and there is none then."""
        await self._quiet()
        owner = checked_owner(request)
        self._check_may(owner, "session:create")
        asked = checked_session(request)
        uri = f"ahp-session:/{self._world.ids()}"
        params: State = {"channel": uri, "config": dict(asked.config)}
        if asked.provider is not None:
            params["provider"] = asked.provider
        if asked.working_directory is not None:
            params["workingDirectories"] = [asked.working_directory]
        session = await begin_session(
            self._service,
            params,
            title=asked.title,
            message=self._message(asked.prompt, asked.model, owner),
            facts={OWNER: owner, "startedBy": f"plugin:{plugin}"},
            meta={OWNER_KEY: owner} if self._knows_users else None,
        )
        return session.uri

    # -- chats --------------------------------------------------------------------------

    async def start_chat(self, session: str, request: ChatRequest, plugin: str) -> str:
        """Start a chat of a session; its URI. Raises `RpcError`, and there is none then."""
        await self._quiet()
        held = await self._held(checked_name("session", session))
        if held is None:
            raise session_not_found(session)
        owner = self._owner_of(held)
        self._check_may(owner, "chat:create")
        asked = checked_chat(request)
        if asked.prompt is not None:
            failure = held.turn_refused(False)
            if failure is not None:
                raise invalid_params(failure.message)
        runs_on = self._runs_on(held, asked)
        uri = mint_chat(held.uri, held.default_chat, self._world.ids())
        params: State = {"channel": held.uri, "chat": uri}
        if asked.title is not None:
            params["title"] = asked.title
        model = None if asked.model is None else {"id": asked.model}
        message = self._message(asked.prompt, model, owner)
        chat = await begin_chat(self._service, params, message=message, runs_on=runs_on)
        return chat.uri

    def _runs_on(self, session: Session, request: ChatRequest) -> RunsOn:
        """What the chat runs on, its settings checked against the schema of its backend.

        The settings that are no agent's are its session's, whatever is named here.
        """
        added = self._world.from_plugins.settings()
        given = {
            key: value
            for key, value in request.config.items()
            if key not in HOST_KEYS and key not in added
        }
        folder = next(iter(session.working_directories), None)
        if request.provider in (None, session.agent.provider):
            values = session.config_values
            own = agents_own(session.agent, folder, values)["properties"]
            held = {key: value for key, value in values.items() if key in own}
            chosen(session.agent, folder, {**held, **given})
            return RunsOn(config=given)
        agent = chosen_agent(self._service.registry.agents, request.provider, "")
        config = chosen(agent, folder, given)["values"]
        return RunsOn(provider=agent.provider, config=config)

    # -- whose they are -----------------------------------------------------------------

    async def session_kept(self, session: str) -> bool:
        """Whether this host keeps the session of a URI: one a backend alone has is not kept."""
        entry = self._service.registry.named(checked_name("session", session))
        return entry is not None and entry.conversation is None

    async def session_owner(self, session: str) -> str | None:
        """Whose a session is; None for one nobody has, and for one that is nobody's."""
        held = self._service.find(checked_name("session", session))
        return None if held is None else self._owner_of(held)

    def _owner_of(self, session: Session) -> str | None:
        owner: str | None = self._world.facts(session.uri).get(OWNER)
        return owner

    async def _quiet(self) -> None:
        """Wait until all that was said so far is: what is asked from inside of that comes behind."""
        said: Deferred[None] = Deferred()
        self._world.store.behind(lambda: said.callback(None))
        await said

    async def _held(self, session: str) -> Session | None:
        waiting: Awaitable[None] | None = self._service.channels.waited(session)
        if waiting is not None:
            await waiting
        return self._service.find(session)

    # -- what is asked and said ----------------------------------------------------------

    @property
    def _knows_users(self) -> bool:
        """Whether this host has a directory of users: the root connection is somebody then."""
        return self._access.owner(None) is not None

    def _check_may(self, owner: str | None, grant: str) -> None:
        words = self._access.may(owner, grant)
        if words is not None:
            raise RpcError(PERMISSION_DENIED, words)

    def _message(self, prompt: str | None, model: State | None, owner: str | None) -> State | None:
        """The first turn's message; None for a conversation that opens with nobody speaking."""
        if prompt is None:
            return None
        message: State = {"text": prompt, "origin": {"kind": "user"}}
        if model is not None:
            message["model"] = model
        if owner is not None and self._knows_users:
            message["_meta"] = {SENDER_KEY: owner}
        return message
