"""What a collection and a record may be called, and which names are the host's."""

import re
from collections.abc import Callable, Collection
from typing import Final

from zope.interface import implementer

from ahpd.interfaces import IRecords, IRecordStore, RecordOptions, RecordsFailure

#: Folders beside the collections in which the host keeps files that are no records.
KEPT_FOLDERS: Final = frozenset(
    ("sessions", "usage", "automations", "agentPlugins", "node_modules", "plugin-root", "plugins")
)

#: The collections the host opens itself.
HOST_COLLECTIONS: Final = frozenset(("agents", "connectors", "tunnels"))

#: A collection, and a record a plugin keeps.
_SLUG: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")
SLUG_WORDS: Final = "1 to 40 small letters, digits and dashes, a letter first"

#: A record of the host's own: what agents may be called.
_LONG_SLUG: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
LONG_SLUG_WORDS: Final = "1 to 64 small letters, digits, dashes and underscores"


def is_slug(value: object) -> bool:
    """Whether `value` can name a collection, and a record of a plugin's."""
    return isinstance(value, str) and _SLUG.fullmatch(value) is not None


def is_long_slug(value: object) -> bool:
    """Whether `value` can name a record of the host's own collections."""
    return isinstance(value, str) and _LONG_SLUG.fullmatch(value) is not None


def ids_of(options: RecordOptions) -> tuple[Callable[[object], bool], str]:
    """What tells an id in a collection that is kept like this, and what one is, in words."""
    return (is_long_slug, LONG_SLUG_WORDS) if options.as_json else (is_slug, SLUG_WORDS)


def check_collection(name: object, options: RecordOptions, reserved: Collection[str]) -> None:
    """Raise `RecordsFailure` for what no collection is called, or kept like."""
    if name in reserved:
        raise RecordsFailure(f"records {name}: the host keeps something of its own there")
    if not is_slug(name):
        shown = name if isinstance(name, str) and len(name) <= 80 else "..."
        raise RecordsFailure(f"records {shown!r}: a collection's name is {SLUG_WORDS}")
    if options.body is not None and options.as_json:
        raise RecordsFailure(f"records {name}: one that is kept as JSON has no body")
    if options.body == "id":
        raise RecordsFailure(f"records {name}: the id is no body")


@implementer(IRecordStore)
class ReservedNames:
    """A store in which some collections are somebody else's: what plugins are handed."""

    def __init__(
        self, store: IRecordStore, reserved: Collection[str] = HOST_COLLECTIONS | KEPT_FOLDERS
    ) -> None:
        self._store = store
        self._reserved = reserved

    def collection(self, name: str, options: RecordOptions) -> IRecords:
        """See `IRecordStore.collection`."""
        check_collection(name, options, self._reserved)
        return self._store.collection(name, options)
