"""Who is told what the plugins of a host come to: its parts, its rows, and whoever asked."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import attrs

from ahpd.plugins.fold import Fold, Problem
from ahpd.plugins.named import Named
from ahpd.plugins.running import RunningPlugin


class Takers(Protocol):
    """The parts of a built host that take what plugins contribute."""

    async def take(self, folded: Fold) -> Sequence[Problem]:
        """Hold what `folded` says, and nothing else of any plugin's; what was left out."""

    async def end_sessions(self, providers: Sequence[str]) -> None:
        """End every session that runs on an agent of these."""

    async def gone(self, plugin: str) -> None:
        """A plugin is gone: its connections and its canvases are closed."""


class IRows(Protocol):
    """Where what became of each plugin is shown."""

    def together(self) -> AbstractContextManager[None]:
        """Show what moves within the block when it ends."""

    def listed(self, named: Mapping[str, Named]) -> None:
        """The configuration names these from now on."""

    def importing(self, plugin: str) -> None:
        """The start is about to import it, ahead of its load."""

    def loading(self, plugin: str) -> None:
        """It is about to be loaded."""

    def applied(self, plugin: RunningPlugin) -> None:
        """It is loaded."""

    def skipped(self, plugin: str, line: str) -> None:
        """It is not loaded, and why."""

    def unloaded(self, plugin: str) -> None:
        """It is not loaded any more."""

    def left_out(self, problems: Sequence[Problem]) -> None:
        """What of what is loaded was left out, all of it."""

    def problem(self, plugin: str, line: str) -> None:
        """Something of it was left out."""


#: Returns once the host listens, with the payload of the event; None where it does not.
Listening = Callable[[], Awaitable[Mapping[str, Any] | None]]


@attrs.frozen(kw_only=True)
class Outcome:
    """What a change came to."""

    waiting: Collection[str] = ()
    """The plugins that are otherwise at the next start, because something the host is built over
    moves with them."""
    problems: Mapping[str, str] = attrs.field(factory=dict)
    """Why plugins are not loaded, a line for each."""
    left_out: Mapping[str, Sequence[str]] = attrs.field(factory=dict)
    """What of plugins that were loaded is not there, a line for each."""

    @property
    def restart(self) -> bool:
        """Whether anything waits for the next start."""
        return bool(self.waiting)

    @property
    def lines(self) -> Sequence[str]:
        """What went wrong, one line for each plugin."""
        return tuple(self.problems.values())
