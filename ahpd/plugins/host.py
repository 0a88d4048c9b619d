"""The host as one plugin is handed it: `IPluginHost`, over what its parts are.

`register_*` records in the plugin's contribution (`Registrar`), what it shows goes to its row
(`IShown`), and what it asks of the host goes through `World`, which says when that is there.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any, Protocol

import attrs
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.interfaces import (
    Alert,
    Channel,
    ChatRequest,
    IChannelHandle,
    IConnectionToHost,
    IPluginContext,
    IPluginHost,
    IRecords,
    PluginError,
    RecordOptions,
    SessionRequest,
)
from ahpd.plugins.checked import check_slug, check_text
from ahpd.plugins.late import Collections, LateHandle, LateRecords
from ahpd.plugins.registering import Registrar
from ahpd.plugins.world import HostSide, Install, World
from ahpd.protocol import State
from ahpd.protocol.characters import whole

log = Logger(namespace="ahpd.plugin")


class IShown(Protocol):
    """What the plugin's row shows of it."""

    def problem(self, line: str) -> None:
        """See `IPluginHost.problem`."""

    def alert(self, alert: Alert) -> None:
        """See `IPluginHost.alert`."""

    def clear_alert(self, ref: str) -> None:
        """See `IPluginHost.clear_alert`."""

    def show_view(self, view: State, surface: str = "main") -> None:
        """See `IViewHandle.show_view`."""

    def set_view_data(self, path: str, value: Any, surface: str = "main") -> None:
        """See `IViewHandle.set_view_data`."""

    def clear_view(self, surface: str = "main") -> None:
        """See `IViewHandle.clear_view`."""


@attrs.frozen(kw_only=True)
class Surroundings:
    """What the plugins of one host have in common."""

    paths: tuple[Path, ...]
    version: str
    host_name: str
    config_dir: Path
    reactor: Any = attrs.field(repr=False)
    world: World = attrs.field(repr=False)
    collections: Collections = attrs.field(repr=False)
    say: Callable[[str], None] = attrs.field(repr=False)
    parse_yaml: Callable[[str], Any] = attrs.field(repr=False)
    stringify_yaml: Callable[[Any], str] = attrs.field(repr=False)
    install: Install = attrs.field(repr=False)


@implementer(IPluginContext)
@attrs.frozen(kw_only=True)
class PluginContext:
    """See `IPluginContext`: to read alone."""

    id: str
    path: Path
    paths: tuple[Path, ...]
    version: str
    host_name: str
    config_dir: Path
    reactor: Any = attrs.field(repr=False)
    _say: Callable[[str], None] = attrs.field(repr=False)
    _gone: Event = attrs.field(factory=Event, init=False, repr=False)

    def log(self, line: str) -> None:
        """See `IPluginContext.log`."""
        if not self._gone.is_set():
            log.info("{plugin}: {line}", plugin=self.id, line=one_line(line))

    def say(self, line: str) -> None:
        """See `IPluginContext.say`."""
        if not self._gone.is_set():
            self._say(one_line(line))

    def let_go(self) -> None:
        """The plugin is unloaded: nothing is said in its name any more."""
        self._gone.set()


def one_line(text: object) -> str:
    """`text` as one line: a plugin says lines, and a log holds one each."""
    return whole(" ".join(str(text).split()))


def context_for(plugin: str, around: Surroundings) -> PluginContext:
    """The context of one plugin."""
    return PluginContext(
        id=plugin,
        path=around.paths[0],
        paths=around.paths,
        version=around.version,
        host_name=around.host_name,
        config_dir=around.config_dir,
        reactor=around.reactor,
        say=around.say,
    )


def _port(name: str) -> Any:
    def register(self: "PluginHost", value: Any, replace: bool = False) -> None:
        self._registrar.register_port(name, value, replace)

    register.__name__ = f"register_{name}"
    register.__doc__ = f"Supply the port `{name}`; see `IPluginHost`."
    return register


