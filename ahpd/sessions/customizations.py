"""A session's customizations: what its backend found, decided about, and its clients' plugins.

The list a session shows is made anew from three things: what its agent lists until one of
its conversations says what it loaded; what people decided, laid over it; and behind that the
plugins of the clients that are in the session. It is said where it moved. A client's plugin
is shown as the client describes it.

Sources: AHP.txt, `session/customizationsChanged`, `session/customizationToggled`,
`session/customizationUpdated`, `session/customizationRemoved` and "Customizations are
containers".
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, cast

from twisted.logger import Logger

from ahpd.channels.envelope import Origin
from ahpd.chats.chat import Chat
from ahpd.chats.owner import Surroundings
from ahpd.interfaces import AgentFailure, IAgent, ICustomizedChat, Refusal, StoreFailure
from ahpd.protocol import Action, State
from ahpd.sessions.customization_lists import (
    BY_SCOPE,
    MOVES_BY_ITSELF,
    actions,
    as_held,
    every,
    find,
    is_on,
    plugins,
    put_back,
    switched,
    with_fields,
    with_one,
)
from ahpd.sessions.decisions import FACT, Decisions, in_force, own_part

log = Logger()


class Customized(Protocol):
    """A session, as its customizations are seen."""

    uri: str
    default_chat: str
    chats: dict[str, Chat]
    found: Sequence[Mapping[str, Any]] | None
    """What its agent or a conversation of it listed last; None where that is not known."""
    decided: dict[str, Sequence[Mapping[str, Any]]]
    """Its own decisions, by the customization's id."""

    @property
    def agent(self) -> IAgent:
        """The agent its chats run on."""

    @property
    def state(self) -> State:
        """The session's state (schema: SessionState)."""

    @property
    def working_directories(self) -> tuple[str, ...]:
        """`file:` URIs, the primary first."""

    def say(self, action: Action) -> None:
        """Say an action of the host's own on the session's channel."""


