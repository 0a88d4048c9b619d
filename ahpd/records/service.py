"""The agents of a host while it runs: told apart by provider, listened to, let go of."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from twisted.application.service import Service
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ahpd.interfaces import Finding, IChangingAgent, IClosedAgent
from ahpd.records.bounded import within
from ahpd.records.paused import unpaused
from ahpd.records.roster import OWN, AgentsRoster
from ahpd.records.words import failure_words

log = Logger()

#: Seconds one agent may take to close; less than the service is given itself.
CLOSE_BOUND: Final = 8.0
#: Seconds one agent may take to look at what it needs (PLUGINS.txt, `x-ahpd/agents/check`).
PROBE_BOUND: Final = 10.0
#: Seconds that changes wait for others, so that a burst of them is said once.
CHANGE_WINDOW: Final = 0.05


class Sessions(Protocol):
    """What runs on the agents (`ahpd.sessions.agents_moved.AgentChanges`)."""

    def end_sessions_of(self, provider: str, words: str | None = None) -> Awaitable[None]:
        """No turn runs on an agent that goes; each that does ends in `words`."""

    def rest(self, provider: str) -> None:
        """An agent is offered no more, and what runs on it runs to its end."""

    def came(self, provider: str) -> None:
        """An agent is offered from now on."""

    def replaced(self, provider: str) -> None:
        """Another agent has the name."""

    def rewrapped(self, provider: str) -> None:
        """The agent is paused from now on, or is not any more."""

    def free(self, agent: Any) -> Awaitable[None]:
        """Returns when nothing is open on `agent`."""


class AgentsService(Service):
    """Has everybody follow the agents (`IAgent`) of a host; it stops behind the sessions.

    `changed` is called once behind any number of changes of what agents show, from the start
    to the stop. `sessions` is set once there are any.
    """

    name = "agents"

    def __init__(
        self,
        agents: Mapping[str, Any],
        clock: IReactorTime,
        changed: Callable[[], object] = lambda: None,
    ) -> None:
        self.agents = agents if isinstance(agents, AgentsRoster) else AgentsRoster(**{OWN: agents})
        self.changed = changed
        self.sessions: Sessions | None = None
        self.clock = clock
        self._moved = False
        self._call: IDelayedCall | None = None
        self._leaving: dict[int, Any] = {}
        """The agents that are offered no more and were not closed so far, by their identity."""
        for provider, agent in self.agents.items():
            self._listen(provider, agent)

    def startService(self) -> None:
        """Say from now on what changes, and what did since the agents were opened."""
        super().startService()  # type: ignore[no-untyped-call]
        if self._moved:
            self._schedule()

    def stopService(self) -> "Deferred[None]":
        """Close what holds something of its own. Fires when it is down, or had its time."""
        super().stopService()  # type: ignore[no-untyped-call]
        if self._call is not None:
            self._call.cancel()
            self._call = None
        return Deferred.fromCoroutine(self._close())

    # -- who there is ---------------------------------------------------------------

    def begin(self, section: str, agents: Mapping[str, Any]) -> None:
        """Have a section of the roster hold `agents`, ahead of a start: nobody runs on any."""
        moved = self.agents.replace(section, agents)
        for provider, agent in moved.came.items():
            self._listen(provider, agent)

    async def set(
        self, section: str, agents: Mapping[str, Any], resting: Mapping[str, str] | None = None
    ) -> None:
        """Have a section of the roster hold `agents` from now on, and everybody know it.

        `resting` says of agents that go, by provider, that what runs on them runs to its end,
        and why they are offered no more. Of any other that goes the turns are ended first, and
        its backends are down; then clients are told, and the agent is closed. One that is
        replaced is closed once nothing is open on it.
        """
        resting = resting or {}
        for provider, words in resting.items():
            self.agents.explain(provider, words)
        moved = self.agents.replace(section, agents)
        for provider, agent in (
            *moved.came.items(),
            *((each, now) for each, (_, now) in moved.replaced.items()),
        ):
            self._listen(provider, agent)
        ended = self._followed(moved.gone, resting)
        if self.sessions is not None:
            for provider in moved.replaced:
                self.sessions.replaced(provider)
            for provider in moved.rewrapped:
                self.sessions.rewrapped(provider)
            for provider in moved.came:
                self.sessions.came(provider)
        for done in ended:
            await done
        if moved.any:
            self.say()
        closing = [
            self._retire(provider, agent)
            for provider, agent in moved.gone.items()
            if provider not in resting
        ]
        for provider in moved.gone.keys() & resting.keys():
            self._retire(provider, moved.gone[provider])
        for provider, (before, _) in moved.replaced.items():
            self._retire(provider, before)
        for done in closing:
            await done

    def _followed(
        self, gone: Mapping[str, Any], resting: Mapping[str, str]
    ) -> "Sequence[Deferred[None]]":
        """Have the sessions of agents that go know it; what fires when those are down."""
        if self.sessions is None:
            return ()
        ended = []
        for provider in gone:
            if provider in resting:
                self.sessions.rest(provider)
            else:
                work = self._ended(provider, self.agents.absent(provider))
                ended.append(Deferred.fromCoroutine(work))
        return ended

    async def _ended(self, provider: str, words: str | None) -> None:
        assert self.sessions is not None, "asked where there are sessions alone"
        await self.sessions.end_sessions_of(provider, words)

    def _retire(self, provider: str, agent: Any) -> "Deferred[None]":
        """Close an agent once nothing is open on it; fires when it is down. Never fails."""
        agent = unpaused(agent)
        self._leaving[id(agent)] = agent
        return Deferred.fromCoroutine(self._retired(provider, agent))

    async def _retired(self, provider: str, agent: Any) -> None:
        if self.sessions is not None:
            await self.sessions.free(agent)
        if self._leaving.pop(id(agent), None) is not None and IClosedAgent.providedBy(agent):
            await self._close_one(provider, agent)

    # -- changes ------------------------------------------------------------------

    def say(self) -> None:
        """Say what the agents show now, where it is anything new."""
        if self._call is not None:
            self._call.cancel()
        self._say()

    def _listen(self, provider: str, agent: Any) -> None:
        if IChangingAgent.providedBy(agent):
            itself = unpaused(agent)

            def told() -> None:
                if unpaused(self.agents.get(provider)) is itself:
                    self._one_changed()

            agent.on_changed(told)

    def _one_changed(self) -> None:
        self._moved = True
        if self.running:
            self._schedule()

    def _schedule(self) -> None:
        if self._call is None:
            self._call = self.clock.callLater(CHANGE_WINDOW, self._say)

    def _say(self) -> None:
        self._call, self._moved = None, False
        try:
            self.changed()
        except Exception:
            log.failure("what the agents show could not be said")

    # -- probing and closing ----------------------------------------------------------

    async def probe(self, provider: str, agent: Any) -> Sequence[Finding]:
        """What an agent (`IProbedAgent`) finds of what it needs; nothing from one that cannot say.

        One that does not say within `PROBE_BOUND` seconds is unreachable.
        """
        ask = getattr(agent, "probe", None)
        if ask is None:
            return ()
        try:
            return tuple(await within(PROBE_BOUND, self.clock, ask))
        except CancelledError:
            words = "was stopped before it said whether it works"
        except TimeoutError:
            words = f"did not say whether it works within {PROBE_BOUND:g} s"
        except Exception as error:
            log.failure("asking the agent {provider} whether it works failed", provider=provider)
            words = f"could not be asked: {failure_words(error)}"
        return (Finding(about="agent", ok=False, words=words),)

    async def _close(self) -> None:
        agents = {id(unpaused(agent)): agent for agent in self.agents.values()}
        agents.update(self._leaving)
        self._leaving.clear()
        closing = [
            Deferred.fromCoroutine(self._close_one(agent.provider, agent))
            for agent in agents.values()
            if IClosedAgent.providedBy(agent)
        ]
        for closed in closing:
            await closed

    async def _close_one(self, provider: str, agent: Any) -> None:
        try:
            await within(CLOSE_BOUND, self.clock, agent.close)
        except TimeoutError:
            log.error(
                "the agent {provider} was not down after {bound} s and is left behind",
                provider=provider,
                bound=CLOSE_BOUND,
            )
        except Exception:
            log.failure("the agent {provider} failed to close", provider=provider)
