"""Plugins in folders of a test's own, and a host that takes what they contribute."""

import textwrap
from contextlib import nullcontext
from pathlib import Path

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ahpd.config.plugins import PluginEntry
from ahpd.events.bus import Events
from ahpd.plugins.finding import Finder
from ahpd.plugins.host import Surroundings
from ahpd.plugins.late import Collections
from ahpd.plugins.live import Plugins
from ahpd.plugins.loading import Loader
from ahpd.plugins.registering import Checks
from ahpd.plugins.world import World
from ahpd.protocol.read_only import read_only
from ahpd.record_store.memory import MemoryRecordStore
from ahpd.schemas import gaps
from ahpd.vault import MemoryVault, Secrets
from ahpd.yaml_text import parse_yaml, stringify_yaml


class KitShown:
    """What a plugin shows, as a list."""

    def __init__(self, plugin, kit):
        self.plugin = plugin
        self.kit = kit
        self.alerts = []

    def problem(self, line):
        self.kit.problems.append((self.plugin, line))

    def alert(self, alert):
        self.alerts.append(alert)

    def clear_alert(self, ref):
        self.alerts = [one for one in self.alerts if one.ref != ref]

    def show_view(self, view, surface="main"):
        self.kit.told.append(("view", self.plugin, view))

    def set_view_data(self, path, value, surface="main"):
        self.kit.told.append(("data", self.plugin, path, value))

    def clear_view(self, surface="main"):
        self.kit.told.append(("cleared", self.plugin))


class LiveKit:
    """A loader over a folder, rows and takers that remember, and a clock."""

    def __init__(self, folder: Path, **secrets):
        self.folder = folder
        self.clock = Clock()
        self.problems, self.told, self.skips = [], [], []
        self.loaded = []
        self.takes = []
        self.ended = []
        self.vault = MemoryVault(secrets)
        self.world = World(secrets=Secrets(self.vault))
        self.events = Events(self.clock, read_only)
        self.shown = {}
        self.said = []
        self.environ = {}
        self.loader = Loader(
            around=Surroundings(
                paths=(folder,),
                version="0.1.0",
                host_name="here",
                config_dir=folder,
                reactor=self.clock,
                world=self.world,
                collections=Collections(),
                say=self.said.append,
                parse_yaml=parse_yaml,
                stringify_yaml=stringify_yaml,
                install=self.install,
            ),
            checks=Checks(gaps=gaps),
            events=self.events,
            clock=self.clock,
            environ=self.environ,
            finder=lambda: Finder(working_directory=folder, config_dir=folder, version="0.1.0"),
            shown=lambda plugin: self.shown.setdefault(plugin, KitShown(plugin, self)),
        )
        self.plugins = Plugins(self.loader, self, self.vault_taken)

    async def install(self, folder, requirement):
        return {"version": f"{requirement} in {folder.name}"}

    def vault_taken(self, vault, plugin):
        self.world.secrets = Secrets(vault, plugin=plugin)

    # -- plugins on disk ------------------------------------------------------------------

    def write(self, plugin, code, **manifest):
        """A standalone plugin `plugin`; answers its entry."""
        place = self.folder / plugin
        place.mkdir(exist_ok=True)
        manifest = {"id": plugin, "main": "main.py", **manifest}
        (place / "plugin.yaml").write_text(stringify_yaml(manifest))
        (place / "main.py").write_text(textwrap.dedent(code))
        return PluginEntry(source=str(place), place="plugins[0]")

    # -- what rows are told (IRows) -----------------------------------------------------------

    def together(self):
        return nullcontext()

    def listed(self, named):
        self.named = dict(named)

    def importing(self, plugin):
        pass

    def loading(self, plugin):
        pass

    def applied(self, plugin):
        self.loaded.append(plugin.id)

    def skipped(self, plugin, line):
        self.skips.append(line)

    def unloaded(self, plugin):
        self.told.append(("unloaded", plugin))

    def problem(self, plugin, line):
        self.problems.append((plugin, line))

    def left_out(self, problems):
        for problem in problems:
            if (problem.plugin, problem.line) not in self.problems:
                self.problems.append((problem.plugin, problem.line))

    # -- what the host takes (Takers) ---------------------------------------------------------

    async def take(self, folded):
        self.takes.append(folded)
        return ()

    async def end_sessions(self, providers):
        self.ended += providers
        self.told.append(("sessions ended", *providers))

    async def gone(self, plugin):
        self.told.append(("gone", plugin))

    async def start(self, *entries, listening=None):
        """Load, build and listen."""
        await self.plugins.load_first(entries)
        self.world.records_are(MemoryRecordStore())

        async def listened():
            return listening or {"host": "127.0.0.1", "port": 1}

        self.plugins.host(self, listened)
        self.plugins.startService()
        await self.run(self.begun())

    def forget(self):
        """Leave nothing of what is loaded to the next test."""
        for plugin in self.plugins.running_plugins.values():
            if plugin.imported is not None:
                Deferred.fromCoroutine(self.loader.forget(plugin))

    async def begun(self):
        """Wait until every plugin knows that the host listens."""
        await self.plugins.begun

    async def run(self, coroutine):
        """Await `coroutine`, with the clock going on."""
        task = Deferred.fromCoroutine(coroutine)
        for _ in range(1000):
            if task.called:
                break
            self.clock.advance(0.01)
        assert task.called, "it waits for what does not come"
        return await task
