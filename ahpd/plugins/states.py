"""What the configuration names and a run would load, without importing or applying anything.

Source: PLUGINS.txt, "What happens when a plugin fails".
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import attrs

from ahpd.config.plugins import PluginEntry
from ahpd.plugins.skipped import ERROR, MISSING, PluginState, Skipped

if TYPE_CHECKING:
    from ahpd.plugins.finding import Finder
    from ahpd.plugins.found import Found


@attrs.frozen(kw_only=True)
class Listed:
    """One plugin of a listing."""

    entry: PluginEntry
    state: PluginState
    id: str
    """Its id, or its source where no id can be read."""
    problem: str | None = None
    """Why it is in this state."""
    found: "Found | None" = None
    """What is known of it."""
    distribution: str | None = None
    """The installed distribution it is of, loadable or not; None for what is named by a path."""

    @property
    def line(self) -> str:
        """The plugin as `ahpd plugin list` prints it.

        `ready bot (ahpd-bot) -> /…/ahpd_bot/plugin.py (ahpd-bot, Bot)`
        """
        called = self.entry.name or self.id
        source = self.entry.source
        spec = "" if source == called else f" ({source})"
        if self.found is None:
            where = "- (not resolved)"
        else:
            names = [self.found.distribution or self.found.id, self.found.title]
            where = f"{self.found.file} ({', '.join(dict.fromkeys(names))})"
        why = "" if self.problem is None else f": {self.problem}"
        return f"{self.state} {called}{spec} -> {where}{why}"


def listed(
    entries: Iterable[PluginEntry],
    finder: "Finder",
    before: Mapping[str, str] = MappingProxyType({}),
) -> list[Listed]:
    """A row for each entry, in their order, its options held to its schema.

    `before` are the ids by their sources that a daemon read earlier.
    """
    return [_fitting(row_of(result)) for result in finder.find_all(entries, before)]


def _fitting(row: Listed) -> Listed:
    """The row of a plugin that would be loaded: `unconfigured` where an option does not fit, and
    `error` where a default of its manifest does not."""
    if row.state != "ready" or row.found is None:
        return row
    from ahpd.plugins.options import unfitting_option, wrong_default  # noqa: PLC0415 - for plugins

    if problem := unfitting_option(row.found):
        return attrs.evolve(row, state="unconfigured", problem=problem)
    if problem := wrong_default(row.found):
        return attrs.evolve(row, state="error", problem=problem)
    return row


def row_of(result: "Found | Skipped") -> Listed:
    """The row of what an entry was found to name."""
    if isinstance(result, Skipped):
        return _skipped(result)
    from ahpd.plugins.options import unset_options  # noqa: PLC0415 - where there is a plugin

    entry, unset = result.entry, unset_options(result)
    state: PluginState = "ready"
    problem = None
    if not entry.enabled:
        state, problem = "disabled", None
    elif unset:
        at = f"plugins.{result.id}.options."
        names = ", ".join(at + key for key in unset)
        state, problem = "unconfigured", f"{names} must be set"
    return Listed(
        entry=entry,
        state=state,
        id=result.id,
        problem=problem,
        found=result,
        distribution=_distribution(result),
    )


def _distribution(found: "Found") -> str | None:
    # A source tree has the distribution's name, and is elsewhere.
    return found.distribution if found.kind == "distribution" else None


def _skipped(skipped: Skipped) -> Listed:
    entry = skipped.entry
    assert entry is not None, "it was found by an entry"
    state = skipped.state
    if not entry.enabled and state not in (MISSING, ERROR):
        state = "disabled"
    return Listed(
        entry=entry,
        state=state,
        id=skipped.plugin or entry.source,
        problem=skipped.why,
        found=skipped.found,
        distribution=(
            skipped.distribution if skipped.found is None else _distribution(skipped.found)
        ),
    )
