"""`x-ahpd/invokeOperation`: runs what a channel of rows lists as an operation.

Everything that can be refused is refused before the channel is called. While an operation runs
its status is `running`, and then `idle`, or `error` with the words it failed with: on the list
for an operation of the list, on the row's `operation` for one of a row. Source: PLUGINS.txt,
"x-ahpd/invokeOperation".
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final

import attrs
from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from ahpd.extensions.callers import Callers
from ahpd.extensions.names import on_scheme
from ahpd.extensions.rows import Rows
from ahpd.interfaces import Caller, Description, IAccess, Method, Operation
from ahpd.protocol import State
from ahpd.protocol.errors import (
    RpcError,
    internal_error,
    invalid_params,
    resource_not_found,
    shortened,
)
from ahpd.protocol.uris import scheme as scheme_of
from ahpd.schemas import Misfit, check_value

log = Logger()

NAME: Final = "x-ahpd/invokeOperation"
GRANT: Final = "operation:invoke"
#: Where an operation's input stands, in words.
INPUT: Final = "params.input"
#: What an operation that works on no record is scoped to.
LIST: Final = "list"


@attrs.frozen(kw_only=True, eq=False, repr=False)
class OperationsOf:
    """One channel's operations, and what runs them."""

    list: Callable[[], Sequence[Operation]]
    """The operations there are now."""
    offered: Callable[[State], Collection[str]]
    """The ids a row offers now."""
    rows: Rows
    scope: str
    """What a record of the channel is called: `tunnel`."""
    invoke: Callable[[Operation, str | None, Any, Caller], Awaitable[State | None]]
    """Runs one, on the record with that id or on the list, with checked input. It answers the
    record it left, None where it left none; an `RpcError` it raises is what the caller is told.
    What is asked beside the operation's grant (an owner's rule) is asked here."""
    check: Callable[[Operation, str | None, Any], None] | None = None
    """Holds an input to what its operation takes, where that is more, or less, than the schema
    that is listed says. Raises `Misfit`, or `RpcError`."""


def listed(operation: Operation) -> State:
    """An operation as a channel's state lists it."""
    shown: State = {
        "id": operation.id,
        "kind": operation.kind,
        "label": operation.label,
        "scopes": [*operation.scopes],
        "grant": operation.grant,
    }
    for name in ("description", "icon", "confirmation", "input"):
        value = getattr(operation, name)
        if value is not None:
            shown[name] = value
    return shown


@attrs.frozen(kw_only=True, eq=False, repr=False)
class _Asked:
    """An invocation that may run."""

    of: OperationsOf
    operation: Operation
    target: str | None
    value: Any


class Invocations:
    """The channels with operations, by their URIs."""

    def __init__(self, access: IAccess) -> None:
        self._callers = Callers(access)
        self._channels: dict[str, OperationsOf] = {}
        described = Description(
            title="Invoke an operation", description="Runs an operation that a channel lists."
        )
        self.method = Method(
            grant=GRANT,
            authorize=self._holds_its_grant,
            handle=self._invoked,
            describe=lambda: described,
        )

    def register(self, channel: str, operations: OperationsOf) -> None:
        """Serve the operations of a channel (`x-ahpd-tunnels://`); its rows carry their ids."""
        if channel in self._channels:
            raise ValueError(f"{channel} has its operations already")
        self._channels[channel] = operations
        operations.rows.offer(operations.offered)
        self.refresh(channel)

    def refresh(self, channel: str) -> None:
        """The operations of a channel may be others now: list them as they are."""
        held = self._channels[channel]
        held.rows.set_operations([listed(one) for one in held.list()])

    # -- who may ------------------------------------------------------------------------

    def _holds_its_grant(self, params: Mapping[str, Any], caller: Caller) -> bool:
        """Whoever holds the grant the operation names needs no second one to run it."""
        try:
            operation = _listed_now(self._channel(params), params)
        except RpcError:
            return False
        return bool(operation.grant) and self._callers.holds(caller, operation.grant)

    # -- what is refused -----------------------------------------------------------------

    def _channel(self, params: Mapping[str, Any]) -> OperationsOf:
        uri = params.get("channel")
        if not isinstance(uri, str):
            raise invalid_params("params.channel must be text")
        held = self._channels.get(on_scheme(uri, scheme_of(uri)) or uri)
        if held is None:
            raise resource_not_found(uri)
        return held

    def _checked(self, params: Mapping[str, Any], caller: Caller) -> _Asked:
        """What is asked for. Raises `RpcError` for the first thing that is wrong with it."""
        held = self._channel(params)
        operation = _listed_now(held, params)
        target = _target(held, operation, params.get("target"))
        if target is not None:
            _check_offered(held, operation, target, caller)
        value = _input(held, operation, target, params.get("input"))
        return _Asked(of=held, operation=operation, target=target, value=value)

    # -- running -------------------------------------------------------------------------

    async def _invoked(self, params: Mapping[str, Any], caller: Caller) -> State:
        asked = self._checked(params, caller)
        _status(asked, "running")
        try:
            left = await asked.of.invoke(asked.operation, asked.target, asked.value, caller)
        except CancelledError:
            _status(asked, "idle")
            raise
        except Exception as error:
            raise _failed(asked, error) from None
        _status(asked, "idle")
        return _answer(asked.of.rows, left, caller)


