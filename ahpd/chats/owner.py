"""What a chat asks of the session it is in, and what all chats of a host share."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol

import attrs
from twisted.internet.interfaces import IReactorTime

from ahpd.channels.envelope import Envelope
from ahpd.channels.store import ChannelStore, Journal, Unsaved
from ahpd.chats.agents_in_use import AgentsInUse
from ahpd.chats.from_plugins import FromPlugins
from ahpd.chats.tasks import Tasks
from ahpd.interfaces import (
    Grant,
    IAgent,
    IAttachments,
    IHostTerminal,
    IHostTerminals,
    IOffers,
    IWorkerOutput,
    TurnRequest,
)
from ahpd.protocol import Action, State
from ahpd.protocol.timestamps import stamp
from ahpd.protocol.uris import ChannelKind

#: How long a chat's backend is kept with nothing to do, in seconds.
IDLE_RELEASE: Final = 600.0

#: Answers a channel's journal: the URI of its session, its own, its kind, who is told of
#: what could not be saved and so was not said, and the facts it begins with.
OpenJournal = Callable[
    [str, str, ChannelKind, Unsaved | None, Mapping[str, Any] | None], Journal | None
]


class Company(Protocol):
    """What the sessions of a host have in common: told of what happens in each of them."""

    def held(self, session: Any) -> None:
        """A session is held from now on: a new one, or one that was woken."""

    def moved(self, session: Any, envelope: Envelope) -> None:
        """`envelope` was applied on the session's own channel, and the session knows it."""

    def let_go(self, session: Any) -> None:
        """A session is not held any more: it is gone, or asleep."""

    def found(self, session: Any, chat: Any, found: Sequence[Mapping[str, Any]]) -> None:
        """See `ChatOwner.customizations_found`."""

    def server_moved(self, session: Any, server_id: str, state: Mapping[str, Any]) -> None:
        """See `ChatOwner.mcp_server_moved`."""

    def turn_coming(self, session: Any) -> None:
        """A turn of one of a session's chats is about to be handed to its backend."""


class TerminalsLeft(Protocol):
    """What becomes of the terminals of commands that are over."""

    def keep(self, chat: str, terminal: IHostTerminal) -> bool:
        """Keep what there is of a terminal that a call of `chat` names, exited, on disk.

        One that runs is about to be ended. Whether that could be done; where not it is logged.
        """

    def let_go(self, chat: str, terminal: IHostTerminal) -> Awaitable[None]:
        """Take an exited terminal away that is kept, once nobody watches it.

        The answer is there when it is gone with all it started, or at once where somebody
        watches it. It never fails, and need not be waited for.
        """

    def share(self, source: str, chat: str) -> None:
        """`chat` was made out of `source`, and names the terminals of the turns it copied."""

    def chat_moved(self, chat: str, session: str) -> None:
        """A chat is `session`'s now, and so are the terminals of its commands."""

    def chat_gone(self, chat: str) -> None:
        """A chat is gone, and what is kept with it: so are the terminals of its commands."""

    def session_gone(self, session: str) -> Awaitable[None]:
        """Dispose of every terminal a session claims. Never fails."""


