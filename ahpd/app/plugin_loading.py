"""What loads the plugins of a host: made, and imported, when the first of them is named."""

import socket
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from site import addsitedir
from typing import Any

from ahpd import __version__
from ahpd.config.settings import Settings
from ahpd.connectors.adapters import adapter_warnings, check_adapter
from ahpd.events.bus import Events
from ahpd.extensions.triggers import check_trigger_type
from ahpd.plugins.at_need import RootAtNeed
from ahpd.plugins.finding import Finder
from ahpd.plugins.host import Surroundings
from ahpd.plugins.late import Collections
from ahpd.plugins.loading import Loader
from ahpd.plugins.registering import Checks
from ahpd.plugins.shown import Shown
from ahpd.plugins.world import World
from ahpd.protocol.reserved import registrable
from ahpd.scheduler import Scheduler
from ahpd.schemas import gaps, write_only_paths
from ahpd.tools.registry import check_tool
from ahpd.tunnels.kinds import check_kind
from ahpd.unspoken import Unspoken
from ahpd.yaml_text import parse_yaml, stringify_yaml


def make_loader(
    settings: Settings,
    reactor: Any,
    scheduler: Scheduler,
    environ: Mapping[str, str],
    world: World,
    events: Events,
    shown: Callable[[str], Shown],
    say: Callable[[str], None],
    root: RootAtNeed | None,
    unspoken: Unspoken,
) -> Loader:
    """The loader of a host for `settings`; `say` takes what plugins say of it."""
    return Loader(
        around=_surroundings(settings, reactor, world, say, root),
        checks=Checks(
            tool=check_tool,
            adapter=check_adapter,
            tunnel_kind=check_kind,
            trigger_type=check_trigger_type,
            scheme=registrable,
            gaps=gaps,
            adapter_warnings=adapter_warnings,
            write_only=write_only_paths,
        ),
        events=events,
        clock=scheduler,
        environ=environ,
        finder=partial(_finder, settings, root),
        shown=shown,
        options=settings.plugin_option,
        unspoken_host=unspoken,
    )


def _surroundings(
    settings: Settings,
    reactor: Any,
    world: World,
    say: Callable[[str], None],
    root: RootAtNeed | None,
) -> Surroundings:
    async def install(folder: Path, requirement: str) -> Mapping[str, str]:
        if root is None:
            return {"error": "this host has no configuration directory to install from"}
        return await root.installer.install_into(folder, requirement)

    return Surroundings(
        paths=tuple(settings.paths) or (settings.default_directory,),
        version=__version__,
        host_name=socket.gethostname(),
        config_dir=settings.config_directory or settings.default_directory,
        reactor=reactor,
        world=world,
        collections=Collections(),
        say=say,
        parse_yaml=parse_yaml,
        stringify_yaml=stringify_yaml,
        install=install,
    )


def _finder(settings: Settings, at_need: RootAtNeed | None) -> Finder:
    """What is installed now, in the plugin root too, whose packages come behind all others."""
    site: list[Path] = []
    root = None if at_need is None else at_need.root
    if root is not None and root.is_made:
        site.append(root.site_packages)
        if str(root.site_packages) not in sys.path:
            addsitedir(str(root.site_packages))
    outside: Any = settings.plugin_entry_outside
    return Finder(
        working_directory=Path.cwd(),
        config_dir=settings.config_directory or settings.default_directory,
        version=__version__,
        site=site,
        outside=outside,
        manifests=None if at_need is None else at_need.manifests,
    )
