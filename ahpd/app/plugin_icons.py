"""The icons of plugins and of the templates of their engines, resolved once each.

A file is read and an `https:` URL fetched when the plugin is loaded, in the background: what is
shown of it before is shown without. Source: PLUGINS.txt, "Icons".
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ahpd.config.settings import Settings
from ahpd.interfaces import Template
from ahpd.plugins.rows import PluginRows
from ahpd.protocol import State

if TYPE_CHECKING:
    from ahpd.plugins.running import RunningPlugin

log = Logger(namespace="ahpd.plugin")


class PluginIcons:
    """Resolves them, and has `rows` show a plugin's."""

    def __init__(
        self,
        settings: Settings,
        reactor: Any,
        run_blocking: Callable[..., Any],
        rows: PluginRows,
    ) -> None:
        self._limit = settings.icon_limit_bytes
        self._timeout = settings.icon_timeout_ms / 1000
        self._reactor = reactor
        self._run_blocking = run_blocking
        self._rows = rows
        self._templates: dict[tuple[str, str], Sequence[State]] = {}
        #: Called when icons are known that were not.
        self.moved: Callable[[], None] = lambda: None

    def applied(self, plugin: "RunningPlugin") -> None:
        """A plugin was loaded: look for what it shows."""
        engines = plugin.contribution.engines
        icons = plugin.found.manifest.icons
        if icons or engines:
            resolving = Deferred.fromCoroutine(self._all(plugin, icons, engines))
            resolving.addErrback(
                lambda failure: log.failure(
                    "the icons of {plugin} could not be read", failure, plugin=plugin.id
                )
            )

    def of_template(self, engine: str, template: Template) -> Sequence[State]:
        """The icons of a template of an engine, as far as they are known."""
        return self._templates.get((engine, template.id), ())

    async def _all(
        self,
        plugin: "RunningPlugin",
        icons: Sequence[Mapping[str, Any]],
        engines: Mapping[str, Any],
    ) -> None:
        folder: Path = plugin.found.folder
        if icons:
            self._rows.icons(plugin.id, await self._resolved(plugin.id, icons, folder))
        for name, engine in engines.items():
            for template in engine.templates():
                if template.icon:
                    found = await self._resolved(plugin.id, [{"src": template.icon}], folder)
                    self._templates[name, template.id] = found
        self.moved()

    async def _resolved(
        self, plugin: str, icons: Sequence[Mapping[str, Any]], folder: Path
    ) -> Sequence[State]:
        # Of those who have icons.
        from ahpd.plugins.icon_fetch import icon_fetch  # noqa: PLC0415
        from ahpd.plugins.icons import resolve  # noqa: PLC0415

        found, lines = await resolve(
            icons,
            folder,
            fetch=icon_fetch(self._reactor),
            run_blocking=self._run_blocking,
            limit=self._limit,
            timeout=self._timeout,
        )
        for line in lines:
            log.warn("plugin {plugin}: {line}", plugin=plugin, line=line)
        return found
