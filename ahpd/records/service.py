"""The agents of a host while it runs: told apart by provider, listened to, let go of."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ahpd.interfaces import Finding, IAgent, IChangingAgent, IClosedAgent, IProbedAgent
from ahpd.records.bounded import within
from ahpd.records.words import failure_words

log = Logger()

#: Seconds one agent may take to close; less than the service is given itself.
CLOSE_BOUND: Final = 8.0
#: Seconds one agent may take to look at what it needs.
PROBE_BOUND: Final = 20.0
#: Seconds that changes wait for others, so that a burst of them is said once.
CHANGE_WINDOW: Final = 0.05


class AgentsService(Service):
    """Holds the agents (`IAgent`) of a host by provider; it stops behind the sessions.

    `changed` is called once behind any number of changes of what agents show, from the start
    to the stop.
    """

    name = "agents"

    def __init__(
        self,
        agents: Mapping[str, Any],
        clock: IReactorTime,
        changed: Callable[[], object] = lambda: None,
    ) -> None:
        self.agents: Mapping[str, IAgent] = dict(agents)
        self.changed = changed
        self._clock = clock
        self._moved = False
        self._call: IDelayedCall | None = None
        for agent in self.agents.values():
            if IChangingAgent.providedBy(agent):
                agent.on_changed(self._one_changed)

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

    async def probe_all(self) -> Mapping[str, Sequence[Finding]]:
        """What each agent that can be asked finds, by provider, all asked at once."""
        asked = {
            provider: Deferred.fromCoroutine(self._probe(provider, agent))
            for provider, agent in self.agents.items()
            if IProbedAgent.providedBy(agent)
        }
        return {provider: await found for provider, found in asked.items()}

    # -- changes ------------------------------------------------------------------

    def _one_changed(self) -> None:
        self._moved = True
        if self.running:
            self._schedule()

    def _schedule(self) -> None:
        if self._call is None:
            self._call = self._clock.callLater(CHANGE_WINDOW, self._say)

    def _say(self) -> None:
        self._call, self._moved = None, False
        try:
            self.changed()
        except Exception:
            log.failure("what the agents show could not be said")

    # -- probing and closing ----------------------------------------------------------

    async def _probe(self, provider: str, agent: Any) -> Sequence[Finding]:
        try:
            return tuple(await within(PROBE_BOUND, self._clock, agent.probe))
        except TimeoutError:
            words = f"did not say whether it works within {PROBE_BOUND:g} s"
        except Exception as error:
            log.failure("asking the agent {provider} whether it works failed", provider=provider)
            words = f"could not be asked: {failure_words(error)}"
        return (Finding(about="agent", ok=False, words=words),)

    async def _close(self) -> None:
        closing = [
            Deferred.fromCoroutine(self._close_one(provider, agent))
            for provider, agent in self.agents.items()
            if IClosedAgent.providedBy(agent)
        ]
        for closed in closing:
            await closed

    async def _close_one(self, provider: str, agent: Any) -> None:
        try:
            await within(CLOSE_BOUND, self._clock, agent.close)
        except TimeoutError:
            log.error(
                "the agent {provider} was not down after {bound} s and is left behind",
                provider=provider,
                bound=CLOSE_BOUND,
            )
        except Exception:
            log.failure("the agent {provider} failed to close", provider=provider)
