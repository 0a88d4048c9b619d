"""What the tools ask of a host's sessions. Whoever composes the host says who answers.

Every URI is a session's or a chat's own, in the spelling rows have. A caller reaches the
sessions it may: one it may not is to it as one nobody has. What is moved goes the way a
client's action goes: sequenced, and kept before it is said. Everything here may raise
`RpcError` or `ToolFailure` in words.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import attrs

from ahpd.interfaces import ToolCallContext
from ahpd.protocol import State


@attrs.frozen(kw_only=True)
class SeenChat:
    """A chat, and the session it is in."""

    row: State
    """The session's row (schema: SessionSummary)."""
    state: State
    """Schema: ChatState, to read. A text in it may be a `GrowingText`."""

    @property
    def uri(self) -> str:
        """The chat's URI."""
        uri: str = self.state["resource"]
        return uri

    @property
    def is_default(self) -> bool:
        """Whether it has its session's default role."""
        return self.row.get("defaultChat") == self.uri


@attrs.frozen(kw_only=True)
class Caller:
    """Where a call comes from, as far as what it begins takes after it."""

    row: State
    """The session's row (schema: SessionSummary)."""
    turn: str | None
    """The id of the turn that runs in the chat."""
    model: State | None
    """The model its turn runs on (schema: ModelSelection)."""
    depth: int
    """How many sessions were made by a tool of the one before, down to this one."""
    root: str
    """The session (its URI) at the top of those."""


class SessionReading(Protocol):
    """What tools read of a host's sessions."""

    def rows(self, session: str) -> Sequence[State]:
        """The rows `session` may reach (schema: SessionSummary), the newest moved first."""

    def find(self, session: str, uri: str) -> State | None:
        """The row of the session `uri` names; None for one `session` may not reach."""

    async def chat(self, session: str, uri: str, chat: str | None) -> SeenChat | None:
        """A chat of the session `uri` by its own URI, its default one for None; read where its
        backend alone has it."""

    async def chat_of(self, session: str, chat: str) -> SeenChat | None:
        """The chat of this URI in whichever session it is."""

    def caller(self, context: ToolCallContext) -> Caller:
        """Who calls."""

    def models(self) -> Sequence[State]:
        """The models of every agent of this host (schema: SessionModelInfo)."""

    def folders(self, session: str) -> Sequence[str]:
        """The `file:` URIs of the folders a session works in, the primary first."""


class SessionWriting(Protocol):
    """What tools do to a host's sessions."""

    async def send(self, chat: SeenChat, message: State) -> bool:
        """Say a message (schema: Message) in a chat: True where it waits behind others."""

    async def create_session(
        self,
        context: ToolCallContext,
        *,
        provider: str,
        folder: str | None,
        worktree: bool | None,
        title: str,
        message: State,
    ) -> State:
        """Make a session on an agent and send it its first message; its row.

        On the caller's own agent it is configured as the caller is.
        """

    async def create_chat(
        self, row: State, *, title: str | None, folder: str | None, message: State
    ) -> str:
        """Make a chat in a session and send it its first message; its URI."""

    async def rename(self, chat: SeenChat, title: str) -> None:
        """Give a chat another title."""

    async def work_in(
        self, context: ToolCallContext, folder: str, notice: Mapping[str, Any]
    ) -> None:
        """Have the caller's session work in `folder` once the turn that runs is complete, and
        go on there with the message `notice`. A turn that ends otherwise moves nothing."""

    async def delete(self, uri: str) -> None:
        """Dispose of a session. Gone at once; returns when its backends are down."""


class SessionArtifacts(Protocol):
    """What agents recorded on their sessions (AHP.txt, "what the agent recorded")."""

    def artifacts(self, session: str) -> Sequence[State]:
        """All of a session's, the oldest first."""

    async def keep_artifacts(self, session: str, artifacts: Sequence[State]) -> None:
        """These and no others from now on."""


class SessionWorld(SessionReading, SessionWriting, SessionArtifacts, Protocol):
    """All of it."""
