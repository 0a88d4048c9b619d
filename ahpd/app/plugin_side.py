"""The plugins' side of a host, as far as it is there before the host is.

Plugins are applied before the host is built, because it is built over what they contribute: so
all of this is made first, and the host is made with it (`ahpd.app.host`).
"""

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from twisted.logger import Logger

from ahpd import __version__
from ahpd.agents.demo.models import PROVIDER as DEMO
from ahpd.app.plugin_icons import PluginIcons
from ahpd.app.program_runs import ProgramRuns
from ahpd.config.plugin_flags import merged
from ahpd.config.plugins import PluginEntry
from ahpd.config.settings import Settings
from ahpd.events.bus import Events
from ahpd.interfaces import IVault
from ahpd.plugins.at_need import LoaderAtNeed, RootAtNeed
from ahpd.plugins.live import Plugins
from ahpd.plugins.rows import PluginRows
from ahpd.plugins.world import World
from ahpd.protocol.read_only import read_only
from ahpd.scheduler import Scheduler
from ahpd.threads import in_thread
from ahpd.unspoken import Unspoken
from ahpd.vault import FileVault, MemoryVault, Secrets

if TYPE_CHECKING:
    from ahpd.plugins.loading import Loader

log = Logger()


class Announcements:
    """What plugins say of the host: told with the announcement, and logged once that is out."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._announced = False

    def say(self, line: str) -> None:
        """One line more."""
        if self._announced:
            log.info("{line}", line=line)
        else:
            self._lines.append(line)

    def taken(self) -> Sequence[str]:
        """The lines, now that they are announced."""
        self._announced = True
        return tuple(self._lines)


@attrs.frozen
class Announced:
    """What is told of the plugins together with the announcement that the host listens."""

    said: Sequence[str]
    """What plugins said of it, a line each."""
    skipped: Sequence[str]
    """What was left out or not loaded, a line each."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class PluginSide:
    """What the host is made with."""

    world: World
    scheduler: Scheduler
    environ: Mapping[str, str] = attrs.field(repr=False)
    events: Events
    rows: PluginRows
    loader: LoaderAtNeed
    plugins: Plugins
    icons: PluginIcons
    announcements: Announcements
    unspoken: Unspoken
    """What no log line and no row may hold, as far as it is known by now."""
    vault: IVault
    """The host's own, which a plugin's may stand in place of."""
    programs: ProgramRuns
    root: RootAtNeed | None
    """Where plugins are installed and written; None for a host that keeps nothing."""
    file: Path | None
    """The configuration file, where there is one or may be."""
    entries: Callable[[], Sequence[PluginEntry]]
    """What the configuration and the command line name, read anew."""

    def announced(self) -> Announced:
        """What there is to tell, now that the host listens; what is said later is logged."""
        return Announced(self.announcements.taken(), tuple(self.rows.problems()))


def make_plugin_side(
    settings: Settings,
    reactor: Any,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    environ: Mapping[str, str] = os.environ,
) -> PluginSide:
    """The plugins' side of a host for `settings`; nothing is loaded yet."""
    config_dir, scheduler = settings.config_directory, Scheduler(reactor)
    run_blocking = in_thread(reactor)
    vault: IVault = (
        MemoryVault() if config_dir is None else FileVault(config_dir / "vault.json", run_blocking)
    )
    unspoken = Unspoken(settings.unspoken)
    world = World(secrets=Secrets(vault, unspoken.add, scheduler))
    events = Events(scheduler, read_only)
    rows = PluginRows(now, world.methods_of, lambda: (*unspoken, *loader.read))
    announcements = Announcements()
    icons = PluginIcons(settings, reactor, run_blocking, rows)
    rows.on_applied, rows.on_anew = icons.applied, icons.forget
    programs = ProgramRuns()
    root = None if config_dir is None else RootAtNeed(config_dir, programs, environ, __version__)

    def make() -> "Loader":
        from ahpd.app.plugin_loading import make_loader  # noqa: PLC0415 - where there are plugins

        return make_loader(
            settings,
            reactor,
            scheduler,
            environ,
            world,
            events,
            rows.shown,
            announcements.say,
            root,
            unspoken,
        )

    loader = LoaderAtNeed(scheduler, make)

    def vault_taken(taken: Any, plugin: str) -> None:
        world.secrets = Secrets(taken, unspoken.add, scheduler, plugin)

    return PluginSide(
        world=world,
        scheduler=scheduler,
        environ=environ,
        events=events,
        rows=rows,
        loader=loader,
        plugins=Plugins(loader, rows, vault_taken, _own_agents(settings)),
        icons=icons,
        announcements=announcements,
        unspoken=unspoken,
        vault=vault,
        programs=programs,
        root=root,
        file=_file(settings),
        entries=partial(_entries, settings),
    )


def _own_agents(settings: Settings) -> Mapping[str, str]:
    """The agents the configuration has, which no plugin's agent or scheme takes the name of."""
    names = {
        record.id: f"an agent of the configuration ({record.place})" for record in settings.agents
    }
    if settings.offers_demo:
        names.setdefault(DEMO, "this host's demo agent")
    return names


def _file(settings: Settings) -> Path | None:
    if settings.config_file is not None:
        return settings.config_file
    if settings.config_directory is not None:
        return settings.config_directory / "config.yaml"
    return None


def _entries(settings: Settings) -> Sequence[PluginEntry]:
    """Raises `ConfigError` where the file cannot be read."""
    file = _file(settings)
    if file is None:
        return settings.plugins
    from ahpd.config.plugins_file import PluginsFile  # noqa: PLC0415 - where something changes

    listed = PluginsFile(file).read().entries
    if settings.plugin or settings.no_plugins:
        return merged(listed, settings.plugin, without_listed=settings.no_plugins)
    return listed


def listening_payload(settings: Settings, address: Any) -> Mapping[str, Any]:
    """What the event `listening` says of where this host is."""
    payload: dict[str, Any] = {
        "runtime": f"python {platform.python_version()}",
        "host": getattr(address, "host", settings.host),
        "port": getattr(address, "port", None),
        "guarded": settings.connection_token is not None,
    }
    if settings.connection_token is not None:
        payload["connectionToken"] = settings.connection_token
    return payload
