"""A whole host with plugins in folders of a test's own, and a configuration file that lists them."""

import textwrap

import pytest
import yaml
from zope.interface import implementer

from ahpd.client.failures import ActionRefused
from ahpd.config.plugins_file import PluginsFile
from ahpd.interfaces import IAccess, Reader, RpcError
from ahpd.protocol.uris import ROOT
from ahpd.testing.host import MemoryHost

PLUGINS = "x-ahpd-plugins://"
TALKS = """
    from ahpd.interfaces import Method

    def apply(host, options):
        host.register_method(
            "x-talks/say", Method(grant="talks:say", handle=lambda params, caller: dict(options))
        )
"""


@implementer(IAccess)
class People:
    """An `IAccess` with people in it: a client's id is its person's, who hold what they were given."""

    def __init__(self, **grants):
        self.grants = {person: set(held) for person, held in grants.items()}

    def reader(self, connection):
        return Reader(principal=f"user:{connection.record.client_id}")

    def holds(self, reader, grant):
        return reader is None or grant in self.grants.get(reader.principal[5:], ())

    def owns(self, reader, owner):
        return True

    def owner(self, reader):
        return "root:here" if reader is None else reader.principal

    def may(self, owner, grant):
        return None if owner == "root:here" else f"{owner[5:]} may not {grant} here"


class Runs:
    """In place of the programs a host runs for plugins: notes them, and answers as it is told."""

    def __init__(self):
        self.commands = []
        self.answer = (0, "")

    async def __call__(self, argv, environ, directory):
        self.commands.append(list(argv))
        return self.answer


class Hosted:
    """Plugins on disk, the file that lists them, and the host that runs them."""

    def __init__(self, folder):
        self.folder = folder
        self.config = folder / "config"
        self.config.mkdir(mode=0o700, parents=True)
        self.file = self.config / "config.yaml"
        self.host = None
        self._hosts = []

    # -- what is on disk -------------------------------------------------------------------

    def write(self, plugin, code="def apply(host, options): pass\n", files=None, **manifest):
        """A standalone plugin; answers its entry in the file, a mapping."""
        place = self.folder / plugin
        place.mkdir(exist_ok=True)
        said = {"id": plugin, "main": "main.py", **manifest}
        (place / "plugin.yaml").write_text(yaml.safe_dump(said))
        (place / "main.py").write_text(textwrap.dedent(code))
        for name, text in (files or {}).items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
        return {"source": str(place)}

    def list(self, *entries):
        """Have the file list these."""
        self.file.write_text(yaml.safe_dump({"plugins": list(entries)}))
        self.file.chmod(0o600)

    @property
    def listed(self):
        """What the file lists now."""
        return yaml.safe_load(self.file.read_text())["plugins"]

    # -- the host ---------------------------------------------------------------------------

    def start(self, *entries, **options):
        """A host whose file lists `entries`."""
        self.list(*entries)
        return self.again(**options)

    def again(self, **options):
        """A host over the file as it is."""
        self.host = MemoryHost(
            plugins=PluginsFile(self.file).read().entries,
            config_directory=self.config,
            **options,
        )
        self._hosts.append(self.host)
        self.plugins = self.host.side.plugins
        self.probe = self.host.connect("ada", ROOT, PLUGINS, foreign=True)
        return self

    def run_programs_by(self, runs):
        """Have `runs` stand in place of what runs pip."""
        self.host.side.root.root.run = runs

    def ask(self, command, probe=None, **params):
        """Send `x-ahpd/plugins/<command>`; its result."""
        return self.call(f"x-ahpd/plugins/{command}", probe, **params)

    def call(self, method, probe=None, **params):
        """Send any command; its result."""
        probe = probe or self.probe
        return self.host.run(probe.call(method, {"channel": ROOT, **params}))

    def module(self, plugin):
        """The module of a plugin that runs."""
        running = self.plugins.running_plugins
        assert plugin in running, [row.get("problem") for row in self.rows().values()]
        return running[plugin].imported.module

    # -- what clients see -------------------------------------------------------------------

    def rows(self, probe=None):
        """The rows as the host would send them now, by id."""
        late = self.host.connect(f"late-{len(self.host.clients)}", foreign=True)
        self.host.run(late.subscribe(PLUGINS))
        return {row["id"]: row for row in late.state(PLUGINS)["rows"]}

    def row(self, plugin):
        return self.rows()[plugin]

    @property
    def values(self):
        """The values of the root's configuration."""
        return self.host.store.state(ROOT)["config"]["values"]

    def said(self, channel=PLUGINS):
        """The actions said on a channel to the first client, in order."""
        self.host.settle()
        return [one.action for one in self.probe.envelopes(channel)]

    def fails(self, command, probe=None, **params):
        """Send a command that is refused: the code, and the words."""
        with pytest.raises(RpcError) as refused:
            self.ask(command, probe, **params)
        return refused.value.code, refused.value.message

    def push(self, plugin, value):
        """Send a plugin's options through the root's configuration: its refusal, or None."""
        action = {"type": "root/configChanged", "config": {f"plugins.{plugin}": value}}
        try:
            self.host.run(self.probe.perform(ROOT, action))
        except ActionRefused as refused:
            return refused.envelope.rejection
        return None

    def stop(self):
        for host in self._hosts:
            host.stop()
        self._hosts = []
