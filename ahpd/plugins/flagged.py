"""What `--plugin` names that the file lists as well, by another spelling or another source.

What the two name is told by what is found: the same file, or a plugin of the same id. The flag is
what a person said for this run, so it takes the entry's place, with the entry's options and grants,
and is on. Source: PLUGINS.txt, "Naming a plugin" (`--plugin`).
"""

from collections.abc import Callable, Mapping, Sequence

import attrs

from ahpd.config.plugin_flags import FLAG
from ahpd.config.plugins import PluginEntry
from ahpd.plugins.found import Found
from ahpd.plugins.skipped import Skipped
from ahpd.plugins.specs import normalized

Result = Found | Skipped


def in_their_places(
    results: Sequence[Result],
    find: Callable[[PluginEntry], Result],
    is_one_place: Callable[[PluginEntry, PluginEntry], bool],
    before: Mapping[str, str],
) -> list[Result]:
    """`results` with each that a flag names in place of what the file lists of it.

    `find` looks an entry up that `--no-plugins` left out; `is_one_place` is whether two are paths
    that lead to one place. `before` are the ids that sources had: what cannot be read now is in
    the place it had.
    """
    kept: list[Result | None] = list(results)
    for index, flag in enumerate(results):
        entry = entry_of(flag)
        if entry.place != FLAG or entry.listed_as is not None:
            continue
        candidates = [
            (at, one) for at, one in enumerate(kept) if one and entry_of(one).place != FLAG
        ]
        candidates += [(index, find(one)) for one in entry.left_out]
        for at, listed in candidates:
            if _is_one(flag, listed, before) or is_one_place(entry, entry_of(listed)):
                kept[index] = None
                kept[at] = _together(flag, listed, is_one_place)
                break
        else:
            kept[index] = _with(flag, attrs.evolve(entry, left_out=()))
    return [one for one in kept if one is not None]


def entry_of(result: Result) -> PluginEntry:
    """The entry that something was found by."""
    assert result.entry is not None, "it was found by an entry"
    return result.entry


def _is_one(flag: Result, listed: Result, before: Mapping[str, str]) -> bool:
    one, two = _known(flag), _known(listed)
    called = before.get(entry_of(flag).source) if one is None else one.id
    if called is None:
        return False
    if two is not None:
        return called == two.id
    # What cannot be found is known by its name alone.
    names = {entry_of(listed).source, getattr(listed, "plugin", "")}
    of = {called, *([one.distribution] if one is not None and one.distribution else [])}
    return bool({normalized(name) for name in names} & {normalized(name) for name in of})


def _known(result: Result) -> Found | None:
    return result.found if isinstance(result, Skipped) else result


def _together(
    flag: Result, listed: Result, is_one_place: Callable[[PluginEntry, PluginEntry], bool]
) -> Result:
    said, own = entry_of(flag), entry_of(listed)
    one, two = _known(flag), _known(listed)
    same_file = one is not None and two is not None and one.file.resolve() == two.file.resolve()
    if same_file or is_one_place(said, own):
        return _with(listed, attrs.evolve(own, enabled=True))
    taken = attrs.evolve(
        own, source=said.source, manifest=None, place=FLAG, enabled=True, listed_as=own.source
    )
    return _with(flag, taken)


def _with(result: Result, entry: PluginEntry) -> Result:
    """What was found, by another entry."""
    if isinstance(result, Found):
        return attrs.evolve(result, entry=entry)
    result.entry = entry
    if result.found is not None:
        result.found = attrs.evolve(result.found, entry=entry)
    return result
