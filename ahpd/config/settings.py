"""The settings of a host, and the one declaration of every option.

Each field of `Settings` made by `option` is a configuration key, and a flag unless it says
that it stands in the file alone; the file's check, the flags of `ahpd`, the options of
`twistd ahpd` and the table in docs/configuration.md are all made of what stands here.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from ahpd.config.endpoints import is_local, tcp_endpoint
from ahpd.config.kinds import (
    MIB,
    Choice,
    Directories,
    Endpoint,
    FilePath,
    FolderPath,
    HostName,
    Integer,
    Names,
    Structured,
    Switch,
    Token,
)
from ahpd.config.mappings import (
    EMPTY,
    EngineDefaults,
    ManagedPermissions,
    McpServers,
    ToolSwitches,
)
from ahpd.config.options import METADATA, Option, option
from ahpd.config.plugin_flags import PluginOption, PluginOptions, PluginSources
from ahpd.config.plugins import PluginEntry, Plugins
from ahpd.config.records import Records, WrittenRecord
from ahpd.config.routes import Routes, RoutesListener


@attrs.frozen(kw_only=True)
class Settings:
    """What a host is started with, checked and complete.

    A `Settings` made by hand (in a test, or by a program that embeds the host) takes
    the defaults below; only `ahpd.config.load` reads files, flags and token files.
    """

    host: str = option(
        HostName(),
        "The address to listen on; off loopback a token is required.",
        default="127.0.0.1",
    )
    port: int = option(
        Integer(0, 65535), "The port to listen on; 0 picks a free one.", default=9187
    )
    listen: str | None = option(
        Endpoint(),
        "A Twisted endpoint string to listen on in place of host and port.",
        unset="host and port",
    )
    paths: tuple[Path, ...] = option(
        Directories(),
        "A directory that sessions are offered, the first being the default.",
        default=(),
        unset="the directory it is started in",
        singular="path",
    )
    connection_token: str | None = option(
        Token(),
        "The token a client must bring; a token file keeps it out of process lists.",
        unset="the token file's",
        secret=True,
    )
    connection_token_file: Path | None = option(
        FilePath(),
        "The file the token is read from; made with a fresh token when absent.",
        unset="token in the configuration directory",
    )
    without_connection_token: bool = option(
        Switch("with-connection-token"),
        "Ask clients for no token, which is for loopback alone.",
        default=False,
        unset="false",
    )
    stdio: bool = option(
        Switch("no-stdio"),
        "Serve the parent process on standard input and output; then nothing listens unless host, port or listen is given.",
        default=False,
        unset="false",
    )
    wire: Path | None = option(
        FilePath(beside=True), "Append every frame to this file as JSON lines.", unset="not written"
    )
    delta_window_ms: int = option(
        Integer(0, 1000),
        "How many milliseconds streamed text may be held to be sent in one piece.",
        default=75,
    )
    client_queue_bytes: int = option(
        Integer(MIB, zero="no limit"),
        "How many unread bytes a client may leave before it is closed.",
        default=16 * MIB,
        unset="16777216 (16 MiB)",
    )
    replay_bytes: int = option(
        Integer(MIB, zero="no limit"),
        "How many bytes of actions are kept for clients that reconnect.",
        default=32 * MIB,
        unset="33554432 (32 MiB)",
    )
    attachment_fetch_limit_bytes: int = option(
        Integer(1, zero="any size"),
        "How many bytes an attachment that only its client has may say it has, to be asked for.",
        default=32 * MIB,
        unset="33554432 (32 MiB)",
    )
    demo: bool | None = option(
        Switch("no-demo"),
        "Offer the demo agent.",
        unset="true while the configuration names no other agent",
    )
    allowed_origins: tuple[str, ...] = option(
        Names(
            r"[A-Za-z][A-Za-z0-9+.-]*://[^/\s?#]+",
            "a web origin such as https://editor.example",
            "ORIGIN",
        ),
        "An origin of web pages that may connect, besides this host's own.",
        default=(),
        unset="none",
        singular="allowed-origin",
    )
    allowed_hosts: tuple[str, ...] = option(
        Names(
            r"[A-Za-z0-9_.-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?",
            "a host name such as build.example, a port with it or not",
            "NAME",
        ),
        "A name this host is reached under, besides its own addresses.",
        default=(),
        unset="none",
        singular="allowed-host",
    )
    sessions: str = option(
        Choice(("file", "memory")),
        "Where sessions are kept: in a file, or in memory until the host ends.",
        default="file",
    )
    data_directory: Path | None = option(
        FolderPath(),
        "The directory that sessions and their attachments are kept in.",
        unset="$XDG_DATA_HOME/ahpd, or ~/.local/share/ahpd",
    )
    """Never None in what `ahpd.config.load` made. Without one, nothing is kept in files."""
    sessions_sync: str = option(
        Choice(("process", "power")),
        "What kept sessions survive: the end of the process at any moment, or a power cut too.",
        default="process",
    )
    closed_chats: str = option(
        Choice(("hidden", "delete")),
        "What becomes of what an agent keeps of a chat that is closed: hidden leaves it unlisted.",
        default="hidden",
    )
    agent_idle_seconds: int = option(
        Integer(1, 2_592_000, zero="as long as the host runs"),
        "How many seconds the agent process of a chat is kept with nothing to do, where it can be opened again.",
        default=600,
        unset="600 (10 minutes)",
    )
    session_idle_seconds: int = option(
        Integer(1, 2_592_000, zero="as long as the host runs"),
        "How many seconds a session that nobody watches and nothing runs in stays in memory.",
        default=300,
        unset="300 (5 minutes)",
    )
    agents: tuple[WrittenRecord, ...] = option(
        Records(),
        "The agents this host offers; docs/agents.md says what a record holds.",
        default=(),
        unset="none",
        file_only=True,
    )
    engines: Mapping[str, Mapping[str, Any]] = option(
        EngineDefaults(),
        "By engine, fields that are laid under the config of each of its records.",
        default=EMPTY,
        unset="none",
        file_only=True,
    )
    mcp_servers: Mapping[str, Mapping[str, Any]] = option(
        McpServers(),
        "MCP servers that sessions are offered, by name; read anew at each session's start.",
        default=EMPTY,
        unset="none",
        file_only=True,
    )
    eligible_for_auto_approval: Mapping[str, bool] = option(
        ToolSwitches(),
        "By tool, false where nobody but a person may approve its calls.",
        default=EMPTY,
        unset="none",
        file_only=True,
    )
    managed_settings_permissions: Mapping[str, Any] = option(
        ManagedPermissions(),
        "Rules of the operator's own, which no person and no session can set aside.",
        default=EMPTY,
        unset="none",
        file_only=True,
    )
    managed_rules: str = option(
        Choice(("checked", "handed")),
        "Who holds calls to the managed rules: this host on every question, or agents that take them.",
        default="checked",
        file_only=True,
    )
    terminal_auto_approve_defaults: str = option(
        Choice(("vscode", "none")),
        "Which shell commands run unasked while no window said so: VS Code's table, or none.",
        default="vscode",
        file_only=True,
    )
    advanced_tools: tuple[str, ...] = option(
        Names(r"\S+", "the name of a tool", "TOOL"),
        "Tools of this host's that do more than a session's ordinary work, offered all the same.",
        default=(),
        unset="none",
        file_only=True,
    )
    plugins: tuple[PluginEntry, ...] = option(
        Plugins(),
        "The plugins this host loads; docs/plugins.md says what an entry holds.",
        default=(),
        unset="none",
        file_only=True,
    )
    """In what `ahpd.config.load` made: the file's, and those that flags name."""
    plugin: tuple[str, ...] = option(
        PluginSources(),
        "A plugin to load after those the file lists; one of those is on whatever the file says.",
        default=(),
        unset="none",
        flag_only=True,
    )
    no_plugins: bool = option(
        Switch("with-plugins"),
        "Load none of the plugins the file lists, only what --plugin names.",
        default=False,
        unset="false",
        flag_only=True,
    )
    plugin_option: tuple[PluginOption, ...] = option(
        PluginOptions(),
        "An option of a plugin, over what the file says of it.",
        default=(),
        unset="none",
        flag_only=True,
    )
    plugin_entry_outside: str = option(
        Choice(("refuse", "warn")),
        "What becomes of a plugin whose module lies outside of its own package.",
        default="refuse",
        file_only=True,
    )
    routes: RoutesListener | None = option(
        Routes(),
        "A listener of its own for what plugins serve over HTTP, and for nothing else.",
        unset="the host's own listener",
        file_only=True,
    )
    icon_limit_bytes: int = option(
        Integer(1, zero="no limit"),
        "How many bytes the image of an icon may have; a larger one is dropped.",
        default=256 * 1024,
        unset="262144 (256 KiB)",
        file_only=True,
    )
    icon_timeout_ms: int = option(
        Integer(1, 600_000),
        "How many milliseconds an icon may take to be fetched.",
        default=10_000,
        file_only=True,
    )
    listens: bool = attrs.field()
    """Whether a WebSocket listener is opened; no option of its own, see `stdio`."""

    @listens.default
    def _listens(self) -> bool:
        return not self.stdio

    config_file: Path | None = None
    """The file all this was read from, to read `mcp_servers` from again; None where none was."""
    config_directory: Path | None = None
    """Where the configuration, the vault, records and installed plugins are; None keeps them in
    memory, and installs none."""
    variable_secrets: tuple[str, ...] = attrs.field(default=(), repr=False)
    """What references in the configuration read from the environment; no option either."""

    @property
    def default_directory(self) -> Path:
        """Where a session works when its client names no directory."""
        return self.paths[0] if self.paths else Path.cwd()

    @property
    def endpoint(self) -> str:
        """The Twisted endpoint string to listen on."""
        return self.listen if self.listen is not None else tcp_endpoint(self.host, self.port)

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the endpoint."""
        return is_local(self.endpoint)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no child may see, and no log line and no answer may hold."""
        return () if self.connection_token is None else (self.connection_token,)

    @property
    def unspoken(self) -> tuple[str, ...]:
        """What no log line may hold: `secrets`, and the credentials of agents and MCP servers."""
        held = [
            text
            for declared in OPTIONS
            if isinstance(declared.kind, Structured)
            for text in declared.kind.secrets(getattr(self, declared.name))
        ]
        # The longest first: one may hold another.
        both = {*self.secrets, *held, *self.variable_secrets}
        return tuple(sorted(both, key=lambda text: (-len(text), text)))

    @property
    def offers_demo(self) -> bool:
        """Whether the demo agent is offered: as it is said, else while nothing else is named."""
        return not self.agents if self.demo is None else self.demo


def _declared() -> tuple[Option, ...]:
    return tuple(
        Option(name=field.name, **field.metadata[METADATA])
        for field in attrs.fields(Settings)
        if METADATA in field.metadata
    )


OPTIONS: Final = _declared()
#: Those a flag says.
FLAGGED: Final = tuple(option for option in OPTIONS if not option.file_only)
#: Those a file may hold.
FILED: Final = tuple(option for option in OPTIONS if not option.flag_only)
BY_KEY: Final = {option.key: option for option in FILED}
BY_NAME: Final = {option.name: option for option in OPTIONS}


def plain(text: str) -> str:
    """A key without its case and its separators, to compare spellings by."""
    return re.sub(r"[^a-z0-9]", "", text.lower())
