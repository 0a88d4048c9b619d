"""What a plugin is handed, and what it may hand back.

A plugin is a module with `apply(host, options)`; `host` is `IPluginHost`. Source: PLUGINS.txt,
whole; docs/plugins.md is the author's guide.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from twisted.application.service import IService
from zope.interface import Attribute, Interface

from ahpd.interfaces.agents import IAgent
from ahpd.interfaces.connectors import Adapter
from ahpd.interfaces.engines import IEngine
from ahpd.interfaces.extensions import Alert, Channel, IChannelHandle, Method
from ahpd.interfaces.http import RouteHandler
from ahpd.interfaces.plugin_values import (
    ChangesetOperations,
    ChatRequest,
    ConfigCompleter,
    Preamble,
    ProviderConfiguration,
    SessionRequest,
    TriggerType,
)
from ahpd.interfaces.record_store import IRecords
from ahpd.interfaces.tools import HostTool
from ahpd.interfaces.tunnels import TunnelKind
from ahpd.protocol import State

if TYPE_CHECKING:
    from twisted.web.resource import IResource


class PluginError(Exception):
    """Something a plugin did that it may not do, in one line that names it."""


@attrs.frozen
class Owned:
    """Something a plugin registered, and whose it is."""

    plugin: str
    value: Any


class IConnectionToHost(Interface):
    """A plugin's end of a connection to its own host."""

    async def request(method: str, params: State) -> Any:
        """Ask; the result. Raises `RpcError`.

        The first one is `initialize`, as of any client: `{"channel": "ahp-root://", "clientId":
        "mine", "protocolVersions": ["1.0.0"]}`. A `subscribe` of `{"channel": uri}` answers
        `{"snapshot": {"state": ...}}`.
        """

    def notify(method: str, params: State) -> None:
        """Say."""

    def on_message(handler: Callable[[State], object]) -> None:
        """Have `handler` told of every message of the host's that answers no request."""

    def close() -> None:
        """Hang up. Again is no error."""


class IPluginContext(Interface):
    """What a plugin may read and not change."""

    id: str = Attribute("The plugin's id.")
    path: Path = Attribute("The first directory the host serves; not the plugin's own folder.")
    paths: Sequence[Path] = Attribute("Every directory the host serves.")
    version: str = Attribute("The version of ahpd that runs.")
    host_name: str = Attribute(
        "What this host is called: `root:<host_name>` owns what has no user."
    )
    config_dir: Path = Attribute("The folder of the configuration: collections and the vault too.")
    reactor: Any = Attribute("The reactor: clock, processes, connections.")

    def log(line: str) -> None:
        """One line of the daemon's log."""

    def say(line: str) -> None:
        """One line of what the daemon announces; one that comes after the announcement is logged."""


