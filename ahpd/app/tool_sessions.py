"""The sessions of a host as its own tools reach them (`ahpd.tools.ports.SessionWorld`).

A session reaches itself, and those others that are listed or were sent a message, where
`reaches` lets it. What a tool begins goes the way of a client's action: said on its channel,
kept first, and refused in the same words.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, TypeVar

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from ahpd.app.handed_on import binding, configured
from ahpd.chats.admission import refused
from ahpd.chats.chat import Chat
from ahpd.interfaces import ToolCallContext, ToolFailure
from ahpd.protocol import State
from ahpd.protocol.errors import internal_error, session_not_found
from ahpd.protocol.text import plain
from ahpd.sessions.entry import Entry
from ahpd.sessions.registry import session_of
from ahpd.sessions.service import SessionsService
from ahpd.sessions.session import Session
from ahpd.sessions.session_artifacts import ArtifactsKept
from ahpd.sessions.starting import begin_chat, begin_session, begin_turn, mint_chat
from ahpd.sessions.workspace_moves import WorkspaceMoves
from ahpd.tools.ports import Caller, SeenChat

log = Logger()

T = TypeVar("T")

#: The fact of a session that a tool made: how deep, and out of which person's session.
SPAWNED: Final = "spawned"


class ToolSessions:
    """See `SessionWorld`. `reaches(session, row)` says whether `session` may reach another one."""

    def __init__(
        self,
        service: SessionsService,
        reaches: Callable[[str, State], bool] = lambda session, row: True,
    ) -> None:
        self._service = service
        self._registry = service.registry
        self._world = service.registry.world
        self._reaches = reaches
        self.kept = ArtifactsKept(self._world.store, service.find)
        self._moves = WorkspaceMoves(self._world.store, service.find_chat)

    # -- reading ----------------------------------------------------------------------

    def listed(self, session: str) -> frozenset[str]:
        """The names of the tools a session lists now; none for a session nobody has."""
        found = self._service.find(session)
        return (
            frozenset() if found is None else frozenset(tool["name"] for tool in found.server_tools)
        )

    def configured(self, session: str) -> Mapping[str, Any]:
        """The values of a session's configuration; none for a session nobody has."""
        found = self._service.find(session)
        return {} if found is None else found.config_values

    def rows(self, session: str) -> Sequence[State]:
        """See `SessionReading.rows`."""
        self._service.listing({"limit": 1})  # has the backends asked for what they keep
        entries = sorted(self._registry.catalogue.entries(), key=lambda entry: entry.place)
        rows = (self._row(session, entry) for entry in entries)
        return [row for row in rows if row is not None]

    def find(self, session: str, uri: str) -> State | None:
        """See `SessionReading.find`."""
        entry = self._registry.named(uri)
        return None if entry is None else self._row(session, entry)

    async def chat(self, session: str, uri: str, chat: str | None) -> SeenChat | None:
        """See `SessionReading.chat`."""
        entry = self._registry.named(uri)
        if entry is None or self._row(session, entry) is None:
            return None
        held = await self._here(entry)
        if held is None:
            return None
        found = held.chats.get(held.default_chat if chat is None else chat)
        return None if found is None else self._seen(found)

    async def chat_of(self, session: str, chat: str) -> SeenChat | None:
        """See `SessionReading.chat_of`."""
        entry = self._entry_of(chat)
        if entry is None or self._row(session, entry) is None:
            return None
        await self._here(entry)
        found = self._service.find_chat(chat)
        return None if found is None else self._seen(found)

    def caller(self, context: ToolCallContext) -> Caller:
        """See `SessionReading.caller`."""
        chat = self._service.find_chat(context.chat)
        session = None if chat is None else session_of(chat)
        entry = None if session is None else self._registry.named(session.uri)
        if chat is None or session is None or entry is None:
            raise session_not_found(context.session)
        turn = chat.current
        spawned = self._world.facts(session.uri).get(SPAWNED) or {}
        return Caller(
            row=entry.summary,
            turn=None if turn is None else turn.turn_id,
            model=None if turn is None else plain(turn.request.message.get("model")),
            depth=int(spawned.get("depth", 0)),
            root=spawned.get("root", session.uri),
        )

    def models(self) -> Sequence[State]:
        """See `SessionReading.models`."""
        return [
            model for agent in self._registry.agents.values() for model in agent.info()["models"]
        ]

    def folders(self, session: str) -> Sequence[str]:
        """See `SessionReading.folders`."""
        found = self._service.find(session)
        return () if found is None else found.working_directories

    def _row(self, session: str, entry: Entry[Session]) -> State | None:
        """The row of the session in that place; None for one `session` may not reach."""
        row = entry.summary
        if self._registry.named(session) is entry:
            return row
        reached = (entry.announced or _began(entry)) and self._reaches(session, row)
        return row if reached else None

    def _entry_of(self, chat: str) -> Entry[Session] | None:
        """The place of the session a chat is in; nobody is woken to find it."""
        name = self._service.channels.resolve(chat)
        if name is None:
            return None
        held = self._registry.open_chats.get(name)
        if held is not None:
            return self._registry.named(session_of(held).uri)
        stored = self._registry.stored_chat(name)
        return self._service.channels.unread(name) if stored is None else stored[1]

    async def _here(self, entry: Entry[Session]) -> Session | None:
        """The session, awake, its backend asked for it where that alone has it."""
        waiting = self._service.channels.ready(entry.uri)
        if waiting is not None:
            await waiting
        return self._service.find(entry.uri)

    def _seen(self, chat: Chat) -> SeenChat:
        entry = self._registry.named(session_of(chat).uri)
        assert entry is not None, "a chat that is held is in a session that is"
        return SeenChat(row=entry.summary, state=chat.state)

    # -- what is begun ---------------------------------------------------------------

    async def send(self, chat: SeenChat, message: State) -> bool:
        """See `SessionWriting.send`."""
        held = self._chat(chat.uri)
        _check_takes(held)
        if held.current is None and not _waits(held.state):
            begin_turn(held, message)
            return False
        identifier = self._world.ids()
        held.say(
            {
                "type": "chat/pendingMessageSet",
                "kind": "queued",
                "id": identifier,
                "message": message,
            }
        )
        waiting = await self._said(lambda: [each["id"] for each in _queued(held.state)])
        if identifier not in waiting:
            raise internal_error(f"The message to {held.uri} could not be saved.")
        return True

    async def create_session(
        self,
        context: ToolCallContext,
        *,
        provider: str,
        folder: str | None,
        worktree: bool | None,
        title: str,
        message: State,
    ) -> State:
        """See `SessionWriting.create_session`."""
        caller, chat = self.caller(context), self._chat(context.chat)
        agent = self._registry.agents.get(provider)
        source = session_of(chat) if provider == caller.row["provider"] else None
        values: Mapping[str, Any] = {}
        if agent is not None:
            own = session_of(chat).chat_config(chat.uri)
            own = binding(own) if source is None else own
            at_home = source is not None and folder in source.working_directories[:1]
            added = self._world.from_plugins.settings()
            values = configured(agent, own, folder, worktree, at_home=at_home, added=added)
        uri = f"ahp-session:/{self._world.ids()}"
        params: State = {"channel": uri, "provider": provider, "config": dict(values)}
        if folder is not None:
            params["workingDirectories"] = [folder]
        spawned = {"depth": caller.depth + 1, "root": caller.root}
        await begin_session(
            self._service, params, title=title, message=message, facts={SPAWNED: spawned}
        )
        entry = self._registry.named(uri)
        assert entry is not None, "its first message was taken"
        return entry.summary

    async def create_chat(
        self, row: State, *, title: str | None, folder: str | None, message: State
    ) -> str:
        """See `SessionWriting.create_chat`."""
        entry = self._registry.named(row["resource"])
        session = None if entry is None else await self._here(entry)
        if session is None:
            raise session_not_found(row["resource"])
        failure = session.turn_refused(False)
        if failure is not None:
            raise ToolFailure(failure.message)
        uri = mint_chat(session.uri, session.default_chat, self._world.ids())
        params: State = {"channel": session.uri, "chat": uri}
        if title is not None:
            params["title"] = title
        if folder is not None:
            params["workingDirectories"] = [folder]
        await begin_chat(self._service, params, message=message, preambles=True)
        return uri

    async def rename(self, chat: SeenChat, title: str) -> None:
        """See `SessionWriting.rename`."""
        held = self._chat(chat.uri)
        held.say({"type": "session/titleChanged", "title": title})
        if await self._said(lambda: held.state["title"]) != title:
            raise internal_error(f"The title of {held.uri} could not be saved.")

    async def work_in(
        self, context: ToolCallContext, folder: str, notice: Mapping[str, Any]
    ) -> None:
        """See `SessionWriting.work_in`."""
        self._moves.ask(self._chat(context.chat), folder, dict(notice))

    async def delete(self, uri: str) -> None:
        """See `SessionWriting.delete`."""
        await _to_its_end(f"disposing of {uri}", self._service.dispose(uri))

    async def _said(self, read: Callable[[], T]) -> T:
        """What `read` answers once all that was said so far is: from inside of a delivery, later."""
        had: Deferred[T] = Deferred()
        self._world.store.behind(lambda: None if had.called else had.callback(read()))
        return await had

    def _chat(self, uri: str) -> Chat:
        chat = self._service.find_chat(uri)
        if chat is None:
            raise session_not_found(uri)
        return chat

    # -- what is recorded ---------------------------------------------------------------

    def artifacts(self, session: str) -> Sequence[State]:
        """See `SessionArtifacts.artifacts`."""
        return self.kept.read(session)

    async def keep_artifacts(self, session: str, artifacts: Sequence[State]) -> None:
        """See `SessionArtifacts.keep_artifacts`."""
        await self.kept.keep(session, artifacts)


