"""Engines: what makes an agent of a record in the configuration.

A record says which engine serves it and how (`AgentRecord`); its id is the provider clients
name. An engine is found by its name among the entry points of the group `ahpd.engines`, and
imported when a record names it. Source: PLUGINS.txt, "An engine of your own".
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import attrs
from zope.interface import Attribute, Interface

from ahpd.interfaces.agents import Finding, IAgent
from ahpd.interfaces.extensions import IViewHandle
from ahpd.interfaces.resources import IResources
from ahpd.interfaces.terminals import IHostTerminals
from ahpd.protocol import State

T = TypeVar("T")


class RecordFailure(Exception):
    """A record that cannot be built: one line that names its field, and holds no secret."""


class InvalidRecord(RecordFailure):
    """A record whose config no agent can be made of until somebody changes it: shown as `invalid`.

    Any other `RecordFailure` is a record that may be opened later as it is, shown as `failed`.
    """


@attrs.frozen(kw_only=True)
class AgentRecord:
    """One agent, as its engine is handed it: every secret read back."""

    id: str
    """The provider clients name: a slug, unique on a host."""
    engine: str
    name: str
    """What clients show."""
    owner: str = "host"
    """Whose it is: `host`, `team:<id>` or `user:<id>`."""
    description: str = ""
    icon: str | None = None
    """A URI of the image clients draw for it."""
    model: str | None = None
    """The model of a chat that names none; None leaves it to the engine."""
    mode: str = "enabled"
    """`enabled`; `paused` is listed and takes no new session; `disabled` is not opened."""
    config: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    """The engine's own fields, checked against its schema."""


@attrs.frozen(kw_only=True)
class EnginePorts:
    """What an engine's agents work with. A port that is None is not there on this host."""

    reactor: Any
    supervisor: Any
    """Starts child processes (`ahpd.agents.process.start_agent` takes it)."""
    now: Callable[[], datetime]
    """The wall clock, aware."""
    ids: Callable[[], str]
    """A new id at each call, never the same twice."""
    run_blocking: Callable[..., Awaitable[Any]]
    """`await run_blocking(function, *arguments)` calls it in a thread of its own."""
    environ: Mapping[str, str]
    """The daemon's own environment."""
    default_directory: Path
    """Where a session works that names no folder."""
    data_directory: Path | None = None
    """A folder of this record's own to keep things in, made when it is first written to; None
    keeps them in memory."""
    resources: IResources | None = None
    terminals: IHostTerminals | None = None
    version: str = ""
    """This host's version, for a handshake."""
    view: IViewHandle | None = None
    """Shows this agent's views; None where nobody could see them."""


@attrs.frozen(kw_only=True)
class Template:
    """What a new record of an engine may start from."""

    id: str
    """What the record is called where nobody says another name: `codex`."""
    name: str
    description: str = ""
    icon: str | None = None
    """A URI of its image, a file beside the engine's plugin, or `mark:<name>`."""
    model: str | None = None
    program: str | None = None
    """The program that must be on `PATH`; None where it needs none."""
    config: Mapping[str, Any] = attrs.field(factory=dict)
    install: Sequence[str] = ()
    """Commands that install it, as its vendor gives them."""
    page: str | None = None
    """Where its vendor says how to install it and to sign in."""


class IEngine(Interface):
    """Makes agents of records.

    An engine may have more, which it need not: `capabilities` (`Capability`s; of the type `view`
    each names a surface its agents show a view on), `icons` (as `Adapter.icons`), and
    `template_of(record, templates)`, which answers the `Template` that a record (`AgentRecord`,
    its secrets not read) was made from, or None. Without it that is the one whose
    `config.command` is the record's.

    `left_written` names fields of `config` whose references `open` is handed as they are written,
    because they are read later or elsewhere.
    """

    name: str = Attribute("A slug; what a record names as its `engine`.")
    title: str = Attribute("What a person is shown.")
    description: str = Attribute("One sentence on what an agent of it is.")
    host_only: Sequence[str] = Attribute("Fields of `config` only the host's owner may set.")
    key_variables: Sequence[str] = Attribute("Variables of `env` that hold keys.")

    def schema() -> State:
        """The JSON Schema of a record's `config`; what is secret in it says `writeOnly: true`.

        A field that is given for what another one beside it names says so,
        `"x-ahpd-goes-with": "baseUrl"` (or a list; an empty one for a field that goes with
        anything): a record that names another endpoint is not handed the key that the
        configuration's `engines` have for theirs. Without it a field's name tells.
        """

    def templates() -> Sequence[Template]:
        """What new records may start from."""

    def open(record: AgentRecord, ports: EnginePorts) -> IAgent:
        """The agent of a record whose `config` fits `schema()`.

        Raises `InvalidRecord` where what the record says is wrong beyond what a schema tells,
        `RecordFailure` where it cannot be opened for another reason.
        Its `provider` is the record's id. Nothing expensive: no process, no request.
        """

    async def check(record: AgentRecord, ports: EnginePorts) -> Sequence[Finding]:
        """Whether the agent of this record would work, for `ahpd doctor`. Never raises."""
