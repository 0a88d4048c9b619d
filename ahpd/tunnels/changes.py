"""What people do to tunnels, each after everything was asked that may be refused.

Everything here raises `Problem` in words without a secret; what fits nothing was refused before
(`TunnelsService.operations`). Source: PLUGINS.txt, `x-ahpd-tunnels`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from twisted.logger import Logger

from ahpd.interfaces import Owned, TunnelKind
from ahpd.schemas import Misfit, secrets_in
from ahpd.tunnels.asking import Asking
from ahpd.tunnels.keeping import Tunnels
from ahpd.tunnels.live import Live, Started
from ahpd.tunnels.records import PERSON, SYSTEM, Purpose, own, record_of
from ahpd.tunnels.settings import Problem, Settings

log = Logger()


class Changes:
    """The changes of one host's tunnels. `ids` answers a new id at each call."""

    def __init__(
        self, tunnels: Tunnels, settings: Settings, asking: Asking, ids: Callable[[], str]
    ) -> None:
        self._tunnels = tunnels
        self._settings = settings
        self._asking = asking
        self._ids = ids

    def _kind(self, name: str) -> Owned:
        owned = self._tunnels.kinds.get(name)
        if owned is None:
            raise Problem(f"this host has no tunnel kind {name}")
        return owned

    def _live(self, identifier: str) -> Live:
        live = self._tunnels.lives.get(identifier)
        if live is None:
            raise Problem(f"there is no tunnel {identifier} any more")
        return live

    # -- made ---------------------------------------------------------------------------

    async def create(
        self, name: str, given: Mapping[str, Any], at: str, purpose: Purpose = PERSON
    ) -> Live:
        """Make a tunnel of the kind `name`. One that cannot be made leaves nothing behind."""
        owned = self._kind(name)
        kind: TunnelKind = owned.value
        whole = self._fit(kind, given, None, at, connectors=purpose != SYSTEM)
        identifier = self._ids()
        async with self._tunnels.turn(identifier):
            async with self._settings.kept(kind.schema, identifier, whole, None) as settings:
                record = record_of(identifier, name, owned.plugin, purpose, settings)
            live = self._tunnels.hold(record)
            live.secrets.update(secrets_in(kind.schema, whole))
            try:
                await self._tunnels.put(live, live.record)
                await self._tunnels.begin(live)
            except Problem:
                await self._undone(live)
                raise
            self._tunnels.shown(live)
        return live

    async def _undone(self, live: Live) -> None:
        """A tunnel could not be made: nothing of it stays."""
        try:
            await self._tunnels.drop(live)
        except Problem as failed:
            log.error("{id} was not made and stays: {words}", id=live.id, words=str(failed))
            await self._tunnels.forget(live, live.settings, {})
            self._tunnels.let_go(live)

    async def system(self, name: str, port: int) -> None:
        """Make the host's own tunnel of a kind, where its kind has one and the list has none.

        What keeps it from being made is logged.
        """
        owned = self._tunnels.kinds.get(name)
        if owned is None or owned.value.system is None or self._has_system(name):
            return
        try:
            given = await self._asking.system(owned.value, port)
            if given is not None and not self._has_system(name):
                await self.create(name, given, "system", SYSTEM)
        except (Problem, Misfit) as failed:
            log.warn("the host's own {kind} is not there: {words}", kind=name, words=str(failed))

    def _has_system(self, name: str) -> bool:
        return any(
            live.kind == name and live.record.get("purpose") == SYSTEM
            for live in self._tunnels.lives.values()
        )

    # -- changed ------------------------------------------------------------------------

    async def update(self, identifier: str, given: Mapping[str, Any], at: str) -> Live:
        """Change settings of a tunnel: live where its kind can, else by beginning it again."""
        async with self._tunnels.turn(identifier):
            live = self._live(identifier)
            kind: TunnelKind = self._kind(live.kind).value
            whole = self._fit(kind, given, live.settings, at, connectors=True)
            live.secrets.update(secrets_in(kind.schema, whole))
            try:
                if kind.update is not None and live.started is not None:
                    await self._updated(live, live.started, given, whole)
                else:
                    await self._tunnels.keep(live, kind, whole)
                    await self._tunnels.halt(live)
                    await self._tunnels.begin(live)
            finally:
                await self._tunnels.save_reported(live)
                self._tunnels.shown(live)
        return live

    async def _updated(
        self, live: Live, started: Started, given: Mapping[str, Any], whole: Mapping[str, Any]
    ) -> None:
        """Have the kind apply a change, and keep it once it did."""
        kind = started.kind
        tunnel = await self._tunnels.handed(live, kind, whole)
        named = {name: tunnel.settings.get(name) for name in own(given)}
        report = self._tunnels.reporter(live)
        await self._asking.update(kind, tunnel, named, report, live.secrets)
        started.tunnel = tunnel
        await self._tunnels.keep(live, kind, whole)

    async def switch(self, identifier: str, on: bool) -> Live:
        """Turn a tunnel on, and start it, or off, and stop it."""
        async with self._tunnels.turn(identifier):
            live = self._live(identifier)
            try:
                await self._tunnels.put(live, {**live.record, "enabled": on})
                if not on:
                    await self._tunnels.halt(live)
                elif live.started is None:
                    await self._tunnels.begin(live)
            finally:
                self._tunnels.shown(live)
        return live

    async def invoke(self, identifier: str, name: str, given: Any) -> Live:
        """Run a verb of the tunnel's kind."""
        async with self._tunnels.turn(identifier):
            live = self._live(identifier)
            kind: TunnelKind = self._kind(live.kind).value
            started = live.started
            tunnel = await self._tunnels.handed(live, kind) if started is None else started.tunnel
            report = self._tunnels.reporter(live)
            try:
                await self._asking.invoke(kind, name, tunnel, report, given, live.secrets)
            finally:
                await self._tunnels.save_reported(live)
                self._tunnels.shown(live)
        return live

    # -- taken out --------------------------------------------------------------------

    async def remove(self, identifier: str) -> None:
        """Stop a tunnel and forget it, its secrets with it.

        One that runs stays where its kind cannot take it down, and is stopped then; one that
        does not run goes whatever its kind says.
        """
        async with self._tunnels.turn(identifier):
            live = self._live(identifier)
            try:
                if live.started is not None:
                    await self._tunnels.halt(live)
                else:
                    await self._taken_down(live)
                await self._tunnels.drop(live)
            finally:
                self._tunnels.shown(live)

    async def _taken_down(self, live: Live) -> None:
        """Have the kind of a tunnel that does not run forget what it knows of it, elsewhere too."""
        owned = self._tunnels.kinds.get(live.kind)
        if owned is None:
            return
        try:
            tunnel = await self._tunnels.handed(live, owned.value)
            await self._asking.remove(owned.value, tunnel, live.secrets)
        except Problem as failed:
            log.warn("{id} is removed all the same: {words}", id=live.id, words=str(failed))

    # -- inside -------------------------------------------------------------------------

    def _fit(
        self,
        kind: TunnelKind,
        given: Mapping[str, Any],
        held: Mapping[str, Any] | None,
        at: str,
        *,
        connectors: bool,
    ) -> dict[str, Any]:
        try:
            return self._settings.check(kind.schema, given, held, at, connectors=connectors)
        except Misfit as wrong:
            raise Problem(str(wrong)) from None
