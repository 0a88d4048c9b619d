"""One conversation that is open in a program of its own, and what comes from it.

What the agent says of a turn goes to that turn while it runs; what it says of the
conversation - its commands, its modes, its options - counts at any time. What it asks is
answered for the turn that runs.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
from twisted.internet.defer import CancelledError, Deferred, ensureDeferred
from twisted.logger import Logger

from ahpd.interfaces import AgentFailure, ChatStart, EnginePorts, ITurnOutput
from ahpd.protocol import State
from ahpd.protocol.file_uris import path_of
from ahpd_agent_acp.asks import ClientRequests
from ahpd_agent_acp.commands import customizations
from ahpd_agent_acp.handshake import SEND_FAILED, Capabilities
from ahpd_agent_acp.mcp import mcp_servers, secrets_of
from ahpd_agent_acp.modes import Heard, Setting, heard_in, request_to_set, with_value
from ahpd_agent_acp.news import tell
from ahpd_agent_acp.quiet import Quiet
from ahpd_agent_acp.record import Options
from ahpd_agent_acp.reopening import Opened, begin, fork, reopen
from ahpd_agent_acp.server import Server
from ahpd_agent_acp.starts import Starts
from ahpd_agent_acp.tool_names import ToolNames
from ahpd_agent_acp.updates import TurnUpdates

log = Logger()

#: Updates that may come before the agent has answered which conversation they are of.
_MOST_EARLY: Final = 1000

#: What this host takes of a session's options beside those every client takes.
_TAKES: Final[State] = {"session": {"configOptions": {"boolean": {}}}}


@attrs.frozen(kw_only=True)
class Ground:
    """What the conversations of one agent have in common."""

    ports: EnginePorts
    provider: str
    name: str
    """What clients show."""
    what: str
    """What it is in a sentence."""
    starts: Starts
    """How its programs are started."""
    greeted: Callable[[Capabilities], None]
    """Told what a program said it can do."""
    heard: Callable[[Heard, bool], None]
    """Told what a conversation can be set to; True where it has just been opened."""


class Session:
    """See the module. `options` are those of the record when it was started."""

    def __init__(
        self,
        ground: Ground,
        options: Options,
        start: ChatStart,
        run_client_tool: Callable[..., Any],
    ) -> None:
        self.options = options
        self.heard = Heard()
        self.initial = Heard()
        """What it was set to when it was opened."""
        self.opened: Opened | None = None
        self.server = Server(ground.ports, options, ground.what, ground.provider, ground.starts)
        self._ground = ground
        self._start = start
        self._run_client_tool = run_client_tool
        self._quiet = Quiet(ground.ports.reactor)
        self._early: list[tuple[str, Mapping[str, Any]]] | None = None
        self._turn: TurnUpdates | None = None
        self._room: Deferred[None] | None = None
        self._spoke = False
        self._requests = ClientRequests(
            resources=ground.ports.resources,
            terminals=ground.ports.terminals,
            ids=ground.ports.ids,
            session=start.session,
            chat=start.chat,
            directory=self.directory,
        )

    # -- where it works -----------------------------------------------------------------

    @property
    def directory(self) -> str:
        """The folder it works in: its session's first, the record's, or the host's own."""
        folders = self._folders()
        if folders:
            return folders[0]
        return self.options.cwd or str(self._ground.ports.default_directory)

    def _folders(self) -> list[str]:
        paths = (path_of(uri) for uri in self._start.working_directories)
        return [path for path in paths if path is not None]

    def _place(self) -> State:
        """The params that say where a conversation works, and with which servers."""
        place: State = {"cwd": self.directory, "mcpServers": self._servers()}
        more = self._folders()[1:]
        if more and self.server.capabilities.more_directories:
            place["additionalDirectories"] = more
        elif more:
            log.warn(
                "{what} works in one folder, so {folders} were left out",
                what=self._ground.what,
                folders=", ".join(more),
            )
        return place

    @property
    def has_host_tools(self) -> bool:
        """Whether it was offered the host's own tools, and takes them."""
        offered = self.options.host_tools and self._start.host is not None
        return offered and self.server.capabilities.mcp_http

    def _servers(self) -> list[State]:
        endpoint = None
        if self.options.host_tools and self._start.host is not None:
            endpoint = self._start.host.tools_server(
                self._run_client_tool, self.options.tools_changed == "notify"
            )
        configured = self._start.mcp_servers
        self.server.hidden.add(secrets_of(configured, endpoint))
        return mcp_servers(configured, self.server.capabilities, endpoint)

    # -- the beginning ------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        """Whether it is open and its program runs."""
        return self.opened is not None and self.server.alive

    @property
    def id(self) -> str:
        """The agent's own id of the conversation."""
        assert self.opened is not None
        return self.opened.id

    async def open(self, conversation: str | None, source: str | None, held: bool) -> Opened:
        """Start the program and open `conversation`, or a copy of `source`, or a new one.

        `held` says that this host holds the turns of it. Raises `AgentFailure`; it is to be
        closed in any case.
        """
        directory = self.directory
        if not Path(directory).is_absolute() or not _is_text(directory):
            raise AgentFailure(
                f"{self._ground.what} cannot work in {directory!a}: it takes absolute paths of "
                "plain text",
                SEND_FAILED,
            )
        await self.server.start(directory, self, {**self._requests.capabilities(), **_TAKES})
        self._ground.greeted(self.server.capabilities)
        self._requests.met(self.server.capabilities.name)
        place, what = self._place(), self._ground.what
        if conversation is None:  # until the answer nobody knows which conversation is told of
            self._early = []
        if conversation is not None:
            opened = await reopen(self.server, conversation, place, what, held, self._quiet)
        elif source is not None:
            opened = await fork(self.server, source, place, what)
        else:
            opened = await begin(self.server, place, what)
        self.opened = opened
        self._requests.session_id = opened.id
        self.heard = self.initial = heard_in(opened.answer)
        self._ground.heard(self.heard, True)
        early, self._early = self._early, None
        for session, update in early or ():
            self._updated(session, update)
        return opened

    # -- what it can be set to ----------------------------------------------------------

    async def set(self, setting: Setting, value: str | bool) -> None:
        """Set one thing. Raises `AgentFailure`."""
        method, params = request_to_set(setting, value, self.id)
        answer = await self.server.ask(method, params)
        heard = heard_in(answer, self.heard)
        if heard is self.heard:
            heard = with_value(heard, setting, value)
        self._hear(heard)

    def _hear(self, heard: Heard) -> None:
        if heard != self.heard:
            self.heard = heard
            self._ground.heard(heard, False)

    def commands_changed(self, commands: Sequence[Mapping[str, Any]]) -> None:
        """See `SessionNews`."""
        if self._start.host is not None:
            found = customizations(self._ground.provider, self._ground.name, list(commands))
            self._start.host.customizations(found)

    def mode_changed(self, mode: str) -> None:
        """See `SessionNews`."""
        setting = self.heard.mode
        if setting is not None and setting.takes(mode):
            self._hear(with_value(self.heard, setting, mode))

    def options_changed(self, options: Sequence[Mapping[str, Any]]) -> None:
        """See `SessionNews`."""
        self._hear(heard_in({"configOptions": list(options)}, self.heard))

    def title_changed(self, title: str | None) -> None:
        """See `SessionNews`. A chat's title is the host's own to find."""

    # -- a turn -------------------------------------------------------------------------

    def begin_turn(self, output: ITurnOutput, client_tools: Sequence[Mapping[str, Any]]) -> None:
        """What the agent says from now on is of this turn."""
        names = ToolNames(self._start.server_tools, client_tools)
        self._turn = TurnUpdates(
            output,
            names=names,
            terminals=self._requests.shown_terminal,
            news=self,
            directory=self.directory,
        )

    @property
    def turn(self) -> TurnUpdates | None:
        """The turn that runs."""
        return self._turn

    def end_turn(self) -> None:
        """The turn is over: what was asked in it is called off."""
        self.let_go()
        self._turn = None

    def let_go(self) -> None:
        """Nobody answers the turn any more, and nobody is waited for before more is read."""
        self._requests.turn_over(self._turn)
        if self._room is not None:
            self._room.cancel()

    async def prompt(self, blocks: Sequence[State]) -> Mapping[str, Any]:
        """Send a prompt; what the agent answered when the turn was over."""
        answer = await self.server.ask(
            "session/prompt", {"sessionId": self.id, "prompt": list(blocks)}
        )
        return answer if isinstance(answer, Mapping) else {}

    def cancel(self) -> None:
        """Have the agent end the turn it runs."""
        self.server.notify("session/cancel", {"sessionId": self.id})

    # -- from the agent -----------------------------------------------------------------

    async def asked(self, method: str, params: dict[str, Any]) -> Any:
        """See `IncomingCalls.asked`."""
        return await self._requests.answer(method, params, self._turn)

    def told(self, method: str, params: dict[str, Any]) -> None:
        """See `IncomingCalls.told`."""
        if method == "session/update":
            session, update = params.get("sessionId"), params.get("update")
            if isinstance(session, str) and isinstance(update, dict):
                self._updated(session, update)
        elif not self._requests.told(method, params) and not method.startswith("_"):
            log.debug("{what} said {method}", what=self._ground.what, method=method)

    def _updated(self, session: str, update: Mapping[str, Any]) -> None:
        if self._early is not None:
            if len(self._early) < _MOST_EARLY:
                self._early.append((session, update))
        elif self.opened is None:  # a replay of turns that this host holds
            self._quiet.heard()
            tell(update, self)
        elif session == self.opened.id:
            if self._turn is None:
                tell(update, self)
            else:
                self._spoke = True
                self._turn.update(update)

    async def room(self) -> None:
        """See `IncomingCalls.room`: until the clients that watch the turn have room."""
        spoke, self._spoke = self._spoke, False
        if not spoke or self._turn is None or self._turn.is_over:
            return
        waiting = ensureDeferred(self._turn.output.drained())
        self._room = waiting
        try:
            await waiting
        except CancelledError:
            pass
        finally:
            self._room = None

    # -- the end ------------------------------------------------------------------------

    def kill(self, why: str) -> None:
        """SIGKILL its program; `why` completes a sentence that begins with the program."""
        self.server.kill(why)

    async def close(self) -> None:
        """Close the conversation and end its program with all it started. Never raises."""
        self.end_turn()
        await self.server.close(() if self.opened is None else (self.opened.id,))
        await self._requests.close()


def _is_text(path: str) -> bool:
    """Whether JSON can hold it: a byte of a path may be of no text."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
