"""The conversation a chat has on its agent: opened, begun again, cut, and let go of.

It is opened when a turn first needs it, and again at the turn after something changed
what it was opened on: it is *stale* until then. What it is opened on, and what the
agent keeps it under, are read where they are held (`ahpd.chats.kept`).
"""

from collections.abc import Collection
from typing import Any, Final, Protocol, cast

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ahpd.calling import asked, called
from ahpd.chats.chat_host import ChatHost, Served
from ahpd.chats.folders import folders_of
from ahpd.chats.handed import handed_start
from ahpd.chats.owner import Surroundings
from ahpd.interfaces import (
    ChatStart,
    IAgent,
    IAgentChat,
    IConfiguredChat,
    IConversations,
    StoreFailure,
)
from ahpd.protocol import State
from ahpd.protocol.read_only import read_only
from ahpd.protocol.text import plain

log = Logger()

#: How long a backend has to close, and to delete what it keeps, in seconds.
CLOSE_GRACE: Final = 10.0


class Opening(Served, Protocol):
    """The chat a conversation is opened for."""

    @property
    def state(self) -> State:
        """The chat's state (schema: ChatState)."""

    @property
    def agent(self) -> IAgent:
        """The agent it runs on."""


class Backend:
    """A chat's conversation, while it is open, and what it becomes next."""

    __slots__ = ("_chat", "_host", "_trusted", "_world", "agent", "open", "stale")

    def __init__(self, world: Surroundings, chat: Opening) -> None:
        self._world = world
        self._chat = chat
        self._host: ChatHost | None = None
        self.open: IAgentChat | None = None
        """The conversation; None while none is open."""
        self.agent: IAgent | None = None
        """What it is open on, or being opened: its session may be on another one by now."""
        self.stale = False
        """Whether it is let go of before the next turn."""
        self._trusted = True

    async def opened(self) -> IAgentChat:
        """The conversation, opened where it is not. Raises `AgentFailure`."""
        if self._vouched_for_since():
            self.stale = True
        await self.settled()
        if self.open is None:
            host = ChatHost(self._chat, self._world.offers)
            agent = self.agent = self._chat.agent
            self._world.in_use.took(agent)
            try:
                self.open = await asked(agent.open_chat, self._start(host))
            except BaseException:
                host.end()
                self._let_go(agent)
                raise
            self._host = host
        return self.open

    def _vouched_for_since(self) -> bool:
        """Whether somebody vouched for its folders once it was open, and it may begin again.

        A backend that refuses what nobody vouches for asks about it as it is opened.
        """
        offers = self._world.offers
        if self.open is None or self._trusted or offers is None:
            return False
        goes_on = self._chat.agent.abilities.reopens or self._chat.kept.conversation is None
        return goes_on and offers.trusted(folders_of(self._chat))

    def _start(self, host: ChatHost) -> ChatStart:
        chat = self._chat
        owner, kept = chat.owner, chat.kept
        seen = [turn for turn in chat.state["turns"] if not kept.is_command(turn["id"])]
        start = ChatStart(
            session=owner.uri,
            chat=chat.uri,
            working_directories=folders_of(chat),
            config=owner.chat_config(chat.uri),
            history=plain(seen),
            host=host,
            resume=kept.resumed(),
            fork=kept.forked(),
            preamble=kept.preamble,
            client_tools=owner.client_tools,
            server_tools=owner.server_tools,
            **self._offered(owner.uri),
        )
        return handed_start(start)

    def _offered(self, session: str) -> dict[str, Any]:
        """What of a start is the host's to offer."""
        offers = self._world.offers
        if offers is None:
            return {}
        self._trusted = offers.trusted(folders_of(self._chat))
        return {
            "instructions": offers.instructions(session),
            "mcp_servers": offers.mcp_servers(),
            "managed_settings": offers.managed_settings(),
            "trusted": self._trusted,
        }

    def configure(self) -> None:
        """The configuration moved: told to a backend that takes it, or begun again with it."""
        owner = self._chat.owner
        if self.open is None or self.stale or not self._chat.agent.abilities.live_config:
            self.stale = True
            return
        try:
            values = read_only(owner.chat_config(self._chat.uri))
            called(cast("IConfiguredChat", self.open).configure, values)
        except Exception as failed:
            log.warn(
                "the agent of {chat} begins again, for it did not take its configuration: {error}",
                chat=self._chat.uri,
                error=str(failed),
            )
            self.stale = True

    # -- cutting ------------------------------------------------------------------------

    def rewind(self, turn_id: str, left: Collection[str]) -> None:
        """The turns behind `turn_id` were dropped, `left` are the ids of those that were not.

        The conversation is opened again at that turn, or where that has no point, whole.
        """
        self.stale = True
        try:
            self._chat.kept.cut(turn_id, left)
        except StoreFailure as failed:
            self._unwritten(failed)

    def start_over(self, running: bool, left: Collection[str]) -> None:
        """No turn it has seen is left: it is deleted, and the next turn begins a new one.

        `left` are the ids of the turns that are, the host's own commands all of them. With
        `running` a turn may be opening it still, and name what it is kept under late.
        """
        kept = self._chat.kept
        self.stale = True
        if kept.facts or running or self.open is not None:
            try:
                kept.end_conversation(left)
            except StoreFailure as failed:
                self._unwritten(failed)

    async def settled(self) -> None:
        """Let go of a conversation that is to be begun again, and of one that is over for good."""
        if self.stale or self._chat.kept.over:
            self.stale = False
            await self.close()
        if self._chat.kept.over:
            await self._delete()

    async def _delete(self) -> None:
        kept, agent = self._chat.kept, self._chat.agent
        conversation = kept.conversation
        if conversation is not None and IConversations.providedBy(agent):
            delete = cast("IConversations", agent).delete_conversation
            deleting = Deferred.fromCoroutine(asked(delete, conversation))
            deleting.addTimeout(CLOSE_GRACE, self._world.clock)
            try:
                await deleting
            except Exception as failed:
                log.error(
                    "the conversation of {chat} goes on, for it was not deleted: {kind}: {error}",
                    chat=self._chat.uri,
                    kind=type(failed).__name__,
                    error=str(failed),
                )
                kept.come_back()
                return
        kept.begun_anew()

    def _unwritten(self, failure: StoreFailure) -> None:
        log.error(
            "how {chat} was cut is not on disk: {error}", chat=self._chat.uri, error=str(failure)
        )

    # -- closing ------------------------------------------------------------------------

    async def close(self) -> None:
        """Let go of the conversation; returns when it is down, or had its time. Never raises."""
        backend, self.open = self.open, None
        agent, self.agent = self.agent, None
        host, self._host = self._host, None
        if host is not None:
            host.end()
        if backend is None:
            return
        self._chat.steering.forget()
        self._chat.owner.workers_over(self._chat.uri, None)
        self._chat.background(())  # what ran on in it is down with it
        closing = Deferred.fromCoroutine(asked(backend.close))
        closing.addTimeout(CLOSE_GRACE, self._world.clock)
        try:
            await closing
        except Exception as failed:
            log.error(
                "the agent's side of {chat} did not close: {kind}: {error}",
                chat=self._chat.uri,
                kind=type(failed).__name__,
                error=str(failed),
            )
        finally:
            if agent is not None:
                self._world.in_use.let_go(agent)

    def _let_go(self, agent: IAgent) -> None:
        """It could not be opened on `agent`."""
        if self.agent is agent:
            self.agent = None
        self._world.in_use.let_go(agent)
