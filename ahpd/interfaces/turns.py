"""A turn and its chat as a backend meets them: what it is handed, and what it may say.

Within a turn a backend says what happens (`ITurnOutput.emit`) and awaits what people decide
(`confirmed`, `answered`, `client_result`). What is no part of a turn it says to the chat it
serves (`IChatHost`).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import attrs
from zope.interface import Attribute, Interface

from ahpd.protocol import Action


class TurnOver(Exception):
    """Raised out of what a turn awaits once the turn is over: stopped, or its chat gone.

    A backend may let it pass: the end of the turn was said already.
    """


# -- what a backend is handed ---------------------------------------------------


@attrs.frozen(kw_only=True)
class ConversationPoint:
    """A place in a conversation a backend keeps: through the turn it named `point`."""

    conversation: str
    """The backend's own id of the conversation (`IChatHost.kept_as`)."""
    point: str | None = None
    """The backend's name for where a turn ended (`ITurnOutput.ended_at`); None is the newest."""


@attrs.frozen(kw_only=True)
class ChatStart:
    """What a backend is told when a chat is opened on it."""

    session: str
    """The session's URI."""
    chat: str
    """The chat's URI."""
    working_directories: tuple[str, ...]
    """`file:` URIs, the primary first; empty where the session names none."""
    config: Mapping[str, Any]
    """The configuration values in force for this chat, resolved against the agent's schema."""
    history: Sequence[Mapping[str, Any]] = ()
    """Turns (schema: Turn) the chat already holds, oldest first; none of the host's own `!`
    commands, of which a backend is told nothing."""
    host: "IChatHost | None" = None
    """Where the backend says what is no part of a turn. None in a bare test alone."""
    resume: ConversationPoint | None = None
    """The conversation to go on with, cut back to its point; None begins a new one."""
    fork: ConversationPoint | None = None
    """The conversation to copy up to its point and go on with under a new id."""
    preamble: str | None = None
    """What the first prompt is told ahead of the message: a side chat's source."""
    client_tools: Sequence[Mapping[str, Any]] = ()
    """Tools of the session's clients: ToolDefinition with `clientId` added to each."""
    server_tools: Sequence[Mapping[str, Any]] = ()
    """Tools of this host (schema: ToolDefinition), called through `IChatHost.run_tool`."""
    instructions: str | None = None
    """What the host's tools have a model told of when to use them; for its system prompt."""
    mcp_servers: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    """The configured MCP servers by name, each `{"type": "stdio", "command", "args"?, "env"?,
    "cwd"?}` or `{"type": "http", "url", "headers"?}`. Values in `env` and `headers` are
    credentials. Source: PLUGINS.txt, "The MCP servers a session is offered"."""
    managed_settings: Mapping[str, Any] = attrs.field(factory=dict)
    """What the operator manages, for a backend that enforces it on calls it never asks about:
    `{"permissions": ...}` as it is configured; empty where nothing is."""
    trusted: bool = True
    """Whether somebody vouched for every folder (`sessions.trust`)."""


@attrs.frozen(kw_only=True)
class TurnRequest:
    """One turn a backend is asked to run."""

    turn_id: str
    message: Mapping[str, Any]
    """The message as the client sent it (schema: Message)."""
    model: Mapping[str, Any] | None = None
    """The model chosen for it (schema: ModelSelection), or None for the agent's own default."""
    attachments: Sequence[Mapping[str, Any]] = ()
    """The message's attachments as a backend takes them (schema: MessageAttachment): a chat's
    is a `simple` one whose `modelRepresentation` points at the chat."""
    client_tools: Sequence[Mapping[str, Any]] = ()
    """The tools of the session's clients now, as in `ChatStart.client_tools`."""

    @property
    def text(self) -> str:
        """The message's text."""
        text: str = self.message["text"]
        return text