@implementer(IPluginHost)
class PluginHost:
    """See `IPluginHost`. `grants` are those of the plugin's entry."""

    def __init__(
        self,
        context: PluginContext,
        around: Surroundings,
        registrar: Registrar,
        shown: IShown,
        *,
        texts: Any,
        installed: Path | None,
        grants: Sequence[str] = (),
    ) -> None:
        self._context = context
        self._around = around
        self._registrar = registrar
        self._shown = shown
        self._texts = texts
        self._installed = installed
        self._grants = tuple(grants)
        self._held: list[LateHandle | LateRecords] = []
        self._gone = False

    # -- what may be read ------------------------------------------------------------

    @property
    def context(self) -> PluginContext:
        """What listeners are handed beside an event."""
        return self._context

    @property
    def texts(self) -> Any:
        """See `IPluginHost.texts`."""
        return self._texts

    @property
    def installed(self) -> Path | None:
        """See `IPluginHost.installed`."""
        return self._installed

    @property
    def id(self) -> str:
        """See `IPluginContext.id`."""
        return self._context.id

    @property
    def path(self) -> Path:
        """See `IPluginContext.path`."""
        return self._context.path

    @property
    def paths(self) -> tuple[Path, ...]:
        """See `IPluginContext.paths`."""
        return self._context.paths

    @property
    def version(self) -> str:
        """See `IPluginContext.version`."""
        return self._context.version

    @property
    def host_name(self) -> str:
        """See `IPluginContext.host_name`."""
        return self._context.host_name

    @property
    def config_dir(self) -> Path:
        """See `IPluginContext.config_dir`."""
        return self._context.config_dir

    @property
    def reactor(self) -> Any:
        """See `IPluginContext.reactor`."""
        return self._context.reactor

    def log(self, line: str) -> None:
        """See `IPluginContext.log`."""
        self._context.log(line)

    def say(self, line: str) -> None:
        """See `IPluginContext.say`."""
        self._context.say(line)

    # -- contributions: those that only record are the registrar's own ---------------------

    def __getattr__(self, name: str) -> Any:
        if name.startswith("register_") and name in IPluginHost:
            return getattr(self._registrar, name)
        raise AttributeError(f"{type(self).__name__} has no {name}")

    def register_channel(self, scheme: str, channel: Channel) -> IChannelHandle:
        """See `IPluginHost.register_channel`."""
        self._registrar.register_channel(scheme, channel)
        handle = LateHandle(self._around.world, self.id, scheme)
        self._held.append(handle)
        return handle

    register_resources = _port("resources")
    register_terminals = _port("terminals")
    register_sessions = _port("sessions")
    register_vault = _port("vault")
    register_records = _port("records")
    register_command_parser = _port("commandParser")
    register_bindings = _port("bindings")
    register_changes = _port("changes")
    register_directories = _port("directories")
    register_worktrees = _port("worktrees")
    register_github = _port("github")
    register_automations = _port("automations")
    register_diagnostics = _port("diagnostics")
    register_computers = _port("computers")
    register_containers = _port("containers")
    register_usage = _port("usage")
    register_policies = _port("policies")

    def on(self, event: str, handler: Callable[..., Any]) -> None:
        """See `IPluginHost.on`."""
        self._registrar.listen(event, handler)

    # -- what it shows of itself --------------------------------------------------------

    def problem(self, line: str) -> None:
        """See `IPluginHost.problem`."""
        if not self._gone:
            self._shown.problem(one_line(line))

    def alert(self, alert: Alert) -> None:
        """See `IPluginHost.alert`."""
        if not self._gone:
            self._shown.alert(alert)

    def clear_alert(self, ref: str) -> None:
        """See `IPluginHost.clear_alert`."""
        if not self._gone:
            self._shown.clear_alert(ref)

    def show_view(self, view: State, surface: str = "main") -> None:
        """See `IPluginHost.show_view`."""
        if not self._gone:
            self._shown.show_view(view, surface)

    def set_view_data(self, path: str, value: Any, surface: str = "main") -> None:
        """See `IPluginHost.set_view_data`."""
        if not self._gone:
            self._shown.set_view_data(path, value, surface)

    def clear_view(self, surface: str = "main") -> None:
        """See `IPluginHost.clear_view`."""
        if not self._gone:
            self._shown.clear_view(surface)

    # -- what it asks of the host ---------------------------------------------------------

    def parse_yaml(self, text: str) -> Any:
        """See `IPluginHost.parse_yaml`."""
        return self._around.parse_yaml(text)

    def stringify_yaml(self, value: Any) -> str:
        """See `IPluginHost.stringify_yaml`."""
        return self._around.stringify_yaml(value)

    def records(self, name: str, body: str | None = None) -> IRecords:
        """See `IPluginHost.records`."""
        self._check_here("records")
        check_slug("the name of a collection of records", name)
        if body is not None:
            check_text(f"the body of the records {name}", body)
        self._around.collections.take(name, self.id)
        opened = LateRecords(
            self._around.world, name, RecordOptions(body=body), self._registrar.when_closed
        )
        self._held.append(opened)
        return opened

    async def secret(self, name: str, *, team: str | None = None, owner: str | None = None) -> str:
        """See `IPluginHost.secret`."""
        self._check_here("secret")
        return await self._around.world.secrets.read(name, team=team, owner=owner)

    async def install(self, requirement: str) -> Mapping[str, str]:
        """See `IPluginHost.install`."""
        self._check_here("install")
        if self._installed is None:
            return {"error": f"the plugin {self.id} has no folder of its own to install into"}
        answer: Mapping[str, str] = await self._around.install(self._installed, requirement)
        return answer

    def connect(self) -> IConnectionToHost:
        """See `IPluginHost.connect`."""
        return self._host("connect").connect(self.id, self._grants)

    async def start_session(self, request: SessionRequest) -> str:
        """See `IPluginHost.start_session`."""
        return await self._host("start_session").start_session(self.id, request)

    async def start_chat(self, session: str, request: ChatRequest) -> str:
        """See `IPluginHost.start_chat`."""
        return await self._host("start_chat").start_chat(self.id, session, request)

    async def session_kept(self, session: str) -> bool:
        """See `IPluginHost.session_kept`."""
        return await self._host("session_kept").session_kept(session)

    async def session_owner(self, session: str) -> str | None:
        """See `IPluginHost.session_owner`."""
        return await self._host("session_owner").session_owner(session)

    def session_meta_changed(self, session: str) -> None:
        """See `IPluginHost.session_meta_changed`."""
        self._host("session_meta_changed").session_meta_changed(session)

    async def open_canvas(self, chat: str, state: State) -> str:
        """See `IPluginHost.open_canvas`."""
        return await self._host("open_canvas").open_canvas(self.id, chat, state)

    def update_canvas(self, canvas: str, state: State) -> None:
        """See `IPluginHost.update_canvas`."""
        self._host("update_canvas").update_canvas(self.id, canvas, state)

    def close_canvas(self, canvas: str) -> None:
        """See `IPluginHost.close_canvas`."""
        self._host("close_canvas").close_canvas(self.id, canvas)

    async def record_usage(self, entry: State) -> None:
        """See `IPluginHost.record_usage`."""
        await self._host("record_usage").record_usage(entry)

    def fire_trigger(
        self,
        type: str,  # noqa: A002
        event: str,
        data: Mapping[str, Any] | None = None,
        owner: str | None = None,
    ) -> None:
        """See `IPluginHost.fire_trigger`."""
        self._host("fire_trigger").fire_trigger(self.id, type, event, data or {}, owner)

    def run_automation(
        self, automation: str, data: Mapping[str, Any] | None = None, owner: str | None = None
    ) -> None:
        """See `IPluginHost.run_automation`."""
        self._host("run_automation").run_automation(self.id, automation, data or {}, owner)

    def _host(self, call: str) -> HostSide:
        self._check_here(call)
        # A host may be there when a plugin is loaded late: what works then has to work at a start.
        return self._around.world.host(call, applying=self._registrar.is_open)

    def _check_here(self, call: str) -> None:
        if self._gone:
            raise PluginError(f"{call}: the plugin {self.id} was unloaded")

    # -- its end --------------------------------------------------------------------------

    def handed(self) -> Sequence[object]:
        """All the plugin was handed to call the host with."""
        return (self, self._context, self._registrar, *self._held)

    def let_go(self) -> None:
        """The plugin is unloaded: what it still holds of this does nothing any more."""
        self._gone = True
        self._context.let_go()
        for held in self._held:
            held.close()
        self._around.collections.forget(self.id)