class Told(Protocol):
    """Whoever is told what happens in the sessions of a host (`ahpd.chats.happenings`).

    `session` and `chat` are URIs, but for `chat_moved`. `message` is a turn's as it was sent
    (schema: Message), and `queued` the id it waited under.
    """

    def session_began(self, session: str, provider: str, client: str | None) -> None:
        """A session was made; by which client, where one asked for it."""

    def session_over(self, session: str, reason: str) -> None:
        """A session is gone for good: `disposed`, or `abandoned` before its first message."""

    def turn_begun(
        self,
        session: str,
        chat: str,
        turn_id: str,
        message: Mapping[str, Any],
        *,
        queued: str | None,
        resumed: bool,
    ) -> None:
        """A turn is handed to its chat's backend, or is a command the host runs."""

    def turn_over(
        self,
        session: str,
        chat: str,
        turn_id: str,
        message: Mapping[str, Any],
        action: Action,
        *,
        rejected: bool,
        command: bool,
        queued: str | None,
    ) -> None:
        """A turn's end was said, which is `action`; `queued` where the queue's drain ended it."""

    def turn_refused(
        self,
        session: str,
        chat: str,
        turn_id: str,
        message: Mapping[str, Any],
        error: State,
        *,
        queued: str | None,
    ) -> None:
        """A turn was not started, and whoever sent its message has it still (schema: ErrorInfo)."""

    def chat_moved(self, session: Any, chat: Any, action: Action) -> None:
        """`action`, no delta, was applied on a chat of a session, both given as they are held."""

    def session_moved(self, session: str, action: Action) -> None:
        """`action` was applied on a session's own channel."""


@attrs.define(eq=False, repr=False)
class Happenings:
    """Who is told; None for nobody. Whoever composes the host says it."""

    told: Told | None = None


@attrs.frozen(kw_only=True)
class Surroundings:
    """What every session and chat of one host works with."""

    store: ChannelStore
    clock: IReactorTime
    now: Callable[[], datetime]
    """The wall clock, aware."""
    ids: Callable[[], str]
    """A new id at each call, never the same twice (a UUID's text)."""
    delta_window: float = 0.0
    """Seconds within which deltas of one part are said as one; 0 merges none."""
    idle_release: float = IDLE_RELEASE
    """Seconds a chat's backend is kept with nothing to do, where it can be opened again; 0
    keeps it."""
    tasks: Tasks = attrs.field(factory=Tasks)
    in_use: AgentsInUse = attrs.field(factory=AgentsInUse)
    """What conversations are open on."""
    attachments: IAttachments | None = None
    """What becomes of messages' attachments; None passes them on as they were sent."""
    note: Callable[[str, Mapping[str, Any]], None] = lambda channel, facts: None
    """Keep facts of a channel's that no client is shown: on disk when it returns. A fact
    that is None is taken out, one that is an object is merged. Raises `StoreFailure`."""
    facts: Callable[[str], Mapping[str, Any]] = lambda channel: {}
    """The facts kept of an open channel, those of earlier lives of the host among them."""
    journal: OpenJournal = lambda session, channel, kind, unsaved, facts: None
    """The journal of a channel that is about to be opened."""
    save: Callable[[str], None] = lambda session: None
    """Have all of a session (its URI) on disk when it returns. Raises `StoreFailure`."""
    company: Callable[[], Company | None] = lambda: None
    """What the sessions have in common; None before it is built, and in a bare test."""
    terminals: IHostTerminals | None = None
    """Where commands run; None has every message go to the agent."""
    left: TerminalsLeft | None = None
    """What becomes of the terminals of commands; None keeps nothing of them."""
    offers: IOffers | None = None
    """What agents are offered beside their turns; None offers nothing."""
    agent_of: Callable[[str], IAgent | None] = lambda provider: None
    """The agent of a provider, or what stands for one that is not offered."""
    from_plugins: FromPlugins = attrs.field(factory=FromPlugins)
    happenings: Happenings = attrs.field(factory=Happenings)
    """Who is told what happens in sessions and chats."""

    def stamp(self) -> str:
        """The moment now, as it travels."""
        return stamp(self.now())


@attrs.frozen
class TurnFailure:
    """How a turn ended badly (schema: ErrorInfo, and whether it can be resumed)."""

    error_type: str
    message: str
    resumable: bool = False

    def part(self) -> State:
        """The error part its `chat/error` carries (schema: ErrorResponsePart)."""
        part: State = {"kind": "error", "error": self.info()}
        if self.resumable:
            part["resumable"] = True
        return part

    def info(self) -> State:
        """The error alone (schema: ErrorInfo)."""
        return {"errorType": self.error_type, "message": self.message}


