"""The host of bench_host.py with plugins, which it loads again when it is told to.

Its first argument is the folder they are installed in, its second how many there are. On its
standard input it takes one word a line and answers one JSON object: `reload` has the first plugin
taken down and its code run anew, and says how long the reactor stood still at most meanwhile
(`pause`, milliseconds) and how long the whole took (`took`); `pause` says how long it stood still
at most since it was asked last; `timers` says which calls wait. With a third argument `still` it
never looks at how long it stands still, so that it may be idle.
"""

import json
import os
import sys
import time
from pathlib import Path

import bench_host
import plugin_set
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.stdio import StandardIO
from twisted.protocols.basic import LineOnlyReceiver

from ahpd.app import make_host
from ahpd.app.plugin_side import make_plugin_side
from ahpd.config.plugins import PluginEntry
from ahpd.config.settings import Settings

#: Seconds between two looks at the clock.
TICK = 0.001


class Pauses:
    """Notices how long the reactor stood still, by how late a short timer comes."""

    def __init__(self):
        self._last = time.perf_counter()
        self._longest = 0.0

    def tick(self):
        """Look, and again soon."""
        now = time.perf_counter()
        self._longest = max(self._longest, now - self._last - TICK)
        self._last = now
        reactor.callLater(TICK, self.tick)

    def taken(self):
        """The longest since this was asked last, in milliseconds."""
        longest = max(self._longest, time.perf_counter() - self._last - TICK)
        self._longest, self._last = 0.0, time.perf_counter()
        return longest * 1000


class Orders(LineOnlyReceiver):
    """The words on the standard input."""

    delimiter = b"\n"

    def __init__(self, side, pauses):
        self._side = side
        self._pauses = pauses

    def lineReceived(self, line):
        if line == b"reload":
            reloading = Deferred.fromCoroutine(self._reload())
            reloading.addCallbacks(self._say, lambda failed: self._say({"error": repr(failed)}))
        elif line == b"pause":
            self._say({"pause": self._pauses.taken()})
        else:
            self._say({"timers": sorted(_words(call) for call in reactor.getDelayedCalls())})

    def _say(self, answer):
        self.sendLine(json.dumps(answer).encode())

    async def _reload(self):
        self._pauses.taken()
        began = time.perf_counter()
        plugin = plugin_set.sources(1)[0]
        before = self._side.plugins.running_plugins[plugin]
        outcome = await self._side.plugins.reload(plugin)
        after = self._side.plugins.running_plugins.get(plugin)
        if after is None or after is before:
            return {"error": f"it was not reloaded: {outcome}"}
        took = (time.perf_counter() - began) * 1000
        return {"took": took, "pause": self._pauses.taken()}


def _words(call):
    return getattr(call.func, "__qualname__", repr(call.func))


def main():
    """Listen until told to end."""
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    sys.path.append(str(folder))
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "ahpd"
    settings = Settings(
        port=0,
        without_connection_token=True,
        delta_window_ms=0,
        demo=False,
        config_directory=config,
        data_directory=Path(os.environ["XDG_DATA_HOME"]) / "ahpd",
        plugins=tuple(PluginEntry(source=source) for source in plugin_set.sources(count)),
    )
    side = make_plugin_side(settings, reactor)
    loading = Deferred.fromCoroutine(side.plugins.load_first(settings.plugins))
    loading.addErrback(lambda failure: print(failure.getTraceback(), file=sys.stderr))
    agent = bench_host.BenchAgent()
    host = make_host(settings, reactor, {agent.provider: agent}, plugins=side)
    pauses = Pauses()
    if "still" not in sys.argv:
        pauses.tick()
    StandardIO(Orders(side, pauses))

    def ready(url):
        print(f"listening on {url}", flush=True)

    def failed(failure):
        print(failure.getTraceback(), file=sys.stderr)
        reactor.stop()

    host.service.privilegedStartService()
    host.service.startService()
    host.ready.addCallbacks(ready, failed)
    reactor.addSystemEventTrigger("before", "shutdown", host.service.stopService)
    reactor.run()


if __name__ == "__main__":
    main()
