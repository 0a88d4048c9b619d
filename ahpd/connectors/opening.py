"""From a record to a connector that its adapter answers for, and back.

Source: PLUGINS.txt, "An adapter of your own" (`open`), "x-ahpd-connectors" (the states, the
alerts).
"""

from collections.abc import Callable
from typing import Any, Final

from twisted.logger import Logger

from ahpd.calling import asked
from ahpd.connectors.adapters import surfaces_of
from ahpd.connectors.ground import Ground
from ahpd.connectors.live import FAILED, INVALID, Live, Opened
from ahpd.connectors.models import ModelList
from ahpd.connectors.records import references
from ahpd.extensions.owners import HOST
from ahpd.extensions.waiting import Background, Late, within
from ahpd.interfaces import Adapter, Alert, Connector, Owned, SecretFailure
from ahpd.schemas import Misfit, Unread, check_value, secrets_in, texts_read
from ahpd.schemas.striking import struck
from ahpd.views import Views

log = Logger()

#: Seconds an adapter has to open a connector, and to let go of one.
OPEN_PATIENCE: Final = 30.0
CLOSE_PATIENCE: Final = 10.0

_NO_VARIABLES: Final = "only a connector of the host's reads a variable of its environment"


class Openings:
    """Opens and closes. `data(live, surface, path, value)` is told of one value of a view."""

    def __init__(
        self,
        ground: Ground,
        background: Background,
        data: Callable[[Live, str, str, Any], None],
    ) -> None:
        self._ground = ground
        self._background = background
        self._data = data

    async def open(self, live: Live, owned: Owned) -> None:
        """Open `live`, which is not open, with its adapter; what keeps it from that is shown."""
        adapter: Adapter = owned.value
        live.schema = adapter.schema
        record = live.record
        named = [name for kind, name in references(record["config"]) if kind == "env"]
        if named and live.owner != HOST:
            live.failed_to_open(FAILED, [_failed(_NO_VARIABLES)])
            return
        try:
            config = await self._ground.vaulted.read(record["config"], live.owner)
        except Unread as unread:
            said = zip(unread.missing, unread.reasons, strict=True)
            missing = [_missing(kind, name, words) for (kind, name), words in said]
            live.failed_to_open(FAILED, missing)
            return
        except SecretFailure as refused:
            live.failed_to_open(FAILED, [_failed(str(refused))])
            return
        # What was read is a secret wherever it stands: a field that nothing marks may name one.
        secrets = [*secrets_in(adapter.schema, config), *texts_read(record["config"], config)]
        try:
            check_value(adapter.schema, config, "config")
        except Misfit as misfit:
            live.failed_to_open(INVALID, [_failed(struck(misfit, secrets))])
            return
        opened = Opened(
            owned=owned,
            connector=Connector(
                id=live.id,
                adapter=adapter.name,
                owner=live.owner,
                title=record.get("title"),
                config=config,
            ),
            views=self._views(live, owned),
            secrets=secrets,
        )
        with live.settling():
            await self._opened(live, opened)

    async def _opened(self, live: Live, opened: Opened) -> None:
        try:
            opened.stop = await within(
                self._ground.clock,
                OPEN_PATIENCE,
                asked(opened.adapter.open, opened.connector, opened.views),
                lambda stop: self._background.spawn(f"closing the late {live.id}", _stop(stop)),
            )
        except Exception as failed:
            opened.views.close()
            words = (
                f"it did not open within {OPEN_PATIENCE:g} seconds"
                if isinstance(failed, Late)
                else struck(failed, opened.secrets) or type(failed).__name__
            )
            live.failed_to_open(FAILED, [_failed(words)])
            return
        live.is_open(opened)
        if opened.adapter.models is not None:
            models = opened.adapter.models
            opened.models = ModelList(
                f"connector {live.id}",
                lambda: models(opened.connector),
                self._ground.clock,
                self._ground.now,
                self._background,
            )
            opened.models.start()

    def _views(self, live: Live, owned: Owned) -> Views:
        def report(line: str) -> None:
            self._ground.report(owned.plugin, f"connector {live.id}: {line}")

        return Views(
            surfaces_of(owned.value),
            lambda: self._ground.methods(owned.plugin),
            moved=live.moved,
            data=lambda surface, path, value: self._data(live, surface, path, value),
            report=report,
        )

    async def close(self, live: Live) -> None:
        """Have its adapter let go of it; its views go. Never raises."""
        opened, live.opened = live.opened, None
        if opened is None:
            return
        opened.views.close()
        if opened.models is not None:
            opened.models.stop()
        try:
            await within(self._ground.clock, CLOSE_PATIENCE, _stop(opened.stop))
        except Exception as failed:
            log.error(
                "the adapter {adapter} does not let go of {id}: {kind}",
                adapter=opened.adapter.name,
                id=live.id,
                kind=type(failed).__name__,
            )


async def _stop(stop: Any) -> None:
    if callable(stop):
        await asked(stop)


def _failed(words: str) -> Alert:
    return Alert(level="error", text=words, ref="open")


def _missing(kind: str, name: str, words: str) -> Alert:
    return Alert(level="error", text=words, ref=f"{kind}:{name}")
