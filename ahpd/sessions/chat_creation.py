"""`createChat`: a chat beside the ones a session has, plain or made out of another.

It is checked whole before anything is made, and may be made a while later: what it is made out
of is what that was when it was asked for. Sources: AHP.txt, `createChat`; CHATS.txt, "A chat made
out of another"; PLUGINS.txt, "Starting a chat on a backend".
"""

from collections.abc import Mapping
from typing import Any

import attrs

from ahpd.chats.chat import Chat
from ahpd.chats.owner import Surroundings
from ahpd.interfaces import IPausedAgent
from ahpd.protocol import State
from ahpd.protocol.errors import (
    ALREADY_EXISTS,
    PROVIDER_NOT_FOUND,
    RpcError,
    invalid_params,
    session_not_found,
)
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


@attrs.frozen(kw_only=True)
class RunsOn:
    """What a chat runs on that is not its session's: another agent, values of its own."""

    provider: str | None = None
    """The agent it is on for good; None for its session's own."""
    config: Mapping[str, Any] = attrs.field(factory=dict)
    """The values it sets for itself, checked."""


@attrs.frozen(kw_only=True)
class Planned:
    """A chat that may be made: everything about it was checked."""

    session: Session
    params: Mapping[str, Any]
    """Schema: CreateChatParams."""
    state: State | None
    """What it begins with; None for the default chat that was asked for again."""
    made: Made

    @property
    def is_new(self) -> bool:
        """Whether it begins a conversation: a fork goes on with one."""
        return self.state is not None and self.made.origin["kind"] != FORK


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
        self.make(self.plan(params))

    def plan(self, params: Mapping[str, Any], runs_on: RunsOn | None = None) -> Planned:
        """Check a chat that is asked for. Raises what `create` does."""
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
        if chat is not None:
            self._check_again(chat, session, kind, message)
            made = Made(origin={"kind": "user"})
            return Planned(session=session, params=params, state=None, made=made)
        return self._planned(session, params, kind, runs_on or RunsOn())

    def make(self, planned: Planned, preamble: str | None = None) -> Chat:
        """Make a chat that was planned, with its first message started where it has one.

        `preamble` is told ahead of that, and ahead of what a side chat is told. Raises as
        `create` does where what was planned cannot be any more.
        """
        session, params = planned.session, planned.params
        if self._registry.find(session.uri) is not session:
            raise session_not_found(session.uri)
        message = params.get("initialMessage")
        if planned.state is None:
            chat = self._registry.find_chat(params["chat"])
            if chat is None:
                raise session_not_found(session.uri)
        else:
            if self._registry.find_chat(params["chat"]) is not None:
                raise RpcError(ALREADY_EXISTS, f"Chat already exists: {params['chat']}")
            chat = self._made(session, planned.state, planned.made, preamble)
        if message is not None:
            chat.start_message(message)
        return chat

    def _check_again(
        self, chat: Chat, session: Session, kind: str | None, message: State | None
    ) -> None:
        """The default chat may be asked for again, and take a first message."""
        if chat.uri != session.default_chat or (kind == FORK and message is not None):
            raise RpcError(ALREADY_EXISTS, f"Chat already exists: {chat.uri}")

    def _planned(
        self, session: Session, params: Mapping[str, Any], kind: str | None, runs_on: RunsOn
    ) -> Planned:
        if runs_on.provider is None and IPausedAgent.providedBy(session.agent):
            raise RpcError(PROVIDER_NOT_FOUND, session.agent.refusal)
        uri = checked_chat_uri(params["chat"], session.uri, session.default_chat)
        title = checked_title(params.get("title"))
        if kind is None:
            made = Made(
                origin={"kind": "user"}, provider=runs_on.provider, config=runs_on.config or None
            )
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
        if made.provider is not None:
            state["provider"] = made.provider
        return Planned(session=session, params=params, state=state, made=made)

    def _made(self, session: Session, state: State, made: Made, preamble: str | None) -> Chat:
        facts = made.facts
        if preamble is not None:
            told = [preamble, *filter(None, [facts.get("preamble")])]
            facts = {**facts, "preamble": "\n\n".join(told)}
        if moves_enabled(self._world.store) and is_movable(session.agent, session.state, state):
            state["movable"] = True
        chat = self._registry.add_chat(session, state, facts)
        if self._world.left is not None and names_terminals(made.turns):
            self._world.left.share(made.origin["chat"], chat.uri)
        return chat

    def _made_of(self, session: Session, source: State, kind: str) -> Made:
        chat = self._registry.find_chat(source["chat"])
        check_offered(session.agent if chat is None else chat.agent, kind)
        if chat is None or chat.owner is not session:
            raise invalid_params(f"source.chat: {source['chat']} is no chat of {session.uri}")
        if kind == FORK:
            made = fork_of(chat, source["turnId"], _shown_title(session, chat))
        else:
            made = side_chat_of(chat, source)
        if chat.provider is None:
            return made
        # What a chat of another backend says is that backend's alone to go on with.
        own = chat.state.get("config")
        return attrs.evolve(made, provider=chat.provider, config=None if own is None else dict(own))


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
