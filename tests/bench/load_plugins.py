"""One load of plugins in a process of its own, timed: `load_plugins.py MODE COUNT FOLDER`.

`bare` imports the modules and nothing else; `host` has a host load them and builds it over what
they contribute; `none` builds a host without any. What a host imports of its own is imported
first in all three, so what is timed is the plugins. Prints one JSON object: seconds of CPU and
on the clock, and what went wrong.
"""

import gc
import json
import sys
import time
from importlib import import_module
from pathlib import Path

import plugin_set
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.web.resource import Resource

from ahpd.app import make_host
from ahpd.app.at_need import prepared
from ahpd.app.plugin_side import make_plugin_side
from ahpd.config.plugins import PluginEntry
from ahpd.config.settings import Settings


def bare(count: int, folder: Path) -> list[str]:
    """Import the modules."""
    for name in plugin_set.modules(count):
        import_module(name)
    return []


def through_host(count: int, folder: Path) -> list[str]:
    """Load the plugins, and build a host over them."""
    settings = Settings(
        port=0,
        without_connection_token=True,
        config_directory=folder.parent / "config",
        data_directory=folder.parent / "data",
        plugins=tuple(PluginEntry(source=source) for source in plugin_set.sources(count)),
    )
    side = make_plugin_side(settings, reactor)
    loading = Deferred.fromCoroutine(side.plugins.load_first(settings.plugins))
    failures: list[str] = []
    loading.addErrback(lambda failure: failures.append(failure.getTraceback()))
    host = make_host(settings, reactor, plugins=side)
    assert host.service is not None
    if len(side.plugins.running_plugins) != count:
        failures += [f"{len(side.plugins.running_plugins)} of {count} are loaded"]
    return [*failures, *side.rows.problems()]


def main() -> None:
    """Do it once."""
    mode, count, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    sys.path.append(str(folder))
    assert Resource is not None
    for _ in prepared():  # what a host imports with its first plugin or later
        pass
    gc.collect()
    gc.disable()  # as the command does until the host is ready
    work = bare if mode == "bare" else through_host
    cpu, clock = time.process_time(), time.perf_counter()
    problems = work(0 if mode == "none" else count, folder)
    said = {
        "cpu": time.process_time() - cpu,
        "clock": time.perf_counter() - clock,
        "problems": problems,
    }
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
