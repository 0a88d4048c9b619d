"""What plugins register for sessions, chats and automations, and what they ask for, as values.

Source: PLUGINS.txt, "What you can register", "A chat of its own", "A new chat's preamble".
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import attrs

from ahpd.interfaces.later_ports import ChangesetHandler
from ahpd.protocol import State


@attrs.frozen(kw_only=True)
class ConfigQuery:
    """What somebody typed into a picker of a session's form."""

    query: str = ""
    """What was typed so far; empty asks for everything."""
    provider: str | None = None
    """The agent the form is for, where one was chosen."""
    working_directory: str | None = None
    """A URI."""
    config: Mapping[str, Any] = attrs.field(factory=dict)
    """The other answers of the form."""


#: Answers a picker, at once or awaited: rows of `{value, label, description?}` (schema:
#: SessionConfigValueItem) for what was typed. One that raises answers nothing, and is logged.
ConfigCompleter = Callable[[ConfigQuery], Awaitable[Sequence[State]] | Sequence[State]]


@attrs.frozen(kw_only=True)
class SessionConfigKey:
    """One setting clients draw on every session."""

    key: str
    schema: State
    """Schema: SessionConfigPropertySchema: `{"type": "string", "title": "Tone", "default": ...}`."""
    completer: ConfigCompleter | None = None
    """Answers its values as somebody types: the key is `enumDynamic` then."""


@attrs.frozen(kw_only=True)
class ProviderConfiguration:
    """A provider's settings at the top of the root configuration."""

    provider: str
    title: str
    properties: Mapping[str, State]
    """Root configuration keys by name, each with its schema and its `default`."""
    settings: Sequence[State]
    """The page a client draws, in its order."""
    description: str = ""
    configuration_file: str | None = None


@attrs.frozen(kw_only=True)
class ChangesetOperations:
    """One feature area's operations on changesets, beside the change source's own."""

    operations: Callable[..., Sequence[State]]
    """`operations(directory, session, scope, context)`: what to advertise."""
    handlers: Mapping[str, ChangesetHandler]
    """What runs each, by its id."""


@attrs.frozen(kw_only=True)
class TriggerType:
    """A type of event an automation may be saved with."""

    type: str
    title: str
    events: Sequence[State]
    """`{id, title, description?}`, at least one; no two with one id."""
    description: str = ""
    config_schema: State | None = None


@attrs.frozen(kw_only=True)
class PreambleAsk:
    """A chat a person or a tool is opening."""

    session: str
    chat: str
    origin: State | None = None
    """Where it was made from another chat (schema: ChatOrigin)."""
    chats: Sequence[State] = ()
    """The session's other chats (schema: ChatSummary)."""


#: What the model of a new chat is told ahead of its first message, and nobody is shown; None for
#: nothing. It is asked of each chat that a person or a tool opens beside a session's own (plain, or
#: a side chat), not of a session's first chat, a fork or a worker's. It is given ten seconds, and
#: what it raises is logged.
Preamble = Callable[[PreambleAsk], Awaitable[str | None] | str | None]


@attrs.frozen(kw_only=True)
class SessionRequest:
    """A session a plugin starts, for an owner."""

    owner: str
    """`user:<id>`, or `root:<host>`."""
    provider: str | None = None
    working_directory: str | None = None
    """A path or a `file:` URI."""
    config: Mapping[str, Any] = attrs.field(factory=dict)
    model: State | None = None
    """Schema: ModelSelection; it rides on the first turn."""
    title: str | None = None
    prompt: str | None = None
    """The first turn; None opens it with nobody speaking. A blank one is refused."""


@attrs.frozen(kw_only=True)
class ChatRequest:
    """One more chat of a session."""

    provider: str | None = None
    """The backend of this chat alone; None is the session's own."""
    config: Mapping[str, Any] = attrs.field(factory=dict)
    model: str | None = None
    """The id of a model of that backend; it rides on the first turn."""
    title: str | None = None
    prompt: str | None = None
