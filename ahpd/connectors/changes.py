"""What people and plugins do to connectors, each after the rules were asked.

Source: PLUGINS.txt, "x-ahpd-connectors".
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

import attrs

from ahpd.connectors.ground import Ground
from ahpd.connectors.keeping import Connectors
from ahpd.connectors.live import Live
from ahpd.connectors.records import (
    SUBJECT,
    Wanted,
    identifier_in,
    record_of,
    references,
    wanted,
)
from ahpd.connectors.refreshed import is_secret_field, with_values
from ahpd.connectors.relaxed import relaxed
from ahpd.connectors.rules import Rules, unknown
from ahpd.extensions.owners import HOST
from ahpd.interfaces import Adapter, Caller, Owned, SecretFailure
from ahpd.protocol import State
from ahpd.protocol.errors import internal_error, invalid_params
from ahpd.schemas import (
    Misfit,
    all_hidden,
    check_value,
    filled,
    hidden,
    secrets_in,
    sent_back,
)
from ahpd.schemas.striking import struck

_AUTOMATION: Final = "x-ahpd-automation"


@attrs.frozen(kw_only=True)
class Prepared:
    """A put that was let through, with everything that is known before it is done."""

    asked: Wanted
    owned: Owned
    config: Mapping[str, Any] = attrs.field(repr=False)
    """The config with what was left out of it as the record has it; new secrets are plain."""
    held: Mapping[str, Any] | None = attrs.field(repr=False)
    """The config the record had, of the same owner and adapter; None where it keeps nothing."""


class Changes:
    """The changes of one host's connectors. Each answers the row it left."""

    def __init__(self, connectors: Connectors, rules: Rules, ground: Ground) -> None:
        self._connectors = connectors
        self._rules = rules
        self._ground = ground

    def live(self, identifier: str) -> Live:
        """The connector of an id. Raises `RpcError` -32008."""
        live = self._connectors.lives.get(identifier)
        if live is None:
            raise unknown(identifier)
        return live

    def known(self, identifier: str, caller: Caller) -> Live:
        """The connector of an id. Raises `RpcError` -32008, for one that `caller` may neither read
        nor change as for one that is not there: nobody learns by guessing which there are."""
        live = self.live(identifier)
        plugin = self.plugin(live)
        if not self._rules.knows(caller, live.owner, plugin):
            raise unknown(identifier)
        return live

    def plugin(self, live: Live) -> str | None:
        """The plugin whose adapter a connector is of; None while nobody registers it."""
        owned = self._connectors.adapters.get(live.record["adapter"])
        return None if owned is None else owned.plugin

    def config_of(self, asked: Wanted) -> Mapping[str, Any]:
        """The config a put goes on from: that of the record of this owner and adapter."""
        live = self._connectors.lives.get(asked.id)
        if live is None or live.owner != asked.owner or live.record["adapter"] != asked.adapter:
            return {}
        config: Mapping[str, Any] = live.record["config"]
        return config

    # -- making and changing ------------------------------------------------------------

    def prepare(
        self,
        params: Mapping[str, Any],
        caller: Caller,
        fills: Collection[str] | None = (),
    ) -> Prepared:
        """Ask everything a put asks, and do nothing yet. Raises `RpcError`.

        `fills` are the fields that a sign-in fills later; None is for one that may fill any.
        """
        asked = wanted(params)
        self.allow_put(asked, caller)
        owned = self._connectors.adapters.get(asked.adapter)
        if owned is None:
            raise invalid_params(f"params.adapter: this host serves no adapter {asked.adapter}")
        adapter: Adapter = owned.value
        held = self.config_of(asked) or None
        schema, given = adapter.schema, asked.config
        if fills is None or fills:
            schema = relaxed(adapter.schema, fills)
            given = {key: value for key, value in given.items() if key not in (fills or ())}
        given = _put_back(adapter.schema, given, held)
        if asked.owner != HOST and any(kind == "env" for kind, _ in references(given)):
            raise invalid_params(
                "params.config: only a connector of the host's names a variable of its environment"
            )
        if asked.owner != HOST:
            _refuse_other_secrets(given, held)
        try:
            config = filled(adapter.schema, given, held)
            check_value(schema, config, "params.config", references=True)
        except (Misfit, SecretFailure) as wrong:
            words = struck(wrong, secrets_in(adapter.schema, given))
            raise invalid_params(words) from None
        self._check_automations(adapter.schema, config, asked.owner)
        return Prepared(asked=asked, owned=owned, config=config, held=held)

    def allow_put(self, asked: Wanted, caller: Caller) -> None:
        """Raises `RpcError` -32009 unless `caller` may do this put, who had it before included."""
        self._rules.put(caller, asked.owner)
        live = self._connectors.lives.get(asked.id)
        if live is not None and live.owner != asked.owner:
            self._rules.remove(caller, live.owner)

    async def put(self, params: Mapping[str, Any], caller: Caller) -> Live:
        """Make or change a connector, open it and wait for its check."""
        wanted(params)
        async with self._connectors.turn(params["id"]):
            live = await self.written(self.prepare(params, caller))
        await self._connectors.checked(live)
        return live

    async def written(self, prepared: Prepared) -> Live:
        """Within the connector's turn: keep what was prepared, and open it."""
        asked = prepared.asked
        before = self._connectors.lives.get(asked.id)
        record_before: State | None = None if before is None else before.record
        with self._connectors.quiet(asked.id):
            live = await self._kept(prepared, record_before)
            if record_before is not None:
                had, owner = record_before["config"], record_before["owner"]
                await self._connectors.forget(owner, asked.id, had, live.record["config"])
            await self._connectors.reopened(live)
        return live

    async def _kept(self, prepared: Prepared, record_before: State | None) -> Live:
        """Keep the record and its secrets, both or neither. Raises `RpcError`."""
        asked, schema = prepared.asked, prepared.owned.value.schema
        try:
            async with self._ground.vaulted.moving(
                schema, asked.owner, SUBJECT, asked.id, prepared.config, prepared.held
            ) as config:
                live = await self._connectors.keep(record_of(asked, config, record_before))
        except SecretFailure as failed:
            words = struck(failed, secrets_in(schema, prepared.config))
            raise internal_error(f"The connector {asked.id} was not kept: {words}") from None
        return live

    def _check_automations(
        self, schema: Mapping[str, Any], config: Mapping[str, Any], owner: str
    ) -> None:
        for name, declared in (schema.get("properties") or {}).items():
            if not isinstance(declared, Mapping) or declared.get(_AUTOMATION) is not True:
                continue
            named = config.get(name)
            if named in (None, ""):
                continue
            known = self._ground.automations
            if not isinstance(named, str) or known is None or not known(named, owner):
                raise invalid_params(
                    f"params.config.{name} names no automation that the connector may start"
                )

    async def remove(self, identifier: str, caller: Caller) -> None:
        """Close a connector and forget it, its secrets with it."""
        self.known(identifier, caller)
        async with self._connectors.turn(identifier):
            live = self.known(identifier, caller)
            self._rules.remove(caller, live.owner)
            await self._connectors.drop(live)

    async def switch(self, identifier: str, caller: Caller, on: bool) -> Live:
        """Turn a connector on, opened and checked, or off, closed."""
        self.known(identifier, caller)
        async with self._connectors.turn(identifier):
            live = self.known(identifier, caller)
            self._rules.put_or_plugin(caller, live.owner, self.plugin(live))
            with self._connectors.quiet(identifier):
                await self._connectors.keep({**live.record, "enabled": on})
                await self._connectors.reopened(live)
        if on:
            await self._connectors.checked(live)
        return live

    async def check(self, identifier: str, caller: Caller) -> Live:
        """Run the check of an open connector again."""
        live = self.known(identifier, caller)
        self._rules.put_or_plugin(caller, live.owner, self.plugin(live))
        opened = live.opened
        if opened is None:
            raise invalid_params(f"The connector {identifier} is {live.state}: it is not open.")
        if opened.adapter.check is None:
            raise invalid_params(f"{opened.adapter.title} has no check.")
        await self._connectors.checked(live)
        return live

    # -- what the plugin of an adapter says ------------------------------------------------

    def note(self, params: Mapping[str, Any], caller: Caller) -> Live:
        """One call that an open connector made worked, or did not."""
        live = self.known(identifier_in(params), caller)
        self._rules.only_plugin(caller, self.plugin(live))
        opened = live.opened
        if opened is None:
            raise invalid_params(f"The connector {live.id} is not open.")
        ok, status, error = (params.get(name) for name in ("ok", "status", "error"))
        if not isinstance(ok, bool):
            raise invalid_params("params.ok must be true or false")
        if status is not None and (isinstance(status, bool) or not isinstance(status, int)):
            raise invalid_params("params.status must be a number")
        if error is not None and not isinstance(error, str):
            raise invalid_params("params.error must be text")
        if ok:
            live.called(None)
        else:
            words = error or ("the call failed" if status is None else f"HTTP {status}")
            live.called(struck(words, opened.secrets))
        return live

    async def secret(self, params: Mapping[str, Any], caller: Caller) -> Live:
        """Keep what the plugin refreshed; the connector is not opened again."""
        live = self.known(identifier_in(params), caller)
        self._rules.only_plugin(caller, self.plugin(live))
        opened, values = live.opened, params.get("values")
        if opened is None:
            raise invalid_params(f"The connector {live.id} is not open.")
        schema = opened.adapter.schema
        if not isinstance(values, Mapping) or not values:
            raise invalid_params("params.values must be an object of secret fields")
        for field, value in values.items():
            if not is_secret_field(schema, live.record["config"], field):
                raise invalid_params(f"params.values.{field} is no field kept in the vault")
            if not isinstance(value, str) or not value:
                raise invalid_params(f"params.values.{field} must be a text that is not empty")
        async with self._connectors.turn(live.id):
            if self._connectors.lives.get(live.id) is not live or live.opened is not opened:
                raise invalid_params(f"The connector {live.id} is not open any more.")
            config = live.record["config"]
            try:
                given = with_values(schema, config, values)
                async with self._ground.vaulted.moving(
                    schema, live.owner, SUBJECT, live.id, given, config
                ) as moved:
                    if moved != config:
                        await self._connectors.keep({**live.record, "config": moved})
            except SecretFailure as failed:
                words = struck(failed, values.values())
                raise internal_error(f"The secret was not kept: {words}") from None
            await self._connectors.forget(live.owner, live.id, config, moved)
        opened.secrets.extend(values.values())
        opened.connector = attrs.evolve(
            opened.connector, config=with_values(schema, opened.connector.config, values)
        )
        return live


def _put_back(
    schema: Mapping[str, Any], given: Mapping[str, Any], held: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    """What was sent with what its row hides, by the schema or because there was none."""
    shown = (hidden(schema, held or {}), all_hidden(held or {}))
    try:
        config: Mapping[str, Any] = sent_back(given, held, *shown, at="params.config")
    except Misfit as wrong:
        raise invalid_params(str(wrong)) from None
    return config


def _refuse_other_secrets(given: Any, held: Mapping[str, Any] | None) -> None:
    """A client sends back the names it was shown; another name would read somebody's secret."""
    known = {name for kind, name in references(held or {}) if kind == "secret"}
    for kind, name in references(given):
        if kind == "secret" and name not in known:
            raise invalid_params(
                "params.config names a secret that this connector does not have: send its value"
            )
