"""Asking the agents of records whether they work: as they are opened, and for a check.

What is asked on opening is asked behind everything else, because an agent may start a program to
answer: from when the host listens on, a few at a time, and each within its bound. An answer for
a record that moved meanwhile is dropped. Source: PLUGINS.txt, `x-ahpd-agents` (the ref `probe`,
"the opens and the checks raise the alerts again").
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from ahpd.config.redaction import scrub
from ahpd.interfaces import Alert, Finding, IProbedAgent
from ahpd.records.opening import Opened, PortsFor
from ahpd.records.row import Held
from ahpd.records.service import AgentsService

log = Logger()

#: How many are asked at once, so that many programs are not started together.
AT_ONCE: Final = 2
#: Seconds between when the host listens and the first question: those who waited come first.
QUIET: Final = 0.5
#: What the alert about an answer is kept by.
REF: Final = "probe"


class Probes:
    """Asks agents of records, and has their alerts say what is wrong. `show` shows a row anew."""

    def __init__(
        self, agents: AgentsService, ports_for: PortsFor, show: Callable[[Held], None]
    ) -> None:
        self._agents = agents
        self._ports_for = ports_for
        self._show = show
        self._waiting: dict[str, Held] = {}
        self._asking: list[Deferred[None]] = []
        self._next: IDelayedCall | None = None
        self._begun = self._stopped = False

    def begin(self) -> None:
        """The host listens: ask those that were opened so far, and others as they are."""
        if not self._begun and not self._stopped:
            self._begun = True
            if self._waiting:
                self._next = self._agents.clock.callLater(QUIET, self._ask_next)

    def stop(self) -> None:
        """Ask nobody any more; what is answered from now on counts for nothing."""
        self._stopped = True
        self._waiting.clear()
        if self._next is not None:
            self._next.cancel()
            self._next = None
        for asking in list(self._asking):
            asking.cancel()

    def opened(self, held: Held, before: Opened) -> None:
        """A record was opened; `before` is what it came to until now."""
        now = held.opened
        ready = now.ready
        if ready is not None and now.agent is before.agent and ready.same_as(before.ready):
            return  # what was asked of it, or will be, is of this one
        self.forget(held)
        if not self._stopped and IProbedAgent.providedBy(now.agent):
            self._waiting[held.written.id] = held
            self._soon()

    def forget(self, held: Held) -> None:
        """A record is another one from now on, or gone: no answer for it counts."""
        held.question = None
        self._waiting.pop(held.written.id, None)

    async def ask(self, held: Held) -> None:
        """Ask the agent of a record that is ready, or its engine where the agent cannot say."""
        opened, identifier = held.opened, held.written.id
        self._waiting.pop(identifier, None)
        question = held.question = object()
        asked = opened.agent
        if not IProbedAgent.providedBy(asked):
            asked = _ByEngine(opened.ready, self._ports_for(held.written))
        found = await self._agents.probe(identifier, asked)
        if self._stopped or held.question is not question:
            return
        wrong = [finding for finding in found if not finding.ok]
        if wrong:
            assert opened.ready is not None, "what is ready was prepared"
            text = scrub("; ".join(_said(each) for each in wrong), opened.ready.secrets)
            held.alerts.raise_(Alert(level="warning", text=text, ref=REF))
        else:
            held.alerts.clear(REF)
        self._show(held)

    # -- behind everything else ---------------------------------------------------------------

    def _soon(self) -> None:
        if self._begun and not self._stopped and self._next is None:
            self._next = self._agents.clock.callLater(0, self._ask_next)

    def _ask_next(self) -> None:
        self._next = None
        while self._waiting and len(self._asking) < AT_ONCE:
            held = self._waiting.pop(next(iter(self._waiting)))
            asking: Deferred[None] = Deferred.fromCoroutine(self.ask(held))
            self._asking.append(asking)
            asking.addErrback(_failed, held.written.id)
            asking.addBoth(self._asked, asking)

    def _asked(self, _: object, asking: "Deferred[None]") -> None:
        self._asking.remove(asking)
        if self._waiting:
            self._soon()


@attrs.frozen
class _ByEngine:
    """Asks an engine about a record whose agent cannot be asked itself."""

    ready: Any
    ports: Any

    async def probe(self) -> Sequence[Finding]:
        """See `IEngine.check`."""
        found: Sequence[Finding] = await self.ready.engine.check(self.ready.record, self.ports)
        return found


def _said(finding: Finding) -> str:
    words = " ".join(finding.words.split())
    return words if finding.mend is None else f"{words} ({finding.mend})"


def _failed(failure: Any, identifier: str) -> None:
    log.failure("what the agent {id} found could not be shown", failure, id=identifier)
