"""Ports whose domains this host does not have yet, for a plugin to supply.

Each is a singleton a plugin registers by name. The host checks that what is registered has the
port's required members, and hands it to whoever asks for the port. Source: PLUGINS.txt, "What you
can register".
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from zope.interface import Attribute, Interface

from ahpd.protocol import State


class IChangeSource(Interface):
    """Knows what changed in a session's folders."""

    async def scopes(directory: str, session: str) -> Sequence[State]:
        """Which changesets there are (schema: Changeset)."""

    async def state(directory: str, session: str, scope: str) -> State:
        """One changeset whole (schema: ChangesetState)."""

    async def summary(directory: str, session: str) -> State:
        """How much changed (schema: ChangesSummary)."""


class IDirectoryFacts(Interface):
    """Says what a folder is."""

    async def meta(directory: str) -> State:
        """What a session in the folder says of it in its `_meta`."""


class IWorktrees(Interface):
    """Makes worktrees of repositories for sessions."""

    async def repository(directory: str) -> str | None:
        """The repository a folder is in; None for none."""

    async def branches(repository: str) -> Sequence[str]:
        """Its branches."""

    async def create(repository: str, branch: str | None, session: str) -> str:
        """A worktree for a session; its folder."""

    async def dirty(worktree: str) -> bool:
        """Whether it holds what is committed nowhere."""

    async def remove(worktree: str) -> None:
        """Take it away."""


class IPullRequests(Interface):
    """Pull requests of a forge."""

    def resource() -> State:
        """The protected resource a client signs in to (schema: ProtectedResource)."""

    async def for_branch(repository: str, branch: str) -> State | None:
        """The pull request of a branch; None for none."""

    async def create(repository: str, branch: str, params: Mapping[str, Any]) -> State:
        """Open one."""


class IAutomationStore(Interface):
    """Keeps automations and starts their runs."""

    async def list() -> Sequence[State]:
        """Every automation (schema: AutomationSummary)."""

    async def fire(type: str, event: str, data: Mapping[str, Any], owner: str | None) -> None:  # noqa: A002
        """An event of a trigger type happened: start what watches it."""

    async def run(automation: str, data: Mapping[str, Any], owner: str | None) -> None:
        """Start one automation, by its id or its URI."""


class IDiagnostics(Interface):
    """Says how the host's network does. Every member is optional."""


class IComputers(Interface):
    """Runs a backend's process in a named machine."""

    async def start(computer: str, command: Sequence[str], options: Mapping[str, Any]) -> Any:
        """Start a command in the machine (`computer://<id>`)."""


class IContainers(Interface):
    """Dev containers."""

    async def available() -> bool:
        """Whether one can be made."""

    async def make(options: Mapping[str, Any]) -> State:
        """Make one."""

    async def write(container: str, files: Mapping[str, str]) -> None:
        """Write files into one."""

    async def stop(container: str) -> None:
        """Stop one."""

    async def remove(container: str) -> None:
        """Remove one."""


class IUsageStore(Interface):
    """What was used, and who is charged."""

    async def record(entry: State) -> None:
        """Keep one entry (`kind` is `model` or `computer`)."""

    async def total(pool: str, since: str | None) -> State:
        """What a pool was charged."""

    async def pools() -> Sequence[str]:
        """The pools there are."""

    async def records(query: Mapping[str, Any]) -> Sequence[State]:
        """The entries."""

    async def groups(query: Mapping[str, Any]) -> Sequence[State]:
        """The entries, added up."""


class IPolicies(Interface):
    """Rows that say who may use which agents, models and computers."""

    async def list() -> Sequence[State]:
        """Every row."""

    async def get(identifier: str) -> State | None:
        """One row."""

    async def put(policy: State) -> State:
        """Name one, or edit the one already there."""

    async def remove(identifier: str) -> bool:
        """Take one out."""


class ICommandSplit(Interface):
    """What a command parser answers of a line it can read; a mapping with these keys will do."""

    sub_commands: Sequence[str] = Attribute("The commands the line runs, in order.")
    write_dests: Sequence[str] = Attribute("The paths it redirects a write to.")
    unanalyzable: bool = Attribute(
        "Whether it could not be read as a whole: then a person is asked."
    )


#: Splits a shell line: `(line, "bash" | "powershell")` to an `ICommandSplit` or a mapping with
#: `subCommands`, `writeDests` and `unanalyzable`; None for a line it cannot read.
CommandParser = Callable[[str, str], Any]

#: For one session's URI, its connectors by alias: `{"work": "connectors://mail/one"}`.
Bindings = Callable[[str], Mapping[str, str]]

#: A changeset operation: its id, what it is called with, and who asks.
ChangesetHandler = Callable[..., Awaitable[Any]]