@attrs.frozen(kw_only=True)
class ToolAnswer:
    """What was decided about a tool call that waited."""

    approved: bool
    reason: str | None = None
    """Of a refusal: `denied` or `skipped`."""
    message: str | None = None
    """The words that came with a refusal."""
    suggestion: Mapping[str, Any] | None = None
    """What the person suggested instead (schema: Message)."""
    option: str | None = None
    """The id of the option picked (schema: ConfirmationOption)."""
    edited_input: str | None = None
    """The input as the person edited it."""
    decided_by: str = "user-action"
    """How it was decided (schema: ToolCallConfirmationReason)."""
    decision_source: str | None = None
    """Who decided: `host_policy` for what the host's rules answered and nobody was asked,
    else what the client said of itself (`human_response`, `host_policy`, `assisted_approval`,
    `unattended_fallback`); None where it said nothing."""


@attrs.frozen(kw_only=True)
class InputAnswer:
    """What was answered to a question of the agent's."""

    response: str
    """`accept`, `decline` or `cancel` (schema: ChatInputResponseKind)."""
    answers: Mapping[str, Mapping[str, Any]]
    """By question id (schema: ChatInputAnswer): the synced ones and those that came with it."""


@attrs.frozen(kw_only=True)
class Permission:
    """What a call asks to be allowed, said beside the question and shown to no client.

    The host judges by it whether a person is asked at all. Source: PLUGINS.txt, "A question
    about a tool call".
    """

    kind: str
    """`shell`, `read`, `write`, `url`, `memory`, `mcp`, `hook` or `custom-tool`."""
    path: str | None = None
    """Of a read or a write: an absolute path."""
    more_paths: tuple[str, ...] = ()
    """Of a read or a write of several: the other paths. A rule that refuses or asks need name
    but one of them all; what approves has to approve each."""
    url: str | None = None
    """Of a fetch."""
    command: str | None = None
    """Of a shell: its line."""
    language: str = "bash"
    """Of a shell's line: `bash` or `powershell`."""
    directory: str | None = None
    """Of a shell: where its relative paths begin; None is the session's first folder."""
    sandbox_bypass: bool = False
    """The call asks to leave its sandbox: a person answers it every time."""
    managed: bool = False
    """A managed rule asks about it: a person answers it every time."""
    edited: "Callable[[str], Permission] | None" = attrs.field(default=None, eq=False, repr=False)
    """What it asks for once its input reads so: an input that was edited is judged again, and
    one of a shell, read, write or fetch that is nowhere told of is not taken. Of a shell whose
    input is its line nothing has to be told."""


# -- what a backend says --------------------------------------------------------


class ITurnOutput(Interface):
    """Where a backend says what its turn does. Calls after the turn's end are ignored."""

    turn_id: str = Attribute("The turn this output belongs to.")

    def emit(action: Action, permission: Permission | None = None) -> None:
        """Say one chat action of this turn, `turnId` filled in.

        `permission` comes with a `chat/toolCallReady` without `confirmed`: the host may answer
        it from its rules before anybody is asked. A call it refuses that way is said to nobody
        as a question, and `confirmed` answers the refusal at once.

        What opens a part, appends to one, or moves a tool call: `chat/responsePart`,
        `chat/delta`, `chat/reasoning`, `chat/toolCall*`, `chat/inputRequested`,
        `chat/inputCompleted`, `chat/usage`, `chat/activityChanged`. The turn's start and its
        end are the host's to say; one of those here is a `ValueError`.
        """

    async def drained() -> None:
        """Wait until the clients watching this chat have room for more.

        A backend that produces faster than its clients read awaits this between
        pieces. Returns at once while nobody is behind.
        """

    async def confirmed(tool_call_id: str) -> ToolAnswer:
        """Wait for the answer to a call that was said `chat/toolCallReady` with no `confirmed`.

        One answer counts, the first. What moved the call was said already. Raises
        `TurnOver` once the turn is over.
        """

    async def result_confirmed(tool_call_id: str) -> ToolAnswer:
        """Wait for the answer to a result that was said with `requiresResultConfirmation`."""

    async def client_result(tool_call_id: str) -> Mapping[str, Any]:
        """Wait for the result of a call a client runs (schema: ToolCallResult).

        The call names its client as its contributor. A client that leaves fails it; a
        result a client wants confirmed comes once it was.
        """

    async def answered(request_id: str) -> InputAnswer:
        """Wait for the answer to a question said with `chat/inputRequested`."""

    def ended_at(point: str) -> None:
        """The backend's name for where this turn ends; kept, and handed back for a fork or cut."""

    def worker(tool_call_id: str, message: Mapping[str, Any], title: str) -> "IWorkerOutput":
        """Open the worker chat that call `tool_call_id` of this turn spawned, and its turn.

        `message` (schema: Message) is the prompt the worker was given. The call has been
        said. Asked again for the same call it is the worker there is, with a new turn.
        """


