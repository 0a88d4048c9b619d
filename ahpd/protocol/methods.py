"""The tables of commands and notifications: who calls them, with what, on which channel.

The facts are the protocol's own table of 1.0.0. Which methods are served beyond it is
AHP.txt's ("What is served outside the protocol").
"""

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, Literal

import attrs

from ahpd.protocol.shapes import shape
from ahpd.protocol.uris import AUTOMATIONS, ROOT


@attrs.frozen
class CommandSpec:
    """A request and its answer."""

    name: str
    direction: Literal["client", "both"]
    """`both` where the host may ask it of a client as well."""
    params_declared_at: str
    result_declared_at: str | None
    channel: str | None
    """The one channel it names, or None where the client chooses."""

    @cached_property
    def params(self) -> Any:
        """The shape of its params."""
        return shape(self.params_declared_at)

    @cached_property
    def result(self) -> Any:
        """The shape of its result; None where the result is JSON null."""
        return None if self.result_declared_at is None else shape(self.result_declared_at)


@attrs.frozen
class NotificationSpec:
    """A message nobody answers."""

    name: str
    direction: Literal["client", "server"]
    """Who sends it."""
    params_declared_at: str
    introduced_in: str | None
    """The version that added it, where only a connection of that version is sent it."""

    @cached_property
    def params(self) -> Any:
        """The shape of its params."""
        return shape(self.params_declared_at)


_COMMANDS: Final = (
    CommandSpec(
        "initialize", "client", "handshake.InitializeParams", "handshake.InitializeResult", ROOT
    ),
    CommandSpec("ping", "client", "handshake.PingParams", None, ROOT),
    CommandSpec(
        "reconnect", "client", "handshake.ReconnectParams", "handshake.ReconnectResult", ROOT
    ),
    CommandSpec(
        "subscribe", "client", "handshake.SubscribeParams", "handshake.SubscribeResult", None
    ),
    CommandSpec("createSession", "client", "sessions.CreateSessionParams", None, None),
    CommandSpec("disposeSession", "client", "sessions.DisposeSessionParams", None, None),
    CommandSpec("createChat", "client", "chats.CreateChatParams", None, None),
    CommandSpec("moveChat", "client", "chats.MoveChatParams", "chats.MoveChatResult", None),
    CommandSpec("disposeChat", "client", "chats.DisposeChatParams", None, None),
    CommandSpec("createTerminal", "client", "terminals.CreateTerminalParams", None, None),
    CommandSpec("disposeTerminal", "client", "terminals.DisposeTerminalParams", None, None),
    CommandSpec(
        "createResourceWatch",
        "both",
        "resources.CreateResourceWatchParams",
        "resources.CreateResourceWatchResult",
        ROOT,
    ),
    CommandSpec(
        "listSessions", "client", "sessions.ListSessionsParams", "sessions.ListSessionsResult", ROOT
    ),
    CommandSpec(
        "resourceRead", "both", "resources.ResourceReadParams", "resources.ResourceReadResult", ROOT
    ),
    CommandSpec(
        "resourceWrite",
        "both",
        "resources.ResourceWriteParams",
        "resources.ResourceWriteResult",
        ROOT,
    ),
    CommandSpec(
        "resourceList", "both", "resources.ResourceListParams", "resources.ResourceListResult", ROOT
    ),
    CommandSpec(
        "resourceCopy", "both", "resources.ResourceCopyParams", "resources.ResourceCopyResult", ROOT
    ),
    CommandSpec(
        "resourceDelete",
        "both",
        "resources.ResourceDeleteParams",
        "resources.ResourceDeleteResult",
        ROOT,
    ),
    CommandSpec(
        "resourceMove", "both", "resources.ResourceMoveParams", "resources.ResourceMoveResult", ROOT
    ),
    CommandSpec(
        "resourceResolve",
        "both",
        "resources.ResourceResolveParams",
        "resources.ResourceResolveResult",
        ROOT,
    ),
    CommandSpec(
        "resourceMkdir",
        "both",
        "resources.ResourceMkdirParams",
        "resources.ResourceMkdirResult",
        ROOT,
    ),
    CommandSpec(
        "resourceRequest",
        "both",
        "resources.ResourceRequestParams",
        "resources.ResourceRequestResult",
        ROOT,
    ),
    CommandSpec("fetchTurns", "client", "turns.FetchTurnsParams", "turns.FetchTurnsResult", None),
    CommandSpec(
        "authenticate", "client", "root.AuthenticateParams", "root.AuthenticateResult", ROOT
    ),
    CommandSpec(
        "resolveSessionConfig",
        "client",
        "config.ResolveSessionConfigParams",
        "config.ResolveSessionConfigResult",
        ROOT,
    ),
    CommandSpec(
        "sessionConfigCompletions",
        "client",
        "config.SessionConfigCompletionsParams",
        "config.SessionConfigCompletionsResult",
        ROOT,
    ),
    CommandSpec(
        "completions", "client", "messages.CompletionsParams", "messages.CompletionsResult", None
    ),
    CommandSpec(
        "invokeChangesetOperation",
        "client",
        "changesets.InvokeChangesetOperationParams",
        "changesets.InvokeChangesetOperationResult",
        None,
    ),
    CommandSpec(
        "listAutomationTriggerDefinitions",
        "client",
        "automations.ListAutomationTriggerDefinitionsParams",
        "automations.ListAutomationTriggerDefinitionsResult",
        ROOT,
    ),
    CommandSpec(
        "runAutomation",
        "client",
        "automations.RunAutomationParams",
        "automations.RunAutomationResult",
        AUTOMATIONS,
    ),
    CommandSpec(
        "fetchAutomationRuns",
        "client",
        "automations.FetchAutomationRunsParams",
        "automations.FetchAutomationRunsResult",
        AUTOMATIONS,
    ),
)

