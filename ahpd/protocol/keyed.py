"""Lists whose entries are known by one of their fields, never by their place.

A list in a state may be the very list an action carried, or one another state holds
too. So none of these changes the list or an entry it is given: each answers a new list.
"""

from typing import Any

from ahpd.protocol import State


def place_of(entries: list[Any], key: str, value: Any) -> int | None:
    """Where the first entry whose `key` is `value` stands, or None.

    An entry without the key is the one known by None.
    """
    for place, entry in enumerate(entries):
        if entry.get(key) == value:
            return place
    return None


def upserted(entries: list[Any] | None, key: str, entry: Any) -> list[Any]:
    """`entries` with `entry` in the place of the one it replaces, or at the end."""
    changed = list(entries or ())
    place = place_of(changed, key, entry.get(key))
    if place is None:
        changed.append(entry)
    else:
        changed[place] = entry
    return changed


def replaced(entries: list[Any], place: int, entry: Any) -> list[Any]:
    """`entries` with `entry` at `place`."""
    changed = list(entries)
    changed[place] = entry
    return changed


def without(entries: list[Any], place: int) -> list[Any]:
    """`entries` without the one at `place`."""
    return entries[:place] + entries[place + 1 :]


def upsert(state: State, field: str, key: str, entry: Any) -> None:
    """Put `entry` into the list `state[field]`, making the list where there is none."""
    state[field] = upserted(state.get(field), key, entry)


def remove(state: State, field: str, key: str, value: Any) -> bool:
    """Take the entry known by `value` out of `state[field]`; whether there was one."""
    entries = state.get(field)
    place = place_of(entries, key, value) if entries else None
    if entries is None or place is None:
        return False
    state[field] = without(entries, place)
    return True
