"""`createChat`: a chat beside the ones a session has, plain or made out of another.

Sources: AHP.txt, `createChat`; CHATS.txt, "A chat made out of another".
"""

from collections.abc import Mapping
from typing import Any

from ahpd.chats.chat import Chat
from ahpd.chats.owner import Surroundings
from ahpd.protocol import State
from ahpd.protocol.errors import ALREADY_EXISTS, RpcError, invalid_params, session_not_found
from ahpd.sessions.creation import checked_chat_uri, checked_title, new_chat_state
from ahpd.sessions.forks import (
    FORK,
    Made,
    check_offered,
    checked_kind,
    fork_of,
    names_terminals,
    side_chat_of,
)
from ahpd.sessions.movable import is_movable, moves_enabled
from ahpd.sessions.registry import SessionRegistry
from ahpd.sessions.session import Session


class ChatCreation:
    """Makes the chats clients ask for."""

    def __init__(self, world: Surroundings, registry: SessionRegistry) -> None:
        self._world = world
        self._registry = registry

    def create(self, params: Mapping[str, Any]) -> None:
        """`createChat` (schema: CreateChatParams). Its first message has started when this returns.

        Raises `RpcError`: -32001 for an unknown session, -32010 for a chat that is there,
        -32602 for the rest, and nothing is made then.
        """
        session = self._registry.find(params["channel"])
        if session is None:
            raise session_not_found(params["channel"])
        source = params.get("source")
        kind = None if source is None else checked_kind(source)
        if params.get("provider") is not None:
            raise invalid_params("provider: a chat runs on its session's agent; leave it out")
        message = params.get("initialMessage")
        if message is not None and message["origin"]["kind"] != "user":
            raise invalid_params(
                f"initialMessage.origin.kind: found {message['origin']['kind']!r}, expected 'user'"
            )
        chat = self._registry.find_chat(params["chat"])
        if chat is None:
            chat = self._make(session, params, kind)
        elif chat.uri != session.default_chat or (kind == FORK and message is not None):
            raise RpcError(ALREADY_EXISTS, f"Chat already exists: {params['chat']}")
        if message is not None:
            chat.start_message(message)

    def _make(self, session: Session, params: Mapping[str, Any], kind: str | None) -> Chat:
        uri = checked_chat_uri(params["chat"], session.uri, session.default_chat)
        title = checked_title(params.get("title"))
        if kind is None:
            made = Made(origin={"kind": "user"})
        else:
            made = self._made_of(session, params["source"], kind)
        # A fork is made from its source alone, whatever folders it is sent.
        directories = made.directories
        if kind != FORK:
            directories = _checked_subset(session, params.get("workingDirectories"))
        state = new_chat_state(self._world, uri, title or made.title, directories, read=True)
        state["origin"] = made.origin
        state["turns"] = list(made.turns)
        if made.config is not None:
            state["config"] = dict(made.config)
        if moves_enabled(self._world.store) and is_movable(session.agent, session.state, state):
            state["movable"] = True
        chat = self._registry.add_chat(session, state, made.facts)
        if self._world.left is not None and names_terminals(made.turns):
            self._world.left.share(made.origin["chat"], chat.uri)
        return chat

    def _made_of(self, session: Session, source: State, kind: str) -> Made:
        check_offered(session.agent, kind)
        chat = self._registry.find_chat(source["chat"])
        if chat is None or chat.owner is not session:
            raise invalid_params(f"source.chat: {source['chat']} is no chat of {session.uri}")
        if kind == FORK:
            return fork_of(chat, source["turnId"], _shown_title(session, chat))
        return side_chat_of(chat, source)


def _shown_title(session: Session, chat: Chat) -> str:
    """A chat's title as clients read it: a default chat's empty one is its session's."""
    title: str = chat.state["title"]
    if not title and chat.uri == session.default_chat:
        title = session.state["title"]
    return title


def _checked_subset(session: Session, directories: list[str] | None) -> list[str] | None:
    """The folders a chat works in, each one of its session's; None for all of those."""
    held = session.working_directories
    for index, directory in enumerate(directories or ()):
        if directory not in held:
            raise invalid_params(
                f"workingDirectories[{index}]: {directory!r} is no folder of the session"
            )
    return directories
