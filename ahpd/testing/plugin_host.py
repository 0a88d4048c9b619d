"""A host for the tests of a plugin: it takes what a real one takes and writes down the rest.

    host = RecordingPluginHost(ahpd_notes.plugin, "notes")
    await host.apply({"greeting": "hello"})
    await host.listening()
    assert await host.call("x-notes/put", {"id": "milk", "text": "buy some"}) == {"id": "milk"}
    assert host.channel("x-notes").published
    await host.unload()

The manifest beside the module is read and the registrations are held to its contracts; the
options are held to its schema; each registration is checked by what checks it on a real host, and
so are views, alerts and the order in which a plugin begins and ends. What the plugin asks of its
host is in `asked`. Nothing listens and no session runs: time is a `Clock` that a test moves.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from inspect import isawaitable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from zope.interface import implementer

from ahpd.app.plugin_side import make_plugin_side
from ahpd.config.plugins import PluginEntry
from ahpd.config.settings import Settings
from ahpd.interfaces import (
    Adapter,
    Caller,
    Check,
    Connector,
    HostTool,
    IPluginHost,
    PluginError,
    Request,
    Response,
    RpcError,
    SecretFailure,
    ToolCallContext,
    ToolFailure,
)
from ahpd.plugins.contribution import Contribution
from ahpd.plugins.found import Found
from ahpd.plugins.host import PluginContext, PluginHost, Surroundings, one_line
from ahpd.plugins.manifest import held_to_contracts
from ahpd.plugins.manifest_files import manifest_file, read_manifest
from ahpd.plugins.options import ready_options, resolved_options
from ahpd.plugins.registering import Registrar
from ahpd.plugins.running import RunningPlugin
from ahpd.plugins.shown import Shown
from ahpd.plugins.skipped import Skipped
from ahpd.plugins.texts import Texts, read_catalogs
from ahpd.protocol import State
from ahpd.protocol.errors import PERMISSION_DENIED, invalid_params, method_not_found
from ahpd.record_store.memory import MemoryRecordStore
from ahpd.schemas import Misfit, check_value
from ahpd.testing.plugin_asks import Asked, RecordedChannel
from ahpd.views import Views

T = TypeVar("T")

#: Whoever asks where a test names nobody: the root connection of a host without users.
SOMEBODY = Caller(client="somebody")


@attrs.frozen(kw_only=True)
class _Context(PluginContext):
    """The context, with the lines of the log kept."""

    _logged: list[str] = attrs.field(repr=False)

    def log(self, line: str) -> None:
        """See `IPluginContext.log`."""
        self._logged.append(one_line(line))


@attrs.define(eq=False)
class OpenConnector:
    """A connector that a plugin's adapter answers for."""

    connector: Connector
    adapter: Adapter
    views: Views
    """What it shows: `views.shown` is by surface, None for nothing."""
    _close: Callable[[], Any] | None

    async def check(self) -> Check:
        """Run the adapter's check."""
        assert self.adapter.check is not None, f"{self.adapter.name} has no check"
        return await self.adapter.check(self.connector)

    async def close(self) -> None:
        """Have the plugin answer for it no more."""
        if self._close is not None:
            await _done(self._close())
        self.views.close()