class IPluginHost(IPluginContext):
    """The host as a plugin's `apply` is handed it, and all of `IPluginContext` besides.

    A name that another plugin has already is left out with an alert, and the rest of the plugin
    stays; anything else that is wrong with a registration raises `PluginError`, and a plugin whose
    `apply` raises loses all it registered. `register_*` is there until `apply` returned and raises `PluginError` from then on; what is
    marked *later* is there from the event `listening` on and raises `PluginError` before, and in
    every `apply`.
    """

    texts: Any = Attribute("The catalogs of text the plugin ships, by locale (`translated`).")
    installed: Path | None = Attribute("Where `install` puts packages; None without a folder.")

    # -- contributions -------------------------------------------------------------

    def register_agent(agent: IAgent) -> None:
        """Offer an agent; a second one with its provider refuses the start."""

    def register_engine(engine: IEngine) -> None:
        """Offer an engine, of which agents are made as records."""

    def register_tool(tool: HostTool) -> None:
        """Offer a tool to every session's model."""

    def register_session_config(
        key: str, schema: State, completer: ConfigCompleter | None = None
    ) -> None:
        """Add a setting to every session; with `completer` it is a picker (`enumDynamic`).

        `schema` is a SessionConfigPropertySchema (`type` and `title` at least). The value stands in
        each session's state under `config.values`, and `HostTool.for_session` is handed it.
        """

    def register_provider_configuration(registration: ProviderConfiguration) -> None:
        """Add a provider's settings to the root configuration."""

    def register_resource_provider(scheme: str, provider: Any) -> None:
        """Serve a URI scheme (`IResourceProvider` and what more it provides).

        A host is built over its schemes: a plugin with one comes, goes and is reloaded at the next
        start (`restart: true`).
        """

    def register_channel(scheme: str, channel: Channel) -> IChannelHandle:
        """Serve a channel under an `x-` scheme; what it answers publishes from `listening` on."""

    def register_method(name: str, method: Method) -> None:
        """Serve a command under an `x-` name."""

    def register_adapter(adapter: Adapter) -> None:
        """Offer a kind of connector."""

    def register_tunnel_kind(kind: TunnelKind) -> None:
        """Offer a kind of tunnel."""

    def register_trigger_type(definition: TriggerType) -> None:
        """Offer a type of event that automations may watch."""

    def register_changeset_operations(contribution: ChangesetOperations) -> None:
        """Offer operations on changesets."""

    def register_chat_preamble(preamble: Preamble) -> None:
        """Tell the model of each chat that is opened beside a session's first something ahead of
        its first message (`Preamble`)."""

    def register_session_meta(key: str, read: Callable[[str], Any]) -> None:
        """Add a key to every session's `_meta`; `read(session)` answers at once, None for none."""

    def register_grants(
        subject: str, title: str, operations: Sequence[str], description: str = ""
    ) -> None:
        """Name operations a grant may name: `("notes", "Notes", ["put"])` makes `notes:put`."""

    def register_route(handler: "RouteHandler | IResource") -> None:
        """Serve `/plugins/<id>/` over HTTP; the handler authenticates its own callers. One a
        plugin: `await handler(request)` answers every path below, or an `IResource` does."""

    def register_service(service: IService) -> None:
        """Start `service` once the host listens; it is stopped, and awaited for ten seconds, when
        the plugin goes and when the host stops."""

    def register_close(close: Callable[[], Any]) -> None:
        """Call (and await for ten seconds) `close` when the plugin goes, is reloaded or has new
        options, and when the host stops, in the order they were registered."""

    # -- ports, each a singleton: `replace` takes one over -------------------------------

    def register_resources(provider: Any, replace: bool = False) -> None:
        """Serve `file:`."""

    def register_terminals(terminals: Any, replace: bool = False) -> None:
        """Start the programs of terminals (`ITerminals`)."""

    def register_sessions(store: Any, replace: bool = False) -> None:
        """Keep sessions (`ISessionStore`)."""

    def register_vault(vault: Any, replace: bool = False) -> None:
        """Keep secrets (`IVault`)."""

    def register_records(store: Any, replace: bool = False) -> None:
        """Keep every plugin's records (`IRecordStore`)."""

    def register_command_parser(split: Any, replace: bool = False) -> None:
        """Split shell lines before rules match them (`CommandParser`)."""

    def register_bindings(read: Any, replace: bool = False) -> None:
        """Say which connectors a session may use (`Bindings`)."""

    def register_changes(source: Any, replace: bool = False) -> None:
        """`IChangeSource`."""

    def register_directories(facts: Any, replace: bool = False) -> None:
        """`IDirectoryFacts`."""

    def register_worktrees(worktrees: Any, replace: bool = False) -> None:
        """`IWorktrees`."""

    def register_github(pull_requests: Any, replace: bool = False) -> None:
        """`IPullRequests`."""

    def register_automations(store: Any, replace: bool = False) -> None:
        """`IAutomationStore`."""

    def register_diagnostics(diagnostics: Any, replace: bool = False) -> None:
        """`IDiagnostics`."""

    def register_computers(computers: Any, replace: bool = False) -> None:
        """`IComputers`."""

    def register_containers(containers: Any, replace: bool = False) -> None:
        """`IContainers`."""

    def register_usage(usage: Any, replace: bool = False) -> None:
        """`IUsageStore`."""

    def register_policies(policies: Any, replace: bool = False) -> None:
        """`IPolicies`."""

    # -- events --------------------------------------------------------------------

    def on(event: str, handler: Callable[[Mapping[str, Any], IPluginContext], Any]) -> None:
        """Call (and await) `handler(event, context)` at each `event` (`EVENTS`), in the order of
        registration. A plugin that is loaded while the host runs is told `listening` as well."""

    # -- what a plugin shows of itself ---------------------------------------------------

    def problem(line: str) -> None:
        """One item of the plugin's own that it dropped: a line of the log, an alert on its row, and
        what `ahpd start` prints."""

    def alert(alert: Alert) -> None:
        """Show an alert on the plugin's row; the oldest of more than 50 goes."""

    def clear_alert(ref: str) -> None:
        """Take the alert with this ref away."""

    def show_view(view: State, surface: str = "main") -> None:
        """See `IViewHandle.show_view`."""

    def set_view_data(path: str, value: Any, surface: str = "main") -> None:
        """See `IViewHandle.set_view_data`."""

    def clear_view(surface: str = "main") -> None:
        """See `IViewHandle.clear_view`."""

    # -- what it may ask --------------------------------------------------------------

    def parse_yaml(text: str) -> Any:
        """A YAML text as JSON values. Raises `ValueError`."""

    def stringify_yaml(value: Any) -> str:
        """A JSON value as YAML that `parse_yaml` reads back the same."""

    def records(name: str, body: str | None = None) -> IRecords:
        """A collection of the host's record store, `<config_dir>/<name>/`.

        Its calls wait until the host is built, and until `apply` returned beside one that runs: one
        that is awaited in `apply` never returns. Read what was kept at `listening`. `body` is the field that holds a
        record's long text. Raises `PluginError` for a name another plugin has.
        """

    async def secret(name: str, *, team: str | None = None, owner: str | None = None) -> str:
        """See `ISecrets.read`. Raises `SecretFailure`."""

    async def install(requirement: str) -> Mapping[str, str]:
        """Install one package into `installed`: `{"version": ...}` or `{"error": ...}`.

        Wheels alone, by name, path or address: what has to be built would run code here.
        """

    def connect() -> IConnectionToHost:
        """*Later.* A connection to this host, as `plugin:<id>` with the entry's grants. It is closed
        when the plugin goes."""

    async def start_session(request: SessionRequest) -> str:
        """*Later.* Start a session; its URI. Raises `RpcError`."""

    async def start_chat(session: str, request: ChatRequest) -> str:
        """*Later.* Start a chat in a session; its URI. Raises `RpcError`."""

    async def session_kept(session: str) -> bool:
        """*Later.* Whether this host keeps a session."""

    async def session_owner(session: str) -> str | None:
        """*Later.* Whose it is; None where nobody's."""

    def session_meta_changed(session: str) -> None:
        """*Later.* What `register_session_meta` answers for this session is another value now."""

    async def open_canvas(chat: str, state: State) -> str:
        """*Later.* Show a canvas on a chat (schema: CanvasState); its channel."""

    def update_canvas(canvas: str, state: State) -> None:
        """*Later.* Replace the state of a canvas this plugin opened."""

    def close_canvas(canvas: str) -> None:
        """*Later.* Take a canvas off its chat; one that is gone is no error."""

    async def record_usage(entry: State) -> None:
        """*Later.* Keep a usage entry; a host without a usage store keeps none."""

    def fire_trigger(
        type: str,  # noqa: A002
        event: str,
        data: Mapping[str, Any] | None = None,
        owner: str | None = None,
    ) -> None:
        """*Later.* An event of a trigger type this plugin registered happened."""

    def run_automation(
        automation: str, data: Mapping[str, Any] | None = None, owner: str | None = None
    ) -> None:
        """*Later.* Start one automation, by its id or its URI."""
