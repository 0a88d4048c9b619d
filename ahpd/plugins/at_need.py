"""What a host has for its plugins and imports with the first of them.

Most hosts have none, and each module less is a start that is so much shorter: these stand where
the loader and the installer do, and make them when something is asked of them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from twisted.internet.interfaces import IReactorTime

from ahpd.config.plugins import PluginEntry
from ahpd.plugins.named import Named

if TYPE_CHECKING:
    from ahpd.plugins.installing import Installer
    from ahpd.plugins.loading import Loader
    from ahpd.plugins.read_manifests import ReadManifests
    from ahpd.plugins.root import PluginRoot, Run
    from ahpd.plugins.running import RunningPlugin
    from ahpd.plugins.written import WrittenPlugins


class LoaderAtNeed:
    """The `Loader` that `make` answers, made when the first plugin is named."""

    def __init__(self, clock: IReactorTime, make: "Callable[[], Loader]") -> None:
        self.clock = clock
        self._make = make
        self._anything = False

    @cached_property
    def made(self) -> "Loader":
        """The loader itself."""
        return self._make()

    def look(self, entries: Sequence[PluginEntry]) -> None:
        """See `Loader.look`."""
        if entries or self._anything:
            self._anything = True
            self.made.look(entries)

    def ids(self, entries: Sequence[PluginEntry]) -> Collection[str]:
        """See `Loader.ids`."""
        return self.made.ids(entries) if entries else ()

    @property
    def named(self) -> Mapping[str, Named]:
        """See `Loader.named`."""
        return self.made.named if self._anything else {}

    @property
    def read(self) -> Sequence[str]:
        """See `Loader.read`."""
        return self.made.read if self._anything else ()

    def import_ahead(self, named: Named) -> bool:
        """See `Loader.import_ahead`."""
        return self.made.import_ahead(named)

    async def forget_ahead(self) -> None:
        """See `Loader.forget_ahead`."""
        if self._anything:
            await self.made.forget_ahead()

    async def load(self, named: Named) -> "RunningPlugin":
        """See `Loader.load`."""
        return await self.made.load(named)

    async def forget(self, plugin: "RunningPlugin") -> None:
        """See `Loader.forget`."""
        await self.made.forget(plugin)


class RootAtNeed:
    """The plugin root of a configuration directory, and what is done in it.

    `run` and `environ` are as `PluginRoot`'s; `version` is the one of this program that runs.
    """

    def __init__(
        self, config_dir: Path, run: "Run", environ: Mapping[str, str], version: str
    ) -> None:
        self._config_dir = config_dir
        self._run = run
        self._environ = environ
        self._version = version

    @cached_property
    def root(self) -> "PluginRoot":
        """The folder."""
        from ahpd.plugins.root import PluginRoot  # noqa: PLC0415

        return PluginRoot.of(self._config_dir, self._run, self._environ)

    @cached_property
    def manifests(self) -> "ReadManifests":
        """The manifests that were read before."""
        from ahpd.plugins.read_manifests import ReadManifests  # noqa: PLC0415

        return ReadManifests(self.root.folder, self._version)

    @cached_property
    def installer(self) -> "Installer":
        """What installs into it: one for all who ask, so that they take turns."""
        from ahpd.plugins.installing import Installer  # noqa: PLC0415

        return Installer(self.root, self._version)

    @cached_property
    def written(self) -> "WrittenPlugins":
        """The plugins that clients wrote."""
        from ahpd.plugins.written import WrittenPlugins  # noqa: PLC0415

        return WrittenPlugins(self.root, self.installer)