@implementer(IPluginHost)
class RecordingPluginHost(PluginHost):
    """One plugin's host. `plugin` is its id, `module` what holds its `apply`, with the manifest
    beside it. `secrets` are in the vault (`host:stripe`), and `path` is the folder it serves.

    What a test reads: `contribution`, what was registered; `asked`, what the host was asked;
    `said` and `logged`, lines; `problems`, `alerts` and `view`, what the plugin's row shows.
    """

    def __init__(
        self,
        module: ModuleType,
        plugin: str,
        clock: Clock | None = None,
        *,
        path: Path | None = None,
        secrets: Mapping[str, str] | None = None,
        grants: Sequence[str] = (),
    ) -> None:
        self.clock = Clock() if clock is None else clock
        self.said: list[str] = []
        self.logged: list[str] = []
        self.contribution = Contribution(plugin=plugin)
        self.asked = Asked(self.contribution)
        self._module = module
        self._found = found = _found(module, plugin)
        self._secrets = dict(secrets or {})
        self._running: RunningPlugin | None = None
        self._connectors: list[OpenConnector] = []
        self._side = make_plugin_side(
            Settings(listens=False, paths=(path or Path.cwd(),)),
            self.clock,
            environ={},
        )
        self._world = world = self._side.world
        around = attrs.evolve(self._side.loader.made.around, say=self.said.append, host_name="here")
        self._row = Shown(plugin, self._now, _nothing, _nothing, lambda: world.methods_of(plugin))
        registrar = Registrar(
            self.contribution,
            self._side.loader.made.checks,
            lambda kind, name: held_to_contracts(found.manifest, kind, name),
            self._row.problem,
        )
        texts = found.manifest.texts
        super().__init__(
            _context(plugin, around, self.logged),
            around,
            registrar,
            self._row,
            texts=Texts({} if texts is None else read_catalogs(found.folder, texts)[0]),
            installed=found.folder / "installed",
            grants=grants,
        )

    # -- its life ----------------------------------------------------------------------

    async def apply(self, options: Mapping[str, Any] | None = None) -> None:
        """Apply the plugin with these options, as its entry of the configuration has them.

        The host is built then, and does not listen yet. Raises `PluginError` where a host would
        leave the plugin out, in the words it would show, and whatever `apply` raises.
        """
        for name, value in self._secrets.items():
            await self._side.vault.set(name, value)
        entry = PluginEntry(source=str(self._found.folder), options=dict(options or {}))
        found = attrs.evolve(self._found, entry=entry)
        defaults = getattr(self._module, "defaults", {})
        try:
            given = await resolved_options(found, self._world.secrets, {})
            ready, _ = ready_options(found, defaults, given)
        except (Skipped, SecretFailure) as why:
            raise PluginError(str(why)) from None
        await _done(self._module.apply(self, ready))
        self._registrar.close_registrations()
        self._running = RunningPlugin(
            entry, found, self._module, self.contribution, self, self.clock, self._side.events
        )
        self._running.attach()
        # The host is built: what it keeps and what it serves is there from now on.
        self._world.records_are(MemoryRecordStore())
        self._world.built = self.asked
        self._world.registered[self.id] = self.contribution.methods

    async def listening(self, **payload: Any) -> None:
        """The host listens: the plugin is told, and its services start."""
        self._world.side = self.asked
        at = {"runtime": "python", "host": "127.0.0.1", "port": 9187, "guarded": False}
        await self._soon(self._of().listening({**at, **payload}))

    async def emit(self, event: str, **payload: Any) -> None:
        """Something happens on the host; returns when the plugin was told."""
        await self._soon(self._side.events.tell(event, payload))

    async def unload(self) -> None:
        """Take the plugin down as a host does, its connectors first."""
        for opened in tuple(self._connectors):
            await self._soon(opened.close())
        await self._soon(self._of().quiet())
        await self._soon(self._of().close())
        self._of().detach()

    # -- what clients and other programs do ----------------------------------------------

    def channel(self, scheme: str) -> RecordedChannel:
        """What was said on a channel of the plugin's, and who watches it."""
        assert scheme in self.contribution.channels, f"it serves no {scheme}"
        return self.asked.spoken(scheme)

    async def subscribe(self, uri: str, caller: Caller = SOMEBODY) -> State:
        """Watch a channel; its state. Raises `RpcError`, -32009 for who may not."""
        scheme = uri.partition(":")[0]
        spoken, channel = self.channel(scheme), self.contribution.channels[scheme]
        await _let_in(uri, channel.grant, channel.authorize, uri, caller)
        state: State = await _done(channel.snapshot(uri, caller))
        if spoken.join(uri, caller) and channel.joined is not None:
            channel.joined(uri)
        return state

    def leave(self, scheme: str, client: str) -> None:
        """A client watches nothing of a scheme any more."""
        self.channel(scheme).leave(client)
        left = self.contribution.channels[scheme].left
        if left is not None:
            left(client)

    async def call(
        self, method: str, params: Mapping[str, Any] | None = None, caller: Caller = SOMEBODY
    ) -> Any:
        """Send a command of the plugin's; its result. Raises `RpcError`."""
        held = self.contribution.methods.get(method)
        if held is None:
            raise method_not_found(method)
        await _let_in(method, held.grant, held.authorize, params or {}, caller)
        return await _done(held.handle(params or {}, caller))

    async def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        query: str = "",
    ) -> Response:
        """Ask the plugin's route, whose paths begin with `/plugins/<id>`, as a program would."""
        handler = self.contribution.route
        assert callable(handler), "a route that is a resource is rendered by a test of its own"
        given = {name.lower(): (value,) for name, value in (headers or {}).items()}
        answer: Response = await handler(
            Request(method=method, path=path, query=query, headers=given, body=body)
        )
        assert isinstance(answer, Response), f"a route answers a Response, found {answer!r}"
        return answer

    async def run_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        session: str = "ahp-session:/one",
        chat: str = "ahp-chat:/one",
    ) -> str | State:
        """Run a tool of the plugin's with arguments that fit its schema, as a model would.

        Raises `ToolFailure` where it could not do it.
        """
        tool: HostTool = self.contribution.tools[name]
        given = dict(arguments or {})
        try:
            check_value(tool.definition.get("inputSchema", {}), given, "arguments")
        except Misfit as misfit:
            raise ToolFailure(str(misfit)) from None
        at = ToolCallContext(session=session, chat=chat, tool_call_id="call-1")
        return await tool.run(given, at)

    async def open_connector(
        self,
        adapter: str,
        identifier: str,
        config: Mapping[str, Any],
        *,
        owner: str = "host",
        title: str | None = None,
    ) -> OpenConnector:
        """Make a connector of an adapter of the plugin's, its secrets in plain text.

        Raises `RpcError` for a config that does not fit the adapter's schema, and what the
        adapter's `open` raises: a host shows such a connector as invalid.
        """
        held = self.contribution.adapters[adapter]
        try:
            check_value(held.schema, dict(config), "params.config", references=True)
        except Misfit as misfit:
            raise invalid_params(str(misfit)) from None
        connector = Connector(
            id=identifier, adapter=adapter, owner=owner, title=title, config=dict(config)
        )
        views = Views(
            [one.name for one in held.capabilities if one.type == "view"],
            lambda: tuple(self.contribution.methods),
            moved=_nothing,
            data=_nothing,
            report=self._row.problem,
        )
        opened = OpenConnector(connector, held, views, await _done(held.open(connector, views)))
        self._connectors.append(opened)
        return opened

    # -- what the plugin's row shows ------------------------------------------------------

    @property
    def problems(self) -> Sequence[str]:
        """The items it dropped, and what of it was refused."""
        return tuple(self._row.problems)

    @property
    def alerts(self) -> Sequence[State]:
        """The alerts there are (`{level, text, ref?, at}`), the oldest first."""
        return self._row.alerts.shown

    @property
    def view(self) -> State | None:
        """The view of the plugin's own page; None for none."""
        return (self._row.views or {}).get("main")

    # -- the rest -----------------------------------------------------------------------

    def _of(self) -> RunningPlugin:
        assert self._running is not None, "it was not applied"
        return self._running

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.seconds(), UTC)

    async def _soon(self, work: Coroutine[Any, Any, T]) -> T:
        """What is done without time passing; what waits for longer fails the test."""
        doing = Deferred.fromCoroutine(work)
        while any(due.getTime() <= self.clock.seconds() for due in self.clock.getDelayedCalls()):
            self.clock.advance(0)
        assert doing.called, "it waits for something that does not come by itself"
        return await doing


