"""Opening the agents of a host: what cannot be opened is said once and left out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
from twisted.logger import Logger
from zope.interface.exceptions import Invalid
from zope.interface.verify import verifyObject

from ahpd.config.errors import ConfigError
from ahpd.config.records import WrittenRecord
from ahpd.interfaces.agents import IAgent
from ahpd.interfaces.engines import AgentRecord, EnginePorts, RecordFailure
from ahpd.records.building import Ready, prepare
from ahpd.records.engines import Engines
from ahpd.records.paused import PausedAgent
from ahpd.records.words import failure_words

log = Logger()

PortsFor = Callable[[WrittenRecord], EnginePorts]


@attrs.frozen(kw_only=True)
class Problem:
    """A record that was left out."""

    record: WrittenRecord
    words: str

    def __str__(self) -> str:
        return f"{self.record.place} ({self.record.id}): {self.words}"


def open_agents(
    records: Sequence[WrittenRecord],
    ports_for: PortsFor,
    engines: Engines,
    defaults: Mapping[str, Mapping[str, Any]],
) -> tuple[dict[str, Any], list[Problem]]:
    """The agents (`IAgent`) by provider, in the records' order, and what was left out.

    `defaults` are the configuration's `engines`. Each problem is one line of the log; a record
    that is disabled is neither opened nor a problem. Raises `ConfigError` for two records with
    one id, of which nobody could say which is meant.
    """
    refuse_twins(records)
    agents: dict[str, Any] = {}
    problems: list[Problem] = []
    for written in records:
        if written.mode == "disabled":
            continue
        try:
            agents[written.id] = _open(written, ports_for(written), engines, defaults)
        except RecordFailure as failure:
            problems.append(Problem(record=written, words=str(failure)))
            log.error("{problem}; the agent is left out", problem=problems[-1])
    return agents, problems


def refuse_twins(records: Sequence[WrittenRecord]) -> None:
    """Raises `ConfigError` for two records with one id."""
    first: dict[str, WrittenRecord] = {}
    for record in records:
        held = first.setdefault(record.id, record)
        if held is not record:
            raise ConfigError(
                f"{record.place}.id: found {record.id!r}, the id of {held.place} too, "
                "allowed: an id no other agent has"
            )


def _open(
    written: WrittenRecord,
    ports: EnginePorts,
    engines: Engines,
    defaults: Mapping[str, Mapping[str, Any]],
) -> Any:
    ready = prepare(written, engines, defaults, ports.environ)
    agent = _opened(ready, ports)
    return PausedAgent(agent) if written.mode == "paused" else agent


def _opened(ready: Ready, ports: EnginePorts) -> Any:
    record: AgentRecord = ready.record
    whose = f'the engine "{record.engine}"'
    try:
        agent = ready.engine.open(record, ports)
        verifyObject(IAgent, agent)
    except RecordFailure as failure:
        # Its words are its own to keep clean; they are held to it all the same.
        raise RecordFailure(failure_words(failure, ready.secrets)) from None
    except Invalid as error:
        raise RecordFailure(f"{whose} made no agent: {failure_words(error)}") from None
    except Exception as error:
        raise RecordFailure(f"{whose} failed: {failure_words(error, ready.secrets)}") from None
    if agent.provider != record.id:
        raise RecordFailure(f"{whose} made an agent of provider {agent.provider!r}")
    return agent
