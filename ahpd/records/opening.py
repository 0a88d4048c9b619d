"""Opening the agent of one record: what came of it, and why, whatever its engine does."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
from zope.interface.exceptions import Invalid
from zope.interface.verify import verifyObject

from ahpd.calling import called
from ahpd.config.errors import ConfigError
from ahpd.config.records import WrittenRecord
from ahpd.interfaces.agents import IAgent, IEditedAgent
from ahpd.interfaces.engines import AgentRecord, EnginePorts, InvalidRecord, RecordFailure
from ahpd.records.building import Ready, Secrets, Unread, prepare
from ahpd.records.engines import Engines, UnknownEngine
from ahpd.records.words import failure_words

PortsFor = Callable[[WrittenRecord], EnginePorts]

#: What a record came to (PLUGINS.txt, `x-ahpd-agents`). A paused one is opened as any other.
READY: Final = "ready"
FAILED: Final = "failed"
INVALID: Final = "invalid"
UNAVAILABLE: Final = "unavailable"
DISABLED: Final = "disabled"


@attrs.frozen(kw_only=True)
class Problem:
    """Why a record is not served: what it is about (`env:NAME`, `secret:NAME`, `open`), in words."""

    ref: str
    words: str


@attrs.frozen(kw_only=True)
class Opened:
    """What a record came to."""

    state: str
    agent: Any = None
    """`IAgent`, as its engine made it; None unless it is ready."""
    ready: Ready | None = None
    problems: Sequence[Problem] = ()

    @property
    def words(self) -> str:
        """Why it is not served, in one line; empty where it is."""
        return self.problems[0].words if self.problems else ""


def open_record(
    written: WrittenRecord,
    ports_for: PortsFor,
    engines: Engines,
    defaults: Mapping[str, Mapping[str, Any]],
    secrets: Secrets | None = None,
    before: Opened | None = None,
    view: Callable[[], Any] = lambda: None,
) -> Opened:
    """Open a record; never raises. `defaults` are the configuration's `engines`.

    `before` is what it came to last: an agent that takes the record as it is now stays. `view`
    makes what a new one shows its views with (`IViewHandle`), None for one that shows none.
    """
    if written.mode == "disabled":
        return Opened(state=DISABLED)
    try:
        ports = ports_for(written)
        ready = prepare(written, engines, defaults, ports.environ, secrets)
        agent = None if before is None else _kept(before, ready)
        if agent is None:
            agent = _opened(ready, attrs.evolve(ports, view=view()))
        return Opened(state=READY, agent=agent, ready=ready)
    except Unread as unread:
        problems = [
            Problem(ref=f"{each.kind}:{each.name}", words=each.words) for each in unread.missing
        ]
        return Opened(state=FAILED, problems=problems)
    except RecordFailure as failure:
        state = FAILED
        if isinstance(failure, UnknownEngine):
            state = UNAVAILABLE
        elif isinstance(failure, InvalidRecord):
            state = INVALID
        return Opened(state=state, problems=(Problem(ref="open", words=str(failure)),))


def refuse_twins(records: Sequence[WrittenRecord]) -> None:
    """Raises `ConfigError` for two records with one id, of which nobody could say which is meant."""
    held: dict[str, WrittenRecord] = {}
    for record in records:
        first = held.setdefault(record.id, record)
        if first is not record:
            raise ConfigError(
                f"{record.place}.id: found {record.id!r}, the id of {first.place} too, "
                "allowed: an id no other agent has"
            )


def _kept(before: Opened, ready: Ready) -> Any:
    """The agent that was opened, where it is this record's still or takes it; None where not."""
    if before.agent is None or before.ready is None:
        return None
    if ready.same_as(before.ready):
        return before.agent
    if before.ready.engine is not ready.engine or not IEditedAgent.providedBy(before.agent):
        return None
    try:
        called(before.agent.edited, ready.record)
    except Exception:
        return None  # opened anew, whoever refused says why again
    return before.agent


def _opened(ready: Ready, ports: EnginePorts) -> Any:
    record: AgentRecord = ready.record
    whose = f'the engine "{record.engine}"'
    try:
        agent = called(ready.engine.open, record, ports)
        verifyObject(IAgent, agent)
    except RecordFailure as failure:
        # Its words are its own to keep clean; they are held to it all the same.
        kind = InvalidRecord if isinstance(failure, InvalidRecord) else RecordFailure
        raise kind(failure_words(failure, ready.secrets)) from None
    except Invalid as error:
        raise RecordFailure(f"{whose} made no agent: {failure_words(error)}") from None
    except Exception as error:
        raise RecordFailure(f"{whose} failed: {failure_words(error, ready.secrets)}") from None
    if agent.provider != record.id:
        raise RecordFailure(f"{whose} made an agent of provider {agent.provider!r}")
    return agent
