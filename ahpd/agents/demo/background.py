"""What the demo agent runs behind the turns of a chat: timers, shown as shell commands."""

from datetime import UTC, datetime
from typing import Any

from twisted.internet.interfaces import IDelayedCall

from ahpd.interfaces import BackgroundTask, IChatHost
from ahpd.protocol.timestamps import stamp


class DemoBackground:
    """The background tasks of one chat. Each ends by itself, or is stopped."""

    def __init__(self, reactor: Any, host: IChatHost | None) -> None:
        self._reactor = reactor
        self._host = host
        self._tasks: dict[str, tuple[BackgroundTask, IDelayedCall]] = {}

    def begin(self, name: str, label: str, seconds: float) -> None:
        """Run task `name` for so many seconds."""
        identifier = f"shell:{name}"

        async def stop() -> None:
            self._end(identifier)

        task = BackgroundTask(
            id=identifier,
            label=label,
            started_at=stamp(datetime.fromtimestamp(self._reactor.seconds(), UTC)),
            command=f"sleep {seconds:g}",
            stop=stop,
        )
        timer = self._reactor.callLater(seconds, self._end, identifier)
        self._tasks[identifier] = (task, timer)
        self._tell()

    def _end(self, identifier: str) -> None:
        _, timer = self._tasks.pop(identifier, (None, None))
        if timer is not None:
            if timer.active():
                timer.cancel()
            self._tell()

    def _tell(self) -> None:
        if self._host is not None:
            self._host.background([task for task, _ in self._tasks.values()])

    def close(self) -> None:
        """The chat is gone, and nothing runs on behind it."""
        if not self._tasks:
            return
        for _, timer in self._tasks.values():
            timer.cancel()
        self._tasks.clear()
        self._tell()