_NOTIFICATIONS: Final = (
    NotificationSpec("unsubscribe", "client", "handshake.UnsubscribeParams", None),
    NotificationSpec("dispatchAction", "client", "envelopes.DispatchActionParams", None),
    NotificationSpec("action", "server", "envelopes.ActionEnvelope", None),
    NotificationSpec("root/sessionAdded", "server", "sessions.SessionAddedParams", "0.1.0"),
    NotificationSpec("root/sessionRemoved", "server", "sessions.SessionRemovedParams", "0.1.0"),
    NotificationSpec(
        "root/sessionSummaryChanged", "server", "sessions.SessionSummaryChangedParams", "0.1.0"
    ),
    NotificationSpec("root/progress", "server", "root.ProgressParams", "0.5.0"),
    NotificationSpec("auth/required", "server", "root.AuthRequiredParams", "0.1.0"),
    NotificationSpec("otlp/exportLogs", "server", "telemetry.OtlpExportLogsParams", "0.2.0"),
    NotificationSpec("otlp/exportTraces", "server", "telemetry.OtlpExportTracesParams", "0.2.0"),
    NotificationSpec("otlp/exportMetrics", "server", "telemetry.OtlpExportMetricsParams", "0.2.0"),
)

#: Every command of AHP 1.0.0, by its method.
COMMANDS: Final[Mapping[str, CommandSpec]] = MappingProxyType({row.name: row for row in _COMMANDS})
#: Every notification of AHP 1.0.0, by its method.
NOTIFICATIONS: Final[Mapping[str, NotificationSpec]] = MappingProxyType(
    {row.name: row for row in _NOTIFICATIONS}
)

#: What the reference window asks under names of no key space of its own.
_BARE_EXTENSIONS: Final = frozenset(
    {
        "shutdown",
        "getNetworkDiagnosticsInfo",
        "getManagedSettingsDiagnostics",
        "diagnosticsFetch",
    }
)


def is_extension(method: str) -> bool:
    """Whether a method's name lies outside AHP, in the space its users agreed on."""
    return method.startswith(("vscode/", "x-")) or method in _BARE_EXTENSIONS
