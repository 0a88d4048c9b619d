"""Beats while the daemon runs, and answers at `/plugins/heartbeat/` when it last did.

The smallest plugin that owns something which has to be stopped: the timer is a Twisted service, so
the host starts it once it listens, and stops it and waits for it when the plugin goes.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from twisted.application.internet import TimerService

from ahpd.interfaces import (
    IPluginContext,
    IPluginHost,
    Request,
    Response,
    json_response,
    text_response,
)

#: How many intervals may pass without a beat before it is said to be late.
_PATIENCE: Final = 3


class Heart(TimerService):
    """Counts its beats. Times are seconds since the epoch, as `clock` has them."""

    def __init__(self, clock: Any, interval: float) -> None:
        super().__init__(interval, self.beat)  # type: ignore[no-untyped-call]
        # A plugin never imports the reactor: what is not given a clock would.
        self.clock = clock
        self._now: Callable[[], float] = clock.seconds
        self.interval = interval
        self.beats = 0
        self.began: float = 0.0
        self.last: float | None = None

    def startService(self) -> None:
        """Begin to beat, the first time at once."""
        self.began = self._now()
        super().startService()  # type: ignore[no-untyped-call]

    def beat(self) -> None:
        """One beat. An exception here would end the timer for good."""
        self.beats += 1
        self.last = self._now()

    @property
    def late(self) -> bool:
        """Whether a beat is missing: the timer ended, or the daemon stood still for that long."""
        return self.last is None or self._now() - self.last > _PATIENCE * self.interval

    def state(self) -> Mapping[str, Any]:
        """What is said of it: JSON, times as ISO 8601."""
        return {
            "beats": self.beats,
            "last": None if self.last is None else _iso(self.last),
            "interval": self.interval,
            "running": round(self._now() - self.began, 3),
        }


def apply(host: IPluginHost, options: dict[str, Any]) -> None:
    """Register the timer and the page. The options fit the manifest's schema by now."""
    heart = Heart(host.reactor, options["interval"])
    page = f"/plugins/{host.id}"

    async def status(request: Request) -> Response:
        # Nothing but the check of the Host header stands before a route. Whoever reaches the port
        # may ask this, so it says nothing that only somebody who is let in should know.
        if request.path not in (page, f"{page}/"):
            return text_response(404, "no such page")
        if request.method not in ("GET", "HEAD"):
            return text_response(405, "ask with GET", (("Allow", "GET, HEAD"),))
        if not heart.running or heart.late:
            return json_response(503, heart.state())
        return json_response(200, heart.state())

    def listening(event: Mapping[str, Any], context: IPluginContext) -> None:
        # A daemon on a UNIX socket has no address that could be pasted anywhere.
        if event.get("port"):
            context.say(f"heartbeat on http://{_authority(event)}{page}/")

    host.register_service(heart)
    host.register_route(status)
    host.on("listening", listening)


def _authority(event: Mapping[str, Any]) -> str:
    address = str(event["host"])
    return f"[{address}]:{event['port']}" if ":" in address else f"{address}:{event['port']}"


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
