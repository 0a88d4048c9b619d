"""A host with plugins: they are applied first, and the host is built over what they contribute.

Applying may have to be awaited, so it happens once the reactor runs, in this service's start. A
host whose configuration names no plugin is built at once.
"""

from collections.abc import Sequence
from typing import Any

from twisted.application.service import MultiService
from twisted.internet.defer import Deferred, gatherResults
from twisted.logger import Logger
from twisted.python.failure import Failure

from ahpd.app.host import make_host
from ahpd.app.plugin_side import Announced, PluginSide, make_plugin_side
from ahpd.app.tree import Host
from ahpd.config.plugin_flags import unclaimed
from ahpd.config.settings import Settings

log = Logger(namespace="ahpd.plugin")


class PluggedHost(MultiService):
    """Loads the plugins of `settings` when it starts, builds the host, and starts that.

    `service`, `ready`, `ended` and `announced` are as those of `ahpd.app.Host`.
    """

    def __init__(self, settings: Settings, reactor: Any, side: PluginSide) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.setName("plugged")  # type: ignore[no-untyped-call]
        self._settings = settings
        self._reactor = reactor
        self.plugins = side
        self._starting: Deferred[None] | None = None
        self.service: MultiService = self
        self.ready: Deferred[str | None] = Deferred()
        self.ended: Deferred[str] = Deferred()

    def startService(self) -> None:
        """Begin to load, once the reactor runs: its signals are this host's from then on."""
        super().startService()  # type: ignore[no-untyped-call]
        running: Deferred[None] = Deferred()
        self._reactor.callLater(0, running.callback, None)
        self._starting = Deferred.fromCoroutine(self._start(running))
        self._starting.addErrback(self._failed)

    def stopService(self) -> "Deferred[Any]":
        """Fires when the host is down; one that is not built yet is not built any more.

        Plugins that were applied for it run their closers.
        """
        stopped: Deferred[Any] = super().stopService()  # type: ignore[no-untyped-call]
        self.plugins.plugins.stop_loading()
        waiting = [] if self._starting is None else [self._starting]
        return gatherResults([stopped, *waiting])

    def announced(self) -> Announced:
        """See `Host.announced`."""
        return self.plugins.announced()

    async def _start(self, running: "Deferred[None]") -> None:
        plugins = self.plugins.plugins
        await running
        try:
            host = await self._built()
        except BaseException:
            await plugins.abandon()
            raise
        if host is None:
            await plugins.abandon()
            return
        host.ready.addCallbacks(self.ready.callback, self.ready.errback)
        host.ended.addCallback(self.ended.callback)
        host.service.setServiceParent(self)

    async def _built(self) -> Host | None:
        """The host over what its plugins contribute; None where it was stopped meanwhile."""
        settings, side = self._settings, self.plugins
        try:
            await side.plugins.load_first(settings.plugins)
        finally:
            side.rows.all_loaded()
        if not self.running:
            return None
        known = [(plugin, named.entry.source) for plugin, named in side.loader.named.items()]
        for line in unclaimed(settings.plugin_option, known):
            log.warn("{line}", line=line)
        return make_host(settings, self._reactor, plugins=side)

    def _failed(self, failure: Failure) -> None:
        self.ready.errback(failure)


def open_host(settings: Settings, reactor: Any) -> Host | PluggedHost:
    """A host as `settings` say, with its plugins. Raises as `make_host` does."""
    if not settings.plugins:
        return make_host(settings, reactor)
    side = make_plugin_side(settings, reactor)
    for entry in _written(settings):
        if side.root is not None:
            side.root.written.recover(entry)
    return PluggedHost(settings, reactor, side)


def _written(settings: Settings) -> Sequence[str]:
    """The ids of plugins that clients wrote, as far as their sources say it."""
    if settings.config_directory is None:
        return ()
    root = str(settings.config_directory)
    return [
        entry.source.rpartition("/")[2]
        for entry in settings.plugins
        if entry.source.startswith(root) and "/plugins/" in entry.source
    ]
