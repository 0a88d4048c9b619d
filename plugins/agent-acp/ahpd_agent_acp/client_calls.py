"""Calls of tools that clients run, which reach this host twice.

The agent reports the call, and its request for it comes through the tools' endpoint, in
either order. Both are one row: it begins as its client's, and is readied once its input is
known, because that is when the client runs it. What the agent reports of it once its client
has it says nothing new: the client says the end. Source: AHP.txt, "A client's tools are the
client's to run"; PLUGINS.txt, `unreportedClientCalls`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ahpd_agent_acp.call import Call, Stage
from ahpd_agent_acp.tool_names import NamedTool


class Sayer(Protocol):
    """Who says the steps of a call."""

    def start(self, call: Call) -> None:
        """Begin it."""

    def ready(self, call: Call) -> None:
        """It runs."""


class ClientCalls:
    """The calls of one turn that clients run."""

    def __init__(self, sayer: Sayer, new_id: Callable[[], str]) -> None:
        self._sayer = sayer
        self._new_id = new_id
        self._unclaimed: list[Call] = []
        self._unreported: list[Call] = []

    # -- what the agent reports -----------------------------------------------------------

    def begun(self, call: Call) -> None:
        """The agent reported a call that is new."""
        if call.tool.client is not None:
            self._unclaimed.append(call)

    def reported(self, tool: NamedTool, raw_input: Any) -> Call | None:
        """The call that came through the endpoint first and is reported now; None where none did."""
        if tool.client is None:
            return None
        found = _match(self._unreported, tool.client, tool.name, raw_input, strict=True)
        if found is not None:
            self._unreported.remove(found)
        return found

    def holds(self, call: Call, status: Any) -> bool:
        """Follow a report of a client's call; False where it is to be said as any other's.

        One that ends before its client was asked is over without having run.
        """
        ended = status in ("completed", "failed")
        if call.claimed or call.stage is Stage.RUNNING:
            if ended and call.claimed:
                call.stage = Stage.OVER
            return call.claimed or not ended
        if ended:
            call.stage = Stage.OVER
            return True
        call.wanted = call.wanted or status == "in_progress"
        if call.wanted and call.raw_input:
            self._sayer.ready(call)
        return call.wanted

    # -- what comes through the endpoint --------------------------------------------------

    def claim(self, client: str, name: str, arguments: Mapping[str, Any]) -> str | None:
        """The reported call that a request is of; None where none was reported.

        The one with these arguments, else the oldest that has none yet, else the oldest. Its
        client is asked to run it from here on.
        """
        self._unclaimed = [call for call in self._unclaimed if call.stage is not Stage.OVER]
        found = _match(self._unclaimed, client, name, arguments, strict=False)
        if found is None:
            return None
        self._unclaimed.remove(found)
        found.claimed = True
        if not found.raw_input:
            found.raw_input = dict(arguments)
        if found.stage in (Stage.STREAMING, Stage.WITHDRAWN):
            self._sayer.ready(found)
        return found.id

    def hold(self, tool: NamedTool, arguments: Mapping[str, Any]) -> str:
        """Begin a row for a request that no reported call matched; its id."""
        call = Call(self._new_id(), tool, raw_input=dict(arguments), claimed=True)
        self._unreported.append(call)
        self._sayer.start(call)
        self._sayer.ready(call)
        return call.id


def _match(
    calls: list[Call], client: str, name: str, arguments: Any, *, strict: bool
) -> Call | None:
    """The call of a client's tool that fits; `strict` refuses one with other arguments."""
    found = [call for call in calls if (call.tool.client, call.tool.name) == (client, name)]
    for call in found:
        if call.raw_input == arguments:
            return call
    if strict:
        return found[0] if found and not arguments else None
    return next((call for call in found if not call.raw_input), found[0] if found else None)
