"""What `ahp-root://` holds, and the one action a client may send there."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from zope.interface import implementer

from ahpd.channels.envelope import Envelope, Origin
from ahpd.channels.store import ChannelStore
from ahpd.interfaces import IActionHandler, IAgent, Owned, Refusal
from ahpd.protocol import Action, State
from ahpd.protocol.permission_rules import KEY, with_allowed
from ahpd.protocol.uris import ROOT, ChannelKind
from ahpd.root.config import (
    CANVASES,
    CLIENT_QUEUE_BYTES,
    DEFAULT_SHELL,
    REPLAY_BYTES,
    check_push,
    schema,
)
from ahpd.root.contributed import ContributedConfig
from ahpd.root.host_values import HostValue, Pushed, read_only
from ahpd.root.shown import shown


@implementer(IActionHandler)
class RootService:
    """The root channel of one host. The byte bounds are the configured ones, in bytes.

    `terminals` says whether this host opens terminals, and so lists them.
    """

    def __init__(
        self,
        store: ChannelStore,
        agents: Iterable[IAgent],
        client_queue_bytes: int,
        replay_bytes: int,
        *,
        terminals: bool = False,
    ) -> None:
        self._store = store
        #: Called behind every change of the configuration.
        self.on_config: Callable[[], None] = lambda: None
        self._defaults = {CLIENT_QUEUE_BYTES: client_queue_bytes, REPLAY_BYTES: replay_bytes}
        state: State = {
            "agents": [row for row in map(shown, agents) if row is not None],
            "activeSessions": 0,
            "config": {"schema": schema(terminals), "values": dict(self._defaults)},
        }
        if terminals:
            state["terminals"] = []
        store.open(ROOT, ChannelKind.ROOT, state, self._applied)
        self._contributed = ContributedConfig(store, state["config"]["schema"])

    def values(self) -> Mapping[str, Any]:
        """The configuration's values now, to read."""
        values: Mapping[str, Any] = self._store.state(ROOT)["config"]["values"]
        return values

    def canvases_enabled(self) -> bool:
        """Whether a window turned canvases on."""
        return self.values().get(CANVASES) is True

    def contributed_configuration(
        self, items: Mapping[str, Owned], report: Callable[[str, str], None] | None = None
    ) -> None:
        """The settings of providers (`ProviderConfiguration`) that plugins contribute, all of them.

        Each property joins the schema, its default held where nothing is set. `report` is told of
        one that is left out: the plugin's id, and a line.
        """
        self._contributed.providers(items, report)

    def host_values(
        self, source: str, values: Mapping[str, HostValue], pushed: Pushed = read_only
    ) -> None:
        """The keys of `source` that this host sets itself, all of them, said where they moved.

        What a client sends for one is `pushed` to their owner, who refuses it or answers what is
        said in its place.
        """
        self._contributed.host_values(source, values, pushed)

    def set_meta(self, fields: Mapping[str, Any]) -> None:
        """Have the root's `_meta` hold these; None takes one out. No action carries it."""
        self._contributed.set_meta(fields)

    def grant(self, rules: Sequence[str]) -> None:
        """Allow rules in every session, said as this host's own where they are anything new.

        They hold for the process, as everything in this configuration does.
        """
        allowed = with_allowed(self.values().get(KEY), rules)
        if allowed is not None:
            self._store.dispatch(ROOT, {"type": "root/configChanged", "config": {KEY: allowed}})

    def client_queue_bytes(self) -> int:
        """How many unread bytes close a client now; 0 for no limit."""
        return self._bytes(CLIENT_QUEUE_BYTES)

    def default_shell(self) -> str | None:
        """The shell clients' terminals open, as it was pushed; None where nothing was."""
        shell = self._store.state(ROOT)["config"]["values"].get(DEFAULT_SHELL)
        return shell if isinstance(shell, str) and shell else None

    def terminals_changed(self, terminals: Sequence[State]) -> None:
        """Say the whole list of open terminals (schema: TerminalInfo), moved or not."""
        self._store.dispatch(ROOT, {"type": "root/terminalsChanged", "terminals": list(terminals)})

    def agents_changed(self, agents: Iterable[IAgent]) -> None:
        """Say the list of agents where it differs from the one last said.

        One that cannot say what it is is what it said last.
        """
        held = self.agents()
        before = {row["provider"]: row for row in held}
        rows = [shown(agent, checked=True) or before.get(agent.provider) for agent in agents]
        told = [row for row in rows if row is not None]
        if told != held:
            self._store.dispatch(ROOT, {"type": "root/agentsChanged", "agents": told})

    def agents(self) -> Sequence[State]:
        """What clients are shown of each agent now (schema: AgentInfo), to read."""
        rows: Sequence[State] = self._store.state(ROOT)["agents"]
        return rows

    def handle(self, channel: str, action: Action, origin: Origin) -> Awaitable[None] | None:
        """`root/configChanged`. One that leaves every value as it is is neither kept nor said."""
        if action["type"] != "root/configChanged":
            raise Refusal(f"{action['type']} is not an action of {ROOT}")
        check_push(action["config"])
        # What is said in place of a value may be what it is already: who sent another is told.
        moves = not action.get("replace") and self._moves(action)
        taken = self._contributed.taken(action, origin)
        if isinstance(taken, Awaitable):
            return self._say_later(taken, origin, moves)
        self._say(taken, origin, moves)
        return None

    async def _say_later(self, taken: Awaitable[Action], origin: Origin, moves: bool) -> None:
        self._say(await taken, origin, moves)

    def _say(self, action: Action, origin: Origin, moves: bool) -> None:
        if moves or self._moves(action):
            self._store.dispatch(ROOT, action, origin)

    def _moves(self, action: Action) -> bool:
        held, sent = self.values(), action["config"]
        return bool((sent if action.get("replace") else {**held, **sent}) != held)

    def _applied(self, envelope: Envelope) -> None:
        if envelope.type == "root/configChanged":
            self._store.replay.max_bytes = self._bytes(REPLAY_BYTES)
            self._contributed.applied()
            self.on_config()

    def _bytes(self, key: str) -> int:
        values = self._store.state(ROOT)["config"]["values"]
        return int(values.get(key, self._defaults[key]))
