"""The domains of a host: each is made of the ground and of what it asks of the others."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
from twisted.internet.interfaces import IReactorFDSet
from twisted.logger import Logger

from ahpd.app.at_need import JudgeAtNeed
from ahpd.app.ground import Ground
from ahpd.attachments.files import AttachmentFiles
from ahpd.attachments.folder import AttachmentsFolder
from ahpd.attachments.service import Attachments
from ahpd.completions.completer import Completer
from ahpd.completions.workspace import WorkspaceFiles
from ahpd.config.errors import ConfigError
from ahpd.config.mcp_servers import McpServersFile
from ahpd.config.settings import Settings
from ahpd.interfaces import (
    CommandParser,
    IAgent,
    IHostRecord,
    IJudge,
    IOffers,
    ITerminals,
)
from ahpd.peers.client_files import ClientFiles
from ahpd.peers.resources import ClientResources
from ahpd.plugins.fold import Fold
from ahpd.processes.programs import Programs
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.processes.terminals import LocalTerminals
from ahpd.protocol import State
from ahpd.protocol.errors import RpcError
from ahpd.resources.files.at_work import FilesAtWork
from ahpd.resources.files.provider import FileResources
from ahpd.resources.service import Resources
from ahpd.resources.watching.files import FileWatcher
from ahpd.root.service import RootService
from ahpd.sessions.service import SessionsService
from ahpd.stores.host_record import FileRecord
from ahpd.terminals.service import TerminalsService
from ahpd.threads import OwnThreads, in_thread
from ahpd.transports.admission import Policy
from ahpd.watches.service import ResourceWatches

if TYPE_CHECKING:
    from ahpd.permissions.managed import ManagedPermissions

log = Logger()

#: How many threads work on files: some may wait for a disk that does not answer.
_FILE_THREADS: Final = 24


def make_sessions(
    ground: Ground,
    agents: Mapping[str, IAgent],
    folder: AttachmentsFolder | None,
    terminals: TerminalsService | None,
    offers: IOffers | None = None,
) -> SessionsService:
    """The sessions' side, with the attachments in `folder`; None keeps none.

    `offers` is what agents are offered. `terminals` is where commands of people's own run; without it there are none.
    """
    settings = ground.settings
    attachments = None
    if folder is not None:
        attachments = Attachments(
            AttachmentFiles(folder.path, ground.ids, power=settings.sessions_sync == "power"),
            in_thread(ground.reactor),
            lambda uri: _chat_state(sessions, uri),
            ClientResources(ground.clients, ground.scheduler),
            settings.attachment_fetch_limit_bytes,
            lambda: sessions.registry.catalogue.identifiers,
        )
    sessions = SessionsService(
        ground.store,
        agents,
        ground.scheduler,
        now=ground.now,
        ids=ground.ids,
        delta_window_ms=settings.delta_window_ms,
        attachments=attachments,
        clients=ground.clients,
        delete_closed=settings.closed_chats == "delete",
        record=host_record(settings),
        kept=ground.kept,
        sleep_after=settings.session_idle_seconds,
        idle_release=settings.agent_idle_seconds,
        terminals=terminals,
        offers=offers,
    )
    return sessions


@attrs.frozen(eq=False, repr=False)
class ResourceParts:
    """What serves URIs: the resources, those of clients, and the watches over both."""

    resources: Resources
    clients: ClientFiles
    watches: ResourceWatches
    files: FilesAtWork
    threads: OwnThreads


def make_resources(
    ground: Ground, providers: Mapping[str, Any] | None, folded: Fold
) -> ResourceParts:
    """Who serves which scheme. `providers` by scheme replace this machine's files, and what
    plugins contribute comes beside them."""
    files, threads = FilesAtWork(), OwnThreads(ground.reactor, "file threads", _FILE_THREADS)
    files_port = folded.port("resources")
    if providers is None and files_port is not None:
        providers = {"file": files_port}
    if providers is None:
        watcher = FileWatcher(threads.run, ground.scheduler, ground.reactor, go_on=files.go_on)
        provider = FileResources(threads.run, ids=ground.ids, watcher=watcher, go_on=files.go_on)
        providers = {"file": provider}
    clients = ClientFiles(ground.clients, ground.scheduler)
    resources = Resources(providers, clients)
    for scheme, owned in folded.resource_providers.items():
        resources.register(scheme, owned.value)
    watches = ResourceWatches(ground.store, resources, ground.scheduler)
    return ResourceParts(resources, clients, watches, files, threads)


def local_terminals(reactor: Any, supervisor: ProcessSupervisor) -> ITerminals | None:
    """What starts programs in terminals of this machine.

    None under a reactor that watches no descriptors, a test's clock.
    """
    return LocalTerminals(supervisor) if IReactorFDSet.providedBy(reactor) else None


def make_terminals(
    ground: Ground, port: ITerminals, root: Callable[[], RootService]
) -> TerminalsService:
    """The terminals of a host, listed on its root, which is there when one is opened."""
    return TerminalsService(
        ground.store,
        port,
        ground.scheduler,
        now=ground.now,
        ids=ground.ids,
        default_shell=lambda: root().default_shell(),
        listed=lambda terminals: root().terminals_changed(terminals),
        kept=ground.kept.terminal,
    )


def make_completer(ground: Ground) -> Completer:
    """What completes a word somebody types, off the reactor's thread."""
    # A reactor that watches no pipes, a test's clock, runs no programs.
    runs = IReactorFDSet.providedBy(ground.reactor)
    programs = Programs(ground.supervisor, ground.reactor) if runs else None
    thread = in_thread(ground.reactor)
    return Completer(WorkspaceFiles(ground.scheduler, thread, programs), thread)


