"""A point that holds what a test is not ready for, so that nothing depends on time."""

from twisted.internet.defer import Deferred


class Gate:
    """A point scripts wait at until a test opens it. `arrived` counts those that came."""

    def __init__(self) -> None:
        self.arrived = 0
        self.is_open = False
        self._waiting: list[Deferred[None]] = []
        self._watching: list[Deferred[None]] = []

    async def passed(self) -> None:
        """For the script: go through, or wait until the gate is open."""
        self.arrived += 1
        watching, self._watching = self._watching, []
        for deferred in watching:
            deferred.callback(None)
        if not self.is_open:
            deferred = Deferred(self._forget)
            self._waiting.append(deferred)
            await deferred

    async def reached(self) -> None:
        """For the test: wait until some script has come here."""
        if not self.arrived:
            deferred: Deferred[None] = Deferred()
            self._watching.append(deferred)
            await deferred

    def open(self) -> None:
        """Let everybody pass, now and later."""
        self.is_open = True
        self.let_pass(len(self._waiting))

    def let_pass(self, count: int = 1) -> None:
        """Let the first `count` of those that wait pass."""
        passing, self._waiting = self._waiting[:count], self._waiting[count:]
        for deferred in passing:
            deferred.callback(None)

    def _forget(self, deferred: "Deferred[None]") -> None:
        if deferred in self._waiting:
            self._waiting.remove(deferred)
