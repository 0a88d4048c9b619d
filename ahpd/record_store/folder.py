"""One collection in its folder: what is held of it, and what a look finds changed.

Everything here blocks and is done by one at a time. A file is read when it looks otherwise than
when it was read last, and only once it stands still: for `SETTLE` seconds nothing happened to
it, or two looks that far apart found the same. So an editor that empties a file before it
writes it, or puts it aside for a moment, makes neither half a record nor a record less. What a
file says that cannot be read is nothing: what was held stays.
"""

import errno
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import attrs

from ahpd.interfaces import RecordChange, RecordOptions, RecordsFailure
from ahpd.protocol import State
from ahpd.record_store.disk import LARGEST, Disk, Mark
from ahpd.record_store.formats import format_of, read_json
from ahpd.record_store.names import ids_of
from ahpd.record_store.values import checked, copy, matches, same

#: Seconds for which nothing happens to a file before it is believed.
SETTLE: Final = 0.25
#: The same where a file system keeps times in whole seconds, or in pairs of them.
_SETTLE_COARSE: Final = 2.0
_SECOND: Final = 1_000_000_000


@attrs.frozen
class _Known:
    """The state of a file that was read."""

    mark: Mark
    settled: bool
    """False where one more change might leave the mark as it is: it is read once more."""


@attrs.frozen
class _Waiting:
    """A state of a file that waits to be believed."""

    mark: Mark | None
    since: float


