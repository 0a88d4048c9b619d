"""The commands of connectors: `x-ahpd/connectors/<verb>`.

Each is a `Method`, as a plugin registers one; the owner's rule is asked where the work is done.
Source: PLUGINS.txt, "x-ahpd-connectors".
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from ahpd.calling import called
from ahpd.connectors.changes import Changes
from ahpd.connectors.ground import Ground
from ahpd.connectors.keeping import Connectors
from ahpd.connectors.live import Live
from ahpd.connectors.records import identifier_in
from ahpd.connectors.rules import GRANTS, Rules, plugin_of, unknown
from ahpd.connectors.sign_in_code import CodeSignIns, PendingCode
from ahpd.connectors.sign_in_device import DeviceSignIns, PendingDevice
from ahpd.connectors.sign_ins import SignIns
from ahpd.interfaces import (
    Adapter,
    Caller,
    CodeSignIn,
    Description,
    DeviceSignIn,
    Endpoint,
    Method,
)
from ahpd.protocol import State
from ahpd.protocol.errors import invalid_params

PREFIX: Final = "x-ahpd/connectors/"

_Handle = Callable[[Mapping[str, Any], Caller], Awaitable[Any]]


class Commands:
    """The commands of one host's connectors. `row(live, caller)` is a row as it is shown;
    `loaded()` returns once the records were read."""

    def __init__(
        self,
        connectors: Connectors,
        changes: Changes,
        rules: Rules,
        ground: Ground,
        held: SignIns,
        code: CodeSignIns,
        device: DeviceSignIns,
        row: Callable[[Live, Caller], State],
        loaded: Callable[[], Awaitable[None]],
    ) -> None:
        self._connectors = connectors
        self._changes = changes
        self._rules = rules
        self._ground = ground
        self._held = held
        self._code = code
        self._device = device
        self._row = row
        self._loaded = loaded

    def methods(self) -> Mapping[str, Method]:
        """The commands by name."""
        made = {
            "put": self._method(GRANTS.put, "Put a connector", self._put),
            "remove": self._method(GRANTS.remove, "Remove a connector", self._remove),
            "check": self._method(GRANTS.put, "Check a connector", self._check, plugin=True),
            "disable": self._method(GRANTS.put, "Turn a connector off", self._disable, plugin=True),
            "enable": self._method(GRANTS.put, "Turn a connector on", self._enable, plugin=True),
            "note": self._method("", "Note a call of a connector", self._note),
            "secret": self._method("", "Keep a refreshed secret", self._secret),
            "signin": self._method(GRANTS.put, "Start a sign-in", self._sign_in),
            "signin-finish": self._method(GRANTS.put, "Finish a sign-in", self._finish),
            "models": self._method(
                GRANTS.list, "Read a connector's models", self._models, reads=True
            ),
        }
        return {f"{PREFIX}{verb}": method for verb, method in made.items()}

    def _method(
        self, grant: str, title: str, handle: _Handle, *, plugin: bool = False, reads: bool = False
    ) -> Method:
        authorize: Callable[[Mapping[str, Any], Caller], bool] | None = None
        if plugin:
            authorize = self._is_its_plugin
        elif reads:
            authorize = self._reads_all

        async def handled(params: Mapping[str, Any], caller: Caller) -> Any:
            await self._loaded()
            return await handle(params, caller)

        described = Description(title=title)
        return Method(grant=grant, handle=handled, authorize=authorize, describe=lambda: described)

    def _is_its_plugin(self, params: Mapping[str, Any], caller: Caller) -> bool:
        live = self._connectors.lives.get(str(params.get("id")))
        plugin = None if live is None else self._changes.plugin(live)
        return plugin is not None and plugin_of(caller) == plugin

    def _reads_all(self, params: Mapping[str, Any], caller: Caller) -> bool:
        return self._rules.reads_all(caller.reader)

    # -- what each does -----------------------------------------------------------------

    async def _put(self, params: Mapping[str, Any], caller: Caller) -> State:
        return self._row(await self._changes.put(params, caller), caller)

    async def _remove(self, params: Mapping[str, Any], caller: Caller) -> State:
        await self._changes.remove(identifier_in(params), caller)
        return {}

    async def _check(self, params: Mapping[str, Any], caller: Caller) -> State:
        identifier = identifier_in(params)
        await self._connectors.settled(identifier)
        return self._row(await self._changes.check(identifier, caller), caller)

    async def _disable(self, params: Mapping[str, Any], caller: Caller) -> State:
        live = await self._changes.switch(identifier_in(params), caller, on=False)
        return self._row(live, caller)

    async def _enable(self, params: Mapping[str, Any], caller: Caller) -> State:
        live = await self._changes.switch(identifier_in(params), caller, on=True)
        return self._row(live, caller)

    async def _note(self, params: Mapping[str, Any], caller: Caller) -> State:
        return self._row(self._changes.note(params, caller), caller)

    async def _secret(self, params: Mapping[str, Any], caller: Caller) -> State:
        return self._row(await self._changes.secret(params, caller), caller)

    # -- sign-ins -------------------------------------------------------------------------

    async def _sign_in(self, params: Mapping[str, Any], caller: Caller) -> State:
        name = params.get("adapter")
        owned = self._connectors.adapters.get(name) if isinstance(name, str) else None
        sign_in = None if owned is None else owned.value.sign_in
        if isinstance(sign_in, DeviceSignIn):
            prepared = self._changes.prepare(params, caller, None)
            return await self._device.start(params, caller, prepared, sign_in)
        fills = (sign_in.field,) if isinstance(sign_in, CodeSignIn) else ()
        prepared = self._changes.prepare(params, caller, fills)
        if not isinstance(sign_in, CodeSignIn):
            raise invalid_params(f"{prepared.owned.value.title} has no sign-in: put its key")
        return self._code.start(params, caller, prepared, sign_in)

    async def _finish(self, params: Mapping[str, Any], caller: Caller) -> State:
        pending = self._held.find(params.get("state"), caller)
        if isinstance(pending, PendingDevice):
            if params.get("code") is not None:
                raise invalid_params(
                    "params.code: this sign-in is approved on a device, it has none"
                )
            identifier = await self._device.finish(pending, caller)
            return self._row(self._changes.live(identifier), caller)
        assert isinstance(pending, PendingCode), "a sign-in is of one flow or the other"
        live = await self._code.finish(pending, params.get("code"), caller)
        return self._row(live, caller)

    # -- models ------------------------------------------------------------------------

    async def _models(self, params: Mapping[str, Any], caller: Caller) -> State:
        identifier = identifier_in(params)
        await self._connectors.settled(identifier)
        live = self._changes.live(identifier)
        row = self._row(live, caller)
        if not self._rules.reads(caller.reader, row):
            raise unknown(identifier)
        opened = live.opened
        if opened is None:
            raise invalid_params(f"The connector {identifier} is {live.state}: it is not open.")
        adapter, models = opened.adapter, opened.models
        if models is None:
            raise invalid_params(f"{adapter.title} serves no models.")
        await models.settled()
        prefix = _prefix(adapter, opened.connector)
        rows = []
        for one in models.models:
            name = f"{prefix}/{one['id']}"
            may = self._ground.callable_now(caller.reader, row, name)
            rows.append({**one, "model": name, "callable": may})
        answer: State = {"models": rows}
        if models.at is not None:
            answer["at"] = models.at
        return answer


def _prefix(adapter: Adapter, connector: Any) -> str:
    """What the names of a connector's models begin with."""
    if adapter.provider is not None:
        try:
            endpoint = called(adapter.provider, connector)
        except Exception:
            return adapter.name
        if isinstance(endpoint, Endpoint) and endpoint.prefix:
            return endpoint.prefix
    return adapter.name
