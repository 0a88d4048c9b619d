"""Kinds asked to do something: for so long and no longer, and what they raise in plain words.

Source: PLUGINS.txt, "A tunnel kind of your own".
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ahpd.calling import awaited
from ahpd.extensions.waiting import Background, Late, within
from ahpd.interfaces import Report, Tunnel, TunnelKind, TunnelReport
from ahpd.schemas.striking import said, struck
from ahpd.tunnels.live import Live, check_report
from ahpd.tunnels.settings import Problem

log = Logger()

#: Seconds a kind has to begin to forward a tunnel, to change one, and to run a verb of its own.
START_PATIENCE: Final = 60.0
UPDATE_PATIENCE: Final = 60.0
INVOKE_PATIENCE: Final = 120.0
#: Seconds it has to stop one: less than what the host has to go down.
STOP_PATIENCE: Final = 8.0
#: Seconds it has to say what the host's own tunnel is.
SYSTEM_PATIENCE: Final = 30.0


class Reporter:
    """What a kind reports of one tunnel with, for as long as it is open."""

    def __init__(self, live: Live, reported: Callable[[Live, TunnelReport], None]) -> None:
        self._live = live
        self._reported = reported
        self.open = True

    def __call__(self, report: TunnelReport) -> None:
        """Take a report. Raises `PluginError` for what is none; a late one is passed over."""
        check_report(report)
        if self.open:
            self._reported(self._live, report)
        else:
            log.debug("{id} is reported of and does not run any more", id=self._live.id)


class Asking:
    """Asks kinds. Everything here raises `Problem` where that fails."""

    def __init__(self, clock: IReactorTime, background: Background) -> None:
        self.clock = clock
        self._background = background
        self._asked: dict[str, set[Deferred[Any]]] = {}

    def interrupt(self, identifier: str) -> None:
        """Wait no more for what a kind is asked to do with a tunnel, but to stop it."""
        for asked in tuple(self._asked.get(identifier, ())):
            asked.cancel()

    async def create(
        self, kind: TunnelKind, tunnel: Tunnel, report: Report, secrets: Iterable[str]
    ) -> None:
        """Have `kind` begin to forward. What does so all the same, but late, is stopped again."""

        def stop_late(_: object) -> None:
            self._background.spawn(
                f"stopping the late tunnel {tunnel.id}", self.remove(kind, tunnel, secrets)
            )

        await self._ask(
            "start",
            START_PATIENCE,
            lambda: kind.create(tunnel, report),
            secrets,
            stop_late,
            of=tunnel.id,
        )

    async def remove(self, kind: TunnelKind, tunnel: Tunnel, secrets: Iterable[str]) -> None:
        """Have `kind` stop forwarding."""
        await self._ask("stop", STOP_PATIENCE, lambda: kind.remove(tunnel), secrets)

    async def update(
        self,
        kind: TunnelKind,
        tunnel: Tunnel,
        given: Mapping[str, Any],
        report: Report,
        secrets: Iterable[str],
    ) -> None:
        """Have `kind`, which has an `update`, apply a change."""
        update: Any = kind.update
        await self._ask(
            "take the change",
            UPDATE_PATIENCE,
            lambda: update(tunnel, given, report),
            secrets,
            of=tunnel.id,
        )

    async def invoke(
        self,
        kind: TunnelKind,
        name: str,
        tunnel: Tunnel,
        report: Report,
        given: Any,
        secrets: Iterable[str],
    ) -> None:
        """Have `kind` run a verb of its own."""
        invoke: Any = kind.invoke
        await self._ask(
            f"finish {name}",
            INVOKE_PATIENCE,
            lambda: invoke(name, tunnel, report, given),
            secrets,
            of=tunnel.id,
        )

    async def system(self, kind: TunnelKind, port: int) -> Mapping[str, Any] | None:
        """What `kind` says the host's own tunnel is; None for none."""
        system: Any = kind.system
        answer = await self._ask(
            "say what the host's own tunnel is", SYSTEM_PATIENCE, lambda: system(port), ()
        )
        if answer is not None and not isinstance(answer, Mapping):
            raise Problem(f"system answered {type(answer).__name__}, and no settings")
        return answer

    async def _ask(
        self,
        what: str,
        seconds: float,
        call: Callable[[], Any],
        secrets: Iterable[str],
        come_late: Callable[[Any], object] = lambda result: None,
        of: str | None = None,
    ) -> Any:
        """`of` is the tunnel with which this may be interrupted."""

        async def called() -> Any:
            return await awaited(call())

        asking = within(self.clock, seconds, called(), come_late)
        try:
            return await self._waited(asking, of)
        except Late:
            raise Problem(f"it did not {what} within {seconds:g} seconds") from None
        except CancelledError:  # the host stops, or its kind goes; who asked tidies up behind it
            raise Problem("it was interrupted") from None
        except Exception as failed:
            words = struck(" ".join(said(failed).split()), secrets)
            name = type(failed).__name__
            if isinstance(failed, LookupError):  # whose words are a bare name
                words = f"{name}: {words}"
            raise Problem(words or name) from None

    async def _waited(self, asking: "Deferred[Any]", of: str | None) -> Any:
        if of is None:
            return await asking
        asked = self._asked.setdefault(of, set())
        asked.add(asking)
        try:
            return await asking
        finally:
            asked.discard(asking)
            if not asked:
                self._asked.pop(of, None)