def _found(module: ModuleType, plugin: str) -> Found:
    """The plugin as a loader finds one in a folder."""
    assert module.__file__ is not None, "a plugin's module has a file"
    file = Path(module.__file__)
    written = manifest_file(file.parent, plugin)
    assert written is not None, f"{file.parent} holds no plugin.yaml"
    return Found(
        entry=PluginEntry(source=str(file.parent)),
        id=plugin,
        manifest=read_manifest(written, plugin, id_if_none=plugin),
        kind="standalone",
        module=module.__name__,
        file=file,
        folder=file.parent,
        root=file.parent,
    )


def _context(plugin: str, around: Surroundings, logged: list[str]) -> _Context:
    return _Context(
        id=plugin,
        path=around.paths[0],
        paths=around.paths,
        version=around.version,
        host_name=around.host_name,
        config_dir=around.config_dir,
        reactor=around.reactor,
        say=around.say,
        logged=logged,
    )


async def _let_in(
    what: str,
    grant: str,
    authorize: Callable[..., bool | Awaitable[bool]] | None,
    asked: Any,
    caller: Caller,
) -> None:
    """Raises `RpcError` for somebody who is signed in, does not hold `grant`, and is not let in.

    Grants are compared as they are written; nobody who is not signed in is asked for any.
    """
    if caller.reader is None or not grant or grant in caller.reader.grants:
        return
    if authorize is not None and await _done(authorize(asked, caller)):
        return
    raise RpcError(PERMISSION_DENIED, f"{what} needs {grant}")


async def _done(answer: Any) -> Any:
    return await answer if isawaitable(answer) else answer


def _nothing(*_: object) -> None:
    return None
