"""What clients are shown of an agent, whatever its plugin answers."""

from typing import Any

from twisted.logger import Logger

from ahpd.calling import called
from ahpd.protocol import State
from ahpd.protocol.check import ShapeError, check
from ahpd.protocol.shapes.root import AgentInfo

log = Logger()


def shown(agent: Any, *, checked: bool = False) -> State | None:
    """What an agent (`IAgent`) says it is (schema: AgentInfo), None where it cannot say it.

    That is logged: one agent that is broken costs itself alone. With `checked` what has another
    shape is none; the start of a host has no time for that.
    """
    try:
        row: State = called(agent.info)
        if checked:
            check(row, AgentInfo, at="info")
    except ShapeError as wrong:
        log.error(
            "the agent {who} says what is no AgentInfo: {wrong}", who=agent.provider, wrong=wrong
        )
    except Exception as broken:
        log.error(
            "the agent {who} cannot say what it is: {kind}: {broken}",
            who=agent.provider,
            kind=type(broken).__name__,
            broken=str(broken),
        )
    else:
        return row
    return None
