"""The conversations an agent keeps, listed, read back and deleted by a program of their own.

One program serves all who ask at the time; it goes once nobody has asked for `listingIdleMs`.
A listing answers those who find within `findFreshMs` of it, a failed one too. Source:
PLUGINS.txt, the fields `findFreshMs`, `listingIdleMs` and `sessionListMaxPages`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from ahpd.interfaces import (
    AgentFailure,
    ConversationKept,
    EnginePorts,
    ListedConversation,
    ReadConversation,
)
from ahpd.protocol import State
from ahpd.protocol.file_uris import file_uri
from ahpd_agent_acp.connection import RESOURCE_NOT_FOUND, RequestError
from ahpd_agent_acp.handshake import SEND_FAILED, Capabilities
from ahpd_agent_acp.points import NewestPoints
from ahpd_agent_acp.quiet import Quiet
from ahpd_agent_acp.record import Options
from ahpd_agent_acp.reopening import reopen
from ahpd_agent_acp.replay import ReplayBuilder
from ahpd_agent_acp.server import NoCalls, Server
from ahpd_agent_acp.session import Ground
from ahpd_agent_acp.tasks import Shared, Tasks

log = Logger()

T = TypeVar("T")


class _Replays(NoCalls):
    """Hears the replays of the conversations that are read back."""

    def __init__(self) -> None:
        self.building: dict[str, tuple[ReplayBuilder, Quiet]] = {}

    def told(self, method: str, params: dict[str, Any]) -> None:
        """Hand an update to the replay it is part of."""
        building = self.building.get(str(params.get("sessionId")))
        update = params.get("update")
        if method == "session/update" and building is not None and isinstance(update, Mapping):
            replay, quiet = building
            quiet.heard()
            replay.update(update)


class Keeper(Protocol):
    """Whose conversations they are."""

    @property
    def ground(self) -> Ground:
        """What they have in common."""

    @property
    def options(self) -> Options:
        """The record as it is now."""

    @property
    def points(self) -> NewestPoints:
        """The newest turn of each."""

    @property
    def known(self) -> Capabilities | None:
        """What its program said it can do; None where it was not asked yet.

        A program takes seconds to start, so none is started to be asked what it does not offer.
        """


class Conversations:
    """Those of one agent."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._tasks = Tasks(f"the conversations of {keeper.ground.provider}")
        self._server: Server | None = None
        self._started: Shared | None = None
        self._replays = _Replays()
        self._users = 0
        self._idle: IDelayedCall | None = None
        self._listing: Shared | None = None
        self._listed_at = 0.0
        self._directories: dict[str, str] = {}
        self._first_seen: dict[str, str] = {}
        self._reading: dict[str, Shared] = {}

    @property
    def _ports(self) -> EnginePorts:
        return self._keeper.ground.ports

    # -- listing ------------------------------------------------------------------------

    async def list(self) -> Sequence[ListedConversation]:
        """Every one it keeps; none where it lists none. Raises `AgentFailure`."""
        known = self._keeper.known
        if known is not None and not known.list:
            return ()
        fresh = self._ports.reactor.seconds() - self._listed_at < self._keeper.options.find_fresh
        listing = self._listing
        if listing is None or (listing.done and not fresh):
            listing = self._listing = Shared(self._list())
        found: Sequence[ListedConversation] = await listing.result()
        return found

    async def _list(self) -> Sequence[ListedConversation]:
        try:
            return await self._use(self._pages)
        finally:
            self._listed_at = self._ports.reactor.seconds()

    async def _pages(self, server: Server) -> Sequence[ListedConversation]:
        if not server.capabilities.list:
            return ()
        found: dict[str, ListedConversation] = {}
        params: State = {}
        seen: set[str] = set()
        for _ in range(self._keeper.options.max_pages):
            answer = await server.ask("session/list", params)
            page = answer if isinstance(answer, Mapping) else {}
            sessions = page.get("sessions")
            for session in sessions if isinstance(sessions, list) else ():
                row = self._row(session)
                if row is not None:
                    found.setdefault(row.id, row)
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor or cursor in seen:
                return tuple(found.values())
            seen.add(cursor)
            params = {"cursor": cursor}
        log.warn(
            "{what} has more conversations than {pages} pages hold; the rest are not listed",
            what=self._keeper.ground.what,
            pages=self._keeper.options.max_pages,
        )
        return tuple(found.values())

    def _row(self, session: Any) -> ListedConversation | None:
        """One of a page (ACP: SessionInfo); None for what names no conversation."""
        if not isinstance(session, Mapping):
            return None
        identifier, title = session.get("sessionId"), session.get("title")
        if not isinstance(identifier, str) or not identifier:
            return None
        more = session.get("additionalDirectories")
        folders = [session.get("cwd"), *(more if isinstance(more, list) else ())]
        paths = [path for path in folders if isinstance(path, str) and path.startswith("/")]
        if paths:
            self._directories[identifier] = paths[0]
        at = _moment(session.get("updatedAt")) or self._first_seen.setdefault(
            identifier, _written(self._ports.now())
        )
        return ListedConversation(
            id=identifier,
            title=title if isinstance(title, str) and title else identifier,
            created_at=at,
            modified_at=at,
            working_directories=tuple(file_uri(path) for path in paths),
        )

    # -- reading and deleting -----------------------------------------------------------

    async def read(self, conversation: str) -> ReadConversation:
        """Its turns. Raises `AgentFailure`."""
        reading = self._reading.get(conversation)
        if reading is None:
            reading = self._reading[conversation] = Shared(self._read(conversation))
        try:
            found: ReadConversation = await reading.result()
        finally:
            if self._reading.get(conversation) is reading:
                del self._reading[conversation]
        return found

    async def _read(self, conversation: str) -> ReadConversation:
        if self._keeper.known is not None:
            self._check_loads(self._keeper.known)
        return await self._use(lambda server: self._replayed(server, conversation))

    async def _replayed(self, server: Server, conversation: str) -> ReadConversation:
        what = self._keeper.ground.what
        self._check_loads(server.capabilities)
        directory = self._directories.get(conversation, str(self._ports.default_directory))
        replay = ReplayBuilder(conversation, directory=directory)
        quiet = Quiet(self._ports.reactor)
        self._replays.building[conversation] = replay, quiet
        place: State = {"cwd": directory, "mcpServers": []}
        try:
            await reopen(server, conversation, place, what, False, quiet)
        finally:
            del self._replays.building[conversation]
        if server.capabilities.close:
            self._tasks.spawn("closing a conversation", _closed(server, conversation))
        newest = await self._keeper.points.of(conversation)
        read = replay.read(newest or conversation)
        if newest is None and read.turns:
            await self._keeper.points.keep(conversation, conversation)
        return read

    def _check_loads(self, capabilities: Capabilities) -> None:
        if not capabilities.load:
            raise AgentFailure(
                f"{self._keeper.ground.what} cannot read a conversation back: it offers no "
                "session/load",
                SEND_FAILED,
            )

    async def delete(self, conversation: str) -> None:
        """Delete its copy. Raises `AgentFailure` where it is not deleted."""
        if self._keeper.known is not None:
            self._check_deletes(self._keeper.known)
        await self._use(lambda server: self._deleted(server, conversation))
        await self._keeper.points.forget(conversation)
        self._listing = None

    async def _deleted(self, server: Server, conversation: str) -> None:
        what = self._keeper.ground.what
        self._check_deletes(server.capabilities)
        try:
            await server.request("session/delete", {"sessionId": conversation})
        except RequestError as refused:
            if refused.code != RESOURCE_NOT_FOUND:
                raise AgentFailure(
                    f"{what} did not delete the conversation {conversation}: {refused.message}",
                    SEND_FAILED,
                ) from None

    def _check_deletes(self, capabilities: Capabilities) -> None:
        if not capabilities.delete:
            raise ConversationKept(
                f"{self._keeper.ground.what} keeps its conversations: it offers no session/delete",
                SEND_FAILED,
            )

    # -- the program --------------------------------------------------------------------

    async def _use(self, use: Callable[[Server], Awaitable[T]]) -> T:
        self._stay()
        self._users += 1
        try:
            return await use(await self._running())
        finally:
            self._users -= 1
            if not self._users:
                self._rest()

    async def _running(self) -> Server:
        server, options = self._server, self._keeper.options
        if server is not None and (
            (self._started is not None and self._started.done and not server.alive)
            or server.options.program != options.program
        ):
            self._let_go()
            server = None
        if server is None or self._started is None:
            ground = self._keeper.ground
            server = self._server = Server(
                self._ports, options, ground.what, ground.provider, ground.starts
            )
            self._started = Shared(server.start(None, self._replays, {}))
        await self._started.result()
        self._keeper.ground.greeted(server.capabilities)
        return server

    def _rest(self) -> None:
        after = self._keeper.options.listing_idle
        if after and self._server is not None and self._server.alive:
            self._idle = self._ports.reactor.callLater(after, self._idled)
        else:
            self._let_go()

    def _idled(self) -> None:
        self._idle = None
        self._let_go()

    def _stay(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _let_go(self) -> None:
        server, self._server, self._started = self._server, None, None
        if server is not None:
            self._tasks.spawn("ending a program that listed", server.close())

    async def close(self) -> None:
        """End the program; returns when it is down."""
        self._stay()
        self._let_go()
        await self._tasks.wait()


async def _closed(server: Server, conversation: str) -> None:
    if server.alive:
        try:
            await server.within(
                server.options.close_grace, "session/close", {"sessionId": conversation}
            )
        except AgentFailure as failed:
            log.debug("{words}", words=failed.message)


def _moment(written: Any) -> str | None:
    """A time as AHP writes it; None for what is no time."""
    if not isinstance(written, str):
        return None
    try:
        found = datetime.fromisoformat(written)
        return _written(found if found.tzinfo is not None else found.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None


def _written(moment: datetime) -> str:
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