class Customizations:
    """The customizations of every session. `sessions` are those whose state is held."""

    def __init__(
        self,
        world: Surroundings,
        decisions: Decisions,
        sessions: Callable[[], Iterable[Customized]],
    ) -> None:
        self._world = world
        self._decisions = decisions
        self._sessions = sessions

    # -- what there is --------------------------------------------------------------------

    def listed(
        self,
        found: Sequence[Mapping[str, Any]],
        folders: Sequence[str],
        clients: Sequence[Mapping[str, Any]],
        own: Mapping[str, Any],
    ) -> list[State]:
        """The list of a session in `folders` with `clients`; `own` its decisions by id."""
        entries = [dict(entry) for entry in found]
        for client in clients:
            entries.extend(plugins(client))
        seen: set[str] = set()
        kept = []
        for entry in entries:
            if entry["id"] not in seen:
                seen.add(entry["id"])
                kept.append(self._decided(entry, folders, own))
        return kept

    def _decided(self, entry: State, folders: Sequence[str], own: Mapping[str, Any]) -> State:
        """`entry` and what is in it with the decisions laid over."""
        decided = self._decisions.of(entry["id"], folders, own.get(entry["id"]) or ())
        if decided and entry["type"] in BY_SCOPE:
            entry["enablement"] = decided
        elif decided:
            entry["enabled"] = in_force(decided)
        if entry.get("children"):
            entry["children"] = [
                self._decided(dict(child), folders, own) for child in entry["children"]
            ]
        return entry

    def woken(self, session: Customized) -> None:
        """A session is held, as it was when it was let go of; what is decided may be other now."""
        held = session.state.get("customizations")
        if session.found is None and held:
            session.found = self._standing(_found(session))
        self.refresh(session)

    def _standing(self, entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """`entries` without the decisions for several sessions that were taken back."""
        standing: list[Mapping[str, Any]] = []
        for entry in entries:
            kept = dict(entry)
            held = entry.get("enablement")
            left = self._decisions.standing(entry["id"], held) if held else held
            if left != held:
                kept.pop("enablement")
                kept.update({"enablement": left} if left else {})
            if entry.get("children"):
                kept["children"] = self._standing(entry["children"])
            standing.append(kept)
        return standing

    def _list_of(self, session: Customized) -> list[State]:
        state = session.state
        return self.listed(
            _found(session), session.working_directories, state["activeClients"], session.decided
        )

    # -- what is said -----------------------------------------------------------------------

    def refresh(self, session: Customized) -> None:
        """Say the session's list where it is another than the one last said."""
        state = session.state
        held = state.get("customizations")
        if not (held or session.found or state["activeClients"]):
            return  # nothing is listed, and nothing was
        listed = as_held(self._list_of(session), held or ())
        if listed == (held or []):
            return
        for action in actions(held or [], listed):
            session.say(action)

    def found(self, session: Customized, chat: Chat, found: Sequence[Mapping[str, Any]]) -> None:
        """A conversation of the session says what it loaded, all of it."""
        session.found = list(found)
        self.refresh(session)
        shown = {entry["id"]: entry for entry in every(session.state.get("customizations") or ())}
        for entry in every(found):
            if is_on(entry) and not is_on(shown.get(entry["id"], entry)):
                self._tell(session, (chat,), entry["id"], False)

    def servers_moved(self, session: Customized) -> None:
        """A server of the session is in another state: so it is in what was found, too."""
        servers = [
            entry
            for entry in every(session.state.get("customizations") or ())
            if entry["type"] == "mcpServer"
        ]
        for server in servers:
            moved = {name: server[name] for name in MOVES_BY_ITSELF if name in server}
            session.found = with_one(_found(session), server["id"], partial(with_fields, moved))

    # -- what people decide -------------------------------------------------------------------

    def toggled(self, session: Customized, action: Action, origin: Origin) -> None:
        """`session/customizationToggled`: kept, said as it was sent, and then what it switches.

        Raises `Refusal` where it could not be written down.
        """
        identifier, enablement = action["id"], action["enablement"]
        before = [(held, _switches(held)) for held in self._sessions()]
        entry = find(session.state.get("customizations") or (), identifier)
        by_scope = entry is not None and entry["type"] in BY_SCOPE
        reached = False
        if entry is not None:
            try:
                if by_scope:
                    folders = session.working_directories
                    reached = self._decisions.take(identifier, enablement, folders)
                own = own_part(enablement) if by_scope else list(enablement)
                self._keep(session, identifier, own)
            except StoreFailure as failed:
                raise Refusal(f"The decision could not be kept: {failed}") from None
        self._world.store.dispatch(session.uri, action, origin)
        if entry is None:
            return
        session.found = with_one(
            _found(session), identifier, lambda held: switched(held, enablement)
        )
        if not (by_scope or _is_a_clients(session, identifier) or _switching(session)):
            self._switch_back(session, entry)
            return
        for held, switches in before:
            if held is not session and reached:
                held.found = self._standing(_found(held))
            if held is session or reached:
                self.refresh(held)
                self._tell_moved(held, switches, None if held is session else identifier)

    def _keep(self, session: Customized, identifier: str, own: list[Mapping[str, Any]]) -> None:
        if own == list(session.decided.get(identifier) or ()):
            return
        self._world.note(session.uri, {FACT: {identifier: own or None}})
        session.decided.pop(identifier, None)
        if own:
            session.decided[identifier] = own

    def _tell_moved(
        self, session: Customized, before: Mapping[str, bool], only: str | None
    ) -> None:
        after = _switches(session)
        for identifier, enabled in after.items():
            moved = identifier in before and before[identifier] != enabled
            if moved and only in (None, identifier):
                self._tell(session, tuple(session.chats.values()), identifier, enabled)

    def _tell(
        self, session: Customized, chats: Sequence[Chat], identifier: str, enabled: bool
    ) -> None:
        """Have the conversations that are open switch it, but for what a client brought."""
        if not _switching(session) or _is_a_clients(session, identifier):
            return
        for chat in chats:
            backend = chat.conversation.backend
            # Its session may be on another agent by now than the one it is open on.
            if backend is not None and chat.conversation.agent.abilities.customizations:
                work = self._switch(
                    session, chat, cast("ICustomizedChat", backend), identifier, enabled
                )
                self._world.tasks.spawn(f"switching {identifier} of {chat.uri}", work)

    async def _switch(
        self,
        session: Customized,
        chat: Chat,
        backend: ICustomizedChat,
        identifier: str,
        enabled: bool,
    ) -> None:
        try:
            await backend.toggle(identifier, enabled)
        except AgentFailure as failed:
            log.info(
                "the agent of {chat} did not switch {id}: {words}",
                chat=chat.uri,
                id=identifier,
                words=failed.message,
            )
            if not self._world.store.is_open(session.uri):
                return
            entry = find(session.state.get("customizations") or (), identifier)
            # A plugin or server takes it when it is next loaded; anything else has no such time.
            if entry is not None and entry["type"] not in BY_SCOPE and is_on(entry) == enabled:
                self._switch_back(session, {**entry, "enabled": not enabled})

    def _switch_back(self, session: Customized, was: Mapping[str, Any]) -> None:
        """The switch was not made: nothing is kept of it, and the list goes out as it was."""
        identifier = was["id"]
        try:
            self._keep(session, identifier, [])
        except StoreFailure as failed:
            log.error("a switch of {id} stays kept: {words}", id=identifier, words=str(failed))
        session.found = with_one(_found(session), identifier, lambda held: put_back(held, was))
        listed = as_held(self._list_of(session), session.state.get("customizations") or ())
        session.say({"type": "session/customizationsChanged", "customizations": listed})


def _found(session: Customized) -> Sequence[Mapping[str, Any]]:
    if session.found is not None:
        return session.found
    held: Sequence[Mapping[str, Any]] = session.state.get("customizations") or ()
    return [entry for entry in held if "clientId" not in entry]


def _is_a_clients(session: Customized, identifier: str) -> bool:
    """Whether a client of the session brought it: no backend has heard of it."""
    held: Sequence[Mapping[str, Any]] = session.state.get("customizations") or ()
    brought = [entry for entry in held if "clientId" in entry]
    return find(brought, identifier) is not None


def _switching(session: Customized) -> bool:
    return session.agent.abilities.customizations


def _switches(session: Customized) -> dict[str, bool]:
    held = session.state.get("customizations") or ()
    return {entry["id"]: is_on(entry) for entry in every(held)}
