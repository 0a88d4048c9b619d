"""Completions: `completions`, `sessionConfigCompletions`, and `resolveSessionConfig` with it."""

from collections.abc import Mapping, Sequence
from typing import Any

from twisted.internet.interfaces import IReactorTime

from ahpd.channels.directory import ChannelDirectory
from ahpd.channels.store import ChannelStore
from ahpd.completions.completer import Completer, Place
from ahpd.completions.config import completed, seeded
from ahpd.completions.contributed import answered, seeded_keys
from ahpd.interfaces import Command, IAgent, ICaller, Owned
from ahpd.protocol import State
from ahpd.protocol.uris import ChannelKind, canonical, kind_of
from ahpd.sessions.config import agents_own
from ahpd.sessions.creation import chosen_agent
from ahpd.sessions.service import SessionsService


def completion_commands(
    completer: Completer, store: ChannelStore, directory: ChannelDirectory, service: SessionsService
) -> Mapping[str, Command]:
    """`completions`. A session or chat that is asleep is woken for it."""

    async def completions(caller: ICaller, params: State) -> State:
        channel: str = params["channel"]
        name = directory.resolve(channel)
        if name is None:
            raise directory.not_found(channel)
        waking = directory.ready(name)
        if waking is not None:
            await waking
        place = place_of(store, service, canonical(channel))
        if place is None:
            return {"items": []}
        return {"items": await completer.items(params["text"], params["offset"], place)}

    return {"completions": completions}


def place_of(store: ChannelStore, service: SessionsService, channel: str) -> Place | None:
    """Where a message is typed that names `channel`; None for one nobody types into."""
    session = chat = None
    if kind_of(channel) is ChannelKind.CHAT:
        chat = service.find_chat(channel)
        session = None if chat is None else service.find(chat.owner.uri)
    elif kind_of(channel) is ChannelKind.SESSION:
        session = service.find(channel)
    if session is None:
        return None
    agent = session.agent

    def agent_wide() -> Sequence[Mapping[str, Any]]:
        offered: Sequence[Mapping[str, Any]] = agent.info().get("customizations") or ()
        return offered

    return Place(
        session=store.state(session.uri),
        chat=session.default_chat if chat is None else chat.uri,
        state_of=store.find,
        agent_wide=agent_wide,
    )


def config_commands(
    service: SessionsService, agents: Mapping[str, IAgent], clock: IReactorTime
) -> Mapping[str, Command]:
    """`sessionConfigCompletions`, and `resolveSessionConfig` with the first values in it.

    A key that plugins contribute is answered by its plugin, unless the agent declares it itself.
    """

    def contributed(agent: IAgent, params: State) -> Mapping[str, Owned]:
        folder, given = params.get("workingDirectory"), params.get("config") or {}
        return service.keys.answered(agents_own(agent, folder, given)["properties"])

    async def session_config_completions(caller: ICaller, params: State) -> State:
        agent = chosen_agent(agents, params.get("provider"), "")
        owned = contributed(agent, params).get(params["property"])
        if owned is not None:
            return {"items": await answered(clock, owned, params)}
        return {"items": await completed(agent, params)}

    async def resolve_session_config(caller: ICaller, params: State) -> State:
        form = service.resolve_config(params, caller.locale)
        agent = chosen_agent(agents, params.get("provider"), "")
        keys = contributed(agent, params)
        form = await seeded_keys(clock, keys, params, form)
        return await seeded(clock, agent, params, form, keys)

    return {
        "sessionConfigCompletions": session_config_completions,
        "resolveSessionConfig": resolve_session_config,
    }