def _listed_now(held: OperationsOf, params: Mapping[str, Any]) -> Operation:
    wanted = params.get("operationId")
    if not isinstance(wanted, str):
        raise invalid_params("params.operationId must be text")
    for operation in held.list():
        if operation.id == wanted:
            return operation
    raise invalid_params(f"params.operationId: {held.rows.uri} lists no operation {wanted[:200]}")


def _target(held: OperationsOf, operation: Operation, target: Any) -> str | None:
    """The id of the record an operation is to run on; None for one that runs on the list."""
    if target is None:
        if LIST in operation.scopes:
            return None
        raise invalid_params(f"params.target: {operation.id} runs on a {held.scope}: name its id")
    if held.scope not in operation.scopes:
        raise invalid_params(f"params.target: {operation.id} runs on the list and takes no target")
    identifier = target.get("id") if isinstance(target, Mapping) else None
    if not isinstance(identifier, str) or not identifier:
        raise invalid_params(
            f"params.target.id: {operation.id} runs on a {held.scope}: name its id"
        )
    return identifier


def _check_offered(held: OperationsOf, operation: Operation, target: str, caller: Caller) -> None:
    row = held.rows.get(target)
    if row is None or not held.rows.readable(caller.reader, row):
        raise invalid_params(f"params.target.id: there is no {held.scope} {target[:200]}")
    if operation.id not in row.get("operations", ()):
        raise invalid_params(
            f"params.operationId: the {held.scope} {target[:200]} does not offer {operation.id} now"
        )


def _input(held: OperationsOf, operation: Operation, target: str | None, value: Any) -> Any:
    """The input, held to what the operation declares."""
    if operation.input is None:
        if value is None or value == {}:
            return None
        raise invalid_params(f"params.input: {operation.id} takes no input")
    given = {} if value is None else value
    try:
        if held.check is None:
            check_value(operation.input, given, INPUT)
        else:
            held.check(operation, target, given)
    except Misfit as misfit:
        raise invalid_params(str(misfit)) from None
    return given


def _status(asked: _Asked, status: str, error: str | None = None) -> None:
    state: State = {"status": status}
    if error is not None:
        state["error"] = error
    if asked.target is None:
        asked.of.rows.list_status(asked.operation.id, state)
    else:
        asked.of.rows.row_status(asked.target, {"id": asked.operation.id, **state})


def _failed(asked: _Asked, error: Exception) -> RpcError:
    """The work raised; called where that is handled. The caller is told what everybody reads."""
    if isinstance(error, RpcError):
        refusal = error
    else:
        log.failure("{operation} failed", operation=asked.operation.id)
        refusal = internal_error(shortened(str(error) or type(error).__name__))
    _status(asked, "error", refusal.message)
    return refusal


def _answer(rows: Rows, left: State | None, caller: Caller) -> State:
    """The record an operation left, as its caller is shown it; {} where there is none."""
    if left is None:
        return {}
    identifier = left.get(rows.key)
    row = rows.get(identifier) if isinstance(identifier, str) else None
    return left if row is None else rows.shown(row, caller)
