"""The plugins' closers as a service of the host, so that they run at their place in its stop."""

from typing import TYPE_CHECKING

from twisted.application.service import Service
from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from ahpd.plugins.live import Plugins


class Closers(Service):
    """Runs the plugins' closers: once every session has closed, and before the stores do."""

    name = "plugin closers"

    def __init__(self, plugins: "Plugins") -> None:
        self._plugins = plugins

    def stopService(self) -> "Deferred[None]":
        """Fires when every closer is done, or they had their time."""
        super().stopService()  # type: ignore[no-untyped-call]
        return Deferred.fromCoroutine(self._plugins.in_time("to close", self._plugins.close))
