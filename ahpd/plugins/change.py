"""What a new list of plugins means for those that run: who goes, who comes, and who stays put.

Source: PLUGINS.txt, "A change while the daemon runs".
"""

from collections.abc import Iterable, Mapping, Sequence

import attrs

from ahpd.config.plugins import PluginEntry
from ahpd.plugins.named import Named
from ahpd.plugins.running import RunningPlugin
from ahpd.plugins.skipped import Skipped


@attrs.frozen(kw_only=True, eq=False)
class Change:
    """The plugins whose entries differ, each in one of three parts, and those to be loaded."""

    going: Sequence[RunningPlugin]
    """They are taken down, in their order of loading; some of them come again."""
    fixed: Sequence[RunningPlugin]
    """They hold what the host is built over, and wait for the next start."""
    unread: Mapping[RunningPlugin, Skipped]
    """What is to run in their place cannot be loaded as it is on disk now, and why: they run on."""
    coming: Sequence[Named]
    held_back: Mapping[str, PluginEntry]
    """Those that were held back before, by id, and still wait for the next start."""


def change_to(
    wanted: Mapping[str, Named],
    running: Iterable[RunningPlugin],
    held_back: Mapping[str, PluginEntry],
) -> Change:
    """What becomes of `running` where these are `wanted`, by id and in the configuration's order.

    `held_back` are those found to hold what the host is built over when it ran already.
    """
    stays: set[str] = set()
    going: list[RunningPlugin] = []
    fixed: list[RunningPlugin] = []
    unread: dict[RunningPlugin, Skipped] = {}
    for one in running:
        named = wanted.get(one.id)
        if not is_same(named, one.entry):
            if one.contribution.fixed:
                fixed.append(one)
            elif (why := _unread(named)) is not None:
                unread[one] = why
            else:
                going.append(one)
                continue
        stays.add(one.id)
    waiting = {
        plugin: held for plugin, held in held_back.items() if is_same(wanted.get(plugin), held)
    }
    coming = [
        named
        for plugin, named in wanted.items()
        if named.entry.enabled and plugin not in waiting and plugin not in stays
    ]
    return Change(going=going, fixed=fixed, unread=unread, coming=coming, held_back=waiting)


def is_same(wanted: Named | None, held: PluginEntry) -> bool:
    """Whether a plugin may go on as it is: its entry says what it said."""
    if wanted is None or not wanted.entry.enabled:
        return False
    return attrs.evolve(wanted.entry, place="", name=None) == attrs.evolve(
        held, place="", name=None
    )


def _unread(wanted: Named | None) -> Skipped | None:
    """Why what is to run cannot be loaded as it is on disk now; None where it can."""
    if wanted is None or not wanted.entry.enabled or not isinstance(wanted.result, Skipped):
        return None
    return wanted.result
