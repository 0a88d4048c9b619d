"""The commands of `x-ahpd-agents`, and its operations, which run the same code.

Source: PLUGINS.txt, `x-ahpd-agents` ("Six commands serve an agent").
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
from twisted.logger import Logger

from ahpd.config.records import WrittenRecord
from ahpd.extensions.operations import OperationsOf
from ahpd.interfaces import (
    Caller,
    Description,
    Method,
    Operation,
    RecordsFailure,
    SecretFailure,
)
from ahpd.protocol import State
from ahpd.protocol.errors import RpcError, internal_error, invalid_params
from ahpd.records.agents import AgentRecords
from ahpd.records.asking import (
    Taken,
    Wanted,
    asked_record,
    check_new_id,
    identifier_in,
    taken,
    unknown,
    wanted,
)
from ahpd.records.opening import READY
from ahpd.records.row import CONFIGURED, OPERATIONS, Held, offered
from ahpd.records.rules import GRANTS
from ahpd.schemas import Vaulted
from ahpd.schemas.vaulted import prefix

log = Logger()

#: What the secrets of an agent are kept under: `<owner>:agent/<id>/<field>`.
SUBJECT: Final = "agent"
_MODES: Final = {"enable": "enabled", "pause": "paused", "disable": "disabled"}
_WHAT: Final = {
    "put": ("Put an agent", "Makes or changes an agent's record."),
    "remove": ("Remove an agent", "Ends what runs on an agent and deletes its record."),
    "check": ("Check an agent", "Reads a record again and asks whether its agent works."),
    "enable": ("Enable an agent", "Opens an agent that is paused or disabled."),
    "pause": ("Pause an agent", "Takes nothing new on an agent, which stays open."),
    "disable": ("Disable an agent", "Lets go of an agent; its sessions stay."),
}


class AgentCommands:
    """Puts, removes, checks and switches records for clients.

    `has_name` answers who else has a name (a backend, a scheme), `connectors` the rows of the
    connectors there are. Each command checks its grants and the owner's rule itself, and raises
    `RpcError` in the words the caller is told.
    """

    def __init__(
        self,
        records: AgentRecords,
        vaulted: Vaulted,
        has_name: Taken,
        connectors: Callable[[], Sequence[State]] = tuple,
    ) -> None:
        self._records = records
        self._rules = records.ground.rules
        self._vaulted = vaulted
        self._has_name = has_name
        self._connectors = connectors

    def methods(self) -> Mapping[str, Method]:
        """The commands by their names."""
        served = {
            "put": (GRANTS.put, self.put),
            "remove": (GRANTS.remove, self.remove),
            "check": (GRANTS.put, self.check),
            **{verb: (GRANTS.put, self._switch(mode)) for verb, mode in _MODES.items()},
        }
        return {
            f"x-ahpd/agents/{verb}": Method(
                grant=grant, handle=handle, describe=_describe(*_WHAT[verb])
            )
            for verb, (grant, handle) in served.items()
        }

    def operations(self) -> OperationsOf:
        """The operations of the channel."""
        return OperationsOf(
            list=lambda: OPERATIONS,
            offered=offered,
            rows=self._records.rows,
            scope=SUBJECT,
            invoke=self._invoked,
        )

    async def _invoked(
        self, operation: Operation, target: str | None, value: Any, caller: Caller
    ) -> State | None:
        params = {"id": target}
        if operation.id == "remove":
            await self.remove(params, caller)
            return None
        if operation.id == "check":
            return await self.check(params, caller)
        return await self._switched(params, caller, _MODES[operation.id])

    # -- making and changing -------------------------------------------------------------

    async def put(self, params: Mapping[str, Any], caller: Caller) -> State:
        """Make or change a record, open it and fold it in; its row."""
        asked = asked_record(params)
        self._rules.put(caller, asked.owner)
        await self._records.lock.acquire()
        try:
            before = self._records.get(asked.id)
            if before is None:
                check_new_id(asked.id, self._has_name)
                self._check_keeps()
            else:
                self._check_known(before, caller, taken(asked.id, "another agent"))
                self._check_is_kept(before, "change")
                if before.written.owner != asked.owner:
                    self._rules.remove(caller, before.written.owner)
                else:
                    self._rules.put(caller, before.written.owner)
            return await self._put(asked, before, caller)
        finally:
            self._records.lock.release()

    async def _put(self, asked: WrittenRecord, before: Held | None, caller: Caller) -> State:
        same = before is not None and before.written.owner == asked.owner
        left = None if before is None else before.written
        if before is not None:
            asked = attrs.evolve(asked, mode=before.written.mode)
        want = wanted(
            asked,
            self._records.ground.engines,
            self._records.ground.defaults,
            left if same else None,
            self._connectors(),
        )
        written = await self._kept(want)
        if left is not None:
            # What another owner kept is forgotten whole, whatever the new record names.
            await self._forget(left, written.config if same else {})
        return self._row(await self._records.change(written), caller)

    async def _kept(self, want: Wanted) -> WrittenRecord:
        """Keep a record and its secrets, both or neither; as it is kept. Raises `RpcError`."""
        written = want.written
        try:
            async with self._vaulted.moving(
                want.schema,
                written.owner,
                SUBJECT,
                written.id,
                written.config,
                want.held,
                want.key_fields,
            ) as config:
                kept = attrs.evolve(written, config=config)
                await self._records.keep(kept)
        except SecretFailure as failure:
            raise invalid_params(f"params.config.{failure}") from None
        except RecordsFailure as failure:
            raise internal_error(f"{written.id} could not be kept: {failure}") from None
        return kept

    async def _forget(self, written: WrittenRecord, kept: Mapping[str, Any]) -> None:
        """Take the secrets that are a record's own and `kept` does not name out of the vault."""
        try:
            under = prefix(written.owner, SUBJECT, written.id)
            await self._vaulted.forget_unnamed(written.config, kept, under=under)
        except SecretFailure as failure:
            log.error("a secret of an agent stays in the vault: {words}", words=str(failure))

    async def remove(self, params: Mapping[str, Any], caller: Caller) -> State:
        """End what runs on an agent, and delete its record and its secrets."""
        identifier = identifier_in(params)
        await self._records.lock.acquire()
        try:
            held = self._known(identifier, caller)
            self._rules.remove(caller, held.written.owner)
            self._check_is_kept(held, "remove")
            try:
                await self._records.forget(identifier)
            except RecordsFailure as failure:
                raise internal_error(f"{identifier} could not be removed: {failure}") from None
            await self._records.drop(identifier)
            await self._forget(held.written, {})
        finally:
            self._records.lock.release()
        return {}

    # -- switching -------------------------------------------------------------------------

    def _switch(self, mode: str) -> Callable[[Mapping[str, Any], Caller], Any]:
        return lambda params, caller: self._switched(params, caller, mode)

    async def _switched(self, params: Mapping[str, Any], caller: Caller, mode: str) -> State:
        identifier = identifier_in(params)
        await self._records.lock.acquire()
        try:
            held = self._known(identifier, caller)
            self._rules.put(caller, held.written.owner)
            self._check_is_kept(held, "switch")
            written = attrs.evolve(held.written, mode=mode)
            try:
                await self._records.keep(written)
            except RecordsFailure as failure:
                raise internal_error(f"{identifier} could not be kept: {failure}") from None
            return self._row(await self._records.change(written), caller)
        finally:
            self._records.lock.release()

    # -- checking ----------------------------------------------------------------------------

    async def check(self, params: Mapping[str, Any], caller: Caller) -> State:
        """Read a record again, ask its agent whether it works; its row with the alerts."""
        identifier = identifier_in(params)
        await self._records.lock.acquire()
        try:
            held = self._known(identifier, caller)
            self._rules.put(caller, held.written.owner)
            if held.written.mode == "disabled":
                raise invalid_params(f"params.id: {identifier} is disabled and is not asked")
            await self._records.open(held)
            await self._records.fold()
        finally:
            self._records.lock.release()
        if held.opened.state == READY:
            await self._records.probes.ask(held)
        return self._row(held, caller)

    # -- what is refused ---------------------------------------------------------------------

    def _known(self, identifier: str, caller: Caller) -> Held:
        held = self._records.get(identifier)
        if held is None:
            raise unknown(identifier)
        self._check_known(held, caller)
        return held

    def _check_known(self, held: Held, caller: Caller, refusal: RpcError | None = None) -> None:
        """One that may not be read and not be changed is not there for whoever asks."""
        written = held.written
        if self._rules.reads(caller.reader, {"owner": written.owner}):
            return
        if not self._rules.changes(caller, written.owner):
            raise refusal or unknown(written.id)

    def _check_is_kept(self, held: Held, what: str) -> None:
        if held.source == CONFIGURED:
            raise invalid_params(
                f"params.id: {held.written.id} is in the configuration file "
                f"({held.written.place}), which a person edits: nobody can {what} it here"
            )
        self._check_keeps()

    def _check_keeps(self) -> None:
        if not self._records.keeps:
            raise invalid_params("This host keeps no records: agents stand in its configuration.")

    def _row(self, held: Held, caller: Caller) -> State:
        rows = self._records.rows
        row = rows.get(held.written.id)
        return {} if row is None else rows.shown(row, caller)


def _describe(title: str, description: str) -> Callable[[], Description]:
    described = Description(title=title, description=description)
    return lambda: described
