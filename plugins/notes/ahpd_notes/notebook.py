"""The notes there are: kept in the host's record store, and held in memory as they are now.

A record is `{id, text, owner?, private?}`. The text is the body of the record's file, so a note is
a Markdown file with a few lines of YAML above it, and a person may edit it: what changes, whoever
changed it, comes through the collection's watch.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import attrs
from twisted.internet.defer import Deferred, DeferredLock
from twisted.logger import Logger

from ahpd.interfaces import IRecords, Reader, RecordChange, RecordsFailure
from ahpd.protocol import State
from ahpd.protocol.errors import internal_error, invalid_params

log = Logger()


@attrs.frozen(kw_only=True)
class Note:
    """One note."""

    id: str
    text: str
    owner: str | None = None
    """Whose it is: `user:ada`. None for one that was written where there are no users, and for a
    file a person made."""
    private: bool = False
    """Whether only its owner sees it."""

    @classmethod
    def of(cls, record: State) -> Self:
        """The note of a record, which a person may have written: what makes no sense is left out."""
        owner = record.get("owner")
        return cls(
            id=record["id"],
            text=str(record.get("text", "")),
            owner=owner if isinstance(owner, str) else None,
            private=record.get("private") is True,
        )

    def record(self) -> State:
        """As it is kept."""
        owner = {} if self.owner is None else {"owner": self.owner}
        private = {"private": True} if self.private else {}
        return {"id": self.id, **owner, **private, "text": self.text}

    def shown(self) -> State:
        """As clients are told of it."""
        return {**self.record(), "title": self.title}

    @property
    def title(self) -> str:
        """Its first line that says something; its id where none does."""
        lines = (line.strip().lstrip("#").strip() for line in self.text.splitlines())
        return next((line for line in lines if line), self.id)[:200]

    @property
    def is_shared(self) -> bool:
        """Whether everybody may see it. A private note that names nobody is nobody's."""
        return not self.private

    def visible_to(self, reader: Reader | None) -> bool:
        """Whether a reader sees it. Without users, and on the root connection, there is no reader,
        and whoever asks may read the files anyway."""
        return reader is None or self.is_shared or self.owner == reader.principal


#: Told of a note as it was and as it is now; None where there was, or is, none.
Moved = Callable[[Note | None, Note | None], object]


class Notebook:
    """Every note. `largest` is how many bytes of text one may have."""

    def __init__(self, records: IRecords, largest: int) -> None:
        self._records = records
        self._largest = largest
        self._held: dict[str, Note] = {}
        self._read = False
        self._told: list[Moved] = []
        # One change at a time: what is read from the store is compared with what is held.
        self._turn = DeferredLock()
        self.writing = DeferredLock()
        """Held by whoever looks at a note and then writes it, so that nobody writes in between."""
        self.close = records.watch(self._changed)

    def on_move(self, told: Moved) -> None:
        """Have `told` hear of every change from now on."""
        self._told.append(told)

    async def all(self) -> Mapping[str, Note]:
        """The notes by id, in the order of their ids.

        The store is there once the host is built, so this waits while plugins are applied: an
        `apply` that awaited it would wait for ever.
        """
        if not self._read:
            async with self._turn:
                if not self._read:
                    self._held = {one["id"]: Note.of(one) for one in await self._records.list()}
                    self._read = True
        return dict(sorted(self._held.items()))

    @property
    def held(self) -> Sequence[Note]:
        """What is known by now, in the order of the ids; nothing before it was read."""
        return [note for _, note in sorted(self._held.items())]

    async def put(self, note: Note) -> None:
        """Keep a note. Raises `RpcError`; what was there stays then."""
        size = len(note.text.encode(errors="replace"))
        if size > self._largest:
            raise invalid_params(f"A note may have {self._largest} bytes, and this has {size}.")
        try:
            await self._records.put(note.record())
        except RecordsFailure as failed:
            raise invalid_params(f"The note was not kept: {failed}") from None
        except OSError as failed:
            raise internal_error(f"The note was not kept: {failed.strerror}") from None
        # Whoever put it reads it back at once; the watch may be a moment behind.
        await self._look_at(note.id)

    async def remove(self, identifier: str) -> bool:
        """Take a note away. True where it was there."""
        removed = await self._records.remove(identifier)
        await self._look_at(identifier)
        return removed

    # -- what changed -----------------------------------------------------------------------

    def _changed(self, change: RecordChange) -> None:
        looking = Deferred.fromCoroutine(self._look_at(change.id))
        looking.addErrback(
            lambda failure: log.failure("the note {id} cannot be read", failure, id=change.id)
        )

    async def _look_at(self, identifier: str) -> None:
        """Compare one note with what is kept, and tell where it differs."""
        await self.all()
        async with self._turn:
            record = await self._records.get(identifier)
            before = self._held.get(identifier)
            now = None if record is None else Note.of(record)
            if before == now:
                return
            if now is None:
                del self._held[identifier]
            else:
                self._held[identifier] = now
            # Still in this turn: whoever waits for it finds that everybody was told.
            for told in tuple(self._told):
                told(before, now)


def checked(params: Mapping[str, Any]) -> tuple[str, str, bool | None]:
    """`id`, `text` and `private` of a command's params. Raises `RpcError` for what is none."""
    identifier, text, private = (params.get(key) for key in ("id", "text", "private"))
    if not isinstance(identifier, str):
        raise invalid_params("params.id is the id of a note, such as shopping-list")
    if not isinstance(text, str):
        raise invalid_params("params.text is the text of the note")
    if private is not None and not isinstance(private, bool):
        raise invalid_params("params.private is true or false")
    return identifier, text, private
