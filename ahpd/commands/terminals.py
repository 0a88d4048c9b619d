"""Terminals: `createTerminal`, `disposeTerminal`."""

from collections.abc import Awaitable, Mapping

from ahpd.interfaces import Command, ICaller
from ahpd.protocol import State
from ahpd.terminals.service import TerminalsService


def terminal_commands(service: TerminalsService) -> Mapping[str, Command]:
    """The commands by their method; their params were checked for shape."""

    def create_terminal(caller: ICaller, params: State) -> None:
        service.create(params)

    def dispose_terminal(caller: ICaller, params: State) -> Awaitable[None]:
        return service.dispose_of(params["channel"])

    return {"createTerminal": create_terminal, "disposeTerminal": dispose_terminal}
