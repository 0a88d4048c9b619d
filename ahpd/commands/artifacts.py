"""What agents recorded on a session, as a window takes it off: `vscode/removeSessionArtifact`.

Source: AHP.txt, of that name.
"""

from collections.abc import Mapping
from typing import Final

from ahpd.interfaces import Command, ICaller
from ahpd.protocol import State
from ahpd.protocol.errors import RpcError, invalid_params, session_not_found
from ahpd.protocol.uris import ChannelKind, canonical, kind_of
from ahpd.sessions.service import SessionsService
from ahpd.sessions.session_artifacts import ArtifactsKept

REMOVE: Final = "vscode/removeSessionArtifact"
#: The key of the handshake's `_meta` that says so.
OFFERED: Final = "vscode.removeSessionArtifact"


def artifact_commands(service: SessionsService, kept: ArtifactsKept) -> Mapping[str, Command]:
    """The command by its method. A session that is asleep is woken for it."""

    async def remove(caller: ICaller, params: State) -> None:
        uri, artifact = _named(params)
        if not caller.sees(uri):
            raise session_not_found(uri)
        try:
            waiting = service.channels.waited(uri)
            if waiting is not None:
                await waiting
            session = service.find(uri)
        except RpcError:  # it cannot be read back, which is in the log
            session = None
        if session is None:
            raise session_not_found(uri)
        await kept.remove(session.uri, artifact)

    return {REMOVE: remove}


def _named(params: State) -> tuple[str, str]:
    """The session and the artifact. Raises `RpcError` -32602."""
    uri, artifact = params.get("session"), params.get("artifactId")
    if not isinstance(uri, str) or kind_of(canonical(uri)) is not ChannelKind.SESSION:
        raise invalid_params(f"session: found {uri!r}, expected the URI of a session")
    if not isinstance(artifact, str) or not artifact:
        raise invalid_params(f"artifactId: found {artifact!r}, expected an id")
    return uri, artifact