class ChatOwner(Protocol):
    """A session, as its chats see it. Any chat may be moved to another one."""

    uri: str

    @property
    def closing(self) -> bool:
        """Whether the host is going: nothing of its own accord starts any more."""

    @property
    def archived(self) -> bool:
        """Whether the session is archived."""

    @property
    def paused(self) -> bool:
        """Whether its agent takes no message now: what waits goes on waiting."""

    @property
    def agent(self) -> IAgent:
        """The agent its chats run on."""

    @property
    def working_directories(self) -> tuple[str, ...]:
        """`file:` URIs, the primary first."""

    @property
    def config_values(self) -> Mapping[str, Any]:
        """The configuration in force."""

    def chat_config(self, chat: str) -> Mapping[str, Any]:
        """The configuration in force for one of its chats."""

    @property
    def client_tools(self) -> Sequence[State]:
        """The tools of its clients now (see `ChatStart.client_tools`)."""

    @property
    def server_tools(self) -> Sequence[State]:
        """The tools of this host (schema: ToolDefinition)."""

    def mcp_server(self, customization_id: str) -> str | None:
        """The name of its MCP server of this id; None where it has none."""

    def granted(self, grant: Grant) -> None:
        """A person's answer granted rules: kept in the session, or in the host, when it returns."""

    def config_refused(self, action: Action) -> str | None:
        """Why a `session/configChanged` is not taken, in words; None when it is."""

    def chat_config_refused(self, chat: str, action: Action) -> str | None:
        """Why a `chat/configChanged` of `chat` is not taken, in words; None when it is."""

    def turn_refused(self, chat_archived: bool) -> TurnFailure | None:
        """Why a turn may not start now; None when it may."""

    def turn_admitted(self, chat: str, message: State) -> None:
        """A turn of `chat` was said and will run: a title is owed by now."""

    def command_admitted(self, chat: str, command: str) -> None:
        """The turn of a `!` command of `chat` was said and will run: it names what has no name."""

    async def prepare_turn(self, chat: str, request: TurnRequest) -> TurnRequest:
        """Make ready what a turn of `chat` needs before its prompt goes out, and the request.

        What it moves of the chat's folders or configuration is in force for this turn.
        Raises `AgentFailure` where the turn cannot be sent. A turn stopped meanwhile is
        not handed to its backend, whatever this answers.
        """

    def turn_handed(self) -> None:
        """A turn is about to be handed to its backend, or to the host's own terminals."""

    def turn_unhanded(self, failure: TurnFailure) -> None:
        """A turn ended in `failure` before its backend had it."""

    def chat_moved(self, chat: str, envelope: Envelope) -> None:
        """`envelope`, no delta, was applied on `chat`'s channel."""

    def activity_moved(self) -> None:
        """A chat began or stopped running a turn."""

    def session_activity(self, words: str | None) -> None:
        """A backend says what the session is doing in one line; None is idle."""

    def customizations_found(self, chat: str, found: Sequence[Mapping[str, Any]]) -> None:
        """What `chat`'s backend loaded, all of it (schema: Customization)."""

    def mcp_server_moved(self, server_id: str, state: Mapping[str, Any]) -> None:
        """A backend's MCP server is in another state (schema: McpServerState)."""

    def open_worker(
        self, chat: str, turn_id: str, tool_call_id: str, message: Mapping[str, Any], title: str
    ) -> IWorkerOutput:
        """Open the worker chat a call of `chat`'s turn spawned, and its turn.

        Asked again for the same call it is the worker there is, with a new turn. Raises
        `AgentFailure` where none can be opened.
        """

    def linked(self, chat: str, action: Action) -> Action:
        """What is said for a backend's action about a call: with the worker it spawns named."""

    def workers_over(self, chat: str, turn_id: str | None) -> None:
        """`chat`'s backend let go of a turn, or with None of everything: so do its workers."""

    def workers_run(self, chat: str) -> bool:
        """Whether a worker that a call of `chat` spawned runs."""