class Folder:
    """The records of one folder. `now` is the time of day, in seconds, wherever it is asked for.

    `changes` and `lines` grow while this works: what watchers are to be told, and what a person
    is. Whoever has something done takes them.
    """

    def __init__(self, name: str, disk: Disk, options: RecordOptions) -> None:
        self.name = name
        self.options = options
        self.unsettled = False
        """Whether the last look found something that waits to be believed."""
        self.changes: list[RecordChange] = []
        self.lines: list[str] = []
        self._disk = disk
        self._format = format_of(options)
        self._is_id, self._id_words = ids_of(options)
        self._records: dict[str, State] = {}
        self._known: dict[str, _Known] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._said: dict[str, str] = {}
        self._begun = False

    # -- the calls ----------------------------------------------------------------

    def get(self, identifier: str, now: float) -> State | None:
        """See `IRecords.get`."""
        self.look(now)
        held = self._records.get(identifier)
        return None if held is None else copy(held)

    def find(self, match: Mapping[str, object], now: float) -> Sequence[State]:
        """See `IRecords.find`; every record for an empty `match`."""
        self.look(now)
        held = sorted(self._records.items())
        return [copy(record) for _, record in held if matches(record, match)]

    def put(self, record: State, now: float) -> None:
        """Write a record that was `checked`."""
        self.look(now)
        identifier = record["id"]
        data = self._format.write(record)
        if len(data) > LARGEST:
            raise RecordsFailure(
                f"records {self.name}: {identifier} is larger than {LARGEST >> 20} MiB"
            )
        file = identifier + self._format.suffix
        try:
            mark = self._disk.write(file, data)
        except OSError as error:
            raise self._failure(f"{identifier} cannot be written", error) from None
        self._forget(identifier)
        self._known[identifier] = _Known(mark, settled=False)
        self.unsettled = True
        self._hold(identifier, record)

    def remove(self, identifier: str, now: float) -> bool:
        """See `IRecords.remove`. A file that is no record is nobody's to remove."""
        self.look(now)
        if not self._is_id(identifier):
            return False
        held = identifier in self._records
        try:
            if not held and isinstance(self._read(identifier)[0], str):
                return False
            there = self._disk.remove(identifier + self._format.suffix)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._failure(f"{identifier} cannot be removed", error) from None
        self._forget(identifier)
        self._hold(identifier, None)
        return held or there

    # -- looking ------------------------------------------------------------------

    def look(self, now: float) -> None:
        """Take over what changed in the folder. Raises `RecordsFailure` where nobody can look."""
        try:
            if not self._begun:
                self._convert(now)
            found, folder = self._disk.listing((self._format.suffix,))
        except OSError as error:
            raise self._failure("the folder cannot be read", error) from None
        cut = -len(self._format.suffix)
        marks = {name[:cut]: mark for name, mark in found.items()}
        self.unsettled = False
        stems = marks.keys() | self._known.keys() | self._waiting.keys()
        # Few differ, and a thousand are compared at each look.
        for stem in sorted(stem for stem in stems if not self._believed(stem, marks.get(stem))):
            mark = marks.get(stem)
            # Of a file that is gone its folder says when.
            settled = self._settled(stem, mark, mark or folder, now)
            if settled or not self._begun:
                self._take(stem, mark, settled, now)
            else:
                self.unsettled = True
        self._begun = True

    def _believed(self, stem: str, mark: Mark | None) -> bool:
        """Whether what was found is what was read, and nothing more is to be learned of it."""
        known = self._known.get(stem)
        believed = mark is None if known is None else known.settled and known.mark == mark
        if believed:
            self._waiting.pop(stem, None)
        return believed

    def _settled(self, stem: str, mark: Mark | None, when: Mark | None, now: float) -> bool:
        """Whether `mark`, the state a file was found in, may be believed."""
        patience = SETTLE
        if when is not None:
            if when.changed % _SECOND == 0:
                patience = _SETTLE_COARSE
            if now - when.changed / _SECOND >= patience:
                return True
        waiting = self._waiting.get(stem)
        if waiting is None or waiting.mark != mark:
            self._waiting[stem] = _Waiting(mark, now)
            return False
        return now - waiting.since >= patience

    def _take(self, stem: str, mark: Mark | None, settled: bool, now: float) -> None:
        """Believe what was found under a name, and read it."""
        if mark is None:
            self._forget(stem)
            self._hold(stem, None)
            return
        try:
            read, found = self._read(stem)
        except FileNotFoundError:  # it went while this looked
            self.unsettled = True
            return
        if self._begun and isinstance(read, dict) and found != mark:  # it became another
            self._waiting[stem] = _Waiting(found, now)
            self.unsettled = True
            return
        self._known[stem] = _Known(mark, settled)
        self.unsettled = self.unsettled or not settled
        if settled:
            self._waiting.pop(stem, None)
        if isinstance(read, str):
            self._say(stem, read)
        else:
            self._said.pop(stem, None)
            self._hold(stem, read)

    def _read(self, stem: str) -> tuple[State | str, Mark | None]:
        """The record of a file, or why it is none; and the mark it was read under.

        Raises `FileNotFoundError`.
        """
        if not self._is_id(stem):
            return f"its name before the ending is not {self._id_words}", None
        try:
            data, mark = self._disk.read(stem + self._format.suffix)
            return self._understood(stem, self._format.read(data)), mark
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno == errno.ELOOP:
                return "it is a link, which is not followed", None
            return f"it cannot be read: {error.strerror}", None
        except (ValueError, RecordsFailure) as error:
            return str(error), None

    def _understood(self, stem: str, fields: State) -> State:
        if "id" not in fields:
            raise ValueError(f"it has no id: one is written as id: {stem}, as its file is named")
        if fields["id"] != stem:
            raise ValueError("its id is not its file's name")
        return checked(fields, self.options)

    def _hold(self, identifier: str, record: State | None) -> None:
        """Hold `record`, None for none any more, and note what that changes."""
        before = self._records.get(identifier)
        change: Literal["added", "updated", "deleted"]
        if record is None:
            if before is None:
                return
            change = "deleted"
            del self._records[identifier]
        else:
            self._records[identifier] = record
            if before is not None and same(before, record):
                return
            change = "added" if before is None else "updated"
        if self._begun:
            self.changes.append(RecordChange(id=identifier, type=change))

    def _forget(self, stem: str) -> None:
        """What was known of the file is known no more."""
        self._known.pop(stem, None)
        self._waiting.pop(stem, None)
        self._said.pop(stem, None)

    # -- records that were JSON ---------------------------------------------------

    def _convert(self, now: float) -> None:
        """Make Markdown of the JSON files that have none beside them."""
        self._disk.sweep(now)
        if self.options.as_json:
            return
        found = self._disk.listing((".json", ".md")).files
        for name in sorted(found):
            stem, _, ending = name.rpartition(".")
            if ending == "json" and f"{stem}.md" not in found and self._is_id(stem):
                self._convert_one(stem, name)

    def _convert_one(self, stem: str, name: str) -> None:
        try:
            record = self._understood(stem, read_json(self._disk.read(name)[0]))
            self._disk.write(f"{stem}.md", self._format.write(record))
            self._disk.rename(name, f"{name}.migrated")
        except OSError as error:
            self._say(name, f"it cannot be converted: {error.strerror}", "")
        except (ValueError, RecordsFailure) as error:
            self._say(name, str(error), "")

    # -- words ----------------------------------------------------------------------

    def _say(self, stem: str, words: str, suffix: str | None = None) -> None:
        """Report a file that is no record, once."""
        if self._said.get(stem) == words:
            return
        self._said[stem] = words
        file = stem + (self._format.suffix if suffix is None else suffix)
        shown = file.encode(errors="replace").decode()
        kept = "; the record it was is kept" if stem in self._records else ""
        self.lines.append(f"records {self.name}: {shown} is no record: {words}{kept}")

    def _failure(self, what: str, error: OSError) -> RecordsFailure:
        return RecordsFailure(f"records {self.name}: {what}: {error.strerror}")
