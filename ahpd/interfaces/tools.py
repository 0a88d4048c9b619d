"""The host's own tools: what a session's model may call that this host runs itself."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs

from ahpd.protocol import State


@attrs.frozen(kw_only=True)
class ToolEffects:
    """What a tool says of itself: a claim a backend reads to decide whether to ask a person."""

    reads: bool = False
    writes: bool = False
    network: bool = False
    destructive: bool = False


@attrs.frozen(kw_only=True)
class ToolCallContext:
    """Where a tool is called from."""

    session: str
    """The session's URI."""
    chat: str
    """The chat's URI."""
    tool_call_id: str


class ToolFailure(Exception):
    """A tool that could not do it: the words go to the model."""


#: A tool as one session sees it: by the session's URI and the values of its configuration.
ForSession = Callable[[str, Mapping[str, Any]], State | None]


@attrs.frozen(kw_only=True)
class HostTool:
    """One tool of the host's. Source: PLUGINS.txt, "What a tool says about itself"."""

    definition: State
    """Schema: ToolDefinition: `{"name", "title", "description", "inputSchema": {"type": "object",
    ...}}`. A name is at most 64 letters, digits, `_` and `-`, and one that is taken loses."""
    run: Callable[[Mapping[str, Any], ToolCallContext], Awaitable["str | State"]]
    """Takes arguments that fit `inputSchema`; answers a text or a whole ToolCallResult. Raises
    `ToolFailure`; any other exception is a failed call in words that show no trace."""
    effects: ToolEffects = ToolEffects()
    instructions: str | None = None
    """What a model's system prompt is told of when to use it."""
    advanced: bool = False
    """It does more than a session's ordinary work: offered only where `advancedTools` says so."""
    for_session: ForSession | None = None
    """What one session is offered in place of `definition`, by its URI and the values of its
    configuration: a definition with the same name, or None for a session that is offered
    nothing. It is asked whenever a session's list is made, so it answers at once, from memory.
    None is for a tool every session is offered alike.

    A call of a session it answers None for reaches `run`, which says why not: what that session
    lists may be older than what changed."""

    @property
    def name(self) -> str:
        """What a model calls it by."""
        name: str = self.definition["name"]
        return name