def configured_servers(settings: Settings) -> McpServersFile:
    """The MCP servers of the configuration, as its file says them at each session's start."""

    def report(words: str) -> None:
        log.warn("{words}", words=words)

    return McpServersFile(settings.config_file, settings.mcp_servers, dict(os.environ), report)


def configured_judge(settings: Settings, split: CommandParser | None = None) -> IJudge:
    """What answers questions about calls before people do; `split` takes shell lines apart.

    Raises `ConfigError` for a managed rule that cannot be read.
    """
    if not settings.managed_settings_permissions:
        return JudgeAtNeed(partial(_judge, settings, None, split))
    from ahpd.permissions import parse_managed  # noqa: PLC0415 - what nobody asks is not imported

    try:
        managed = parse_managed(settings.managed_settings_permissions)
    except ValueError as error:
        raise ConfigError(f"managedSettingsPermissions: {error}") from None
    return _judge(settings, managed, split)


def _judge(
    settings: Settings, managed: "ManagedPermissions | None", split: CommandParser | None
) -> IJudge:
    from ahpd.permissions import Beside, Judge  # noqa: PLC0415

    return Judge(
        managed,
        settings.eligible_for_auto_approval,
        settings.managed_rules == "checked",
        str(Path.home()),
        settings.terminal_auto_approve_defaults == "vscode",
        look=Beside(),
        split=split,
    )


def managed_settings(settings: Settings) -> Mapping[str, Any]:
    """What the operator manages, as backends are handed it (`ChatStart.managed_settings`)."""
    permissions = settings.managed_settings_permissions
    return {"permissions": permissions} if permissions else {}


def _chat_state(sessions: SessionsService, uri: str) -> State | None:
    """The state of the chat of this URI, whether its session was asleep or not (ChatState)."""
    try:
        chat = sessions.find_chat(uri)
    except RpcError:  # its session cannot be read back, which is in the log
        return None
    return None if chat is None else chat.state


def attachments_folder(settings: Settings, ids: Callable[[], str]) -> AttachmentsFolder | None:
    """Where what comes with messages is kept: as long as the sessions it came to are."""
    if settings.data_directory is None:
        return None
    kept = settings.data_directory / "attachments" if settings.sessions == "file" else None
    return AttachmentsFolder(kept, ids)


def host_record(settings: Settings) -> IHostRecord | None:
    """Where what is decided for more than one session is kept; None for this process alone.

    Raises `StoreFailure` for a file that is none of ours.
    """
    if settings.data_directory is None or settings.sessions != "file":
        return None
    return FileRecord(settings.data_directory / "host.json")


def policy(settings: Settings) -> Policy:
    """Who the listener lets in."""
    return Policy(
        token=settings.connection_token,
        hosts=frozenset(settings.allowed_hosts),
        origins=frozenset(settings.allowed_origins),
    )
