"""What a session's conversations run on: its configuration and its folders.

A change of either reaches the conversations that are open once it was said, and only where
it is a change: a value set to what it is and a folder that is held already start nothing.

Source: AHP.txt, `session/configChanged`, `session/workingDirectorySet` and "Every accepted
action goes to every client of its channel".
"""

from collections.abc import Mapping
from typing import Any, Final, Protocol

import attrs
from twisted.logger import Logger

from ahpd.chats.chat import Chat
from ahpd.protocol import State
from ahpd.protocol.connector_aliases import KEY as CONNECTORS
from ahpd.protocol.connector_aliases import wrong_aliases
from ahpd.protocol.errors import shortened
from ahpd.sessions.config import Added, hand_on, moved_keys
from ahpd.sessions.folders import FOLDER_ACTIONS

log = Logger()

#: The actions that move it.
IN_FORCE: Final = FOLDER_ACTIONS | {"session/configChanged"}


@attrs.frozen
class InForce:
    """What the conversations of a session were told of last."""

    values: Mapping[str, Any]
    folders: tuple[str, ...]


class Running(Protocol):
    """A session, as what it runs on is seen."""

    uri: str
    chats: dict[str, Chat]

    @property
    def state(self) -> State:
        """The session's state (schema: SessionState)."""


def in_force_of(state: State) -> InForce:
    """What a session of this state (schema: SessionState) runs on."""
    config: State = state.get("config") or {"values": {}}
    return InForce(config["values"], tuple(state.get("workingDirectories") or ()))


def handed_on(session: Running, before: InForce, added: Added) -> InForce:
    """Tell the conversations what moved since `before`; what is in force now.

    `added` are the settings that are no agent's, by key.
    """
    now = in_force_of(session.state)
    keys = moved_keys(before.values, now.values)
    if keys:
        hand_on(session.chats.values(), keys, added)
    if CONNECTORS in keys:
        log_wrong_connectors(session.uri, now.values)
    if now.folders != before.folders:
        for chat in tuple(session.chats.values()):
            if "workingDirectories" not in chat.state:
                chat.refresh_backend()
    return now


def log_wrong_connectors(session: str, values: Mapping[str, Any]) -> None:
    """One line for a session whose values name connectors wrongly: what is wrong is none."""
    wrong = list(wrong_aliases(values[CONNECTORS])) if CONNECTORS in values else []
    if wrong:
        words = shortened("; ".join(wrong))
        log.warn("{session} does without connectors: {words}", session=session, words=words)
