"""The connections' side: which channels there are, which commands, who decides on actions."""

from collections import ChainMap
from collections.abc import MutableMapping
from typing import cast

from ahpd import __version__
from ahpd.app.beside import Beside
from ahpd.app.built import Domains
from ahpd.app.domains import make_completer
from ahpd.app.ground import Ground
from ahpd.channels.directory import ChannelDirectory
from ahpd.chats.commands import PREFIX
from ahpd.commands.artifacts import OFFERED as ARTIFACTS_REMOVED
from ahpd.commands.artifacts import artifact_commands
from ahpd.commands.authentication import authentication_commands
from ahpd.commands.automations import automation_commands
from ahpd.commands.chats import chat_commands
from ahpd.commands.completions import completion_commands, config_commands
from ahpd.commands.dispatch import Dispatcher
from ahpd.commands.handshake import Handshake
from ahpd.commands.resources import resource_commands
from ahpd.commands.sessions import session_commands
from ahpd.commands.subscriptions import Subscriptions
from ahpd.commands.terminals import terminal_commands
from ahpd.completions.tokens import TRIGGERS
from ahpd.extensions.triggers import TriggerTypes
from ahpd.interfaces import Command
from ahpd.peers.hub import PeerHub
from ahpd.peers.older_windows import CHAT_URIS
from ahpd.peers.peer import Peer
from ahpd.protocol import State
from ahpd.protocol.uris import ChannelKind

NAME = "ahpd"


def serve(ground: Ground, built: Domains, beside: Beside, triggers: TriggerTypes) -> PeerHub:
    """The connections' side: which channels there are, which commands, who decides on actions."""
    root, sessions, terminals = built.root, built.sessions, built.terminals
    parts, credentials, agents = built.resources, built.credentials, built.agents.agents
    store, clients = ground.store, ground.clients
    directory = ChannelDirectory(store)
    dispatcher = Dispatcher(store, directory)
    _register(directory, dispatcher, built)
    directory.register(ChannelKind.EXTENSION, beside.extensions)
    dispatcher.register(ChannelKind.CHAT, sessions.chat_actions)
    presence, addresses = sessions.presence, sessions.addresses
    subscriptions = Subscriptions(store, directory, presence, beside.extensions)

    def describe() -> State:
        return {
            "serverInfo": {"name": NAME, "version": __version__, "title": "ahpd"},
            "defaultDirectory": ground.settings.default_directory.as_uri(),
            "completionTriggerCharacters": list(TRIGGERS),
            # A window names a session's next chat as the session's default one is named.
            "_meta": {CHAT_URIS: True, ARTIFACTS_REMOVED: True, **beside.described.meta()},
            **({} if terminals is None else {"terminalCommandPrefix": PREFIX}),
        }

    handshake = Handshake(store, directory, subscriptions, clients, describe, presence, addresses)

    def gone(peer: Peer) -> None:
        credentials.gone(peer.connection_id)
        if peer.record is not None:
            presence.gone(peer.record.client_id)

    hub = PeerHub(ground.scheduler, store, clients, root.client_queue_bytes, gone)
    hub.attendance = beside.clients
    own = {
        **handshake.commands(),
        **subscriptions.commands(),
        **authentication_commands(credentials),
        **session_commands(sessions, credentials),
        **chat_commands(sessions),
        **artifact_commands(sessions, built.artifacts),
        **completion_commands(make_completer(ground), store, directory, sessions),
        **({} if terminals is None else terminal_commands(terminals)),
        **resource_commands(parts.resources, parts.watches, ground.scheduler),
        **config_commands(sessions, agents, ground.scheduler),
        **automation_commands(triggers),
    }
    hub.serve(
        # The protocol's names first: what is served beside it begins with `x-`.
        ChainMap(own, cast("MutableMapping[str, Command]", beside.extensions.commands)),
        {
            **subscriptions.notifications(),
            **dispatcher.notifications(),
            **parts.clients.notifications(),
        },
    )
    return hub


def _register(directory: ChannelDirectory, dispatcher: Dispatcher, built: Domains) -> None:
    """Who knows the channels of each kind, and who decides on what clients send to them."""
    sessions, terminals = built.sessions, built.terminals
    dispatcher.register(ChannelKind.ROOT, built.root)
    for kind, handler in (
        (ChannelKind.SESSION, sessions.session_actions),
        (ChannelKind.ANNOTATIONS, sessions.annotation_actions),
    ):
        directory.register(kind, sessions.channels)
        dispatcher.register(kind, handler)
    directory.register(ChannelKind.CHAT, sessions.channels)
    if terminals is not None:
        directory.register(ChannelKind.TERMINAL, terminals.channels)
        dispatcher.register(ChannelKind.TERMINAL, terminals.actions)
    directory.register(ChannelKind.RESOURCE_WATCH, built.resources.watches.channels)
