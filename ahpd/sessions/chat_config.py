"""What one chat of a session is configured with, on the session's backend or on another."""

from collections.abc import Mapping
from typing import Any, Protocol

from ahpd.chats.from_plugins import FromPlugins
from ahpd.interfaces import IAgent
from ahpd.protocol import Action, State
from ahpd.sessions.config import agents_own, chat_change_refused, no_agents, own_values


class Configured(Protocol):
    """A chat, as far as it has a configuration of its own."""

    provider: str | None

    @property
    def state(self) -> State:
        """Schema: ChatState."""

    @property
    def agent(self) -> IAgent:
        """The agent it runs on."""


def values_of(
    chat: Configured, session: Mapping[str, Any], from_plugins: FromPlugins
) -> Mapping[str, Any]:
    """The values in force for a chat: its session's, with those it has set laid over.

    A chat of another backend has of its session's those alone that are no agent's.
    """
    if chat.provider is not None:
        session = no_agents(session, from_plugins.settings())
    return {**session, **own_values(chat.state)}


def refused(
    chat: Configured,
    config: State | None,
    folder: str | None,
    action: Action,
    from_plugins: FromPlugins,
) -> str | None:
    """Why a `chat/configChanged` of a chat is not taken, in words; None when it is.

    `config` is its session's (schema: SessionConfigState). A chat of another backend is held
    against the schema of that.
    """
    if chat.provider is not None:
        values = {} if config is None else config["values"]
        held = values_of(chat, values, from_plugins)
        config = {"schema": agents_own(chat.agent, folder, held)}
    return chat_change_refused(config, own_values(chat.state), action)
