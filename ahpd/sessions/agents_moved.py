"""What becomes of sessions when an agent comes, goes, or is replaced by another of its name.

A session keeps its history whatever its agent does. The agent it runs on is the one that is
offered under its provider now, or what stands for one that is not (`ahpd.sessions.missing`).
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ahpd.chats.backend import CLOSE_GRACE
from ahpd.chats.chat import Chat
from ahpd.chats.conversation import STOP_GRACE
from ahpd.chats.owner import Surroundings, TurnFailure
from ahpd.chats.tasks import finished
from ahpd.sessions.listed import BackendListings
from ahpd.sessions.missing import MissingAgent
from ahpd.sessions.registry import SessionRegistry
from ahpd.sessions.session import Session

log = Logger()

#: How long the backends of an agent that goes have to be down, in seconds.
LONGEST_LEAVE: Final = STOP_GRACE + CLOSE_GRACE + 1.0


class AgentChanges:
    """Has the sessions of a host follow its agents, whom `registry.agents` names."""

    def __init__(
        self, world: Surroundings, registry: SessionRegistry, listings: BackendListings
    ) -> None:
        self._world = world
        self._registry = registry
        self._listings = listings

    async def end_sessions_of(self, provider: str, words: str | None = None) -> None:
        """Let no turn run on an agent that goes: each that does ends, in `words`.

        Its sessions stay, on what stands for it. Returns when its backends are down, or had
        their time. Never raises.
        """
        if words is None:
            words = f"The agent {provider!r} is not offered by this host any more."
        leaving = []
        self._listings.gone(provider)
        for session in self._sessions(provider):
            self._stand_in(session, provider)
        for chat in self._chats(provider):
            handed = chat.current is not None and chat.current.handed
            resumes = handed and chat.conversation.agent.abilities.resume
            work = chat.abandon(TurnFailure("agentNotFound", words, resumes))
            leaving.append(self._world.tasks.spawn(f"leaving {provider} on {chat.uri}", work))
        for task in leaving:
            await finished(task).addTimeout(LONGEST_LEAVE, self._world.clock, self._given_up)

    def rest(self, provider: str) -> None:
        """An agent is offered no more, and the turns that run on it run to their ends."""
        self._listings.gone(provider)
        for session in self._sessions(provider):
            self._stand_in(session, provider)
        for chat in self._chats(provider):
            chat.conversation.renew()

    def came(self, provider: str) -> None:
        """An agent is offered from now on: the sessions of its name are its."""
        agent = self._registry.agent_of(provider)
        for session in self._sessions(provider):
            session.agent = agent
            session.movable.sync_all(session)
            self._go_on(session)
        self._listings.refresh()

    def replaced(self, provider: str) -> None:
        """Another agent has the name: each chat is on it from its next turn on."""
        for chat in self._chats(provider):
            chat.conversation.renew()
        self.came(provider)

    def rewrapped(self, provider: str) -> None:
        """The agent is paused from now on, or is not any more; what is open of it stays open."""
        agent = self._registry.agent_of(provider)
        for session in self._sessions(provider):
            session.agent = agent
            self._go_on(session)

    def free(self, agent: Any) -> "Deferred[None]":
        """Fires when no conversation is open on `agent` any more."""
        return self._world.in_use.free(agent)

    def _go_on(self, session: Session) -> None:
        """What waited in it while its agent took nothing goes on waiting no longer."""
        if not session.paused:
            for chat in tuple(session.chats.values()):
                chat.go_on()

    def _stand_in(self, session: Session, provider: str) -> None:
        session.agent = MissingAgent(provider, self._registry.absent(provider))
        session.movable.sync_all(session)

    def _sessions(self, provider: str) -> Iterator[Session]:
        """The sessions of a provider that are awake; the others look their agent up."""
        for session in tuple(self._registry.catalogue.sessions()):
            if session.agent.provider == provider:
                yield session

    def _chats(self, provider: str) -> Sequence[Chat]:
        """The chats on a provider that are awake: a chat may be on another than its session's."""
        return [
            chat
            for chat in self._registry.chats()
            if (chat.provider or chat.owner.agent.provider) == provider
        ]

    @staticmethod
    def _given_up(result: object, seconds: float) -> None:
        log.error("an agent that goes does not let go of a chat; it is left to itself")
