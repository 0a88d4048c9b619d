"""The engine `acp`: makes an agent of every record that names a program speaking ACP."""

import sys
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Final

from zope.interface import implementer

from ahpd.interfaces import (
    AgentRecord,
    EnginePorts,
    Finding,
    IAgent,
    IEngine,
    RecordFailure,
    Template,
)
from ahpd.protocol import State
from ahpd_agent_acp.agent import AcpAgent
from ahpd_agent_acp.probe import BOUND
from ahpd_agent_acp.record import HOST_ONLY, LEFT_WRITTEN, SCHEMA, Defaults, Options, read_record
from ahpd_agent_acp.rows import ROWS, Row


@implementer(IEngine)
class AcpEngine:
    """See the module. `defaults` are for every record that does not set its own.

    `check_bound` is how many seconds an agent has to answer while it is checked.
    """

    name = "acp"
    title = "Agent Client Protocol"
    description = "A program that speaks the Agent Client Protocol over its standard streams"
    host_only: Sequence[str] = HOST_ONLY
    left_written: Sequence[str] = LEFT_WRITTEN
    key_variables: Sequence[str] = tuple(
        dict.fromkeys(variable for row in ROWS.values() for variable in row.keys)
    )

    def __init__(self, defaults: Defaults | None = None, check_bound: float = BOUND) -> None:
        self._defaults = Defaults() if defaults is None else defaults
        self._check_bound = check_bound

    def schema(self) -> State:
        """See `IEngine.schema`."""
        return deepcopy(dict(SCHEMA))

    def templates(self) -> Sequence[Template]:
        """One for each shipped row."""
        return tuple(_template(row) for row in ROWS.values())

    def template_of(self, record: AgentRecord, templates: Sequence[Template]) -> Template | None:
        """The shipped row a record takes: what it names as its base, or the one of its id."""
        named = record.config.get("base", record.id)
        return next((each for each in templates if each.id == named), None)

    def open(self, record: AgentRecord, ports: EnginePorts) -> IAgent:
        """See `IEngine.open`."""
        return AcpAgent(record, ports, lambda each: self._read(each, ports))

    def _read(self, record: AgentRecord, ports: EnginePorts) -> Options:
        return read_record(record, ports.environ, self._defaults, _system())

    async def check(self, record: AgentRecord, ports: EnginePorts) -> Sequence[Finding]:
        """See `IEngine.check`."""
        try:
            agent = AcpAgent(record, ports, lambda each: self._read(each, ports))
        except RecordFailure as failed:
            return (Finding(about="record", ok=False, words=str(failed)),)
        return await agent.probe(self._check_bound)


def _template(row: Row) -> Template:
    config: dict[str, Any] = {"command": row.command, "args": list(row.args)}
    if row.keys:
        config["env"] = dict.fromkeys(row.keys, "")
    if row.sign_in is not None:
        config["authenticate"] = {"methodId": row.sign_in.method}
        if row.sign_in.from_env:
            config["authenticate"]["fromEnv"] = list(row.sign_in.from_env)
    if row.honours_trust:
        config["honoursTrust"] = True
    if row.machine:
        config["machine"] = deepcopy(dict(row.machine))
    return Template(
        id=row.id,
        name=row.name,
        description=row.description,
        program=row.command,
        config=config,
        install=tuple(_install(row)),
        page=row.page,
    )


def _install(row: Row) -> Sequence[str]:
    return row.windows if _system() == "windows" and row.windows else row.install


def _system() -> str:
    return {"darwin": "macos", "win32": "windows"}.get(sys.platform, "linux")


#: What the entry point names.
ENGINE: Final = AcpEngine()
