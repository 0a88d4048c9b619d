"""The record store: collections of JSON records, a plugin's and the host's own.

A record is a JSON object whose `id` is a slug. Source: PLUGINS.txt, "Keeping records".
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import attrs
from zope.interface import Interface

from ahpd.protocol import State


class RecordsFailure(Exception):
    """A collection or a record that cannot be opened, read or kept, in words."""


class RecordsClosed(RecordsFailure):
    """The store was closed, because its host ends: nothing is wrong, and nobody is to be told."""


@attrs.frozen(kw_only=True)
class RecordOptions:
    """How a collection is kept."""

    body: str | None = None
    """The field that holds a record's long text, kept as the Markdown below the others:
    `<id>.md`, with the others as YAML above it."""
    as_json: bool = False
    """The host's own collections are one JSON file for each record."""


@attrs.frozen(kw_only=True)
class RecordChange:
    """One change of a collection, whoever made it."""

    id: str
    type: Literal["added", "updated", "deleted"]


class IRecords(Interface):
    """One collection."""

    async def get(identifier: str) -> State | None:
        """A copy of the record; None where there is none."""

    async def list() -> Sequence[State]:
        """Every record, in the order of their ids."""

    async def find(match: Mapping[str, object]) -> Sequence[State]:
        """The records whose top-level fields equal each field of `match`."""

    async def put(record: State) -> None:
        """Keep `record`, which has its `id`, in place of what that id held: all of it, not the
        fields that changed. Raises `RecordsFailure` for an id that is no slug (small letters,
        digits and dashes, a letter first, at most 40) and for what is no JSON."""

    async def remove(identifier: str) -> bool:
        """True where a record was there."""

    def watch(changed: Callable[[RecordChange], None]) -> Callable[[], None]:
        """Tell `changed` of each change from now on, a person's edit of a file included; what it
        answers stops that. One that raises is logged and costs nobody else."""


class IRecordStore(Interface):
    """Where every collection is kept."""

    def collection(name: str, options: RecordOptions) -> IRecords:
        """The collection of this name; `name` is a slug nobody else opened.

        Raises `RecordsFailure` for a name that is none or that the store keeps its own files under.
        """