class IWorkerOutput(ITurnOutput):
    """The output of a worker chat's turn. Its end is the backend's to tell."""

    chat: str = Attribute("The worker chat's URI.")

    def complete() -> None:
        """The worker is done."""

    def fail(message: str, error_type: str = "agentError") -> None:
        """The worker failed."""


@attrs.frozen(kw_only=True)
class BackgroundTask:
    """Something that runs on behind the turns of a chat."""

    id: str
    """`shell:<task>` or `subagent:<task>`; the prefix is its kind."""
    label: str
    started_at: str
    """ISO 8601."""
    command: str | None = None
    """Of a shell: the command line."""
    worker: str | None = None
    """Of a subagent: the worker chat's URI."""
    stop: Callable[[], Awaitable[None]] | None = None
    """Stops it; None where it cannot be stopped."""


#: Runs a tool of a client's that a program called through the endpoint: the tool's client,
#: its name as the client announced it, the arguments, and the call's id where the program
#: named one. Answers schema: ToolCallResult.
RunClientTool = Callable[[str, str, Mapping[str, Any], str | None], Awaitable[Mapping[str, Any]]]


class IToolsServer(Interface):
    """An MCP endpoint for one chat of a session (streamable HTTP, revision 2025-06-18)."""

    url: str = Attribute("Where it is: an http URL of this host.")
    token: str = Attribute("The bearer token that opens this endpoint and no other.")

    def close() -> None:
        """Take it back before its session ends; again is no error."""


class IChatHost(Interface):
    """The host's side of one conversation, for what a backend says outside a turn's output."""

    def kept_as(conversation: str) -> None:
        """The backend keeps the conversation under this id: it is on disk when this returns."""

    def steering_taken(message_id: str) -> None:
        """The model has read a steering message: it is no longer pending."""

    def steering_returned(message_id: str) -> None:
        """A steering message goes back unsent: its turn ended first."""

    def background(tasks: Sequence[BackgroundTask]) -> None:
        """What runs in the background now, all of it."""

    def activity(words: str | None) -> None:
        """What the session is doing in one line; None is idle."""

    def customizations(found: Sequence[Mapping[str, Any]]) -> None:
        """What the conversation loaded, all of it (schema: Customization)."""

    def mcp_server_state(server_id: str, state: Mapping[str, Any]) -> None:
        """A server's state moved (schema: McpServerState)."""

    async def run_tool(
        name: str, arguments: Mapping[str, Any], tool_call_id: str
    ) -> Mapping[str, Any]:
        """Run one of the host's own tools for a call of this chat (schema: ToolCallResult).

        What went wrong in it is a result with `success: False`, and so are a name nobody has
        and arguments its schema does not take. Saying the call is the backend's to do.
        """

    def tools_server(
        run_client_tool: "RunClientTool | None" = None, notify: bool = True
    ) -> "IToolsServer | None":
        """The MCP endpoint that serves the session's tools to a program; None where none can be.

        One a chat: asked again it is the one there is. `notify` has the endpoint hold a stream
        open and say there when the list of tools moved; without it the stream is refused and
        the next listing shows it. Without `run_client_tool` it serves the host's tools alone. Source: PLUGINS.txt, "The MCP servers a session is offered".
        """

    def credential(resource: str, server: str | None = None) -> str | None:
        """The token a client lent for a protected resource (its `resource`), None where none did.

        With `server` it is spent on that MCP server of the session's (its customization's id).
        Asked where it is spent, each time: it may be taken back or run out. Never log it.
        """