def _began(entry: Entry[Session]) -> bool:
    """Whether anything was said in a session nobody is told of so far."""
    session = entry.session
    if session is None:
        return False
    return any(chat.runs or bool(chat.state["turns"]) for chat in session.chats.values())


def _waits(state: State) -> bool:
    """Whether messages wait in a chat of this state already."""
    return bool(state.get("steeringMessage") or _queued(state))


def _queued(state: State) -> Sequence[State]:
    return state.get("queuedMessages") or ()


def _check_takes(chat: Chat) -> None:
    """Raise `ToolFailure` for a chat that takes no message, in the words a turn would end in."""
    failure = refused(chat)
    if failure is not None:
        raise ToolFailure(failure.message)


async def _to_its_end(what: str, work: Coroutine[Any, Any, None]) -> None:
    """Wait for `work`. Whoever gives up waiting, a call whose own session goes, leaves it be."""
    waiting: Deferred[None] = Deferred()

    def done(_: None) -> None:
        if not waiting.called:
            waiting.callback(None)

    def failed(failure: Failure) -> None:
        if not waiting.called:
            waiting.errback(failure)
        else:
            words = failure.getErrorMessage()
            log.error("{what} failed: {words}", what=what, words=words)

    Deferred.fromCoroutine(work).addCallbacks(done, failed)
    await waiting
