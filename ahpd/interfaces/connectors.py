"""Adapters, and the connectors people make of them.

An adapter is the form a person fills in and what a connector made of it can do; the host
keeps the connectors. Source: PLUGINS.txt, "An adapter of your own", "An action offered as a tool".
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs

from ahpd.interfaces.extensions import IViewHandle
from ahpd.protocol import State


@attrs.frozen(kw_only=True)
class Connector:
    """One connector as its adapter is handed it: every secret read back."""

    id: str
    adapter: str
    owner: str
    """`host`, `team:<id>` or `user:<id>`."""
    title: str | None = None
    config: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    """What somebody filled in, held to the adapter's schema; what they left out is not there,
    whatever the schema says is a default."""


@attrs.frozen(kw_only=True)
class Capability:
    """What a connector of an adapter (or an agent of an engine) can do."""

    type: str
    """`receive`, `command`, `action`, `models` or `view`; another is shown by its title."""
    name: str
    """Of an action, what `Adapter.run` is told; with the adapter's it is the tool's name,
    `<adapter>_<action>`. Of a view, its surface: `main`."""
    title: str
    description: str = ""
    """Of an action, what a model is told of the tool."""
    input: State | None = None
    """Of an action: the JSON Schema of what it takes."""
    path: str | None = None
    """Of `receive`: where its connectors receive, `{id}` standing for the connector's."""


@attrs.frozen(kw_only=True)
class ActionCall:
    """Where an action runs."""

    files: Path | None = None
    """Where the calling session keeps its attachments; None where it has no folder."""
    set_content: Callable[[Sequence[State]], None] | None = None
    """Replaces what the running call has produced so far (schema: ToolResultContent)."""


@attrs.frozen(kw_only=True)
class Check:
    """Whether a connector works, as its service answered."""

    result: Literal["ok", "denied", "unreachable", "failed"]
    message: str = ""


@attrs.frozen(kw_only=True)
class Endpoint:
    """Where the models of a connector are called."""

    endpoint: str
    accepts: Sequence[str]
    """Dialects: `openai-chat`, `anthropic-messages`, `rerank` ..."""
    key: str | None = attrs.field(default=None, repr=False)
    paths: Mapping[str, str] = attrs.field(factory=dict)
    prefix: str | None = None


@attrs.frozen(kw_only=True)
class CodeSignIn:
    """A person signs in on a page and pastes the code it shows."""

    title: str
    field: str
    """The secret field of the schema it fills."""
    url: Callable[[str, str], str]
    """`url(challenge, state)`: where a person signs in; the challenge is S256."""
    exchange: Callable[[str, str], Awaitable[str]]
    """`exchange(code, verifier)`: the value of `field`."""


@attrs.frozen(kw_only=True)
class DeviceCode:
    """A sign-in that waits for an approval on another device."""

    code: str
    """What a person types there."""
    url: str
    expires: float
    """Seconds until it is no good any more."""
    interval: float
    """Seconds between two polls."""
    handle: str = attrs.field(repr=False)
    """Names it to the vendor: a credential, sent to nobody else."""


@attrs.frozen(kw_only=True)
class DeviceSignIn:
    """A person approves a code on another device."""

    title: str
    field: str
    """The secret field of the schema it fills, among others."""
    start: Callable[[], Awaitable[DeviceCode]]
    poll: Callable[[str], Awaitable[Mapping[str, Any] | float]]
    """`poll(handle)`: every field the approval fills, or how many seconds to wait. Raises when
    it was refused."""
    account: str | None = None
    """The plain field the account is written to."""
    switch_account: bool = False
    """Whether a second sign-in may answer another account."""


@attrs.frozen(kw_only=True)
class Adapter:
    """A kind of connector. Optional members that are None are what it does not do.

    Somebody makes a connector of it in a client (`x-ahpd/connectors/put`). Each capability of the
    type `action` is a tool of the sessions that name a connector of this adapter in their setting
    `connectors`, where the adapter has `run`.
    """

    name: str
    """A slug, unique on a host; what a connector records as its `adapter`."""
    title: str
    schema: State
    """The JSON Schema of a connector's `config`; a credential in it says `secret: true`."""
    open: Callable[[Connector, IViewHandle], Any]
    """`open(connector, view)`: begin to answer for one connector, at each start and after each
    change of it; answers (or awaits) what stops it again, or None. One that raises leaves the
    connector kept and not open, with its words on the connector's row."""
    description: str = ""
    capabilities: Sequence[Capability] = ()
    icons: Sequence[State] = ()
    """What clients draw beside its title (schema: Icon). A `src` is a file in the plugin's folder,
    `https:`, `data:` or `mark:<name>`: the host reads it at the load and sends its picture."""
    run: Callable[[Connector, str, Mapping[str, Any], ActionCall], Awaitable[Any]] | None = None
    """`run(connector, action, arguments, call)`: runs one action by its name, with arguments that
    fit its `input`; what it answers, a text or a ToolCallResult, is the tool's answer. Raises
    `ToolFailure` in words for the model."""
    check: Callable[[Connector], Awaitable[Check]] | None = None
    """Says whether the connector works, by a call that needs its key. It is asked after each open
    and given ten seconds; what it raises is `failed` in its own words."""
    provider: Callable[[Connector], Endpoint] | None = None
    """Where the models of a connector are called."""
    models: Callable[[Connector], Awaitable[Sequence[State]]] | None = None
    """Rows of what it serves: `{id, name?, context_length?, pricing?}`."""
    sign_in: CodeSignIn | DeviceSignIn | None = None
