"""`createSession` and `resolveSessionConfig`: what a new session is made of."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from twisted.logger import Logger

from ahpd.chats.owner import Surroundings
from ahpd.chats.rows import summary_of
from ahpd.interfaces import IAgent
from ahpd.protocol import State
from ahpd.protocol.errors import SESSION_ALREADY_EXISTS, RpcError, internal_error
from ahpd.protocol.uris import session_id
from ahpd.schemas import gaps
from ahpd.sessions.company import SessionCompany
from ahpd.sessions.config import HOST_KEYS, Added, chosen, resolved
from ahpd.sessions.creation import (
    checked_active_client,
    checked_directories,
    checked_session_uri,
    chosen_agent,
    mint_default_chat,
    new_chat_state,
    new_session_state,
)
from ahpd.sessions.in_force import log_wrong_connectors
from ahpd.sessions.registry import SessionRegistry
from ahpd.sessions.session import Session

log = Logger()

#: How many lines the log has of what one agent's settings leave unnamed.
_MOST_GAPS: Final = 100

#: Raises where whoever asks may not use the agent.
Admit = Callable[[IAgent], None]


def anybody(agent: IAgent) -> None:
    """Every agent may be used."""


class SessionMaking:
    """Makes the sessions of `registry`. `company` is what they have in common."""

    def __init__(
        self, world: Surroundings, registry: SessionRegistry, company: Callable[[], SessionCompany]
    ) -> None:
        self._world = world
        self._registry = registry
        self._company = company
        self._schemas: dict[str, State] = {}
        self._gaps: dict[str, set[str]] = {}
        """What was logged of the settings of each agent."""

    def create(
        self,
        params: Mapping[str, Any],
        client_id: str,
        derived_chat: bool = False,
        admit: Admit = anybody,
    ) -> None:
        """See `SessionsService.create`."""
        uri = checked_session_uri(params["channel"])
        client = params.get("activeClient")
        checked_active_client(client, client_id)
        provider, catalogue = params.get("provider"), self._registry.catalogue
        held = catalogue.entry(session_id(uri))
        if held is not None:
            if held.uri != uri or provider not in (None, held.provider):
                raise RpcError(
                    SESSION_ALREADY_EXISTS,
                    f"Session already exists: {held.uri} ({held.provider})",
                )
            return
        if catalogue.closing:
            raise internal_error("The host is shutting down and makes no new session.")
        agent = chosen_agent(self._registry.agents, provider, uri)
        admit(agent)
        directories = checked_directories(agent, params.get("workingDirectories") or ())
        added = self._world.from_plugins.settings()
        given = params.get("config") or {}
        config = chosen(agent, next(iter(directories), None), given, added)
        self._share_schema(agent, config, added)
        chat = new_chat_state(self._world, mint_default_chat(self._world, uri, derived_chat))
        row = summary_of(chat)
        meta = params.get("_meta")
        state = new_session_state(agent, row, directories, config, client, meta)
        self._open(agent, uri, state, chat)
        log_wrong_connectors(uri, config["values"])
        told = self._world.happenings.told
        if told is not None:
            told.session_began(uri, agent.provider, client_id or None)

    def _open(self, agent: IAgent, uri: str, state: State, chat: State) -> None:
        found = agent.info().get("customizations") or []
        self._company().seed(uri, state, found)
        self._world.from_plugins.seed(uri, state)
        session = Session(
            self._world, self._registry.catalogue, agent, state, uri, self._world.stamp()
        )
        session.found = found
        self._registry.hold(session, [chat])

    def _share_schema(self, agent: IAgent, config: State, added: Added) -> None:
        """Hold one copy of a schema that thousands of sessions have alike."""
        last = self._schemas.get(agent.provider)
        if last == config["schema"]:
            config["schema"] = last
        else:
            self._schemas[agent.provider] = config["schema"]
            self._say_gaps(agent, config["schema"], added)

    def resolve(self, params: Mapping[str, Any], locale: str | None = None) -> State:
        """`resolveSessionConfig` (schema: ResolveSessionConfigResult), for a reader of `locale`.

        A session's own schema is one for all its readers, and stays in English.
        """
        agent = chosen_agent(self._registry.agents, params.get("provider"), "")
        folder, given = params.get("workingDirectory"), params.get("config") or {}
        plugins = self._world.from_plugins
        added = plugins.in_language(None, plugins.settings(), locale)
        form = resolved(
            agent,
            folder,
            given,
            added,
            lambda own: plugins.in_language(agent.provider, own, locale),
        )
        self._say_gaps(agent, form["schema"], added)
        return form

    def _say_gaps(self, agent: IAgent, schema: State, added: Added) -> None:
        """Log once what of an agent's own settings names no value, which clients draw empty."""
        said = self._gaps.setdefault(agent.provider, set())
        own = {
            key: declared
            for key, declared in schema["properties"].items()
            if declared is not added.get(key) and key not in HOST_KEYS
        }
        for gap in gaps({"type": "object", "properties": own}):
            if gap not in said and len(said) < _MOST_GAPS:
                said.add(gap)
                log.warn(
                    "the settings the agent {agent} has for a session: {gap}",
                    agent=agent.provider,
                    gap=gap,
                )
